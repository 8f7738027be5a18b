//! The contract of a mainloop, as a value.

use crate::contract::accumulators::{AccumulatorHandOver, Subtile};
use crate::host::HostCall;
use warpwright_numeric::Dtype;
use warpwright_schedulers::Fragment;
use warpwright_spec::{
    AccumulatorSource, BaseKind, Bounded, KernelPlan, Mnk, OperandDecl, ResourcePlan, Role, Spec, Work,
};

/// Most operands of a mainloop.
pub const MAX_OPERANDS: usize = 8;

/// What a mainloop does when the next tile belongs to another group than the one before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupChange {
    /// It computes addresses afresh for every tile.
    Addresses,
    /// It replaces the operands' tensor maps in global memory, and fences before the next copy uses them.
    ReplaceDescriptors,
}

/// Something that a mainloop computes beside the product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SideOutput {
    /// Its name among the extra operands.
    pub name: &'static str,
    /// Its element.
    pub element: Dtype,
    /// Which operand it is reduced from along K.
    pub of: &'static str,
}

/// What produces a tile's accumulators.
///
/// The type level's [`CollectiveMainloop`](crate::CollectiveMainloop) reifies to a [`Spec`] and one of these. It states what
/// it reads and occupies, and has *host semantics*: the CPU's rendering of the same tiles, order of K, promotion and
/// hand-over. Whoever adds a mainloop implements this; the kernel shell, the host's and the device's, needs nothing else.
pub trait DynMainloop: Send + Sync + core::fmt::Debug {
    /// The name in plans and kernels.
    fn name(&self) -> &'static str;

    /// What it reads for a spec: A and B, then scales, zero points and the like.
    fn operands(&self, spec: &Spec) -> Bounded<OperandDecl, MAX_OPERANDS>;

    /// What it occupies: roles with warps and registers, pipelines, buffers, and the accumulator source.
    fn resources(&self, spec: &Spec, tile: Mnk) -> ResourcePlan {
        ResourcePlan::of(spec, tile)
    }

    /// Its roles, in the order of their warps.
    fn roles(&self, plan: &KernelPlan) -> Bounded<Role, 6> {
        plan.resources.roles
    }

    /// Where and how it hands accumulators over.
    fn accumulators(&self, plan: &KernelPlan) -> AccumulatorSource {
        plan.resources.accumulators
    }

    /// What happens when the tile's group changes; `base` is how the groups' operands are addressed.
    fn group_change(&self, spec: &Spec, base: BaseKind) -> GroupChange;

    /// What it computes beside the product.
    fn side_outputs(&self) -> &'static [SideOutput] {
        &[]
    }

    /// Its host semantics for one call.
    fn host<'c>(&self, call: &'c HostCall<'c>) -> Box<dyn HostMainloop + 'c>;
}

/// What an [`Extension`](warpwright_spec::Extension) of another crate holds as its `implementation` if it is a mainloop.
#[derive(Clone, Copy, Debug)]
pub struct MainloopImplementation(pub &'static dyn DynMainloop);

/// A mainloop on the host, for one call. Packed operands that tiles share live here.
pub trait HostMainloop: Sync {
    /// What one thread needs: the accumulators of a tile, and scratch. One is made a thread, and used for many tiles.
    fn worker(&self) -> Box<dyn MainloopWorker + '_>;
}

/// One thread's part of a [`HostMainloop`].
pub trait MainloopWorker {
    /// Computes a tile's accumulators over the work's K tiles, starting from zero. Operands outside that range are not read;
    /// with `k_count` 0 none are, and the accumulators are zeros.
    ///
    /// Each accumulator is summed in the order of K, promoted where the spec's scale groups end.
    fn accumulate(&mut self, work: &Work) -> &mut dyn AccumulatorHandOver;
}

/// The bytes of a tile's accumulators, of which a split tile's workspace slot has as many.
pub fn accumulator_bytes(plan: &KernelPlan) -> usize {
    plan.tile.m.saturating_mul(plan.tile.n).saturating_mul(plan.spec.acc.bits() / 8)
}

/// Whole-tile accumulators in one array, handed over in row bands of `rows` rows.
#[derive(Clone, Debug)]
pub struct RowBands<V> {
    /// Row by row, `columns` each.
    pub values: Vec<V>,
    /// Columns of the tile.
    pub columns: usize,
    /// Rows of a subtile.
    pub rows: usize,
}

/// A type of accumulators that has a [`Fragment`].
pub trait Accumulator: Copy + 'static {
    /// The fragment of a run.
    fn fragment(values: &mut [Self]) -> Fragment<'_>;
}
macro_rules! accumulator {
    ($($t:ty: $variant:ident)+) => { $(impl Accumulator for $t {
        fn fragment(values: &mut [Self]) -> Fragment<'_> {
            Fragment::$variant(values)
        }
    })+ };
}
accumulator!(f32: F32 f64: F64 i32: I32);

impl<V> RowBands<V> {
    fn band(&self) -> usize {
        (self.rows * self.columns).max(1)
    }
}

impl<V: Accumulator> warpwright_schedulers::Accumulators for RowBands<V> {
    fn subtiles(&self) -> usize {
        self.values.len().div_ceil(self.band())
    }
    fn subtile(&mut self, index: usize) -> Fragment<'_> {
        let first = index * self.band();
        let end = (first + self.band()).min(self.values.len());
        V::fragment(&mut self.values[first..end])
    }
}

impl<V: Accumulator> AccumulatorHandOver for RowBands<V> {
    fn place(&self, index: usize) -> Subtile {
        let m = index * self.rows;
        let rows = self.rows.min(self.values.len() / self.columns.max(1) - m);
        Subtile { m, n: 0, rows, columns: self.columns }
    }
}
