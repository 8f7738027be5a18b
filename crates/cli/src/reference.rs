//! The product in f64, with the bound that a right kernel keeps.

use crate::files::Matrices;
use crate::tracked::Tracked;
use rayon::prelude::*;
use warpwright::spec::PROMOTION;
use warpwright::{AccumulationId, Dtype, Order};

/// A batch of row-major matrices in f64, one of which serves a whole batch.
pub struct Dense {
    extents: [usize; 3],
    values: Vec<f64>,
}

impl Dense {
    /// Every element, exactly.
    pub fn of(matrices: &Matrices) -> Dense {
        let Matrices { dtype, extents, order, ref bytes } = *matrices;
        let [batch, rows, cols] = extents;
        let at = |b: usize, m: usize, n: usize| {
            let within = if order == Order::RowMajor { m * cols + n } else { n * rows + m };
            dtype.decode(bytes, b * rows * cols + within)
        };
        if extents.contains(&0) {
            return Dense { extents, values: Vec::new() };
        }
        let lines = (0..batch * rows)
            .into_par_iter()
            .flat_map_iter(|line| (0..cols).map(move |n| at(line / rows, line % rows, n)));
        Dense { extents, values: lines.collect() }
    }

    /// Batch entries, rows, columns.
    pub fn extents(&self) -> [usize; 3] {
        self.extents
    }

    /// An element; extents of 1 repeat. The extents must fit.
    pub fn at(&self, b: usize, m: usize, n: usize) -> f64 {
        let [batch, rows, cols] = self.extents;
        let one = |index: usize, extent: usize| if extent == 1 { 0 } else { index };
        self.values[(one(b, batch) * rows + one(m, rows)) * cols + one(n, cols)]
    }

    fn line(&self, b: usize, m: usize) -> &[f64] {
        let [batch, rows, cols] = self.extents;
        &self.values[((if batch == 1 { 0 } else { b }) * rows + m) * cols..][..cols]
    }
}

/// How products are summed.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The accumulator's element.
    pub acc: Dtype,
    /// How sums are kept by an instruction that keeps 14 bits of them.
    pub narrow: Option<AccumulationId>,
}

impl Sums {
    /// How much a right sum of `k` products may be off, relative to ‖a_i‖·‖b_j‖.
    fn error(self, k: usize) -> f64 {
        let root = |k: usize| (k as f64).sqrt();
        // A few products are cut off at the last of the 14 bits of the largest: 2^-13 of it, however few they are.
        let cut = |k: usize| 2f64.powi(-16) * root(k + 64);
        let narrow = match self.narrow {
            None => 0.0,
            Some(AccumulationId::FAST_ACCUM) => cut(k),
            // By Cauchy and Schwarz, the sum of what each part may be off.
            Some(AccumulationId::PROMOTED) => cut(k.min(PROMOTION)),
        };
        narrow
            + root(k)
                * match self.acc {
                    Dtype::F64 => 2f64.powi(-52),
                    Dtype::I32 => 0.0,
                    _ => 2f64.powi(-23),
                }
    }
}

/// Calls `visit` with each row of the accumulators of A · B: batch entry, row, values with their bounds. Rows run in parallel.
pub fn product<R: Send>(
    a: &Dense,
    b: &Dense,
    sums: Sums,
    visit: impl Fn(usize, usize, &[Tracked]) -> R + Sync,
    merge: impl Fn(R, R) -> R + Sync + Send,
) -> Option<R> {
    let ([batch_a, m, k], [batch_b, _, n]) = (a.extents(), b.extents());
    let batch = if batch_a == 1 { batch_b } else { batch_a };
    if m == 0 || n == 0 {
        return None;
    }
    let norms: Vec<f64> = (0..batch_b)
        .flat_map(|entry| {
            let mut squares = vec![0.0; n];
            (0..k).for_each(|l| squares.iter_mut().zip(b.line(entry, l)).for_each(|(s, x)| *s += x * x));
            squares.into_iter().map(f64::sqrt)
        })
        .collect();
    let scale = sums.error(k);
    let row = |at: usize| {
        let (entry, row) = (at / m, at % m);
        let line = a.line(entry, row);
        // A sum with the rounding errors of its additions carried along: products of types up to f32 are exact.
        let (mut sums, mut lost) = (vec![0.0f64; n], vec![0.0f64; n]);
        for (l, &x) in line.iter().enumerate() {
            for ((sum, lost), y) in sums.iter_mut().zip(&mut lost).zip(b.line(entry, l)) {
                let term = x * y;
                let next = *sum + term;
                let part = next - *sum;
                *lost += (*sum - (next - part)) + (term - part);
                *sum = next;
            }
        }
        let norm = line.iter().map(|x| x * x).sum::<f64>().sqrt();
        let norms = &norms[(if batch_b == 1 { 0 } else { entry }) * n..][..n];
        let values: Vec<Tracked> = sums
            .iter()
            .zip(&lost)
            .zip(norms)
            // An infinite sum has lost NaN.
            .map(|((&sum, &lost), &b)| Tracked {
                value: if sum.is_finite() { sum + lost } else { sum },
                error: scale * norm * b,
            })
            .collect();
        visit(entry, row, &values)
    };
    (0..batch * m).into_par_iter().map(row).reduce_with(merge)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Sums = Sums { acc: Dtype::F32, narrow: None };

    fn matrices(extents: [usize; 3], order: Order, values: &[f32]) -> Matrices {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Matrices { dtype: Dtype::F32, extents, order, bytes }
    }

    #[test]
    fn orders_and_broadcasts() {
        let a = Dense::of(&matrices([1, 2, 3], Order::ColumnMajor, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
        let b = Dense::of(&matrices([2, 3, 1], Order::RowMajor, &[1.0, 1.0, 1.0, 1.0, 0.0, -1.0]));
        let all = product(&a, &b, WHOLE, |e, r, v| vec![(e, r, v[0].value)], |x, y| [x, y].concat()).unwrap();
        assert_eq!(all, [(0, 0, 6.0), (0, 1, 15.0), (1, 0, -2.0), (1, 1, -2.0)]);
    }

    #[test]
    fn few_products_in_14_bits_are_off_by_the_last_of_them() {
        let narrow = Sums { acc: Dtype::F32, narrow: Some(AccumulationId::PROMOTED) };
        // 1 and 1.9 * 2^-13, of which nothing is left.
        assert!((1.9 * 2f64.powi(-14)..2f64.powi(-12)).contains(&narrow.error(2)));
        // Of many they are not all of the same sign.
        assert!(narrow.error(128) < 1.3 * 2f64.powi(-16) * 128f64.sqrt());
    }

    #[test]
    fn a_cancelled_sum_keeps_its_small_term() {
        let a = Dense::of(&matrices([1, 1, 3], Order::RowMajor, &[1e20, 1.0, -1e20]));
        let b = Dense::of(&matrices([1, 3, 1], Order::RowMajor, &[1.0; 3]));
        let value = product(&a, &b, WHOLE, |_, _, v| v[0].value, |x, _| x);
        assert_eq!(value, Some(1.0));
        let bound = product(&a, &b, WHOLE, |_, _, v| v[0].error, |x, _| x).unwrap();
        assert!((bound / (2f64.powi(-23) * 3.0 * 2f64.sqrt() * 1e20) - 1.0).abs() < 1e-6, "{bound}");
    }
}
