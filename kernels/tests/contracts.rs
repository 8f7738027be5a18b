//! The contracts' proof: each thing that a later mainloop or scheduler needs, executed by the host through the very traits.

use std::sync::Arc;
use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_epilogue::Args;
use warpwright_kernels::GemmHost;
use warpwright_kernels::contract::*;
use warpwright_kernels::host::{HostCall, Product, Side};
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, RawViewMut, Space, Strided};
use warpwright_schedulers::{Accumulators, Fragment, GroupTiles, Implementation, TileScheduler, TileSpace, Works};
use warpwright_spec::*;

mod common;
use common::*;

const TILE: Mnk = Mnk { m: 32, n: 32, k: 32 };

fn f32_plan(scheduler: SchedulerId) -> KernelPlan {
    let mut plan = plan(spec(ArchId::SM80, Dtype::F32, Dtype::F32, Dtype::F32, Dtype::F32, ScaleSpec::NONE, TILE));
    plan.spec.scheduler = scheduler;
    plan
}

/// The product of two matrices given by element, which must be exact.
fn reference(k: usize, a: impl Fn(usize) -> f64, b: impl Fn(usize) -> f64) -> f64 {
    (0..k).map(|l| a(l) * b(l)).sum()
}

#[test]
fn stream_k_and_split_k_with_fixup_in_a_poisoned_workspace() {
    for (m, n, k) in [(100, 70, 1000), (33, 33, 3000), (200, 200, 320), (16, 160, 512)] {
        let a = Tensor::row_major(Dtype::F32, [1, m, k], integer(3));
        let b = Tensor::row_major(Dtype::F32, [1, k, n], |b, m, n| integer(3)(b + 1, m, n));
        let expected = |i, j| reference(k, |l| a.at(0, i, l), |l| b.at(0, l, j));
        let expected: Vec<f64> = (0..m * n).map(|x| expected(x / n, x % n)).collect();
        for (scheduler, wave, splits) in [
            (SchedulerId::STREAM_K, 7, 1),
            (SchedulerId::STREAM_K, 132, 1),
            (SchedulerId::STREAM_K, 2, 1),
            (SchedulerId::SPLIT_K, 5, 4),
            (SchedulerId::SPLIT_K, 1, 8),
            (SchedulerId::SPLIT_K, 3, 1000),
        ] {
            for transposed in [false, true] {
                let mut plan = f32_plan(scheduler);
                (plan.splits, plan.transposed) = (splits, transposed);
                let mut d = Tensor::row_major(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
                run(&plan, &dense(m, n, k), wave, (&a, &b, &mut d), Args::new(), &[]).unwrap();
                for (x, expected) in expected.iter().enumerate() {
                    assert_eq!(d.at(0, x / n, x % n), *expected, "{scheduler} {wave} {x}");
                }
            }
        }
    }
}

#[test]
fn splits_are_summed_in_the_order_of_k_and_so_reproducibly() {
    let (m, n, k) = (64, 64, 2048);
    let value = |b: usize, m: usize, n: usize| integer(1 << 20)(b, m, n) / 65536.0;
    let a = Tensor::row_major(Dtype::F32, [1, m, k], value);
    let b = Tensor::row_major(Dtype::F32, [1, k, n], value);
    for (scheduler, wave) in [(SchedulerId::SPLIT_K, 1), (SchedulerId::STREAM_K, 6)] {
        let mut plan = f32_plan(scheduler);
        plan.splits = 4;
        let mut results = (0..8).map(|_| {
            let mut d = Tensor::row_major(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
            run(&plan, &dense(m, n, k), wave, (&a, &b, &mut d), Args::new(), &[]).unwrap();
            d
        });
        let first = results.next().unwrap();
        assert!(results.all(|d| d.bytes == first.bytes));
        if scheduler == SchedulerId::SPLIT_K {
            let part = |i: usize, j: usize, s: usize| {
                (s * 512..(s + 1) * 512).fold(0f32, |c, l| (a.at(0, i, l) as f32).mul_add(b.at(0, l, j) as f32, c))
            };
            for (i, j) in [(0, 0), (63, 63), (5, 40)] {
                let sum = part(i, j, 0) + part(i, j, 1) + part(i, j, 2) + part(i, j, 3);
                assert_eq!(first.at(0, i, j), f64::from(sum));
            }
        }
    }
}

#[test]
fn grouped_with_extents_that_only_memory_knows() {
    let bound = Mnk::new(70, 90, 100);
    let extents = [[70, 90, 100], [0, 5, 5], [33, 1, 0], [1, 64, 17], [5, 5, 100], [64, 0, 3], [40, 41, 42]];
    let groups = extents.len();
    let a = Tensor::row_major(Dtype::F32, [groups, bound.m, bound.k], integer(4));
    let b = Tensor::column_major(Dtype::F32, [groups, bound.k, bound.n], |b, m, n| integer(4)(b + 50, m, n));
    let plan = f32_plan(SchedulerId::GROUPED);
    let p = problem(Extents::Grouped(Groups::Device { count: groups, at_most: bound }));
    let mut words = Tensor::row_major(Dtype::I32, [1, groups, 3], |_, _, _| 1.0);
    let mut d = Tensor::row_major(Dtype::F32, [groups, bound.m, bound.n], |_, _, _| -7.0);

    let address = words.bytes.as_mut_ptr();
    // SAFETY: the words outlive the call, and are written before it is executed.
    let view = unsafe {
        RawView::new(address.expose_provenance() as u64, words.bytes.len(), Space::Host, Dtype::I32, words.layout)
    };
    let extra = [(EXTENTS, view)];
    let arguments =
        Arguments { a: a.view(), b: b.view(), d: d.view_mut(), epilogue: const { &Args::new() }, extra: &extra };
    // SAFETY: D is borrowed for the call.
    let host = unsafe { GemmHost::new(&plan, &DeviceInfo::h100(), &p, arguments) }.unwrap();
    // What an earlier launch of the same stream would do.
    for (i, word) in extents.as_flattened().iter().enumerate() {
        // SAFETY: within the words, which nobody else uses now.
        unsafe { address.cast::<i32>().add(i).write_unaligned(*word) };
    }
    host.execute(5).unwrap();

    for (g, [m, n, k]) in extents.into_iter().enumerate() {
        for i in 0..bound.m {
            for j in 0..bound.n {
                let inside = i < m as usize && j < n as usize;
                let expected = if inside { reference(k as usize, |l| a.at(g, i, l), |l| b.at(g, l, j)) } else { -7.0 };
                assert_eq!(d.at(g, i, j), expected, "{g} {i} {j}");
            }
        }
    }
}

/// 1 x 128 scales of A, 128 x 128 of B, in every layout that strides can say, with NaN behind them.
#[test]
fn block_scales_of_fp8_in_any_layout() {
    let scales = <BlockwiseMn<1, 128, 128> as Scales>::SPEC;
    let spec = spec(ArchId::SM90, Dtype::E4m3, Dtype::E4m3, Dtype::F32, Dtype::F32, scales, Mnk::new(128, 128, 128));
    for (m, n, k) in [(5, 128, 256), (1, 64, 128), (127, 136, 384), (129, 64, 130)] {
        let a = Tensor::row_major(Dtype::E4m3, [1, m, k], integer(2));
        let b = Tensor::column_major(Dtype::E4m3, [1, k, n], |b, m, n| integer(2)(b + 1, m, n));
        let blocks = k.div_ceil(128);
        let of_a = |_: usize, m: usize, kb: usize| f64::from(1u32 << (m % 5)) * if kb == 0 { 1.0 } else { 16.0 };
        let of_b = |_: usize, kb: usize, nb: usize| [1.0, 0.5, 2.0][(kb + 2 * nb) % 3];
        let column = n.div_ceil(128);
        let tb = Tensor::row_major(Dtype::F32, [1, blocks, column], of_b);
        let guarded = |strides: [i64; 3]| {
            let mut t = Tensor::new(Dtype::F32, Strided { extents: [1, m, blocks], strides }, of_a);
            t.bytes.extend(f32::NAN.to_le_bytes().repeat(64));
            t
        };
        for strides in [[0, blocks as i64, 1], [0, 1, m as i64], [0, 1, m.next_multiple_of(4) as i64]] {
            let ta = guarded(strides);
            for transposed in [false, true] {
                let mut plan = plan(spec);
                plan.transposed = transposed;
                let mut d = Tensor::row_major(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
                run(
                    &plan,
                    &dense(m, n, k),
                    3,
                    (&a, &b, &mut d),
                    Args::new(),
                    &[(SCALES_A, ta.view()), (SCALES_B, tb.view())],
                )
                .unwrap();
                for i in 0..m {
                    for j in 0..n {
                        let x = |l| a.at(0, i, l) * of_a(0, i, l / 128);
                        let y = |l| b.at(0, l, j) * of_b(0, l / 128, j / 128);
                        assert_eq!(d.at(0, i, j), reference(k, x, y), "{m} {n} {k} at {i} {j}");
                    }
                }
            }
        }
    }
}

#[test]
fn block_scale_factors_of_the_hardware() {
    let cases = [
        (Dtype::E2m1, <BlockScaled<16> as Scales>::SPEC, Dtype::E4m3),
        (Dtype::E2m1, <BlockScaled<32> as Scales>::SPEC, Dtype::E8m0),
        (Dtype::E4m3, <BlockScaled<32> as Scales>::SPEC, Dtype::E8m0),
        (Dtype::E3m2, <BlockScaled<32> as Scales>::SPEC, Dtype::E8m0),
    ];
    for (dtype, scales, factor) in cases {
        let spec = spec(ArchId::SM100, dtype, dtype, Dtype::F32, Dtype::F32, scales, Mnk::new(128, 64, 256));
        let plan = plan(spec);
        let (m, n, k) = (130, 70, 480);
        let a = Tensor::row_major(dtype, [1, m, k], integer(2));
        let b = Tensor::column_major(dtype, [1, k, n], |b, m, n| integer(2)(b + 1, m, n));
        let power = |_: usize, i: usize, j: usize| [1.0, 2.0, 0.5, 4.0][(i + j) % 4];
        let ta = Tensor::row_major(factor, [1, m, k / scales.k], power);
        let tb = Tensor::column_major(factor, [1, k / scales.k, n], power);
        let mut d = Tensor::row_major(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
        run(&plan, &dense(m, n, k), 3, (&a, &b, &mut d), Args::new(), &[(SCALES_A, ta.view()), (SCALES_B, tb.view())])
            .unwrap();
        for i in 0..m {
            for j in 0..n {
                let x = |l| a.at(0, i, l) * power(0, i, l / scales.k);
                let y = |l| b.at(0, l, j) * power(0, l / scales.k, j);
                assert_eq!(d.at(0, i, j), reference(k, x, y), "{dtype} at {i} {j}");
            }
        }
    }
}

/// w = (q - z) * s for every q, with the identity as A; then group sizes from 16 to the whole of K.
#[test]
fn int4_with_zero_points() {
    for z in [0.0, 8.0, 15.0] {
        let spec =
            spec(ArchId::SM80, Dtype::F16, Dtype::U4, Dtype::F32, Dtype::F32, <ZeroPoints<32> as Scales>::SPEC, TILE);
        let plan = plan(spec);
        let a = Tensor::row_major(Dtype::F16, [1, 16, 16], |_, m, n| f64::from(u8::from(m == n)));
        let q = Tensor::column_major(Dtype::U4, [1, 16, 16], |_, m, n| ((m + n) % 16) as f64);
        let s = Tensor::row_major(Dtype::F32, [1, 1, 16], |_, _, _| 0.5);
        let zeros = Tensor::row_major(Dtype::U4, [1, 1, 16], |_, _, _| z);
        let mut d = Tensor::row_major(Dtype::F32, [1, 16, 16], |_, _, _| f64::NAN);
        let extra = [(SCALES_B, s.view()), (ZERO_POINTS, zeros.view())];
        run(&plan, &dense(16, 16, 16), 2, (&a, &q, &mut d), Args::new(), &extra).unwrap();
        for i in 0..16 {
            for j in 0..16 {
                assert_eq!(d.at(0, i, j), (((i + j) % 16) as f64 - z) * 0.5);
            }
        }
    }
    let (m, n, k) = (20, 34, 512);
    for group in [16, 32, 64, 128, 256, 512, 0] {
        for (a_type, b_type) in [(Dtype::F16, Dtype::I4), (Dtype::Bf16, Dtype::U4), (Dtype::Bf16, Dtype::I8)] {
            let scales = ScaleSpec { k: group, ..<ZeroPoints<16> as Scales>::SPEC };
            for (scheduler, transposed) in
                [(SchedulerId::PERSISTENT, false), (SchedulerId::SPLIT_K, true), (SchedulerId::STREAM_K, false)]
            {
                let mut plan = plan(spec(ArchId::SM80, a_type, b_type, Dtype::F32, Dtype::F32, scales, TILE));
                (plan.transposed, plan.spec.scheduler, plan.splits) = (transposed, scheduler, 3);
                let groups = usize::checked_div(k, group).unwrap_or(1);
                let g = |l: usize| l.checked_div(group).unwrap_or(0);
                let a = Tensor::row_major(a_type, [1, m, k], integer(2));
                let low = if b_type.is_signed() { 3.0 } else { 0.0 };
                let q = Tensor::column_major(b_type, [1, k, n], |b, m, n| integer(3)(b + 1, m, n) + 3.0 - low);
                let s = Tensor::row_major(Dtype::F32, [1, groups, n], |_, g, n| [0.5, 1.0, 0.25][(g + n) % 3]);
                let z = Tensor::row_major(b_type, [1, groups, n], |_, g, n| ((g + 2 * n) % 4) as f64);
                let mut d = Tensor::row_major(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
                let extra = [(SCALES_B, s.view()), (ZERO_POINTS, z.view())];
                run(&plan, &dense(m, n, k), 7, (&a, &q, &mut d), Args::new(), &extra).unwrap();
                for i in 0..m {
                    for j in 0..n {
                        let w = |l| (q.at(0, l, j) - z.at(0, g(l), j)) * s.at(0, g(l), j);
                        assert_eq!(
                            d.at(0, i, j),
                            reference(k, |l| a.at(0, i, l), w),
                            "group {group} {b_type} at {i} {j}"
                        );
                    }
                }
            }
        }
    }
}

/// A mainloop of another crate: two roles, a thread each, accumulate the upper and the lower half of a tile, and hand them over
/// subtile by subtile in turn.
#[derive(Debug)]
struct TwoRoles;

struct Half<'c>(&'c HostCall<'c>);

struct HalfWorker<'c> {
    call: &'c HostCall<'c>,
    roles: [Vec<f32>; 2],
    columns: usize,
    released: Vec<bool>,
}

const SUBTILE_ROWS: usize = 8;

impl DynMainloop for TwoRoles {
    fn name(&self) -> &'static str {
        "two_roles"
    }
    fn operands(&self, spec: &Spec) -> Bounded<OperandDecl, MAX_OPERANDS> {
        Product.operands(spec)
    }
    fn group_change(&self, _: &Spec, _: BaseKind) -> GroupChange {
        GroupChange::Addresses
    }
    fn host<'c>(&self, call: &'c HostCall<'c>) -> Box<dyn HostMainloop + 'c> {
        Box::new(Half(call))
    }
}

impl HostMainloop for Half<'_> {
    fn worker(&self) -> Box<dyn MainloopWorker + '_> {
        let tile = self.0.plan().tile;
        let half = || vec![0.0; tile.m / 2 * tile.n];
        Box::new(HalfWorker { call: self.0, roles: [half(), half()], columns: tile.n, released: Vec::new() })
    }
}

impl MainloopWorker for HalfWorker<'_> {
    fn accumulate(&mut self, work: &Work) -> &mut dyn AccumulatorHandOver {
        let (call, tile) = (self.call, self.call.plan().tile);
        let extents = call.extents(work.group);
        let (a, b) = (call.operand(Side::First, work.group), call.operand(Side::Second, work.group));
        let steps = work.k_begin * tile.k..((work.k_begin + work.k_count) * tile.k).min(extents.k);
        let columns = self.columns;
        std::thread::scope(|scope| {
            for (role, sums) in self.roles.iter_mut().enumerate() {
                let steps = steps.clone();
                scope.spawn(move || {
                    sums.fill(0.0);
                    let row = work.tile_m * tile.m + role * tile.m / 2;
                    let column = work.tile_n * tile.n;
                    for (i, m) in (row..extents.m.min(row + tile.m / 2)).enumerate() {
                        for (j, n) in (column..extents.n.min(column + tile.n)).enumerate() {
                            for l in steps.clone() {
                                // SAFETY: (m, l) and (l, n) are within the group's extents.
                                let (x, y) = unsafe { (a.at::<f32>(m, l), b.at::<f32>(n, l)) };
                                let sum = &mut sums[i * columns + j];
                                *sum = x.mul_add(y, *sum);
                            }
                        }
                    }
                });
            }
        });
        self.released = vec![false; self.subtiles()];
        self
    }
}

impl Accumulators for HalfWorker<'_> {
    fn subtiles(&self) -> usize {
        2 * self.roles[0].len() / (SUBTILE_ROWS * self.columns)
    }
    fn subtile(&mut self, index: usize) -> Fragment<'_> {
        assert!(!self.released[index], "subtile {index} is acquired after its release");
        let size = SUBTILE_ROWS * self.columns;
        let at = index / 2 * size;
        Fragment::F32(&mut self.roles[index % 2][at..at + size])
    }
}

impl AccumulatorHandOver for HalfWorker<'_> {
    fn place(&self, index: usize) -> Subtile {
        let half = self.roles[0].len() / self.columns;
        Subtile { m: index % 2 * half + index / 2 * SUBTILE_ROWS, n: 0, rows: SUBTILE_ROWS, columns: self.columns }
    }
    fn release(&mut self, index: usize) {
        assert!(!std::mem::replace(&mut self.released[index], true), "subtile {index} is released twice");
    }
}

impl Drop for HalfWorker<'_> {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.released.iter().all(|r| *r), "a subtile was never released");
    }
}

#[test]
fn accumulators_from_two_roles() {
    static IMPLEMENTATION: MainloopImplementation = MainloopImplementation(&TwoRoles);
    let (m, n, k) = (75, 50, 330);
    let a = Tensor::row_major(Dtype::F32, [1, m, k], |b, m, n| integer(1 << 16)(b, m, n) / 4096.0);
    let b = Tensor::row_major(Dtype::F32, [1, k, n], |b, m, n| integer(1 << 16)(b + 1, m, n) / 4096.0);
    for (scheduler, wave) in [(SchedulerId::PERSISTENT, 4), (SchedulerId::STREAM_K, 5), (SchedulerId::SPLIT_K, 4)] {
        let mut results = Vec::new();
        for mainloop in [None, Some(Extension { name: "two_roles", cuda: "", implementation: &IMPLEMENTATION })] {
            for transposed in [false, true] {
                let mut plan = f32_plan(scheduler);
                (plan.spec.mainloop, plan.splits) = (mainloop, 3);
                // Splits differ by orientation, so only whole tiles agree between the two.
                plan.transposed = transposed && scheduler == SchedulerId::PERSISTENT;
                let mut d = Tensor::row_major(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
                run(&plan, &dense(m, n, k), wave, (&a, &b, &mut d), Args::new(), &[]).unwrap();
                results.push(d.bytes);
            }
        }
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{scheduler}");
    }
}

/// A scheduler of another crate: the tiles of group 1 wait until all tiles of group 0 are stored. One word, whose address is the
/// scheduler's to know.
#[derive(Debug)]
struct Chained;

static DONE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

impl TileScheduler for Chained {
    fn name(&self) -> &'static str {
        "chained"
    }
    fn blocks(&self, space: &TileSpace) -> usize {
        SingleTile.blocks(space)
    }
    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        let flag = Flag { address: DONE.as_ptr().expose_provenance() as u64, value: space.tiles.plane() as u32 };
        Box::new(SingleTile.works(space, groups, block).map(move |w| match w.group {
            0 => {
                // So late that whoever does not wait comes first.
                std::thread::sleep(std::time::Duration::from_millis(5));
                Work { signal: Some(flag), ..w }
            }
            _ => Work { wait: Some(flag), ..w },
        }))
    }
}

/// D of group 0 is A of group 1, so group 1 is right only if it waits.
#[test]
fn works_wait_for_other_works_and_signal_them() {
    static IMPLEMENTATION: Implementation = Implementation(&Chained);
    let n = 100;
    let mut plan = f32_plan(SchedulerId::SINGLE_TILE);
    plan.spec.tile_scheduler = Some(Extension { name: "chained", cuda: "", implementation: &IMPLEMENTATION });
    let p = problem(Extents::PointerArray { mnk: Mnk::new(n, n, n), count: 2 });
    let a = Tensor::row_major(Dtype::F32, [1, n, n], integer(3));
    let b = Tensor::row_major(Dtype::F32, [2, n, n], |b, m, n| integer(3)(b + 1, m, n));
    let mut d = Tensor::row_major(Dtype::F32, [2, n, n], |_, _, _| f64::NAN);
    let matrix = (n * n * 4) as u64;
    let (at_a, at_b, at_d) = (a.view().address(), b.view().address(), d.view_mut().address());
    let bases = [addresses(&[at_a, at_d]), addresses(&[at_b, at_b + matrix]), addresses(&[at_d, at_d + matrix])];
    let extra = [(BASES_A, bases[0].view()), (BASES_B, bases[1].view()), (BASES_D, bases[2].view())];
    let arguments = by_address(n as i64, &extra);
    // SAFETY: the addresses are those of this test's tensors, and the flag is its own.
    let host = unsafe { GemmHost::new(&plan, &DeviceInfo::h100(), &p, arguments) }.unwrap();
    for _ in 0..4 {
        DONE.store(0, std::sync::atomic::Ordering::SeqCst);
        d.fill(|_, _, _| f64::NAN);
        host.execute(4).unwrap();
        assert_eq!(DONE.load(std::sync::atomic::Ordering::SeqCst), 16);
        for (i, j) in [(0, 0), (99, 99), (31, 64), (64, 31), (50, 50)] {
            assert_eq!(d.at(0, i, j), reference(n, |l| a.at(0, i, l), |l| b.at(0, l, j)));
            assert_eq!(d.at(1, i, j), reference(n, |l| d.at(0, i, l), |l| b.at(1, l, j)));
        }
    }
}

fn addresses(list: &[u64]) -> Tensor {
    Tensor::row_major(Dtype::I32, [1, list.len(), 2], |_, g, word| f64::from((list[g] >> (32 * word)) as u32 as i32))
}

/// Operands without memory of their own: element and strides of matrices whose rows are `leading` apart.
fn by_address<'a>(leading: i64, extra: &'a [(&'static str, RawView<'a>)]) -> Arguments<'a> {
    let layout = Strided { extents: [0, 0, 0], strides: [0, leading, 1] };
    // SAFETY: empty views are never read or written.
    let (view, d) = unsafe {
        (RawView::new(0, 0, Space::Host, Dtype::F32, layout), RawViewMut::new(0, 0, Space::Host, Dtype::F32, layout))
    };
    Arguments { a: view, b: view, d, epilogue: const { &Args::new() }, extra }
}

#[test]
fn pointer_arrays() {
    let (m, n, k, count) = (40, 50, 60, 5);
    let a: Vec<_> = (0..count).map(|g| Tensor::new(Dtype::F32, padded(m, k), |_, i, j| integer(3)(g, i, j))).collect();
    let b: Vec<_> =
        (0..count).map(|g| Tensor::new(Dtype::F32, padded(k, n), |_, i, j| integer(3)(g + 9, i, j))).collect();
    let mut d: Vec<_> = (0..count).map(|_| Tensor::new(Dtype::F32, padded(m, n), |_, _, _| f64::NAN)).collect();
    let bases = [
        addresses(&a.iter().map(|t| t.view().address()).collect::<Vec<_>>()),
        addresses(&b.iter().map(|t| t.view().address()).collect::<Vec<_>>()),
        addresses(&d.iter_mut().map(|t| t.view_mut().address()).collect::<Vec<_>>()),
    ];
    let extra = [(BASES_A, bases[0].view()), (BASES_B, bases[1].view()), (BASES_D, bases[2].view())];
    let p = problem(Extents::PointerArray { mnk: Mnk::new(m, n, k), count });
    for scheduler in SchedulerId::ALL {
        let mut plan = f32_plan(*scheduler);
        plan.splits = 2;
        run_arguments(&plan, &p, 3, by_address(LEADING as i64, &extra)).unwrap();
        for g in 0..count {
            for i in 0..m {
                for j in 0..n {
                    assert_eq!(d[g].at(0, i, j), reference(k, |l| a[g].at(0, i, l), |l| b[g].at(0, l, j)));
                }
            }
            d[g].fill(|_, _, _| f64::NAN);
        }
    }
}

const LEADING: usize = 64;

fn padded(rows: usize, columns: usize) -> Strided {
    Strided { extents: [1, rows, columns], strides: [0, LEADING as i64, 1] }
}

/// Groups of their own extents, addresses and leading dimensions, all known to the host.
#[test]
fn grouped_at_addresses_with_strides() {
    let extents = [Mnk::new(33, 70, 20), Mnk::new(0, 4, 4), Mnk::new(64, 1, 0), Mnk::new(100, 100, 100)];
    let make = |f: fn(&Mnk) -> (usize, usize), seed: usize| -> Vec<Tensor> {
        extents
            .iter()
            .enumerate()
            .map(|(g, e)| {
                let (r, c) = f(e);
                Tensor::row_major(Dtype::F32, [1, r, c], move |_, i, j| integer(3)(g + seed, i, j))
            })
            .collect()
    };
    let (a, b, mut d) = (make(|e| (e.m, e.k), 0), make(|e| (e.k, e.n), 10), make(|e| (e.m, e.n), 20));
    let strides = |list: &[Tensor]| {
        let columns: Vec<_> = list.iter().map(|t| t.layout.strides[1]).collect();
        Tensor::row_major(
            Dtype::I32,
            [1, columns.len(), 2],
            move |_, g, i| if i == 0 { columns[g] as f64 } else { 1.0 },
        )
    };
    let of = |list: &[Tensor]| addresses(&list.iter().map(|t| t.view().address()).collect::<Vec<_>>());
    let (sa, sb, sd) = (strides(&a), strides(&b), strides(&d));
    let (ba, bb) = (of(&a), of(&b));
    let bd = addresses(&d.iter_mut().map(|t| t.view_mut().address()).collect::<Vec<_>>());
    let extra = [
        (BASES_A, ba.view()),
        (BASES_B, bb.view()),
        (BASES_D, bd.view()),
        (STRIDES_A, sa.view()),
        (STRIDES_B, sb.view()),
        (STRIDES_D, sd.view()),
    ];
    let p = problem(Extents::Grouped(Groups::Host(Arc::from(extents))));
    for transposed in [false, true] {
        let mut plan = f32_plan(SchedulerId::GROUPED);
        plan.transposed = transposed;
        run_arguments(&plan, &p, 3, by_address(0, &extra)).unwrap();
        for (g, e) in extents.iter().enumerate() {
            for i in 0..e.m {
                for j in 0..e.n {
                    assert_eq!(
                        d[g].at(0, i, j),
                        reference(e.k, |l| a[g].at(0, i, l), |l| b[g].at(0, l, j)),
                        "{g} {i} {j}"
                    );
                }
            }
            d[g].fill(|_, _, _| f64::NAN);
        }
    }
}

#[test]
fn ragged_groups_lie_one_behind_the_other() {
    let rows = [17, 13, 0, 8, 10, 64];
    let (n, k, total) = (65, 40, 120);
    let starts: Vec<usize> = (0..=rows.len()).map(|g| rows[..g].iter().sum()).collect();
    let a = Tensor::row_major(Dtype::F32, [1, total, k], integer(3));
    let b = Tensor::column_major(Dtype::F32, [rows.len(), k, n], |b, m, n| integer(3)(b + 1, m, n));
    let on_device = Tensor::row_major(Dtype::I32, [1, rows.len(), 1], |_, g, _| rows[g] as f64);
    for (groups, extra) in [
        (Groups::Host(Arc::from(rows)), vec![]),
        (Groups::Device { count: rows.len(), at_most: 64 }, vec![(ROWS, on_device.view())]),
    ] {
        for transposed in [false, true] {
            let mut plan = f32_plan(SchedulerId::GROUPED);
            plan.transposed = transposed;
            let mut d = Tensor::row_major(Dtype::F32, [1, total, n], |_, _, _| -7.0);
            run(
                &plan,
                &problem(Extents::Ragged { rows: groups.clone(), n, k }),
                3,
                (&a, &b, &mut d),
                Args::new(),
                &extra,
            )
            .unwrap();
            for i in 0..total {
                let group = (0..rows.len()).find(|&g| (starts[g]..starts[g + 1]).contains(&i));
                for j in 0..n {
                    let expected = group.map_or(-7.0, |g| reference(k, |l| a.at(0, i, l), |l| b.at(g, l, j)));
                    assert_eq!(d.at(0, i, j), expected, "{i} {j}");
                }
            }
        }
    }
}

#[test]
fn masked_groups_have_valid_rows() {
    let rows = [5, 0, 33, 40];
    let (n, k, capacity) = (34, 35, 40);
    let a = Tensor::row_major(
        Dtype::F32,
        [4, capacity, k],
        |b, m, n| if m < rows[b] { integer(3)(b, m, n) } else { f64::NAN },
    );
    let b = Tensor::row_major(Dtype::F32, [4, k, n], integer(3));
    let on_device = Tensor::row_major(Dtype::I32, [1, 4, 1], |_, g, _| rows[g] as f64);
    for (groups, extra) in [
        (Groups::Host(Arc::from(rows)), vec![]),
        (Groups::Device { count: 4, at_most: capacity }, vec![(ROWS, on_device.view())]),
    ] {
        let mut d = Tensor::row_major(Dtype::F32, [4, capacity, n], |_, _, _| -7.0);
        let p = problem(Extents::Masked { rows: groups, capacity, n, k });
        run(&f32_plan(SchedulerId::GROUPED), &p, 3, (&a, &b, &mut d), Args::new(), &extra).unwrap();
        for (g, valid) in rows.into_iter().enumerate() {
            for i in 0..capacity {
                for j in 0..n {
                    let expected = if i < valid { reference(k, |l| a.at(g, i, l), |l| b.at(g, l, j)) } else { -7.0 };
                    assert_eq!(d.at(g, i, j), expected);
                }
            }
        }
    }
}

/// K offsets 0, 8, 16, 16, 32 among them: a group without K is exactly zero.
#[test]
fn k_grouped_and_groups_without_k() {
    let depths = [0, 8, 8, 0, 16, 100];
    let (m, n, total) = (40, 33, 140);
    let a = Tensor::row_major(Dtype::F32, [1, m, total], integer(3));
    let b = Tensor::row_major(Dtype::F32, [1, total, n], integer(3));
    let on_device = Tensor::row_major(Dtype::I32, [1, 6, 1], |_, g, _| depths[g] as f64);
    for (groups, extra) in [
        (Groups::Host(Arc::from(depths)), vec![]),
        (Groups::Device { count: 6, at_most: 100 }, vec![(DEPTHS, on_device.view())]),
    ] {
        let mut d = Tensor::row_major(Dtype::F32, [6, m, n], |_, _, _| f64::NAN);
        let p = problem(Extents::KGrouped { m, n, depths: groups });
        run(&f32_plan(SchedulerId::GROUPED), &p, 3, (&a, &b, &mut d), Args::new(), &extra).unwrap();
        let mut start = 0;
        for (g, depth) in depths.into_iter().enumerate() {
            for i in 0..m {
                for j in 0..n {
                    let expected = reference(depth, |l| a.at(0, i, start + l), |l| b.at(0, start + l, j));
                    assert_eq!(d.at(g, i, j), expected, "{g} {i} {j}");
                }
            }
            start += depth;
        }
    }
}
