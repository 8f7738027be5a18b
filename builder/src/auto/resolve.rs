use super::dot;
use super::splits::{FEWEST_K_TILES, usual, with_splits};
use super::tiles::{LINE, tiles, warp_group_tiles};
use super::{OperandFacts, PlanError, predict};
use crate::tune::PlanChoice;
use warpwright_arch::DeviceInfo;
use warpwright_kernels::{device_code, lower};
use warpwright_numeric::Dtype;
use warpwright_schedulers::TileSpace;
use warpwright_spec::*;

/// Fills every open slot of a spec for a problem on a device.
///
/// A named schedule is kept or refused. An `Auto` schedule on a GPU is the architecture's principal one if its device
/// code exists, else `Multistage`, and the plan says so.
///
/// # Errors
/// What cannot be planned, with the value, the rule and the remedy.
pub fn resolve(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
) -> Result<KernelPlan, PlanError> {
    resolve_decided(spec, device, problem, facts, &Decided::default())
}

/// What a caller decides of a plan that no slot of a spec names.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Decided {
    /// Parts that K is cut into: the scheduler, if it is open, is then `SplitK` for more than one.
    pub parts: Option<usize>,
    /// Whether operands that the schedule's own loader cannot address are copied into workspace first.
    pub repacks: Option<bool>,
}

/// As [`resolve`], with what the caller decides.
///
/// # Errors
/// As there.
pub fn resolve_decided(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    decided: &Decided,
) -> Result<KernelPlan, PlanError> {
    let best = fastest(spec, device, problem, facts, decided, |_| true)?;
    best.ok_or(PlanError::Rule(Violation::NoSchedule { arch: spec.arch, schedule: spec.schedule }))
}

/// The plan that the model takes for the fastest of those that `wanted` is true of.
fn fastest(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    decided: &Decided,
    wanted: impl Fn(&KernelPlan) -> bool,
) -> Result<Option<KernelPlan>, PlanError> {
    let mut best: Option<(f64, KernelPlan)> = None;
    plans(spec, device, problem, facts, decided, &mut |plan| {
        if wanted(&plan) {
            let rank = predict(&plan, device, problem).rank;
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, plan));
            }
        }
    })?;
    Ok(best.map(|(_, plan)| roomier(spec, plan, device, problem)))
}

/// Every plan that [`resolve`] chooses from, for tuners: tiles, stages, splits.
///
/// # Errors
/// As there.
pub fn alternatives(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
) -> Result<Vec<KernelPlan>, PlanError> {
    let mut all = Vec::new();
    plans(spec, device, problem, facts, &Decided::default(), &mut |plan| {
        all.push(roomier(spec, plan, device, problem));
    })?;
    Ok(all)
}

/// The same, the one that [`resolve`] takes first, and the others as the model ranks them.
///
/// # Errors
/// As there.
pub fn ranked(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
) -> Result<Vec<KernelPlan>, PlanError> {
    let mut all: Vec<(f64, KernelPlan)> = Vec::new();
    plans(spec, device, problem, facts, &Decided::default(), &mut |plan| {
        all.push((predict(&plan, device, problem).rank, roomier(spec, plan, device, problem)));
    })?;
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    Ok(all.into_iter().map(|(_, plan)| plan).collect())
}

/// The plan that decides what `choice` says.
///
/// # Errors
/// As [`resolve`], and if there is none such.
pub fn resolve_choice(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    choice: &PlanChoice,
) -> Result<KernelPlan, PlanError> {
    let found = fastest(spec, device, problem, facts, &Decided::default(), |plan| PlanChoice::of(plan) == *choice)?;
    found.ok_or(PlanError::NoSuchPlan { choice: *choice })
}

/// Calls `f` with every plan that fills a spec's open slots.
fn plans(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    decided: &Decided,
    f: &mut dyn FnMut(KernelPlan),
) -> Result<(), PlanError> {
    check(spec)?;
    device.check_tag(spec.arch)?;
    let (named, parts) = (spec.scheduler, decided.parts);
    let mut spec = *spec;
    for (operand, slot, given) in [
        ("A", &mut spec.order_a, facts.order_a),
        ("B", &mut spec.order_b, facts.order_b),
        ("D", &mut spec.order_d, facts.order_d),
    ] {
        match *slot {
            Some(expected) if expected != given => return Err(PlanError::Order { operand, given, expected }),
            _ => *slot = Some(given),
        }
    }
    if let Some(parts) = parts.filter(|&parts| parts > 1) {
        spec.scheduler = match named {
            SchedulerId::AUTO if spec.tile_scheduler.is_none() => SchedulerId::SPLIT_K,
            SchedulerId::SPLIT_K | SchedulerId::SPLIT_K_SERIAL => named,
            _ => return Err(PlanError::Whole { parts, scheduler: named }),
        };
        check(&spec)?;
    }
    let ways = ways(&spec, named, device, problem, facts, decided)?;
    let mut outcome = Outcome::default();
    for turn in [false, true] {
        // A named tile that is no tile of the usual way may be one of the other.
        if turn && (outcome.found || spec.swap_ab.is_some() || spec.tile.is_none()) {
            break;
        }
        for Way { facts, repacks, kernels } in &ways {
            for (spec, substitute) in kernels {
                for transposed in orientations(spec, device, problem, facts) {
                    let tiled = for_each_tile(spec, device, problem, facts, transposed != turn, &mut |plan| {
                        // Who says how many parts K has means all of them.
                        if parts.is_some() && spec.cluster.is_none() && plan.cluster.k > 1 {
                            return;
                        }
                        let repacks = if plan.transposed { repacks.swapped() } else { *repacks };
                        let plan = KernelPlan { substitute: *substitute, repacks, ..plan };
                        with_splits(&plan, named, parts, device, problem).into_iter().for_each(&mut *f);
                    });
                    outcome.count(tiled);
                }
            }
        }
    }
    outcome.end()
}

/// A way in which a kernel's operands reach it.
struct Way {
    /// How they lie when it begins.
    facts: OperandFacts,
    /// Which are copied before that, in the user's terms.
    repacks: Repacks,
    /// The kernels to consider, and why they are none of the principal ones.
    kernels: Vec<(Spec, Option<Substitute>)>,
}

/// As they lie and, where the principal schedule's own loader cannot address them so, as it can.
fn ways(
    spec: &Spec,
    named: SchedulerId,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    decided: &Decided,
) -> Result<Vec<Way>, PlanError> {
    let way = |facts: OperandFacts, repacks| {
        let kernels = kernels(spec, named, device, problem, &facts)?;
        Ok(Way { facts, repacks, kernels })
    };
    let repacks = if decided.repacks == Some(false) { Repacks::NONE } else { repacks(spec, device, problem, facts) };
    let repacked = repacks.any().then(|| {
        let mut facts = *facts;
        facts.widths.a = if repacks.a { TMA_ALIGNMENT } else { facts.widths.a };
        facts.widths.b = if repacks.b { TMA_ALIGNMENT } else { facts.widths.b };
        way(facts, repacks)
    });
    let mut repacked = repacked.and_then(Result::ok);
    // Who does not load by TMA then needs no copies.
    if let Some(way) = &mut repacked {
        way.kernels.retain(|(spec, _)| spec.loader.is_tma());
    }
    let repacked = repacked.filter(|way| !way.kernels.is_empty());
    match (way(*facts, Repacks::NONE), repacked) {
        (_, Some(repacked)) if decided.repacks == Some(true) => Ok(vec![repacked]),
        (Err(_), Some(repacked)) => Ok(vec![repacked]),
        (Ok(raw), repacked) => Ok(core::iter::once(raw).chain(repacked).collect()),
        (Err(refusal), None) => Err(refusal),
    }
}

/// The part of a device's memory that copies of operands may take.
const COPIED_PART: u64 = 8;

/// The operands that TMA cannot address, if there is room for copies of them, in the user's terms.
fn repacks(spec: &Spec, device: &DeviceInfo, problem: &Problem, facts: &OperandFacts) -> Repacks {
    let narrow = |width: usize| width < TMA_ALIGNMENT;
    let tma = spec.loader.is_tma() && spec.mainloop.is_none() && !device.is_host();
    let repacks = Repacks { a: tma && narrow(facts.widths.a), b: tma && narrow(facts.widths.b) };
    let Mnk { m, n, k } = problem.bound();
    let bytes = |is: bool, major, mn: usize, bits: usize| {
        if is { lower::copy_bytes(major, [mn, k], bits, problem.groups()) } else { 0 }
    };
    let copied_a = bytes(repacks.a, facts.order_a.major_of_a(), m, spec.a.bits());
    let copied_b = bytes(repacks.b, facts.order_b.major_of_b(), n, spec.b.bits());
    let copied = copied_a.saturating_add(copied_b) as u64;
    let room = if device.memory_bytes == 0 { i64::MAX as u64 } else { device.memory_bytes / COPIED_PART };
    let fits = copied > 0 && copied <= room;
    if fits { repacks } else { Repacks::NONE }
}

/// The kernels to consider for operands that lie so: each a spec without an open schedule, loader or scheduler, and why it is none of
/// the principal ones.
fn kernels(
    spec: &Spec,
    named: SchedulerId,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
) -> Result<Vec<(Spec, Option<Substitute>)>, PlanError> {
    let (open, principal) = (matches!(spec.schedule, ScheduleId::AUTO), spec.instruction);
    let mut spec = *spec;
    let substitute = resolve_schedule(&mut spec, device, facts)?;
    if matches!(named, SchedulerId::AUTO) {
        spec.scheduler = usual(problem);
    }
    if !device.is_host() {
        if spec.tile_scheduler.is_none() && !device_code::scheduler(spec.scheduler, spec.schedule) {
            return Err(PlanError::SchedulerNotWritten { scheduler: spec.scheduler, schedule: spec.schedule });
        }
        if !device_code::problem(problem.kind()) {
            return Err(PlanError::ProblemNotWritten { kind: kind_name(problem.kind()) });
        }
    }
    let others = schedules(&spec, open, device).map(|schedule| (Spec { schedule, ..spec }, substitute));
    let dots = if open && !device.is_host() { dot::substitutes(&spec, problem) } else { Vec::new() };
    let dots = dots.into_iter().map(|dots| (dots, Some(Substitute::Vectors { principal })));
    Ok(others.chain(dots).collect())
}

/// Whether A and B change places, for each way to consider. First comes the one in which D is contiguous along the kernel's
/// columns. The other one is considered where an instruction has more rows than columns, unless somebody named a tile, and
/// with it which extent is its rows. Vectors are columns.
fn orientations(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
) -> impl Iterator<Item = bool> {
    let usual = spec.swap_ab.unwrap_or_else(|| match spec.instruction {
        InstructionId::DOT => dot::transposed(spec, problem),
        _ => matches!(facts.order_d, Order::Column),
    });
    let open = spec.swap_ab.is_none() && spec.tile.is_none() && !device.is_host();
    let other = (open && spec.instruction == InstructionId::WGMMA).then_some(!usual);
    std::iter::once(usual).chain(other)
}

/// Whether anything was found, and why not.
#[derive(Default)]
struct Outcome {
    found: bool,
    refusal: Option<PlanError>,
}

impl Outcome {
    fn count(&mut self, one: Result<(), PlanError>) {
        match one {
            Ok(()) => self.found = true,
            Err(e) => self.refusal = self.refusal.take().or(Some(e)),
        }
    }

    /// The error is the first of those that were refused, if all were.
    fn end(self) -> Result<(), PlanError> {
        if self.found { Ok(()) } else { self.refusal.map_or(Ok(()), Err) }
    }
}

/// The schedules to consider: the resolved one and, where nobody named one, the others of wgmma.
fn schedules(spec: &Spec, open: bool, device: &DeviceInfo) -> impl Iterator<Item = ScheduleId> {
    let (spec, open) = (*spec, open && spec.instruction == InstructionId::WGMMA && !device.is_host());
    let others = [ScheduleId::COOPERATIVE, ScheduleId::WARP_SPECIALIZED, ScheduleId::PINGPONG];
    let others = others.into_iter().filter(move |&schedule| {
        let other = Spec { schedule, ..spec };
        // Only one warp group multiplies then, and nobody while it promotes: 1.4 to 2.3 times Cooperative's time on an H200.
        let promotes_alone = schedule == ScheduleId::PINGPONG && other.promotes();
        open && !promotes_alone
            && schedule != spec.schedule
            && device_code::mainloop(&other)
            && feeds(spec.scheduler, schedule)
    });
    std::iter::once(spec.schedule).chain(others)
}

fn kind_name(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Dense => "dense",
        ProblemKind::Batched => "batched",
        ProblemKind::PointerArray => "pointer-array",
        ProblemKind::Grouped => "grouped",
        ProblemKind::Ragged => "ragged",
        ProblemKind::Masked => "masked",
        ProblemKind::KGrouped => "K-grouped",
    }
}

/// The schedule and, with it, instruction and loader.
fn resolve_schedule(
    spec: &mut Spec,
    device: &DeviceInfo,
    facts: &OperandFacts,
) -> Result<Option<Substitute>, PlanError> {
    let Spec { arch, a, b, acc, d, .. } = *spec;
    let principal = spec.instruction;
    let auto = matches!(spec.schedule, ScheduleId::AUTO);
    if spec.mainloop.is_some() {
        return Ok(None);
    }
    if auto {
        spec.schedule = match principal {
            InstructionId::WGMMA => ScheduleId::COOPERATIVE,
            InstructionId::TCGEN05 => ScheduleId::ONE_SM,
            _ => ScheduleId::MULTISTAGE,
        };
        // Rows of a small fixed tile do not feed two warp groups, and a scheduler of one tile a block no persistent kernel.
        let small = spec.tile.is_some_and(|t| t.m < 128);
        if matches!(principal, InstructionId::WGMMA) && (small || !feeds(spec.scheduler, spec.schedule)) {
            spec.schedule = ScheduleId::WARP_SPECIALIZED;
        }
    }
    if !device.is_host() && !device_code::stored(d) {
        return Err(PlanError::TypesNotWritten { arch, a, b, acc, d });
    }
    let unread = if auto { unreadable(spec) } else { None };
    if device.is_host() && unread.is_none() {
        return Ok(None);
    }
    let narrow = too_narrow(spec, facts);
    // Below 4 bytes a warp group's plain loads keep the instructions waiting, where Multistage has other blocks to run.
    let asynchronous = facts.widths.a.min(facts.widths.b) >= CP_ASYNC_ALIGNMENT;
    let copies = Spec { loader: LoaderId::CP_ASYNC, ..*spec };
    let copied = narrow.filter(|_| (asynchronous || !auto) && device_code::mainloop(&copies));
    let substitute = if let Some((operand, dtype)) = unread {
        Substitute::Unreadable { principal, operand, dtype }
    } else if !device_code::mainloop(spec) {
        if !auto {
            return Err(PlanError::ScheduleNotWritten { arch, schedule: spec.schedule, a, b, loader: spec.loader });
        }
        Substitute::NotWritten { principal }
    } else if let Some((operand, given)) = narrow.filter(|_| copied.is_none()) {
        if !auto {
            return Err(PlanError::Misaligned { schedule: spec.schedule, operand, given, needed: TMA_ALIGNMENT });
        }
        Substitute::Misaligned { principal, operand, given, needed: TMA_ALIGNMENT }
    } else if auto && spec.tile_scheduler.is_none() && !device_code::scheduler(spec.scheduler, spec.schedule) {
        Substitute::NotWritten { principal }
    } else if let Some((operand, given)) = copied {
        spec.loader = LoaderId::CP_ASYNC;
        return Ok(Some(Substitute::Loader { operand, given, needed: TMA_ALIGNMENT }));
    } else {
        return Ok(None);
    };
    spec.schedule = ScheduleId::MULTISTAGE;
    let family = runs(arch, spec.schedule).ok_or(PlanError::TypesNotWritten { arch, a, b, acc, d })?;
    let product = multiplies(arch, family, a, b, acc).ok_or(PlanError::TypesNotWritten { arch, a, b, acc, d })?;
    spec.instruction = product.instruction;
    spec.transform = product.transform;
    spec.loader = loads(arch, product.instruction).unwrap_or(spec.loader);
    if !device.is_host() && !device_code::mainloop(spec) {
        return Err(PlanError::TypesNotWritten { arch, a, b, acc, d });
    }
    Ok(Some(substitute))
}

/// What TMA needs of addresses and strides, in bytes.
const TMA_ALIGNMENT: usize = 16;
/// What cp.async needs.
pub(super) const CP_ASYNC_ALIGNMENT: usize = 4;

/// An operand that the spec's loader cannot address, and its alignment.
fn too_narrow(spec: &Spec, facts: &OperandFacts) -> Option<(&'static str, usize)> {
    if !spec.loader.is_tma() {
        return None;
    }
    [("A", facts.widths.a), ("B", facts.widths.b)].into_iter().find(|(_, width)| *width < TMA_ALIGNMENT)
}

/// An operand whose major the spec's instruction does not read, and its element.
fn unreadable(spec: &Spec) -> Option<(&'static str, Dtype)> {
    let reads = |dtype, major: Option<MajorId>| major.is_none_or(|major| reads(spec.instruction, dtype, major));
    [("A", spec.a, spec.order_a.map(Order::major_of_a)), ("B", spec.b, spec.order_b.map(Order::major_of_b))]
        .into_iter()
        .find(|&(_, dtype, major)| !reads(dtype, major))
        .map(|(operand, dtype, _)| (operand, dtype))
}

/// Calls `f` with a plan of each tile and pipeline depth that is open and legal; the error is the first of those that are not,
/// if all are not.
fn for_each_tile(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    transposed: bool,
    f: &mut dyn FnMut(KernelPlan),
) -> Result<(), PlanError> {
    let list = match spec.tile {
        Some(tile) => vec![tile],
        None => open_tiles(spec, device, problem, facts, transposed),
    };
    let mut outcome = Outcome::default();
    for tile in list {
        for cluster in clusters(spec, device, problem, tile) {
            let plan = with_tile(spec, device, problem, facts, transposed, tile, cluster);
            let open = spec.tile.is_none() && spec.stages.is_none();
            let plan = plan.and_then(|plan| if open { deep(plan, device) } else { Ok(plan) });
            outcome.count(plan.map(|plan| {
                f(plan);
                if spec.stages.is_none() && !device.is_host() {
                    fewer_stages(&plan).for_each(&mut *f);
                }
            }));
        }
    }
    outcome.end()
}

/// The tiles to consider, in the user's terms.
fn open_tiles(spec: &Spec, device: &DeviceInfo, problem: &Problem, facts: &OperandFacts, transposed: bool) -> Vec<Mnk> {
    // The tables are in the kernel's terms.
    let user = |tile: Mnk| if transposed { tile.swapped() } else { tile };
    let second = if transposed { facts.order_a.major_of_a() } else { facts.order_b.major_of_b() };
    if spec.instruction == InstructionId::DOT {
        return dot::user_tiles(spec, problem, facts, transposed);
    }
    let list = if spec.instruction == InstructionId::WGMMA && !device.is_host() {
        let bound = problem.bound();
        warp_group_tiles(spec, matches!(second, MajorId::MN), if transposed { bound.m } else { bound.n })
    } else {
        tiles(spec, facts.widths.a.min(facts.widths.b))
    };
    list.into_iter().map(user).collect()
}

/// The clusters to consider, in the user's terms: a pair whose blocks share one operand where there are tiles for both, and blocks
/// that share a tile's K where there are few tiles.
fn clusters(spec: &Spec, device: &DeviceInfo, problem: &Problem, tile: Mnk) -> Vec<Mnk> {
    let one = Mnk::new(1, 1, 1);
    match (spec.cluster, spec.schedule, spec.instruction) {
        (Some(named), ..) => vec![named],
        (None, ScheduleId::TWO_SM, _) => vec![Mnk::new(2, 1, 1)],
        (None, _, InstructionId::WGMMA) if !device.is_host() && device.max_clusters(2) > 0 => {
            let Mnk { m, n, k } = problem.bound();
            let pairs = [(m > tile.m, Mnk::new(2, 1, 1)), (n > tile.n, Mnk::new(1, 2, 1))];
            let pairs = pairs.into_iter().filter(|pair| pair.0).map(|pair| pair.1);
            let tiles = m.div_ceil(tile.m).saturating_mul(n.div_ceil(tile.n)).saturating_mul(problem.groups());
            let fits = |parts: usize| {
                let adds_up = check(&Spec { tile: None, cluster: Some(Mnk::new(1, 1, parts)), ..*spec }).is_ok();
                let at_once = device.max_clusters(parts as u32) as usize;
                adds_up && tiles <= MOST_WAVES * at_once && k.div_ceil(tile.k) >= FEWEST_K_TILES * parts
            };
            let parts = [2, 4, 8].into_iter().filter(|&parts| fits(parts)).map(|parts| Mnk::new(1, 1, parts));
            std::iter::once(one).chain(pairs).chain(parts).collect()
        }
        _ => vec![one],
    }
}

/// Waves of clusters that share a tile's K, at most: 24x5120x13824 takes 42 µs in two and more waves of four parts, 45 in whole tiles.
const MOST_WAVES: usize = 8;

/// Lines of K that a warp group's pipeline holds at least: with three or two of them an H200 takes up to 1.6 times as long as by a
/// smaller tile (`benches/results/h200_sm90_small.md`).
const FEWEST_LINES: usize = 4;

/// The plan with its epilogue staged in bytes of the stages, if the spec leaves that open, it makes room for another one and no block has a
/// second tile, whose operands would come later for it: 1 to 9 % on an H200 (512x6144x4096 by 128x192x64 40.5 to 36.9 µs, 1024x1280x8192
/// by 128x160x64 in two parts 36.5 to 36.3), while without another stage it takes up to 1 % more, and where device memory decides 1 to 4 %
/// (64x7168x18432 72.6 to 73.8, 96x11008x4096 30.4 to 31.4, both of Pingpong's six or seven stages, which one group of warps had, against one more
/// of WarpSpecialized or Cooperative). What the epilogue reads could no longer come under the products, and sums
/// of a cluster would lie there too. Plans are chosen without it: with it in their times, tiles that had few stages were preferred by more
/// than they gain.
fn roomier(open: &Spec, plan: KernelPlan, device: &DeviceInfo, problem: &Problem) -> KernelPlan {
    let spec = &plan.spec;
    let suits = open.stages.is_none()
        && matches!(open.staging, StagingId::AUTO)
        && !device.is_host()
        && matches!(spec.instruction, InstructionId::WGMMA)
        && !matches!(spec.schedule, ScheduleId::PINGPONG)
        && !matches!(spec.scheduler, SchedulerId::STREAM_K)
        && spec.mainloop.is_none()
        && plan.cluster.k == 1
        && !spec.epilogue.reads_source()
        && !spec.epilogue.reads_previous();
    if !suits {
        return plan;
    }
    let space = TileSpace::new(&plan, problem, device.sms as usize);
    let parts = plan.splits.max(1);
    let one_each = space.total().saturating_mul(parts) <= device.sms as usize;
    // Fewer K tiles than stages are asked for at once as it is.
    if !one_each || space.tiles.k / parts <= plan.resources.stages {
        return plan;
    }
    let times = predict(&plan, device, problem);
    if times.compute <= times.memory {
        return plan;
    }
    let mut over = KernelPlan { spec: Spec { staging: StagingId::REUSED, stages: None, ..*spec }, ..plan };
    let limit = shared_limit(spec, device);
    fill(&mut over, limit);
    let fits = check_shared_memory(&over.kernel_spec(), over.tile, limit).is_ok();
    if fits && over.resources.stages > plan.resources.stages { over } else { plan }
}

/// Makes the pipeline as deep as it is named, or else as there is room for.
fn fill(plan: &mut KernelPlan, limit: usize) {
    plan.resources = ResourcePlan::of(&plan.kernel_spec(), plan.tile);
    if plan.spec.stages.is_none() {
        let counted = plan.spec.instruction == InstructionId::DOT;
        let stages = if counted { plan.resources.stages } else { automatic_stages(&plan.resources, limit) };
        plan.spec.stages = Some(stages);
        plan.resources = ResourcePlan::of(&plan.kernel_spec(), plan.tile);
    }
}

/// Bytes of shared memory that a block may have.
fn shared_limit(spec: &Spec, device: &DeviceInfo) -> usize {
    (device.smem_optin as usize).min(spec.arch.smem_optin() as usize)
}

/// The plan, unless it is of warp groups and has too little shared memory left for its stages.
fn deep(plan: KernelPlan, device: &DeviceInfo) -> Result<KernelPlan, PlanError> {
    let KernelPlan { spec, resources, .. } = &plan;
    let line = plan.tile.k * spec.a.bits() / 8;
    let needed = (FEWEST_LINES * LINE).div_ceil(line.max(1));
    if spec.instruction != InstructionId::WGMMA || device.is_host() || resources.stages >= needed {
        return Ok(plan);
    }
    let ResourcePlan { stage_bytes: stage, fixed_bytes: fixed, .. } = *resources;
    let source = Violation::SharedMemory {
        stages: needed,
        stage,
        fixed,
        total: fixed + needed * stage,
        limit: shared_limit(spec, device),
        fit: resources.stages,
        arch: spec.arch,
    };
    Err(PlanError::Device { source, device: device.name.clone() })
}

/// The plan with shallower pipelines, which leave room for more blocks.
fn fewer_stages(plan: &KernelPlan) -> impl Iterator<Item = KernelPlan> {
    let asynchronous = matches!(plan.resources.pipelines.get(0).map(|p| p.kind), Some(PipelineKind::CpAsyncGroups));
    let (plan, least) = (*plan, if asynchronous { 2 } else { plan.resources.stages });
    (least..plan.resources.stages).rev().map(move |stages| {
        let mut plan = plan;
        plan.spec.stages = Some(stages);
        plan.resources = ResourcePlan::of(&plan.kernel_spec(), plan.tile);
        plan
    })
}

fn with_tile(
    spec: &Spec,
    device: &DeviceInfo,
    problem: &Problem,
    facts: &OperandFacts,
    transposed: bool,
    tile: Mnk,
    cluster: Mnk,
) -> Result<KernelPlan, PlanError> {
    let named = *spec;
    let spec = Spec { tile: Some(tile), cluster: Some(cluster), ..named };
    let major_a = facts.order_a.major_of_a();
    let major_b = facts.order_b.major_of_b();
    let w = facts.widths;
    let (whole_a, whole_b) = whole(&spec, problem, facts);
    let swapped = |x: Mnk| if transposed { x.swapped() } else { x };
    let mut plan = KernelPlan {
        spec,
        transposed,
        tile: swapped(tile),
        cluster: swapped(cluster),
        major_a: if transposed { major_b } else { major_a },
        major_b: if transposed { major_a } else { major_b },
        widths: CopyWidths {
            d: stored(&spec, problem, facts),
            ..if transposed { CopyWidths { a: w.b, b: w.a, ..w } } else { w }
        },
        repacks: Repacks::NONE,
        whole_a: if transposed { whole_b } else { whole_a },
        whole_b: if transposed { whole_a } else { whole_b },
        order_c: facts.order_c,
        raster: RasterOrder::AlongN,
        swizzle: 1,
        splits: 1,
        shares: 1,
        resources: ResourcePlan::of(&spec, tile),
        substitute: None,
    };
    // Nobody reads what has no K, however it may lie.
    if spec.instruction == InstructionId::DOT && problem.bound().k == 0 {
        plan.major_a = MajorId::K;
    }
    let limit = shared_limit(&spec, device);
    fill(&mut plan, limit);
    plan.spec.staging = if plan.resources.reuses_stages() { StagingId::REUSED } else { StagingId::SEPARATE };
    // A tile that nobody named has to be legal in the kernel's terms alone.
    check(&Spec { tile: named.tile, swap_ab: Some(transposed), ..plan.spec })?;
    check_lines(spec.epilogue, tile, problem.bound().n)?;
    check_kernel(&Spec { order_a: None, order_b: None, order_d: None, ..plan.kernel_spec() })?;
    plan.spec.swap_ab = Some(transposed);
    if spec.loader == LoaderId::BULK_ROWS {
        dot::check_rows(&plan, problem)?;
    }
    check_shared_memory(&plan.kernel_spec(), plan.tile, limit)
        .map_err(|source| PlanError::Device { source, device: device.name.clone() })?;
    let bound = swapped(problem.bound());
    let (tiles_m, tiles_n) = (bound.m.div_ceil(plan.tile.m), bound.n.div_ceil(plan.tile.n));
    // CUTLASS's rule: the shorter side first, so that a wave covers a compact part of D and its operands stay in L2.
    plan.raster = if tiles_n > tiles_m { RasterOrder::AlongM } else { RasterOrder::AlongN };
    let at_once = spec.instruction == InstructionId::WGMMA && tiles_m.saturating_mul(tiles_n) <= device.sms as usize;
    plan.swizzle = match tiles_m.min(tiles_n) {
        // What neighbours share arrives once: of 1 to 16 side by side, 1 and 2 are the fastest on an H200, 8 takes 3 % longer.
        _ if at_once && !device.is_host() => 1,
        6.. => 8,
        3..=5 => 4,
        2 => 2,
        _ => 1,
    };
    Ok(plan)
}

/// Whether A's and B's contiguous extents are multiples of their copies, in the user's terms. Where groups' extents differ,
/// nobody knows.
fn whole(spec: &Spec, problem: &Problem, facts: &OperandFacts) -> (bool, bool) {
    if !matches!(problem.kind(), ProblemKind::Dense | ProblemKind::Batched | ProblemKind::PointerArray) {
        return (false, false);
    }
    let Mnk { m, n, k } = problem.bound();
    // A copy's bits are a power of two, so that what wraps does not matter.
    let fits = |extent: usize, bits: usize, bytes: usize| extent.wrapping_mul(bits).is_multiple_of(8 * bytes.max(1));
    (
        fits(if matches!(facts.order_a, Order::Row) { k } else { m }, spec.a.bits(), facts.widths.a),
        fits(if matches!(facts.order_b, Order::Row) { n } else { k }, spec.b.bits(), facts.widths.b),
    )
}

/// Bytes of D that are stored at a time. TMA, which stores what wgmma multiplied, clips lines at whole pieces of 16 bytes: it writes
/// beyond D's last column where a line's end lies inside one (seen on an H200).
fn stored(spec: &Spec, problem: &Problem, facts: &OperandFacts) -> usize {
    let width = facts.widths.d;
    if spec.instruction != InstructionId::WGMMA {
        return width;
    }
    let Mnk { m, n, .. } = problem.bound();
    let extent = if matches!(facts.order_d, Order::Row) { n } else { m };
    // A copy is of a power of two of bytes, so that what wraps does not matter.
    width.min(CopyWidths::dividing(extent.wrapping_mul(spec.d.bits()) / 8))
}

/// The deepest pipeline to consider: four stages hide the latency of device memory behind K tiles of this size.
fn automatic_stages(resources: &ResourcePlan, limit: usize) -> usize {
    const ENOUGH: usize = 4;
    let fit = limit.saturating_sub(resources.fixed_bytes) / resources.stage_bytes;
    match resources.pipelines.get(0).map(|p| p.kind) {
        Some(PipelineKind::Barrier) => 2,
        Some(PipelineKind::CpAsyncGroups) => fit.clamp(2, ENOUGH),
        _ => fit.clamp(2, ResourcePlan::MAX_STAGES),
    }
}
