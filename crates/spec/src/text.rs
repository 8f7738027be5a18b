//! A string that const fns can build: the words of a rule, for rustc and for run time alike.

/// A bounded string, built by value in const context.
#[derive(Clone, Copy)]
pub struct Text {
    bytes: [u8; Text::CAPACITY],
    len: usize,
}

impl Text {
    /// Longest message in bytes; what exceeds it is cut.
    pub const CAPACITY: usize = 480;

    /// The empty string.
    pub const fn new() -> Text {
        Text { bytes: [0; Self::CAPACITY], len: 0 }
    }

    /// Appends a string.
    pub const fn s(mut self, s: &str) -> Text {
        let b = s.as_bytes();
        let mut i = 0;
        while i < b.len() && self.len < Self::CAPACITY {
            self.bytes[self.len] = b[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// Appends a number in decimal.
    pub const fn n(self, n: usize) -> Text {
        let t = if n >= 10 { self.n(n / 10) } else { self };
        t.s(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"][n % 10])
    }

    /// Appends a byte count in KiB with one decimal.
    pub const fn kib(self, bytes: usize) -> Text {
        self.n(bytes / 1024).s(".").n(bytes % 1024 * 10 / 1024).s(" KiB")
    }

    /// Appends `MxNxK`.
    pub const fn mnk(self, x: crate::Mnk) -> Text {
        self.n(x.m).s("x").n(x.n).s("x").n(x.k)
    }

    /// The text so far.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(s) => s,
            Err(_) => "message cut inside a character",
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Text::new()
    }
}
