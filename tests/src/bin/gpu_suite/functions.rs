//! The library's epilogue functions: their device texts against the host's bodies, and what they cost.

use crate::Part;
use crate::turns::{Result, by_turns};
use warpwright::epilogue::functions;
use warpwright::epilogue::parse::{Argument, NameKind, expression};
use warpwright::runtime::Strided;
use warpwright::{
    AnyGemm, ArchId, Arg, Args, CallArgs, Device, Dtype, GemmDesc, Order, ScheduleId, Tensor, bf16, check_functions,
};
use warpwright_tests::random::{draw, normal};

/// Every function, on random arguments.
pub fn run(device: &Device) -> Part {
    let all: Vec<_> = functions::all().collect();
    check_functions(&all, device).map_err(|e| e.to_string())?;
    Ok(format!("{} of them, in f32 and f64, within their accuracy", all.len()))
}

/// D = f(2 A · B + bias) of bf16 against A · B alone, by turns: a product that epilogues hardly show in, and one that they do.
pub fn cost(device: &Device, small: bool) -> Part {
    if small || device.info().check_tag(ArchId::SM90).is_err() {
        return Ok("not here: the kernels are sm_90's, and large".into());
    }
    let texts = [
        ("bias", "d = 2*acc + row(bias)"),
        ("gelu_tanh", "d = gelu_tanh(2*acc + row(bias))"),
        ("gelu_tanh_fast", "d = gelu_tanh_fast(2*acc + row(bias))"),
        ("gelu", "d = gelu(2*acc + row(bias))"),
        ("silu", "d = silu(2*acc + row(bias))"),
        ("silu_fast", "d = silu_fast(2*acc + row(bias))"),
    ];
    let cost = || -> Result<String> {
        let mut lines = Vec::new();
        for (shape, schedule) in [([8192, 8192, 8192], ScheduleId::AUTO), ([4096, 4096, 512], ScheduleId::PINGPONG)] {
            let operands = Operands::new(device, shape)?;
            let mut costs = Vec::new();
            for (what, text) in texts {
                costs.push(format!("{what} {:+.2} %", 100.0 * (operands.overhead(device, schedule, text)? - 1.0)));
            }
            let [m, n, k] = shape;
            lines.push(format!("{m}x{n}x{k} {}: {}", schedule.name(), costs.join(", ")));
        }
        Ok(format!("over the plain product of bf16: {}", lines.join("; ")))
    };
    cost().map_err(|e| e.to_string())
}

struct Operands {
    shape: [usize; 3],
    a: Tensor<bf16>,
    b: Tensor<bf16>,
    bias: Tensor<f32>,
    stream: warpwright::Stream,
}

impl Operands {
    fn new(device: &Device, shape: [usize; 3]) -> Result<Operands> {
        let [m, n, k] = shape;
        let stream = device.new_stream()?;
        // A million values, over and over: drawing more takes longer than all launches.
        let values: Vec<bf16> = (0..1 << 20).map(|i| bf16::from_f32(normal(draw(7, i)) as f32)).collect();
        let matrix = |rows: usize, columns: usize, shift: usize| -> Result<Tensor<bf16>> {
            let of = |i: usize, j: usize| values[(i * (columns + 1) + j + shift) % values.len()];
            Ok(Tensor::from_fn(rows, columns, of)?.to_device(&stream)?)
        };
        let bias = Tensor::from_fn(1, n, |_, j| normal(draw(9, j as u64)) as f32)?.to_device(&stream)?;
        Ok(Operands { shape, a: matrix(m, k, 0)?, b: matrix(n, k, 311)?, bias, stream })
    }

    /// The median time with an epilogue over that without.
    fn overhead(&self, device: &Device, schedule: ScheduleId, text: &str) -> Result<f64> {
        // Small products are launched often enough for a mark to tell.
        let [m, n, k] = self.shape;
        let launches = ((1usize << 36) / (m * n * k)).clamp(1, 16);
        let parsed = expression(text, &[("bias", NameKind::Operand(Dtype::F32))])?;
        let desc = GemmDesc { schedule, ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32) };
        let plain = AnyGemm::new(&desc, device)?;
        let fused = AnyGemm::new(&GemmDesc { epilogue: parsed.node, ..desc }, device)?;
        let mut args = Args::new();
        for argument in &parsed.arguments {
            args.push(match argument {
                Argument::Number(x) => Arg::Number(*x),
                _ => Arg::Read(self.bias.view().raw()),
            });
        }
        let mut d = Tensor::<bf16>::zeros_on(&self.stream, Strided::dense(m, n, Order::RowMajor))?;
        let b = self.b.view().transposed();
        by_turns(&self.stream, [(&plain, Args::new()), (&fused, args)], |gemm, args| {
            for _ in 0..launches {
                let call = CallArgs { epilogue: args, ..CallArgs::default() };
                gemm.run_raw(&self.stream, self.a.view().raw(), b.raw(), d.view_mut()?.into_raw(), call)?;
            }
            Ok(())
        })
    }
}
