//! Races: kernels against each other and against cuBLASLt, on one product, in one run.
//!
//! Every round runs every entrant once, in random order, each behind a fill of a buffer larger than the L2 cache; what is
//! told is the median over rounds. Operands are random normal numbers: zeros and constants run faster than data do. Before it
//! is timed, each entrant computes the product once, and some elements are compared with sums in f64; one that is wrong does
//! not start.
//!
//! ```no_run
//! use warpwright_builder::race::{RaceEntrant, RaceProblem, RaceRules, race, space};
//! use warpwright_numeric::Dtype;
//! use warpwright_runtime::Device;
//! use warpwright_spec::{GemmDesc, Mnk};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::cuda(0)?;
//! let problem = RaceProblem::new(Mnk { m: 4096, n: 4096, k: 4096 }, Dtype::Bf16);
//! let auto = GemmDesc::native(device.info(), Dtype::Bf16, Dtype::F32);
//! let mut entrants = vec![RaceEntrant::from_desc("auto", &auto)?];
//! for desc in space(&auto, device.info(), &problem) {
//!     entrants.push(RaceEntrant::from_desc("", &desc)?);
//! }
//! println!("{}", race(&device, &problem, &entrants, &RaceRules::default())?);
//! # Ok(())
//! # }
//! ```

mod data;
mod entrant;
mod error;
mod library;
mod problem;
mod sample;
mod space;
mod table;
mod track;

pub use entrant::{RaceEntrant, RaceRules};
pub use error::{RaceError, RaceRefusalReason, RaceWrong};
pub use library::{LibraryEntrant, RaceLibrary, time_library};
pub use problem::RaceProblem;
pub use space::space;
pub use table::{RaceRefusal, RaceRow, RaceRunner, RaceTable};
pub use track::RaceTrack;

use crate::any::{AnyGemm, CallArgs};
use crate::error::{BuildError, RunError};
use data::draw;
use rayon::prelude::*;
use sample::Judged;
use warpwright_runtime::Device;
use warpwright_spec::KernelPlan;

/// Who runs.
enum Lane {
    Kernel(Box<AnyGemm>),
    Library(Box<LibraryEntrant>),
}

/// Races entrants, and cuBLASLt if the rules ask for it, on one product.
///
/// An entrant that cannot run (no device code yet, no plan, a wrong result) is in the table's refusals and stops nobody.
///
/// # Errors
/// [`RaceError`]: a device that cannot time, a problem without elements, an entrant of other elements than the problem's, an
/// operand that does not fit into memory.
pub fn race(
    device: &Device,
    problem: &RaceProblem,
    entrants: &[RaceEntrant],
    rules: &RaceRules<'_>,
) -> Result<RaceTable, RaceError> {
    if rules.rounds == 0 {
        return Err(RaceError::NoRounds);
    }
    if entrants.is_empty() && !rules.library {
        return Err(RaceError::NoEntrants);
    }
    for entrant in entrants {
        entrant.check(problem)?;
    }
    let mut track = RaceTrack::new(device, problem, rules)?;
    let mut table = RaceTable::new(&track, rules);
    let mut started = start(&mut track, entrants, rules, &mut table)?;
    let total = started.len().saturating_mul(rules.rounds);
    for round in 0..rules.rounds {
        for (i, lane) in order(started.len(), rules.seed ^ round as u64).into_iter().enumerate() {
            let (row, lane) = &mut started[lane];
            let timed = track.timed(lane);
            row.seconds.push(timed.map_err(|reason| RaceError::failed(&row.label, reason))?);
            rules.watch(round * (total / rules.rounds) + i + 1, total);
        }
    }
    table.finish(started.into_iter().map(|(row, _)| row));
    Ok(table)
}

/// Compiles, checks and warms up; who cannot run is noted as refused.
fn start(
    track: &mut RaceTrack,
    entrants: &[RaceEntrant],
    rules: &RaceRules<'_>,
    table: &mut RaceTable,
) -> Result<Vec<(RaceRow, Lane)>, RaceError> {
    // NVRTC takes most of the time before a race, and one kernel's does not depend on another's.
    let device = track.device().clone();
    let described = *track.problem();
    let aligned = track.problem_of_plans();
    let built: Vec<_> = entrants
        .par_iter()
        .map(|entrant| {
            let gemm = entrant.build(&device, &described)?;
            gemm.prepare(&aligned)?;
            Ok(gemm)
        })
        .collect();
    let mut started = Vec::new();
    for (entrant, built) in entrants.iter().zip(built) {
        match checked(track, built) {
            Ok((gemm, plan)) => {
                let copies = plan.user_repacks();
                let name =
                    if copies.any() { format!("{} ({} repacked)", plan.name(), copies.name()) } else { plan.name() };
                let label = if entrant.label().is_empty() { name } else { entrant.label().to_owned() };
                let predicted = track.predicted(&plan);
                let row = RaceRow { label, runner: RaceRunner::Kernel(Box::new(plan)), seconds: Vec::new(), predicted };
                started.push((row, Lane::Kernel(Box::new(gemm))));
            }
            Err(reason) => table.refused.push(RaceRefusal { label: entrant.describe(), reason }),
        }
    }
    if rules.library {
        let label = String::from("cuBLASLt");
        match LibraryEntrant::qualify(track, rules) {
            Err(reason) => table.refused.push(RaceRefusal { label, reason }),
            Ok(contestant) => {
                let runner = RaceRunner::Library(contestant.times.clone());
                let row = RaceRow { label, runner, seconds: Vec::new(), predicted: None };
                started.push((row, Lane::Library(Box::new(contestant))));
            }
        }
    }
    for _ in 0..rules.warmups {
        for (row, lane) in &started {
            let timed = track.timed(lane);
            timed.map_err(|reason| RaceError::failed(&row.label, reason))?;
        }
    }
    Ok(started)
}

/// A kernel that computes the product, and its plan.
fn checked(
    track: &mut RaceTrack,
    built: Result<AnyGemm, BuildError>,
) -> Result<(AnyGemm, KernelPlan), RaceRefusalReason> {
    let gemm = built.map_err(RunError::from)?;
    let plan = track.plan(&gemm).map_err(RunError::from)?;
    track.checked_by(Judged::Kernel, |a, b, d, stream| Ok(gemm.run_raw(stream, a, b, d, CallArgs::default())?))?;
    Ok((gemm, plan))
}

/// A random order of `0..count`.
fn order(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, (draw(seed, i as u64) % (i as u64 + 1)) as usize);
    }
    order
}

/// The middle of some times; between two, their mean.
fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations_that_differ_between_rounds() {
        for count in [0, 1, 2, 7] {
            let mut sorted = order(count, 3);
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        }
        let first: Vec<usize> = (0..64).map(|seed| order(4, seed)[0]).collect();
        assert!((0..4).all(|lane| first.contains(&lane)), "{first:?}");
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
