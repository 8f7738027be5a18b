//! The builder's slots, in two bundles with defaults, so that a type shows only what somebody fixed.

use core::marker::PhantomData;
use warpwright_numeric::Element;
use warpwright_spec::*;

/// What is multiplied: B's and D's element, the three layouts, the scales. (A's element is the builder's own.)
pub struct Operands<B = Auto, D = Auto, LA = Auto, LB = Auto, LD = Auto, S = NoScales>(
    PhantomData<(B, D, LA, LB, LD, S)>,
);

/// How it is multiplied: tile, cluster, schedule, stages, scheduler, accumulation, where A is read, where the epilogue is staged.
#[allow(clippy::type_complexity)]
pub struct Plan<T = Auto, C = Auto, S = Auto, N = Auto, W = Auto, Q = Auto, F = Auto, E = Auto>(
    PhantomData<(T, C, S, N, W, Q, F, E)>,
);

/// What an [`Operands`] bundle stands for beside an A of this element.
pub trait OperandsOf<A: Element>: 'static {
    /// Element of B; A's unless it was fixed.
    type B: Element;
    /// Element of D; A's default output unless it was fixed.
    type D: Element;
    /// Layout of A.
    type LayoutA: LayoutChoice;
    /// Layout of B.
    type LayoutB: LayoutChoice;
    /// Layout of D.
    type LayoutD: LayoutChoice;
    /// Scale factors.
    type Scales: Scales;
}
impl<A, B, D, LA, LB, LD, S> OperandsOf<A> for Operands<B, D, LA, LB, LD, S>
where
    A: Element,
    B: ElementChoice<A>,
    D: ElementChoice<A::Output>,
    LA: LayoutChoice,
    LB: LayoutChoice,
    LD: LayoutChoice,
    S: Scales,
{
    type B = B::Element;
    type D = D::Element;
    type LayoutA = LA;
    type LayoutB = LB;
    type LayoutD = LD;
    type Scales = S;
}

/// What a [`Plan`] bundle stands for.
pub trait PlanOf: 'static {
    /// The tile.
    type Tile: ShapeChoice;
    /// The cluster.
    type Cluster: ShapeChoice;
    /// The schedule.
    type Schedule: Schedule;
    /// The pipeline depth.
    type Stages: StagesChoice;
    /// The tile scheduler.
    type Scheduler: TileScheduler;
    /// How sums are kept.
    type Accumulation: Accumulation;
    /// Where the instruction reads its first operand.
    type FirstFrom: OperandSource;
    /// Where the epilogue is staged.
    type Staging: EpilogueStaging;
}
impl<T, C, S, N, W, Q, F, E> PlanOf for Plan<T, C, S, N, W, Q, F, E>
where
    T: ShapeChoice,
    C: ShapeChoice,
    S: Schedule,
    N: StagesChoice,
    W: TileScheduler,
    Q: Accumulation,
    F: OperandSource,
    E: EpilogueStaging,
{
    type Tile = T;
    type Cluster = C;
    type Schedule = S;
    type Stages = N;
    type Scheduler = W;
    type Accumulation = Q;
    type FirstFrom = F;
    type Staging = E;
}
