//! The scale factor of the MX block formats.

use crate::minifloat::{exp2, nearest_code};
use crate::newtype::float_traits;
use crate::{Dtype, Element};

/// A power of two from 2⁻¹²⁷ to 2¹²⁷, or NaN: an exponent without sign and mantissa. OCP's E8M0, PTX's ue8m0.
///
/// It has no zero, so its `Default` is 1.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct e8m0(u8);

impl e8m0 {
    const NAN_CODE: u8 = 0xff;
    /// The exponent of code 1. Conversions round below it as if code 0 were zero, as the reference implementation does.
    const MIN_ROUNDED_EXPONENT: i32 = -126;

    /// 1.
    pub const ONE: e8m0 = e8m0(127);
    /// 2¹²⁷.
    pub const MAX: e8m0 = e8m0(254);
    /// 2⁻¹²⁷.
    pub const MIN_POSITIVE: e8m0 = e8m0(0);
    /// Not a number.
    pub const NAN: e8m0 = e8m0(Self::NAN_CODE);

    /// The value with these bits: 2 to the power of `bits - 127`, and NaN for 255.
    #[inline]
    pub const fn from_bits(bits: u8) -> e8m0 {
        e8m0(bits)
    }

    /// The value's bits: its exponent plus 127.
    #[inline]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The nearest power of two; half-way values go up, which is to the even significand.
    ///
    /// Zero, negative values, NaN and what rounds beyond 2¹²⁷ become NaN. Values from 2⁻¹²⁷ down become 2⁻¹²⁷,
    /// values between 2⁻¹²⁷ and 2⁻¹²⁶ become 2⁻¹²⁶.
    #[inline]
    pub const fn from_f64(x: f64) -> e8m0 {
        if x.is_nan() || x <= 0.0 {
            return e8m0::NAN;
        }
        let code = nearest_code(x, Self::MIN_ROUNDED_EXPONENT, 0);
        if code > Self::MAX.0 as u64 { e8m0::NAN } else { e8m0(code as u8) }
    }

    /// The least power of two that is at least `x`, and 2¹²⁷ beyond that: PTX's `cvt.rp.satfinite`. Zero becomes 2⁻¹²⁷; negative
    /// values and NaN become NaN.
    #[inline]
    pub const fn at_least(x: f32) -> e8m0 {
        if x.is_nan() || x < 0.0 {
            return e8m0::NAN;
        }
        let bits = x.to_bits() & 0x7fff_ffff;
        let (exponent, mantissa) = (bits >> 23, bits & 0x7f_ffff);
        // Subnormals have the place value of exponent 1, and 2⁻¹²⁷ is one of them.
        let up = if exponent == 0 { mantissa > 1 << 22 } else { mantissa > 0 };
        let code = exponent + up as u32;
        if code > Self::MAX.0 as u32 { e8m0::MAX } else { e8m0(code as u8) }
    }

    /// As [`from_f64`](e8m0::from_f64).
    #[inline]
    pub const fn from_f32(x: f32) -> e8m0 {
        e8m0::from_f64(x as f64)
    }

    /// The value, exactly.
    #[inline]
    pub const fn to_f64(self) -> f64 {
        if self.is_nan() { f64::NAN } else { exp2(self.0 as i32 - 127) }
    }

    /// The value, exactly; 2⁻¹²⁷ is a subnormal `f32`.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        match self.0 {
            0 => f32::from_bits(1 << 22),
            Self::NAN_CODE => f32::NAN,
            code => f32::from_bits((code as u32) << 23),
        }
    }

    /// Whether this is not a number.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.0 == Self::NAN_CODE
    }
}

impl Default for e8m0 {
    fn default() -> e8m0 {
        e8m0::ONE
    }
}

impl Element for e8m0 {
    const DTYPE: Dtype = Dtype::E8m0;
    type Output = f32;
    #[inline]
    fn to_f64(self) -> f64 {
        self.to_f64()
    }
    #[inline]
    fn from_f64(x: f64) -> e8m0 {
        e8m0::from_f64(x)
    }
    #[inline]
    fn to_f32(self) -> f32 {
        self.to_f32()
    }
    #[inline]
    fn from_f32(x: f32) -> e8m0 {
        e8m0::from_f32(x)
    }
}

float_traits!(e8m0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_a_round_trip() {
        for bits in 0..=254 {
            let x = e8m0::from_bits(bits);
            assert_eq!(x.to_f64(), 2f64.powi(i32::from(bits) - 127));
            assert_eq!(f64::from(x.to_f32()), x.to_f64());
            assert_eq!(e8m0::from_f64(x.to_f64()).to_bits(), bits);
            assert_eq!(e8m0::from_f32(x.to_f32()).to_bits(), bits);
        }
        assert!(e8m0::NAN.is_nan() && e8m0::NAN.to_f32().is_nan() && e8m0::NAN.to_f64().is_nan());
    }

    #[test]
    fn rounding_is_in_the_exponent() {
        let cases = [(1.0, 127), (1.4999, 127), (1.5, 128), (3.0, 129), (2.9999, 128), (1e-300, 0)];
        for (x, bits) in cases {
            assert_eq!(e8m0::from_f64(x).to_bits(), bits, "{x}");
        }
        // Subnormal in f32.
        for (bits, code) in [(1, 0), (0x40_0000, 0), (0x40_0001, 1), (0x60_0000, 1), (0x80_0000, 1), (0xc0_0000, 2)] {
            assert_eq!(e8m0::from_f32(f32::from_bits(bits)).to_bits(), code, "{bits:#x}");
        }
        assert_eq!(e8m0::from_f64(1.49 * 2f64.powi(127)), e8m0::MAX);
    }

    #[test]
    fn the_least_power_that_is_no_smaller() {
        for bits in 0..254u8 {
            let (x, next) = (e8m0::from_bits(bits), e8m0::from_bits(bits + 1));
            assert_eq!(e8m0::at_least(x.to_f32()), x);
            assert_eq!(e8m0::at_least(f32::from_bits(x.to_f32().to_bits() + 1)), next, "{bits}");
            assert_eq!(e8m0::at_least(f32::from_bits(next.to_f32().to_bits() - 1)), next, "{bits}");
        }
        assert_eq!([0.0, -0.0, 1e-45].map(|x| e8m0::at_least(x).to_bits()), [0; 3]);
        assert_eq!([f32::INFINITY, f32::MAX, 1.5 * 2f32.powi(127)].map(e8m0::at_least), [e8m0::MAX; 3]);
        assert!([-1.0, f32::NEG_INFINITY, f32::NAN].iter().all(|&x| e8m0::at_least(x).is_nan()));
    }

    #[test]
    fn what_is_not_a_power_of_two_is_nan() {
        for x in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5 * 2f64.powi(127)] {
            assert!(e8m0::from_f64(x).is_nan(), "{x}");
        }
    }
}
