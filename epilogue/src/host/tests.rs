use super::*;
use crate::{
    Args, BindError, Expr, Fusion, OutputShape, acc, column, convert, epilogue_fn, max, min, per_batch, previous, relu,
    row, scalar, share, source, tile,
};
use warpwright_numeric::{Element, bf16, e4m3, f16, i4};
use warpwright_runtime::{Order, Space, Strided, Tensor, TensorView, TensorViewMut};

epilogue_fn!(softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))");
epilogue_fn!(hypotenuse: Hypotenuse, |x, y| (x * x + y * y).sqrt(), "sqrtf(x * x + y * y)");
epilogue_fn!(lerp: Lerp, |x, y, z| x + z * (y - x), "x + z * (y - x)");

const AT: Segment = Segment { batch: 0, m: 0, n: 0, along: Along::N };

fn args<'a, N: Fusion + 'a>(e: Expr<N>) -> Args<'a> {
    let mut args = Args::new();
    e.0.bind(&mut args);
    args
}

fn shape(batch: usize, m: usize, n: usize) -> OutputShape {
    OutputShape { batch, m, n }
}

/// One segment of D as `f64`.
fn values<N: Fusion>(e: Expr<N>, output: OutputShape, at: Segment, x: Accumulators<'_>) -> Vec<f64> {
    let program = Program::of(N::NODE, x.dtype(), Dtype::F32).unwrap();
    let bound = program.bind(&args(e), output, Space::Host).unwrap();
    let mut scratch = Scratch::new();
    let values = Evaluator::new(&program, &bound, None).evaluate(at, x, &mut scratch);
    (0..values.len()).map(|i| values.get(i).unwrap()).collect()
}

/// A row of f32 accumulators.
fn on<N: Fusion>(e: Expr<N>, x: &[f32]) -> Vec<f64> {
    values(e, shape(1, 1, x.len()), AT, Accumulators::F32(x))
}

#[test]
fn arithmetic_is_that_of_f32() {
    let x = [1.0f32, -2.5, 3e38, 0.1];
    assert_eq!(on(acc(), &x), x.map(f64::from));
    assert_eq!(on(0.1 * acc(), &x), x.map(|x| f64::from(0.1f32 * x)));
    assert_eq!(on(acc() / 3 - 1.0f32, &x), x.map(|x| f64::from(x / 3.0 - 1.0)));
    assert_eq!(on(2.0 - acc() * acc(), &x), x.map(|x| f64::from(2.0 - x * x)));
    assert_eq!(on(relu(-acc()), &x), [0.0, 2.5, 0.0, 0.0]);
    assert_eq!(on(softsign(acc()) + 0.0, &x[..2]), [0.5, f64::from(-2.5f32 / 3.5)]);
    assert_eq!(on(hypotenuse(acc() * 3, 4), &[1.0]), [5.0]);
    assert_eq!(on(lerp(acc(), acc() + 4, 0.25), &[1.0, 2.0]), [2.0, 3.0]);
    assert_eq!(on(share(acc() + 1, |z| z * z), &[2.0, 3.0]), [9.0, 16.0]);
}

#[test]
fn f64_accumulators_compute_in_f64() {
    let x = [0.1f64, 1e300];
    assert_eq!(values(0.1 * acc(), shape(1, 1, 2), AT, Accumulators::F64(&x)), x.map(|x| 0.1 * x));
    let alpha = [0.1f64];
    assert_eq!(values(scalar(&alpha) * acc(), shape(1, 1, 2), AT, Accumulators::F64(&x)), x.map(|x| 0.1 * x));
}

#[test]
fn literals_need_no_suffix() {
    let alpha64 = 0.5f64;
    let alpha = 2.0;
    assert_eq!(on(alpha64 * acc() + 1, &[4.0]), [3.0]);
    assert_eq!(on(alpha * acc() - 1.0, &[4.0]), [7.0]);
    assert_eq!(on(2 * acc(), &[4.0]), [8.0]);
    assert_eq!(on(max(acc() * 2.0, 0.1 * acc()) - 0.5, &[-10.0, 1.0]), [f64::from(0.1f32 * -10.0 - 0.5), 1.5]);
    assert_eq!(on(min(1.5f32, acc()) + min(acc(), 3), &[4.0]), [4.5]);
}

#[test]
fn nan_passes_through_max_min_and_relu() {
    let x = [f32::NAN, 1.0];
    for y in [
        on(max(acc(), 0), &x),
        on(max(0, acc()), &x),
        on(min(acc(), 5), &x),
        on(min(5, acc()), &x),
        on(relu(acc()), &x),
    ] {
        assert!(y[0].is_nan() && y[1] == 1.0, "{y:?}");
    }
    assert!(on(relu(acc()), &[-0.0])[0].is_sign_negative());
}

// D[i, j] = 10i + j, whichever way the segments run: a transposed plan computes columns.
#[test]
fn rows_and_columns_in_both_orientations() {
    let (bias_col, bias_row): (Vec<f32>, Vec<f32>) =
        ((0..5).map(|j| j as f32).collect(), (0..3).map(|i| 10.0 * i as f32).collect());
    for m in 0..3 {
        let at = Segment { m, ..AT };
        let d = values(acc() + row(&bias_col) + column(&bias_row), shape(1, 3, 5), at, Accumulators::F32(&[0.0; 5]));
        assert_eq!(d, [0.0, 1.0, 2.0, 3.0, 4.0].map(|j| 10.0 * m as f64 + j));
    }
    for n in 0..5 {
        let at = Segment { n, along: Along::M, ..AT };
        let d = values(acc() + row(&bias_col) + column(&bias_row), shape(1, 3, 5), at, Accumulators::F32(&[0.0; 3]));
        assert_eq!(d, [0.0, 10.0, 20.0].map(|i| i + n as f64));
    }
    let part = Segment { m: 2, n: 3, ..AT };
    assert_eq!(values(acc() + row(&bias_col), shape(1, 3, 5), part, Accumulators::F32(&[0.0; 2])), [3.0, 4.0]);
}

// Batch strides 0 (shared), N and N + 3.
#[test]
fn rows_per_batch_entry() {
    let data: Vec<f32> = (0..3 * 8).map(|i| (100 * (i / 8) + i % 8) as f32).collect();
    let dense: Vec<f32> = data.chunks(8).flat_map(|c| c[..5].to_vec()).collect();
    let padded = TensorView::from_slice_in(Strided { extents: [3, 1, 5], strides: [8, 5, 1] }, &data).unwrap();
    let packed = TensorView::from_slice_in(Strided { extents: [3, 1, 5], strides: [5, 5, 1] }, &dense).unwrap();
    let shared = packed.sub_batch(0..1).unwrap();
    let repeated = shared.repeated(3).unwrap();
    for batch in 0..3 {
        let at = Segment { batch, m: 1, ..AT };
        let d = |v: &TensorView<'_, f32>| values(acc() + row(v), shape(3, 2, 5), at, Accumulators::F32(&[0.0; 5]));
        let want = |b: usize| [0.0, 1.0, 2.0, 3.0, 4.0].map(|j| 100.0 * b as f64 + j).to_vec();
        assert_eq!(d(&padded), want(batch));
        assert_eq!(d(&packed), want(batch));
        assert_eq!(d(&shared), want(0));
        assert_eq!(d(&repeated), want(0));
        let scale = [1.0f32, 2.0, 3.0];
        let scaled = values(per_batch(&scale) * acc(), shape(3, 2, 5), at, Accumulators::F32(&[2.0; 5]));
        assert_eq!(scaled, [2.0 * (batch + 1) as f64; 5]);
    }
}

#[test]
fn matrices_of_any_order_and_element() {
    let rows = Tensor::from_fn(3, 4, |m, n| f16::from_f32((4 * m + n) as f32)).unwrap();
    let columns =
        Tensor::from_fn_in(Strided::dense(3, 4, Order::ColumnMajor), |_, m, n| bf16::from_f32((4 * m + n) as f32))
            .unwrap();
    let bytes = Tensor::from_fn(3, 4, |m, n| e4m3::from_f32((m + n) as f32)).unwrap();
    let nibbles = Tensor::from_fn(3, 4, |m, n| i4::from_f32((m + n) as f32 - 3.0)).unwrap();
    for (m, n) in [(0, 0), (1, 1), (2, 3)] {
        for along in [Along::N, Along::M] {
            let count = if along == Along::N { 4 - n } else { 3 - m };
            let at = |i| if along == Along::N { (m, n + i) } else { (m + i, n) };
            let e = acc() + source(&rows) + tile(&columns) * 2 + tile(&bytes) - tile(&nibbles);
            let d = values(e, shape(1, 3, 4), Segment { batch: 0, m, n, along }, Accumulators::F32(&[0.5; 4][..count]));
            for (i, d) in d.into_iter().enumerate() {
                let (m, n) = at(i);
                assert_eq!(d, 0.5 + 3.0 * (4 * m + n) as f64 + 3.0, "{m}, {n}");
            }
        }
    }
}

// beta = 0 of either sign: C is not read, may be absent, and its NaN does not leak.
#[test]
fn zeros_drop_terms() {
    let nan = [f32::NAN; 2];
    let absent: [f32; 0] = [];
    for zero in [0.0, -0.0, 1e-60] {
        for e in [acc() + zero * source(&nan), acc() + zero * source(&absent)] {
            let d = on(e, &[1.0, -2.0]);
            assert_eq!(d, [1.0, -2.0]);
        }
        let d = on(zero * acc() + 1, &[f32::NAN, f32::INFINITY]);
        assert_eq!(d, [1.0, 1.0]);
        let d = on(acc() * zero, &[-1.0, f32::NAN]);
        assert!(d.iter().all(|x| x.to_bits() == 0), "the product is +0: {d:?}");
        let pointer = [zero as f32];
        assert_eq!(on(acc() + source(&nan) * scalar(&pointer), &[1.0, -2.0]), [1.0, -2.0]);
    }
    // Only a scalar leaf that multiplies the operand itself.
    assert!(on(0.0 * (acc() + 1), &[f32::NAN])[0].is_nan());
    assert!(on((acc() * 0.0) * f64::NAN, &[1.0])[0].is_nan());
    assert!(on(f64::NAN * acc(), &[0.0])[0].is_nan(), "alpha = NaN with K = 0");
    assert!(on(acc() + 0.0 * row(&nan[..1]), &[1.0])[0].is_nan(), "a row is not dropped");
}

// K = 0: the epilogue of a zero accumulator.
#[test]
fn a_zero_accumulator_still_has_an_epilogue() {
    let ones = [1.0f32];
    assert_eq!(on(acc() + 2 * source(&ones), &[0.0]), [2.0]);
    assert_eq!(on(relu(acc() - 2 * source(&ones) + row(&ones)), &[0.0]), [0.0]);
}

#[test]
fn uses_follow_the_scalars() {
    let c = [1.0f32];
    let uses = |alpha: f64, beta: [f32; 2]| {
        let e = alpha * acc() + per_batch(&beta) * source(&c);
        let program = Program::of(node(&e), Dtype::F32, Dtype::F32).unwrap();
        let bound = program.bind(&args(e), shape(2, 1, 1), Space::Host).unwrap();
        let host = Evaluator::new(&program, &bound, None);
        (
            bound.may_read_accumulator(),
            bound.may_read_source(),
            [0, 1].map(|b| (host.uses_accumulator(b), host.reads_source(b))),
        )
    };
    assert_eq!(uses(2.0, [0.0, 1.0]), (true, true, [(true, false), (true, true)]));
    assert_eq!(uses(-0.0, [f32::NAN, 0.0]), (false, true, [(false, true), (false, false)]));
    let e = 0.0 * acc() + relu(acc());
    assert!(Program::of(node(&e), Dtype::F32, Dtype::F32).unwrap().reads_accumulator().always);
    let e = 0.0 * acc() + 0.0 * source(&c);
    let program = Program::of(node(&e), Dtype::F32, Dtype::F32).unwrap();
    let bound = program.bind(&args(e), shape(1, 1, 1), Space::Host).unwrap();
    assert!(!bound.may_read_accumulator() && !bound.may_read_source() && bound.view(1).is_none());
}

fn node<N: Fusion>(_: &Expr<N>) -> &'static warpwright_spec::Node {
    N::NODE
}

#[test]
fn what_does_not_fit_is_refused() {
    let bias = [0f32; 4];
    let refused = |args: &Args<'_>, node, output| {
        let program = Program::of(node, Dtype::F32, Dtype::F32).unwrap();
        program.bind(args, output, Space::Host).unwrap_err()
    };
    let e = acc() + row(&bias);
    let error = refused(&args(e), node(&e), shape(1, 3, 5));
    let text = "the row that is epilogue argument 0 has 4 elements, but N is 5: it has one value for each column of D";
    assert_eq!(error.to_string(), text);
    let e = acc() + 1.5 * source(&bias);
    assert!(matches!(refused(&args(e), node(&e), shape(1, 3, 5)), BindError::Extents { argument: 1, .. }));
    let e = acc() + row(&bias);
    assert!(matches!(refused(&Args::new(), node(&e), shape(1, 3, 4)), BindError::Count { expected: 1, given: 0 }));
    assert!(matches!(refused(&args(acc() * 2), node(&e), shape(1, 3, 4)), BindError::Kind { argument: 0, .. }));
    let wide = [0f64; 4];
    let error = refused(&args(acc() + row(&wide)), node(&e), shape(1, 3, 4));
    assert!(matches!(error, BindError::Element { expected: Dtype::F32, given: Dtype::F64, .. }));
    let e = scalar(&wide[..1]) * acc();
    assert!(matches!(refused(&args(e), node(&e), shape(1, 3, 4)), BindError::Element { expected: Dtype::F32, .. }));
    let nibbles = [i4::from_f32(1.0); 4];
    let e = acc() + row(&nibbles);
    assert!(matches!(refused(&args(e), node(&e), shape(1, 3, 4)), BindError::Unreadable { dtype: Dtype::I4, .. }));
    let program = Program::of(&warpwright_spec::Node::LoadRow(Dtype::F32), Dtype::F32, Dtype::F32).unwrap();
    let error = program.bind(&args(row(&bias)), shape(1, 3, 4), Space::Cuda(0)).unwrap_err();
    assert!(matches!(error, BindError::Space { given: Space::Host, expected: Space::Cuda(0), .. }));
}

#[test]
fn integer_accumulators_stay_exact() {
    let x = [i32::MAX, i32::MIN, 16_777_217, -3];
    let zero_points = [1i32, -1, 16, 0];
    let on = |v: Vec<f64>| v;
    assert_eq!(on(values(acc(), shape(1, 1, 4), AT, Accumulators::I32(&x))), x.map(f64::from));
    let d = values(acc() - row(&zero_points), shape(1, 1, 4), AT, Accumulators::I32(&x));
    assert_eq!(d, [2147483646.0, -2147483647.0, 16777201.0, -3.0]);
    let d = values(relu(acc()) + max(-acc(), acc()), shape(1, 1, 4), AT, Accumulators::I32(&x));
    assert_eq!(d, [4294967294.0, 2147483648.0, 33554434.0, 3.0]);
    // A scalar asks for f32, once, after the exact difference.
    let d = values(0.5 * (acc() - row(&zero_points)), shape(1, 1, 4), AT, Accumulators::I32(&x));
    assert_eq!(d, [2147483646i64, -2147483647, 16777201, -3].map(|x| f64::from(0.5f32 * x as f32)));
    let d = values(0.5 * acc(), shape(1, 1, 4), AT, Accumulators::I32(&x));
    assert_eq!(d, x.map(|x| f64::from(0.5f32 * x as f32)));
    let d = values(convert::<i8, _>(acc()) + 0, shape(1, 1, 4), AT, Accumulators::I32(&x));
    assert_eq!(d, [127.0, -128.0, 127.0, -3.0]);
}

#[test]
fn conversions_round_in_the_middle() {
    let x = [1.0 + f32::EPSILON, 70000.0, -500.0];
    assert_eq!(on(convert::<f16, _>(acc()) + 0, &x), [1.0, f64::INFINITY, -500.0]);
    assert_eq!(on(convert::<e4m3, _>(acc()) * 2, &x), [2.0, 896.0, -896.0]);
    assert_eq!(on(convert::<i8, _>(acc() + 0.5), &x), [2.0, 127.0, -128.0]);
}

#[test]
fn values_are_written_where_the_segment_is() {
    let e = 2.0 * acc();
    let program = Program::of(node(&e), Dtype::F32, Dtype::F16).unwrap();
    let bound = program.bind(&args(e), shape(2, 3, 4), Space::Host).unwrap();
    let evaluator = Evaluator::new(&program, &bound, None);
    let mut scratch = Scratch::new();
    for order in [Order::RowMajor, Order::ColumnMajor] {
        let mut d = Tensor::from_fn_in(Strided::dense_batch(2, 3, 4, order), |_, _, _| f16::from_f32(-1.0)).unwrap();
        let mut view: TensorViewMut<'_, f16> = d.view_mut().unwrap();
        let raw = view.raw();
        for (at, x) in [
            (Segment { batch: 1, m: 2, n: 1, along: Along::N }, &[1.0f32, 1e6, 3.0][..]),
            (Segment { batch: 0, m: 1, n: 3, along: Along::M }, &[4.0, 5.0]),
        ] {
            let values = evaluator.evaluate(at, Accumulators::F32(x), &mut scratch);
            // SAFETY: the tensor is borrowed here alone.
            unsafe { values.write(&raw, at) };
        }
        let view = d.view();
        for b in 0..2 {
            for m in 0..3 {
                for n in 0..4 {
                    let want = match (b, m, n) {
                        (1, 2, 1) => 2.0,
                        (1, 2, 2) => f32::INFINITY,
                        (1, 2, 3) => 6.0,
                        (0, 1, 3) => 8.0,
                        (0, 2, 3) => 10.0,
                        _ => -1.0,
                    };
                    assert_eq!(view.get_in(b, m, n).unwrap().to_f32(), want, "{b}, {m}, {n} {order:?}");
                }
            }
        }
    }
}

#[test]
fn outputs_below_a_byte_keep_their_neighbours() {
    let mut d = Tensor::from_fn(2, 3, |m, n| i4::from_f32((m + n) as f32)).unwrap();
    let mut view = d.view_mut().unwrap();
    // SAFETY: the tensor is borrowed here alone.
    unsafe { Values::F32(&[-20.0, 5.5]).write(&view.raw(), Segment { batch: 0, m: 1, n: 0, along: Along::N }) };
    assert_eq!(d.to_vec().unwrap().iter().map(|x| x.to_f32()).collect::<Vec<_>>(), [0.0, 1.0, 2.0, -8.0, 6.0, 3.0]);
}

#[test]
fn the_previous_output_is_read_in_place() {
    let e = acc() + 0.5 * previous();
    let program = Program::of(node(&e), Dtype::F32, Dtype::F32).unwrap();
    let bound = program.bind(&args(e), shape(1, 2, 3), Space::Host).unwrap();
    let mut d = Tensor::from_fn(2, 3, |m, n| (10 * m + 2 * n) as f32).unwrap();
    let mut view = d.view_mut().unwrap();
    let raw = view.raw();
    // SAFETY: segments are read before they are written.
    let before = unsafe { raw.as_raw_view() };
    let evaluator = Evaluator::new(&program, &bound, Some(before));
    let mut scratch = Scratch::new();
    for m in 0..2 {
        let at = Segment { m, ..AT };
        let values = evaluator.evaluate(at, Accumulators::F32(&[1.0, 2.0, 3.0]), &mut scratch);
        // SAFETY: the tensor is borrowed here alone.
        unsafe { values.write(&raw, at) };
    }
    assert_eq!(d.to_vec().unwrap(), [1.0, 3.0, 5.0, 6.0, 8.0, 10.0]);
}

#[test]
fn parameters_are_packed_where_the_block_says() {
    let (bias, c, betas) = ([0f32; 5], Tensor::<f32>::zeros(3, 5).unwrap(), [1f32; 2]);
    let e = 0.1 * acc() + row(&bias) + per_batch(&betas) * source(&c) + 0.0 * source(&c);
    let program = Program::of(node(&e), Dtype::F32, Dtype::F32).unwrap();
    let bound = program.bind(&args(e), shape(2, 3, 5), Space::Host).unwrap();
    let mut bytes = vec![0; bound.packed_bytes()];
    bound.pack(&mut bytes, |_| Default::default());
    let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap());
    let words: Vec<u64> = (0..bytes.len() / 8).map(word).collect();
    let (bias, c, betas) = (bias.as_ptr() as u64, c.view().raw().address(), betas.as_ptr() as u64);
    let alpha = u64::from(0.1f32.to_bits());
    let want = [0, 0, alpha, bias, 1, 0, betas, 1, 0, c, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(words, want);
}
