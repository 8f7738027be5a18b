//! What is wrong with a spec, and the only wording of each rule. The same value becomes a rustc error or an `Err`.

use crate::{BlockScales, InstructionId, LoaderId, MajorId, Mnk, ScheduleId, SchedulerId, Scope, Text};
use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;

/// A broken rule, with the numbers that break it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Violation {
    /// A tile extent that the instruction cannot cover.
    Extent {
        /// M, N or K.
        what: &'static str,
        /// The extent.
        given: usize,
        /// What it must be a multiple of.
        multiple_of: usize,
        /// What it must not exceed.
        at_most: usize,
        /// Why.
        why: &'static str,
    },
    /// More accumulators than the registers of a block hold.
    Accumulators {
        /// The tile.
        tile: Mnk,
        /// Most elements of a tile.
        at_most: usize,
    },
    /// More accumulators than a thread of a warp group has registers for.
    WarpGroupAccumulators {
        /// The tile.
        tile: Mnk,
        /// Warp groups that share it.
        groups: usize,
        /// Accumulators of a thread.
        given: usize,
        /// Most that it has registers for.
        at_most: usize,
        /// Whether sums that are promoted are among them.
        promoted: bool,
    },
    /// More columns of one wgmma than the registers of a launched thread hold.
    InstructionColumns {
        /// Its columns.
        given: usize,
        /// Threads of a block.
        threads: usize,
        /// Registers of a thread at launch.
        registers: usize,
        /// Most columns.
        at_most: usize,
    },
    /// Promoted sums and fragments of A, which are too many registers.
    PromotedFromRegisters,
    /// A tile whose depth is no whole number of promotions.
    PromotionDepth {
        /// Tile extent along K.
        k: usize,
    },
    /// A tile that its warps cannot share evenly.
    WarpTile {
        /// The tile.
        tile: Mnk,
        /// Warps along M and N.
        warps: (usize, usize),
    },
    /// An epilogue of dot products that stores bits or reductions, or whose values depend on their neighbours.
    StoredTogether,
    /// Blocks of elements, scale factors or lengths that do not exist.
    Blocks {
        /// What was asked for.
        scales: BlockScales,
    },
    /// Blocks or a row's largest values, computed in f64.
    LinesInDouble,
    /// Values that were divided for one element and are stored as another.
    StoredAs {
        /// What they were divided for.
        element: Dtype,
        /// What they are stored as.
        stored: Dtype,
    },
    /// A tile that cuts blocks which share a scale factor.
    BlockInTile {
        /// The extent along which they lie, M or N.
        what: &'static str,
        /// The tile's.
        given: usize,
        /// The block's.
        block: usize,
    },
    /// A number of largest values that is not kept.
    TopK {
        /// How many.
        k: usize,
    },
    /// A tile that cuts rows whose largest values are looked for.
    RowInTile {
        /// Columns of D.
        n: usize,
        /// Columns of the tile.
        tile_n: usize,
    },
    /// A tile that threads which each multiply 64 bytes of the matrix at a time cannot share.
    GemvTile {
        /// The tile.
        tile: Mnk,
        /// Bits of an element.
        bits: usize,
        /// Threads that would share it.
        threads: usize,
    },
    /// A tile of dot products whose vectors would be the kernel's rows.
    GemvVectors {
        /// The tile, in the user's terms.
        tile: Mnk,
        /// Whether A and B change places.
        swapped: bool,
    },
    /// Cluster extents that no device offers.
    Cluster {
        /// The cluster.
        cluster: Mnk,
        /// Most blocks in one.
        at_most: usize,
    },
    /// A cluster of a schedule whose blocks know of none.
    LoneBlocks {
        /// The schedule.
        schedule: ScheduleId,
        /// The cluster.
        cluster: Mnk,
    },
    /// A cluster that cuts K, of a schedule whose blocks do not add up parts.
    ClusterParts {
        /// The cluster.
        cluster: Mnk,
        /// The schedule.
        schedule: ScheduleId,
    },
    /// TwoSm without a pair along M.
    PairNeedsCluster {
        /// Cluster extent along M.
        m: usize,
    },
    /// Pingpong with too many rows.
    PingpongRows {
        /// Tile extent along M.
        m: usize,
    },
    /// Cooperative with too few rows.
    CooperativeRows {
        /// Tile extent along M.
        m: usize,
    },
    /// Nothing but sums of fp8 can be kept in the tensor core's precision.
    SumsAreWhole {
        /// Element of A.
        a: Dtype,
        /// Element of B.
        b: Dtype,
    },
    /// An instruction that reads no operand from registers.
    NoRegisterOperand {
        /// The instruction.
        instruction: InstructionId,
    },
    /// An epilogue staged where another tile's operands are multiplied meanwhile.
    StagedUnderProducts {
        /// The schedule.
        schedule: ScheduleId,
    },
    /// The plan does not fit shared memory.
    SharedMemory {
        /// Stages asked for.
        stages: usize,
        /// Bytes a stage.
        stage: usize,
        /// Bytes beside the stages.
        fixed: usize,
        /// Bytes needed.
        total: usize,
        /// Bytes there are.
        limit: usize,
        /// Stages that would fit.
        fit: usize,
        /// Where.
        arch: ArchId,
    },
    /// A pipeline depth that the schedule does not take.
    Stages {
        /// Stages asked for.
        given: usize,
        /// Fewest.
        at_least: usize,
        /// Most.
        at_most: usize,
        /// Of which schedule.
        schedule: ScheduleId,
        /// On which architecture.
        arch: ArchId,
    },
    /// More arguments than a kernel's parameters hold.
    Arguments {
        /// How many the tree binds.
        given: usize,
        /// How many fit.
        at_most: usize,
    },
    /// Shared values used wrongly.
    Shared(Scope),
    /// Scale blocks that do not fit the tile.
    ScaleGroup {
        /// Elements along K of a scale block.
        group: usize,
        /// Tile extent along K.
        tile_k: usize,
    },
    /// A narrow operand without scales.
    NoScales {
        /// The operand's element.
        b: Dtype,
    },
    /// Block scale factors that the instruction cannot apply.
    HardwareScales {
        /// The instruction.
        instruction: InstructionId,
        /// The architecture.
        arch: ArchId,
    },
    /// The architecture has no such schedule.
    NoSchedule {
        /// The architecture.
        arch: ArchId,
        /// The schedule.
        schedule: ScheduleId,
    },
    /// The scheduler cannot feed the schedule.
    NoFeed {
        /// The scheduler.
        scheduler: SchedulerId,
        /// The schedule.
        schedule: ScheduleId,
    },
    /// A hand-composed mainloop contradicts its schedule.
    Pieces {
        /// The architecture.
        arch: ArchId,
        /// The schedule.
        schedule: ScheduleId,
        /// What the table says.
        loader: LoaderId,
        /// What the table says.
        instruction: InstructionId,
        /// What was given.
        given_loader: LoaderId,
        /// What was given.
        given_instruction: InstructionId,
    },
    /// No instruction multiplies these types.
    NoInstruction {
        /// The architecture.
        arch: ArchId,
        /// The schedule.
        schedule: ScheduleId,
        /// Element of A.
        a: Dtype,
        /// Element of B.
        b: Dtype,
        /// Element of the accumulator.
        acc: Dtype,
    },
    /// The tree never uses the accumulator.
    NoAccumulator,
    /// The instruction cannot read an operand in this major.
    NoMajor {
        /// The instruction.
        instruction: InstructionId,
        /// The operand's element.
        dtype: Dtype,
        /// `A` or `B`.
        operand: &'static str,
        /// The major that was given.
        major: MajorId,
    },
}

impl Violation {
    /// The rule in words: value, rule, remedy.
    pub const fn text(&self) -> Text {
        let t = Text::new();
        match *self {
            Violation::Extent { what, given, multiple_of, at_most, why } => t
                .s("tile ").s(what).s(" = ").n(given).s(" is not a multiple of ").n(multiple_of).s(" up to ").n(at_most)
                .s(" (").s(why).s(")"),
            Violation::Accumulators { tile, at_most } => t
                .s("a ").mnk(tile).s(" tile has ").n(tile.m * tile.n).s(" accumulators, but at most ").n(at_most)
                .s(" fit the registers of a block; 128x256 and 256x128 are the largest"),
            Violation::WarpGroupAccumulators { tile, groups, given, at_most, promoted } => t
                .s("a ").mnk(tile).s(" tile over ").n(groups).s(" warp group(s) gives each thread ").n(given)
                .s(if promoted { " accumulators and sums to promote" } else { " accumulators" })
                .s(", but at most ").n(at_most).s(" fit its registers; lower N, or M"),
            Violation::InstructionColumns { given, threads, registers, at_most } => t
                .s("a wgmma of N = ").n(given).s(" in blocks of ").n(threads).s(" threads, which launch with ").n(registers)
                .s(" registers each: that is enough for N = ").n(at_most).s("; lower tile N, or take fewer warp groups"),
            Violation::PromotedFromRegisters => t
                .s("sums of fp8 that are promoted leave no registers for A: read it FromShared, or use FastAccum"),
            Violation::PromotionDepth { k } => t
                .s("tile K = ").n(k).s(" is not a multiple of ").n(crate::PROMOTION)
                .s(", the products along K after which sums of fp8 are promoted; use a tile K of 128 or 256, or FastAccum"),
            Violation::WarpTile { tile, warps: (m, n) } => t
                .s("a ").mnk(tile).s(" tile over ").n(m).s("x").n(n)
                .s(" warps leaves a warp tile that is not a multiple of 16x16; use extents that are 16, 32 or multiples of 64"),
            Violation::StoredTogether => t
                .s("Gemv kernels visit elements one by one, so that their epilogues store matrices, but neither bits of positive values, elements below a byte nor reductions, and know no blocks or rows; use Multistage, or Auto"),
            Violation::Blocks { scales: BlockScales { element, scale, block, .. } } => t
                .s("there are no blocks of ").n(block as usize).s(" elements of ").s(element.name()).s(" with scale factors of ")
                .s(scale.name()).s(": elements are e4m3, e5m2, e3m2, e2m3 and e2m1, scale factors f32, e8m0 and e4m3, in atoms only the latter two, and blocks of 16, 32, 64 or 128"),
            Violation::LinesInDouble => t.s("scale factors of blocks and the softmax of a row's largest values are computed in f32, but the accumulators are f64; accumulate in f32"),
            Violation::StoredAs { element, stored } => t
                .s("values are divided by scale factors for ").s(element.name()).s(", but stored as ").s(stored.name())
                .s(": quantize for what they are stored as"),
            Violation::BlockInTile { what, given, block } => t
                .s("tile ").s(what).s(" = ").n(given).s(" cuts blocks of ").n(block)
                .s(" that share a scale factor; use a multiple of ").n(block).s(", or leave the tile Auto"),
            Violation::TopK { k } => t
                .s("top_k_softmax keeps 2 or 4 of a row's values, not ").n(k),
            Violation::RowInTile { n, tile_n } => t
                .s("top_k_softmax needs a whole row of D in a tile, but N is ").n(n).s(" and tile N is ").n(tile_n)
                .s("; use a tile of at least N columns, of which no tile has more than 256"),
            Violation::GemvTile { tile, bits, threads } => t
                .s("a ").mnk(tile).s(" tile gives Gemv ").n(threads)
                .s(" threads, each of which reads 64 bytes of the matrix at a time: extents must be powers of two, the shorter of M and N at most 8, the longer 4 to 1024, K at least 4 and 16 bytes, and threads 32 to 512; for this type 8x1x")
                .n(16384 / bits).s(" and 1x8x").n(16384 / bits).s(" have 256"),
            Violation::GemvVectors { tile, swapped } => t
                .s("a ").mnk(tile).s(" tile has its longer side along ").s(if swapped { "M" } else { "N" })
                .s(", which Gemv takes for a matrix' rows, and so must the kernel: A and B ")
                .s(if swapped { "may not" } else { "must" }).s(" change places; leave swap_ab Auto"),
            Violation::Cluster { cluster, at_most: 1 } => {
                t.s("cluster ").mnk(cluster).s(": this architecture has no clusters; use 1x1x1")
            }
            Violation::Cluster { cluster, at_most } => t
                .s("cluster ").mnk(cluster).s(": extents must be powers of two, and at most ").n(at_most)
                .s(" blocks may form a cluster; 2x1, 1x2 and 2x2 are usual"),
            Violation::LoneBlocks { schedule, cluster } => t
                .s("cluster ").mnk(cluster).s(": blocks of ").s(schedule.name())
                .s(" kernels work alone; use 1x1x1, or a schedule of warp groups, such as Cooperative"),
            Violation::ClusterParts { cluster, schedule } => t
                .s("cluster ").mnk(cluster)
                .s(": its blocks would add up parts of K, which those of WarpSpecialized and Cooperative kernels of wgmma do, not of ")
                .s(schedule.name()).s("; use cluster K = 1"),
            Violation::PairNeedsCluster { m } => t
                .s("TwoSm pairs two blocks along M, so cluster M must be even, but it is ").n(m).s("; use Cluster<2, 1>"),
            Violation::PingpongRows { m } => t
                .s("Pingpong gives each warp group its own tile of at most 128 rows, but tile M = ").n(m)
                .s("; lower M or use Cooperative"),
            Violation::CooperativeRows { m } => t
                .s("Cooperative splits a tile's rows over two warp groups of 64, but tile M = ").n(m)
                .s("; use 128 or more, or Pingpong"),
            Violation::SumsAreWhole { a, b } => t
                .s("FastAccum leaves sums of fp8 to the 14 bits that wgmma keeps of them, but sums of ").s(a.name()).s(" x ")
                .s(b.name()).s(" are whole already; leave the accumulation Auto"),
            Violation::NoRegisterOperand { instruction } => t
                .s(instruction.name()).s(" reads no operand FromRegisters; use FromShared, or Auto"),
            Violation::StagedUnderProducts { schedule } => t
                .s(schedule.name()).s(" stores one tile while it multiplies another, whose stages a Reused staging of the epilogue would overwrite; use Separate, or Cooperative"),
            Violation::SharedMemory { stages, stage, fixed, total, limit, fit, arch } => {
                let t = t.n(stages).s(" stages of ").kib(stage);
                let t = if fixed > 0 { t.s(" and ").kib(fixed).s(" for the epilogue and barriers") } else { t };
                let t = t.s(" need ").kib(total).s(" of shared memory, but ").s(arch.name()).s(" has ").kib(limit);
                if fit >= 2 {
                    t.s("; at most ").n(fit).s(" stages fit")
                } else {
                    t.s("; not even 2 stages fit, so use a smaller tile")
                }
            }
            Violation::Stages { given, at_least, at_most, schedule, arch } if at_least == at_most => t
                .s(schedule.name()).s(" on ").s(arch.name()).s(" has exactly ").n(at_least)
                .s(" stages, one in registers and one in shared memory, but ").n(given).s(" were asked for"),
            Violation::Stages { given, at_least, at_most, schedule, .. } => t
                .s(schedule.name()).s(" needs ").n(at_least).s(" to ").n(at_most)
                .s(" stages to overlap loading with arithmetic, but has ").n(given),
            Violation::Arguments { given, at_most } => t
                .s("this epilogue has ").n(given).s(" arguments, but at most ").n(at_most).s(" fit a kernel's parameters"),
            Violation::Shared(Scope::Rebound(id)) => t
                .s("shared value ").n(id as usize).s(" is bound again inside its own scope: use share_as::<").n(id as usize + 1)
                .s(", _, _>(..) for the inner one"),
            Violation::Shared(Scope::Unbound(id)) => {
                t.s("shared value ").n(id as usize).s(" is used outside of its share(..)")
            }
            Violation::Shared(Scope::TooMany(id)) => {
                t.s("shared value ").n(id as usize).s(": at most 8 values may be shared, numbered 0 to 7")
            }
            Violation::ScaleGroup { group, tile_k } => t
                .s("tile K = ").n(tile_k).s(" and scale groups of ").n(group)
                .s(" do not divide one another; choose a tile K that is a multiple or a divisor of the group"),
            Violation::NoScales { b } => t
                .s("the narrow operand B of ").s(b.name()).s(" has no scales: give it Blockwise<G> or ZeroPoints<G>"),
            Violation::HardwareScales { instruction, arch } => t
                .s(instruction.name()).s(" on ").s(arch.name())
                .s(" cannot apply block scale factors; Tcgen05 on Sm100 can, elsewhere use Blockwise<G>"),
            Violation::NoSchedule { arch, schedule } => t
                .s(arch.name()).s(" has no ").s(schedule.name()).s(" schedule; Auto, the default, picks one that ").s(arch.name())
                .s(" has"),
            Violation::NoFeed { scheduler, schedule } => t
                .s("the ").s(scheduler.name()).s(" tile scheduler cannot feed a ").s(schedule.name())
                .s(" kernel; Pingpong gives each warp group its own whole tile, while StreamK and SplitK cut tiles along K: use ")
                .s("Cooperative with them; Pingpong and Cooperative are persistent, so not with SingleTile"),
            Violation::Pieces { arch, schedule, loader, instruction, given_loader, given_instruction } => t
                .s(schedule.name()).s(" on ").s(arch.name()).s(" is made of ").s(loader.name()).s(" and ").s(instruction.name())
                .s(", not of ").s(given_loader.name()).s(" and ").s(given_instruction.name()),
            Violation::NoInstruction { arch, schedule, a, b, acc } => t
                .s(arch.name()).s(" has no instruction for the ").s(schedule.name()).s(" schedule that multiplies ").s(a.name())
                .s(" by ").s(b.name()).s(" into ").s(acc.name())
                .s("; bf16 and tf32 need Sm80 or later, fp8 Sm89, fp4 and fp6 Sm100; integers accumulate in i32, f64 in f64, ")
                .s("all others in f32; plain f32 runs with Auto or Multistage, on tensor cores as tf32"),
            Violation::NoAccumulator => t.s("this epilogue never uses acc(), so the product would be computed in vain"),
            Violation::NoMajor { instruction, dtype, operand, major } => t
                .s(instruction.name()).s(" cannot read ").s(operand).s(" of ").s(dtype.name()).s(" that is ").s(major.name())
                .s(": this type must be K-major, A RowMajor and B ColumnMajor; transpose it once, or store it K-major"),
        }
    }
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.text().as_str())
    }
}
impl core::error::Error for Violation {}
