//! TensorFloat-32.

use crate::newtype::float_traits;
use crate::{Dtype, Element, Format, Overflow, bf16, f16};

/// An `f32` that keeps 10 mantissa bits: TensorFloat-32, in 32 bits of storage.
///
/// The low 13 bits do not count, as in the tensor cores, which ignore them.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct tf32(u32);

impl tf32 {
    /// How many low bits of an `f32` a `tf32` has not.
    pub(crate) const UNUSED_BITS: u32 = Format::F32.bits() - Format::TF32.bits();

    /// 0.
    pub const ZERO: tf32 = tf32(0);
    /// 1.
    pub const ONE: tf32 = tf32::from_f32(1.0);
    /// The largest finite value.
    pub const MAX: tf32 = tf32(Format::TF32.max_code() << Self::UNUSED_BITS);
    /// The most negative finite value.
    pub const MIN: tf32 = tf32((Format::TF32.max_code() | Format::TF32.sign_mask()) << Self::UNUSED_BITS);
    /// The smallest positive normal value.
    pub const MIN_POSITIVE: tf32 = tf32(Format::TF32.min_normal_code() << Self::UNUSED_BITS);
    /// The smallest positive value.
    pub const MIN_POSITIVE_SUBNORMAL: tf32 = tf32(1 << Self::UNUSED_BITS);
    /// The distance from 1 to the next value above it.
    pub const EPSILON: tf32 = tf32::from_f64(Format::TF32.epsilon());
    /// Positive infinity.
    pub const INFINITY: tf32 = tf32::from_f64(f64::INFINITY);
    /// Negative infinity.
    pub const NEG_INFINITY: tf32 = tf32::from_f64(f64::NEG_INFINITY);
    /// Not a number.
    pub const NAN: tf32 = tf32::from_f64(f64::NAN);

    /// The value that the tensor cores see in these bits of an `f32`: the low 13 are dropped, not rounded.
    #[inline]
    pub const fn from_bits(bits: u32) -> tf32 {
        tf32(bits >> Self::UNUSED_BITS << Self::UNUSED_BITS)
    }

    /// The value as the bits of an `f32`; the low 13 are zero.
    #[inline]
    pub const fn to_bits(self) -> u32 {
        self.0 >> Self::UNUSED_BITS << Self::UNUSED_BITS
    }

    /// The nearest value, ties to even; beyond the largest finite value, infinity.
    #[inline]
    pub const fn from_f64(x: f64) -> tf32 {
        tf32(Format::TF32.encode(x, Overflow::NonFinite) << Self::UNUSED_BITS)
    }

    /// As [`from_f64`](tf32::from_f64). (PTX's `cvt.rna` differs in ties, which it rounds away from zero.)
    #[inline]
    pub const fn from_f32(x: f32) -> tf32 {
        if x.is_nan() {
            return tf32::NAN;
        }
        let bits = x.to_bits();
        let odd = bits >> Self::UNUSED_BITS & 1;
        tf32::from_bits(bits + (1 << (Self::UNUSED_BITS - 1)) - 1 + odd)
    }

    /// The value, exactly.
    #[inline]
    pub const fn to_f64(self) -> f64 {
        self.to_f32() as f64
    }

    /// The value, exactly.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits(self.to_bits())
    }

    /// Whether this is not a number.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.to_f32().is_nan()
    }

    /// Whether this is neither infinite nor NaN.
    #[inline]
    pub const fn is_finite(self) -> bool {
        self.to_f32().is_finite()
    }
}

impl Element for tf32 {
    const DTYPE: Dtype = Dtype::Tf32;
    type Output = f32;
    #[inline]
    fn to_f64(self) -> f64 {
        self.to_f64()
    }
    #[inline]
    fn from_f64(x: f64) -> tf32 {
        tf32::from_f64(x)
    }
    #[inline]
    fn to_f32(self) -> f32 {
        self.to_f32()
    }
    #[inline]
    fn from_f32(x: f32) -> tf32 {
        tf32::from_f32(x)
    }
}

impl core::ops::Neg for tf32 {
    type Output = tf32;
    #[inline]
    fn neg(self) -> tf32 {
        tf32(self.0 ^ 1 << 31)
    }
}

impl From<f16> for tf32 {
    #[inline]
    fn from(x: f16) -> tf32 {
        tf32::from_f32(x.to_f32())
    }
}

impl From<bf16> for tf32 {
    #[inline]
    fn from(x: bf16) -> tf32 {
        tf32::from_f32(x.to_f32())
    }
}

float_traits!(tf32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_a_round_trip() {
        for code in 0..1u32 << 19 {
            let x = tf32::from_bits(code << tf32::UNUSED_BITS);
            if x.is_nan() {
                assert!(tf32::from_f32(x.to_f32()).is_nan() && tf32::from_f64(x.to_f64()).is_nan());
            } else {
                assert_eq!(tf32::from_f32(x.to_f32()).to_bits(), x.to_bits());
                assert_eq!(tf32::from_f64(x.to_f64()).to_bits(), x.to_bits());
                assert_eq!(x.to_f64(), Format::TF32.decode(code));
            }
        }
    }

    #[test]
    fn f32_rounds_as_f64_does() {
        for i in 0..500_000u32 {
            let x = f32::from_bits(i.wrapping_mul(0x9e37_79b1));
            assert_eq!(tf32::from_f32(x).to_bits(), tf32::from_f64(f64::from(x)).to_bits(), "{x:e}");
        }
    }

    #[test]
    fn ties_overflow_and_nan() {
        let ulp = 2f32.powi(-10);
        assert_eq!(tf32::from_f32(1.0 + ulp / 2.0).to_f32(), 1.0);
        assert_eq!(tf32::from_f32(1.0 + ulp * 1.5).to_f32(), 1.0 + 2.0 * ulp);
        assert_eq!(tf32::from_f32(f32::MAX).to_f32(), f32::INFINITY);
        assert_eq!(tf32::from_f32(f32::NEG_INFINITY).to_f32(), f32::NEG_INFINITY);
        // A NaN whose payload lies in the dropped bits stays one.
        assert!(tf32::from_f32(f32::from_bits(0x7f80_0001)).is_nan());
        assert_eq!(tf32::from_f64(1.0 + f64::from(ulp) / 2.0 + 2f64.powi(-50)).to_f32(), 1.0 + ulp);
        assert_eq!(tf32::from_bits(0x3f80_1fff), tf32::ONE);
    }

    #[test]
    fn the_16_bit_floats_fit() {
        for bits in 0..=u16::MAX {
            let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
            if !x.is_nan() {
                assert_eq!(tf32::from(x).to_f32(), x.to_f32());
            }
            if !y.is_nan() {
                assert_eq!(tf32::from(y).to_f32(), y.to_f32());
            }
        }
    }
}
