//! What runs the table.

use crate::case::{Case, ErrorKind};
use crate::compare::{Report, judge};
use crate::expected::Outside;
use crate::prepare::Prepared;
use crate::reference::Reference;
use warpwright::AccumulationId;

/// Something that multiplies: a backend, a mainloop, or a model of a faulty one.
pub trait Runner {
    /// Runs one case. D goes back with all bytes of its buffer, laid out as `case.d.layout` says.
    fn run(&self, case: &Prepared) -> Outcome;
}

/// What came of a run.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It ran.
    Done {
        /// All bytes of D's buffer afterwards.
        d: Vec<u8>,
        /// Name of the launched kernel.
        kernel: String,
        /// How its sums were kept, if its instruction keeps 14 bits of them.
        narrow: Option<AccumulationId>,
    },
    /// It was refused with a typed error.
    Failed {
        /// The error's kind.
        kind: ErrorKind,
        /// The error's text.
        text: String,
        /// All bytes of D's buffer afterwards.
        d: Vec<u8>,
    },
    /// This runner is not meant for the case.
    Skipped {
        /// Why.
        why: String,
    },
}

/// Runs rows one after the other; what is known from outside is checked too.
pub fn run(cases: &[Case], runner: &dyn Runner, outside: &Outside) -> Vec<Report> {
    cases.iter().map(|case| run_one(case, runner, outside)).collect()
}

fn run_one(case: &Case, runner: &dyn Runner, outside: &Outside) -> Report {
    let prepared = match Prepared::new(case) {
        Ok(prepared) => prepared,
        Err(what) => return Report::failed(&case.name, what),
    };
    // A panic is a fault of one row, not the end of the table.
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runner.run(&prepared)));
    let Ok(outcome) = attempt else { return Report::failed(&case.name, "panicked".to_owned()) };
    let narrow = match outcome {
        Outcome::Done { narrow, .. } => narrow,
        _ => None,
    };
    let report = judge(&prepared, &Reference::summed(&prepared, narrow), &outcome);
    match (&outcome, outside.get(&case.name)) {
        (Outcome::Done { d, .. }, Some(known)) if report.passed() => match known.check_output(&prepared, d) {
            Ok(()) => report,
            Err(what) => Report::failed(&case.name, format!("against the values from outside: {what}")),
        },
        _ => report,
    }
}
