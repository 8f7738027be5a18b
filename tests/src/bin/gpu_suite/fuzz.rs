//! Fresh random problems: extents, majors, paddings, alignments, types, epilogues, batches; integer data bit for bit.

use crate::proven::Proven;
use crate::table::{Row, run_each};
use crate::{Options, Part};
use warpwright::Device;
use warpwright_tests::fuzz::{Random, random_case};
use warpwright_tests::{Case, Outside, Verdict};

pub fn run(device: &Device, options: &Options, proven: &mut Proven) -> Part {
    let count = if options.small { 12 } else { options.fuzz };
    let mut random = Random::new(options.seed);
    let cases: Vec<Case> =
        (0..count).map(|i| random_case(&mut random, format!("fuzz_{}_{i}", options.seed), options.small)).collect();
    let mut faults = Vec::new();
    let mut worst: f64 = 0.0;
    for (Row { report, launched }, case) in run_each(device, &cases, &Outside::default())?.into_iter().zip(&cases) {
        match report.verdict {
            Verdict::Pass => {
                proven.passed(&launched);
                worst = worst.max(report.worst.map_or(0.0, |w| if w.allowed > 0.0 { w.ratio } else { 0.0 }));
            }
            Verdict::Fail(what) => faults.push(format!("{what}\n    {case:?}")),
            Verdict::Skip(why) => faults.push(format!("skipped: {why}\n    {case:?}")),
        }
    }
    let summary = format!("{count} problems, seed {}, largest error {worst:.2} of the bound", options.seed);
    if faults.is_empty() {
        Ok(summary)
    } else {
        faults.truncate(8);
        Err(format!("{summary}; {} wrong:\n  {}", faults.len(), faults.join("\n  ")))
    }
}
