//! A few elements of D, summed in f64 from the same operands: enough to see that a product was computed, and by whom not.

use super::data::draw;
use super::{RaceProblem, RaceWrong};
use warpwright_numeric::Dtype;
use warpwright_runtime::Strided;

/// Rows, and columns, that are looked at.
const LINES: usize = 8;

/// Rows and columns of one batch entry, and what their products are.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) batch: usize,
    pub(super) rows: Vec<usize>,
    pub(super) columns: Vec<usize>,
    /// By rows, with what summing may be off by.
    products: Vec<(f64, f64)>,
    /// Whether sums are whole numbers, which integers hold as they are.
    whole: bool,
}

/// Whose results are judged.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Judged {
    /// A kernel, which rounds once, when it stores.
    Kernel,
    /// cuBLASLt, whose algorithms may also add parts of K in D's element.
    Library,
}

impl Sample {
    /// Sums the elements that will be looked at.
    pub(super) fn new(problem: &RaceProblem, layouts: &[Strided; 3], a: &[u8], b: &[u8], seed: u64) -> Sample {
        let batch = problem.batch - 1;
        let (rows, columns) = (lines(problem.mnk.m, seed), lines(problem.mnk.n, !seed));
        let k = problem.mnk.k;
        let row =
            |i: usize| -> Vec<f64> { (0..k).map(|l| problem.a.decode(a, layouts[0].offset(batch, i, l))).collect() };
        let column =
            |j: usize| -> Vec<f64> { (0..k).map(|l| problem.b.decode(b, layouts[1].offset(batch, l, j))).collect() };
        let right: Vec<Vec<f64>> = columns.iter().map(|&j| column(j)).collect();
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut products = Vec::new();
        for &i in &rows {
            let left = row(i);
            for right in &right {
                let sum: f64 = left.iter().zip(right).map(|(x, y)| x * y).sum();
                products.push((sum, unit(problem) * (k as f64).sqrt() * norm(&left) * norm(right)));
            }
        }
        let whole = problem.a.is_integer() && problem.b.is_integer();
        Sample { batch, rows, columns, products, whole }
    }

    /// Judges the elements that `at` reads, by row and column.
    pub(super) fn judge(
        &self,
        d: Dtype,
        judged: Judged,
        mut at: impl FnMut(usize, usize) -> f64,
    ) -> Result<(), RaceWrong> {
        let places = self.rows.iter().flat_map(|&row| self.columns.iter().map(move |&column| (row, column)));
        for ((row, column), &(want, summing)) in places.zip(&self.products) {
            let got = at(row, column);
            // An element without a sign has no other way to say that it was below zero.
            if got.is_nan() && d.decode_bits(d.encode_bits(want)).is_nan() {
                continue;
            }
            let want = want.clamp(d.min_finite(), d.max_finite());
            let roundings = if judged == Judged::Library { 32.0 } else { 1.0 };
            let rounding = match d.is_integer() {
                true if self.whole => 0.0,
                true => 0.5,
                false => roundings * (d.epsilon() / 2.0 * want.abs()).max(d.smallest_subnormal() / 2.0),
            };
            let allowed = summing + rounding;
            // Not the other way round: a NaN is wrong too.
            let right = (got - want).abs() <= allowed;
            if !right {
                return Err(RaceWrong { batch: self.batch, row, column, got, want, allowed });
            }
        }
        Ok(())
    }
}

/// What summing in the accumulator may be off by, relative to the norms and the root of K.
fn unit(problem: &RaceProblem) -> f64 {
    match problem.a {
        Dtype::F64 => 2f64.powi(-51),
        a if a.is_integer() && problem.b.is_integer() => 0.0,
        a if a.is_fp8() || problem.b.is_fp8() => 2f64.powi(-16),
        _ => 2f64.powi(-23),
    }
}

/// The first, the last and some between.
fn lines(extent: usize, seed: u64) -> Vec<usize> {
    let mut lines = vec![0, extent - 1];
    lines.extend((0..LINES as u64 - 2).map(|i| (draw(seed, i) % extent as u64) as usize));
    lines.sort_unstable();
    lines.dedup();
    lines
}
