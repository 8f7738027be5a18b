//! What epilogues store beside D, through types, on the host and on emulated devices.

use warpwright::kernels::CanImplementError;
use warpwright::prelude::*;
use warpwright::{Amax, Atomic, Max, Min, Order, RunError, Sum, SumOfSquares};

type Test = Result<(), Box<dyn std::error::Error>>;

const M: usize = 37;
const N: usize = 56;
const K: usize = 16;

fn a(m: usize, k: usize) -> i32 {
    (m * 7 + k * 3) as i32 % 5 - 2
}

fn b(k: usize, n: usize) -> i32 {
    (k * 5 + n * 11) as i32 % 7 - 3
}

fn product(m: usize, n: usize) -> f32 {
    (0..K).map(|k| a(m, k) * b(k, n)).sum::<i32>() as f32
}

fn operands() -> Result<(Tensor<f16>, Tensor<f16>), warpwright::TensorError> {
    let a = Tensor::from_fn(M, K, |m, k| f16::from_f32(a(m, k) as f32))?;
    Ok((a, Tensor::from_fn(K, N, |k, n| f16::from_f32(b(k, n) as f32))?))
}

fn over_rows(n: usize, f: impl Fn(f32, f32) -> f32) -> f32 {
    (0..M).map(|m| product(m, n)).reduce(f).unwrap()
}

fn over_columns(m: usize, f: impl Fn(f32, f32) -> f32) -> f32 {
    (0..N).map(|n| product(m, n)).reduce(f).unwrap()
}

#[test]
fn outputs_of_every_kind_are_stored_on_the_host() -> Test {
    let (a, b) = operands()?;
    let mut z = Tensor::<bf16>::column_major(M, N)?;
    let (mut largest, mut squares) = (vec![f32::NAN; 1], vec![f32::NAN; 1]);
    let (mut row_sums, mut column_max, mut least) = (vec![f32::NAN; N], vec![f32::NAN; M], vec![f32::NAN; N]);
    let mut bits = Tensor::<u8>::full(M, N.div_ceil(8), 0xaa)?;
    let e = reduce_rows::<Sum, _, _>(&mut row_sums, aux_store(&mut z, 2.0 * acc()));
    let e = amax(&mut largest, reduce_columns::<Max, _, _>(&mut column_max, acc() + 0.0 * e));
    let e = reduce_all::<Atomic<SumOfSquares>, _, _>(&mut squares, reduce_rows::<Min, _, _>(&mut least, e));
    let d = GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().epilogue(aux_mask(&mut bits, e)).run(&a, &b)?;
    for (m, n) in (0..M).flat_map(|m| (0..N).map(move |n| (m, n))) {
        let x = product(m, n);
        assert_eq!((d.get(m, n)?, z.get(m, n)?.to_f32()), (x, 2.0 * x));
        assert_eq!(bits.get(m, n / 8)? >> (n % 8) & 1 == 1, x > 0.0, "{m} {n}");
    }
    for n in 0..N {
        assert_eq!((row_sums[n], least[n]), (2.0 * over_rows(n, |x, y| x + y), over_rows(n, f32::min)));
    }
    for (m, &largest) in column_max.iter().enumerate() {
        assert_eq!(largest, over_columns(m, f32::max));
    }
    let all = || (0..M).flat_map(|m| (0..N).map(move |n| product(m, n)));
    assert_eq!(largest[0], all().map(f32::abs).reduce(f32::max).unwrap());
    assert_eq!(squares[0], all().map(|x| x * x).sum::<f32>());
    Ok(())
}

#[test]
fn bits_lie_along_a_column_major_output() -> Test {
    let (a, b) = operands()?;
    let stream = Device::host().default_stream()?;
    let mut d = Tensor::<f32>::column_major(M, N)?;
    let mut bits = Tensor::<u8>::full(M.div_ceil(8), N, 0xff)?;
    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto()
        .output::<f32>()
        .epilogue(aux_mask(&mut bits, acc()))
        .build(&Device::host())?;
    gemm.run(&stream, &a, &b, &mut d)?;
    for (m, n) in (0..M.next_multiple_of(8)).flat_map(|m| (0..N).map(move |n| (m, n))) {
        let positive = m < M && product(m, n) > 0.0;
        assert_eq!(bits.get(m / 8, n)? >> (m % 8) & 1 == 1, positive, "{m} {n}");
    }
    Ok(())
}

#[test]
fn reductions_propagate_nan_and_count_zeros_as_positive() -> Test {
    let a = Tensor::from_fn(2, 1, |m, _| f16::from_f32(if m == 0 { f32::NAN } else { -0.0 }))?;
    let b = Tensor::from_fn(1, 3, |_, _| f16::ONE)?;
    let (mut most, mut least) = (vec![0.0f32; 2], vec![0.0f32; 2]);
    let mut largest = [0.0f32];
    let e = reduce_columns::<Min, _, _>(&mut least, amax(&mut largest, -acc()));
    let e = reduce_columns::<Max, _, _>(&mut most, -e);
    let _ = GemmBuilder::<Sm80, f16, f32>::auto().epilogue(e).run(&a, &b)?;
    assert!(largest[0].is_nan() && most[0].is_nan() && least[0].is_nan());
    assert_eq!((most[1].to_bits(), least[1].to_bits()), (0, 0));
    Ok(())
}

#[test]
fn a_batch_is_reduced_entry_by_entry_or_as_a_whole() -> Test {
    let layout = |rows, columns| Strided::dense_batch(3, rows, columns, Order::RowMajor);
    let a = Tensor::<f16>::from_fn_in(layout(4, 2), |b, m, _| f16::from_f32((b * 10 + m) as f32))?;
    let b = Tensor::<f16>::full(2, 5, f16::ONE)?;
    let mut rows = Tensor::<f32>::zeros_in(layout(1, 5))?;
    let mut whole = vec![0.0f32; 5];
    let mut largest = vec![0.0f32; 3];
    let e = reduce_rows::<Sum, _, _>(&mut rows, reduce_rows::<Sum, _, _>(&mut whole, amax(&mut largest, acc())));
    let _ = GemmBuilder::<Sm80, f16, f32>::auto().epilogue(e).run(&a, &b)?;
    let sum = |b: usize| (0..4).map(|m| 2.0 * (b * 10 + m) as f32).sum::<f32>();
    let rows = rows.to_vec()?;
    assert_eq!(rows, (0..3).flat_map(|b| [sum(b); 5]).collect::<Vec<_>>());
    assert_eq!(whole, [sum(0) + sum(1) + sum(2); 5]);
    assert_eq!(largest, [6.0, 26.0, 46.0]);
    Ok(())
}

#[test]
fn outputs_that_do_not_fit_are_refused_and_nothing_is_written() -> Test {
    let (a, b) = operands()?;
    let device = Device::host();
    let stream = device.default_stream()?;
    let mut d = Tensor::<f32>::full(M, N, 7.0)?;
    let mut z = Tensor::<f32>::full(M, N, 9.0)?;
    let kernel = GemmBuilder::<Sm80, f16, f32>::auto()
        .output::<f32>()
        .epilogue(aux_store(&mut z, acc()))
        .build(&device)?
        .detach();
    let mut short = Tensor::<f32>::zeros(M, N - 1)?;
    let refused = kernel.run_with(&stream, &a, &b, &mut d, aux_store(&mut short, acc())).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "epilogue argument 0 (aux_store(..)) is 1 x 37 x 55 (batch x rows x columns), but D is 1 x 37 x 56: it must have D's rows and columns"
    );
    let mut sums = vec![0.0f32; N + 1];
    let mut gemm =
        GemmBuilder::<Sm80, f16, f32>::auto().epilogue(reduce_rows::<Sum, _, _>(&mut sums, acc())).build(&device)?;
    let mut narrow = Tensor::<f16>::zeros(M, N)?;
    let refused = gemm.run(&stream, &a, &b, &mut narrow).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the reduction over rows that is epilogue argument 0 has 57 elements, but N is 56: it has one value for each column of D"
    );
    // A mask of a column-major D.
    let mut bits = Tensor::<u8>::full(M.div_ceil(8), N, 3)?;
    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto().epilogue(aux_mask(&mut bits, acc())).build(&device)?;
    let refused = gemm.run(&stream, &a, &b, &mut narrow).unwrap_err();
    assert!(
        matches!(refused, RunError::CanImplement(CanImplementError::Mask { rows: 5, columns: 56, .. })),
        "{refused}"
    );
    assert_eq!(d.to_vec()?, vec![7.0; M * N]);
    assert_eq!(z.to_vec()?, vec![9.0; M * N]);
    assert_eq!(bits.to_vec()?, vec![3; M.div_ceil(8) * N]);
    let _ = stream;
    Ok(())
}

#[test]
fn erased_kernels_take_outputs_too() -> Test {
    let (a, b) = operands()?;
    let device = Device::host();
    let stream = device.default_stream()?;
    let mut s = [0.0f32];
    let erased = GemmBuilder::<Sm80, f16, f32>::auto().epilogue(amax(&mut s, acc())).build(&device)?.detach().erase();
    let mut d = Tensor::<f16>::zeros(M, N)?;
    let mut other = [0.0f32];
    erased.run_with(&stream, &a, &b, &mut d, amax(&mut other, acc()))?;
    assert!(other[0] > 0.0 && s[0] == 0.0);
    let refused = erased.run_with(&stream, &a, &b, &mut d, reduce_all::<Max, _, _>(&mut other, acc())).unwrap_err();
    assert!(refused.to_string().contains("reduce_all<max>(acc)"), "{refused}");
    let _ = Amax;
    Ok(())
}

#[test]
fn outputs_overlap_nothing() -> Test {
    use warpwright::epilogue::parse::{NameKind, expression};
    use warpwright::{Arg, Args, CallArgs, RawViewMut, Space};
    let (a, b) = operands()?;
    let device = Device::host();
    let stream = device.default_stream()?;
    let (mut d, mut z) = (Tensor::<f32>::full(M, N, 7.0)?, Tensor::<f32>::full(M, N, 9.0)?);
    let text = "d = aux_store(z, aux_store(y, acc))";
    let parsed = expression(text, &[("z", NameKind::Output(Dtype::F32)), ("y", NameKind::Output(Dtype::F32))])?;
    let desc = GemmDesc { d: Dtype::F32, epilogue: parsed.node, ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) };
    let gemm = AnyGemm::new(&desc, &device)?;
    let (of_d, of_z) = (d.view_mut()?.into_raw(), z.view_mut()?.into_raw());
    // Rows that all lie in one place.
    let layout = Strided { extents: [1, M, N], strides: [0, 0, 1] };
    // SAFETY: the bytes are those of z, and nothing else uses them.
    let folded = unsafe { RawViewMut::new(of_z.address(), of_z.bytes(), Space::Host, Dtype::F32, layout) };
    let refused = |outputs: [RawViewMut<'_>; 2]| {
        let mut args = Args::new();
        outputs.into_iter().for_each(|view| args.push(Arg::Write(view)));
        let call = CallArgs { epilogue: args, ..CallArgs::default() };
        gemm.run_raw(&stream, a.view().raw(), b.view().raw(), of_d, call).unwrap_err().to_string()
    };
    for (outputs, text) in [
        ([of_d, of_z], "epilogue argument 0 (aux_store(..)) overlaps D in memory"),
        ([of_z, of_z], "epilogue argument 0 (aux_store(..)) overlaps epilogue argument 1 (aux_store(..)) in memory"),
        ([folded, of_z], "elements of epilogue argument 0 (aux_store(..)) share memory"),
    ] {
        assert!(refused(outputs).starts_with(text), "{}", refused(outputs));
    }
    assert_eq!((d.to_vec()?, z.to_vec()?), (vec![7.0; M * N], vec![9.0; M * N]));
    Ok(())
}
