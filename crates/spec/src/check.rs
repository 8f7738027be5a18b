//! The one copy of every numeric rule. [`check`] runs inside rustc for kernels that are types, and at run time for the rest.

use crate::dot::check_dot_tile;
use crate::resources::WGMMA_REGISTERS;
use crate::*;
use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;

/// Most arguments of an epilogue.
pub const MAX_ARGUMENTS: usize = 24;

/// Registers that a wgmma takes beside its accumulators, as the assembler counts: m64n208 is refused at 128 with "130 or
/// higher", m64n240 with "146 or higher".
const INSTRUCTION_REGISTERS: usize = 26;
/// Most accumulators of 32 bits that the warps of mma.sync keep: 64 x 64 a warp, eight warps.
const MMA_SYNC_ACCUMULATORS: usize = 128 * 256;

/// `?` for const fns.
macro_rules! ok {
    ($e:expr) => {
        if let Err(v) = $e {
            return Err(v);
        }
    };
}

/// Is this kernel legal? What is still `None` or `AUTO` is skipped, so that `check` is monotone: filling a slot can
/// break a rule, never mend one. Rules that only name types come first; the type level has caught them already.
///
/// # Errors
/// The first rule that is broken, with its numbers.
pub const fn check(s: &Spec) -> Result<(), Violation> {
    if let Some(tile) = s.tile {
        let swapped = matches!(s.swap_ab, Some(true));
        let output = s.in_kernel_terms(swapped).output_tile(if swapped { tile.swapped() } else { tile });
        ok!(check_lines(s.epilogue, if swapped { output.swapped() } else { output }, 0));
    }
    check_kernel(s)
}

/// As [`check`], but for what an epilogue's lines ask of a tile ([`check_lines`]), whose extents are the kernel's here.
///
/// # Errors
/// As there.
pub const fn check_kernel(s: &Spec) -> Result<(), Violation> {
    if s.mainloop.is_none() {
        ok!(check_pieces(s));
    }
    if s.tile_scheduler.is_none() && !feeds(s.scheduler, s.schedule) {
        return Err(Violation::NoFeed { scheduler: s.scheduler, schedule: s.schedule });
    }
    ok!(check_epilogue(s));
    if matches!(s.accumulation, AccumulationId::FAST_ACCUM) && !s.a.is_fp8() && !s.b.is_fp8() {
        return Err(Violation::SumsAreWhole { a: s.a, b: s.b });
    }
    // A mainloop from elsewhere reads as it likes.
    let named = matches!(s.first_from, ReadFrom::Registers) && s.mainloop.is_none();
    if named && matches!(s.instruction, InstructionId::TCGEN05) {
        return Err(Violation::NoRegisterOperand { instruction: s.instruction });
    }
    // Their accumulators are of two tiles.
    let overlaps = matches!(s.schedule, ScheduleId::PINGPONG | ScheduleId::ONE_SM | ScheduleId::TWO_SM);
    if overlaps && matches!(s.staging, StagingId::REUSED) {
        return Err(Violation::StagedUnderProducts { schedule: s.schedule });
    }
    if matches!(s.transform, TransformId::WIDEN) && !s.scales.any() {
        return Err(Violation::NoScales { b: s.b });
    }
    if matches!(s.scales.kind, ScaleKind::Hardware) && !matches!(s.instruction, InstructionId::TCGEN05) {
        return Err(Violation::HardwareScales { instruction: s.instruction, arch: s.arch });
    }
    if matches!(s.schedule, ScheduleId::GEMV) && s.epilogue.stores_together() {
        return Err(Violation::StoredTogether);
    }
    let (swapped, oriented) = (matches!(s.swap_ab, Some(true)), s.swap_ab.is_some());
    let s = &s.in_kernel_terms(swapped);
    if let Some(cluster) = s.cluster {
        let at_most = s.arch.max_cluster() as usize;
        let legal = cluster.m.is_power_of_two() && cluster.n.is_power_of_two() && cluster.k.is_power_of_two();
        if !legal || cluster.m.saturating_mul(cluster.n).saturating_mul(cluster.k) > at_most {
            return Err(Violation::Cluster { cluster, at_most });
        }
        // Its blocks would all take the tiles of the first: nothing of these mainloops shares a cluster's work.
        if matches!(s.schedule, ScheduleId::MULTISTAGE | ScheduleId::GEMV) && cluster.blocks() > 1 {
            return Err(Violation::LoneBlocks { schedule: s.schedule, cluster });
        }
        let adds_up = matches!(s.schedule, ScheduleId::AUTO | ScheduleId::WARP_SPECIALIZED | ScheduleId::COOPERATIVE);
        if cluster.k > 1 && !(adds_up && matches!(s.instruction, InstructionId::WGMMA)) {
            return Err(Violation::ClusterParts { cluster, schedule: s.schedule });
        }
        if matches!(s.schedule, ScheduleId::TWO_SM) && cluster.m % 2 != 0 {
            return Err(Violation::PairNeedsCluster { m: cluster.m });
        }
    }
    if let Some(given) = s.stages {
        let (at_least, at_most) = stage_range(s);
        if given < at_least || given > at_most {
            return Err(Violation::Stages { given, at_least, at_most, schedule: s.schedule, arch: s.arch });
        }
    }
    if let Some(tile) = s.tile {
        ok!(check_tile(s, tile, if swapped { ["N", "M"] } else { ["M", "N"] }));
        if matches!(s.instruction, InstructionId::DOT) && oriented && tile.m < tile.n {
            return Err(Violation::GemvVectors { tile: if swapped { tile.swapped() } else { tile }, swapped });
        }
        ok!(check_shared_memory(s, tile, shared_limit(s.arch)));
    }
    Ok(())
}

const fn stage_range(s: &Spec) -> (usize, usize) {
    if matches!(s.loader, LoaderId::BULK_ROWS) {
        (2, 16)
    } else if matches!(s.instruction, InstructionId::DOT) {
        (1, 4)
    } else if matches!(s.loader, LoaderId::GLOBAL_TO_REGISTER) && matches!(s.arch, ArchId::SM75) {
        (2, 2)
    } else if matches!(s.instruction, InstructionId::MMA_SYNC | InstructionId::SIMT) {
        (2, ResourcePlan::MAX_STAGES)
    } else {
        (2, 16)
    }
}

/// Do loader, instruction, types and majors agree with the tables?
const fn check_pieces(s: &Spec) -> Result<(), Violation> {
    let Some(family) = runs(s.arch, s.schedule) else {
        return Err(Violation::NoSchedule { arch: s.arch, schedule: s.schedule });
    };
    let Some(product) = multiplies(s.arch, family, s.a, s.b, s.acc) else {
        return Err(Violation::NoInstruction { arch: s.arch, schedule: s.schedule, a: s.a, b: s.b, acc: s.acc });
    };
    let loader = match loads(s.arch, product.instruction) {
        Some(l) => l,
        None => s.loader,
    };
    let instruction = product.instruction;
    let bulk = matches!(s.loader, LoaderId::BULK_ROWS) && matches!(instruction, InstructionId::DOT) && s.arch.tma();
    if instruction as u8 != s.instruction as u8 || !(bulk || loader_fits(loader, s.loader)) {
        let (given_loader, given_instruction) = (s.loader, s.instruction);
        return Err(Violation::Pieces {
            arch: s.arch,
            schedule: s.schedule,
            loader,
            instruction,
            given_loader,
            given_instruction,
        });
    }
    if let Some(order) = s.order_a {
        ok!(check_major(s.instruction, s.a, "A", order.major_of_a()));
    }
    if let Some(order) = s.order_b {
        ok!(check_major(s.instruction, s.b, "B", order.major_of_b()));
    }
    Ok(())
}

const fn check_major(
    instruction: InstructionId,
    dtype: Dtype,
    operand: &'static str,
    major: MajorId,
) -> Result<(), Violation> {
    if reads(instruction, dtype, major) {
        Ok(())
    } else {
        Err(Violation::NoMajor { instruction, dtype, operand, major })
    }
}

/// Loaders that write the same shared-memory layout may stand in for one another: TMA, multicast or not, cp.async for
/// what TMA cannot address, plain loads for what cp.async cannot.
const fn loader_fits(principal: LoaderId, given: LoaderId) -> bool {
    principal as u8 == given as u8
        || match principal {
            LoaderId::TMA | LoaderId::TMA_MULTICAST => true,
            LoaderId::CP_ASYNC => matches!(given, LoaderId::GLOBAL_TO_REGISTER),
            LoaderId::GLOBAL_TO_REGISTER | LoaderId::BULK_ROWS => false,
        }
}

const fn check_epilogue(s: &Spec) -> Result<(), Violation> {
    if !s.epilogue.reads_accumulator() {
        return Err(Violation::NoAccumulator);
    }
    if let Err(e) = s.epilogue.scope(0) {
        return Err(Violation::Shared(e));
    }
    let given = s.epilogue.arguments();
    if given > MAX_ARGUMENTS {
        return Err(Violation::Arguments { given, at_most: MAX_ARGUMENTS });
    }
    if matches!(s.acc, Dtype::F64) && s.epilogue.line_steps() > 0 {
        return Err(Violation::LinesInDouble);
    }
    ok!(check_blocks(s.epilogue));
    ok!(check_stored(s.epilogue, s.d));
    check_matrices(s.epilogue)
}

/// Are blocks of kinds that exist, and a row's largest values of a number that is kept?
const fn check_blocks(node: &Node) -> Result<(), Violation> {
    match node.line_step() {
        Some(LineStep::Quantize(scales)) if !scales.is_legal() => return Err(Violation::Blocks { scales }),
        Some(LineStep::TopKSoftmax(k)) if k != 2 && k != 4 => return Err(Violation::TopK { k: k as usize }),
        _ => {}
    }
    let children = node.children();
    let mut i = 0;
    while i < children.len() {
        if let Some(child) = children[i] {
            ok!(check_blocks(child));
        }
        i += 1;
    }
    Ok(())
}

/// Is what was divided by scale factors, where it goes to D or to a matrix as it is, stored as what it was divided for?
const fn check_stored(node: &Node, stored: Dtype) -> Result<(), Violation> {
    let passed = match *node {
        Node::Sink(Sink::Quantize(scales), _) if scales.element as u8 != stored as u8 => {
            return Err(Violation::StoredAs { element: scales.element, stored });
        }
        Node::Bind(_, _, e) | Node::Sink(Sink::Matrix(_) | Sink::Mask | Sink::Reduce(_), e) => Some(e),
        _ => None,
    };
    match passed {
        Some(e) => check_stored(e, stored),
        None => Ok(()),
    }
}

/// As [`check_stored`], of the matrices beside D.
const fn check_matrices(node: &Node) -> Result<(), Violation> {
    if let Node::Sink(Sink::Matrix(t), e) = *node
        && let Node::Sink(Sink::Quantize(scales), _) = *e
        && scales.element as u8 != t as u8
    {
        return Err(Violation::StoredAs { element: scales.element, stored: t });
    }
    let children = node.children();
    let mut i = 0;
    while i < children.len() {
        if let Some(child) = children[i] {
            ok!(check_matrices(child));
        }
        i += 1;
    }
    Ok(())
}

/// Does a tile, whose extents are the user's, hold whole blocks that share a scale factor, and whole rows of a D of `n` columns where
/// the epilogue looks for a row's largest values?
///
/// # Errors
/// [`Violation::BlockInTile`] or [`Violation::RowInTile`].
pub const fn check_lines(node: &Node, tile: Mnk, n: usize) -> Result<(), Violation> {
    if matches!(node, Node::TopKSoftmax(..)) && n > tile.n {
        return Err(Violation::RowInTile { n, tile_n: tile.n });
    }
    if let Some(LineStep::Quantize(BlockScales { block, run, .. })) = node.line_step() {
        let (what, given) = match run {
            BlockRun::AlongRows => ("N", tile.n),
            BlockRun::AlongColumns => ("M", tile.m),
        };
        if !given.is_multiple_of(block as usize) {
            return Err(Violation::BlockInTile { what, given, block: block as usize });
        }
    }
    let children = node.children();
    let mut i = 0;
    while i < children.len() {
        if let Some(child) = children[i] {
            ok!(check_lines(child, tile, n));
        }
        i += 1;
    }
    Ok(())
}

const fn multiple(
    what: &'static str,
    given: usize,
    multiple_of: usize,
    at_most: usize,
    why: &'static str,
) -> Result<(), Violation> {
    if given == 0 || !given.is_multiple_of(multiple_of) || given > at_most {
        Err(Violation::Extent { what, given, multiple_of, at_most, why })
    } else {
        Ok(())
    }
}

/// `rows` and `columns` are the user's names of the tile's extents.
const fn check_tile(s: &Spec, tile: Mnk, [rows, columns]: [&'static str; 2]) -> Result<(), Violation> {
    match s.instruction {
        InstructionId::DOT => return check_dot_tile(s, tile),
        InstructionId::MMA_SYNC | InstructionId::SIMT | InstructionId::AUTO => {
            ok!(multiple(rows, tile.m, 16, 256, "the rows of one mma.sync"));
            ok!(multiple(columns, tile.n, 16, 256, "the columns of two mma.sync, one ldmatrix"));
            let at_most = MMA_SYNC_ACCUMULATORS * 32 / s.acc.bits();
            if tile.m * tile.n > at_most {
                return Err(Violation::Accumulators { tile, at_most });
            }
            let warps = mma_warps(s, tile);
            if !tile.m.is_multiple_of(16 * warps.0) || !tile.n.is_multiple_of(16 * warps.1) || warps.0 * warps.1 > 8 {
                return Err(Violation::WarpTile { tile, warps });
            }
        }
        InstructionId::WGMMA => {
            ok!(multiple(rows, tile.m, 64, 256, "the rows of one wgmma"));
            let step = if matches!(s.acc, Dtype::I32) && tile.n > 32 { 16 } else { 8 };
            ok!(multiple(columns, tile.n, step, 256, "the columns of one wgmma"));
        }
        InstructionId::TCGEN05 => {
            ok!(multiple(rows, tile.m, 64, 256, "the rows of one tcgen05.mma"));
            ok!(multiple(columns, tile.n, 16, 256, "the columns of one tcgen05.mma"));
        }
    }
    // Instructions take elements of 6 bits in a byte each.
    let bits = s.a.bits().next_power_of_two();
    ok!(multiple("K", tile.k, 256 / bits, 8192 / bits, "the depth of one instruction, 32 bytes"));
    if s.promotes() && s.first_in_registers() {
        return Err(Violation::PromotedFromRegisters);
    }
    if s.promotes() && !tile.k.is_multiple_of(PROMOTION) {
        return Err(Violation::PromotionDepth { k: tile.k });
    }
    if s.scales.any() && !tile.k.is_multiple_of(s.scales.k) && !s.scales.k.is_multiple_of(tile.k) {
        return Err(Violation::ScaleGroup { group: s.scales.k, tile_k: tile.k });
    }
    if matches!(s.schedule, ScheduleId::PINGPONG) && tile.m > 128 {
        return Err(Violation::PingpongRows { m: tile.m });
    }
    if matches!(s.schedule, ScheduleId::COOPERATIVE) && tile.m < 128 {
        return Err(Violation::CooperativeRows { m: tile.m });
    }
    if matches!(s.instruction, InstructionId::WGMMA) {
        let plan = ResourcePlan::of(s, tile);
        let groups = plan.warp_groups(s);
        let given = tile.m * tile.n / (128 * groups) + plan.partial_columns / 2;
        let fragments = plan.fragment_registers(s, tile);
        let at_most = (plan.consumer_registers() - WGMMA_REGISTERS).saturating_sub(fragments);
        if given > at_most {
            return Err(Violation::WarpGroupAccumulators { tile, groups, given, at_most, promoted: s.promotes() });
        }
        // The assembler grants one instruction no more registers than a thread is launched with.
        let columns = if s.promotes() { plan.partial_columns } else { tile.n };
        let at_most = plan.registers.saturating_sub(INSTRUCTION_REGISTERS + fragments / 2) * 2 / 8 * 8;
        if columns > at_most {
            let (threads, registers) = (plan.threads, plan.registers);
            return Err(Violation::InstructionColumns { given: columns, threads, registers, at_most });
        }
    }
    Ok(())
}

/// Does the resource plan of a spec and tile fit `limit` bytes of shared memory?
///
/// # Errors
/// [`Violation::SharedMemory`] with what is needed, what there is and how many stages would fit.
pub const fn check_shared_memory(s: &Spec, tile: Mnk, limit: usize) -> Result<(), Violation> {
    let plan = ResourcePlan::of(s, tile);
    let rings = plan.stage_bytes > 0;
    // Of open stages as many are taken as fit, which is fewer than are needed.
    let shallow = rings && plan.stages < 2;
    if plan.shared_bytes > limit || shallow {
        let fit = if rings { limit.saturating_sub(plan.fixed_bytes) / plan.stage_bytes } else { plan.stages };
        return Err(Violation::SharedMemory {
            stages: if shallow { 2 } else { plan.stages },
            stage: plan.stage_bytes,
            fixed: plan.fixed_bytes,
            total: if shallow {
                plan.fixed_bytes.saturating_add(plan.stage_bytes.saturating_mul(2))
            } else {
                plan.shared_bytes
            },
            limit,
            fit,
            arch: s.arch,
        });
    }
    Ok(())
}

/// [`check`], as a compile error. Evaluated in `const { .. }`, its message is the rustc error.
#[track_caller]
pub const fn enforce(s: &Spec) {
    if let Err(v) = check(s) {
        let t = v.text();
        panic!("{}", t.as_str());
    }
}
