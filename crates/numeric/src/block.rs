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
