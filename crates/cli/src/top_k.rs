//! The softmax of a row's largest values, in f64.

use crate::tracked::{NAN, Tracked};

/// What a row's values are kept and divided by.
#[derive(Clone, Copy, Debug)]
pub struct TopK {
    largest: Tracked,
    /// The least of those that are kept.
    least: Tracked,
    /// As far up as the largest of the others may be.
    next: f64,
    /// Of the exponentials of those that are kept.
    sum: Tracked,
}

impl TopK {
    /// Of a row, of which so many values are kept.
    pub fn of(row: &[Tracked], kept: usize) -> TopK {
        let none = Tracked { value: f64::NEG_INFINITY, error: 0.0 };
        // A NaN is larger than all.
        let mut sorted: Vec<Tracked> = row.to_vec();
        sorted.sort_by(|x, y| match (x.value.is_nan(), y.value.is_nan()) {
            (false, false) => y.value.total_cmp(&x.value),
            (x, y) => y.cmp(&x),
        });
        let largest = sorted.first().copied().unwrap_or(none);
        let least = if largest.value.is_nan() { NAN } else { sorted.get(kept - 1).copied().unwrap_or(none) };
        let rest = sorted.get(kept..).unwrap_or_default();
        let next = rest.iter().map(|x| x.value + x.error).fold(f64::NEG_INFINITY, f64::max);
        let terms = sorted.iter().take(kept).map(|x| exponential(*x, largest));
        let sum = terms.fold(Tracked { value: 0.0, error: 0.0 }, |x, y| Tracked {
            value: x.value + y.value,
            error: x.error + y.error,
        });
        TopK { largest, least, next, sum }
    }

    /// What a value of the row becomes.
    pub fn softmax(&self, x: Tracked) -> Tracked {
        let share = exponential(x, self.largest);
        let value = share.value / self.sum.value;
        let relative = share.error / share.value + self.sum.error / self.sum.value;
        let kept = Tracked { value, error: if value == 0.0 { share.error } else { value * relative * 1.01 } };
        let (dropped, open) = if x.value < self.least.value {
            (true, x.value + x.error >= self.least.value - self.least.error)
        } else {
            (false, x.value - x.error < self.next)
        };
        // Where a right kernel may decide otherwise, either is right, and so is what lies between.
        match (dropped, open) {
            (true, false) => Tracked { value: 0.0, error: 0.0 },
            (true, true) => Tracked { value: 0.0, error: kept.value + kept.error },
            (false, false) => kept,
            (false, true) => Tracked { error: kept.value + kept.error, ..kept },
        }
    }
}

/// `e^(x - largest)`: of an f32 difference, good to some roundings.
fn exponential(x: Tracked, largest: Tracked) -> Tracked {
    let (difference, rounding) = (x.value - largest.value, 2f64.powi(-24));
    let value = difference.exp();
    let error = x.error + largest.error + difference.abs() * rounding;
    Tracked { value, error: if value == 0.0 { 2f64.powi(-149) } else { value * (error.exp_m1() + 16.0 * rounding) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64], error: f64) -> Vec<Tracked> {
        values.iter().map(|&value| Tracked { value, error }).collect()
    }

    #[test]
    fn two_of_a_row() {
        let values = row(&[1.0, 3.0, -2.0, 2.0], 0.0);
        let top = TopK::of(&values, 2);
        let all: Vec<_> = values.iter().map(|&x| top.softmax(x)).collect();
        let e = 1f64.exp();
        for (found, wanted) in all.iter().zip([0.0, e / (1.0 + e), 0.0, 1.0 / (1.0 + e)]) {
            assert!((found.value - wanted).abs() < 1e-15 && found.error < 1e-5, "{found:?}");
        }
        assert_eq!((all[0].error, all[2].error), (0.0, 0.0));
    }

    #[test]
    fn what_is_kept_is_open_where_bounds_meet() {
        let values = row(&[3.0, 1.0, 0.9999], 1e-3);
        let top = TopK::of(&values, 2);
        assert!(top.softmax(values[0]).error < 1e-2);
        assert!(top.softmax(values[1]).error >= top.softmax(values[1]).value);
        let last = top.softmax(values[2]);
        assert!(last.value == 0.0 && last.error > 0.11);
    }

    #[test]
    fn not_a_number_takes_its_row() {
        let top = TopK::of(&row(&[1.0, f64::NAN, 2.0], 0.0), 2);
        assert!(top.softmax(Tracked { value: 1.0, error: 0.0 }).value.is_nan());
        // A row of fewer values than are kept.
        let one = TopK::of(&row(&[5.0], 0.0), 4);
        assert_eq!(one.softmax(Tracked { value: 5.0, error: 0.0 }).value, 1.0);
    }
}
