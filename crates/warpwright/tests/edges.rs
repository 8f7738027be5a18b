//! Small inputs on which GEMM libraries have failed, at the level of the builder's types: empty extents, β = 0 over NaN,
//! padded leading dimensions, broadcast vectors, batches, wrong shapes, shared kernels.

use std::error::Error;
use warpwright::prelude::*;
use warpwright::runtime::{RawView, RawViewMut};
use warpwright::spec::{Node, Operator, intern};
use warpwright::{Arg, BuildError, CallArgs, RunError, Space, TensorError};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn host() -> Result<(Device, Stream)> {
    let device = Device::host();
    let stream = device.default_stream()?;
    Ok((device, stream))
}

fn ones<T: Element>(rows: usize, cols: usize) -> std::result::Result<Tensor<T>, TensorError> {
    Tensor::full(rows, cols, T::from_f64(1.0))
}

/// K = 0 is the epilogue of a zero accumulator.
#[test]
fn without_k_the_epilogue_runs() -> Result {
    let (device, stream) = host()?;
    let (a, b, c) = (Tensor::<f32>::zeros(2, 0)?, Tensor::<f32>::zeros(0, 2)?, ones::<f32>(2, 2)?);
    let mut d = Tensor::full(2, 2, f32::NAN)?;
    let builder = GemmBuilder::<Sm80, f32, f32>::auto;
    builder().epilogue(1.0 * acc() + 2.0 * source(&c)).build(&device)?.run(&stream, &a, &b, &mut d)?;
    assert_eq!(d.to_vec()?, [2.0; 4]);
    let bias = [1f32; 2];
    builder().epilogue(relu(acc() + -2.0 * source(&c) + row(&bias))).build(&device)?.run(&stream, &a, &b, &mut d)?;
    assert_eq!(d.to_vec()?, [0.0; 4]);
    builder().epilogue(f32::NAN * acc() + 2.0 * source(&c)).build(&device)?.run(&stream, &a, &b, &mut d)?;
    assert!(d.to_vec()?.iter().all(|x| x.is_nan()));
    Ok(())
}

#[test]
fn an_empty_output_is_nothing_to_do() -> Result {
    let (device, stream) = host()?;
    let mut gemm = GemmBuilder::<Sm80, bf16, f32>::auto().build(&device)?;
    for batch in [0, 1] {
        for m in [0, 1] {
            for n in [0, 1] {
                let dense = |rows, cols| Strided::dense_batch(batch, rows, cols, Order::RowMajor);
                let (a, b) = (Tensor::<bf16>::zeros_in(dense(m, 3))?, Tensor::<bf16>::zeros_in(dense(3, n))?);
                let mut d = Tensor::<bf16>::from_fn_in(dense(m, n), |_, _, _| bf16::ONE)?;
                gemm.run(&stream, &a, &b, &mut d)?;
                let expected = if batch * m * n == 1 { vec![bf16::ZERO] } else { vec![] };
                assert_eq!(d.to_vec()?, expected, "batch {batch}, M {m}, N {n}");
                let wrong = Tensor::<bf16>::zeros_in(dense(4, n))?;
                assert!(matches!(gemm.run(&stream, &a, &wrong, &mut d), Err(RunError::Contraction { a: 3, b: 4 })));
            }
        }
    }
    let (a, b) = (
        Tensor::<bf16>::zeros_in(Strided::dense_batch(5, 0, 7, Order::RowMajor))?,
        Tensor::zeros_in(Strided::dense_batch(5, 7, 9, Order::RowMajor))?,
    );
    let mut d = Tensor::zeros_in(Strided::dense_batch(5, 0, 9, Order::RowMajor))?;
    gemm.run(&stream, &a, &b, &mut d)?;
    Ok(())
}

fn beta_of_zero_reads_nothing<T: Element>() -> Result
where
    Composed<Sm80, T, T, Operands<Auto, T>, Plan, BetaC<T>>: GemmKernel<A = T, B = T, D = T, Fusion = BetaC<T>>,
    Composed<Sm80, T, T, Operands<Auto, T>, Plan, BetaD>: GemmKernel<A = T, B = T, D = T, Fusion = BetaD>,
{
    let (_, stream) = host()?;
    let (a, b) = (ones::<T>(65, 33)?, ones::<T>(33, 65)?);
    let absent = Tensor::<T>::zeros(0, 0)?;
    for poison in [f64::NAN, f64::INFINITY] {
        let poisoned = || Tensor::full(65, 65, T::from_f64(poison));
        let c = poisoned()?;
        for beta in [0.0, -0.0] {
            let kernel = Kernel::<Composed<Sm80, T, T, Operands<Auto, T>, Plan, BetaC<T>>>::compile(stream.device())?;
            for c in [&c, &absent] {
                let mut d = poisoned()?;
                kernel.run_with(&stream, &a, &b, &mut d, acc() + beta * source(c))?;
                assert!(d.to_vec()?.iter().all(|&x| x == T::from_f64(33.0)), "beta {beta} over {poison}");
            }
            let kernel = Kernel::<Composed<Sm80, T, T, Operands<Auto, T>, Plan, BetaD>>::compile(stream.device())?;
            let mut d = poisoned()?;
            kernel.run_with(&stream, &a, &b, &mut d, acc() + beta * previous())?;
            assert!(d.to_vec()?.iter().all(|&x| x == T::from_f64(33.0)), "beta {beta} over {poison}");
        }
    }
    Ok(())
}
type BetaC<T> = Plus<Acc, Times<Scalar, Source<'static, T>>>;
type BetaD = Plus<Acc, Times<Scalar, warpwright::Previous>>;

#[test]
fn a_factor_of_zero_drops_its_term() -> Result {
    beta_of_zero_reads_nothing::<f32>()?;
    beta_of_zero_reads_nothing::<f64>()?;
    let (device, stream) = host()?;
    let (a, b) = (ones::<bf16>(65, 33)?, ones::<bf16>(33, 65)?);
    let mut d = Tensor::full(65, 65, bf16::NAN)?;
    let poison = Tensor::full(65, 65, bf16::NAN)?;
    let mut gemm = GemmBuilder::<Sm80, bf16, f32>::auto().epilogue(acc() + -0.0 * source(&poison)).build(&device)?;
    gemm.run(&stream, &a, &b, &mut d)?;
    assert!(d.to_vec()?.iter().all(|x| x.to_f32() == 33.0));
    // A factor that is not zero needs its operand.
    let absent = Tensor::<bf16>::zeros(0, 0)?;
    let mut gemm = GemmBuilder::<Sm80, bf16, f32>::auto().epilogue(acc() + 1.0 * source(&absent)).build(&device)?;
    let error = gemm.run(&stream, &a, &b, &mut d).unwrap_err();
    assert!(matches!(error, RunError::Epilogue(_)), "{error}");
    Ok(())
}

/// Views into larger allocations give the bits of packed ones, and the rest of the allocation stays as it was.
#[test]
fn leading_dimensions_are_kept() -> Result {
    let (device, stream) = host()?;
    let (n, k) = (48, 32);
    for m in [3, 64, 128] {
        let value = |i: usize, j: usize| f16::from_f64(((7 * i + 3 * j) % 11) as f64 - 5.0);
        let (a, b) = (Tensor::from_fn(m, k, value)?, Tensor::from_fn(k, n, value)?);
        let mut packed = Tensor::<f16>::zeros(m, n)?;
        let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto().build(&device)?;
        gemm.run(&stream, &a, &b, &mut packed)?;
        for padded in 1..8 {
            let pad = |bit: usize, by: usize| if padded >> bit & 1 == 1 { by } else { 0 };
            let (a, b) = (Tensor::from_fn(m, k + pad(0, 16), value)?, Tensor::from_fn(k, n + pad(1, 16), value)?);
            let mut d = Tensor::full(m, n + pad(2, 16), f16::from_f64(777.0))?;
            gemm.run(
                &stream,
                &a.view().sub_cols(0..k)?,
                &b.view().sub_cols(0..n)?,
                &mut d.view_mut()?.sub_cols(0..n)?,
            )?;
            for i in 0..m {
                for j in 0..d.cols() {
                    let want = if j < n { packed.get(i, j)? } else { f16::from_f64(777.0) };
                    assert_eq!(d.get(i, j)?, want, "M {m}, padding {padded:03b}, ({i}, {j})");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn rows_and_columns_mean_the_same_in_both_orders_of_d() -> Result {
    let (device, stream) = host()?;
    let (a, b) = (Tensor::<f32>::zeros(3, 1)?, ones::<f32>(1, 5)?);
    let across: Vec<f32> = (0..5).map(|j| j as f32).collect();
    let down: Vec<f32> = (0..3).map(|i| 10.0 * i as f32).collect();
    let mut gemm =
        GemmBuilder::<Sm80, f32, f32>::auto().epilogue(acc() + row(&across) + column(&down)).build(&device)?;
    for mut d in [Tensor::<f32>::zeros(3, 5)?, Tensor::column_major(3, 5)?] {
        gemm.run(&stream, &a, &b, &mut d)?;
        for i in 0..3 {
            for j in 0..5 {
                assert_eq!(d.get(i, j)?, (10 * i + j) as f32);
            }
        }
    }
    Ok(())
}

#[test]
fn a_bias_of_a_batch_has_a_stride() -> Result {
    let (device, stream) = host()?;
    let (batch, n) = (3, 5);
    let (a, b) = (Tensor::<f32>::zeros_in(Strided::dense_batch(batch, 2, 4, Order::RowMajor))?, ones::<f32>(4, n)?);
    for stride in [0, n, n + 3] {
        let entries = if stride == 0 { 1 } else { batch };
        let layout = Strided::dense(1, n, Order::RowMajor).batched(entries, stride);
        let bias = Tensor::<f32>::from_fn_in(layout, |b, _, j| (100 * b + j) as f32)?;
        let mut d = Tensor::<f32>::zeros_in(Strided::dense_batch(batch, 2, n, Order::RowMajor))?;
        GemmBuilder::<Sm80, f32, f32>::auto()
            .epilogue(acc() + row(&bias))
            .build(&device)?
            .run(&stream, &a, &b, &mut d)?;
        for e in 0..batch {
            for j in 0..n {
                let want = if stride == 0 { j } else { 100 * e + j };
                assert_eq!(d.view().get_in(e, 1, j)?, want as f32, "stride {stride}, entry {e}, column {j}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_batch_of_one_serves_all() -> Result {
    let (device, stream) = host()?;
    let batched = Strided::dense_batch(4, 3, 3, Order::RowMajor);
    let many = Tensor::<f32>::from_fn_in(batched, |b, m, n| (b + m * n) as f32)?;
    let one = Tensor::<f32>::from_fn(3, 3, |m, n| if m == n { 2.0 } else { 0.0 })?;
    let mut gemm = GemmBuilder::<Sm80, f32, f32>::auto().build(&device)?;
    for flip in [false, true] {
        let mut d = Tensor::<f32>::zeros_in(batched)?;
        if flip {
            gemm.run(&stream, &one, &many, &mut d)?
        } else {
            gemm.run(&stream, &many, &one, &mut d)?
        }
        assert_eq!(d.to_vec()?, many.to_vec()?.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    }
    let mut d = Tensor::<f32>::zeros_in(Strided::dense_batch(3, 3, 3, Order::RowMajor))?;
    let error = gemm.run(&stream, &many, &one, &mut d).unwrap_err();
    assert_eq!(error.to_string(), "A has 4 batch entries but D has 3: they must be equal, or 1 to be used for all");
    Ok(())
}

/// Each error says value, rule and remedy, and leaves D as it was.
#[test]
fn wrong_operands_are_errors_in_words() -> Result {
    let (device, stream) = host()?;
    let (a, b) = (ones::<f16>(4, 8)?, ones::<f16>(8, 6)?);
    let mut d = Tensor::full(4, 6, f16::from_f64(777.0))?;
    let builder = GemmBuilder::<Sm80, f16, f32>::auto;
    let mut gemm = builder().build(&device)?;
    let says = |result: std::result::Result<(), RunError>, text: &str| {
        let error = result.expect_err(text).to_string();
        assert!(error.contains(text), "`{error}` does not say `{text}`");
    };
    says(
        gemm.run(&stream, &a, &ones::<f16>(7, 6)?, &mut d),
        "A has 8 columns but B has 7 rows: the product contracts the one with the other, so they must be equal",
    );
    says(gemm.run(&stream, &a, &b, &mut Tensor::zeros(4, 7)?), "D is 4 x 7, but A (4 x 8) times B (8 x 6) is 4 x 6");
    let every_other = Strided { extents: [1, 4, 8], strides: [0, 32, 2] };
    says(
        gemm.run(&stream, &Tensor::<f16>::zeros_in(every_other)?, &b, &mut d),
        "A has strides 32 (rows) and 2 (columns): one of them must be 1, so copy it into a dense tensor",
    );
    let bias = vec![0f32; 5];
    says(
        builder().epilogue(acc() + row(&bias)).build(&device)?.run(&stream, &a, &b, &mut d),
        "the row that is epilogue argument 0 has 5 elements, but N is 6: it has one value for each column of D",
    );
    let mut fixed = builder().layouts::<ColumnMajor, RowMajor, RowMajor>().build(&device)?;
    says(
        fixed.run(&stream, &a, &b, &mut d),
        "A has strides 8 (rows) and 1 (columns), but the kernel was built for a column-major one, whose row stride is 1: leave the layout `Auto`, or copy the operand",
    );
    assert!(d.to_vec()?.iter().all(|x| x.to_f64() == 777.0), "D was touched");

    let any = AnyGemm::new(&GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32), &device)?;
    let wide = ones::<f32>(4, 8)?;
    says(
        any.run_raw(&stream, wide.view().raw(), b.view().raw(), d.view_mut()?.raw(), CallArgs::default()),
        "A holds f32, but the kernel was built for f16: convert it, or build another kernel",
    );
    let mut square = ones::<f16>(8, 8)?;
    let shared = square.view_mut()?.into_raw();
    // SAFETY: the call is refused, so nothing is read or written.
    let alias = unsafe { shared.as_raw_view() };
    says(any.run_raw(&stream, alias, alias, shared, CallArgs::default()), "D overlaps A in memory");
    assert!(d.to_vec()?.iter().all(|x| x.to_f64() == 777.0), "D was touched");
    assert!(square.to_vec()?.iter().all(|x| x.to_f64() == 1.0), "D was touched");
    Ok(())
}

/// Devices fault at an element whose address is no multiple of its size.
#[test]
fn what_begins_inside_an_element_is_refused() -> Result {
    let (device, stream) = host()?;
    let (a, b) = (ones::<f16>(4, 8)?, ones::<f16>(8, 6)?);
    let bias = [0f32; 7];
    let mut d = Tensor::full(4, 6, f16::from_f64(777.0))?;
    let moved = |view: RawView<'_>, rows: usize, by: u64| {
        let layout = Strided::dense(rows, 5, Order::RowMajor);
        // SAFETY: the rows have one element less each.
        unsafe { RawView::new(view.address() + by, view.bytes() - 2, view.space(), view.dtype(), layout) }
    };
    let node = intern(Node::Combine(Operator::Plus, &Node::LoadAcc, intern(Node::LoadRow(Dtype::F32))));
    let desc = GemmDesc { epilogue: node, ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) };
    let any = AnyGemm::new(&desc, &device)?;
    // SAFETY: D is not read while the call runs.
    let narrow = unsafe {
        RawViewMut::new(
            d.view_mut()?.into_raw().address(),
            48,
            Space::Host,
            Dtype::F16,
            Strided::dense(4, 5, Order::RowMajor),
        )
    };
    let b_narrow = moved(b.view().raw(), 8, 0);
    let row = |by: u64| {
        // SAFETY: 20 of 28 bytes.
        let view = unsafe {
            RawView::new(bias.as_ptr() as u64 + by, 20, Space::Host, Dtype::F32, Strided::dense(1, 5, Order::RowMajor))
        };
        CallArgs { epilogue: [Arg::Read(view)].into_iter().collect(), ..CallArgs::default() }
    };
    let says = |result: std::result::Result<(), RunError>, text: &str| {
        let error = result.expect_err(text).to_string();
        assert!(
            error.starts_with(text) && error.ends_with("bytes, so copy it to one"),
            "`{error}` does not say `{text}`"
        );
    };
    says(any.run_raw(&stream, a.view().raw(), moved(b.view().raw(), 8, 1), narrow, row(0)), "B of f16 begins at 0x");
    says(
        any.run_raw(&stream, a.view().raw(), b_narrow, narrow, row(2)),
        "epilogue argument 0 (row(..)) of f32 begins at 0x",
    );
    assert!(d.to_vec()?.iter().all(|x| x.to_f64() == 777.0), "D was touched");
    any.run_raw(&stream, a.view().raw(), b_narrow, narrow, row(4))?;
    assert_eq!(d.get(0, 0)?.to_f64(), 8.0);
    Ok(())
}

/// A tag's kernels are refused by a device that lacks its instructions, before anything is compiled.
#[test]
fn the_one_line_names_tag_and_device() -> Result {
    let x = ones::<f16>(4, 4)?;
    let gpu = Device::all().into_iter().flatten().find(|d| !d.is_host());
    match (gpu, GemmBuilder::<Sm100, f16, f32>::auto().run(&x, &x)) {
        (None, Ok(d)) => assert!(d.to_vec()?.iter().all(|v| v.to_f64() == 4.0)),
        (None, Err(RunError::Build(BuildError::Device(e)))) => assert!(!e.to_string().is_empty()),
        (Some(gpu), Err(e)) if gpu.info().newest_tag() != Some(ArchId::SM100) => {
            let text = e.to_string();
            assert!(text.contains("Sm100") && text.contains("this device has"), "{text}");
        }
        (Some(_), Ok(_)) => {}
        (gpu, other) => panic!("{gpu:?}: {other:?}"),
    }
    Ok(())
}

/// One kernel, eight threads, each with its own stream and its own numbers.
#[test]
fn threads_share_a_kernel() -> Result {
    let device = Device::host();
    let bias = [0f32; 8];
    let kernel = GemmBuilder::<Sm80, f16, f32>::auto().epilogue(acc() + row(&bias)).build(&device)?.detach();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|t| {
                let (kernel, device) = (&kernel, &device);
                scope.spawn(move || -> std::result::Result<(), RunError> {
                    let stream = device.new_stream()?;
                    let a = Tensor::<f16>::full(8, 8, f16::from_f64(f64::from(t)))?;
                    let mut d = Tensor::<f16>::zeros(8, 8)?;
                    for i in 0..500 {
                        let bias = [i as f32; 8];
                        // Extents differ now and then, so that threads also meet where plans are made.
                        let k = 1 + i % 8;
                        let (a, b) = (a.view().sub_cols(0..k)?, a.view().sub_rows(0..k)?);
                        kernel.run_with(&stream, &a, &b, &mut d, acc() + row(&bias))?;
                        let want = f16::from_f64(f64::from(t * t * k as i32) + i as f64);
                        assert!(d.to_vec()?.iter().all(|&x| x == want), "thread {t}, run {i}");
                    }
                    Ok(())
                })
            })
            .collect();
        for worker in workers {
            worker.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

/// Extents that no memory holds are planned without a panic.
#[test]
fn extents_beyond_all_memory_are_explained() {
    let gemm = AnyGemm::new(&GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32), &Device::host()).unwrap();
    let most = usize::MAX;
    for (m, n, k) in [(most, 1, 1), (1, most, 1), (1, 1, most), (most, most, most), (0, 5, 7)] {
        assert!(gemm.explain(&Problem::dense(m, n, k)).is_ok(), "{m} x {n} x {k}");
    }
    assert!(gemm.explain(&Problem::batched(4, 4, 4, most)).is_ok());
}
