//! How a race came out.

use super::library::RaceLibrary;
use super::{RaceProblem, RaceRefusalReason, RaceRules, RaceTrack, median};
use std::fmt;
use warpwright_spec::KernelPlan;

/// How a race came out: a plain value, the fastest first.
#[derive(Debug)]
pub struct RaceTable {
    /// The device's name.
    pub device: String,
    /// What was multiplied.
    pub problem: RaceProblem,
    /// Times that everyone was timed.
    pub rounds: usize,
    /// Bytes that were filled before every run.
    pub flush_bytes: usize,
    /// What operands and order were drawn from.
    pub seed: u64,
    /// What the product takes at best, for its bytes alone, in seconds; `None` on the CPU.
    pub floor: Option<f64>,
    /// Who ran, by median.
    pub rows: Vec<RaceRow>,
    /// Who did not, and why.
    pub refused: Vec<RaceRefusal>,
    withheld: bool,
}

/// One who ran.
#[derive(Clone, PartialEq, Debug)]
pub struct RaceRow {
    /// By what name.
    pub label: String,
    /// Who.
    pub runner: RaceRunner,
    /// Seconds of every round.
    pub seconds: Vec<f64>,
    /// What the model had said, in seconds; `None` for cuBLASLt, and on the CPU, whose rates the model does not know.
    pub predicted: Option<f64>,
}

/// Who runs.
#[derive(Clone, PartialEq, Debug)]
pub enum RaceRunner {
    /// One of our kernels, with its plan.
    Kernel(Box<KernelPlan>),
    /// cuBLASLt.
    Library(RaceLibrary),
}

/// One who did not run.
#[derive(Debug)]
pub struct RaceRefusal {
    /// By what name.
    pub label: String,
    /// Why.
    pub reason: RaceRefusalReason,
}

impl RaceRow {
    /// The median over rounds, in seconds.
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// The fastest round, in seconds.
    pub fn least(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The slowest round, in seconds.
    pub fn greatest(&self) -> f64 {
        self.seconds.iter().copied().fold(0.0, f64::max)
    }
}

impl RaceTable {
    pub(super) fn new(track: &RaceTrack, rules: &RaceRules<'_>) -> RaceTable {
        RaceTable {
            device: track.device().name().to_owned(),
            problem: *track.problem(),
            rounds: rules.rounds,
            flush_bytes: track.flush_bytes(),
            seed: rules.seed,
            floor: track.problem().floor(track.device().info()),
            rows: Vec::new(),
            refused: Vec::new(),
            withheld: false,
        }
    }

    pub(super) fn finish(&mut self, rows: impl Iterator<Item = RaceRow>) {
        self.rows = rows.collect();
        self.rows.sort_by(|x, y| x.median().total_cmp(&y.median()));
    }

    /// cuBLASLt's row, if it ran.
    pub fn library(&self) -> Option<&RaceRow> {
        self.rows.iter().find(|row| matches!(row.runner, RaceRunner::Library(_)))
    }

    /// The fastest of our kernels.
    pub fn best_kernel(&self) -> Option<&RaceRow> {
        self.rows.iter().find(|row| matches!(row.runner, RaceRunner::Kernel(_)))
    }

    /// Speed relative to cuBLASLt, which took how many times as long; `None` if it did not run, or ratios are withheld.
    pub fn ratio(&self, row: &RaceRow) -> Option<f64> {
        let library = self.library().filter(|_| !self.withheld)?;
        Some(library.median() / row.median())
    }

    /// Floating-point (or integer) operations per second.
    pub fn rate(&self, row: &RaceRow) -> f64 {
        self.problem.flops() / row.median()
    }

    /// Tells no ratios: for a harness that does not reproduce cuBLASLt's known times.
    pub fn withhold_ratios(&mut self) {
        self.withheld = true;
    }
}

impl fmt::Display for RaceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RaceTable { device, problem, rounds, flush_bytes, .. } = self;
        writeln!(f, "{problem}, on {device}")?;
        writeln!(f, "medians of {rounds} interleaved rounds, {} MiB filled before every run", flush_bytes >> 20)?;
        if let Some(floor) = self.floor {
            let mb = problem.bytes() * 1e-6;
            writeln!(f, "at best {:.2} us: {mb:.1} MB from and to device memory, behind a flushed cache", floor * 1e6)?;
        }
        if !self.rows.is_empty() {
            let head = ["", "median us", "least us", "TFLOP/s", "cuBLASLt/it", "predicted us", "predicted/median"];
            let [place, median, least, rate, ratio, predicted, off] = head;
            let width = self.rows.iter().map(|row| row.label.len()).max().unwrap_or(0);
            writeln!(
                f,
                "{place:>3} {:<width$} {median:>10} {least:>10} {rate:>9} {ratio:>11} {predicted:>12} {off:>16}",
                "kernel"
            )?;
            for (i, row) in self.rows.iter().enumerate() {
                let number = |x: Option<f64>, digits: usize| x.map_or("-".into(), |x| format!("{x:.digits$}"));
                writeln!(
                    f,
                    "{:>3} {:<width$} {:>10.2} {:>10.2} {:>9.2} {:>11} {:>12} {:>16}",
                    i + 1,
                    row.label,
                    row.median() * 1e6,
                    row.least() * 1e6,
                    self.rate(row) * 1e-12,
                    number(self.ratio(row), 3),
                    number(row.predicted.map(|x| x * 1e6), 2),
                    number(row.predicted.map(|x| x / row.median()), 2),
                )?;
            }
        }
        if let Some(RaceRow { runner: RaceRunner::Library(library), .. }) = self.library() {
            let RaceLibrary { version, medians, best } = library;
            writeln!(f, "{version}: algorithm {best} of {} is its fastest", medians.len())?;
        }
        for RaceRefusal { label, reason } in &self.refused {
            writeln!(f, "  - {label}: {reason}")?;
        }
        Ok(())
    }
}
