//! One line a problem, and what the ratios come to.

use super::report::{Race, Report};
use std::fmt::{self, Write};

/// The summary as text.
pub fn text(report: &Report) -> Result<String, fmt::Error> {
    let mut t = String::new();
    let titles: Vec<String> = report.races.iter().map(Race::title).collect();
    let width = titles.iter().map(String::len).max().unwrap_or(0);
    let bests = report.races.iter().filter_map(|race| race.best());
    let labels = bests.map(|row| row.label.len()).max().unwrap_or(0).max("best kernel".len());
    writeln!(
        t,
        "{:<width$} {:>11} {:>10} {:>13} {:>8} {:<labels$} {:>10} {:>13} {:>9}",
        "problem",
        "cuBLASLt us",
        "auto us",
        "cuBLASLt/auto",
        "model us",
        "best kernel",
        "best us",
        "cuBLASLt/best",
        "best/auto"
    )?;
    for (race, title) in report.races.iter().zip(&titles) {
        let time = |row: Option<&super::report::Row>| row.map_or("-".into(), |row| format!("{:.2}", row.median_us));
        let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.3}"));
        let (auto, best) = (race.auto(), race.best());
        let model = auto.and_then(|row| row.predicted_us);
        let lost = auto.zip(best).map(|(auto, best)| best.median_us / auto.median_us);
        writeln!(
            t,
            "{title:<width$} {:>11} {:>10} {:>13} {:>8} {:<labels$} {:>10} {:>13} {:>9}",
            time(race.library()),
            time(auto),
            number(auto.and_then(|row| row.ratio)),
            model.map_or("-".into(), |us| format!("{us:.1}")),
            best.map_or("-", |row| row.label.as_str()),
            time(best),
            number(best.and_then(|row| row.ratio)),
            number(lost),
        )?;
    }
    write_means(&mut t, report)?;
    write_reasons(&mut t, report)?;
    Ok(t)
}

/// Geometric mean and minimum of the ratios, by element.
fn write_means(t: &mut String, report: &Report) -> fmt::Result {
    let mut types: Vec<String> = report.races.iter().map(Race::types).collect();
    types.dedup();
    for types in types {
        let races: Vec<&Race> = report.races.iter().filter(|race| race.types() == types).collect();
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
                Some((_, titles)) => titles.push(race.title()),
                None => seen.push((reason, vec![race.title()])),
            }
        }
    }
    for (reason, titles) in seen {
        writeln!(t, "  - {} ({})", reason, titles.join(", "))?;
    }
    Ok(())
}
