//! The host semantics of dot products: sums in the parts and in the order of the device's.

use super::call::{HostCall, Side};
use super::operand::{Lines, Widened};
use super::product::Product;
use crate::contract::{
    Accumulator, AccumulatorHandOver, DynMainloop, GroupChange, HostMainloop, MAX_OPERANDS, MainloopWorker, RowBands,
};
use crate::gemv::Share;
use warpwright_numeric::Dtype;
use warpwright_spec::{BaseKind, Bounded, MajorId, Mnk, OperandDecl, Spec, Work};

/// The mainloop of a matrix times few vectors.
///
/// Its host semantics: operands are widened as [`Product`]'s are. Each of the threads that share a sum multiplies its own part
/// of every step along K by fused multiply-adds in the order of K, from zero. Then the parts of a warp's lanes are added in
/// pairs, the farthest lanes first, and those sums in the order of the warps.
#[derive(Clone, Copy, Debug)]
pub struct DotProducts;

impl DynMainloop for DotProducts {
    fn name(&self) -> &'static str {
        "gemv"
    }

    fn operands(&self, spec: &Spec) -> Bounded<OperandDecl, MAX_OPERANDS> {
        Product.operands(spec)
    }

    fn group_change(&self, _: &Spec, _: BaseKind) -> GroupChange {
        GroupChange::Addresses
    }

    fn host<'c>(&self, call: &'c HostCall<'c>) -> Box<dyn HostMainloop + 'c> {
        match call.plan().spec.acc {
            Dtype::F64 => Box::new(GemvHost::<f64>::new(call)),
            Dtype::I32 => Box::new(GemvHost::<i32>::new(call)),
            _ => Box::new(GemvHost::<f32>::new(call)),
        }
    }
}

/// Sums that are put together of parts.
trait Parts: Widened + Accumulator {
    fn plus(self, other: Self) -> Self;
}
impl Parts for f32 {
    fn plus(self, other: f32) -> f32 {
        self + other
    }
}
impl Parts for f64 {
    fn plus(self, other: f64) -> f64 {
        self + other
    }
}
impl Parts for i32 {
    fn plus(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
}

struct GemvHost<'c, V> {
    call: &'c HostCall<'c>,
    share: Share,
    values: core::marker::PhantomData<fn() -> V>,
}

impl<'c, V> GemvHost<'c, V> {
    fn new(call: &'c HostCall<'c>) -> Self {
        GemvHost { call, share: Share::of(call.plan()), values: core::marker::PhantomData }
    }
}

impl<V: Parts> HostMainloop for GemvHost<'_, V> {
    fn worker(&self) -> Box<dyn MainloopWorker + '_> {
        let Mnk { m, n, .. } = self.call.plan().tile;
        let sums = RowBands { values: vec![V::default(); m * n], columns: n, rows: m };
        Box::new(GemvWorker { host: self, sums, row: Vec::new(), columns: Vec::new(), parts: Vec::new() })
    }
}

struct GemvWorker<'w, V> {
    host: &'w GemvHost<'w, V>,
    sums: RowBands<V>,
    row: Vec<V>,
    columns: Vec<V>,
    parts: Vec<V>,
}

impl<V: Parts> MainloopWorker for GemvWorker<'_, V> {
    fn accumulate(&mut self, work: &Work) -> &mut dyn AccumulatorHandOver {
        let call = self.host.call;
        let (tile, all) = (call.plan().tile, call.extents(work.group));
        self.sums.values.fill(V::default());
        let lines = |index: usize, tile: usize, extent: usize| {
            let first = index * tile;
            (first, tile.min(extent.saturating_sub(first)))
        };
        let (first_row, rows) = lines(work.tile_m, tile.m, all.m);
        let (first_column, columns) = lines(work.tile_n, tile.n, all.n);
        let begin = (work.k_begin * tile.k).min(all.k);
        let depth = all.k.min(begin + work.k_count * tile.k) - begin;
        if depth == 0 || rows == 0 || columns == 0 {
            return &mut self.sums;
        }
        let [matrix, vectors] = [Side::First, Side::Second].map(|side| call.operand(side, work.group));
        let read = |operand: &Lines, line: usize, to: &mut [V]| {
            let first = operand.first + line * operand.line_stride + begin * operand.k_stride;
            // SAFETY: the line and the steps lie within the group's extents, which were checked against the operand's memory
            // when the call was made, or held to it.
            unsafe { V::read(operand.base, operand.dtype, first, operand.k_stride, to) };
        };
        self.columns.resize(columns * depth, V::default());
        for (j, column) in self.columns.chunks_exact_mut(depth).enumerate() {
            read(&vectors, first_column + j, column);
        }
        self.row.resize(depth, V::default());
        for i in 0..rows {
            read(&matrix, first_row + i, &mut self.row);
            for (j, column) in self.columns.chunks_exact(depth).enumerate() {
                self.sums.values[i * tile.n + j] = self.host.dot(&self.row, column, &mut self.parts);
            }
        }
        &mut self.sums
    }
}

impl<V: Parts> GemvHost<'_, V> {
    fn dot(&self, row: &[V], column: &[V], parts: &mut Vec<V>) -> V {
        let Share { threads, width, lanes, .. } = self.share;
        parts.clear();
        parts.resize(threads.depth, V::default());
        // Elements that one thread has behind one another, and then the next.
        let together = match self.call.plan().major_a {
            MajorId::K => width,
            MajorId::MN => threads.lines,
        };
        for (at, (row, column)) in row.chunks(together).zip(column.chunks(together)).enumerate() {
            let part = &mut parts[at % threads.depth];
            for (x, y) in row.iter().zip(column) {
                *part = x.multiply_add(*y, *part);
            }
        }
        let warps = parts.chunks_exact_mut(lanes).map(|lanes| {
            let mut kept = lanes.len();
            while kept > 1 {
                kept /= 2;
                for i in 0..kept {
                    lanes[i] = lanes[i].plus(lanes[i + kept]);
                }
            }
            lanes[0]
        });
        warps.reduce(V::plus).unwrap_or_default()
    }
}
