//! Which ways to cut K a plan chooses among.

use warpwright_arch::DeviceInfo;
use warpwright_kernels::device_code;
use warpwright_schedulers::Tiles;
use warpwright_spec::{InstructionId, KernelPlan, Mnk, Problem, ProblemKind, SchedulerId};

/// Parts that K may be cut into.
const PARTS: &[usize] = &[2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128];
/// Fewest K tiles of a part, but for dot products: below, loading the first one costs as much as all others.
pub(super) const FEWEST_K_TILES: usize = 4;
/// Parts of a split-K kernel on the CPU, whose results then do not depend on how many threads it has.
const ON_HOST: usize = 4;

/// The plan with each scheduler and number of parts that it may have, of those that its schedule has device code for. `scheduler` is what
/// the user named, `parts` the number of parts that was asked for.
pub(super) fn with_splits(
    plan: &KernelPlan,
    scheduler: SchedulerId,
    parts: Option<usize>,
    device: &DeviceInfo,
    problem: &Problem,
) -> Vec<KernelPlan> {
    let written = |scheduler| {
        device.is_host() || plan.spec.tile_scheduler.is_some() || device_code::scheduler(scheduler, plan.spec.schedule)
    };
    let with = |scheduler, splits| {
        let mut plan = *plan;
        (plan.spec.scheduler, plan.splits) = (scheduler, splits);
        plan.shares = shares(&plan);
        plan
    };
    let bound = problem.bound();
    let tiles = Tiles::covering(if plan.transposed { bound.swapped() } else { bound }, plan.tile);
    let fewest = if matches!(plan.spec.instruction, InstructionId::DOT) { 1 } else { FEWEST_K_TILES };
    let most = (tiles.k / fewest).max(1);
    let splits = matches!(scheduler, SchedulerId::SPLIT_K | SchedulerId::SPLIT_K_SERIAL);
    let automatic = matches!(scheduler, SchedulerId::AUTO) && plan.spec.tile_scheduler.is_none();
    if let Some(parts) = parts
        && (splits || automatic)
    {
        // Nobody has a part that is not there.
        let scheduler = match scheduler {
            SchedulerId::AUTO if parts > 1 => SchedulerId::SPLIT_K,
            SchedulerId::AUTO => usual(problem),
            named => named,
        };
        return if written(scheduler) { vec![with(scheduler, parts.clamp(1, tiles.k.max(1)))] } else { Vec::new() };
    }
    if !splits && !automatic {
        return vec![*plan];
    }
    if device.is_host() {
        // The CPU has no idle blocks to fill.
        return vec![if splits { with(scheduler, ON_HOST.min(most)) } else { with(usual(problem), 1) }];
    }
    // More parts than fill the device a few times only add to the fix-up.
    let together = tiles.plane().saturating_mul(problem.groups()).max(1);
    let enough = 4 * device.sms as usize;
    let useful = PARTS.iter().copied().filter(|&p| p <= most && (p == 2 || together.saturating_mul(p) <= enough));
    if splits {
        let least = with(scheduler, 2.min(tiles.k.max(1)));
        return std::iter::once(least).chain(useful.skip_while(|&p| p == 2).map(|p| with(scheduler, p))).collect();
    }
    let mut plans = vec![with(usual(problem), 1)];
    let dense = matches!(problem.kind(), ProblemKind::Dense | ProblemKind::Batched);
    if dense && written(SchedulerId::STREAM_K) && plan.cluster.blocks() == 1 && sums_fit(plan) {
        plans.push(with(SchedulerId::STREAM_K, 1));
    }
    // One way to put parts of K together at a time.
    if dense && written(SchedulerId::SPLIT_K) && plan.cluster.k == 1 && together < device.sms as usize {
        let fits = |plan: &KernelPlan| plan.shares > 1 || (plan.cluster.blocks() == 1 && sums_fit(plan));
        plans.extend(useful.map(|p| with(SchedulerId::SPLIT_K, p)).filter(fits));
    }
    plans
}

/// Most blocks that share a tile's columns, and most parts whose arrivals a flag counts.
const MOST_SHARES: usize = 8;
const MOST_ARRIVALS: usize = 255;

/// How many shares the columns of a tile that is cut into parts have ([`KernelPlan::shares`]): as many as there are parts, as long as TMA can
/// store each. An epilogue that looks along lines needs the whole tile.
fn shares(plan: &KernelPlan) -> usize {
    let spec = &plan.spec;
    let fragments = matches!(spec.instruction, InstructionId::WGMMA) && spec.mainloop.is_none();
    let lines = spec.epilogue.line_steps() > 0 || spec.epilogue.keeps_rows();
    let arrive = matches!(spec.scheduler, SchedulerId::SPLIT_K) && plan.splits <= MOST_ARRIVALS && plan.cluster.k == 1;
    if !fragments || lines || !arrive {
        return 1;
    }
    let least = if plan.along_rows() { 8 } else { (128 / spec.d.bits().max(8)).max(8) };
    let fits = |&shares: &usize| shares <= plan.splits && plan.tile.n.is_multiple_of(shares * least);
    [MOST_SHARES, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// Accumulators of a warp group's thread beyond which putting parts together spills.
const MOST_SUMS: usize = 96;

/// Whether a thread has the registers to put a tile's parts together.
fn sums_fit(plan: &KernelPlan) -> bool {
    let Mnk { m, n, .. } = plan.tile;
    let groups = plan.resources.warp_groups(&plan.spec).max(1);
    plan.spec.instruction != InstructionId::WGMMA || m * n / (128 * groups) <= MOST_SUMS
}

/// What hands out whole tiles.
pub(super) fn usual(problem: &Problem) -> SchedulerId {
    if problem.kind() == ProblemKind::Grouped { SchedulerId::GROUPED } else { SchedulerId::PERSISTENT }
}
