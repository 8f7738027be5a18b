//! What is measured for a problem: everything that `Auto` chooses from, and the ways to cut K that it leaves out.

use warpwright::DeviceInfo;
use warpwright::builder::auto::{OperandFacts, PlanError, alternatives};
use warpwright::prelude::*;
use warpwright::spec::Spec;
use warpwright::{KernelPlan, SchedulerId};

/// What tells plans of one problem apart: tile, stages, scheduler and parts of K.
pub type Which = (Mnk, usize, SchedulerId, usize);

/// A plan's.
pub fn which(plan: &KernelPlan) -> Which {
    (plan.tile, plan.resources.stages, plan.spec.scheduler, plan.splits)
}

/// What is raced: all slots open, on the tag whose kernels run from Ampere on.
pub fn base(element: Dtype) -> GemmDesc {
    GemmDesc::new(ArchId::SM80, element, warpwright::spec::default_accumulator(element))
}

/// Parts of the serial split-K kernels that are measured.
const SERIAL: [usize; 4] = [2, 3, 4, 8];

/// The candidates of a problem, each once.
///
/// # Errors
/// [`PlanError`] if there are none.
pub fn candidates(spec: &Spec, device: &DeviceInfo, problem: &Problem) -> Result<Vec<KernelPlan>, PlanError> {
    let mut plans = alternatives(spec, device, problem, &OperandFacts::K_MAJOR)?;
    let whole: Vec<KernelPlan> = plans.iter().filter(|plan| plan.splits == 1).copied().collect();
    let with = |plan: &KernelPlan, scheduler, splits| {
        let mut plan = *plan;
        (plan.spec.scheduler, plan.splits) = (scheduler, splits);
        plan
    };
    for plan in whole.iter().filter(|plan| plan.spec.scheduler == SchedulerId::PERSISTENT) {
        plans.push(with(plan, SchedulerId::STREAM_K, 1));
        let split: Vec<usize> = plans.iter().filter(|p| p.tile == plan.tile).map(|p| p.splits).collect();
        let serial = SERIAL.into_iter().filter(|parts| split.contains(parts));
        plans.extend(serial.map(|parts| with(plan, SchedulerId::SPLIT_K_SERIAL, parts)));
    }
    let mut seen = std::collections::HashSet::new();
    plans.retain(|plan| seen.insert(which(plan)));
    Ok(plans)
}
