//! f64 products on tensor cores: added in the order of K with one rounding each, which the hardware does not promise.

use super::fragment::{Lanes, place};
use super::vectors::{Vector, vectors};

/// Operands: A's rows of `k`, and `k` rows of B.
pub(crate) struct Doubles {
    k: usize,
    a: [f64; 16 * 16],
    b: [[f64; 8]; 16],
}

impl Default for Doubles {
    fn default() -> Doubles {
        Doubles { k: 0, a: [0.0; 16 * 16], b: [[0.0; 8]; 16] }
    }
}

/// Takes the operands from registers; A has 8 · `groups` rows.
pub(crate) fn load(doubles: &mut Doubles, a: &[&Lanes<f64>], b: &[&Lanes<f64>], groups: usize) {
    let k = 4 * b.len();
    doubles.k = k;
    for (r, lanes) in a.iter().enumerate() {
        let (row, column) = place(r, 0, 1, groups);
        for (four, row) in lanes.as_chunks::<4>().0.iter().zip(doubles.a[row * k + column..].chunks_mut(k)) {
            row[..4].copy_from_slice(four);
        }
    }
    for (lanes, rows) in b.iter().zip(doubles.b.as_chunks_mut::<4>().0) {
        for (t, row) in rows.iter_mut().enumerate() {
            for (g, x) in row.iter_mut().enumerate() {
                *x = lanes[4 * g + t];
            }
        }
    }
}

vectors! {
    /// `c = a · b + c` of A's first or last 8 rows, from registers to registers.
    pub(crate) fn multiply(doubles: &Doubles, half: usize, c: &mut [Lanes<f64>; 2]) = registers
}

#[inline(always)]
fn registers<V: Vector>(doubles: &Doubles, half: usize, c: &mut [Lanes<f64>; 2]) {
    let k = doubles.k;
    for (g, xs) in doubles.a[8 * half * k..][..8 * k].chunks_exact(k).enumerate() {
        let mut row: [f64; 8] = core::array::from_fn(|j| c[j % 2][4 * g + j / 2]);
        for (x, y) in xs.iter().zip(&doubles.b) {
            for w in 0..8 {
                row[w] = x.mul_add(y[w], row[w]);
            }
        }
        for (j, x) in row.into_iter().enumerate() {
            c[j % 2][4 * g + j / 2] = x;
        }
    }
}
