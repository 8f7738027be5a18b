//! The kernel that the builder's types select.

use crate::bundles::{Operands, OperandsOf, Plan, PlanOf};
use core::marker::PhantomData;
use warpwright_epilogue::{Acc as AccNode, Epilogue, Fusion};
use warpwright_kernels::{GemmKernel, GemmUniversal, Mainloop};
use warpwright_numeric::Element;
use warpwright_spec::*;

/// What `.build(&device)` returns a [`Gemm`](crate::Gemm) of. It lists what the user named and nothing else, so that it stays
/// short in messages and in struct fields; [`Universal`] is what it stands for.
pub struct Composed<Ar, A, Acc, Io = Operands, P = Plan, N = AccNode>(PhantomData<(Ar, A, Acc, Io, P, N)>);

/// The instruction family that a plan selects on an architecture.
pub type FamilyOf<Ar, P> = <Ar as Runs<<P as PlanOf>::Schedule>>::Instruction;
/// The instruction that executes a product.
pub type InstructionOf<Ar, A, Acc, Io, P> =
    <Ar as Multiplies<FamilyOf<Ar, P>, A, <Io as OperandsOf<A>>::B, Acc>>::Instruction;
/// What is done to B on the way.
pub type TransformOf<Ar, A, Acc, Io, P> =
    <Ar as Multiplies<FamilyOf<Ar, P>, A, <Io as OperandsOf<A>>::B, Acc>>::Transform;

/// The collectives that a [`Composed`] stands for.
pub type Universal<Ar, A, Acc, Io, P, N> = GemmUniversal<
    Mainloop<
        Ar,
        (A, <Io as OperandsOf<A>>::B, Acc, <Io as OperandsOf<A>>::LayoutA, <Io as OperandsOf<A>>::LayoutB),
        (
            <Ar as Loads<InstructionOf<Ar, A, Acc, Io, P>>>::Loader,
            TransformOf<Ar, A, Acc, Io, P>,
            <Io as OperandsOf<A>>::Scales,
            InstructionOf<Ar, A, Acc, Io, P>,
            <P as PlanOf>::Accumulation,
            <P as PlanOf>::FirstFrom,
        ),
        (<P as PlanOf>::Tile, <P as PlanOf>::Cluster, <P as PlanOf>::Stages, <P as PlanOf>::Schedule),
    >,
    Epilogue<N, <Io as OperandsOf<A>>::D, <Io as OperandsOf<A>>::LayoutD, <P as PlanOf>::Staging>,
    <P as PlanOf>::Scheduler,
>;

impl<Ar, A, Acc, Io, P, N> GemmKernel for Composed<Ar, A, Acc, Io, P, N>
where
    A: Element,
    Acc: Element,
    Io: OperandsOf<A>,
    P: PlanOf,
    Ar: Runs<P::Schedule> + Multiplies<FamilyOf<Ar, P>, A, Io::B, Acc>,
    InstructionOf<Ar, A, Acc, Io, P>:
        Reads<A, <Io::LayoutA as LayoutChoice>::AsA> + Reads<Io::B, <Io::LayoutB as LayoutChoice>::AsB>,
    P::Scheduler: Feeds<P::Schedule>,
    TransformOf<Ar, A, Acc, Io, P>: ScaledBy<Io::Scales>,
    N: Fusion + 'static,
{
    type A = A;
    type B = Io::B;
    type D = Io::D;
    type Fusion = N;
    const SPEC: Spec = <Universal<Ar, A, Acc, Io, P, N> as GemmKernel>::SPEC;
}
