//! Deterministic inputs: noise of every scale, and the corners of each format.

/// A stream of pseudo-random numbers (splitmix64).
pub(super) struct Noise(u64);

impl Noise {
    /// The stream that belongs to a name.
    pub fn of(name: &str) -> Noise {
        Noise(crate::random::key(name, "micro"))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        crate::random::draw(self.0, 0)
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next() >> 32) * n) >> 32
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(len).collect()
    }
}

/// A binary float format: bits of the exponent and of the fraction.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub exponent: u32,
    pub fraction: u32,
    /// The highest exponent is one of numbers, and only all ones is NaN.
    pub finite: bool,
}

pub(super) const F16: Layout = Layout { exponent: 5, fraction: 10, finite: false };
pub(super) const BF16: Layout = Layout { exponent: 8, fraction: 7, finite: false };
pub(super) const F32: Layout = Layout { exponent: 8, fraction: 23, finite: false };
pub(super) const F64: Layout = Layout { exponent: 11, fraction: 52, finite: false };
pub(super) const E4M3: Layout = Layout { exponent: 4, fraction: 3, finite: true };
pub(super) const E5M2: Layout = Layout { exponent: 5, fraction: 2, finite: false };

impl Layout {
    fn bias(self) -> u64 {
        (1 << (self.exponent - 1)) - 1
    }

    fn with(self, sign: u64, exponent: u64, fraction: u64) -> u64 {
        sign << (self.exponent + self.fraction) | exponent << self.fraction | fraction & ((1 << self.fraction) - 1)
    }

    /// A normal number whose exponent lies within `spread` of 0.
    pub fn near_one(self, noise: &mut Noise, spread: u64) -> u64 {
        let exponent = self.bias() - spread + noise.below(2 * spread + 1);
        self.with(noise.below(2), exponent, noise.next())
    }

    /// A subnormal number, zero included.
    pub fn subnormal(self, noise: &mut Noise) -> u64 {
        self.with(noise.below(2), 0, noise.next() >> noise.below(u64::from(self.fraction) + 1))
    }

    /// Zero, infinity, NaN, one, the ends of the ranges of normal and subnormal numbers, halves.
    pub fn corner(self, noise: &mut Noise) -> u64 {
        let (top, bias) = ((1u64 << self.exponent) - 1, self.bias());
        let half = 1 << (self.fraction - 1);
        let corners = [
            (0, 0),
            (0, 1),
            (0, !0),
            (1, 0),
            (bias, 0),
            (bias, 1),
            (bias - 1, 0),
            (bias, half),
            (bias + 1, half >> 1),
            (bias - 1, !0),
            (top - 1, !0),
            (top, 0),
            (top, half),
            (top, 1),
            (top, !0),
        ];
        let (exponent, fraction) = noise.pick(&corners);
        self.with(noise.below(2), exponent, fraction)
    }

    /// Anything: corners, numbers near one, every bit pattern.
    pub fn any(self, noise: &mut Noise) -> u64 {
        match noise.below(8) {
            0 | 1 => self.corner(noise),
            2 => self.subnormal(noise),
            3 | 4 => noise.next() & (!0 >> (63 - self.exponent - self.fraction)),
            _ => self.near_one(noise, 3.min(self.bias() - 1)),
        }
    }

    /// Anything finite.
    pub fn finite(self, noise: &mut Noise) -> u64 {
        loop {
            let bits = self.any(noise);
            let magnitude = bits & (!0 >> (64 - self.exponent - self.fraction));
            let limit = ((1u64 << self.exponent) - 1) << self.fraction;
            if if self.finite { magnitude != limit | 7 } else { magnitude < limit } {
                return bits;
            }
        }
    }
}

/// Integers that carry, overflow and shift too far, or noise.
pub(super) fn integer(noise: &mut Noise) -> u64 {
    const CORNERS: [u64; 20] = [
        0,
        1,
        2,
        7,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        0x7FFF,
        0x8000,
        0xFFFF,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFF,
        0x7FFF_FFFF_FFFF_FFFF,
        0x8000_0000_0000_0000,
        u64::MAX,
    ];
    match noise.below(8) {
        0..3 => noise.pick(&CORNERS),
        3 => noise.below(64),
        4 => noise.below(300).wrapping_neg(),
        _ => noise.next(),
    }
}
