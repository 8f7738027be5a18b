//! The 6-bit floats, one to a byte until they are packed.

use crate::newtype::minifloat;

minifloat! {
    /// fp6 with 3 exponent and 2 mantissa bits: ±28, every code a finite value. OCP's E3M2.
    ///
    /// One value to a byte, in its low six bits; [`pack`](crate::pack()) makes the dense form. NaN converts to 28.
    e3m2 = E3M2, E3m2
}

minifloat! {
    /// fp6 with 2 exponent and 3 mantissa bits: ±7.5, every code a finite value. OCP's E2M3.
    ///
    /// One value to a byte, in its low six bits; [`pack`](crate::pack()) makes the dense form. NaN converts to 7.5.
    e2m3 = E2M3, E2m3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturate_and_have_no_nan() {
        assert_eq!((e3m2::MAX.to_f32(), e2m3::MAX.to_f32()), (28.0, 7.5));
        for (x, wide, fine) in
            [(1e9, 28.0, 7.5), (f32::NEG_INFINITY, -28.0, -7.5), (f32::NAN, 28.0, 7.5), (-f32::NAN, 28.0, 7.5)]
        {
            assert_eq!((e3m2::from_f32(x).to_f32(), e2m3::from_f32(x).to_f32()), (wide, fine), "{x}");
        }
        assert_eq!((e3m2::MIN_POSITIVE.to_f32(), e3m2::MIN_POSITIVE_SUBNORMAL.to_f32()), (0.25, 0.0625));
        assert_eq!((e2m3::MIN_POSITIVE.to_f32(), e2m3::MIN_POSITIVE_SUBNORMAL.to_f32()), (1.0, 0.125));
        assert_eq!((e3m2::EPSILON.to_f32(), e2m3::EPSILON.to_f32()), (0.25, 0.125));
    }

    #[test]
    fn bits_above_the_width_do_not_count() {
        assert_eq!(bytemuck::cast::<u8, e3m2>(0xdf), e3m2::MAX);
        assert_eq!(bytemuck::cast::<u8, e2m3>(0xdf).to_bits(), 0x1f);
    }
}
