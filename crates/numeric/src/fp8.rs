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
            fn from(x: float8::$theirs) -> $ours {
                $ours::from_bits(x.to_bits())
            }
        }

        impl From<$ours> for float8::$theirs {
            fn from(x: $ours) -> float8::$theirs {
                float8::$theirs::from_bits(x.to_bits())
            }
        }
    )+ };
}
same_bits!(e4m3 = F8E4M3 e5m2 = F8E5M2);
