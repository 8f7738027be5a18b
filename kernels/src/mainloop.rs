//! The mainloop at the type level.

use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_numeric::Element;
use warpwright_spec::{
    Accumulation, AccumulationId, Auto, Extension, Instruction, LayoutChoice, Loader, NoScales, OperandSource,
    ReadFrom, ScaledBy, Scales, Schedule, ShapeChoice, StagesChoice, Transform,
};

/// Produces a tile's accumulators: how operands arrive, what is done to them on the way, what multiplies them.
///
/// This is the seam's type-level half; what it states about roles, pipelines, hand-over and groups, and its host semantics, is
/// the value-level half, [`DynMainloop`](crate::contract::DynMainloop). For compositions of the parts that this project has,
/// [`Mainloop`] is the implementation; another crate's mainloop implements this trait on a type of its own, and names its
/// value-level half and device text in [`EXTENSION`](Self::EXTENSION).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a collective mainloop",
    note = "`Mainloop<Arch, Operands, Path, Plan>` is one"
)]
pub trait CollectiveMainloop: 'static {
    /// Which instructions may be used.
    type Arch: Arch;
    /// Element of A.
    type A: Element;
    /// Element of B.
    type B: Element;
    /// Element of the accumulator.
    type Acc: Element;
    /// How A lies in memory.
    type LayoutA: LayoutChoice;
    /// How B lies in memory.
    type LayoutB: LayoutChoice;
    /// How operands reach shared memory.
    type Loader: Loader;
    /// What is done to B on the way.
    type Transform: Transform;
    /// How scale factors enter.
    type Scales: Scales;
    /// What multiplies.
    type Instruction: Instruction;
    /// The tile.
    type Tile: ShapeChoice;
    /// The cluster.
    type Cluster: ShapeChoice;
    /// The pipeline's depth.
    type Stages: StagesChoice;
    /// How loading, multiplying and storing overlap.
    type Schedule: Schedule;
    /// How sums are kept by an instruction that keeps fewer bits than the accumulator.
    const ACCUMULATION: AccumulationId = AccumulationId::PROMOTED;
    /// Where the instruction reads its first operand, if it has the choice.
    const FIRST_FROM: ReadFrom = ReadFrom::Shared;
    /// Whether A and B change places; `None`: as the plan decides.
    const SWAP_AB: Option<bool> = None;
    /// A mainloop from another crate; `None` for the product of parts.
    const EXTENSION: Option<Extension> = None;
}

/// The one mainloop type: a product of small axes, in four bundles. A feature is a value of one axis, never a new struct.
///
/// `Operands` is `(A, B, Acc, LayoutA, LayoutB)`, `Path` is `(Loader, Transform, Scales, Instruction, Accumulation,
/// OperandSource)`, and `Plan` is `(Tile, Cluster, Stages, Schedule)`.
pub struct Mainloop<Ar, Operands, Path, Plan = (Auto, Auto, Auto, Auto)>(PhantomData<(Ar, Operands, Path, Plan)>);

/// A path without transform and scales, which most kernels have.
pub type Direct<L, I, Q = Auto, F = Auto> = (L, warpwright_spec::Identity, NoScales, I, Q, F);

impl<Ar, A, B, Acc, LA, LB, L, T, S, I, Q, F, TileShape, C, N, Sched> CollectiveMainloop
    for Mainloop<Ar, (A, B, Acc, LA, LB), (L, T, S, I, Q, F), (TileShape, C, N, Sched)>
where
    Ar: Arch,
    A: Element,
    B: Element,
    Acc: Element,
    LA: LayoutChoice,
    LB: LayoutChoice,
    L: Loader,
    T: ScaledBy<S>,
    S: Scales,
    I: Instruction,
    Q: Accumulation,
    F: OperandSource,
    TileShape: ShapeChoice,
    C: ShapeChoice,
    N: StagesChoice,
    Sched: Schedule,
{
    type Arch = Ar;
    type A = A;
    type B = B;
    type Acc = Acc;
    type LayoutA = LA;
    type LayoutB = LB;
    type Loader = L;
    type Transform = T;
    type Scales = S;
    type Instruction = I;
    type Tile = TileShape;
    type Cluster = C;
    type Stages = N;
    type Schedule = Sched;
    const ACCUMULATION: AccumulationId = Q::ID;
    const FIRST_FROM: ReadFrom = F::FROM;
}
