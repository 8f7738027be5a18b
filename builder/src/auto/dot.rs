//! Kernels of dot products: when they are worth considering, their tiles, and how long they take.

use super::model::{Model, Prediction, blocks_per_sm, memory_bytes};
use super::{OperandFacts, PlanError};
use warpwright_arch::{DeviceInfo, simt_rate};
use warpwright_schedulers::TileSpace;
use warpwright_spec::*;

/// Most columns of a problem that is a matrix times vectors.
const COLUMNS: usize = 8;
/// Threads of a block.
const THREADS: [usize; 2] = [128, 256];
/// Bytes of the matrix that a thread reads in one step.
const THREAD_BYTES: usize = 64;
/// Fewest bytes of a line that neighbouring threads read.
const LINE: usize = 128;

/// Bytes of a bulk copy of which one is enough.
const BULK: usize = 2048;

/// Launch, first loads and last stores of a kernel, in seconds, and the part of the data sheet's bandwidth that its loads get: plain
/// ones, as an H200's times of bf16 vectors and matrices of 20 to 240 MB have it after its L2 was flushed.
const FIXED: f64 = 6.0e-6;
const MEMORY_EFFICIENCY: f64 = 0.865;
/// The same of kernels whose loads are bulk copies, which pay for matrices of about a gigabyte.
const BULK_FIXED: f64 = 10.0e-6;
const BULK_EFFICIENCY: f64 = 0.88;
/// The part of these that loads of elements of 8 bits get: of floats, which are converted, and of integers.
const NARROW_FLOATS: f64 = 0.87;
const NARROW_INTEGERS: f64 = 0.945;
/// Cycles from a request to its data when all SMs ask.
const LATENCY: f64 = 1000.0;
/// Cycles of a piece beside its steps: addresses, putting sums together, the epilogue.
const PIECE_CYCLES: f64 = 1500.0;
/// Cycles of an exchange through a flag in global memory.
const EXCHANGE: f64 = 3600.0;
/// What is issued for one element of the matrix beside its products.
const ELEMENT_INSTRUCTIONS: f64 = 1.5;
/// Instructions that an SM issues for 32 threads in a cycle.
const LANES: f64 = 128.0;

/// What plans that wait for memory alike are told apart by: a part of what their SMs do. Tensor cores' plans, whose times are told apart
/// by themselves, are compared with the time.
const SPARED: f64 = 0.01;

/// Whether a problem is a matrix times few vectors.
pub(crate) fn few_columns(problem: &Problem) -> bool {
    let Mnk { m, n, .. } = problem.bound();
    m.min(n) <= COLUMNS && matches!(problem.kind(), ProblemKind::Dense | ProblemKind::Batched)
}

/// The spec with the schedule of dot products, by each loader, if that may stand in for what it has.
pub(super) fn substitutes(spec: &Spec, problem: &Problem) -> Vec<Spec> {
    let own = spec.mainloop.is_none() && !spec.scales.any() && feeds(spec.scheduler, ScheduleId::GEMV);
    // Vectors are the kernel's columns.
    let fits = spec.swap_ab.is_none_or(|swapped| swapped == transposed(&Spec { swap_ab: None, ..*spec }, problem));
    let product = runs(spec.arch, ScheduleId::GEMV)
        .and_then(|family| multiplies(spec.arch, family, spec.a, spec.b, spec.acc))
        .filter(|_| few_columns(problem) && own && fits && !beats(spec, problem));
    let Some(Product { transform, instruction }) = product else { return Vec::new() };
    let with = |loader| Spec { schedule: ScheduleId::GEMV, instruction, loader, transform, ..*spec };
    let loaders = loads(spec.arch, instruction).into_iter().chain([LoaderId::BULK_ROWS]);
    loaders.map(with).filter(|spec| check(spec).is_ok()).collect()
}

/// Whether tensor cores are faster: with eight vectors an H200 takes 2.1 to 3.8 times as long by dot products of bf16 as by wgmma,
/// whose tiles are as narrow.
fn beats(spec: &Spec, problem: &Problem) -> bool {
    let Mnk { m, n, .. } = problem.bound();
    m.min(n) > 1 && !matches!(spec.instruction, InstructionId::SIMT)
}

/// Whether bulk copies can address the rows of the kernel's first operand.
///
/// # Errors
/// Why not.
pub(super) fn check_rows(plan: &KernelPlan, problem: &Problem) -> Result<(), PlanError> {
    let length = problem.bound().k.wrapping_mul(plan.kernel_spec().a.bits()) / 8;
    let divides = |bytes: &usize| plan.widths.a.is_multiple_of(*bytes) && length.is_multiple_of(*bytes);
    let given = [16, 8, 4, 2, 1].into_iter().find(divides).unwrap_or(1);
    if matches!(plan.major_a, MajorId::K) && given == 16 {
        return Ok(());
    }
    let operand = if plan.transposed { "B" } else { "A" };
    Err(PlanError::Rows { operand, major: plan.major_a.name(), given })
}

/// Whether the kernel's rows are the user's columns: as it is named, or the longer side of a named tile, or else of the problem.
pub(crate) fn transposed(spec: &Spec, problem: &Problem) -> bool {
    if let Some(swapped) = spec.swap_ab {
        return swapped;
    }
    let Mnk { m, n, .. } = spec.tile.filter(|tile| tile.m != tile.n).unwrap_or(problem.bound());
    m < n
}

/// The tiles to consider, in the kernel's terms, of a matrix that lies in this major; whether it is B.
fn tiles(spec: &Spec, problem: &Problem, major: MajorId, transposed: bool) -> Vec<Mnk> {
    let Mnk { m, n, k } = problem.bound();
    let columns = if transposed { m } else { n }.clamp(1, COLUMNS).next_power_of_two();
    let bits = spec.a.bits();
    let depth = |rows: usize, threads: usize| threads * 8 * THREAD_BYTES / (bits * rows);
    let bulk = matches!(spec.loader, LoaderId::BULK_ROWS);
    // What all threads of a line together need not exceed, and of bulk copies what is long enough.
    let longest = k.min(1 << 30).next_power_of_two().max(8 * LINE / bits);
    let enough = if bulk { longest.min(8 * BULK / bits) } else { 8 * LINE / bits };
    let wide = |tile: &Mnk| match major {
        MajorId::K => (enough..=longest).contains(&tile.k),
        MajorId::MN => tile.m * bits >= 8 * LINE,
    };
    let rows = (2..=9).map(|power| 1 << power);
    let tiles = rows.flat_map(|m| THREADS.map(|threads| Mnk { m, n: columns, k: depth(m, threads) }));
    tiles.filter(|tile| tile.k >= 4 && tile.k * bits >= 128 && tile.m >= columns).filter(wide).collect()
}

/// The tiles to consider, in the user's terms.
pub(crate) fn user_tiles(spec: &Spec, problem: &Problem, facts: &OperandFacts, transposed: bool) -> Vec<Mnk> {
    let major = if transposed { facts.order_b.major_of_b() } else { facts.order_a.major_of_a() };
    let user = |tile: Mnk| if transposed { tile.swapped() } else { tile };
    tiles(spec, problem, major, transposed).into_iter().map(user).collect()
}

/// Predicts one plan on one device.
pub(super) fn predict(model: &Model<'_>, device: &DeviceInfo, problem: &Problem) -> Prediction {
    let (plan, spec) = (model.plan, model.spec);
    let per_sm = blocks_per_sm(plan, device);
    let sms = (device.sms as usize).max(1);
    let resident = sms * per_sm;
    let space = TileSpace::new(plan, problem, resident);
    let (tiles, k_tiles) = (space.total(), space.tiles.k.max(1));
    let splits = space.splits.min(k_tiles);
    let pieces = tiles.saturating_mul(splits);
    let waves = pieces.div_ceil(resident).max(1);
    let seconds = |cycles: f64| cycles / device.clock;
    let Mnk { m, n, k } = plan.tile;
    // Blocks that are resident share the pipes; each waits for its own steps.
    let rate = device.capability.map_or(LANES, |capability| simt_rate(capability, spec.acc).min(LANES));
    let step =
        (m * k) as f64 * (ELEMENT_INSTRUCTIONS / LANES + n as f64 / rate) * per_sm.min(pieces.div_ceil(sms)) as f64;
    let steps = k_tiles.div_ceil(splits) as f64;
    let ahead = plan.resources.stages.saturating_sub(1).max(1) as f64;
    let bytes = (m * k * spec.a.bits() / 8 * per_sm.min(pieces.div_ceil(sms))) as f64;
    let step = step.max(bytes / model.rates.l2_alone);
    // A warp that does nothing else loads the next piece while this one is multiplied.
    let bulk = matches!(spec.loader, LoaderId::BULK_ROWS);
    let (every, once) = if bulk { (PIECE_CYCLES, LATENCY) } else { (LATENCY + PIECE_CYCLES, 0.0) };
    let pipe = seconds(waves as f64 * (steps * step.max(LATENCY / ahead) + every) + once);
    let (fixed, efficiency) = if bulk { (BULK_FIXED, BULK_EFFICIENCY) } else { (FIXED, MEMORY_EFFICIENCY) };
    let narrow = match spec.a {
        a if a.is_fp8() => NARROW_FLOATS,
        a if a.bits() <= 8 => NARROW_INTEGERS,
        _ => 1.0,
    };
    let efficiency = efficiency * narrow;
    let split = if splits > 1 { seconds(EXCHANGE) } else { 0.0 };
    let partials = if splits > 1 { 2.0 * pieces as f64 * (m * n * spec.acc.bits() / 8) as f64 } else { 0.0 };
    let memory_bytes = memory_bytes(model, &space, device, problem, pieces.min(resident), 0.0);
    let all = memory_bytes / (device.memory_bandwidth * efficiency);
    // Of a last wave of few blocks each takes as long as of a full one, and asks for too little: 1x3584x18944 43 to 44 µs in two waves, 40 in one.
    let rest = pieces.saturating_sub((waves - 1) * resident) as f64 / pieces.max(1) as f64 * all;
    let memory = if waves > 1 { all - rest + rest.max(pipe / waves as f64) } else { all };
    // Every piece reads its part of the vectors.
    let l2_bytes = memory_bytes + partials + pieces as f64 * n as f64 * steps * (k * spec.b.bits() / 8) as f64;
    let l2 = seconds(l2_bytes / (model.rates.l2_together * sms as f64));
    let seconds = fixed + split + pipe.max(l2).max(memory);
    Prediction {
        tiles,
        pieces,
        resident,
        waves,
        pipe,
        epilogue: 0.0,
        split,
        power: 0.0,
        compute: pipe + split,
        l2_bytes,
        l2,
        memory_bytes,
        memory,
        repack: 0.0,
        fixed,
        seconds,
        rank: seconds + SPARED * (pipe + split),
    }
}
