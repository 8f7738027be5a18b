//! D = gelu_tanh(1 · A · B + bias) of bf16 against cuBLASLt's own fused epilogue, the fastest of its algorithms.

use crate::Part;
use crate::turns::Result;
use warpwright::epilogue::parse::{Argument, NameKind, expression};
use warpwright::prelude::*;
use warpwright::runtime::cublaslt::{CublasLtProduct, version};
use warpwright::{Arg, Args, CallArgs, GemmDesc, Stream};
use warpwright_tests::random::{draw, normal};

const SHAPES: [[usize; 3]; 5] =
    [[8192, 8192, 8192], [4096, 4096, 4096], [4096, 4096, 512], [8192, 4096, 1024], [2048, 16384, 4096]];

/// Rounds of each algorithm until the fastest is known, and of the race.
const ROUNDS: (usize, usize) = (5, 15);

/// Elements that are computed on the host as well.
const SAMPLES: usize = 200;

pub fn run(device: &Device, small: bool) -> Part {
    if small || device.info().check_tag(ArchId::SM90).is_err() {
        return Ok("not here: the kernels are sm_90's, and large".into());
    }
    let library = match version() {
        Ok(version) => version,
        Err(missing) => return Ok(format!("not here: {missing}")),
    };
    let all = || -> Result<String> {
        let lines = SHAPES.iter().map(|&shape| race(device, shape)).collect::<Result<Vec<_>>>()?;
        Ok(format!("{library}'s time over ours: {}", lines.join("; ")))
    };
    all().map_err(|e| e.to_string())
}

/// What is multiplied: sums are of a few units, where GELU bends.
struct Operands {
    a: Tensor<bf16>,
    b: Tensor<bf16>,
    bias: Tensor<bf16>,
    on_host: [Vec<bf16>; 3],
}

impl Operands {
    fn new(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Operands> {
        // A million values, over and over, in rows that differ: drawing more takes longer than all launches.
        let values: Vec<f64> = (0..1 << 20).map(|i| normal(draw(23, i))).collect();
        let rows = |rows: usize, columns: usize, shift: usize, scale: f64| -> Vec<bf16> {
            let at = |i: usize, j: usize| values[(i * (columns + 1) + j + shift) % values.len()] * scale;
            (0..rows * columns).map(|e| bf16::from_f32(at(e / columns, e % columns) as f32)).collect()
        };
        let (a, b) = (rows(m, k, 0, 2.0 / (k as f64).sqrt()), rows(n, k, 311, 1.0));
        let bias = rows(1, n, 77, 1.0);
        let tensor = |rows, columns, values: &Vec<bf16>| -> Result<Tensor<bf16>> {
            Ok(Tensor::from_vec(rows, columns, values.clone())?.to_device(stream)?)
        };
        Ok(Operands { a: tensor(m, k, &a)?, b: tensor(n, k, &b)?, bias: tensor(1, n, &bias)?, on_host: [a, b, bias] })
    }

    /// An element of D before it is rounded.
    fn exact(&self, [i, j]: [usize; 2], k: usize) -> f64 {
        let [a, b, bias] = &self.on_host;
        let terms =
            a[i * k..][..k].iter().zip(&b[j * k..][..k]).map(|(x, y)| f64::from(x.to_f32()) * f64::from(y.to_f32()));
        let x = terms.sum::<f64>() + f64::from(bias[j].to_f32());
        x / (1.0 + (-1.5957691216057307 * (x + 0.044715 * x * x * x)).exp())
    }

    /// Compares a sample of D's elements; `absolute` is how far the function may be off where its value cancels.
    fn check(&self, stream: &Stream, d: &Tensor<bf16>, [m, n, k]: [usize; 3], absolute: f64) -> Result<()> {
        let d = d.to_host(stream)?.to_vec()?;
        for sample in 0..SAMPLES {
            let [i, j] =
                [m, n].map(|extent| draw(31, (sample * 2 + usize::from(extent == m)) as u64) as usize % extent);
            let (given, exact) = (f64::from(d[i * n + j].to_f32()), self.exact([i, j], k));
            // bf16's rounding, and the tensor core's of sums.
            if (given - exact).abs() > exact.abs() * 2f64.powi(-8) + 1e-4 + absolute {
                return Err(format!("{m}x{n}x{k}: D[{i}, {j}] is {given}, not {exact}").into());
            }
        }
        Ok(())
    }
}

fn race(device: &Device, shape: [usize; 3]) -> Result<String> {
    let [m, n, k] = shape;
    let stream = device.new_stream()?;
    let operands = Operands::new(&stream, shape)?;
    let (a, b, bias) = (operands.a.view().raw(), operands.b.view().transposed(), operands.bias.view().raw());
    let mut d = Tensor::<bf16>::zeros_on(&stream, Strided::dense(m, n, Order::RowMajor))?;

    let parsed = expression("d = gelu_tanh(1*acc + row(bias))", &[("bias", NameKind::Operand(Dtype::Bf16))])?;
    let desc = GemmDesc { epilogue: parsed.node, ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32) };
    let gemm = AnyGemm::new(&desc, device)?;
    let mut args = Args::new();
    for argument in &parsed.arguments {
        args.push(if let Argument::Number(x) = argument { Arg::Number(*x) } else { Arg::Read(bias) });
    }
    let ours = |d: &mut Tensor<bf16>| -> Result<()> {
        let call = CallArgs { epilogue: args, ..CallArgs::default() };
        Ok(gemm.run_raw(&stream, a, b.raw(), d.view_mut()?.into_raw(), call)?)
    };
    ours(&mut d)?;
    operands.check(&stream, &d, shape, 2.1e-5)?;

    let product = CublasLtProduct::with_bias_and_gelu(&stream, a, b.raw(), bias, d.view_mut()?.into_raw(), false)?;
    let theirs = |algorithm: usize, d: &mut Tensor<bf16>| -> Result<()> {
        Ok(product.run_with_bias(algorithm, a, b.raw(), bias, d.view_mut()?.into_raw())?)
    };
    // Short products are launched often enough for a mark to tell.
    let launches = ((1usize << 37) / (m * n * k)).clamp(1, 16);
    let timed = |d: &mut Tensor<bf16>, run: &dyn Fn(&mut Tensor<bf16>) -> Result<()>| -> Result<f64> {
        let before = stream.mark()?;
        for _ in 0..launches {
            run(d)?;
        }
        Ok(stream.mark()?.seconds_since(&before)? / launches as f64)
    };
    let mut times = Vec::new();
    for algorithm in 0..product.algorithms() {
        if theirs(algorithm, &mut d).is_err() {
            continue;
        }
        let rounds: Result<Vec<f64>> = (0..ROUNDS.0).map(|_| timed(&mut d, &|d| theirs(algorithm, d))).collect();
        times.push((median(rounds?), algorithm));
    }
    let &(_, best) = times.iter().min_by(|x, y| x.0.total_cmp(&y.0)).ok_or("none of the algorithms runs")?;
    d.fill_bytes(&stream, 0)?;
    theirs(best, &mut d)?;
    // Their tanh is an approximation of 2^-11.
    operands.check(&stream, &d, shape, 2e-3)?;

    let mut turns = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS.1 {
        turns[0].push(timed(&mut d, &ours)?);
        turns[1].push(timed(&mut d, &|d| theirs(best, d))?);
    }
    let [ours, theirs] = turns.map(median);
    let kernel = gemm.compiled().last().map_or_else(String::new, |(plan, _)| plan.name());
    Ok(format!(
        "{m}x{n}x{k} {:.3} ({:.1} us by {kernel}, {:.1} by the best of {})",
        theirs / ours,
        ours * 1e6,
        theirs * 1e6,
        times.len()
    ))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
