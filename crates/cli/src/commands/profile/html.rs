//! A page with plots: one file, no script, nothing from elsewhere.

use super::report::{Race, Report, Row};
use std::fmt::{self, Write};

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c2530}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2.5rem}table{border-collapse:collapse;font-size:13px}\
td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #dde3ea}td:nth-child(2),th:nth-child(2){text-align:left}\
svg{display:block;margin:1rem 0}text{font:12px system-ui,sans-serif;fill:#1c2530}.us{fill:#2f6db3}.lib{fill:#8a95a3}\
.grid{stroke:#dde3ea}.line{stroke:#1c2530;fill:none}.off{color:#a33}";

/// The page.
pub fn page(report: &Report) -> Result<String, fmt::Error> {
    let mut t = String::new();
    let title = format!("warpwright profile, {}", report.device);
    write!(
        t,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head>\n\
         <body><h1>{0}</h1>\n",
        escaped(&title)
    )?;
    if let Some(check) = &report.baseline {
        writeln!(t, "<h2>Baseline</h2><pre>{}</pre>", escaped(&check.to_string()))?;
    }
    ratios(&mut t, report)?;
    predictions(&mut t, report)?;
    for race in &report.races {
        section(&mut t, race)?;
    }
    t.push_str("</body></html>\n");
    Ok(t)
}

/// What the ratio of each problem is: the plan's choice as a bar, the best kernel as a mark.
fn ratios(t: &mut String, report: &Report) -> fmt::Result {
    let races: Vec<(&Race, f64, Option<f64>)> = report
        .races
        .iter()
        .filter_map(|race| Some((race, race.best()?.ratio?, race.auto().and_then(|row| row.ratio))))
        .collect();
    if races.is_empty() {
        return Ok(());
    }
    let greatest = races.iter().map(|(_, best, _)| *best).fold(1.05, f64::max);
    let scale = 520.0 / greatest;
    let height = 24 * races.len() + 30;
    writeln!(
        t,
        "<h2>Speed relative to cuBLASLt</h2><p>Bar: the plan's own choice. Line: the best kernel. 1 is level.</p>"
    )?;
    writeln!(t, "<svg width=\"960\" height=\"{height}\" role=\"img\" aria-label=\"ratios to cuBLASLt\">")?;
    for (i, (race, best, auto)) in races.iter().enumerate() {
        let y = 24 * i;
        writeln!(t, "<text x=\"330\" y=\"{}\" text-anchor=\"end\">{}</text>", y + 16, escaped(&race.title))?;
        if let Some(auto) = auto {
            writeln!(t, "<rect class=\"us\" x=\"340\" y=\"{}\" width=\"{:.1}\" height=\"14\"/>", y + 5, auto * scale)?;
        }
        let x = 340.0 + best * scale;
        writeln!(t, "<path class=\"line\" d=\"M{x:.1} {}v20\"/>", y + 2)?;
        writeln!(t, "<text x=\"{:.1}\" y=\"{}\">{best:.3}</text>", x + 6.0, y + 16)?;
    }
    let level = 340.0 + scale;
    writeln!(t, "<path class=\"grid\" d=\"M{level:.1} 0v{}\"/>", height - 24)?;
    writeln!(t, "<text x=\"{level:.1}\" y=\"{}\" text-anchor=\"middle\">1</text></svg>", height - 8)
}

/// Predicted over measured times, both on logarithmic axes.
fn predictions(t: &mut String, report: &Report) -> fmt::Result {
    let points: Vec<(f64, f64, &Row)> = report
        .races
        .iter()
        .flat_map(|race| &race.rows)
        .filter_map(|row| Some((row.median_us, row.predicted_us?, row)))
        .filter(|(measured, predicted, _)| *measured > 0.0 && *predicted > 0.0)
        .collect();
    if points.is_empty() {
        return Ok(());
    }
    let all = || points.iter().flat_map(|(measured, predicted, _)| [*measured, *predicted]);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    let place = |us: f64| 400.0 * (us.log10() - low) / (high - low).max(1.0);
    writeln!(t, "<h2>Predicted and measured</h2><p>Every kernel that ran; on the line the model is right.</p>")?;
    writeln!(t, "<svg width=\"520\" height=\"460\" role=\"img\" aria-label=\"predicted against measured times\">")?;
    for decade in low as i32..=high as i32 {
        let us = 10f64.powi(decade);
        let (x, y) = (60.0 + place(us), 410.0 - place(us));
        writeln!(t, "<path class=\"grid\" d=\"M{x:.1} 10v400M60 {y:.1}h400\"/>")?;
        writeln!(t, "<text x=\"{x:.1}\" y=\"428\" text-anchor=\"middle\">{us} us</text>")?;
        writeln!(t, "<text x=\"54\" y=\"{:.1}\" text-anchor=\"end\">{us}</text>", y + 4.0)?;
    }
    writeln!(t, "<path class=\"line\" d=\"M60 410L460 10\"/>")?;
    for (measured, predicted, row) in &points {
        let (x, y) = (60.0 + place(*measured), 410.0 - place(*predicted));
        let label = escaped(&row.label);
        writeln!(
            t,
            "<circle class=\"us\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{label}: {predicted:.1} us predicted, {measured:.1} us measured</title></circle>"
        )?;
    }
    writeln!(t, "<text x=\"260\" y=\"450\" text-anchor=\"middle\">measured</text></svg>")
}

/// One problem: a bar for everyone, from the least to the greatest time, and the table.
fn section(t: &mut String, race: &Race) -> fmt::Result {
    let Race { m, n, k, batch, .. } = race;
    writeln!(t, "<h2>{}</h2>", escaped(&race.title))?;
    let many = if *batch == 1 { String::new() } else { format!("{batch} of ") };
    writeln!(
        t,
        "<p>{many}{m} x {n} x {k}, A {}, B {}, D {}; medians of {} rounds.</p>",
        race.order_a, race.order_b, race.order_d, race.rounds
    )?;
    if let Some(why) = &race.failed {
        return writeln!(t, "<p class=\"off\">{}</p>", escaped(why));
    }
    bars(t, race)?;
    t.push_str(
        "<table><tr><th></th><th>kernel</th><th>median us</th><th>least us</th><th>TFLOP/s</th><th>cuBLASLt/it</th>\
         <th>predicted us</th></tr>\n",
    );
    for row in &race.rows {
        let number = |x: Option<f64>, digits: usize| x.map_or(String::new(), |x| format!("{x:.digits$}"));
        writeln!(
            t,
            "<tr><td>{}</td><td>{}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td><td>{}</td><td>{}</td></tr>",
            row.rank,
            escaped(&row.label),
            row.median_us,
            row.least_us,
            row.tflops,
            number(row.ratio, 3),
            number(row.predicted_us, 2)
        )?;
    }
    t.push_str("</table>\n");
    for refused in &race.refused {
        let class = if refused.wrong { " class=\"off\"" } else { "" };
        writeln!(t, "<p{class}>{}: {}</p>", escaped(&refused.label), escaped(&refused.reason))?;
    }
    Ok(())
}

fn bars(t: &mut String, race: &Race) -> fmt::Result {
    // More would only show that the slow are slow.
    const SHOWN: usize = 24;
    let library = race.library().filter(|row| row.rank > SHOWN);
    let rows: Vec<&Row> = race.rows.iter().take(SHOWN).chain(library).collect();
    let Some(slowest) = rows.iter().map(|row| row.median_us).reduce(f64::max) else { return Ok(()) };
    let scale = 520.0 / slowest.max(f64::MIN_POSITIVE);
    writeln!(t, "<svg width=\"960\" height=\"{}\" role=\"img\" aria-label=\"median times\">", 20 * rows.len() + 4)?;
    for (i, row) in rows.iter().enumerate() {
        let (y, class) = (20 * i, if row.kernel.is_some() { "us" } else { "lib" });
        writeln!(t, "<text x=\"330\" y=\"{}\" text-anchor=\"end\">{}</text>", y + 14, escaped(&row.label))?;
        let width = row.median_us * scale;
        writeln!(t, "<rect class=\"{class}\" x=\"340\" y=\"{}\" width=\"{width:.1}\" height=\"12\"/>", y + 4)?;
        let (least, greatest) = (row.least_us * scale, (row.greatest_us * scale).min(540.0));
        writeln!(t, "<path class=\"line\" d=\"M{:.1} {}H{:.1}\"/>", 340.0 + least, y + 10, 340.0 + greatest)?;
        let after = 346.0 + width.max(greatest);
        writeln!(t, "<text x=\"{after:.1}\" y=\"{}\">{:.1}</text>", y + 14, row.median_us)?;
    }
    writeln!(t, "</svg>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::profile::report::sample;

    #[test]
    fn ratios_predictions_and_every_race_have_a_plot() {
        let page = page(&sample::report()).unwrap();
        assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (4, 4), "{page}");
        assert!(page.contains("Speed relative to cuBLASLt") && page.contains("Predicted and measured"));
        // The three kernels that ran have a predicted time.
        assert_eq!(page.matches("<circle").count(), 3);
        assert!(page.contains("Multistage 128x256x64 &lt;&amp;&gt;") && !page.contains("<&>"), "{page}");
        // Bars of the plan's own choices: half of the level line's distance.
        let widths: Vec<&str> = page.split("<rect class=\"us\" x=\"340\" y=\"5\" width=\"").skip(1).collect();
        assert!(widths.iter().any(|rest| rest.starts_with("247.6\"")), "{page}");
        assert!(page.contains("<path class=\"grid\" d=\"M835.2 0v"), "{page}");
    }

    #[test]
    fn a_failed_check_is_on_the_page() {
        let mut report = sample::report();
        report.races[0].failed = Some("no <memory>".into());
        let page = page(&report).unwrap();
        assert!(page.contains("<p class=\"off\">no &lt;memory&gt;</p>"), "{page}");
    }
}
