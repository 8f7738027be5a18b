//! What the builder's types mean when they run: on the host, against sums written out here.

use std::error::Error;
use warpwright::prelude::*;
use warpwright::{GemmKernel, Node, PlanError, RunError, ScheduleId, Violation, spec};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const M: usize = 20;
const N: usize = 24;
const K: usize = 40;

struct Operands4 {
    a: Tensor<f16>,
    b: Tensor<f16>,
    c: Tensor<f16>,
    bias: Vec<f32>,
}

fn f(x: impl Element) -> f64 {
    x.to_f64()
}

/// Small integers, so that every sum is exact.
fn operands() -> Result<Operands4> {
    Ok(Operands4 {
        a: Tensor::from_fn(M, K, |m, k| f16::from_f64(((m + k) % 3) as f64 - 1.0))?,
        b: Tensor::from_fn(K, N, |k, n| f16::from_f64((k * n % 5) as f64 - 2.0))?,
        c: Tensor::from_fn(M, N, |m, n| f16::from_f64(m as f64 - n as f64))?,
        bias: (0..N).map(|n| n as f32 / 2.0).collect(),
    })
}

fn product<A: Element, B: Element>(a: &Tensor<A>, b: &Tensor<B>, m: usize, n: usize) -> Result<f64> {
    (0..a.cols()).map(|k| Ok(f(a.get(m, k)?) * f(b.get(k, n)?))).sum()
}

fn expect<D: Element>(d: &Tensor<D>, want: impl Fn(usize, usize) -> Result<f64>) -> Result {
    for m in 0..d.rows() {
        for n in 0..d.cols() {
            assert_eq!(f(d.get(m, n)?), f(D::from_f64(want(m, n)?)), "at ({m}, {n})");
        }
    }
    Ok(())
}

#[test]
fn the_first_page_is_right() -> Result {
    let Operands4 { a, b, c, bias } = operands()?;
    let device = Device::host();
    let stream = device.default_stream()?;
    let (alpha, beta) = (0.5, 2.0);
    let mut gemm = GemmBuilder::<Sm90, f16, f32>::auto()
        .tile::<Shape<U128, U256, U64>>()
        .cluster::<Shape<U2, U1, U1>>()
        .schedule::<Cooperative>()
        .stages::<U4>()
        .scheduler::<StreamK>()
        .epilogue(relu(alpha * acc() + row(&bias) + beta * source(&c)))
        .build(&device)?;
    let mut d = Tensor::zeros(M, N)?;
    gemm.run(&stream, &a, &b, &mut d)?;
    let want = |bias: f64, m, n| -> Result<f64> {
        Ok((alpha * product(&a, &b, m, n)? + bias + beta * f(c.get(m, n)?)).max(0.0))
    };
    expect(&d, |m, n| want(f64::from(bias[n]), m, n))?;

    let kernel = gemm.detach();
    let other = vec![7f32; N];
    kernel.run_with(&stream, &a, &b, &mut d, relu(alpha * acc() + row(&other) + beta * source(&c)))?;
    expect(&d, |m, n| want(7.0, m, n))?;

    let erased: DynGemm<f16, f16, f16> = kernel.erase();
    erased.run_with(&stream, &a, &b, &mut d, relu(alpha * acc() + row(&bias) + beta * source(&c)))?;
    expect(&d, |m, n| want(f64::from(bias[n]), m, n))?;
    let wrong = erased.run_with(&stream, &a, &b, &mut d, relu(acc())).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "this epilogue is `relu(acc)`, but the kernel computes `relu(scalar * acc + row<f32> + scalar * source<f16>)`: \
         pass the same expression with other arguments, or build another kernel"
    );
    Ok(())
}

#[test]
fn in_place() -> Result {
    let Operands4 { a, b, c, .. } = operands()?;
    let device = Device::host();
    let mut d = Tensor::from_fn(M, N, |m, n| c.get(m, n).unwrap_or_default())?;
    let mut gemm = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(acc() + 2.0 * previous()).build(&device)?;
    gemm.run(&device.default_stream()?, &a, &b, &mut d)?;
    expect(&d, |m, n| Ok(product(&a, &b, m, n)? + 2.0 * f(c.get(m, n)?)))
}

#[test]
fn one_line() -> Result {
    let Operands4 { a, b, bias, .. } = operands()?;
    // Without a GPU this is the CPU. With one, the tag has to fit it.
    let d = match GemmBuilder::<Sm80, f16, f32>::auto().epilogue(acc() + row(&bias)).run(&a, &b) {
        Err(RunError::Build(error)) => {
            assert!(Device::all().iter().any(|d| d.as_ref().is_ok_and(|d| !d.is_host())), "{error}");
            return Ok(());
        }
        other => other?,
    };
    let _: &Tensor<f16> = &d;
    expect(&d, |m, n| Ok(product(&a, &b, m, n)? + f64::from(bias[n])))
}

#[test]
fn the_default_output_follows_the_input() -> Result {
    let (device, x) = (Device::host(), Tensor::<i8>::from_fn(16, 16, |m, n| (m + n) as i8)?);
    let mut d: Tensor<i32> = Tensor::zeros(16, 16)?;
    GemmBuilder::<Sm80, i8, i32>::auto().build(&device)?.run(&device.default_stream()?, &x, &x, &mut d)?;
    expect(&d, |m, n| product(&x, &x, m, n))?;
    let x = Tensor::<e4m3>::from_fn(32, 32, |m, n| e4m3::from_f64((m % 4) as f64 - (n % 3) as f64))?;
    let x_t = x.view().transposed();
    let mut d: Tensor<bf16> = Tensor::zeros(32, 32)?;
    GemmBuilder::<Sm90, e4m3, f32>::auto().build(&device)?.run(&device.default_stream()?, &x, &x_t, &mut d)?;
    expect(&d, |m, n| (0..32).map(|k| Ok(f(x.get(m, k)?) * f(x.get(n, k)?))).sum())
}

#[test]
fn every_schedule_of_every_architecture_runs_on_the_host() -> Result {
    let Operands4 { a, b, .. } = operands()?;
    let device = Device::host();
    let stream = device.default_stream()?;
    let mut legal = 0;
    for &arch in ArchId::ALL {
        for &schedule in ScheduleId::ALL {
            for &scheduler in warpwright::SchedulerId::ALL {
                let desc = GemmDesc { schedule, scheduler, ..GemmDesc::new(arch, Dtype::F16, Dtype::F32) };
                match desc.spec() {
                    Ok(_) if scheduler == warpwright::SchedulerId::GROUPED => {}
                    Ok(_) => {
                        let mut d = Tensor::<f16>::zeros(M, N)?;
                        let gemm = AnyGemm::new(&desc, &device)?;
                        let mut view = d.view_mut()?;
                        gemm.run_raw(&stream, a.view().raw(), b.view().raw(), view.raw(), Default::default())
                            .map_err(|e| format!("{arch} {schedule} {scheduler}: {e}"))?;
                        expect(&d, |m, n| product(&a, &b, m, n))
                            .map_err(|e| format!("{arch} {schedule} {scheduler}: {e}"))?;
                        legal += 1;
                    }
                    Err(Violation::NoSchedule { .. }) => {
                        assert_eq!(
                            desc.spec().unwrap_err().to_string(),
                            format!("{arch} has no {schedule} schedule; Auto, the default, picks one that {arch} has")
                        );
                    }
                    Err(e) => assert!(matches!(e, Violation::NoFeed { .. }), "{e}"),
                }
            }
        }
    }
    assert!(legal > 50, "{legal} compositions are legal");
    Ok(())
}

#[test]
fn literals_need_no_suffix() -> Result {
    let device = Device::host();
    let alpha64 = 0.5f64;
    let e = share(2.0 * acc() + 1.0, |z| max(z * 2.0, 0.1 * z) - 0.5);
    let built = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(e).build(&device)?;
    assert_eq!(
        built.spec().epilogue.to_string(),
        "let shared0 = scalar * acc + scalar; max(shared0 * scalar, scalar * shared0) - scalar"
    );
    let built = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(relu(alpha64 * acc()) / 3.0).build(&device)?;
    assert_eq!(built.spec().epilogue.to_string(), "relu(scalar * acc) / scalar");
    let built = GemmBuilder::<Sm80, f16, f32>::auto().epilogue(min(max(2 * acc(), 0.0), 6.0)).build(&device)?;
    assert_eq!(built.spec().epilogue.to_string(), "min(max(scalar * acc, scalar), scalar)");
    Ok(())
}

epilogue_fn!(softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))");

#[test]
fn a_users_own_function() -> Result {
    let Operands4 { a, b, .. } = operands()?;
    let device = Device::host();
    let mut d = Tensor::<f32>::zeros(M, N)?;
    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().epilogue(softsign(acc())).build(&device)?;
    gemm.run(&device.default_stream()?, &a, &b, &mut d)?;
    expect(&d, |m, n| {
        let x = product(&a, &b, m, n)? as f32;
        Ok(f64::from(x / (1.0 + x.abs())))
    })
}

type BiasRelu<T> = Apply<Relu, Plus<Acc, Row<'static, T>>>;
type Up = Composed<Sm90, f16, f32, Operands, Plan<Tile<128, 128, 64>>, BiasRelu<f32>>;
const _: () = Up::LEGAL;

#[test]
fn kernels_are_named_stored_and_shared() -> Result {
    struct Layer {
        up: Kernel<Up>,
    }
    let Operands4 { a, b, bias, .. } = operands()?;
    let device = Device::host();
    let stream = device.default_stream()?;
    let built = GemmBuilder::<Sm90, f16, f32>::auto()
        .tile::<Tile<128, 128, 64>>()
        .epilogue(relu(acc() + row(&bias)))
        .build(&device)?;
    let layers = [Layer { up: built.detach() }, Layer { up: Kernel::compile(&device)? }];
    assert_eq!(layers[0].up.spec(), layers[1].up.spec());
    fn shareable<T: Send + Sync + 'static>(_: &T) {}
    for layer in &layers {
        shareable(&layer.up);
        let mut d = Tensor::zeros(M, N)?;
        layer.up.run_with(&stream, &a, &b, &mut d, relu(acc() + row(&bias)))?;
        expect(&d, |m, n| Ok((product(&a, &b, m, n)? + f64::from(bias[n])).max(0.0)))?;
    }
    Ok(())
}

#[test]
fn generic_code_writes_one_bound() -> Result {
    fn square<T: Element>(x: &Tensor<T>, stream: &Stream) -> Result<Tensor<T>>
    where
        Composed<Sm90, T, f32>: GemmKernel<A = T, B = T, D = T>,
    {
        let mut d = Tensor::zeros(x.rows(), x.rows())?;
        let gemm: Kernel<Composed<Sm90, T, f32>> = Kernel::compile(stream.device())?;
        let _ = &gemm;
        square_with(x, stream, &mut d)?;
        Ok(d)
    }
    fn square_with<T: Element>(x: &Tensor<T>, stream: &Stream, d: &mut Tensor<T>) -> Result
    where
        Composed<Sm90, T, f32>: GemmKernel<A = T, B = T, D = T>,
    {
        Ok(GemmBuilder::<Sm90, T, f32>::auto().build(stream.device())?.run(stream, x, x, d)?)
    }
    let stream = Device::host().default_stream()?;
    let x = Tensor::<bf16>::from_fn(16, 16, |m, n| bf16::from_f64((m * n % 3) as f64))?;
    expect(&square(&x, &stream)?, |m, n| product(&x, &x, m, n))?;
    let x = Tensor::<f16>::from_fn(16, 16, |m, n| f16::from_f64((m * n % 3) as f64))?;
    expect(&square(&x, &stream)?, |m, n| product(&x, &x, m, n))
}

#[test]
fn types_and_values_meet() -> Result {
    let bias = vec![0f32; N];
    let device = Device::host();
    let gemm = GemmBuilder::<Sm90, f16, f32>::auto()
        .tile::<Tile<128, 128, 64>>()
        .schedule::<Pingpong>()
        .epilogue(acc() + row(&bias))
        .build(&device)?;
    let tree = spec::intern(Node::Combine(
        spec::Operator::Plus,
        spec::intern(Node::LoadAcc),
        spec::intern(Node::LoadRow(Dtype::F32)),
    ));
    let desc = GemmDesc {
        tile: Some(Mnk::new(128, 128, 64)),
        schedule: ScheduleId::PINGPONG,
        epilogue: tree,
        ..GemmDesc::new(ArchId::SM90, Dtype::F16, Dtype::F32)
    };
    assert_eq!(desc.spec()?, *gemm.spec());
    const STAGES: usize = spec::ResourcePlan::of(&<Up as GemmKernel>::SPEC, Mnk::new(128, 128, 64)).stages;
    assert_eq!(STAGES, spec::ResourcePlan::of(&Up::SPEC, Mnk::new(128, 128, 64)).stages);
    Ok(())
}

#[test]
fn lists_for_a_tuner() {
    let base = GemmDesc::new(ArchId::SM90, Dtype::F16, Dtype::F32);
    let tiles = [(128, 128), (128, 256), (96, 128)].map(|(m, n)| Mnk::new(m, n, 64));
    let schedules = [ScheduleId::PINGPONG, ScheduleId::COOPERATIVE, ScheduleId::TWO_SM];
    let stages = [None, Some(4), Some(9)];
    let (good, bad): (Vec<_>, Vec<_>) =
        candidates(base, &tiles, &schedules, &stages).map(|d| d.spec()).partition(|r| r.is_ok());
    assert_eq!(good.len() + bad.len(), 27);
    // Not TwoSm, not 96 rows, not nine stages, and not Pingpong's 128 x 256, which no thread has registers for.
    assert_eq!(good.len(), 6);
    assert!(bad.iter().all(|b| b.is_err_and(|e| !e.to_string().is_empty())));
    type Of<S> = Composed<Sm90, f16, f32, Operands, Plan<Tile<128, 128, 64>, Auto, S>>;
    assert_eq!(<(Of<Pingpong>, Of<Cooperative>, Of<Auto>)>::specs().len(), 3);
}

#[test]
fn typenums_own_numbers_fit() -> Result {
    let gemm = GemmBuilder::<Sm90, f16, f32>::auto()
        .tile::<Shape<typenum::U128, typenum::U64, typenum::U64>>()
        .build(&Device::host())?;
    assert_eq!(gemm.spec().tile, Some(Mnk::new(128, 64, 64)));
    Ok(())
}

#[test]
fn explain_says_why() -> Result {
    let device = Device::host();
    let gemm = GemmBuilder::<Sm90, f16, f32>::auto().build(&device)?;
    let text = gemm.explain(&Problem::dense(512, 512, 512))?;
    for word in ["tile", "stages", "shared memory", "waves"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    Ok(())
}

#[test]
fn wrong_majors_are_refused_at_run_time_in_the_tables_words() -> Result {
    let device = Device::host();
    let x = Tensor::<e4m3>::zeros(32, 32)?;
    let mut d = Tensor::zeros(32, 32)?;
    let mut gemm = GemmBuilder::<Sm90, e4m3, f32>::auto().build(&device)?;
    let error = gemm.run(&device.default_stream()?, &x, &x, &mut d).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Wgmma cannot read B of e4m3 that is MN-major: this type must be K-major, A RowMajor and B ColumnMajor; transpose it once, or store it K-major"
    );
    Ok(())
}

#[test]
fn plans_are_refused_for_devices_that_are_not_there() {
    let spec = <Composed<Sm90, f16, f32> as GemmKernel>::SPEC;
    let facts = warpwright::builder::auto::OperandFacts::K_MAJOR;
    let problem = Problem::dense(512, 512, 512);
    let resolve = |info| warpwright::builder::auto::resolve(&spec, &info, &problem, &facts);
    assert!(resolve(warpwright::DeviceInfo::h200()).is_ok());
    assert!(matches!(resolve(warpwright::DeviceInfo::a100()), Err(PlanError::ArchMismatch(_))));
}
