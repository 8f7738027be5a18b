//! Whether this harness times as the one did whose times are known.

use super::suites::{BASELINE_DEVICE, Known, baseline};
use crate::error::InputError;
use serde::Serialize;
use std::fmt;
use warpwright::runtime::cublaslt::CublasLtError;
use warpwright::{Device, RaceError, RaceProblem, RaceRefusalReason, RaceRules, time_library};

/// How far off one may be.
const ALLOWED: f64 = 0.05;

/// cuBLASLt's known times and those of this run.
#[derive(Clone, Serialize, Debug)]
pub struct Check {
    /// Whether every time was reproduced.
    pub holds: bool,
    /// cuBLASLt's version.
    pub cublaslt: String,
    rows: Vec<Row>,
}

#[derive(Clone, Serialize, Debug)]
struct Row {
    #[serde(rename = "type")]
    element: &'static str,
    fast_accumulation: bool,
    m: usize,
    n: usize,
    k: usize,
    known_us: f64,
    /// Absent if cuBLASLt does not compute it.
    measured_us: Option<f64>,
    /// Measured over known.
    ratio: Option<f64>,
    holds: bool,
    /// Why there is no time.
    failed: Option<String>,
}

impl Row {
    fn new(known: &Known, measured: Result<f64, String>) -> Row {
        let mnk = known.mnk();
        let measured_us = measured.as_ref().ok().map(|seconds| seconds * 1e6);
        let ratio = measured_us.map(|us| us / known.microseconds);
        Row {
            element: known.element().name(),
            fast_accumulation: known.fast_accumulation,
            m: mnk.m,
            n: mnk.n,
            k: mnk.k,
            known_us: known.microseconds,
            measured_us,
            ratio,
            holds: ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= ALLOWED),
            failed: measured.err(),
        }
    }
}

/// Times cuBLASLt on the known shapes. One that is off is timed once more, since a neighbour or a change of clocks can spoil
/// one; the second time counts.
pub fn check(device: &Device, rules: &RaceRules<'_>, mut step: impl FnMut()) -> anyhow::Result<Check> {
    if device.name() != BASELINE_DEVICE {
        let given = device.name().to_owned();
        return Err(InputError::NoBaseline { measured: BASELINE_DEVICE, given }.into());
    }
    let rules = RaceRules { qualifying: rules.rounds.max(11), ..*rules };
    let mut rows = Vec::new();
    let mut cublaslt = String::new();
    for known in baseline() {
        let mut measured = || -> Result<Row, RaceError> {
            let fast_accumulation = known.fast_accumulation;
            let problem = RaceProblem { fast_accumulation, ..RaceProblem::new(known.mnk(), known.element()) };
            let seconds = match time_library(device, &problem, &rules) {
                Ok(times) => {
                    cublaslt = times.version.to_string();
                    Ok(times.seconds())
                }
                // One shape that fails is off; a library that is not there has nothing to say of any.
                Err(RaceError::Library(reason)) if !is_missing(&reason) => Err(reason.to_string()),
                Err(error) => return Err(error),
            };
            Ok(Row::new(&known, seconds))
        };
        let row = match measured()? {
            row if row.holds => row,
            _ => measured()?,
        };
        rows.push(row);
        step();
    }
    Ok(Check { holds: rows.iter().all(|row| row.holds), cublaslt, rows })
}

fn is_missing(reason: &RaceRefusalReason) -> bool {
    matches!(reason, RaceRefusalReason::Library(CublasLtError::Missing(_) | CublasLtError::NotCuda { .. }))
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on ten shapes of which its time on an {BASELINE_DEVICE} is known", self.cublaslt)?;
        writeln!(f, "{:<10} {:<16} {:>9} {:>11} {:>14}", "type", "shape", "known us", "measured us", "measured/known")?;
        for Row { element, fast_accumulation, m, n, k, known_us, measured_us, ratio, holds, failed } in &self.rows {
            let element = format!("{element}{}", if *fast_accumulation { " fast" } else { "" });
            let shape = format!("{m}x{n}x{k}");
            let number = |x: &Option<f64>, digits: usize| x.map_or("-".into(), |x| format!("{x:.digits$}"));
            let off = match failed {
                Some(why) => format!("  OFF: {why}"),
                None if *holds => String::new(),
                None => "  OFF".into(),
            };
            let (measured, ratio) = (number(measured_us, 2), number(ratio, 3));
            writeln!(f, "{element:<10} {shape:<16} {known_us:>9.2} {measured:>11} {ratio:>14}{off}")?;
        }
        match self.holds {
            true => writeln!(f, "the harness reproduces the baseline: every time is within 5 %"),
            false => writeln!(f, "the harness does NOT reproduce the baseline within 5 %: no ratios are told"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_of(factor: f64) -> Check {
        let rows: Vec<Row> =
            baseline().iter().map(|known| Row::new(known, Ok(known.microseconds * 1e-6 * factor))).collect();
        Check { holds: rows.iter().all(|row| row.holds), cublaslt: "cuBLASLt 13.0.2".into(), rows }
    }

    #[test]
    fn five_percent_decide() {
        for (factor, holds) in [(1.0, true), (1.049, true), (0.951, true), (1.051, false), (0.949, false)] {
            assert_eq!(check_of(factor).holds, holds, "{factor}");
        }
        assert!(!check_of(f64::NAN).holds);
        let failed = Row::new(&baseline()[0], Err("no algorithm".into()));
        assert!(!failed.holds);
        let check = Check { holds: false, cublaslt: String::new(), rows: vec![failed] };
        assert!(check.to_string().contains("-              -  OFF: no algorithm"), "{check}");
        assert!(check_of(1.2).to_string().contains("NOT reproduce"));
        assert!(check_of(1.0).to_string().ends_with("every time is within 5 %\n"));
    }

    #[test]
    fn other_devices_have_no_baseline() {
        let error = check(&Device::host(), &RaceRules::default(), || {}).unwrap_err().to_string();
        assert_eq!(
            error,
            "--check-baseline compares with times of an NVIDIA H200, and this is CPU: leave it out, and judge ratios with care"
        );
    }
}
