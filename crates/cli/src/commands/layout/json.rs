//! Layouts as JSON, in the form of the oracle's outputs, written without intermediate values: batch mode is as fast as this.

use std::fmt::{self, Write};
use warpwright::layout::{ComposedLayout, IntTuple, Layout, Swizzle};

/// Tables longer than this are `null`.
pub const TABLE: i64 = 4096;

/// JSON text that grows. Commas between the fields of an object are the writer's.
#[derive(Default)]
pub struct Json(pub Vec<u8>);

/// CuTe's notation becomes JSON by changing parentheses and dropping the marks of static integers.
struct Brackets<'a>(&'a mut Vec<u8>);

impl Write for Brackets<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.bytes().filter(|c| *c != b'_').map(|c| match c {
            b'(' => b'[',
            b')' => b']',
            c => c,
        }));
        Ok(())
    }
}

/// What stands before, between and behind the integers of a tuple: many tuples of one nesting are written with it.
pub struct Nesting(Vec<String>);

impl Nesting {
    pub fn of(tuple: &IntTuple) -> Nesting {
        let mut json = Json::default();
        json.tuple(tuple);
        let text = String::from_utf8_lossy(&json.0);
        let mut between = vec![String::new()];
        let mut in_integer = false;
        for c in text.chars() {
            match (c.is_ascii_digit() || c == '-', in_integer) {
                (true, false) => between.push(String::new()),
                (true, true) => {}
                (false, _) => between.last_mut().unwrap_or(&mut String::new()).push(c),
            }
            in_integer = c.is_ascii_digit() || c == '-';
        }
        Nesting(between)
    }
}

impl Json {
    pub fn raw(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    pub fn int(&mut self, v: i64) -> &mut Self {
        let (mut digits, mut at, mut rest) = ([0u8; 20], 20, v.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if v < 0 {
            self.0.push(b'-');
        }
        self.0.extend_from_slice(&digits[at..]);
        self
    }

    pub fn ints(&mut self, values: impl IntoIterator<Item = i64>) -> &mut Self {
        self.each(values, |json, v| {
            json.int(v);
        })
    }

    /// A list of what `f` writes of each item.
    pub fn each<T>(&mut self, items: impl IntoIterator<Item = T>, mut f: impl FnMut(&mut Self, T)) -> &mut Self {
        self.0.push(b'[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            f(self, item);
        }
        self.0.push(b']');
        self
    }

    pub fn tuple(&mut self, tuple: &IntTuple) -> &mut Self {
        let _ = write!(Brackets(&mut self.0), "{tuple}");
        self
    }

    /// A tuple of this nesting.
    pub fn nested(&mut self, nesting: &Nesting, tuple: &IntTuple) -> &mut Self {
        for (i, between) in nesting.0.iter().enumerate() {
            if i > 0 {
                self.int(tuple.get(i - 1).value());
            }
            self.raw(between);
        }
        self
    }

    pub fn swizzle(&mut self, s: &Swizzle) -> &mut Self {
        self.ints([s.bits, s.base, s.shift].map(i64::from))
    }

    /// The values of `f` from 0 on.
    pub fn table(&mut self, size: i64, f: impl Fn(i64) -> i64) -> &mut Self {
        if size > TABLE { self.raw("null") } else { self.ints((0..size).map(f)) }
    }

    /// The fields `shape` and `stride`.
    pub fn form(&mut self, layout: &Layout) -> &mut Self {
        self.raw("\"shape\":").tuple(&layout.shape()).raw(",\"stride\":").tuple(&layout.stride())
    }

    /// An object of `shape` and `stride`.
    pub fn short(&mut self, layout: &Layout) -> &mut Self {
        self.raw("{").form(layout).raw("}")
    }

    /// The fields of a layout with its function.
    pub fn fields(&mut self, layout: &Layout) -> &mut Self {
        let size = layout.size().value();
        self.form(layout).raw(",\"size\":").int(size).raw(",\"cosize\":").int(layout.cosize().value());
        self.raw(",\"table\":").table(size, |i| layout.eval(i))
    }

    pub fn layout(&mut self, layout: &Layout) -> &mut Self {
        self.raw("{").fields(layout).raw("}")
    }

    /// A composed layout; a plain one where the swizzle does nothing.
    pub fn composed(&mut self, c: &ComposedLayout) -> &mut Self {
        if c.is_plain() { self.layout(&c.layout) } else { self.swizzled(c) }
    }

    /// A composed layout in full, whatever its swizzle does.
    pub fn swizzled(&mut self, c: &ComposedLayout) -> &mut Self {
        let size = c.size().value();
        self.raw("{\"swizzle\":").swizzle(&c.swizzle).raw(",\"offset\":").int(c.offset.value());
        self.raw(",\"inner\":").short(&c.layout).raw(",\"size\":").int(size);
        self.raw(",\"table\":").table(size, |i| c.eval(i)).raw("}")
    }

    /// Part of a layout at an offset, with its function.
    pub fn part(&mut self, (layout, offset): &(Layout, i64)) -> &mut Self {
        self.raw("{").form(layout).raw(",\"offset\":").int(*offset).raw(",\"table\":");
        self.table(layout.size().value(), |i| offset + layout.eval(i)).raw("}")
    }

    pub fn string(&mut self, text: &str) -> &mut Self {
        let quoted = serde_json::Value::from(text).to_string();
        self.raw(&quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_oracle() {
        let mut json = Json::default();
        json.layout(&"(_2,(_3,_1)):(_1,(_-2,_0))".parse().unwrap());
        let text = String::from_utf8(json.0).unwrap();
        assert_eq!(text, r#"{"shape":[2,[3,1]],"stride":[1,[-2,0]],"size":6,"cosize":6,"table":[0,1,-2,-1,-4,-3]}"#);
        let mut json = Json::default();
        json.int(0).raw(" ").int(i64::MIN).raw(" ").int(i64::MAX);
        assert_eq!(json.0, b"0 -9223372036854775808 9223372036854775807");
    }
}
