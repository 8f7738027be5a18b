//! One line a problem, which can be told as soon as it was raced, and what the ratios come to.

use super::problems::Named;
use super::report::{Race, Report, Row, title};
use std::fmt::{self, Write};

/// The lines of a summary.
pub struct Lines {
    width: usize,
}

/// Room for the name of a kernel.
const LABEL: usize = 34;

impl Lines {
    /// Lines for these problems.
    pub fn of(problems: &[Named]) -> Lines {
        let titles = problems.iter().map(|named| title(named).len());
        Lines { width: titles.max().unwrap_or(0).max("problem".len()) }
    }

    /// What stands above them.
    pub fn head(&self) -> String {
        format!(
            "{:<width$} {:>8} {:>11} {:>10} {:>13} {:>8} {:<LABEL$} {:>10} {:>13} {:>9}\n",
            "problem",
            "floor us",
            "cuBLASLt us",
            "auto us",
            "cuBLASLt/auto",
            "model us",
            "best kernel",
            "best us",
            "cuBLASLt/best",
            "best/auto",
            width = self.width,
        )
    }

    /// One problem's.
    pub fn line(&self, race: &Race) -> String {
        let time = |row: Option<&Row>| row.map_or("-".into(), |row| format!("{:.2}", row.median_us));
        let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.3}"));
        let (auto, best) = (race.auto(), race.best());
        let model = auto.and_then(|row| row.predicted_us);
        let lost = auto.zip(best).map(|(auto, best)| best.median_us / auto.median_us);
        format!(
            "{:<width$} {:>8} {:>11} {:>10} {:>13} {:>8} {:<LABEL$} {:>10} {:>13} {:>9}\n",
            race.title,
            race.floor_us.map_or("-".into(), |us| format!("{us:.2}")),
            time(race.library()),
            time(auto),
            number(auto.and_then(|row| row.ratio)),
            model.map_or("-".into(), |us| format!("{us:.1}")),
            best.map_or("-", |row| row.label.as_str()),
            time(best),
            number(best.and_then(|row| row.ratio)),
            number(lost),
            width = self.width,
        )
    }
}

/// What stands below the lines: means, and why somebody did not run.
pub fn tail(report: &Report) -> Result<String, fmt::Error> {
    let mut t = String::new();
    write_means(&mut t, report)?;
    write_reasons(&mut t, report)?;
    Ok(t)
}

/// Geometric mean and minimum of the ratios, by element.
fn write_means(t: &mut String, report: &Report) -> fmt::Result {
    let mut types: Vec<&str> = report.races.iter().map(|race| race.types.as_str()).collect();
    types.dedup();
    for types in types {
        let races: Vec<&Race> = report.races.iter().filter(|race| race.types == types).collect();
        let ratios = |of: fn(&Race) -> Option<f64>| -> Vec<f64> { races.iter().filter_map(|race| of(race)).collect() };
        for (who, ratios) in [("auto", ratios(|race| race.auto()?.ratio)), ("best", ratios(|race| race.best()?.ratio))]
        {
            if ratios.len() > 1 {
                let mean = (ratios.iter().map(|x| x.ln()).sum::<f64>() / ratios.len() as f64).exp();
                let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
                writeln!(
                    t,
                    "{types}: cuBLASLt/{who} over {} problems: geometric mean {mean:.3}, minimum {least:.3}",
                    ratios.len()
                )?;
            }
        }
    }
    Ok(())
}

/// Why somebody did not run, each reason once.
fn write_reasons(t: &mut String, report: &Report) -> fmt::Result {
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for race in &report.races {
        let failed = race.failed.iter().map(|why| (String::from("no race"), why.clone()));
        let refused = race.refused.iter().map(|refused| (refused.label.clone(), refused.reason.clone()));
        for (label, reason) in failed.chain(refused) {
            let reason = format!("{label}: {reason}");
            match seen.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, titles)) => titles.push(race.title.clone()),
                None => seen.push((reason, vec![race.title.clone()])),
            }
        }
    }
    for (reason, titles) in seen {
        writeln!(t, "  - {} ({})", reason, titles.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::profile::report::sample;

    #[test]
    fn means_and_reasons_are_told_once() {
        let report = sample::report();
        assert_eq!(
            tail(&report).unwrap(),
            "bf16 -> bf16: cuBLASLt/auto over 2 problems: geometric mean 0.500, minimum 0.500\n\
             bf16 -> bf16: cuBLASLt/best over 2 problems: geometric mean 0.632, minimum 0.500\n  \
             - x: D is wrong (square sq4096 bf16 -> bf16, square sq1024 bf16 -> bf16)\n"
        );
        let lines = Lines { width: 12 };
        let (head, line) = (lines.head(), lines.line(&report.races[0]));
        let numbers: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(numbers[5..10], ["-", "160.00", "320.00", "0.500", "352.0"], "{line}");
        assert_eq!(numbers[numbers.len() - 3..], ["200.00", "0.800", "0.625"], "{line}");
        assert!(head.contains("cuBLASLt/auto") && head.contains("best/auto"));
    }
}
