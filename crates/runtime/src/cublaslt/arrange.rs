//! Products in cuBLASLt's terms, whose matrices are all column-major.
//!
//! A row-major D is the column-major Dᵀ = Bᵀ · Aᵀ, so its first operand is B. An operand in the other order than cuBLASLt
//! wants it is given as it lies and transposed by the product.

use warpwright_numeric::Dtype;

use cudarc::cublaslt::sys::{cublasComputeType_t as Compute, cudaDataType_t as Type};

use crate::Strided;

/// A matrix as column-major memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stored {
    /// Elements of one line.
    pub(super) rows: u64,
    /// Lines.
    pub(super) cols: u64,
    /// Elements between two lines.
    pub(super) leading: i64,
    /// Matrices.
    pub(super) batch: i32,
    /// Elements between two matrices.
    pub(super) batch_stride: i64,
    /// Whether it is the transpose of what was meant.
    pub(super) transposed: bool,
}

/// A product in cuBLASLt's terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arranged {
    /// Whether B is the first operand.
    pub(super) swapped: bool,
    pub(super) first: Stored,
    pub(super) second: Stored,
    pub(super) d: Stored,
    pub(super) transpose_first: bool,
    pub(super) transpose_second: bool,
}

/// A layout as column-major memory; `None` if neither its rows nor its columns are contiguous, or a number is too large.
fn stored(layout: Strided) -> Option<Stored> {
    let Strided { extents: [batch, rows, cols], strides: [batch_stride, row, column] } = layout;
    let transposed = match (column == 1 || cols <= 1, row == 1 || rows <= 1) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => return None,
    };
    let (line, lines, distance) = if transposed { (cols, rows, row) } else { (rows, cols, column) };
    let least = i64::try_from(line).ok()?.max(1);
    // A single line has no distance to a next one.
    let leading = if lines <= 1 { distance.max(least) } else { distance };
    (leading >= least).then_some(())?;
    let batch = i32::try_from(batch).ok()?;
    Some(Stored { rows: line as u64, cols: lines as u64, leading, batch, batch_stride, transposed })
}

/// The product of two layouts into a third, or the name of the operand that cuBLASLt cannot describe.
pub(super) fn arranged(a: Strided, b: Strided, d: Strided) -> Result<Arranged, &'static str> {
    let a = stored(a).ok_or("A")?;
    let b = stored(b).ok_or("B")?;
    let d = stored(d).ok_or("D")?;
    let swapped = d.transposed;
    let (first, second) = if swapped { (b, a) } else { (a, b) };
    let transposes = |operand: Stored| operand.transposed != swapped;
    Ok(Arranged { swapped, first, second, d, transpose_first: transposes(first), transpose_second: transposes(second) })
}

/// The types of a product in cuBLASLt's terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Types {
    pub(super) compute: Compute,
    pub(super) scale: Type,
    pub(super) a: Type,
    pub(super) b: Type,
    pub(super) d: Type,
    /// 1 of the scale's type.
    pub(super) one: [u8; 8],
    /// Whether the choice of fast accumulation exists.
    pub(super) is_fp8: bool,
}

/// What cuBLASLt has for these elements, if it has it.
pub(super) fn types(a: Dtype, b: Dtype, d: Dtype) -> Option<Types> {
    let (compute, scale) = match (a, b, d) {
        (Dtype::F16, Dtype::F16, Dtype::F16 | Dtype::F32) => (Compute::CUBLAS_COMPUTE_32F, Dtype::F32),
        (Dtype::Bf16, Dtype::Bf16, Dtype::Bf16 | Dtype::F32) => (Compute::CUBLAS_COMPUTE_32F, Dtype::F32),
        (Dtype::Tf32, Dtype::Tf32, Dtype::F32) => (Compute::CUBLAS_COMPUTE_32F_FAST_TF32, Dtype::F32),
        (Dtype::F32, Dtype::F32, Dtype::F32) => (Compute::CUBLAS_COMPUTE_32F, Dtype::F32),
        (Dtype::F64, Dtype::F64, Dtype::F64) => (Compute::CUBLAS_COMPUTE_64F, Dtype::F64),
        (Dtype::I8, Dtype::I8, Dtype::I32) => (Compute::CUBLAS_COMPUTE_32I, Dtype::I32),
        // Two e5m2 operands are the one pairing that it lacks.
        (Dtype::E5m2, Dtype::E5m2, _) => return None,
        (_, _, Dtype::F16 | Dtype::Bf16 | Dtype::F32) if a.is_fp8() && b.is_fp8() => {
            (Compute::CUBLAS_COMPUTE_32F, Dtype::F32)
        }
        _ => return None,
    };
    let one = match scale {
        Dtype::F64 => 1f64.to_le_bytes(),
        Dtype::I32 => 1i64.to_le_bytes(),
        _ => u64::from(1f32.to_bits()).to_le_bytes(),
    };
    let is_fp8 = a.is_fp8();
    Some(Types { compute, scale: element(scale)?, a: element(a)?, b: element(b)?, d: element(d)?, one, is_fp8 })
}

fn element(dtype: Dtype) -> Option<Type> {
    Some(match dtype {
        Dtype::F64 => Type::CUDA_R_64F,
        Dtype::F32 | Dtype::Tf32 => Type::CUDA_R_32F,
        Dtype::F16 => Type::CUDA_R_16F,
        Dtype::Bf16 => Type::CUDA_R_16BF,
        Dtype::E4m3 => Type::CUDA_R_8F_E4M3,
        Dtype::E5m2 => Type::CUDA_R_8F_E5M2,
        Dtype::I8 => Type::CUDA_R_8I,
        Dtype::I32 => Type::CUDA_R_32I,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order::{ColumnMajor, RowMajor};

    /// What cuBLASLt computes, by its documentation: column-major op(first) · op(second), into column-major D.
    fn multiplied(p: &Arranged, a: &[f64], b: &[f64], d: &mut [f64]) {
        let (x, y) = if p.swapped { (b, a) } else { (a, b) };
        let at = |m: &Stored, data: &[f64], transpose: bool, g: i64, i: u64, j: u64| {
            let (row, col) = if transpose { (j, i) } else { (i, j) };
            assert!(row < m.rows && col < m.cols);
            data[(g * m.batch_stride + row as i64 + col as i64 * m.leading) as usize]
        };
        let k = if p.transpose_first { p.first.rows } else { p.first.cols };
        assert_eq!(k, if p.transpose_second { p.second.cols } else { p.second.rows });
        for g in 0..i64::from(p.d.batch) {
            for j in 0..p.d.cols {
                for i in 0..p.d.rows {
                    let terms = (0..k).map(|l| {
                        at(&p.first, x, p.transpose_first, g, i, l) * at(&p.second, y, p.transpose_second, g, l, j)
                    });
                    d[(g * p.d.batch_stride + i as i64 + j as i64 * p.d.leading) as usize] = terms.sum();
                }
            }
        }
    }

    #[test]
    fn every_order_of_the_operands_gives_the_product() {
        for (m, n, k) in [(3, 5, 4), (1, 5, 4), (3, 1, 4), (3, 5, 1), (1, 1, 4), (1, 1, 1)] {
            for bits in 0..16 {
                let order = |bit: u32| if bits >> bit & 1 == 0 { RowMajor } else { ColumnMajor };
                let batch = if bits >> 3 & 1 == 0 { 1 } else { 3 };
                let padded = |rows: usize, cols: usize, order| {
                    let leading = if order == RowMajor { cols } else { rows } + 2;
                    Strided::padded(rows, cols, order, leading).unwrap().batched(batch, 64)
                };
                let (a, b, d) = (padded(m, k, order(0)), padded(k, n, order(1)), padded(m, n, order(2)));
                let values = |seed: usize| -> Vec<f64> { (0..256).map(|i| ((i * 7 + seed) % 11) as f64).collect() };
                let (left, right) = (values(1), values(5));
                let mut out = vec![-1.0; 256];
                multiplied(&arranged(a, b, d).unwrap(), &left, &right, &mut out);
                for g in 0..batch {
                    for i in 0..m {
                        for j in 0..n {
                            let want: f64 = (0..k).map(|l| left[a.offset(g, i, l)] * right[b.offset(g, l, j)]).sum();
                            assert_eq!(out[d.offset(g, i, j)], want, "{m}x{n}x{k}, orders {bits:b}: {g} {i} {j}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn k_major_operands_and_a_row_major_d_are_a_transposed_times_a_plain_one() {
        let [m, n, k] = [4096, 2112, 7168];
        let p =
            arranged(Strided::dense(m, k, RowMajor), Strided::dense(k, n, ColumnMajor), Strided::dense(m, n, RowMajor))
                .unwrap();
        assert!(p.swapped && p.transpose_first && !p.transpose_second);
        assert_eq!((p.first.rows, p.first.cols, p.first.leading), (7168, 2112, 7168));
        assert_eq!((p.second.rows, p.second.cols, p.second.leading), (7168, 4096, 7168));
        assert_eq!((p.d.rows, p.d.cols, p.d.leading), (2112, 4096, 2112));
    }

    #[test]
    fn strides_that_are_no_leading_dimension_are_refused() {
        let dense = Strided::dense(4, 4, RowMajor);
        let spread = Strided { extents: [1, 4, 4], strides: [0, 8, 2] };
        let overlapping = Strided { extents: [1, 4, 4], strides: [0, 2, 1] };
        assert_eq!(arranged(spread, dense, dense), Err("A"));
        assert_eq!(arranged(dense, overlapping, dense), Err("B"));
        assert_eq!(arranged(dense, dense, spread), Err("D"));
    }

    #[test]
    fn types_have_the_numbers_of_the_headers() {
        let of =
            |a, b, d| types(a, b, d).map(|t| [t.compute as u32, t.scale as u32, t.a as u32, t.b as u32, t.d as u32]);
        use Dtype::*;
        assert_eq!(of(F16, F16, F16), Some([68, 0, 2, 2, 2]));
        assert_eq!(of(Bf16, Bf16, F32), Some([68, 0, 14, 14, 0]));
        assert_eq!(of(Tf32, Tf32, F32), Some([77, 0, 0, 0, 0]));
        assert_eq!(of(F32, F32, F32), Some([68, 0, 0, 0, 0]));
        assert_eq!(of(F64, F64, F64), Some([70, 1, 1, 1, 1]));
        assert_eq!(of(I8, I8, I32), Some([72, 10, 3, 3, 10]));
        assert_eq!(of(E4m3, E5m2, Bf16), Some([68, 0, 28, 29, 14]));
        for (a, b, d) in [(E5m2, E5m2, Bf16), (U8, U8, I32), (F16, Bf16, F32), (E4m3, E4m3, E4m3), (I8, I8, F32)] {
            assert_eq!(of(a, b, d), None, "{a} x {b} into {d}");
        }
        assert_eq!(types(F64, F64, F64).unwrap().one, 1f64.to_le_bytes());
        assert_eq!(types(I8, I8, I32).unwrap().one[..4], 1i32.to_le_bytes());
        assert_eq!(types(F16, F16, F16).unwrap().one[..4], 1f32.to_le_bytes());
    }
}
