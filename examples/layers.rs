//! One kernel for all layers of a network: each layer keeps its weights and bias, and the kernel is compiled once.
//!
//!     cargo run --release --example layers

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use warpwright::prelude::*;

epilogue_fn!(
    /// x / (1 + |x|)
    softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))"
);

const WIDTH: usize = 256;

struct Layer {
    weights: Tensor<bf16>,
    bias: Tensor<f32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::cuda(0).unwrap_or_else(|_| Device::host());
    let stream = device.default_stream()?;
    let layers = (0..3)
        .map(|l| {
            let weights = Tensor::<bf16>::from_fn(WIDTH, WIDTH, |i, j| {
                bf16::from_f32(((i * 7 + j * 3 + l) % 11) as f32 / 110.0 - 0.045)
            })?;
            let bias = Tensor::<f32>::from_fn(1, WIDTH, |_, j| (j % (l + 2)) as f32 / 8.0)?;
            Ok(Layer { weights: weights.to_device(&stream)?, bias: bias.to_device(&stream)? })
        })
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;

    // The expression's type is the kernel; `erase` keeps only the operands' types, so that a struct can hold it.
    let first = &layers[0].bias;
    let kernel: DynGemm<bf16, bf16, bf16> =
        GemmBuilder::<Sm80, bf16, f32>::auto().epilogue(softsign(acc() + row(first))).build(&device)?.detach().erase();

    let mut x = Tensor::<bf16>::full(8, WIDTH, bf16::from_f32(0.5))?.to_device(&stream)?;
    let mut y = Tensor::<bf16>::zeros_on(&stream, Strided::dense(8, WIDTH, Order::RowMajor))?;
    for layer in &layers {
        kernel.run_with(&stream, &x, &layer.weights, &mut y, softsign(acc() + row(&layer.bias)))?;
        std::mem::swap(&mut x, &mut y);
    }
    let out = x.to_host(&stream)?;
    println!("{}: three layers, first outputs {:?}", device.name(), [out.get(0, 0)?, out.get(0, 1)?, out.get(0, 2)?]);
    Ok(())
}
