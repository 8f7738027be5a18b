//! What is measured for a problem: everything that `Auto` chooses from, and the ways to cut K and to walk that it leaves out.

use std::fmt;
use warpwright::builder::auto::{OperandFacts, PlanError, alternatives};
use warpwright::prelude::*;
use warpwright::spec::{RasterOrder, Spec};
use warpwright::{DeviceInfo, KernelPlan, ScheduleId, SchedulerId};

/// What tells plans of one problem apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Which {
    /// Schedule.
    pub schedule: ScheduleId,
    /// Whether A and B change places.
    pub swapped: bool,
    /// Tile, in the kernel's terms.
    pub tile: Mnk,
    /// Blocks of a cluster.
    pub cluster: Mnk,
    /// Depth of the pipeline.
    pub stages: usize,
    /// Tile scheduler.
    pub scheduler: SchedulerId,
    /// Parts of K.
    pub splits: usize,
    /// Which way tiles are walked, and how many side by side.
    pub walk: (RasterOrder, usize),
}

impl Which {
    /// A plan's.
    pub fn of(plan: &KernelPlan) -> Which {
        Which {
            schedule: plan.spec.schedule,
            swapped: plan.transposed,
            tile: plan.tile,
            cluster: plan.cluster,
            stages: plan.resources.stages,
            scheduler: plan.spec.scheduler,
            splits: plan.splits,
            walk: (plan.raster, plan.swizzle),
        }
    }

    /// The same kernel and parts of K, walked as nobody walks.
    pub fn unwalked(self) -> Which {
        Which { walk: (RasterOrder::AlongM, 0), ..self }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{} s{}", self.schedule, self.tile, if self.swapped { " swapped" } else { "" }, self.stages)?;
        if self.cluster.blocks() > 1 {
            write!(f, " cluster {}", self.cluster)?;
        }
        write!(f, " {}", self.scheduler)?;
        if self.splits > 1 {
            write!(f, " x{}", self.splits)?;
        }
        write!(f, ", {} by {}", self.walk.0.name(), self.walk.1)
    }
}

/// What is raced: all slots open.
pub fn base(tag: ArchId, element: Dtype) -> GemmDesc {
    GemmDesc::new(tag, element, warpwright::spec::default_accumulator(element))
}

/// Parts of the serial split-K kernels that are measured.
const SERIAL: [usize; 4] = [2, 3, 4, 8];

/// The candidates of a problem, each once.
///
/// # Errors
/// [`PlanError`] if there are none.
pub fn candidates(spec: &Spec, device: &DeviceInfo, problem: &Problem) -> Result<Vec<KernelPlan>, PlanError> {
    let mut plans = alternatives(spec, device, problem, &OperandFacts::K_MAJOR)?;
    let splits = |plan: &&KernelPlan| plan.spec.schedule == ScheduleId::MULTISTAGE;
    let whole: Vec<KernelPlan> = plans.iter().filter(splits).filter(|plan| plan.splits == 1).copied().collect();
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
    plans.retain(|plan| seen.insert(Which::of(plan)));
    Ok(plans)
}

/// Tiles side by side that are tried.
const SIDE_BY_SIDE: [usize; 5] = [1, 2, 4, 8, 16];

/// The plan with every walk but its own that differs on a plane of as many tiles.
pub fn other_walks(plan: &KernelPlan, problem: &Problem) -> Vec<KernelPlan> {
    let bound = problem.bound();
    let bound = if plan.transposed { bound.swapped() } else { bound };
    let of = |extent: usize, tile: usize, cluster: usize| extent.div_ceil(tile * cluster);
    let tiles_m = of(bound.m, plan.tile.m, plan.cluster.m);
    let tiles_n = of(bound.n, plan.tile.n, plan.cluster.n);
    let mut walks = Vec::new();
    for (raster, across) in [(RasterOrder::AlongM, tiles_n), (RasterOrder::AlongN, tiles_m)] {
        // A band as wide as the plane is a walk along the other mode.
        for swizzle in SIDE_BY_SIDE.into_iter().filter(|&swizzle| swizzle == 1 || swizzle < across) {
            if (raster, swizzle) != (plan.raster, plan.swizzle) {
                walks.push(KernelPlan { raster, swizzle, ..*plan });
            }
        }
    }
    walks
}
