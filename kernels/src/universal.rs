//! The kernel: three collectives.

use crate::mainloop::CollectiveMainloop;
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_epilogue::{CollectiveEpilogue, Fusion};
use warpwright_numeric::Element;
use warpwright_spec::{
    Extension, Feeds, Instruction, LayoutChoice, Loader, Scales, Schedule, ShapeChoice, Spec, StagesChoice,
    TileScheduler, Transform, enforce,
};

/// A kernel, as a type: its spec is all that lowering ever sees.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    note = "`GemmUniversal<Mainloop, Epilogue, Scheduler>` is one"
)]
pub trait GemmKernel: 'static {
    /// Element of A.
    type A: Element;
    /// Element of B.
    type B: Element;
    /// Element of D.
    type D: Element;
    /// What the epilogue computes.
    type Fusion: Fusion + 'static;
    /// The kernel as a value.
    const SPEC: Spec;
    /// Evaluates to a rustc error if the kernel is illegal; name it to have `cargo check` look.
    const LEGAL: () = enforce(&Self::SPEC);
}

/// What hands out a kernel's tiles: a tag of the spec crate, or a scheduler of another crate, which names its device text and its
/// value-level half ([`Implementation`](warpwright_schedulers::Implementation)) in [`EXTENSION`](Self::EXTENSION).
pub trait CollectiveScheduler<S: Schedule>: 'static {
    /// The tag that stands for it in tables and rules.
    type Tag: TileScheduler;
    /// A scheduler from another crate; `None` for the tags.
    const EXTENSION: Option<Extension>;
}

impl<S: Schedule, W: Feeds<S>> CollectiveScheduler<S> for W {
    type Tag = W;
    const EXTENSION: Option<Extension> = None;
}

/// Mainloop, epilogue, scheduler: composed by hand, by the builder, or by the builder's `Auto`.
pub struct GemmUniversal<M, E, S>(PhantomData<(M, E, S)>);

impl<M, E, S> GemmKernel for GemmUniversal<M, E, S>
where
    M: CollectiveMainloop,
    E: CollectiveEpilogue,
    S: CollectiveScheduler<M::Schedule>,
{
    type A = M::A;
    type B = M::B;
    type D = E::D;
    type Fusion = E::Fusion;
    const SPEC: Spec = Spec {
        arch: <M::Arch as Arch>::ID,
        a: <M::A as Element>::DTYPE,
        b: <M::B as Element>::DTYPE,
        acc: <M::Acc as Element>::DTYPE,
        d: <E::D as Element>::DTYPE,
        order_a: <M::LayoutA as LayoutChoice>::ORDER,
        order_b: <M::LayoutB as LayoutChoice>::ORDER,
        order_d: <E::Layout as LayoutChoice>::ORDER,
        instruction: <M::Instruction as Instruction>::ID,
        loader: <M::Loader as Loader>::ID,
        transform: <M::Transform as Transform>::ID,
        scales: <M::Scales as Scales>::SPEC,
        accumulation: M::ACCUMULATION,
        first_from: M::FIRST_FROM,
        swap_ab: M::SWAP_AB,
        staging: E::STAGING,
        tile: <M::Tile as ShapeChoice>::VALUE,
        cluster: <M::Cluster as ShapeChoice>::VALUE,
        stages: <M::Stages as StagesChoice>::VALUE,
        schedule: <M::Schedule as Schedule>::ID,
        scheduler: <S::Tag as TileScheduler>::ID,
        epilogue: E::NODE,
        mainloop: M::EXTENSION,
        tile_scheduler: S::EXTENSION,
    };
}
