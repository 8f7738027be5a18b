//! The axes of a kernel as types (tags) and as values (ids).
//!
//! A tag and its id are spelt differently (`Cooperative`, `COOPERATIVE`): when an enum variant and a type share a name,
//! rustc prints the type with its whole path in every message.

use crate::{Auto, ReadFrom};

macro_rules! tags {
    ($(#[$doc:meta])* $trait:ident / $(#[$iddoc:meta])* $id:ident: $($(#[$tagdoc:meta])* $tag:ident $value:ident)+) => {
        $(#[$iddoc])*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $id { $($(#[$tagdoc])* $value),+ }
        impl $id {
            /// Every value, in the order of declaration.
            pub const ALL: &[$id] = &[$($id::$value),+];
            /// The tag's name.
            pub const fn name(self) -> &'static str {
                match self { $($id::$value => stringify!($tag)),+ }
            }
            /// The value of a tag's name, in any case.
            pub fn from_name(name: &str) -> Option<$id> {
                Self::ALL.iter().copied().find(|x| x.name().eq_ignore_ascii_case(name))
            }
        }
        impl core::fmt::Display for $id {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result { f.write_str(self.name()) }
        }
        $(#[$doc])*
        pub trait $trait: 'static {
            /// As a value.
            const ID: $id;
        }
        $(tags!(@tag $(#[$tagdoc])* $tag); impl $trait for $tag { const ID: $id = $id::$value; })+
    };
    (@tag $(#[$tagdoc:meta])* Auto) => {};
    (@tag $(#[$tagdoc:meta])* $tag:ident) => {
        $(#[$tagdoc])*
        #[derive(Clone, Copy, Default, Debug)]
        pub struct $tag;
    };
}

tags!(
    /// How a kernel overlaps loading, multiplying and storing.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not a kernel schedule",
        note = "schedules are `Multistage`, `Gemv`, `WarpSpecialized`, `Pingpong`, `Cooperative`, `OneSm`, `TwoSm` and `Auto`")]
    Schedule /
    /// A schedule as a value.
    ScheduleId:
    /// Decided by the plan.
    Auto AUTO
    /// Every warp loads, multiplies and stores; loads run several stages ahead.
    Multistage MULTISTAGE
    /// One warp group loads, another multiplies; one tile a block.
    WarpSpecialized WARP_SPECIALIZED
    /// Two consumer warp groups on different tiles: one's epilogue runs under the other's mainloop.
    Pingpong PINGPONG
    /// Consumer warp groups split one tile along M.
    Cooperative COOPERATIVE
    /// tcgen05 with one block a tile.
    OneSm ONE_SM
    /// tcgen05 with a pair of blocks a tile.
    TwoSm TWO_SM
    /// A matrix times up to eight vectors: every thread multiplies what it reads of a few rows in registers, along its part of K,
    /// and the block adds the parts.
    Gemv GEMV
);
tags!(
    /// How tiles are handed to blocks.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not a tile scheduler",
        note = "tile schedulers are `SingleTile`, `Persistent`, `StreamK`, `SplitK`, `SplitKSerial`, `Grouped` and `Auto`")]
    TileScheduler /
    /// A tile scheduler as a value.
    SchedulerId:
    /// Decided by the plan.
    Auto AUTO
    /// One tile a block; the grid is the tiles.
    SingleTile SINGLE_TILE
    /// The grid is the device; blocks walk the tiles.
    Persistent PERSISTENT
    /// Tiles of the last waves are split along K so that all blocks finish together.
    StreamK STREAM_K
    /// Every tile is split along K into the same number of parts, which the last block to arrive adds up in the order of K.
    SplitK SPLIT_K
    /// As `SplitK`, each part waiting for its predecessor's sum: the same bits, a workspace of one part a tile.
    SplitKSerial SPLIT_K_SERIAL
    /// Many problems of different extents in one launch.
    Grouped GROUPED
);
tags!(
    /// How operands reach shared memory.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not an operand loader",
        note = "loaders are `GlobalToRegister`, `CpAsync`, `Tma`, `TmaMulticast` and `BulkRows`")]
    Loader /
    /// A loader as a value.
    LoaderId:
    /// Plain loads through registers.
    GlobalToRegister GLOBAL_TO_REGISTER
    /// cp.async.
    CpAsync CP_ASYNC
    /// The tensor memory accelerator.
    Tma TMA
    /// The tensor memory accelerator, one load for several blocks of a cluster.
    TmaMulticast TMA_MULTICAST
    /// Bulk copies of a tile's rows along K, each at its address.
    BulkRows BULK_ROWS
);
tags!(
    /// What multiplies.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not a matrix instruction",
        note = "instructions are `Simt`, `Dot`, `MmaSync`, `Wgmma` and `Tcgen05`")]
    Instruction /
    /// An instruction family as a value.
    InstructionId:
    /// The principal family of the architecture for these types.
    Auto AUTO
    /// Fused multiply-adds on the ordinary pipes.
    Simt SIMT
    /// Warp-wide mma.sync.
    MmaSync MMA_SYNC
    /// Warp-group-wide wgmma.
    Wgmma WGMMA
    /// tcgen05.mma into tensor memory.
    Tcgen05 TCGEN05
    /// Dot products along K on the ordinary pipes, of what each thread has in registers.
    Dot DOT
);
tags!(
    /// How sums are kept by an instruction that keeps fewer bits of them than an accumulator has: wgmma sums fp8 products in
    /// 14 bits. Where sums are kept whole anyway there is nothing to choose.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not a way to accumulate",
        note = "ways to accumulate are `Promoted`, `FastAccum` and `Auto`, which is `Promoted`")]
    Accumulation /
    /// A way to accumulate as a value.
    AccumulationId:
    /// The sum of every 128 products along K is added to an accumulator of full precision.
    Promoted PROMOTED
    /// The instruction accumulates all along: faster, and each of its steps truncates the sum.
    FastAccum FAST_ACCUM
);
impl Accumulation for Auto {
    const ID: AccumulationId = AccumulationId::PROMOTED;
}

impl SchedulerId {
    /// Whether it may cut a tile's K among blocks.
    pub const fn splits(self) -> bool {
        matches!(self, SchedulerId::SPLIT_K | SchedulerId::SPLIT_K_SERIAL | SchedulerId::STREAM_K)
    }
}

tags!(
    /// Where the epilogue keeps what is on its way between registers and D.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not where an epilogue is staged",
        note = "an epilogue's staging is `Separate`, `Reused` or `Auto`, which is `Separate` where that fits")]
    EpilogueStaging /
    /// An epilogue's staging as a value.
    StagingId:
    /// Decided by the plan: in memory of its own where a mainloop of warp groups leaves enough, else over its stages.
    Auto AUTO
    /// In memory of its own: the next tile's operands arrive, and may be multiplied, under the epilogue.
    Separate SEPARATE
    /// In the bytes of the mainloop's first stages: more of them fit, or a larger tile, but the next tile's operands wait for the
    /// epilogue where they lie there.
    Reused REUSED
);

/// Where the instruction reads its first operand, that of the tile's rows: A, or B in a transposed plan. Instructions that read
/// registers alone have nothing to choose.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not where an instruction reads an operand",
    note = "an instruction reads its first operand `FromShared`, `FromRegisters`, or `Auto`, which is `FromShared`"
)]
pub trait OperandSource: 'static {
    /// As a value.
    const FROM: ReadFrom;
}
/// From shared memory.
#[derive(Clone, Copy, Default, Debug)]
pub struct FromShared;
/// From registers, which threads fill ahead of the instruction: its rows then need not lie in shared memory as they are multiplied.
#[derive(Clone, Copy, Default, Debug)]
pub struct FromRegisters;
impl OperandSource for Auto {
    const FROM: ReadFrom = ReadFrom::Shared;
}
impl OperandSource for FromShared {
    const FROM: ReadFrom = ReadFrom::Shared;
}
impl OperandSource for FromRegisters {
    const FROM: ReadFrom = ReadFrom::Registers;
}
tags!(
    /// What is done to the B operand on its way to the instruction.
    #[diagnostic::on_unimplemented(message = "`{Self}` is not an operand transform", note = "transforms are `Identity` and `Widen`")]
    Transform /
    /// A transform as a value.
    TransformId:
    /// Nothing.
    Identity IDENTITY
    /// A narrow integer becomes A's type: w = (q - zero point) * scale.
    Widen WIDEN
);

impl LoaderId {
    /// Whether the tensor memory accelerator loads, by tensor maps.
    pub const fn is_tma(self) -> bool {
        matches!(self, LoaderId::TMA | LoaderId::TMA_MULTICAST)
    }
}

/// CUTLASS's long name for [`Multistage`].
pub type KernelMultistage = Multistage;
/// CUTLASS's long name for [`WarpSpecialized`].
pub type KernelTmaWarpSpecialized = WarpSpecialized;
/// CUTLASS's long name for [`Pingpong`].
pub type KernelTmaWarpSpecializedPingpong = Pingpong;
/// CUTLASS's long name for [`Cooperative`].
pub type KernelTmaWarpSpecializedCooperative = Cooperative;
/// CUTLASS's long name for [`OneSm`].
pub type KernelTmaWarpSpecialized1SmSm100 = OneSm;
/// CUTLASS's long name for [`TwoSm`].
pub type KernelTmaWarpSpecialized2SmSm100 = TwoSm;
/// CUTLASS's name for [`Persistent`].
pub type PersistentScheduler = Persistent;
/// CUTLASS's name for [`StreamK`].
pub type StreamKScheduler = StreamK;
/// CUTLASS's name for [`Grouped`].
pub type GroupScheduler = Grouped;
