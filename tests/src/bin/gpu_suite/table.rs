//! The case table on the GPU.

use crate::proven::Proven;
use crate::{Options, Part};
use rayon::prelude::*;
use warpwright::{Device, KernelPlan};
use warpwright_tests::library::Library;
use warpwright_tests::{Case, Outside, Report, Verdict, case, runner};

pub fn run(device: &Device, options: &Options, proven: &mut Proven) -> Part {
    run_rows(device, options, proven).map_err(|e| e.to_string())?
}

fn run_rows(device: &Device, options: &Options, proven: &mut Proven) -> Result<Part, Box<dyn std::error::Error>> {
    let mut cases = case::load(&options.cases)?;
    if options.small {
        cases.retain(|c| c.m * c.n * c.k * c.batch <= 130 * 130 * 130);
        let keep = cases.len().div_ceil(40);
        let mut i = 0;
        cases.retain(|_| {
            i += 1;
            i % keep == 1 || keep == 1
        });
    }
    let outside = Outside::load(&options.cases)?;
    let rows = run_each(device, &cases, &outside)?;
    let (mut passed, mut skipped, mut faults) = (0, 0, Vec::new());
    let mut worst: (f64, String) = (0.0, String::new());
    for Row { report, launched } in rows {
        match &report.verdict {
            Verdict::Pass => {
                passed += 1;
                proven.passed(&launched);
                if let Some(w) = report.worst.filter(|w| w.ratio > worst.0 && w.allowed > 0.0) {
                    worst = (w.ratio, report.name.clone());
                }
            }
            Verdict::Fail(what) => faults.push(format!("{}: {what}", report.name)),
            Verdict::Skip(_) => skipped += 1,
        }
    }
    let summary = format!(
        "{passed} of {} rows right, {skipped} for other devices; largest error {:.2} of the bound ({})",
        cases.len(),
        worst.0,
        worst.1
    );
    Ok(if faults.is_empty() { Ok(summary) } else { Err(format!("{summary}\n  {}", faults.join("\n  "))) })
}

/// A row's report and the plans that it launched.
pub struct Row {
    pub report: Report,
    pub launched: Vec<KernelPlan>,
}

/// Runs rows on all cores, each with a stream of its own: most of the time is NVRTC's and the reference's.
pub fn run_each(device: &Device, cases: &[Case], outside: &Outside) -> Result<Vec<Row>, String> {
    let one = |case: &Case| {
        let library = Library::new(device).map_err(|e| e.to_string())?;
        let report = runner::run(std::slice::from_ref(case), &library, outside).remove(0);
        Ok(Row { report, launched: library.launched() })
    };
    cases.par_iter().map(one).collect()
}
