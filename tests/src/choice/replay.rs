//! What the model as it is now would choose of the candidates that were measured, and what that costs.

use super::{Row, Suite, Which, base, candidates};
use std::collections::HashMap;
use warpwright::DeviceInfo;
use warpwright::KernelPlan;
use warpwright::builder::auto::{OperandFacts, predict, resolve};
use warpwright::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One problem: what `Auto` chooses, and the best of everything that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Which suite the problem is of.
    pub suite: Suite,
    /// Whose kernels were measured.
    pub tag: ArchId,
    /// Element of A and B.
    pub element: Dtype,
    /// The problem.
    pub mnk: Mnk,
    /// `Auto`'s choice with its predicted and its measured time in µs.
    pub chosen: (Which, f64, f64),
    /// The fastest, with the same.
    pub best: (Which, f64, f64),
    /// cuBLASLt's time in µs, or NaN.
    pub library: f64,
    /// Candidates that were measured.
    pub measured: usize,
    /// Rank correlation of predicted and measured times over the problem's candidates.
    pub correlation: f64,
}

impl Choice {
    /// The best plan's time over `Auto`'s, at most 1.
    pub fn ratio(&self) -> f64 {
        self.best.2 / self.chosen.2
    }

    /// cuBLASLt's time over `Auto`'s.
    pub fn against_library(&self) -> f64 {
        self.library / self.chosen.2
    }
}

/// One problem's plans, as the model sees them now.
struct Predictions<'d> {
    device: &'d DeviceInfo,
    problem: Problem,
    plans: HashMap<Which, KernelPlan>,
}

impl Predictions<'_> {
    fn new(tag: ArchId, element: Dtype, mnk: Mnk, device: &DeviceInfo) -> Result<Predictions<'_>> {
        let (spec, problem) = (base(tag, element).spec()?, Problem::dense(mnk.m, mnk.n, mnk.k));
        let plans = candidates(&spec, device, &problem)?;
        let plans = plans.into_iter().map(|plan| (Which::of(&plan).unwalked(), plan)).collect();
        Ok(Predictions { device, problem, plans })
    }

    /// Predicted time in µs; `None` of what is no candidate any more.
    fn of(&self, which: &Which) -> Option<f64> {
        let plan = self.plans.get(&which.unwalked())?;
        let plan = KernelPlan { raster: which.walk.0, swizzle: which.walk.1, ..*plan };
        Some(predict(&plan, self.device, &self.problem).seconds * 1e6)
    }
}

/// Every problem's choice, in the order of the rows.
///
/// # Errors
/// A plan that `Auto` chooses and that was not measured: the candidates have changed since.
pub fn choices(rows: &[Row], device: &DeviceInfo) -> Result<Vec<Choice>> {
    let problem_of = |row: &Row| (row.suite, row.tag, row.element, row.mnk);
    let mut found = Vec::new();
    for rows in rows.chunk_by(|x, y| problem_of(x) == problem_of(y)) {
        let Some((suite, tag, element, mnk)) = rows.first().map(problem_of) else { continue };
        let predictions = Predictions::new(tag, element, mnk, device)?;
        let plan = resolve(&base(tag, element).spec()?, device, &predictions.problem, &OperandFacts::K_MAJOR)?;
        let wanted = Which::of(&plan);
        let of = |row: &Row| (row.which, predictions.of(&row.which).unwrap_or(f64::NAN), row.median);
        let best = rows.iter().min_by(|x, y| x.median.total_cmp(&y.median)).map(of);
        // Other walks are measured of the fastest kernels alone.
        let kernel = |row: &&Row| row.which.unwalked() == wanted.unwalked();
        let own = rows.iter().find(|row| row.which == wanted).or_else(|| rows.iter().find(kernel)).map(of);
        let (Some(chosen), Some(best)) = (own, best) else {
            return Err(format!("{mnk}: {wanted} was not measured").into());
        };
        let pairs: Vec<_> = rows.iter().filter_map(|row| Some((predictions.of(&row.which)?, row.median))).collect();
        found.push(Choice {
            suite,
            tag,
            element,
            mnk,
            chosen,
            best,
            library: rows[0].library,
            measured: rows.len(),
            correlation: rank_correlation(&pairs),
        });
    }
    Ok(found)
}

/// The geometric mean; 1 of nothing.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

/// Spearman's rank correlation; NaN of fewer than two pairs.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let x = ranks(pairs.iter().map(|pair| pair.0).collect());
    let y = ranks(pairs.iter().map(|pair| pair.1).collect());
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    product(&x, &y) / (product(&x, &x) * product(&y, &y)).sqrt()
}

/// Each value's place among all; equal ones share the mean of theirs.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let shared = first as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|&i| ranks[i] = shared);
        first += equal.len();
    }
    ranks
}

/// Rows with what the model says of them now, for whoever fits it.
///
/// # Errors
/// A problem without candidates.
pub fn misses(rows: &[Row], device: &DeviceInfo) -> Result<Vec<(Row, f64)>> {
    let mut found = Vec::new();
    for rows in rows.chunk_by(|x, y| (x.tag, x.element, x.mnk) == (y.tag, y.element, y.mnk)) {
        let Some(Row { tag, element, mnk, .. }) = rows.first() else { continue };
        let predictions = Predictions::new(*tag, *element, *mnk, device)?;
        found.extend(rows.iter().filter_map(|row| Some((row.clone(), predictions.of(&row.which)?))));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a problem that took what the model says.
    fn as_predicted(tag: ArchId, suite: Suite, mnk: Mnk) -> Vec<Row> {
        let device = DeviceInfo::h200();
        let predictions = Predictions::new(tag, Dtype::Bf16, mnk, &device).unwrap();
        let row = |plan: &KernelPlan| {
            let predicted = predictions.of(&Which::of(plan)).unwrap();
            Row {
                suite,
                tag,
                element: Dtype::Bf16,
                mnk,
                which: Which::of(plan),
                registers: 0,
                blocks_per_sm: 0,
                predicted,
                median: predicted,
                runs: 1,
                library: 0.5 * predicted,
            }
        };
        predictions.plans.values().map(row).collect()
    }

    #[test]
    fn a_model_that_is_right_loses_little_and_a_slow_choice_is_seen() {
        let device = DeviceInfo::h200();
        let mut rows = as_predicted(ArchId::SM80, Suite::Fitting, Mnk::new(512, 512, 4096));
        rows.extend(as_predicted(ArchId::SM90, Suite::Judging, Mnk::new(2048, 2048, 512)));
        let right = choices(&rows, &device).unwrap();
        assert_eq!(right.iter().map(|choice| choice.suite).collect::<Vec<_>>(), Suite::ALL);
        assert!(right.iter().all(|choice| (0.9..=1.0).contains(&choice.ratio())), "{right:?}");
        assert!(right.iter().all(|choice| (choice.correlation - 1.0).abs() < 1e-9), "{right:?}");
        assert!(misses(&rows, &device).unwrap().iter().all(|(row, predicted)| row.median == *predicted));

        let chosen = right[0].chosen.0;
        for row in rows.iter_mut().filter(|row| row.suite == Suite::Fitting && row.which == chosen) {
            row.median *= 3.0;
        }
        let slow = choices(&rows, &device).unwrap();
        assert!(slow[0].ratio() < 0.5, "{slow:?}");
        let mean = geometric_mean(slow.iter().map(Choice::ratio));
        assert!((mean * mean / (slow[0].ratio() * slow[1].ratio()) - 1.0).abs() < 1e-12);

        rows.retain(|row| row.which != chosen);
        assert!(choices(&rows, &device).is_err());
    }

    #[test]
    fn ranks_correlate_whatever_the_scale() {
        assert_eq!(rank_correlation(&[(1.0, 10.0), (2.0, 20.0), (9.0, 21.0)]), 1.0);
        assert_eq!(rank_correlation(&[(1.0, 3.0), (2.0, 2.0), (3.0, -1.0)]), -1.0);
        assert!((rank_correlation(&[(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)]) - 0.75f64.sqrt()).abs() < 1e-12);
        assert!(rank_correlation(&[(1.0, 1.0)]).is_nan());
    }
}
