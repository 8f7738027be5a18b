//! The host semantics of the product of parts: every mainloop that the tables compose.

use super::call::{HostCall, Shares, Side};
use super::microkernel::{MOST_COLUMNS, ROWS, Value, multiply};
use super::operand::Widened;
use super::pack::{Panels, Shared, pack};
use super::pool::Pool;
use crate::contract::{
    Accumulator, AccumulatorHandOver, DynMainloop, GroupChange, HostMainloop, MAX_OPERANDS, MainloopWorker, RowBands,
    SCALES_A, SCALES_B, ZERO_POINTS,
};
use warpwright_numeric::Dtype;
use warpwright_spec::{
    BaseKind, Bounded, Granularity, InstructionId, LoaderId, Mnk, OperandDecl, OperandLayout, PROMOTION, ReadFrom,
    ScaleKind, Spec, Work,
};

/// The mainloop that a spec's loader, transform, scales and instruction compose to.
///
/// Its host semantics: operands are widened to the accumulator's type (fp8, fp6, fp4, f16, bf16 and tf32 to f32, all exactly) and
/// multiplied by fused multiply-adds in the order of K, from zero. Integers wrap, as the tensor cores' do. Zero points are
/// subtracted first, which is exact. With scales, the partial sum of each scale group starts from zero, and enters the
/// accumulator by one fused multiply-add with the product of the group's scale factors, rounded to f32: `(q - z) * s` summed
/// in the cheaper order. Hardware's block scale factors have the same rendering, and so have sums that are promoted, with a scale
/// factor of 1 for every [`PROMOTION`] products. What an instruction's own sums lose is not reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Product;

impl DynMainloop for Product {
    fn name(&self) -> &'static str {
        "product"
    }

    fn operands(&self, s: &Spec) -> Bounded<OperandDecl, MAX_OPERANDS> {
        let from = match s.instruction {
            InstructionId::WGMMA | InstructionId::TCGEN05 => ReadFrom::Shared,
            _ => ReadFrom::Registers,
        };
        let strided = |name, element, order, granularity| OperandDecl {
            name,
            element,
            layout: OperandLayout::Strided { order },
            base: BaseKind::Single,
            granularity,
            read_from: from,
        };
        let scale = match s.scales.kind {
            ScaleKind::Hardware if s.scales.k == 16 => Dtype::E4m3,
            ScaleKind::Hardware => Dtype::E8m0,
            _ => Dtype::F32,
        };
        let mut list = Bounded::new().with(strided("a", s.a, s.order_a, Granularity::A)).with(strided(
            "b",
            s.b,
            s.order_b,
            Granularity::B,
        ));
        let (m, n, k) = (s.scales.m, s.scales.n, s.scales.k);
        if s.scales.any() && m > 0 {
            list = list.with(strided(SCALES_A, scale, None, Granularity { m, n: 0, k }));
        }
        if s.scales.any() && n > 0 {
            list = list.with(strided(SCALES_B, scale, None, Granularity { m: 0, n, k }));
        }
        if s.scales.zero_points {
            list = list.with(strided(ZERO_POINTS, s.b, None, Granularity { m: 0, n, k }));
        }
        list
    }

    fn group_change(&self, spec: &Spec, base: BaseKind) -> GroupChange {
        match (spec.loader, base) {
            (LoaderId::TMA | LoaderId::TMA_MULTICAST, BaseKind::Array) => GroupChange::ReplaceDescriptors,
            _ => GroupChange::Addresses,
        }
    }

    fn host<'c>(&self, call: &'c HostCall<'c>) -> Box<dyn HostMainloop + 'c> {
        match call.plan().spec.acc {
            Dtype::F64 => Box::new(ProductHost::<f64>::new(call)),
            Dtype::I32 => Box::new(ProductHost::<i32>::new(call)),
            _ => Box::new(ProductHost::<f32>::new(call)),
        }
    }
}

/// Steps of K between loads and stores of accumulators: 16 KiB of a panel of B, half a first-level cache.
const DEPTH: usize = 256;

/// Most bytes of packed operands that tiles share. Beyond, each tile packs for itself.
const MOST_SHARED: usize = 1 << 29;

/// Accumulators of a mainloop: their arithmetic, and the scale step where there is one.
trait Sum: Widened + Accumulator {
    /// Memory for packed operands.
    fn pool() -> &'static Pool<Self>;
    /// `self - z`.
    fn minus(self, z: Self) -> Self;
    /// Adds the partial sums of a row, times its scale factor and each column's. Rules admit scales for f32 alone.
    fn promote(sums: &mut [Self], partial: &[Self], row: f32, columns: &[f32]);
}
impl Sum for f32 {
    fn pool() -> &'static Pool<f32> {
        static POOL: Pool<f32> = Pool::new();
        &POOL
    }
    fn minus(self, z: f32) -> f32 {
        self - z
    }
    fn promote(sums: &mut [f32], partial: &[f32], row: f32, columns: &[f32]) {
        #[inline(always)]
        fn each(sums: &mut [f32], partial: &[f32], row: f32, columns: &[f32]) {
            for ((sum, partial), column) in sums.iter_mut().zip(partial).zip(columns) {
                *sum = partial.mul_add(row * column, *sum);
            }
        }
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma")]
            fn avx2(sums: &mut [f32], partial: &[f32], row: f32, columns: &[f32]) {
                each(sums, partial, row, columns);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the features that the function is compiled for were just found.
                return unsafe { avx2(sums, partial, row, columns) };
            }
        }
        each(sums, partial, row, columns);
    }
}
impl Sum for f64 {
    fn pool() -> &'static Pool<f64> {
        static POOL: Pool<f64> = Pool::new();
        &POOL
    }
    fn minus(self, z: f64) -> f64 {
        self - z
    }
    fn promote(sums: &mut [f64], partial: &[f64], row: f32, columns: &[f32]) {
        for ((sum, partial), column) in sums.iter_mut().zip(partial).zip(columns) {
            *sum = partial.mul_add(f64::from(row) * f64::from(*column), *sum);
        }
    }
}
impl Sum for i32 {
    fn pool() -> &'static Pool<i32> {
        static POOL: Pool<i32> = Pool::new();
        &POOL
    }
    fn minus(self, z: i32) -> i32 {
        self.wrapping_sub(z)
    }
    fn promote(sums: &mut [i32], partial: &[i32], _: f32, _: &[f32]) {
        sums.iter_mut().zip(partial).for_each(|(sum, partial)| *sum = sum.wrapping_add(*partial));
    }
}

struct ProductHost<'c, V: Sum> {
    call: &'c HostCall<'c>,
    first: Option<Shared<V>>,
    second: Option<Shared<V>>,
}

/// Lines, rounded up to whole panels.
fn padded(lines: usize, width: usize) -> usize {
    lines.next_multiple_of(width)
}

/// Lines of a panel of one side.
fn width<V: Value>(side: Side) -> usize {
    if side == Side::First { ROWS } else { V::COLUMNS }
}

impl<'c, V: Sum> ProductHost<'c, V> {
    fn new(call: &'c HostCall<'c>) -> Self {
        let (space, tile) = (call.space(), call.plan().tile);
        let bound = call.problem().bound();
        let shared = |tiles: usize, uses: usize, lines: usize, width: usize| {
            let entry = padded(lines, width).saturating_mul(bound.k);
            Shared::new(V::pool(), (space.groups, tiles, uses), entry, MOST_SHARED / 2)
        };
        ProductHost {
            call,
            first: shared(space.tiles.m, space.tiles.n, tile.m, ROWS),
            second: shared(space.tiles.n, space.tiles.m, tile.n, V::COLUMNS),
        }
    }

    /// Packs a tile's lines of one side over a range of K, zero points subtracted.
    fn pack(&self, side: Side, group: usize, lines: (usize, usize), (k_begin, k): (usize, usize), out: &mut [V]) {
        let operand = self.call.operand(side, group);
        let width = width::<V>(side);
        // SAFETY: the lines and steps lie within the group's extents, which were checked against the operand's memory when the
        // call was made, or held to it.
        unsafe {
            match width {
                ROWS => pack::<V, ROWS>(&operand, lines, (k_begin, k), out),
                8 => pack::<V, 8>(&operand, lines, (k_begin, k), out),
                _ => pack::<V, MOST_COLUMNS>(&operand, lines, (k_begin, k), out),
            }
        };
        let Some(zeros) = self.call.zero_points(side, group) else { return };
        let mut of_lines = vec![V::default(); padded(lines.1, width)];
        for (begin, count) in spans(k_begin, k_begin + k, zeros.per_k) {
            read_shares(&zeros, lines, begin, &mut of_lines);
            for (panel, zeros) in out.chunks_exact_mut(width * k).zip(of_lines.chunks_exact(width)) {
                for step in panel[(begin - k_begin) * width..][..count * width].chunks_exact_mut(width) {
                    step.iter_mut().zip(zeros).for_each(|(q, z)| *q = q.minus(*z));
                }
            }
        }
    }
}

/// Parts of `begin..end` that lie in one block of `per` each, as (begin, count); one part if `per` is 0.
fn spans(begin: usize, end: usize, per: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = begin;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let next = at.checked_div(per).map_or(end, |block| end.min((block + 1) * per));
        let span = (at, next - at);
        at = next;
        Some(span)
    })
}

/// The shared value of each line at step `k`; lines that do not exist keep what is there.
fn read_shares<V: Widened>(shares: &Shares, (first, count): (usize, usize), k: usize, out: &mut [V]) {
    let block = |at: usize, per: usize| at.checked_div(per).unwrap_or(0);
    let lines = &shares.lines;
    let at = |line: usize| {
        lines.first + block(line, shares.per_line) * lines.line_stride + block(k, shares.per_k) * lines.k_stride
    };
    if shares.per_line == 1 {
        // SAFETY: the shares cover the operand's extents, as was checked when the call was made.
        return unsafe { V::read(lines.base, lines.dtype, at(first), lines.line_stride, &mut out[..count]) };
    }
    let mut last = None;
    for i in 0..count {
        if last != Some(at(first + i)) {
            // SAFETY: as above.
            unsafe { V::read(lines.base, lines.dtype, at(first + i), 1, &mut out[i..=i]) };
            last = Some(at(first + i));
        } else {
            out[i] = out[i - 1];
        }
    }
}

impl<V: Sum> HostMainloop for ProductHost<'_, V> {
    fn worker(&self) -> Box<dyn MainloopWorker + '_> {
        let plan = self.call.plan();
        let Mnk { m, n, .. } = plan.tile;
        Box::new(ProductWorker {
            host: self,
            sums: RowBands {
                values: vec![V::default(); m * n],
                columns: n,
                rows: plan.resources.accumulators.subtile_m.clamp(1, m.max(1)),
            },
            partial: Vec::new(),
            first: Vec::new(),
            second: Vec::new(),
            scales: [Vec::new(), Vec::new()],
        })
    }
}

struct ProductWorker<'w, V: Sum> {
    host: &'w ProductHost<'w, V>,
    sums: RowBands<V>,
    partial: Vec<V>,
    first: Vec<V>,
    second: Vec<V>,
    scales: [Vec<f32>; 2],
}

/// The rows, columns and steps of one work.
#[derive(Clone, Copy)]
struct Region {
    group: usize,
    tiles: [usize; 2],
    rows: (usize, usize),
    columns: (usize, usize),
    depth: usize,
}

impl<V: Sum> MainloopWorker for ProductWorker<'_, V> {
    fn accumulate(&mut self, work: &Work) -> &mut dyn AccumulatorHandOver {
        let (call, tile) = (self.host.call, self.host.call.plan().tile);
        self.sums.values.fill(V::default());
        let all = call.extents(work.group);
        let lines = |index: usize, tile: usize, extent: usize| {
            let first = index * tile;
            (first, tile.min(extent.saturating_sub(first)))
        };
        let region = Region {
            group: work.group,
            tiles: [work.tile_m, work.tile_n],
            rows: lines(work.tile_m, tile.m, all.m),
            columns: lines(work.tile_n, tile.n, all.n),
            depth: all.k,
        };
        let begin = (work.k_begin * tile.k).min(all.k);
        let end = all.k.min(begin + work.k_count * tile.k);
        if work.k_count == 0 || region.rows.1 == 0 || region.columns.1 == 0 {
            return &mut self.sums;
        }
        let shares = [Side::First, Side::Second].map(|side| call.scales(side, work.group));
        let (scales, promotes) = (shares.iter().any(Option::is_some), call.plan().spec.promotes());
        if !scales && !promotes {
            let mut sums = core::mem::take(&mut self.sums.values);
            self.multiply(region, begin, end, &mut sums);
            self.sums.values = sums;
        } else {
            let per_k = if scales { call.plan().spec.scales.k } else { PROMOTION };
            self.scaled(region, begin, end, per_k, &shares);
        }
        &mut self.sums
    }
}

impl<V: Sum> ProductWorker<'_, V> {
    /// Adds the steps `begin..end` to `sums`.
    fn multiply(&mut self, region: Region, begin: usize, end: usize, sums: &mut [V]) {
        let host = self.host;
        let columns = host.call.plan().tile.n;
        for (k_begin, k) in spans(begin, end, DEPTH) {
            let first = panels(host, Side::First, region, (k_begin, k), &mut self.first);
            let second = panels(host, Side::Second, region, (k_begin, k), &mut self.second);
            for (j, column) in (0..region.columns.1).step_by(V::COLUMNS).enumerate() {
                let b = second.get(j, k);
                for (i, row) in (0..region.rows.1).step_by(ROWS).enumerate() {
                    let rows = ROWS.min(region.rows.1 - row);
                    let a = first.get(i, k);
                    let target = &mut sums[row * columns + column..];
                    if columns - column >= V::COLUMNS {
                        multiply(rows, k, a, b, target, columns);
                    } else {
                        multiply_edge(rows, k, a, b, target, columns, columns - column);
                    }
                }
            }
        }
    }

    /// Adds the steps `begin..end`, group by group of `per_k`.
    fn scaled(&mut self, region: Region, begin: usize, end: usize, per_k: usize, shares: &[Option<Shares>; 2]) {
        let columns = self.host.call.plan().tile.n;
        let mut partial = core::mem::take(&mut self.partial);
        partial.resize(self.sums.values.len(), V::default());
        for (k_begin, k) in spans(begin, end, per_k) {
            partial.fill(V::default());
            self.multiply(region, k_begin, k_begin + k, &mut partial);
            let [of_rows, of_columns] = &mut self.scales;
            for ((scales, shares), lines) in
                [&mut *of_rows, of_columns].into_iter().zip(shares).zip([region.rows, region.columns])
            {
                scales.clear();
                scales.resize(lines.1, 1.0);
                if let Some(shares) = shares {
                    read_shares(shares, lines, k_begin, scales);
                }
            }
            for (i, of_row) in of_rows.iter().enumerate() {
                let line = i * columns..i * columns + region.columns.1;
                V::promote(&mut self.sums.values[line.clone()], &partial[line], *of_row, of_columns);
            }
        }
        self.partial = partial;
    }
}

/// A tile's panels of one side over a range of K: those that tiles share, or packed into `own`.
fn panels<'p, V: Sum>(
    host: &'p ProductHost<'_, V>,
    side: Side,
    region: Region,
    (k_begin, k): (usize, usize),
    own: &'p mut Vec<V>,
) -> Panels<'p, V> {
    let width = width::<V>(side);
    let (shared, tile, lines) = match side {
        Side::First => (&host.first, region.tiles[0], region.rows),
        Side::Second => (&host.second, region.tiles[1], region.columns),
    };
    let packed = |k: (usize, usize), out: &mut [V]| host.pack(side, region.group, lines, k, out);
    let len = padded(lines.1, width) * region.depth;
    let shared = shared.as_ref().and_then(|s| s.get(region.group, tile, len, |out| packed((0, region.depth), out)));
    if let Some(data) = shared {
        return Panels::new(data, width, region.depth, k_begin);
    }
    own.resize(padded(lines.1, width) * k, V::default());
    packed((k_begin, k), own);
    Panels::new(own, width, k, 0)
}

/// [`multiply`] for the last columns of a tile that is no whole number of panels wide.
fn multiply_edge<V: Value>(rows: usize, k: usize, a: &[V], b: &[V], c: &mut [V], leading: usize, columns: usize) {
    let mut wide = [V::default(); ROWS * MOST_COLUMNS];
    let wide = &mut wide[..rows * V::COLUMNS];
    for (wide, c) in wide.chunks_exact_mut(V::COLUMNS).zip(c.chunks(leading)) {
        wide[..columns].copy_from_slice(&c[..columns]);
    }
    multiply(rows, k, a, b, wide, V::COLUMNS);
    for (wide, c) in wide.chunks_exact(V::COLUMNS).zip(c.chunks_mut(leading)) {
        c[..columns].copy_from_slice(&wide[..columns]);
    }
}
