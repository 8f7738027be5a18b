//! The 4-bit float, one to a byte until it is packed.

use crate::newtype::minifloat;

minifloat! {
    /// fp4 with 2 exponent bits and 1 mantissa bit: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. OCP's E2M1.
    ///
    /// One value to a byte, in its low four bits; [`pack`](crate::pack()) makes pairs. NaN converts to 6.
    e2m1 = E2M1, E2m1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixteen_values() {
        let magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0f32];
        for (bits, x) in magnitudes.into_iter().enumerate() {
            for (bits, x) in [(bits as u8, x), (bits as u8 | 8, -x)] {
                assert_eq!(e2m1::from_bits(bits).to_f32().to_bits(), x.to_bits());
                assert_eq!(e2m1::from_f32(x).to_bits(), bits);
            }
        }
    }

    #[test]
    fn conversion() {
        let cases = [(5.0, 4.0), (5.1, 6.0), (2.5, 2.0), (0.25, 0.0), (0.26, 0.5), (-3.5, -4.0), (7.0, 6.0)];
        for (x, expected) in cases {
            assert_eq!(e2m1::from_f32(x).to_f32(), expected, "{x}");
        }
        for (x, bits) in [(f32::INFINITY, 7), (f32::NEG_INFINITY, 15), (f32::NAN, 7), (-f32::NAN, 7), (-0.1, 8)] {
            assert_eq!(e2m1::from_f32(x).to_bits(), bits, "{x}");
        }
    }
}
