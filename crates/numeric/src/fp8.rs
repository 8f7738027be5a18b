//! The 8-bit floats.

use crate::newtype::minifloat;

minifloat! {
    /// fp8 with 4 exponent and 3 mantissa bits: finite to ±448, NaN, no infinity. OCP's E4M3, also called e4m3fn.
    e4m3 = E4M3, E4m3
}

minifloat! {
    /// fp8 with 5 exponent and 2 mantissa bits: finite to ±57344, infinities and NaN. OCP's E5M2.
    e5m2 = E5M2, E5m2
}

impl e4m3 {
    /// Not a number.
    pub const NAN: e4m3 = e4m3::from_f64(f64::NAN);
}

impl e5m2 {
    /// Not a number.
    pub const NAN: e5m2 = e5m2::from_f64(f64::NAN);
    /// Positive infinity. Conversions saturate and never give it.
    pub const INFINITY: e5m2 = e5m2(0x7c);
    /// Negative infinity. Conversions saturate and never give it.
    pub const NEG_INFINITY: e5m2 = e5m2(0xfc);
}

macro_rules! same_bits {
    ($($ours:ident = $theirs:ident)+) => { $(
        impl From<float8::$theirs> for $ours {
            #[inline]
            fn from(x: float8::$theirs) -> $ours {
                $ours::from_bits(x.to_bits())
            }
        }

        impl From<$ours> for float8::$theirs {
            #[inline]
            fn from(x: $ours) -> float8::$theirs {
                float8::$theirs::from_bits(x.to_bits())
            }
        }
    )+ };
}
same_bits!(e4m3 = F8E4M3 e5m2 = F8E5M2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bf16, f16};

    #[test]
    fn e4m3_saturates_and_rounds_to_even() {
        let cases = [
            (448.0, 448.0),
            (464.0, 448.0),
            (465.0, 448.0),
            (1000.0, 448.0),
            (f32::INFINITY, 448.0),
            (-1000.0, -448.0),
            (f32::NEG_INFINITY, -448.0),
            (17.0, 16.0),
            (19.0, 20.0),
            (2f32.powi(-9), 2f32.powi(-9)),
            (2f32.powi(-10), 0.0),
        ];
        for (x, expected) in cases {
            assert_eq!(e4m3::from_f32(x).to_f32(), expected, "{x}");
        }
        assert!(e4m3::from_f32(f32::NAN).is_nan());
        assert_eq!(e4m3::from_f32(-f32::NAN).to_bits(), 0x7f);
    }

    #[test]
    fn e5m2_saturates_although_it_has_infinity() {
        for (x, expected) in [(61439.0, 57344.0), (61440.0, 57344.0), (f32::INFINITY, 57344.0), (-1e9, -57344.0)] {
            assert_eq!(e5m2::from_f32(x).to_f32(), expected, "{x}");
        }
        assert!(e5m2::from_f32(f32::NAN).is_nan());
        assert_eq!(e5m2::INFINITY.to_f32(), f32::INFINITY);
        assert_eq!(e5m2::NEG_INFINITY.to_f32(), f32::NEG_INFINITY);
        assert!(!e5m2::INFINITY.is_finite() && !e5m2::NAN.is_finite() && e5m2::MIN.is_finite());
    }

    #[test]
    fn constants() {
        assert_eq!((e4m3::MAX.to_f32(), e4m3::MIN.to_f32(), e4m3::ONE.to_f32()), (448.0, -448.0, 1.0));
        assert_eq!((e4m3::EPSILON.to_f32(), e4m3::MIN_POSITIVE.to_f32()), (0.125, 0.015625));
        assert_eq!(e4m3::MIN_POSITIVE_SUBNORMAL.to_f32(), 0.001953125);
        assert_eq!((e5m2::MAX.to_f32(), e5m2::EPSILON.to_f32()), (57344.0, 0.25));
        assert_eq!((-e4m3::ZERO).to_bits(), 0x80);
        assert_eq!(-e4m3::ZERO, e4m3::ZERO);
        assert!(e4m3::NAN != e4m3::NAN && e4m3::ONE > e4m3::MIN);
    }

    /// A step through `f32` would round 1 + 2⁻⁴ + 2⁻⁴⁰ onto the tie, and then down to 1.
    #[test]
    fn f64_rounds_once() {
        assert_eq!(e4m3::from_f64(1.0 + 0.0625 + 2f64.powi(-40)).to_f64(), 1.125);
        assert_eq!(e5m2::from_f64(-1.125 - 2f64.powi(-40)).to_f64(), -1.25);
    }

    #[test]
    fn other_crates_types_hold_the_same_values() {
        for bits in 0..=255 {
            let (x, y) = (e4m3::from_bits(bits), e5m2::from_bits(bits));
            assert_eq!(float8::F8E4M3::from(x).to_bits(), bits);
            assert_eq!(e4m3::from(float8::F8E4M3::from_bits(bits)).to_bits(), bits);
            assert_eq!(float8::F8E5M2::from(y).to_bits(), bits);
            assert_eq!(e5m2::from(float8::F8E5M2::from_bits(bits)).to_bits(), bits);
            if !x.is_nan() {
                assert_eq!(float8::F8E4M3::from(x).to_f32(), x.to_f32());
                assert_eq!((f16::from(x).to_f32(), bf16::from(x).to_f32()), (x.to_f32(), x.to_f32()));
            }
            if !y.is_nan() {
                assert_eq!(float8::F8E5M2::from(y).to_f32(), y.to_f32());
                assert_eq!((f16::from(y).to_f32(), bf16::from(y).to_f32()), (y.to_f32(), y.to_f32()));
            }
        }
    }
}
