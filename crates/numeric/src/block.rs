//! Blocks of elements that share a scale factor.

use crate::{Dtype, Element, e8m0};

/// The values of a block: every element times the block's scale factor, in `f32`.
///
/// nvfp4 has 16 `e2m1` elements and an `e4m3` scale, the MX formats have 32 fp8, fp6 or fp4 elements and an `e8m0` scale.
/// A NaN scale makes all values NaN.
pub fn dequantize_block<T: Element, S: Element>(elements: &[T], scale: S) -> Vec<f32> {
    let scale = scale.to_f32();
    elements.iter().map(|x| x.to_f32() * scale).collect()
}

/// The scale factor of a block of `element`s whose largest magnitude is `amax`, as a value of `scale`: `amax * (1 / max)`, both
/// operations in `f32`, where `max` is the largest finite value of `element`. It is rounded to nearest in floats, saturating in
/// `e4m3`, and up in `e8m0`, so that nothing in the block exceeds `max`; this is what CUTLASS does. (OCP's text for its MX formats takes
/// the power of two below `amax` over that of `max`, which lets the largest values saturate.)
///
/// A block of zeros has 0, and 2⁻¹²⁷ in `e8m0`; one with a NaN has NaN; one with an infinity has the largest scale factor.
pub fn block_scale(amax: f32, element: Dtype, scale: Dtype) -> f32 {
    let exact = amax * (1.0 / element.max_finite() as f32);
    match scale {
        Dtype::E8m0 => e8m0::at_least(exact).to_f32(),
        Dtype::F32 => exact,
        // Their values are exact in f32.
        _ => scale.decode_bits(scale.encode_bits(f64::from(exact))) as f32,
    }
}

/// What the values of a block are multiplied by before they are rounded to its element: the reciprocal of its scale factor, at most
/// the largest `f32`, so that zeros stay zeros where the scale factor is one.
pub fn block_factor(scale: f32) -> f32 {
    let factor = 1.0 / scale;
    if factor > f32::MAX { f32::MAX } else { factor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{e2m1, e4m3, e8m0};

    #[test]
    fn elements_are_scaled() {
        let elements = [1.0, -6.0, 0.5].map(e2m1::from_f32);
        assert_eq!(dequantize_block(&elements, e4m3::from_f32(0.1875)), [0.1875, -1.125, 0.09375]);
        assert_eq!(dequantize_block(&elements, e8m0::from_f32(8.0)), [8.0, -48.0, 4.0]);
        assert!(dequantize_block(&elements, e8m0::NAN).iter().all(|x| x.is_nan()));
    }

    #[test]
    fn scale_factors_fit_the_largest_value() {
        let of = |amax: f32, element, scale| block_scale(amax, element, scale);
        assert_eq!(of(6.0, Dtype::E2m1, Dtype::E4m3), 1.0);
        assert_eq!(of(448.0, Dtype::E4m3, Dtype::E8m0), 1.0);
        assert_eq!(of(448.5, Dtype::E4m3, Dtype::E8m0), 2.0);
        assert_eq!(of(1.0, Dtype::E4m3, Dtype::F32), 1.0 / 448.0);
        assert_eq!(of(28.0, Dtype::E3m2, Dtype::E8m0), 1.0);
        assert_eq!(of(0.0, Dtype::E4m3, Dtype::E8m0), 2f32.powi(-127));
        assert_eq!(of(0.0, Dtype::E2m1, Dtype::E4m3), 0.0);
        assert_eq!(of(1e6, Dtype::E2m1, Dtype::E4m3), 448.0);
        assert_eq!(of(f32::INFINITY, Dtype::E2m1, Dtype::E8m0), 2f32.powi(127));
        for scale in [Dtype::F32, Dtype::E8m0, Dtype::E4m3] {
            assert!(of(f32::NAN, Dtype::E4m3, scale).is_nan());
        }
    }

    // Whatever a block holds, its largest magnitude becomes nothing beyond the element's range where scale factors are rounded up.
    #[test]
    fn nothing_exceeds_the_range() {
        for bits in (0..0x7f80_0000u32).step_by(65_537) {
            let amax = f32::from_bits(bits);
            for element in [Dtype::E4m3, Dtype::E5m2, Dtype::E3m2, Dtype::E2m3, Dtype::E2m1] {
                let q = amax * block_factor(block_scale(amax, element, Dtype::E8m0));
                assert!(f64::from(q) <= element.max_finite() * (1.0 + 2f64.powi(-22)), "{amax:e} {element}: {q}");
            }
        }
    }

    #[test]
    fn factors_are_finite() {
        assert_eq!([0.0, 1e-45, 0.5, f32::INFINITY].map(block_factor), [f32::MAX, f32::MAX, 2.0, 0.0]);
        assert!(block_factor(f32::NAN).is_nan());
    }
}
