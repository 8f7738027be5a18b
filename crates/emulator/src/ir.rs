//! Instructions as they are executed: decoded once, run warp-wide.

use crate::check::clock::Memory;
use crate::machine::registers::{PredSrc, Registers, Src};
use crate::ptx::ast::{Loc, Reg};
use crate::tensor::tile::Kind;

/// An instruction that only reads and writes registers, in the lanes of a mask.
pub(crate) type Compute = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

/// State spaces of memory instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    Generic,
    Global,
    /// The block's own shared memory, or any of the cluster's: the address tells.
    Shared,
    Local,
    Param,
}

/// What an address is counted from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Base {
    None,
    Reg(Reg),
    /// The module's variable of this number, in global memory.
    Variable(u32),
    /// Offset in the block's shared window.
    Shared(u32),
    Local(u32),
    Param(u32),
}

/// `[base + offset]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Address {
    pub base: Base,
    pub offset: i64,
}

/// The memory order of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Order {
    /// Relaxed, volatile or stronger: such accesses do not race with each other.
    pub strong: bool,
    pub acquire: bool,
    pub release: bool,
}

/// `ld`.
#[derive(Debug)]
pub(crate) struct Load {
    pub space: Space,
    pub order: Order,
    pub address: Address,
    /// Bytes of one element.
    pub bytes: u32,
    pub signed: bool,
    /// One register per element; `None` for `_`.
    pub to: Box<[Option<Reg>]>,
}

/// `st`.
#[derive(Debug)]
pub(crate) struct Store {
    pub space: Space,
    pub order: Order,
    pub address: Address,
    pub bytes: u32,
    pub from: Box<[Src]>,
}

/// What an atomic makes of the old value, an operand and a second operand.
pub(crate) type Apply = fn(u64, u64, u64) -> u64;

/// `atom`, `red`.
pub(crate) struct Atomic {
    pub space: Space,
    pub order: Order,
    pub address: Address,
    pub bytes: u32,
    /// One register per element, empty for `red`.
    pub to: Box<[Option<Reg>]>,
    /// One operand per element.
    pub operands: Box<[Src]>,
    /// The second operand of `cas`.
    pub swap: Src,
    pub apply: Apply,
    /// The same in global memory.
    pub apply_global: Apply,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `vote`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// Where a collective's answer goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Answer {
    Reg(Reg),
    Pred(u32),
}

/// An instruction in which the lanes of a warp see each other's registers.
#[derive(Clone, Debug)]
pub(crate) enum Collective {
    Shuffle {
        mode: ShuffleMode,
        to: Reg,
        valid: Option<u32>,
        value: Src,
        lane: Src,
        clamp: Src,
    },
    Vote {
        mode: VoteMode,
        to: Answer,
        value: PredSrc,
    },
    MatchAny {
        to: Reg,
        value: Src,
    },
    MatchAll {
        to: Reg,
        valid: Option<u32>,
        value: Src,
    },
    Reduce {
        to: Reg,
        value: Src,
        signed: bool,
        apply: fn(i64, i64) -> i64,
    },
    Elect {
        to: Option<Reg>,
        leader: u32,
    },
    /// `movmatrix.trans`.
    MoveMatrix {
        to: Reg,
        value: Src,
    },
    Mma(Box<Mma>),
}

/// `mma.sync`.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    /// M · N · K.
    pub products: u32,
    /// Its accumulator may also be `F64`.
    pub kind: Kind,
    pub d: Box<[Reg]>,
    pub a: Box<[Reg]>,
    pub b: Box<[Reg]>,
    pub c: Box<[Src]>,
}

/// `ldmatrix`, `stmatrix` of 8 × 8 matrices of 16-bit elements.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub store: bool,
    pub transposed: bool,
    pub registers: Box<[Reg]>,
    pub address: Address,
}

/// `cp.async`.
#[derive(Clone, Debug)]
pub(crate) struct CopyAsync {
    pub to: Address,
    pub from: Address,
    pub bytes: u32,
    /// Bytes that are read, the rest being zero.
    pub valid: CopyValid,
}

/// How much of a `cp.async` is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum CopyValid {
    All,
    Bytes(Src),
    Ignore(PredSrc),
}

/// What a barrier does beside counting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    Reduce { to: Answer, value: PredSrc, mode: ReduceMode },
}

/// `barrier.red`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReduceMode {
    And,
    Or,
    Count,
}

/// `bar`, `barrier`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    pub id: Src,
    pub threads: Option<Src>,
    pub aligned: bool,
}

/// What is done to an mbarrier.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum MbarrierOp {
    Init {
        count: Src,
    },
    Inval,
    Arrive {
        state: Option<Reg>,
        count: Src,
        expect: Option<Src>,
        drop: bool,
    },
    ExpectTx {
        bytes: Src,
    },
    CompleteTx {
        bytes: Src,
    },
    Wait {
        done: u32,
        phase: WaitPhase,
        blocking: bool,
    },
    /// `cp.async.mbarrier.arrive`.
    CopyArrive {
        counted: bool,
    },
}

/// Which phase a wait asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum WaitPhase {
    Parity(Src),
    State(Src),
}

/// An instruction on an mbarrier.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Mbarrier {
    pub op: MbarrierOp,
    pub address: Address,
    pub release: bool,
    pub acquire: bool,
}

/// `fence`, `membar`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fence {
    /// Orders memory accesses of the generic proxy.
    Memory,
    /// `fence.proxy.async`, of one memory or of all.
    Proxy(Option<Memory>),
    /// Orders nothing that is modelled: `fence.mbarrier_init`.
    MbarrierInit,
    /// `fence.proxy.tensormap`.
    TensorMap,
}

/// Special registers that differ from lane to lane, warp to warp or block to block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    LaneId,
    WarpId,
    WarpCount,
    SmId,
    SmCount,
    GridId,
    LanemaskEq,
    LanemaskLt,
    LanemaskLe,
    LanemaskGt,
    LanemaskGe,
    Clock,
    DynamicSharedBytes,
    TotalSharedBytes,
    ClusterCtaid(usize),
    ClusterNctaid(usize),
    ClusterId(usize),
    ClusterCount(usize),
    ClusterRank,
    ClusterSize,
    IsExplicitCluster,
}

/// The memory that a bulk copy reads or writes beside shared memory.
#[derive(Clone, Debug)]
pub(crate) enum BulkRemote {
    /// A run of bytes in global memory.
    Bytes { address: Address, size: Src },
    /// A box of a tensor.
    Tensor { map: Address, coordinates: Box<[Src]> },
    /// A run of bytes in another block's shared memory.
    Peer { address: Address, size: Src },
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`, with and without a tensor map.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub shared: Address,
    pub remote: BulkRemote,
    pub direction: BulkDirection,
}

/// Which way a bulk copy goes.
#[derive(Clone, Debug)]
pub(crate) enum BulkDirection {
    /// To shared memory, completing on an mbarrier.
    Load { barrier: Address, multicast: Option<Src>, reduce: Option<BulkReduce> },
    /// From shared memory, completing in a bulk group, perhaps as a reduction by elements.
    Store { reduce: Option<BulkReduce> },
}

/// `st.async`, `red.async`: registers to shared memory of the cluster, completing on an mbarrier there.
pub(crate) struct StoreAsync {
    pub address: Address,
    pub barrier: Address,
    /// Bytes of one element.
    pub bytes: u32,
    pub from: Box<[Src]>,
    /// `red.async`'s operation.
    pub reduce: Option<Apply>,
}

/// A field of a tensor map, for `tensormap.replace`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TensorMapField {
    Address,
    Rank,
    Dim(usize),
    Stride(usize),
    BoxDim(usize),
    ElementStride(usize),
    Interleave,
    Element,
    Swizzle,
    Fill,
}

/// `tensormap.replace`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TensorMapReplace {
    pub space: Space,
    pub address: Address,
    pub field: TensorMapField,
    pub value: Src,
}

/// A reduction by elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkReduce {
    pub operation: &'static str,
    /// What it does to elements of how many bytes, where the instruction says it and not a tensor map.
    pub own: Option<(Apply, u8)>,
}

/// `wgmma.mma_async`.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub n: u32,
    pub k: u32,
    pub kind: Kind,
    pub d: Box<[Reg]>,
    pub a_source: WgmmaA,
    pub b_descriptor: Src,
    pub scale_d: PredSrc,
    pub transpose_a: bool,
    pub transpose_b: bool,
}

/// Where `wgmma` finds A.
#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    Descriptor(Src),
    Registers(Box<[Reg]>),
}

/// One decoded operation.
pub(crate) enum Op {
    Compute(Compute),
    Special {
        to: Reg,
        what: Special,
    },
    AddressOf {
        to: Reg,
        address: Address,
    },
    Branch {
        target: u32,
    },
    BranchTable {
        index: Src,
        targets: Box<[u32]>,
    },
    Exit,
    Trap,
    Nop,
    /// Lets others run.
    Sleep,
    Load(Load),
    Store(Store),
    Atomic(Box<Atomic>),
    ActiveMask {
        to: Reg,
    },
    Collective {
        members: Src,
        what: Collective,
    },
    WarpSync {
        members: Src,
    },
    Matrix(Box<Matrix>),
    CopyAsync(Box<CopyAsync>),
    CopyCommit,
    /// Waits until at most this many groups are pending; `None` also waits for uncommitted copies.
    CopyWait(Option<u32>),
    Fence(Fence),
    Barrier(Barrier),
    ClusterArrive {
        release: bool,
    },
    ClusterWait {
        acquire: bool,
    },
    Mbarrier(Box<Mbarrier>),
    Bulk(Box<Bulk>),
    /// `st.async`, `red.async`.
    StoreAsync(Box<StoreAsync>),
    TensorMapReplace(Box<TensorMapReplace>),
    /// `tensormap.cp_fenceproxy`.
    TensorMapCopy {
        to: Address,
        from: Address,
    },
    BulkCommit,
    BulkWait {
        pending: u32,
        read: bool,
    },
    WgmmaFence,
    Wgmma(Box<Wgmma>),
    WgmmaCommit,
    WgmmaWait(u32),
    MaxRegisters {
        count: u32,
        increase: bool,
    },
}

/// One instruction of a kernel.
pub(crate) struct Inst {
    pub op: Op,
    pub guard: Option<(u32, bool)>,
    pub line: u32,
    pub loc: Loc,
    pub text: Box<str>,
    /// Rows of the registers that it names, read or written.
    pub registers: Box<[u32]>,
}
