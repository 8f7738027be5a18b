//! The samples of the README, in one program: each part prints what it computed beside what f64 says of it.
//!
//!     cargo run --release --example tour
//!
//! It runs on the first NVIDIA GPU, of compute capability 8.0 or later, and on the CPU where there is none. Its emulated part is
//! skipped where there is no NVRTC.

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use warpwright::DeviceError;
use warpwright::prelude::*;
use warpwright::runtime::emulator::{Completion, EmulatorOptions};

/// The element of D that is looked at.
const AT: (usize, usize) = (100, 200);

fn main() -> Result<(), Box<dyn Error>> {
    // A tour: what all parts use.
    let device = Device::cuda(0).unwrap_or_else(|_| Device::host());
    let stream = device.default_stream()?;
    let x = Tensor::<bf16>::from_fn(512, 768, |m, k| bf16::from_f32((m + k) as f32 / 1e3))?; // in host memory
    let w = Tensor::<bf16>::from_fn(768, 1024, |k, n| bf16::from_f32(((k + n) % 7) as f32 / 1e3))?;
    let (a, b) = (x.to_device(&stream)?, w.to_device(&stream)?);
    let c = Tensor::<bf16>::full(512, 1024, bf16::ONE)?.to_device(&stream)?;
    let bias = Tensor::<f32>::full(1, 1024, 0.25)?.to_device(&stream)?;
    let other = Tensor::<f32>::from_fn(1, 1024, |_, n| n as f32 / 1e3)?.to_device(&stream)?;
    let mut d = Tensor::<bf16>::zeros_on(&stream, Strided::dense(512, 1024, Order::RowMajor))?;
    let (alpha, beta) = (0.5, 2.0);

    let mut product = 0.0;
    for k in 0..768 {
        product += x.get(AT.0, k)?.to_f64() * w.get(k, AT.1)?.to_f64();
    }

    // On top of the page: a kernel named as far as one cares, and run.
    let mut gemm = GemmBuilder::<Sm80, bf16, f32>::auto()
        .tile::<Shape<U128, U256, U64>>()
        .stages::<U3>()
        .epilogue(relu(alpha * acc() + row(&bias) + beta * source(&c)))
        .build(&device)?;
    gemm.run(&stream, &a, &b, &mut d)?;
    show("named by types", device.name(), &d.to_host(&stream)?, 0.5 * product + 0.25 + 2.0)?;

    // Host memory in, host memory out.
    let y = GemmBuilder::<Sm80, bf16, f32>::auto().run(&x, &w)?;
    show("in one line", "host memory", &y, product)?;

    // Arguments change, the kernel stays.
    let kernel = gemm.detach();
    kernel.run_with(&stream, &a, &b, &mut d, relu(0.5 * acc() + row(&other) + beta * source(&c)))?;
    show("other arguments", device.name(), &d.to_host(&stream)?, 0.5 * product + 0.2 + 2.0)?;
    let erased: DynGemm<bf16, bf16, bf16> = kernel.erase();
    erased.run_with(&stream, &a, &b, &mut d, relu(0.25 * acc() + row(&bias) + beta * source(&c)))?;
    show("erased", device.name(), &d.to_host(&stream)?, 0.25 * product + 0.25 + 2.0)?;

    // Operands stay as they lie.
    let weights = Tensor::<bf16>::from_fn(1024, 768, |n, k| w.get(k, n).unwrap_or_default())?.to_device(&stream)?; // N x K
    let mut padded = Tensor::<bf16>::zeros_on(&stream, Strided::padded(512, 1024, Order::RowMajor, 1088)?)?;
    let mut linear = GemmBuilder::<Sm80, bf16, f32>::auto().epilogue(acc() + row(&bias)).build(&device)?;
    linear.run(&stream, &a, &weights.view().transposed(), &mut padded)?;
    show("as they lie", device.name(), &padded.to_host(&stream)?, product + 0.25)?;

    // The kernel itself, without a GPU.
    if let Err(DeviceError::NoNvrtc(missing)) = Device::emulator::<Sm80>() {
        println!("emulated: skipped, {missing}");
    } else {
        let options = EmulatorOptions::of_tag(ArchId::SM80).seed(7).completion(Completion::Late).profile(true);
        let device = options.device()?;
        let stream = device.default_stream()?;
        let (a, b) = (x.to_device(&stream)?, w.to_device(&stream)?);
        let mut d = Tensor::<bf16>::zeros_on(&stream, Strided::dense(512, 1024, Order::RowMajor))?;
        GemmBuilder::<Sm80, bf16, f32>::auto().build(&device)?.run(&stream, &a, &b, &mut d)?;
        for launch in device.emulated().map(|e| e.take_launches()).unwrap_or_default() {
            println!("{}: {} bank conflicts", launch.entry, launch.report.bank_conflicts);
        }
        show("emulated", device.name(), &d.to_host(&stream)?, product)?;
    }

    // Your own function, in one line.
    epilogue_fn!(softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))");
    let e = softsign(acc() + row(&bias));
    GemmBuilder::<Sm80, bf16, f32>::auto().epilogue(e).build(&device)?.run(&stream, &a, &b, &mut d)?;
    show("your own function", device.name(), &d.to_host(&stream)?, (product + 0.25) / (1.25 + product))?;

    // Errors are an interface: the first is evaluated by rustc, the second here.
    type MyKernel = Composed<Sm80, bf16, f32, Operands, Plan<Tile<128, 256, 64>>>;
    const _: () = MyKernel::LEGAL;

    let tile = Some(Mnk::new(128, 256, 64));
    let desc = GemmDesc { stages: Some(4), tile, ..GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32) };
    let refused = desc.spec().unwrap_err();
    println!("refused: {refused}");
    Ok(())
}

/// Prints an element of a result; an error if it is further off than rounding to bf16 and sums in f32 explain.
fn show(part: &str, place: &str, d: &Tensor<bf16>, exact: f64) -> Result<(), Box<dyn Error>> {
    let (m, n) = AT;
    let got = d.get(m, n)?.to_f64();
    println!("{part}: d[{m}, {n}] = {got} from {place}, {exact:.5} in f64");
    if (got - exact).abs() <= exact.abs() / 256.0 { Ok(()) } else { Err(format!("{part}: the result is wrong").into()) }
}
