//! Blocks that share a scale factor, by the definition and in f64: what a factor may be, and what values become by it.

use crate::tracked::{Tracked, round};
use warpwright::Dtype;
use warpwright::spec::{BlockRun, BlockScales, ScaleOrder};

/// Which block of which line an element belongs to.
pub fn block(scales: BlockScales, row: usize, column: usize) -> [usize; 2] {
    let (line, along) = match scales.run {
        BlockRun::AlongRows => (row, column),
        BlockRun::AlongColumns => (column, row),
    };
    [line, along / usize::from(scales.block)]
}

/// Row and column, in the matrix of scale factors, of an element's own.
pub fn place(scales: BlockScales, row: usize, column: usize) -> [usize; 2] {
    let [line, block] = block(scales, row, column);
    stored_at(scales, line, block)
}

/// Row and column of a block's scale factor.
pub fn stored_at(scales: BlockScales, line: usize, block: usize) -> [usize; 2] {
    match (scales.order, scales.run) {
        (ScaleOrder::Strided, BlockRun::AlongRows) => [line, block],
        (ScaleOrder::Strided, BlockRun::AlongColumns) => [block, line],
        // In an atom, 32 lines of 16 bytes hold four blocks of lines that are 32 apart.
        (ScaleOrder::InAtoms, _) => {
            let within = line % 32 * 16 + line / 32 % 4 * 4 + block % 4;
            [line / 128, block / 4 * 512 + within]
        }
    }
}

/// The scale factors that are right for a block whose largest magnitude is between two bounds: the least, that of `amax` itself,
/// and the largest. Two roundings of f32 lie between the magnitude and the number that is rounded to the scale factors' type.
pub fn factors(scales: BlockScales, [least, amax, largest]: [f64; 3]) -> [f64; 3] {
    if amax.is_nan() {
        return [f64::NAN; 3];
    }
    let max = scales.element.max_finite();
    let (few, subnormal) = (2f64.powi(-23) * 1.01, 2f64.powi(-149));
    let factor = |exact: f64| rounded(scales.scale, exact);
    [
        factor((least / max * (1.0 - few) - subnormal).max(0.0)),
        factor(amax / max),
        factor(largest / max * (1.0 + few) + if largest > 0.0 { subnormal } else { 0.0 }),
    ]
}

/// To nearest in floats, up in `e8m0`.
fn rounded(scale: Dtype, exact: f64) -> f64 {
    if scale != Dtype::E8m0 || exact.is_nan() {
        return round(scale, exact);
    }
    let mut power = 2f64.powi(-127);
    while power < exact && power < 2f64.powi(127) {
        power *= 2.0;
    }
    power
}

/// A value divided by a scale factor, as kernels do: by a reciprocal in f32, which the largest f32 bounds.
pub fn divided(x: Tracked, factor: f64, rounding: f64) -> Tracked {
    let reciprocal = 1.0 / factor;
    let reciprocal = if reciprocal > f64::from(f32::MAX) { f64::from(f32::MAX) } else { reciprocal };
    let (value, error) = (x.value * reciprocal, x.error * reciprocal);
    Tracked { value, error: error + (value.abs() + error) * (2f64.powi(-24) + rounding) * 1.01 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scales(element: Dtype, scale: Dtype, run: BlockRun, order: ScaleOrder) -> BlockScales {
        BlockScales { element, scale, block: 32, run, order }
    }

    #[test]
    fn factors_are_exact_but_at_a_boundary() {
        let of =
            |scale, amax: f64| factors(scales(Dtype::E4m3, scale, BlockRun::AlongRows, ScaleOrder::Strided), [amax; 3]);
        assert_eq!(of(Dtype::E8m0, 300.0), [1.0; 3]);
        assert_eq!(of(Dtype::E8m0, 448.0), [1.0, 1.0, 2.0]);
        assert_eq!(of(Dtype::E8m0, 449.0), [2.0; 3]);
        assert_eq!(of(Dtype::E8m0, 0.0), [2f64.powi(-127); 3]);
        assert_eq!(of(Dtype::E8m0, f64::INFINITY), [2f64.powi(127); 3]);
        assert_eq!(of(Dtype::E4m3, 448.0), [1.0; 3]);
        assert_eq!(of(Dtype::E4m3, 448.0 * 1.0625), [1.0, 1.0, 1.125]);
        assert_eq!(of(Dtype::E4m3, 1e9), [448.0; 3]);
        assert_eq!(of(Dtype::E4m3, 0.0), [0.0; 3]);
        let [least, exact, largest] = of(Dtype::F32, 448.0);
        assert!(exact == 1.0 && largest > 1.0 && largest < 1.0 + 4e-7 && least < 1.0 && least > 1.0 - 4e-7);
        assert!(of(Dtype::F32, f64::NAN).iter().all(|x| x.is_nan()));
    }

    #[test]
    fn values_are_divided() {
        let x = Tracked { value: 6.0, error: 0.5 };
        let y = divided(x, 2.0, 2f64.powi(-24));
        assert!(y.value == 3.0 && (0.25..0.2501).contains(&y.error));
        // The scale factor of zeros alone.
        assert_eq!(divided(Tracked { value: 0.0, error: 0.0 }, 0.0, 0.0).value, 0.0);
        assert!(divided(x, f64::NAN, 0.0).value.is_nan());
    }

    #[test]
    fn factors_have_places() {
        let strided = |run| scales(Dtype::E4m3, Dtype::E8m0, run, ScaleOrder::Strided);
        assert_eq!(place(strided(BlockRun::AlongRows), 5, 70), [5, 2]);
        assert_eq!(place(strided(BlockRun::AlongColumns), 70, 5), [2, 5]);
        let atoms = scales(Dtype::E4m3, Dtype::E8m0, BlockRun::AlongRows, ScaleOrder::InAtoms);
        assert_eq!(place(atoms, 0, 32), [0, 1]);
        assert_eq!(place(atoms, 1, 0), [0, 16]);
        assert_eq!(place(atoms, 33, 96), [0, 16 + 4 + 3]);
        assert_eq!(place(atoms, 128, 128), [1, 512]);
    }
}
