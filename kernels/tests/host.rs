//! The host backend against exact and f64 references: types, layouts, batches, edges, the zero rule, determinism.

use std::sync::Arc;
use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_epilogue::{Arg, Args};
use warpwright_kernels::contract::Arguments;
use warpwright_kernels::{CanImplementError, GemmHost, HostError};
use warpwright_numeric::Dtype;
use warpwright_runtime::Strided;
use warpwright_spec::*;

mod common;
use common::*;

/// alpha * acc
fn scaled() -> &'static Node {
    intern(Node::Combine(Operator::Times, intern(Node::LoadScalar(ScalarKind::Host)), &Node::LoadAcc))
}

/// alpha * acc + beta * c
fn axpby(c: Dtype) -> &'static Node {
    let beta =
        intern(Node::Combine(Operator::Times, intern(Node::LoadScalar(ScalarKind::Host)), intern(Node::LoadSource(c))));
    intern(Node::Combine(Operator::Plus, scaled(), beta))
}

fn simple(arch: ArchId, a: Dtype, acc: Dtype, d: Dtype, tile: Mnk) -> KernelPlan {
    plan(spec(arch, a, a, acc, d, ScaleSpec::NONE, tile))
}

fn product(a: &Tensor, b: &Tensor, batch: usize, m: usize, n: usize) -> f64 {
    let of = |t: &Tensor| batch.min(t.layout.extents[0] - 1);
    (0..a.layout.extents[2]).map(|k| a.at(of(a), m, k) * b.at(of(b), k, n)).sum()
}

fn assert_product(a: &Tensor, b: &Tensor, d: &Tensor) {
    let [batch, m, n] = d.layout.extents;
    for i in 0..batch {
        for j in 0..m {
            for l in 0..n {
                assert_eq!(d.at(i, j, l), product(a, b, i, j, l), "{:?} at {i} {j} {l}", a.dtype);
            }
        }
    }
}

/// Every row of the table of products, in tiles that its instruction has.
#[test]
fn every_product_of_the_table() {
    let mut rows = 0;
    for arch in ArchId::ALL {
        for schedule in [ScheduleId::MULTISTAGE, ScheduleId::AUTO] {
            for &a in Dtype::ALL {
                for &b in Dtype::ALL {
                    for acc in [Dtype::F32, Dtype::F64, Dtype::I32] {
                        let Some(family) = runs(*arch, schedule) else { continue };
                        let Some(product) = multiplies(*arch, family, a, b, acc) else { continue };
                        let scales = if product.transform == TransformId::WIDEN {
                            <ZeroPoints<64> as Scales>::SPEC
                        } else {
                            ScaleSpec::NONE
                        };
                        rows += 1;
                        one_product(*arch, schedule, [a, b, acc], scales);
                    }
                }
            }
        }
    }
    assert!(rows > 100, "{rows}");
}

fn one_product(arch: ArchId, schedule: ScheduleId, [a, b, acc]: [Dtype; 3], scales: ScaleSpec) {
    let (m, n, k) = (70, 37, 130);
    let d = if acc == Dtype::I32 { Dtype::I32 } else { acc };
    let tile = Mnk::new(64, 32, if a.bits() == 64 { 16 } else { 64 });
    let desc = GemmDesc { b, d, scales, schedule, ..GemmDesc::new(arch, a, acc) };
    let spec = Spec { tile: Some(tile), ..desc.spec().unwrap_or_else(|e| panic!("{arch:?} {a} {b}: {e}")) };
    let plan = plan(spec);
    // Sub-byte lines begin at whole bytes.
    let lines = |rows: usize, columns: usize, column_major: bool| {
        let padded = |x: usize| x.next_multiple_of(8) as i64;
        let strides = if column_major { [0, 1, padded(rows)] } else { [0, padded(columns), 1] };
        Strided { extents: [1, rows, columns], strides }
    };
    let values = |t: Dtype| {
        let low = if t.is_signed() { 0.0 } else { 1.0 };
        move |b: usize, m: usize, n: usize| integer(1)(b, m, n) + low
    };
    let (of_a, of_b) = (values(a), values(b));
    let ta = Tensor::new(a, lines(m, k, false), of_a);
    let tb = Tensor::new(b, lines(k, n, true), |x, y, z| of_b(x + 7, y, z));
    let mut td = Tensor::row_major(d, [1, m, n], |_, _, _| 77.0);
    let groups = k.div_ceil(scales.k.max(1));
    let scale = |_: usize, g: usize, n: usize| [0.5, 1.0, 2.0][(g + n) % 3];
    let zero = |_: usize, g: usize, n: usize| ((g * 3 + n) % 3) as f64;
    let ts = Tensor::row_major(Dtype::F32, [1, groups, n], scale);
    let tz = Tensor::new(b, lines(groups, n, false), zero);
    let extra: &[_] = if scales.any() { &[("scales_b", ts.view()), ("zero_points", tz.view())] } else { &[] };
    run(&plan, &dense(m, n, k), 3, (&ta, &tb, &mut td), Args::new(), extra).unwrap_or_else(|e| panic!("{a} {b}: {e}"));
    for i in 0..m {
        for j in 0..n {
            let term = |l: usize| {
                let w = if scales.any() {
                    (tb.at(0, l, j) - zero(0, l / 64, j)) * scale(0, l / 64, j)
                } else {
                    tb.at(0, l, j)
                };
                ta.at(0, i, l) * w
            };
            assert_eq!(td.at(0, i, j), (0..k).map(term).sum::<f64>(), "{arch:?} {a} {b} at {i} {j}");
        }
    }
}

#[test]
fn shapes_layouts_and_transposed_plans() {
    let tile = Mnk::new(32, 64, 32);
    for (m, n, k) in [(1, 1, 1), (33, 65, 31), (64, 128, 96), (7, 200, 5), (130, 3, 64), (5, 5, 0)] {
        for (case, transposed) in [(0, false), (1, true), (2, false), (3, true), (4, false)] {
            let mut plan = simple(ArchId::SM80, Dtype::F16, Dtype::F32, Dtype::F32, tile);
            plan.transposed = transposed;
            if case == 4 {
                (plan.raster, plan.swizzle, plan.spec.scheduler) = (RasterOrder::AlongN, 4, SchedulerId::PERSISTENT);
            }
            let make = |t, e, f: fn(usize, usize, usize) -> f64| {
                if case % 2 == 0 { Tensor::row_major(t, e, f) } else { Tensor::column_major(t, e, f) }
            };
            let a = make(Dtype::F16, [1, m, k], |b, m, n| integer(3)(b, m, n));
            let b = make(Dtype::F16, [1, k, n], |b, m, n| integer(3)(b + 9, m, n));
            let mut d = make(Dtype::F32, [1, m, n], |_, _, _| f64::NAN);
            run(&plan, &dense(m, n, k), 4, (&a, &b, &mut d), Args::new(), &[]).unwrap();
            assert_product(&a, &b, &d);
        }
    }
}

#[test]
fn padded_and_fully_strided_operands_leave_the_padding_alone() {
    let plan = simple(ArchId::SM80, Dtype::F32, Dtype::F32, Dtype::F32, Mnk::new(32, 32, 32));
    let (m, n, k) = (37, 41, 50);
    for strides in [[1i64, 3], [2, 200], [77, 1], [1, 64]] {
        let layout = |rows: usize, columns: usize| {
            // The given strides, or ones that are wide enough.
            let strides = match strides {
                [s, t] if s <= 2 => [s, t.max(s * rows as i64 + 3)],
                [s, t] => [s.max(columns as i64 + 5), t],
            };
            Strided { extents: [1, rows, columns], strides: [0, strides[0], strides[1]] }
        };
        let a = Tensor::new(Dtype::F32, layout(m, k), integer(5));
        let b = Tensor::new(Dtype::F32, layout(k, n), integer(5));
        let mut d = Tensor::new(Dtype::F32, layout(m, n), |_, _, _| 0.0);
        d.bytes.fill(0xab);
        run(&plan, &dense(m, n, k), 2, (&a, &b, &mut d), Args::new(), &[]).unwrap();
        assert_product(&a, &b, &d);
        let mut left = d.bytes.chunks_exact(4).filter(|w| **w == [0xab; 4]).count();
        left += m * n;
        assert_eq!(left, d.bytes.len() / 4);
    }
}

#[test]
fn batches_broadcast_and_exceed_any_grid_dimension() {
    let plan = simple(ArchId::SM80, Dtype::F32, Dtype::F32, Dtype::F32, Mnk::new(16, 16, 32));
    let batch = 65_537;
    let a = Tensor::row_major(Dtype::F32, [batch, 2, 3], |b, _, _| (b % 1000) as f64);
    let b =
        Tensor::new(Dtype::F32, Strided { extents: [batch, 3, 2], strides: [0, 2, 1] }, |_, m, n| (m * 2 + n) as f64);
    let mut d = Tensor::row_major(Dtype::F32, [batch, 2, 2], |_, _, _| f64::NAN);
    let p = problem(Extents::Batched { mnk: Mnk::new(2, 2, 3), batch });
    run(&plan, &p, 8, (&a, &b, &mut d), Args::new(), &[]).unwrap();
    for i in [0, 1, 999, 65_535, 65_536] {
        assert_eq!([d.at(i, 0, 0), d.at(i, 1, 1)], [6.0, 9.0].map(|x| x * (i % 1000) as f64));
    }
}

#[test]
fn empty_problems_are_validated_and_do_nothing() {
    for scheduler in SchedulerId::ALL {
        for (m, n, k, batch) in [(0, 5, 7, 2), (5, 0, 7, 2), (5, 3, 7, 0), (0, 0, 0, 0), (5, 0, 0, 1)] {
            let mut plan = simple(ArchId::SM80, Dtype::Bf16, Dtype::F32, Dtype::Bf16, Mnk::new(32, 32, 32));
            (plan.spec.scheduler, plan.splits) = (*scheduler, 4);
            let a = Tensor::row_major(Dtype::Bf16, [batch, m, k], integer(3));
            let b = Tensor::row_major(Dtype::Bf16, [batch, k, n], integer(3));
            let mut d = Tensor::row_major(Dtype::Bf16, [batch, m, n], integer(3));
            let p = problem(Extents::Batched { mnk: Mnk::new(m, n, k), batch });
            run(&plan, &p, 5, (&a, &b, &mut d), Args::new(), &[]).unwrap();
            let wrong = problem(Extents::Batched { mnk: Mnk::new(m, n, k + 1), batch });
            let e = run(&plan, &wrong, 5, (&a, &b, &mut d), Args::new(), &[]).unwrap_err();
            assert!(matches!(e, HostError::CanImplement(CanImplementError::Extents { operand: "A", .. })), "{e}");
        }
    }
}

#[test]
fn no_k_gives_the_epilogue_of_zeros() {
    for scheduler in SchedulerId::ALL {
        let mut plan = simple(ArchId::SM80, Dtype::F32, Dtype::F32, Dtype::F32, Mnk::new(32, 32, 32));
        (plan.spec.scheduler, plan.spec.epilogue, plan.splits) = (*scheduler, axpby(Dtype::F32), 3);
        let a = Tensor::row_major(Dtype::F32, [1, 40, 0], integer(1));
        let b = Tensor::row_major(Dtype::F32, [1, 0, 50], integer(1));
        let c = Tensor::row_major(Dtype::F32, [1, 40, 50], |_, _, _| 1.0);
        let mut d = Tensor::row_major(Dtype::F32, [1, 40, 50], |_, _, _| f64::NAN);
        let args = |alpha| [Arg::Number(alpha), Arg::Number(2.0), Arg::Read(c.view())].into_iter().collect();
        run(&plan, &dense(40, 50, 0), 5, (&a, &b, &mut d), args(1.0), &[]).unwrap();
        assert!((0..40).all(|m| (0..50).all(|n| d.at(0, m, n) == 2.0)));
        run(&plan, &dense(40, 50, 0), 5, (&a, &b, &mut d), args(f64::NAN), &[]).unwrap();
        assert!(d.at(0, 39, 49).is_nan());
    }
}

#[test]
fn dropped_operands_are_not_read() {
    for scheduler in SchedulerId::ALL {
        let mut plan = simple(ArchId::SM80, Dtype::F32, Dtype::F32, Dtype::F32, Mnk::new(32, 32, 32));
        (plan.spec.scheduler, plan.spec.epilogue, plan.splits) = (*scheduler, axpby(Dtype::F32), 3);
        let nan = |rows, columns| Tensor::row_major(Dtype::F32, [1, rows, columns], |_, _, _| f64::NAN);
        let (a, b) = (nan(65, 700), nan(700, 65));
        let c = Tensor::row_major(Dtype::F32, [1, 65, 65], integer(9));
        let mut d = nan(65, 65);
        let args: Args<'_> = [Arg::Number(-0.0), Arg::Number(3.0), Arg::Read(c.view())].into_iter().collect();
        run(&plan, &dense(65, 65, 700), 7, (&a, &b, &mut d), args, &[]).unwrap();
        assert!((0..65).all(|m| (0..65).all(|n| d.at(0, m, n) == 3.0 * c.at(0, m, n))));
    }
}

/// Random floats: the same bits whatever the tile, walk, device and orientation, as long as K is not split.
#[test]
fn results_depend_on_the_order_of_k_alone() {
    let (m, n, k) = (150, 170, 515);
    let value = |b: usize, m: usize, n: usize| integer(1 << 20)(b, m, n) / 1048576.0;
    for (dtype, out) in [(Dtype::F32, Dtype::F32), (Dtype::Bf16, Dtype::F32), (Dtype::F16, Dtype::F16)] {
        let a = Tensor::row_major(dtype, [1, m, k], value);
        let b = Tensor::column_major(dtype, [1, k, n], |b, m, n| value(b + 1, m, n));
        let mut all = Vec::new();
        for (i, tile) in
            [(128, 128, 32), (16, 16, 32), (64, 256, 64), (256, 48, 32), (32, 112, 64)].into_iter().enumerate()
        {
            for scheduler in [SchedulerId::SINGLE_TILE, SchedulerId::PERSISTENT, SchedulerId::GROUPED] {
                for transposed in [false, true] {
                    let spec =
                        spec(ArchId::SM80, dtype, dtype, Dtype::F32, out, ScaleSpec::NONE, Mnk::new(128, 128, 64));
                    let mut plan = plan(spec);
                    plan.tile = Mnk::new(tile.0, tile.1, tile.2);
                    plan.resources.accumulators.subtile_m = 16 << (i % 2);
                    (plan.spec.scheduler, plan.transposed, plan.swizzle) = (scheduler, transposed, 1 + i);
                    let mut d = Tensor::row_major(out, [1, m, n], |_, _, _| f64::NAN);
                    run(&plan, &dense(m, n, k), 1 + 2 * i, (&a, &b, &mut d), Args::new(), &[]).unwrap();
                    all.push(d.bytes);
                }
            }
        }
        assert!(all.windows(2).all(|w| w[0] == w[1]), "{dtype}");
        if out == Dtype::F32 {
            let d = Tensor {
                dtype: out,
                layout: Strided::dense(m, n, warpwright_runtime::Order::RowMajor),
                bytes: all.remove(0),
            };
            for (i, j) in [(0, 0), (149, 169), (77, 3)] {
                let chain = (0..k).fold(0f32, |c, l| (a.at(0, i, l) as f32).mul_add(b.at(0, l, j) as f32, c));
                assert_eq!(d.at(0, i, j), f64::from(chain));
            }
        }
    }
}

#[test]
fn accumulators_are_wide() {
    for (dtype, k, sum) in [(Dtype::Bf16, 512, 512.0), (Dtype::F16, 4096, 4096.0)] {
        for scheduler in SchedulerId::ALL {
            let mut plan = simple(ArchId::SM80, dtype, Dtype::F32, dtype, Mnk::new(32, 32, 32));
            (plan.spec.scheduler, plan.splits) = (*scheduler, 5);
            let (a, b) = (
                Tensor::row_major(dtype, [1, 33, k], |_, _, _| 1.0),
                Tensor::row_major(dtype, [1, k, 33], |_, _, _| 1.0),
            );
            let mut d = Tensor::row_major(dtype, [1, 33, 33], |_, _, _| f64::NAN);
            run(&plan, &dense(33, 33, k), 7, (&a, &b, &mut d), Args::new(), &[]).unwrap();
            assert!((0..33).all(|m| (0..33).all(|n| d.at(0, m, n) == sum)));
        }
    }
}

#[test]
fn refusals_name_the_value_and_touch_nothing() {
    let base = simple(ArchId::SM80, Dtype::F32, Dtype::F32, Dtype::F32, Mnk::new(32, 32, 32));
    let a = Tensor::row_major(Dtype::F32, [1, 8, 8], integer(3));
    let b = Tensor::row_major(Dtype::F32, [1, 8, 8], integer(3));
    let mut d = Tensor::row_major(Dtype::F32, [1, 8, 8], integer(3));
    let before = d.bytes.clone();
    let overlapping = {
        let mut t = d.clone();
        t.layout.strides = [64, 4, 1];
        t
    };
    let refuse = |plan: &KernelPlan, p: &Problem, arguments: Arguments<'_>| {
        // SAFETY: nothing is executed.
        unsafe { GemmHost::new(plan, &DeviceInfo::h100(), p, arguments) }.map(|_| ()).unwrap_err()
    };
    let arguments = |d: &mut Tensor| {
        // SAFETY: the tensor outlives the checks.
        let d: warpwright_runtime::RawViewMut<'static> = unsafe { core::mem::transmute(d.view_mut()) };
        d
    };
    let dv = arguments(&mut d);
    let good = Arguments { a: a.view(), b: b.view(), d: dv, epilogue: const { &Args::new() }, extra: &[] };
    let p = dense(8, 8, 8);

    let aligned = p.clone().aligned(Alignment { a: 128, ..Alignment::FULL });
    let text = refuse(&base, &aligned, good).to_string();
    assert!(text.starts_with("A is aligned to ") && text.contains("128 are needed"), "{text}");
    let mut wide = base;
    wide.widths.d = 16;
    assert_eq!(
        refuse(&wide, &p, good).to_string(),
        "D is aligned to 1 bytes, but 16 are needed: align its address and leading dimension, or declare less alignment and plan again"
    );
    let e = refuse(&base, &dense(8, 8, 9), good);
    assert!(e.to_string().contains("A is 1 x 8 x 8 (batch x rows x columns), but the problem needs 1 x 8 x 9"), "{e}");
    let mut o = overlapping;
    assert!(matches!(
        refuse(&base, &p, Arguments { d: arguments(&mut o), ..good }),
        CanImplementError::Overlapping { .. }
    ));
    let alias = d.view();
    assert!(matches!(refuse(&base, &p, Arguments { a: alias, ..good }), CanImplementError::Aliased { operand: "A" }));
    // SAFETY: never read.
    let null =
        unsafe { warpwright_runtime::RawView::new(0, 256, warpwright_runtime::Space::Host, Dtype::F32, a.layout) };
    assert!(matches!(
        refuse(&base, &p, Arguments { a: null, ..good }),
        CanImplementError::Null { operand: "A", elements: 64 }
    ));
    // SAFETY: never read.
    let away =
        unsafe { warpwright_runtime::RawView::new(64, 256, warpwright_runtime::Space::Cuda(0), Dtype::F32, a.layout) };
    let e = refuse(&base, &p, Arguments { b: away, ..good });
    assert_eq!(e.to_string(), "B is in the memory of cuda:0, but the kernel runs on the host: copy it there");
    let mut half = a.clone();
    half.dtype = Dtype::F16;
    assert!(matches!(
        refuse(&base, &p, Arguments { a: half.view(), ..good }),
        CanImplementError::Element { operand: "A", .. }
    ));
    let grouped = problem(Extents::Grouped(Groups::Host(Arc::from([Mnk::new(8, 8, 8)]))));
    assert!(matches!(refuse(&base, &grouped, good), CanImplementError::Scheduler { scheduler: SchedulerId::AUTO, .. }));
    let huge = Mnk::new(usize::MAX / 2, usize::MAX / 2, 1);
    let of = |rows, columns| {
        let layout = Strided { extents: [1, rows, columns], strides: [0, 0, 0] };
        // SAFETY: never read.
        unsafe { warpwright_runtime::RawView::new(16, 4, warpwright_runtime::Space::Host, Dtype::F32, layout) }
    };
    let call = Arguments { a: of(huge.m, 1), b: of(1, huge.n), ..good };
    assert!(matches!(refuse(&base, &problem(Extents::Dense(huge)), call), CanImplementError::TooManyTiles { .. }));
    let long = Strided { extents: [1, 8, 8], strides: [0, i64::MAX / 2, 1] };
    // SAFETY: never read.
    let long = unsafe { warpwright_runtime::RawView::new(16, 4, warpwright_runtime::Space::Host, Dtype::F32, long) };
    assert!(matches!(refuse(&base, &p, Arguments { a: long, ..good }), CanImplementError::Layout { operand: "A", .. }));
    let mut scaled = base;
    scaled.spec.scales = <Blockwise<32> as Scales>::SPEC;
    let e = refuse(&scaled, &p, good);
    assert_eq!(
        e.to_string(),
        "the operand `scales_b` (1 x 8 of f32) is needed and was not given: pass it by this name"
    );
    assert_eq!(d.bytes, before);
}
