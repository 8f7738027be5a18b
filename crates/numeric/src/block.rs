//! Blocks of elements that share a scale factor.

use crate::Element;

/// The values of a block: every element times the block's scale factor, in `f32`.
///
/// nvfp4 has 16 `e2m1` elements and an `e4m3` scale, the MX formats have 32 fp8, fp6 or fp4 elements and an `e8m0` scale.
/// A NaN scale makes all values NaN.
pub fn dequantize_block<T: Element, S: Element>(elements: &[T], scale: S) -> Vec<f32> {
    let scale = scale.to_f32();
    elements.iter().map(|x| x.to_f32() * scale).collect()
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
}
