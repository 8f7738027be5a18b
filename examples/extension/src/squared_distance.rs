//! The mainloop: Σₖ (a − b)² in place of Σₖ a · b.

use warpwright::kernels::contract::{
    AccumulatorHandOver, DynMainloop, GroupChange, HostMainloop, MAX_OPERANDS, MainloopImplementation, MainloopWorker,
    RowBands,
};
use warpwright::kernels::host::{HostCall, Side};
use warpwright::spec::{
    BaseKind, Bounded, Granularity, Instruction, InstructionId, OperandDecl, OperandLayout, ReadFrom, Work,
};
use warpwright::{
    Acc, Auto, CollectiveMainloop, CpAsync, Epilogue, Extension, GemmUniversal, Identity, Multistage, NoScales, Shape,
    Sm80, Spec, U16, U64, U128, f16,
};

/// Its instruction: subtract, square, add. Accumulators lie in registers as those of mma.sync, whose place in the rules it takes.
pub struct SquaredDifference;

impl Instruction for SquaredDifference {
    const ID: InstructionId = InstructionId::MMA_SYNC;
}

/// The mainloop at the type level: f16 points, f32 sums.
pub struct SquaredDistance;

impl CollectiveMainloop for SquaredDistance {
    type Arch = Sm80;
    type A = f16;
    type B = f16;
    type Acc = f32;
    type LayoutA = Auto;
    type LayoutB = Auto;
    type Loader = CpAsync;
    type Transform = Identity;
    type Scales = NoScales;
    type Instruction = SquaredDifference;
    type Tile = Shape<U64, U128, U16>;
    type Cluster = Auto;
    type Stages = Auto;
    type Schedule = Multistage;
    const EXTENSION: Option<Extension> = Some(Extension {
        name: "SquaredDistance",
        cuda: include_str!("squared_distance.cuh"),
        implementation: &MainloopImplementation(&Implementation),
    });
}

/// A kernel: distances, stored as f32, with the epilogue `N` and the scheduler `W`.
pub type Distances<N = Acc, W = Auto> = GemmUniversal<SquaredDistance, Epilogue<N, f32, Auto>, W>;

/// The value-level half.
#[derive(Debug)]
struct Implementation;

impl DynMainloop for Implementation {
    fn name(&self) -> &'static str {
        "squared_distance"
    }

    fn operands(&self, spec: &Spec) -> Bounded<OperandDecl, MAX_OPERANDS> {
        let operand = |name, element, order, granularity| OperandDecl {
            name,
            element,
            layout: OperandLayout::Strided { order },
            base: BaseKind::Single,
            granularity,
            read_from: ReadFrom::Registers,
        };
        Bounded::new().with(operand("a", spec.a, spec.order_a, Granularity::A)).with(operand(
            "b",
            spec.b,
            spec.order_b,
            Granularity::B,
        ))
    }

    fn group_change(&self, _: &Spec, _: BaseKind) -> GroupChange {
        GroupChange::Addresses
    }

    fn host<'c>(&self, call: &'c HostCall<'c>) -> Box<dyn HostMainloop + 'c> {
        Box::new(Host { call })
    }
}

struct Host<'c> {
    call: &'c HostCall<'c>,
}

impl HostMainloop for Host<'_> {
    fn worker(&self) -> Box<dyn MainloopWorker + '_> {
        let plan = self.call.plan();
        let (m, n) = (plan.tile.m, plan.tile.n);
        let rows = plan.resources.accumulators.subtile_m;
        Box::new(Worker { call: self.call, sums: RowBands { values: vec![0f32; m * n], columns: n, rows } })
    }
}

struct Worker<'c> {
    call: &'c HostCall<'c>,
    sums: RowBands<f32>,
}

impl MainloopWorker for Worker<'_> {
    fn accumulate(&mut self, work: &Work) -> &mut dyn AccumulatorHandOver {
        let (tile, extents) = (self.call.plan().tile, self.call.extents(work.group));
        let [a, b] = [Side::First, Side::Second].map(|side| self.call.operand(side, work.group));
        let depth = work.k_begin * tile.k..extents.k.min((work.k_begin + work.k_count) * tile.k);
        self.sums.values.fill(0.0);
        for (i, sum) in self.sums.values.iter_mut().enumerate() {
            let (m, n) = (work.tile_m * tile.m + i / tile.n, work.tile_n * tile.n + i % tile.n);
            if m >= extents.m || n >= extents.n {
                continue;
            }
            for k in depth.clone() {
                // SAFETY: both elements lie within the group's extents.
                let difference = unsafe { a.at::<f32>(m, k) - b.at::<f32>(n, k) };
                *sum = difference.mul_add(difference, *sum);
            }
        }
        &mut self.sums
    }
}
