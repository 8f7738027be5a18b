//! One layer of a network, d = relu(x · w + bias) + 0.5 · residual, in one kernel, and how wrong it is.
//!
//!     cargo run --release --example quickstart
//!
//! It runs on the first NVIDIA GPU of compute capability 8.0 or later, and on the CPU where there is no GPU at all.

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use std::thread;
use std::time::Instant;
use warpwright::prelude::*;
use warpwright::{DeviceError, TensorError};

const TOKENS: usize = 512;
const INPUTS: usize = 768;
const OUTPUTS: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let mut random = Random(0x5eed_cafe);
    let x = random.normal::<f16>(TOKENS, INPUTS, 1.0)?;
    let w = random.normal::<f16>(INPUTS, OUTPUTS, (INPUTS as f64).sqrt().recip())?;
    let residual = random.normal::<f16>(TOKENS, OUTPUTS, 1.0)?;
    let bias = random.normal::<f32>(1, OUTPUTS, 0.1)?;

    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(none @ (DeviceError::NoDriver { .. } | DeviceError::NoDevice)) => {
            println!("no GPU:   {none}");
            Device::host()
        }
        Err(other) => return Err(other.into()),
    };
    let stream = device.default_stream()?;
    let [x_d, w_d, residual_d] = [&x, &w, &residual].map(|t| t.to_device(&stream));
    let (x_d, w_d, residual_d, bias_d) = (x_d?, w_d?, residual_d?, bias.to_device(&stream)?);
    let mut d = Tensor::<f16>::zeros_on(&stream, Strided::dense(TOKENS, OUTPUTS, Order::RowMajor))?;

    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto()
        .layouts::<RowMajor, RowMajor, RowMajor>()
        .epilogue(relu(acc() + row(&bias_d)) + 0.5 * source(&residual_d))
        .build(&device)?;
    gemm.run(&stream, &x_d, &w_d, &mut d)?; // compiles, or finds the kernel in the cache
    stream.synchronize()?;
    let start = Instant::now();
    gemm.run(&stream, &x_d, &w_d, &mut d)?;
    stream.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();

    let error = worst_error(&x, &w, &bias, &residual, &d.to_host(&stream)?)?;
    println!("device:   {}", device.name());
    print!("kernel:   {}", gemm.explain(&Problem::dense(TOKENS, OUTPUTS, INPUTS))?);
    println!("time:     {:.1} us", seconds * 1e6);
    println!("error:    {error:.3} of what f16 inputs, f32 sums and an f16 result may differ from f64");
    if error > 1.0 {
        return Err("the result is wrong".into());
    }
    println!("verified: every element is within that bound");
    Ok(())
}

/// The largest deviation from an f64 reference, in units of what rounding explains: f32 sums of K products, each bounded by
/// the norms of its row and column, and one rounding of the result to f16.
fn worst_error(
    x: &Tensor<f16>,
    w: &Tensor<f16>,
    bias: &Tensor<f32>,
    residual: &Tensor<f16>,
    d: &Tensor<f16>,
) -> Result<f64, TensorError> {
    let [x, w, residual, d] =
        [x, w, residual, d].map(|t| t.to_vec().map(|v| v.into_iter().map(f64::from).collect::<Vec<_>>()));
    let (x, w, residual, d, bias) = (x?, w?, residual?, d?, bias.to_vec()?);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let columns: Vec<f64> = (0..OUTPUTS).map(|n| norm(&mut (0..INPUTS).map(|k| w[k * OUTPUTS + n]))).collect();
    let row = |m: usize| {
        let x = &x[m * INPUTS..][..INPUTS];
        let mut sums = vec![0.0; OUTPUTS];
        for (k, x) in x.iter().enumerate() {
            for (sum, w) in sums.iter_mut().zip(&w[k * OUTPUTS..]) {
                *sum += x * w;
            }
        }
        let x_norm = norm(&mut x.iter().copied());
        (0..OUTPUTS).fold(0.0, |worst: f64, n| {
            let exact = (sums[n] + f64::from(bias[n])).max(0.0) + 0.5 * residual[m * OUTPUTS + n];
            let sum_error = 2f64.powi(-23) * (INPUTS as f64).sqrt() * x_norm * columns[n];
            let rounding = 2f64.powi(-11) * exact.abs().max(2f64.powi(-14));
            let error = (d[m * OUTPUTS + n] - exact).abs() / (sum_error + rounding);
            if error.is_nan() { f64::INFINITY } else { worst.max(error) }
        })
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    Ok(thread::scope(|scope| {
        let row = &row;
        let workers: Vec<_> = (0..threads)
            .map(|t| scope.spawn(move || (t..TOKENS).step_by(threads).map(row).fold(0.0, f64::max)))
            .collect();
        workers.into_iter().map(|w| w.join().unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    }))
}

/// A small generator of normal numbers: splitmix64 and the sum of twelve uniforms.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / 2f64.powi(64)
    }

    fn normal<T: Element>(&mut self, rows: usize, cols: usize, deviation: f64) -> Result<Tensor<T>, TensorError> {
        Tensor::from_fn(rows, cols, |_, _| {
            let sum: f64 = (0..12).map(|_| self.uniform()).sum();
            T::from_f64((sum - 6.0) * deviation)
        })
    }
}
