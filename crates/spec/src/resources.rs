//! Every buffer, barrier, register budget, TMEM column and workspace byte of a kernel, listed once. Stage counts, launch
//! sizes and C++ offsets all come from here.

use crate::dot::dot_plan;
use crate::{Bounded, InstructionId, LoaderId, Mnk, ScaleKind, ScheduleId, SchedulerId, Spec, StagingId};
use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;

/// What a group of warps does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RoleKind {
    /// Brings operands into shared memory.
    Load,
    /// Multiplies. Where no other role is listed it also loads and runs the epilogue.
    Mma,
    /// Changes operands on their way (dequantisation, software scales).
    Transform,
    /// Fetches work for the others.
    Scheduler,
    /// Brings the epilogue's operands ahead.
    EpilogueLoad,
    /// Runs the epilogue.
    Epilogue,
}

/// A role with its warps and registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Role {
    /// What it does.
    pub kind: RoleKind,
    /// How many warps.
    pub warps: usize,
    /// Registers a thread after setmaxnreg; 0: as launched.
    pub registers: usize,
}

/// When a buffer is alive. Buffers of different phases may share bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lifetime {
    /// From entry to exit.
    Kernel,
    /// While the mainloop of a tile runs.
    Mainloop,
    /// While the epilogue of a tile runs.
    Epilogue,
}

/// A buffer in shared memory. Offsets are equal in all blocks of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Buffer {
    /// Its name in the generated source.
    pub name: &'static str,
    /// Size, all stages together.
    pub bytes: usize,
    /// Alignment in bytes; the base of shared memory is aligned to 1,024.
    pub align: usize,
    /// When it is alive.
    pub lifetime: Lifetime,
    /// Distance from the base in bytes.
    pub offset: usize,
}

/// How a pipeline's producer tells its consumer that a stage is full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PipelineKind {
    /// cp.async groups and a block-wide barrier.
    CpAsyncGroups,
    /// Plain stores and a block-wide barrier.
    Barrier,
    /// mbarriers counting transaction bytes.
    MbarrierTransactions,
    /// mbarriers counting arrivals.
    MbarrierArrivals,
}

/// A pipeline between two roles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pipeline {
    /// Its name in the generated source.
    pub name: &'static str,
    /// Who fills a stage.
    pub producer: RoleKind,
    /// Who empties it.
    pub consumer: RoleKind,
    /// How fullness is told.
    pub kind: PipelineKind,
    /// How many stages.
    pub stages: usize,
    /// Bytes that fill one stage.
    pub bytes: usize,
}

/// Bytes of global memory that a call needs. Old contents never matter: a region resets itself or is written before it is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Workspace {
    /// What it holds.
    pub name: &'static str,
    /// Size.
    pub bytes: usize,
    /// Alignment in bytes.
    pub align: usize,
}

/// Where accumulators live between the mainloop and the epilogue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// In the registers of a role.
    Registers(RoleKind),
    /// In tensor memory: first column and column count a stage.
    TensorMemory {
        /// Columns of one accumulator stage.
        columns: usize,
    },
}

/// How an epilogue gets accumulators: a place, how many tiles it holds, and the subtiles in which it hands them out.
/// The (thread, value) → (m, n) layout is the instruction's, computed by the layout crate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccumulatorSource {
    /// Where they live.
    pub place: Place,
    /// How many tiles' accumulators exist at once.
    pub stages: usize,
    /// Rows of a subtile, of the whole tile.
    pub subtile_m: usize,
    /// Columns of a subtile.
    pub subtile_n: usize,
}

/// Everything that a kernel occupies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResourcePlan {
    /// Shared-memory buffers with their offsets.
    pub buffers: Bounded<Buffer, 12>,
    /// Roles, in the order of their warps.
    pub roles: Bounded<Role, 6>,
    /// Pipelines.
    pub pipelines: Bounded<Pipeline, 6>,
    /// Where accumulators are handed over.
    pub accumulators: AccumulatorSource,
    /// Warps of the MMA role along M and N.
    pub warps: (usize, usize),
    /// Columns of 64 rows whose sums a warp group keeps beside its accumulators until they are promoted; 0 where none are.
    pub partial_columns: usize,
    /// Pipeline depth.
    pub stages: usize,
    /// Bytes of one stage.
    pub stage_bytes: usize,
    /// Bytes that do not depend on the stage count (what aliases the stages is not in here).
    pub fixed_bytes: usize,
    /// Dynamic shared memory of the launch.
    pub shared_bytes: usize,
    /// TMEM columns, a power of two of at least 32, or 0.
    pub tmem_columns: usize,
    /// mbarriers in shared memory.
    pub mbarriers: usize,
    /// Named barriers of the 16, barrier 0 (`__syncthreads`) counted.
    pub named_barriers: usize,
    /// Threads of a block.
    pub threads: usize,
    /// Registers a thread at launch that the launch bounds ask for.
    pub registers: usize,
}

/// Registers of a consumer thread that wgmma's accumulators leave to everything else: with 192 of 232 for them Pingpong
/// 128x192 is the fastest at 8192 cubed on an H200, with all of them 128x256 spills and takes twenty times as long.
pub(crate) const WGMMA_REGISTERS: usize = 40;

impl ResourcePlan {
    /// Most slabs of a warp whose epilogue TMA stores for.
    pub const MAX_SLABS: usize = 4;
    /// Most stages that are counted automatically.
    pub const MAX_STAGES: usize = 8;

    /// The plan of a spec whose tile is known; stages are counted if they are not fixed.
    pub const fn of(s: &Spec, tile: Mnk) -> ResourcePlan {
        if matches!(s.instruction, InstructionId::DOT) {
            return dot_plan(s, tile);
        }
        // With ordinary MMA a tile's mainloop is over when its epilogue begins: the staging lies over the stages.
        let ordinary = !matches!(s.instruction, InstructionId::WGMMA | InstructionId::TCGEN05);
        match s.staging {
            StagingId::SEPARATE => Self::staged(s, tile, false),
            StagingId::REUSED => Self::staged(s, tile, true),
            StagingId::AUTO if ordinary => Self::staged(s, tile, true),
            StagingId::AUTO => {
                let plan = Self::staged(s, tile, false);
                let fits = plan.shared_bytes <= shared_limit(s.arch) && plan.stages >= 2;
                let alternates = matches!(s.schedule, ScheduleId::PINGPONG);
                if fits || alternates || !matches!(s.instruction, InstructionId::WGMMA) {
                    plan
                } else {
                    Self::staged(s, tile, true)
                }
            }
        }
    }

    /// The plan with the epilogue's staging over the stages, or beside them.
    const fn staged(s: &Spec, tile: Mnk, aliases: bool) -> ResourcePlan {
        let a = operand_bytes(s, tile.m, tile.k, s.a.bits());
        let b = operand_bytes(s, tile.n, tile.k, s.b.bits());
        let scales = scale_bytes(s, tile);
        let stage_bytes = a + b + scales;
        let warps = mma_warps(s, tile);
        let roles = roles(s, warps);
        let mut threads = 0;
        let mut i = 0;
        while i < roles.len() {
            if let Some(r) = roles.get(i) {
                threads += 32 * r.warps;
            }
            i += 1;
        }
        let accumulators = accumulators(s, tile, warps);
        let asynchronous = matches!(s.instruction, InstructionId::WGMMA | InstructionId::TCGEN05);
        let mailbox = match s.scheduler {
            SchedulerId::SINGLE_TILE | SchedulerId::AUTO => 0,
            _ if matches!(s.instruction, InstructionId::TCGEN05) => 64,
            _ => 0,
        };
        // Full and empty barriers of up to 16 stages, accumulator and mailbox barriers.
        let barriers = if asynchronous { 512 } else { 0 };
        // One subtile of accumulators, in the compute type, on its way from fragments to rows; or two of D, so that one is
        // filled while TMA stores the other.
        let subtile = accumulators.subtile_m * accumulators.subtile_n;
        let fragments = matches!(s.instruction, InstructionId::WGMMA);
        let widest = if fragments && 2 * s.d.bits() > s.acc.bits() { 2 * s.d.bits() } else { s.acc.bits() };
        let steps = s.epilogue.line_steps();
        let lines = s.epilogue.reduced_lines() + steps;
        let staging = subtile * widest / 8 * if lines > 1 { lines } else { 1 };
        // What the epilogue reads by TMA completes a barrier for each slab.
        let source_barriers = if fragments { warps.0 * warps.1 * Self::MAX_SLABS * 8 } else { 0 };
        // All parts of K of the columns that a block of a cluster adds up, but its own if one block adds up all.
        let output = s.output_tile(tile);
        let partials = match s.cluster {
            Some(cluster) if cluster.k > 1 => {
                let sent = if s.output_parts(tile) == 1 { cluster.k - 1 } else { cluster.k };
                sent * output.m * output.n * s.acc.bits() / 8
            }
            _ => 0,
        };
        // What becomes of lines, whichever way they lie; of Pingpong, for each warp group.
        let numbers = [s.epilogue.line_numbers(output.m, output.n), s.epilogue.line_numbers(output.n, output.m)];
        let tiles = if matches!(s.schedule, ScheduleId::PINGPONG) { 2 } else { 1 };
        let joined = tiles * 4 * if numbers[0] > numbers[1] { numbers[0] } else { numbers[1] };
        let fixed_bytes = barriers + source_barriers + mailbox + joined + if aliases { 0 } else { staging };
        let limit = shared_limit(s.arch);
        let room = limit.saturating_sub(fixed_bytes);
        let stages = match s.stages {
            Some(n) => n,
            None if matches!(s.loader, LoaderId::GLOBAL_TO_REGISTER) => 2,
            None => {
                let n = room / stage_bytes;
                if n > Self::MAX_STAGES { Self::MAX_STAGES } else { n }
            }
        };
        // Where they do not cost a stage they lie beside the stages: nobody then waits to send them until a block's products are over.
        let beside = (stages * stage_bytes + partials).next_multiple_of(1024) <= room;
        let fixed_bytes = fixed_bytes + if beside { partials } else { 0 };
        let kind = if asynchronous && s.loader.is_tma() {
            PipelineKind::MbarrierTransactions
        } else if asynchronous {
            PipelineKind::MbarrierArrivals
        } else if matches!(s.loader, LoaderId::GLOBAL_TO_REGISTER) {
            PipelineKind::Barrier
        } else {
            PipelineKind::CpAsyncGroups
        };
        let producer = if roles.len() > 1 { RoleKind::Load } else { RoleKind::Mma };
        let mut plan = ResourcePlan {
            buffers: Bounded::new(),
            roles,
            pipelines: Bounded::new().with(Pipeline {
                name: "operands",
                producer,
                consumer: RoleKind::Mma,
                kind,
                stages,
                bytes: stage_bytes,
            }),
            accumulators,
            warps,
            partial_columns: 0,
            stages,
            stage_bytes,
            fixed_bytes,
            shared_bytes: 0,
            tmem_columns: match accumulators.place {
                Place::TensorMemory { columns } => tmem(columns * accumulators.stages),
                Place::Registers(_) => 0,
            },
            mbarriers: if asynchronous { 2 * stages + 2 * accumulators.stages + 2 } else { 0 },
            // Of wgmma's warp groups all that have a tile meet, or take turns at two barriers, and each one by itself.
            named_barriers: if !matches!(s.instruction, InstructionId::WGMMA) {
                1 + (asynchronous && (aliases || s.scheduler.splits() || steps > 0)) as usize
            } else if matches!(s.schedule, ScheduleId::PINGPONG) {
                3 + warps.0 / 4
            } else {
                2 + warps.0 / 4
            },
            threads,
            registers: launch_registers(s, threads),
        };
        plan.partial_columns = partial_columns(s, tile, &plan);
        let mut end = 0;
        end = plan.place("a", stages * a, 1024, Lifetime::Mainloop, end);
        end = plan.place("b", stages * b, 1024, Lifetime::Mainloop, end);
        if scales > 0 {
            end = plan.place("scales", stages * scales, 128, Lifetime::Mainloop, end);
        }
        // Sums over the stages may be longer than those; slabs lie behind both, since no barrier parts one's stores from the other's loads.
        let behind = if !beside && partials > end { partials } else { end };
        let staged = plan.place("staging", staging, 1024, Lifetime::Epilogue, if aliases { 0 } else { behind });
        if staged > end {
            end = staged;
        }
        if partials > 0 {
            let over = if aliases { staged } else { 0 };
            let added = plan.place("partials", partials, 128, Lifetime::Epilogue, if beside { end } else { over });
            if added > end {
                end = added;
            }
        }
        if joined > 0 {
            end = plan.place("lines", joined, 128, Lifetime::Epilogue, end);
        }
        if barriers > 0 {
            end = plan.place("barriers", barriers, 64, Lifetime::Kernel, end);
        }
        if source_barriers > 0 {
            end = plan.place("source_barriers", source_barriers, 64, Lifetime::Kernel, end);
        }
        if mailbox > 0 {
            end = plan.place("mailbox", mailbox, 64, Lifetime::Kernel, end);
        }
        plan.shared_bytes = end;
        plan
    }

    /// Elements from one step of K to the next in the shared memory of a SIMT kernel, whose operands lie along M or N: 16 bytes
    /// of padding let elements of different steps fall on different banks.
    pub const fn simt_pitch(extent: usize, bits: usize) -> usize {
        extent + 128 / bits
    }

    const fn place(&mut self, name: &'static str, bytes: usize, align: usize, lifetime: Lifetime, end: usize) -> usize {
        let offset = end.next_multiple_of(align);
        self.buffers = self.buffers.with(Buffer { name, bytes, align, lifetime, offset });
        offset + bytes
    }

    /// The role of a kind.
    pub const fn role(&self, kind: RoleKind) -> Option<Role> {
        let mut i = 0;
        while i < self.roles.len() {
            if let Some(role) = self.roles.get(i)
                && role.kind as u8 == kind as u8
            {
                return Some(role);
            }
            i += 1;
        }
        None
    }

    /// Registers of a thread that multiplies.
    pub const fn consumer_registers(&self) -> usize {
        match self.role(RoleKind::Mma) {
            Some(Role { registers, .. }) if registers > 0 => registers,
            _ => self.registers,
        }
    }

    /// Warp groups that share a tile's rows, where warp groups multiply.
    pub const fn warp_groups(&self, s: &Spec) -> usize {
        if matches!(s.schedule, ScheduleId::PINGPONG) { 1 } else { self.warps.0 / 4 }
    }

    /// Registers of a thread for the first operand, where it is read from registers: of each 64 rows two K blocks, one that is
    /// multiplied and one that arrives.
    pub const fn fragment_registers(&self, s: &Spec, tile: Mnk) -> usize {
        if s.first_in_registers() { 8 * (tile.m / (64 * self.warp_groups(s))) } else { 0 }
    }

    /// Threads of the role that loads: all, where no role does nothing else.
    pub const fn loading_threads(&self) -> usize {
        match self.role(RoleKind::Load) {
            Some(Role { warps, .. }) => 32 * warps,
            None => self.threads,
        }
    }

    /// The first of the named barriers at which a warp group meets by itself, where warp groups multiply: the last ones.
    pub const fn warp_group_barriers(&self) -> usize {
        self.named_barriers.saturating_sub(self.warps.0 / 4)
    }

    /// Whether the epilogue is staged in bytes of the stages.
    pub fn reuses_stages(&self) -> bool {
        self.buffer("staging").is_some_and(|staging| staging.offset == 0)
    }

    /// How many stages, the first of the ring, have bytes in which the epilogue is staged or parts of K are added up: each operand's
    /// stages follow one another, the first operand's from 0.
    pub fn lent_stages(&self) -> usize {
        let Some(a) = self.buffer("a") else { return 0 };
        let lent = ["staging", "partials"].into_iter().filter_map(|name| self.over_stages(name));
        let end = lent.map(|lent| lent.offset + lent.bytes).max();
        end.unwrap_or(0).div_ceil((a.bytes / self.stages.max(1)).max(1)).min(self.stages)
    }

    /// Whether parts of K are added up in bytes of the stages.
    pub fn sums_reuse_stages(&self) -> bool {
        self.over_stages("partials").is_some()
    }

    /// The buffer of a name, if it begins in bytes of the stages.
    fn over_stages(&self, name: &str) -> Option<Buffer> {
        let stages = self.buffer("b")?;
        self.buffer(name).filter(|buffer| buffer.offset < stages.offset + stages.bytes)
    }

    /// The buffer of a name.
    pub fn buffer(&self, name: &str) -> Option<Buffer> {
        self.buffers.iter().find(|b| b.name == name)
    }
}

/// Bytes of one operand in a stage.
const fn operand_bytes(s: &Spec, extent: usize, k: usize, bits: usize) -> usize {
    let pitch = match s.instruction {
        InstructionId::SIMT => ResourcePlan::simt_pitch(extent, bits),
        _ => extent,
    };
    (pitch * k * bits / 8).next_multiple_of(1024)
}

/// Narrower instructions wait for shared memory, which sends A's rows with each.
const FEWEST_PARTIAL_COLUMNS: usize = 48;

/// All columns of the tile, or the largest part of them whose sums leave a thread enough registers.
const fn partial_columns(s: &Spec, tile: Mnk, plan: &ResourcePlan) -> usize {
    if !s.promotes() {
        return 0;
    }
    let accumulators = tile.m * tile.n / (128 * plan.warp_groups(s));
    let left = (plan.consumer_registers() - WGMMA_REGISTERS).saturating_sub(accumulators);
    let (mut columns, mut parts) = (tile.n, 1);
    while columns / 2 > left && tile.n / parts > FEWEST_PARTIAL_COLUMNS {
        parts += 1;
        if tile.n.is_multiple_of(8 * parts) && tile.n / parts >= FEWEST_PARTIAL_COLUMNS {
            columns = tile.n / parts;
        }
    }
    columns
}

const fn scale_bytes(s: &Spec, tile: Mnk) -> usize {
    if !s.scales.any() {
        return 0;
    }
    let groups = if s.scales.k == 0 || tile.k <= s.scales.k { 1 } else { tile.k / s.scales.k };
    let rows = if s.scales.m == 0 { 0 } else { tile.m.div_ceil(s.scales.m) };
    let columns = if s.scales.n == 0 { 0 } else { tile.n.div_ceil(s.scales.n) };
    let element = if matches!(s.scales.kind, ScaleKind::Hardware) { 1 } else { 4 };
    (rows + columns * (1 + s.scales.zero_points as usize)) * groups * element
}

/// Warps along M and N of the role that multiplies: warp tiles of 64 x 64 where there are four or more of them, else
/// four warps, the longer side cut first, no warp tile below 16 x 16 (one ldmatrix.x4 of each operand). Two are enough where
/// operands come through registers, as in CUTLASS's two-stage kernels: fewer warps read less of shared memory. A thread holds at most
/// 64 accumulators of 64 bits, and of fused multiply-adds where four warps of 64 x 64 are too many for the tile. (Four of them make
/// two blocks an SM of 128x128 tiles: on an H200 f32 4096 cubed takes 0.84 of the time of eight warps of 32 x 64.)
pub const fn mma_warps(s: &Spec, tile: Mnk) -> (usize, usize) {
    match s.instruction {
        InstructionId::MMA_SYNC | InstructionId::SIMT | InstructionId::AUTO => {
            let (mut m, mut n) = (halvings(tile.m, 64), halvings(tile.n, 64));
            let wide = matches!(s.acc, Dtype::F64);
            if wide || matches!(s.instruction, InstructionId::SIMT) && m * n < 4 {
                m = halvings(tile.m, 32);
            }
            let turing = matches!(s.loader, LoaderId::GLOBAL_TO_REGISTER);
            let least = if turing && matches!(s.instruction, InstructionId::MMA_SYNC) { 2 } else { 4 };
            while m * n < least {
                let (wm, wn) = (tile.m / m, tile.n / n);
                if wm >= wn && wm.is_multiple_of(32) {
                    m *= 2;
                } else if wn.is_multiple_of(32) {
                    n *= 2;
                } else if wm.is_multiple_of(32) {
                    m *= 2;
                } else {
                    break;
                }
            }
            (m, n)
        }
        // One warp group (four warps) a 64 rows; Pingpong's groups each have the whole tile.
        InstructionId::WGMMA => {
            let groups = tile.m.div_ceil(64);
            if matches!(s.schedule, ScheduleId::PINGPONG) || groups < 1 {
                (8, 1)
            } else {
                (4 * if groups > 3 { 2 } else { groups }, 1)
            }
        }
        InstructionId::TCGEN05 | InstructionId::DOT => (1, 1),
    }
}

/// The smallest power of two that cuts `extent` into parts of at most `part`.
const fn halvings(extent: usize, part: usize) -> usize {
    let mut n = 1;
    while extent / n > part && (extent / n).is_multiple_of(32) {
        n *= 2;
    }
    n
}

const fn roles(s: &Spec, warps: (usize, usize)) -> Bounded<Role, 6> {
    match s.instruction {
        InstructionId::MMA_SYNC | InstructionId::SIMT | InstructionId::AUTO | InstructionId::DOT => {
            Bounded::new().with(Role { kind: RoleKind::Mma, warps: warps.0 * warps.1, registers: 0 })
        }
        InstructionId::WGMMA => {
            let consumers = warps.0 * warps.1;
            // Threads that copy hold what alignment forbids to copy asynchronously.
            let (load, mma) = match (s.loader.is_tma(), consumers >= 12) {
                (true, true) => (32, 160),
                (true, false) => (40, 232),
                (false, true) => (80, 144),
                (false, false) => (104, 200),
            };
            Bounded::new().with(Role { kind: RoleKind::Load, warps: 4, registers: load }).with(Role {
                kind: RoleKind::Mma,
                warps: consumers,
                registers: mma,
            })
        }
        InstructionId::TCGEN05 => Bounded::new()
            .with(Role { kind: RoleKind::Mma, warps: 1, registers: 0 })
            .with(Role { kind: RoleKind::Scheduler, warps: 1, registers: 0 })
            .with(Role { kind: RoleKind::Load, warps: 1, registers: 0 })
            .with(Role { kind: RoleKind::EpilogueLoad, warps: 1, registers: 0 })
            .with(Role { kind: RoleKind::Epilogue, warps: 4, registers: 0 }),
    }
}

const fn accumulators(s: &Spec, tile: Mnk, warps: (usize, usize)) -> AccumulatorSource {
    match s.instruction {
        // Each warp hands over the 16 rows of one mma at a time.
        InstructionId::MMA_SYNC | InstructionId::SIMT | InstructionId::AUTO | InstructionId::DOT => AccumulatorSource {
            place: Place::Registers(RoleKind::Mma),
            stages: 1,
            subtile_m: 16 * warps.0,
            subtile_n: tile.n,
        },
        InstructionId::WGMMA => {
            let columns = s.output_tile(tile).n;
            AccumulatorSource {
                place: Place::Registers(RoleKind::Mma),
                stages: if matches!(s.schedule, ScheduleId::PINGPONG) { 2 } else { 1 },
                // Each warp hands over 16 rows of one wgmma at a time, of D as many columns as TMA's swizzle spans.
                subtile_m: 16 * warps.0,
                subtile_n: if columns.is_multiple_of(64) && s.d.bits() <= 16 {
                    64
                } else if columns.is_multiple_of(32) {
                    32
                } else if columns.is_multiple_of(16) {
                    16
                } else {
                    8
                },
            }
        }
        InstructionId::TCGEN05 => {
            let two = 2 * tmem(tile.n) <= 512;
            AccumulatorSource {
                place: Place::TensorMemory { columns: tile.n },
                stages: if two { 2 } else { 1 },
                subtile_m: if tile.m > 128 { 128 } else { tile.m },
                subtile_n: if tile.n.is_multiple_of(32) { 32 } else { 16 },
            }
        }
    }
}

const fn tmem(columns: usize) -> usize {
    if columns <= 32 { 32 } else { columns.next_power_of_two() }
}

const fn launch_registers(s: &Spec, threads: usize) -> usize {
    if threads == 0 {
        return 0;
    }
    let most = s.arch.registers_per_sm() as usize / threads / 8 * 8;
    if most > 255 { 255 } else { most }
}

/// Shared memory that one block may use on an architecture, in bytes.
pub const fn shared_limit(arch: ArchId) -> usize {
    arch.smem_optin() as usize
}
