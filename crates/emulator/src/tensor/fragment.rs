//! Which lane and register of a warp holds which element of a fragment (`mma.sync`).

use warpwright_numeric::Dtype;

/// The row and column of element `i` of lane `l` in an accumulator of `m` × 8.
pub(crate) fn accumulator(l: usize, i: usize) -> (usize, usize) {
    (l / 4 + 8 * (i / 2), 2 * (l % 4) + i % 2)
}

/// (m or n within 8-row groups, k) of element `i` of register `r` of lane `l`: the pattern that A and B share. A register
/// holds `32 / bits` neighbours along k; for A registers alternate between the two groups of 8 rows, then k advances.
fn along_k(l: usize, register: usize, i: usize, bits: usize, groups: usize) -> (usize, usize) {
    let per = 32 / bits.max(1);
    let (group, step) = (register % groups, register / groups);
    (l / 4 + 8 * group, per * (l % 4) + i + 4 * per * step)
}

/// (m, k) of element `i` of register `r` of lane `l` in A of `m` rows.
pub(crate) fn a(l: usize, register: usize, i: usize, dtype: Dtype, m: usize) -> (usize, usize) {
    along_k(l, register, i, dtype.bits().min(32), m / 8)
}

/// (k, n) of element `i` of register `r` of lane `l` in B of 8 columns.
pub(crate) fn b(l: usize, register: usize, i: usize, dtype: Dtype) -> (usize, usize) {
    let (n, k) = along_k(l, register, i, dtype.bits().min(32), 1);
    (k, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_the_isa() {
        // m16n8k16, 16 bit: a4, a5 (register 2) = (g, 2t + 8..), a6, a7 = (g + 8, 2t + 8..).
        let (g, t) = (3, 2);
        let l = 4 * g + t;
        assert_eq!(a(l, 1, 1, Dtype::F16, 16), (g + 8, 2 * t + 1));
        assert_eq!(a(l, 2, 0, Dtype::F16, 16), (g, 2 * t + 8));
        assert_eq!(a(l, 3, 1, Dtype::Bf16, 16), (g + 8, 2 * t + 9));
        assert_eq!(b(l, 1, 0, Dtype::F16), (2 * t + 8, g));
        // m16n8k8 tf32.
        assert_eq!(a(l, 2, 0, Dtype::Tf32, 16), (g, t + 4));
        assert_eq!(b(l, 1, 0, Dtype::Tf32), (t + 4, g));
        // m16n8k32, 8 bit.
        assert_eq!(a(l, 3, 2, Dtype::I8, 16), (g + 8, 4 * t + 18));
        assert_eq!(b(l, 1, 3, Dtype::E4m3), (4 * t + 19, g));
        // m16n8k64, 4 bit; m8n8k32.
        assert_eq!(a(l, 2, 5, Dtype::I4, 16), (g, 8 * t + 37));
        assert_eq!(a(l, 0, 5, Dtype::I4, 8), (g, 8 * t + 5));
        assert_eq!(accumulator(l, 3), (g + 8, 2 * t + 1));
    }

    #[test]
    fn every_element_is_held_once() {
        for (m, k, dtype) in [(16, 16, Dtype::F16), (16, 8, Dtype::Tf32), (16, 32, Dtype::I8), (8, 16, Dtype::I8)] {
            let per = 32 / dtype.bits().min(32);
            let mut seen = vec![0; m * k];
            for l in 0..32 {
                for register in 0..m * k / (32 * per) {
                    for i in 0..per {
                        let (row, at) = a(l, register, i, dtype, m);
                        seen[row * k + at] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|n| *n == 1));
        }
    }
}
