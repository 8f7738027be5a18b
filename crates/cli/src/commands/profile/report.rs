//! Results in the forms in which they are written: plain values for JSON, CSV and the page.

use super::baseline::Check;
use super::problems::{Entered, Named};
use serde::Serialize;
use warpwright::{KernelPlan, RaceRefusalReason, RaceRow, RaceRunner, RaceTable, spec};

/// Everything that was measured.
#[derive(Serialize)]
pub struct Report {
    /// The device's name.
    pub device: String,
    /// Whether known times were reproduced, if that was asked for.
    pub baseline: Option<Check>,
    /// One for each problem, in the order of the options.
    pub races: Vec<Race>,
}

/// One problem's race.
#[derive(Serialize)]
pub struct Race {
    /// By what it is spoken of.
    #[serde(skip)]
    pub title: String,
    /// Its element types, briefly.
    #[serde(skip)]
    pub types: String,
    pub suite: Option<String>,
    pub name: String,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
    pub type_a: &'static str,
    pub type_b: &'static str,
    pub type_d: &'static str,
    pub order_a: &'static str,
    pub order_b: &'static str,
    pub order_d: &'static str,
    pub fast_accumulation: bool,
    pub rounds: usize,
    pub flush_bytes: usize,
    pub seed: u64,
    /// What the bytes alone take at best.
    pub floor_us: Option<f64>,
    /// The fastest first.
    pub rows: Vec<Row>,
    pub refused: Vec<Refused>,
    /// Why there was no race.
    pub failed: Option<String>,
}

/// One who ran.
#[derive(Serialize)]
pub struct Row {
    /// 1 for the fastest.
    pub rank: usize,
    pub label: String,
    /// The plan's name; absent for cuBLASLt.
    pub kernel: Option<String>,
    pub schedule: Option<&'static str>,
    pub scheduler: Option<&'static str>,
    /// In the kernel's terms.
    pub tile: Option<[usize; 3]>,
    pub stages: Option<usize>,
    /// Parts of K that different blocks compute.
    pub splits: Option<usize>,
    /// Of cuBLASLt, by its heuristics' liking.
    pub algorithm: Option<usize>,
    pub median_us: f64,
    pub least_us: f64,
    pub greatest_us: f64,
    pub tflops: f64,
    /// cuBLASLt's median over this one.
    pub ratio: Option<f64>,
    pub predicted_us: Option<f64>,
}

/// One who did not run.
#[derive(Serialize)]
pub struct Refused {
    pub label: String,
    pub reason: String,
    /// Whether it ran and computed something else.
    pub wrong: bool,
}

impl Race {
    /// A race that did not take place.
    pub fn failed(named: &Named, why: String) -> Race {
        let problem = &named.problem;
        let name = |order: spec::Order| order.name();
        Race {
            title: title(named),
            types: types(named),
            suite: named.suite.clone(),
            name: named.name.clone(),
            m: problem.mnk.m,
            n: problem.mnk.n,
            k: problem.mnk.k,
            batch: problem.batch,
            type_a: problem.a.name(),
            type_b: problem.b.name(),
            type_d: problem.d.name(),
            order_a: name(problem.order_a),
            order_b: name(problem.order_b),
            order_d: name(problem.order_d),
            fast_accumulation: problem.fast_accumulation,
            rounds: 0,
            flush_bytes: 0,
            seed: 0,
            floor_us: None,
            rows: Vec::new(),
            refused: Vec::new(),
            failed: Some(why),
        }
    }

    /// A race's results.
    pub fn new(named: &Named, table: &RaceTable, entered: &Entered) -> Race {
        let illegal = entered.illegal.iter();
        let illegal =
            illegal.map(|(label, rule)| Refused { label: label.clone(), reason: rule.to_string(), wrong: false });
        let refused = table.refused.iter().map(|refusal| Refused {
            label: refusal.label.clone(),
            reason: refusal.reason.to_string(),
            wrong: matches!(refusal.reason, RaceRefusalReason::Wrong(_)),
        });
        Race {
            rounds: table.rounds,
            flush_bytes: table.flush_bytes,
            seed: table.seed,
            floor_us: table.floor.map(|seconds| seconds * 1e6),
            rows: table.rows.iter().enumerate().map(|(i, row)| Row::new(i + 1, row, table)).collect(),
            refused: illegal.chain(refused).collect(),
            failed: None,
            ..Race::failed(named, String::new())
        }
    }

    /// cuBLASLt's row.
    pub fn library(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.kernel.is_none())
    }

    /// The fastest of our kernels.
    pub fn best(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.kernel.is_some())
    }

    /// The plan's own choice.
    pub fn auto(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == "auto")
    }
}

/// By what a problem is spoken of.
pub fn title(named: &Named) -> String {
    let suite = named.suite.as_ref().map_or(String::new(), |suite| format!("{suite} "));
    format!("{suite}{} {}", named.name, types(named))
}

fn types(Named { problem, .. }: &Named) -> String {
    let b = if problem.b == problem.a { String::new() } else { format!(" x {}", problem.b) };
    let fast = if problem.fast_accumulation { " fast" } else { "" };
    format!("{}{b} -> {}{fast}", problem.a, problem.d)
}

impl Row {
    fn new(rank: usize, row: &RaceRow, table: &RaceTable) -> Row {
        let plan: Option<&KernelPlan> = match &row.runner {
            RaceRunner::Kernel(plan) => Some(plan),
            RaceRunner::Library(_) => None,
        };
        let algorithm = match &row.runner {
            RaceRunner::Library(library) => Some(library.best),
            RaceRunner::Kernel(_) => None,
        };
        Row {
            rank,
            label: row.label.clone(),
            kernel: plan.map(KernelPlan::name),
            schedule: plan.map(|plan| plan.spec.schedule.name()),
            scheduler: plan.map(|plan| plan.spec.scheduler.name()),
            tile: plan.map(|plan| [plan.tile.m, plan.tile.n, plan.tile.k]),
            stages: plan.map(|plan| plan.resources.stages),
            splits: plan.map(|plan| plan.splits),
            algorithm,
            median_us: row.median() * 1e6,
            least_us: row.least() * 1e6,
            greatest_us: row.greatest() * 1e6,
            tflops: table.rate(row) * 1e-12,
            ratio: table.ratio(row),
            predicted_us: row.predicted.map(|seconds| seconds * 1e6),
        }
    }
}

#[cfg(test)]
pub mod sample {
    //! Results as a GPU would give them.

    use super::*;
    use warpwright::{Dtype, Mnk, RaceProblem};

    fn row(rank: usize, label: &str, median_us: f64, ratio: Option<f64>, predicted_us: Option<f64>) -> Row {
        let ours = label != "cuBLASLt";
        Row {
            rank,
            label: label.into(),
            kernel: ours.then(|| format!("ww_{rank}")),
            schedule: ours.then_some("Multistage"),
            scheduler: ours.then_some("Persistent"),
            tile: ours.then_some([128, 256, 64]),
            stages: ours.then_some(3),
            splits: ours.then_some(1),
            algorithm: (!ours).then_some(2),
            median_us,
            least_us: 0.9 * median_us,
            greatest_us: 1.2 * median_us,
            tflops: 700.0,
            ratio,
            predicted_us,
        }
    }

    fn race(size: usize, rows: Vec<Row>) -> Race {
        let problem = RaceProblem::new(Mnk { m: size, n: size, k: size }, Dtype::Bf16);
        let named = Named { suite: Some("square".into()), name: format!("sq{size}"), problem };
        Race { rounds: 15, rows, failed: None, ..Race::failed(&named, String::new()) }
    }

    /// Two races: of one ratios are 0.5 and 0.8, of the other 0.5 and 0.5.
    pub fn report() -> Report {
        let kernel = |rank, label, us, ratio| row(rank, label, us, Some(ratio), Some(1.1 * us));
        let first = vec![
            row(1, "cuBLASLt", 160.0, Some(1.0), None),
            kernel(2, "Multistage 128x256x64 <&>", 200.0, 0.8),
            kernel(3, "auto", 320.0, 0.5),
        ];
        let second = vec![row(1, "cuBLASLt", 20.0, Some(1.0), None), kernel(2, "auto", 40.0, 0.5)];
        let mut races = vec![race(4096, first), race(1024, second)];
        let wrong = |label: &str| Refused { label: label.into(), reason: "D is wrong".into(), wrong: true };
        races[0].refused.push(wrong("x"));
        races[1].refused.push(wrong("x"));
        Report { device: "NVIDIA H200".into(), baseline: None, races }
    }
}
