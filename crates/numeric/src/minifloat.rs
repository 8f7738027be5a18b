//! The one codec behind all floating-point formats of up to 32 bits.

/// Which codes of a [`Format`] are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Specials {
    /// As IEEE 754: the highest exponent holds infinity (mantissa 0) and NaNs. f16, bf16, e5m2.
    Ieee,
    /// No infinity; only the code of all ones is NaN, of either sign. OCP's e4m3, also called e4m3fn.
    NanOnly,
    /// Every code is a finite number. fp6 and fp4.
    Finite,
    /// No infinity and no negative zero, whose code is the only NaN. AMD's fnuz formats.
    Fnuz,
}

/// What [`Format::encode`] does with a value that rounds beyond the largest finite one, infinity included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Overflow {
    /// The largest finite value of the same sign: PTX's `.satfinite`.
    SatFinite,
    /// Infinity; NaN where the format has no infinity; the largest finite value where it has neither.
    NonFinite,
}

/// A binary floating-point format: a sign bit, then the exponent, then the mantissa, with subnormals.
///
/// A code is the value's bits in the low [`bits`](Format::bits) bits of a `u32`; bits above are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

impl Format {
    /// IEEE binary16: 5 exponent bits, 10 mantissa bits.
    pub const F16: Format = Format::new(5, 10, 15, Specials::Ieee);
    /// bfloat16: 8 exponent bits, 7 mantissa bits.
    pub const BF16: Format = Format::new(8, 7, 127, Specials::Ieee);
    /// TensorFloat-32: 8 exponent bits, 10 mantissa bits; 19 bits in all.
    pub const TF32: Format = Format::new(8, 10, 127, Specials::Ieee);
    /// IEEE binary32.
    pub const F32: Format = Format::new(8, 23, 127, Specials::Ieee);
    /// OCP fp8 with 4 exponent bits; finite to ±448, no infinity.
    pub const E4M3: Format = Format::new(4, 3, 7, Specials::NanOnly);
    /// OCP fp8 with 5 exponent bits; finite to ±57344, with infinity.
    pub const E5M2: Format = Format::new(5, 2, 15, Specials::Ieee);
    /// OCP fp6 with 3 exponent bits; to ±28.
    pub const E3M2: Format = Format::new(3, 2, 3, Specials::Finite);
    /// OCP fp6 with 2 exponent bits; to ±7.5.
    pub const E2M3: Format = Format::new(2, 3, 1, Specials::Finite);
    /// OCP fp4; to ±6.
    pub const E2M1: Format = Format::new(2, 1, 1, Specials::Finite);

    /// A format of `1 + exponent_bits + mantissa_bits` bits, whose normal numbers are `1.m * 2^(e - bias)`.
    ///
    /// # Panics
    /// Unless there are 1 to 8 exponent bits, 1 to 23 mantissa bits and a bias of 0 to 255: wider numbers do not fit into the
    /// codec's arithmetic.
    pub const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> Format {
        assert!(exponent_bits >= 1 && exponent_bits <= 8, "a format has 1 to 8 exponent bits");
        assert!(mantissa_bits >= 1 && mantissa_bits <= 23, "a format has 1 to 23 mantissa bits");
        assert!(bias >= 0 && bias <= 255, "a format's bias is 0 to 255");
        Format { exponent_bits, mantissa_bits, bias, specials }
    }

    /// How many bits a code has.
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }

    /// How many mantissa bits are stored; normal numbers have one more, which is implied.
    pub const fn mantissa_bits(self) -> u32 {
        self.mantissa_bits
    }

    /// Which codes are not finite numbers.
    pub const fn specials(self) -> Specials {
        self.specials
    }

    /// The code of the sign bit alone.
    pub const fn sign_mask(self) -> u32 {
        1 << (self.bits() - 1)
    }

    /// All bits but the sign.
    pub const fn magnitude_mask(self) -> u32 {
        self.sign_mask() - 1
    }

    /// The code of positive infinity, where there is one.
    pub const fn infinity_code(self) -> Option<u32> {
        match self.specials {
            Specials::Ieee => Some(self.magnitude_mask() >> self.mantissa_bits << self.mantissa_bits),
            _ => None,
        }
    }

    /// The code of the NaN that conversions give, where there is one: all ones but for the sign, as PTX's `cvt` writes it.
    pub const fn nan_code(self) -> Option<u32> {
        match self.specials {
            Specials::Ieee | Specials::NanOnly => Some(self.magnitude_mask()),
            Specials::Fnuz => Some(self.sign_mask()),
            Specials::Finite => None,
        }
    }

    /// The code of the largest finite value.
    pub const fn max_code(self) -> u32 {
        match self.specials {
            Specials::Ieee => (self.magnitude_mask() >> self.mantissa_bits << self.mantissa_bits) - 1,
            Specials::NanOnly => self.magnitude_mask() - 1,
            Specials::Finite | Specials::Fnuz => self.magnitude_mask(),
        }
    }

    /// The code of the smallest positive normal value; the code of the smallest subnormal one is 1.
    pub const fn min_normal_code(self) -> u32 {
        1 << self.mantissa_bits
    }

    /// Whether `code` is a NaN.
    pub const fn is_nan(self, code: u32) -> bool {
        let magnitude = code & self.magnitude_mask();
        match self.specials {
            Specials::Fnuz => magnitude == 0 && code & self.sign_mask() != 0,
            Specials::Ieee => magnitude > self.max_code() + 1,
            Specials::NanOnly => magnitude > self.max_code(),
            Specials::Finite => false,
        }
    }

    /// The distance from 1 to the next value above it.
    pub const fn epsilon(self) -> f64 {
        exp2(-(self.mantissa_bits as i32))
    }

    /// What [`encode`](Format::encode) with [`Overflow::SatFinite`] gives, without branches; the loop over a slice becomes
    /// vector instructions, which takes a tenth of the time of `encode`.
    ///
    /// Right for formats of at most 8 bits: those end well inside the range of `f32`'s normal numbers.
    #[inline(always)]
    pub(crate) const fn encode_f32(self, x: f32) -> u32 {
        const STORED: u32 = f32::MANTISSA_DIGITS - 1;
        const INFINITY: i32 = f32::INFINITY.to_bits() as i32;
        const fn larger(a: i32, b: i32) -> i32 {
            if a > b { a } else { b }
        }
        // Magnitudes are compared as integers, which orders them as numbers and puts NaN above all.
        let magnitude = (x.to_bits() & i32::MAX as u32) as i32;
        let is_nan = magnitude > INFINITY;
        let max_code = self.max_code();
        let max = ((max_code << (STORED - self.mantissa_bits)) + (((127 - self.bias) as u32) << STORED)) as i32;
        let magnitude = -larger(-magnitude, -max);
        let min_field = self.min_exponent() + 127;
        let scale = larger(magnitude >> STORED, min_field);
        // A power of two whose last place is the last place of the result: adding it rounds, and counts in those places.
        let anchor = (scale + (STORED - self.mantissa_bits) as i32) << STORED;
        let rounded = (f32::from_bits(magnitude as u32) + f32::from_bits(anchor as u32)).to_bits() - anchor as u32;
        let code = (((scale - min_field) as u32) << self.mantissa_bits) + rounded;
        let code = code | x.to_bits() >> 31 << (self.bits() - 1);
        let nan = match self.nan_code() {
            Some(code) => code,
            None => max_code,
        };
        if is_nan { nan } else { code }
    }

    /// The exponent of the smallest normal value.
    const fn min_exponent(self) -> i32 {
        1 - self.bias
    }

    /// The value of `code`, exactly.
    pub const fn decode(self, code: u32) -> f64 {
        if self.is_nan(code) {
            return f64::NAN;
        }
        let magnitude = code & self.magnitude_mask();
        let value = if matches!(self.specials, Specials::Ieee) && magnitude > self.max_code() {
            f64::INFINITY
        } else {
            let (exponent, mantissa) = (magnitude >> self.mantissa_bits, magnitude & (self.min_normal_code() - 1));
            if exponent == 0 {
                mantissa as f64 * exp2(self.min_exponent() - self.mantissa_bits as i32)
            } else {
                let significand = mantissa | self.min_normal_code();
                significand as f64 * exp2(exponent as i32 - self.bias - self.mantissa_bits as i32)
            }
        };
        if code & self.sign_mask() != 0 { -value } else { value }
    }

    /// The code of the value nearest to `x`, ties to even.
    ///
    /// NaN becomes [`nan_code`](Format::nan_code), and the largest finite value, positive, in formats without NaN.
    pub const fn encode(self, x: f64, overflow: Overflow) -> u32 {
        if x.is_nan() {
            return match self.nan_code() {
                Some(code) => code,
                None => self.max_code(),
            };
        }
        let magnitude = nearest_code(x, self.min_exponent(), self.mantissa_bits);
        let magnitude = if magnitude > self.max_code() as u64 {
            match (overflow, self.infinity_code(), self.nan_code()) {
                (Overflow::NonFinite, Some(code), _) => code,
                (Overflow::NonFinite, None, Some(code)) => code,
                _ => self.max_code(),
            }
        } else {
            magnitude as u32
        };
        let negative = x.is_sign_negative() && !(magnitude == 0 && matches!(self.specials, Specials::Fnuz));
        if negative { magnitude | self.sign_mask() } else { magnitude }
    }
}

/// 2 to the power of `exponent`, which an f64 must hold as a normal number.
pub(crate) const fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The exponent and mantissa bits nearest to |x|, ties to even, in a format without an upper end; `x` is not NaN.
///
/// Counting in codes makes a carry out of the mantissa right by itself: it moves on to the next exponent.
pub(crate) const fn nearest_code(x: f64, min_exponent: i32, mantissa_bits: u32) -> u64 {
    let bits = x.abs().to_bits();
    let field = (bits >> 52) as i32;
    if field == 0 {
        // Zero, or an f64 subnormal: far below half of the smallest value of any format here.
        return 0;
    }
    let exponent = field - 1023;
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    let scale = if exponent > min_exponent { exponent } else { min_exponent };
    let dropped = 52 - mantissa_bits as i32 + (scale - exponent);
    if dropped > 53 {
        return 0;
    }
    let odd = significand >> dropped & 1;
    let rounded = (significand + (1 << (dropped - 1)) - 1 + odd) >> dropped;
    (((scale - min_exponent) as u64) << mantissa_bits) + rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Format; 8] =
        [Format::F16, Format::BF16, Format::TF32, Format::E4M3, Format::E5M2, Format::E3M2, Format::E2M3, Format::E2M1];

    #[test]
    fn every_code_survives_a_round_trip() {
        let foreign = [(4, 3, 8, Specials::Fnuz), (5, 2, 16, Specials::Fnuz), (3, 4, 3, Specials::Ieee)];
        let foreign = foreign.map(|(e, m, bias, specials)| Format::new(e, m, bias, specials));
        for format in ALL.into_iter().chain(foreign) {
            for code in 0..1u32 << format.bits() {
                let value = format.decode(code);
                assert_eq!(value.is_nan(), format.is_nan(code), "{format:?} {code:#x}");
                if !value.is_nan() {
                    assert_eq!(format.encode(value, Overflow::NonFinite), code, "{format:?} {code:#x} = {value}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_and_ties_go_to_the_even_code() {
        for format in ALL {
            for code in 0..format.max_code() {
                let (low, high) = (format.decode(code), format.decode(code + 1));
                let middle = low + (high - low) / 2.0;
                let even = code + (code & 1);
                for sign in [1.0, -1.0] {
                    let mask = if sign < 0.0 { format.sign_mask() } else { 0 };
                    let encode = |x: f64| format.encode(sign * x, Overflow::SatFinite);
                    assert_eq!(encode(middle), even | mask, "{format:?} {middle}");
                    assert_eq!(encode(middle.next_down()), code | mask, "{format:?} below {middle}");
                    assert_eq!(encode(middle.next_up()), (code + 1) | mask, "{format:?} above {middle}");
                }
            }
        }
    }

    #[test]
    fn the_path_from_f32_is_the_path_from_f64() {
        for format in ALL.into_iter().filter(|format| format.bits() <= 8) {
            let check = |x: f32| {
                let expected = format.encode(f64::from(x), Overflow::SatFinite);
                assert_eq!(format.encode_f32(x), expected, "{format:?} {x:e}");
            };
            for i in 0..300_000u32 {
                check(f32::from_bits(i.wrapping_mul(0x9e37_79b1)));
            }
            for code in 0..format.max_code() {
                let middle = ((format.decode(code) + format.decode(code + 1)) / 2.0) as f32;
                for x in [middle, middle.next_down(), middle.next_up(), format.decode(code) as f32] {
                    check(x);
                    check(-x);
                }
            }
            for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, f32::MAX, f32::from_bits(1)] {
                check(x);
            }
        }
    }

    #[test]
    fn f32_is_what_the_compiler_makes_it() {
        for i in 0..200_000u64 {
            // Odd multiples of a large odd number: spread over all exponents, signs and tails.
            let x = f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let code = Format::F32.encode(x, Overflow::NonFinite);
            if x.is_nan() {
                assert!(f32::from_bits(code).is_nan());
            } else {
                assert_eq!(code, (x as f32).to_bits(), "{x:e}");
            }
        }
    }

    #[test]
    fn overflow_follows_the_format() {
        let big = [1e30, f64::INFINITY];
        for x in big {
            assert_eq!(Format::E4M3.encode(x, Overflow::SatFinite), 0x7e);
            assert_eq!(Format::E4M3.encode(-x, Overflow::SatFinite), 0xfe);
            assert_eq!(Format::E4M3.encode(x, Overflow::NonFinite), 0x7f);
            assert_eq!(Format::E5M2.encode(x, Overflow::NonFinite), 0x7c);
            assert_eq!(Format::E2M1.encode(-x, Overflow::NonFinite), 0xf);
        }
        let fnuz = Format::new(4, 3, 8, Specials::Fnuz);
        assert_eq!(fnuz.encode(-1e9, Overflow::SatFinite), 0xff);
        for x in [1e9, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(fnuz.encode(x, Overflow::NonFinite), 0x80);
        }
        assert_eq!(fnuz.encode(-0.0, Overflow::NonFinite), 0);
        assert_eq!(Format::E2M1.encode(f64::NAN, Overflow::NonFinite), 0x7);
        assert_eq!(Format::E5M2.encode(f64::NAN, Overflow::SatFinite), 0x7f);
    }
}
