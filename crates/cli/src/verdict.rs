//! Is a result right? Every element is compared; the worst one is told.

use crate::progress::Progress;
use crate::reference::{Dense, Sums, product};
use crate::sides::Side;
use crate::top_k::TopK;
use crate::tracked::{Evaluator, Seen, Tracked, half_ulp, round};
use serde::Serialize;
use warpwright::Dtype;

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Elements compared.
    pub elements: usize,
    /// Elements that are further off than is right.
    pub wrong: usize,
    /// The element with the largest error relative to what is allowed; none of an empty result.
    pub worst: Option<Worst>,
}

/// An element and how far it is off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Batch entry.
    pub batch: usize,
    /// Row.
    pub row: usize,
    /// Column.
    pub column: usize,
    /// What it is.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// What it should be, before it is rounded to D's type.
    #[serde(serialize_with = "number")]
    pub reference: f64,
    /// How far it is off.
    #[serde(serialize_with = "number")]
    pub error: f64,
    /// How far it may be off.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
    /// `error / allowed`: right up to 1.
    #[serde(serialize_with = "number")]
    pub ratio: f64,
}

/// JSON has no NaN and no infinity: those are strings.
fn number<S: serde::Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if x.is_finite() { serializer.serialize_f64(*x) } else { serializer.collect_str(x) }
}

impl Verdict {
    /// Whether every element is right.
    pub fn holds(&self) -> bool {
        self.wrong == 0
    }

    /// Of nothing.
    pub const NONE: Verdict = Verdict { elements: 0, wrong: 0, worst: None };

    /// Of one element.
    pub fn of(worst: Worst) -> Verdict {
        // A ratio that is not a number is wrong, too.
        let right = worst.ratio <= 1.0;
        Verdict { elements: 1, wrong: usize::from(!right), worst: Some(worst) }
    }

    /// Of two results.
    pub fn and(self, other: Verdict) -> Verdict {
        let worst = match (self.worst, other.worst) {
            (Some(x), Some(y)) => Some(if y.ratio > x.ratio { y } else { x }),
            (x, y) => x.or(y),
        };
        Verdict { elements: self.elements + other.elements, wrong: self.wrong + other.wrong, worst }
    }
}

/// Compares D with epilogue(A · B): |d − reference| ≤ the bound carried through the epilogue, plus one rounding to D's type; and
/// what is stored beside it. D's verdict comes first.
pub fn judge(
    a: &Dense,
    b: &Dense,
    sums: Sums,
    epilogue: &Evaluator<'_>,
    d: &Dense,
    dtype: Dtype,
    sides: Vec<Side<'_>>,
) -> Vec<Verdict> {
    let progress = Progress::new("comparing", d.extents()[0] * d.extents()[1]);
    let steps = epilogue.row_steps();
    let row = |entry: usize, row: usize, accumulators: &[Tracked]| {
        progress.step();
        let mut seen = Seen::default();
        let mut rows: Vec<TopK> = Vec::new();
        for &kept in &steps {
            let mut given = Vec::with_capacity(accumulators.len());
            for (column, &acc) in accumulators.iter().enumerate() {
                epilogue.at(acc, (entry, row, column), &rows, &mut seen);
                given.extend(seen.measured);
            }
            rows.push(TopK::of(&given, kept));
        }
        let mut verdict = Verdict::NONE;
        let mut given = vec![Vec::new(); sides.len()];
        for (column, &acc) in accumulators.iter().enumerate() {
            let place = (entry, row, column);
            let want = epilogue.at(acc, place, &rows, &mut seen);
            verdict = verdict.and(Verdict::of(compared(place, d.at(entry, row, column), want, dtype)));
            for (side, given) in sides.iter().zip(&mut given) {
                let value = seen.sinks.iter().find(|(argument, _)| *argument == side.argument);
                given.extend(value.map(|(_, value)| *value));
            }
        }
        let beside = sides.iter().zip(&given).map(|(side, given)| side.row(entry, row, given));
        core::iter::once(verdict).chain(beside).collect::<Vec<_>>()
    };
    let both = |x: Vec<Verdict>, y: Vec<Verdict>| x.into_iter().zip(y).map(|(x, y)| x.and(y)).collect();
    let seen = product(a, b, sums, row, both).unwrap_or_else(|| vec![Verdict::NONE; 1 + sides.len()]);
    let joined = core::iter::once(Verdict::NONE).chain(sides.into_iter().map(Side::end));
    seen.into_iter().zip(joined).map(|(x, y)| x.and(y)).collect()
}

/// An element, and what it should be before it is rounded to its type.
pub fn compared((batch, row, column): (usize, usize, usize), value: f64, want: Tracked, dtype: Dtype) -> Worst {
    let allowed = want.error + half_ulp(dtype, want.value.abs() + want.error);
    let rounded = round(dtype, want.value);
    let (error, ratio) = if value == rounded || value.is_nan() && rounded.is_nan() {
        // Saturated and infinite values are far from the reference and right.
        let error = (value - want.value).abs();
        if error <= allowed && allowed.is_finite() {
            (error, if allowed > 0.0 { error / allowed } else { 0.0 })
        } else {
            (0.0, 0.0)
        }
    } else {
        let error = (value - want.value).abs();
        (error, if allowed.is_finite() && error.is_finite() { error / allowed } else { f64::INFINITY })
    };
    Worst { batch, row, column, value, reference: want.value, error, allowed, ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, reference: f64, error: f64, dtype: Dtype) -> f64 {
        compared((0, 0, 0), value, Tracked { value: reference, error }, dtype).ratio
    }

    #[test]
    fn one_rounding_is_allowed_and_no_more() {
        let x = 1.0 + 2f64.powi(-11);
        assert!(ratio(1.0, x, 0.0, Dtype::F16) <= 1.0);
        assert!(ratio(1.0 + 2f64.powi(-10), x, 0.0, Dtype::F16) <= 1.0);
        assert!(ratio(1.0 + 2f64.powi(-9), x, 0.0, Dtype::F16) > 1.0);
        assert_eq!(ratio(7.0, 8.0, 0.0, Dtype::I32), 2.0);
    }

    #[test]
    fn special_values_are_compared() {
        assert_eq!(ratio(448.0, 1e6, 0.0, Dtype::E4m3), 0.0);
        assert_eq!(ratio(f64::INFINITY, 1e6, 0.0, Dtype::F16), 0.0);
        assert_eq!(ratio(448.0, f64::INFINITY, f64::INFINITY, Dtype::E4m3), 0.0);
        assert_eq!(ratio(447.0, f64::INFINITY, f64::INFINITY, Dtype::E4m3), f64::INFINITY);
        assert_eq!(ratio(f64::NAN, f64::NAN, 0.0, Dtype::F16), 0.0);
        assert_eq!(ratio(f64::NAN, 1.0, 0.0, Dtype::F16), f64::INFINITY);
        assert_eq!(ratio(1.0, f64::NAN, f64::NAN, Dtype::F16), f64::INFINITY);
        assert_eq!(ratio(f64::INFINITY, 1.0, 0.1, Dtype::F16), f64::INFINITY);
    }

    #[test]
    fn wrong_elements_are_counted_and_the_worst_is_kept() {
        let of = |ratio| {
            Verdict::of(Worst {
                batch: 0,
                row: 0,
                column: 0,
                value: 0.0,
                reference: 0.0,
                error: 0.0,
                allowed: 0.0,
                ratio,
            })
        };
        let all = of(0.5).and(of(3.0)).and(of(f64::INFINITY)).and(of(2.0));
        assert_eq!((all.elements, all.wrong, all.worst.unwrap().ratio), (4, 3, f64::INFINITY));
        assert_eq!(serde_json::to_value(all).unwrap()["worst"]["ratio"], "inf");
    }
}
