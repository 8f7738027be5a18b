//! What the model as it is now would choose of the candidates that were measured, and what that costs.

use super::{Row, Suite, Which, base, candidates, which};
use std::collections::HashMap;
use warpwright::DeviceInfo;
use warpwright::builder::auto::{OperandFacts, PlanError, predict, resolve};
use warpwright::prelude::*;

/// One problem: what `Auto` chooses, and the best of everything that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Which suite the problem is of.
    pub suite: Suite,
    /// Element of A and B.
    pub element: Dtype,
    /// The problem.
    pub mnk: Mnk,
    /// `Auto`'s choice with its predicted and its measured time in µs.
    pub chosen: (Which, f64, f64),
    /// The fastest, with the same.
    pub best: (Which, f64, f64),
    /// Candidates that were measured.
    pub measured: usize,
}

impl Choice {
    /// The best plan's time over `Auto`'s, at most 1.
    pub fn ratio(&self) -> f64 {
        self.best.2 / self.chosen.2
    }
}

/// Predicted times of a problem's candidates, in µs.
fn predictions(
    element: Dtype,
    mnk: Mnk,
    device: &DeviceInfo,
) -> Result<HashMap<Which, f64>, Box<dyn std::error::Error>> {
    let (spec, problem) = (base(element).spec()?, Problem::dense(mnk.m, mnk.n, mnk.k));
    let plans = candidates(&spec, device, &problem)?;
    Ok(plans.iter().map(|plan| (which(plan), predict(plan, device, &problem).seconds * 1e6)).collect())
}

/// Every problem's choice, in the order of the rows.
///
/// # Errors
/// A plan that `Auto` chooses and that was not measured: the candidates have changed since.
pub fn choices(rows: &[Row], device: &DeviceInfo) -> Result<Vec<Choice>, Box<dyn std::error::Error>> {
    let problem_of = |row: &Row| (row.suite, row.element, row.mnk);
    let mut found = Vec::new();
    for rows in rows.chunk_by(|x, y| problem_of(x) == problem_of(y)) {
        let Some((suite, element, mnk)) = rows.first().map(problem_of) else { continue };
        let predicted = predictions(element, mnk, device)?;
        let chosen = chosen(element, mnk, device)?;
        let of = |row: &Row| (row.which, predicted.get(&row.which).copied().unwrap_or(f64::NAN), row.median);
        let best = rows.iter().min_by(|x, y| x.median.total_cmp(&y.median)).map(of);
        let own = rows.iter().find(|row| row.which == chosen).map(of);
        let (Some(chosen), Some(best)) = (own, best) else {
            return Err(format!("{mnk}: {chosen:?} was not measured").into());
        };
        found.push(Choice { suite, element, mnk, chosen, best, measured: rows.len() });
    }
    Ok(found)
}

fn chosen(element: Dtype, mnk: Mnk, device: &DeviceInfo) -> Result<Which, Box<dyn std::error::Error>> {
    let problem = Problem::dense(mnk.m, mnk.n, mnk.k);
    let plan: Result<_, PlanError> = resolve(&base(element).spec()?, device, &problem, &OperandFacts::K_MAJOR);
    Ok(which(&plan?))
}

/// Of the choices' ratios; 1 of none.
pub fn geometric_mean<'a>(choices: impl IntoIterator<Item = &'a Choice>) -> f64 {
    let logs: Vec<f64> = choices.into_iter().map(|choice| choice.ratio().ln()).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

/// Rows with what the model says of them now, for whoever fits it.
///
/// # Errors
/// A problem without candidates.
pub fn misses(rows: &[Row], device: &DeviceInfo) -> Result<Vec<(Row, f64)>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for rows in rows.chunk_by(|x, y| (x.element, x.mnk) == (y.element, y.mnk)) {
        let Some(Row { element, mnk, .. }) = rows.first() else { continue };
        let predicted = predictions(*element, *mnk, device)?;
        found.extend(rows.iter().filter_map(|row| Some((row.clone(), *predicted.get(&row.which)?))));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a problem that took what the model says.
    fn as_predicted(suite: Suite, mnk: Mnk) -> Vec<Row> {
        let predicted = predictions(Dtype::Bf16, mnk, &DeviceInfo::h200()).unwrap();
        let row = |(which, predicted): (Which, f64)| Row {
            suite,
            element: Dtype::Bf16,
            mnk,
            which,
            registers: 0,
            blocks_per_sm: 0,
            predicted,
            median: predicted,
            runs: 1,
        };
        predicted.into_iter().map(row).collect()
    }

    #[test]
    fn a_model_that_is_right_loses_little_and_a_slow_choice_is_seen() {
        let device = DeviceInfo::h200();
        let mut rows = as_predicted(Suite::Fitting, Mnk::new(512, 512, 4096));
        rows.extend(as_predicted(Suite::Judging, Mnk::new(2048, 2048, 512)));
        let right = choices(&rows, &device).unwrap();
        assert_eq!(right.iter().map(|choice| choice.suite).collect::<Vec<_>>(), Suite::ALL);
        assert!(right.iter().all(|choice| (0.9..=1.0).contains(&choice.ratio())), "{right:?}");
        assert!(misses(&rows, &device).unwrap().iter().all(|(row, predicted)| row.median == *predicted));

        let chosen = right[0].chosen.0;
        for row in rows.iter_mut().filter(|row| row.suite == Suite::Fitting && row.which == chosen) {
            row.median *= 3.0;
        }
        let slow = choices(&rows, &device).unwrap();
        assert!(slow[0].ratio() < 0.5, "{slow:?}");
        let mean = geometric_mean(&slow);
        assert!((mean * mean / (slow[0].ratio() * slow[1].ratio()) - 1.0).abs() < 1e-12);

        rows.retain(|row| row.which != chosen);
        assert!(choices(&rows, &device).is_err());
    }
}
