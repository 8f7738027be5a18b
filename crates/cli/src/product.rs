//! One product: files in, a kernel, and the result in host memory.

use crate::args::{DeviceArgs, KernelArgs, OperandArgs};
use crate::counts::{self, Launched};
use crate::matrix::{self, Matrix};
use crate::operands::{Epilogue, Factors, Saved, memory_order, operand};
use crate::place::Running;
use crate::request::Kernel;
use std::time::{Duration, Instant};
use warpwright::spec;
use warpwright::{AnyGemm, CallArgs, Device, Dtype, KernelPlan, Order, Strided};

/// What was multiplied, by what, and the result.
pub struct Product {
    /// A and B.
    pub factors: Factors,
    /// The epilogue.
    pub epilogue: Epilogue,
    /// Where it ran.
    pub device: Device,
    /// The kernel.
    pub plan: KernelPlan,
    /// The result, on the host.
    pub d: Box<dyn Matrix>,
    /// What the epilogue stored beside it, on the host.
    pub stored: Vec<(Saved, Box<dyn Matrix>)>,
    /// How the result lies in memory.
    pub order: Order,
    /// How long the call took, planning and compilation included.
    pub took: Duration,
    /// What was launched, if it is told.
    pub launches: Vec<Launched>,
}

/// Multiplies.
pub fn multiply(operands: &OperandArgs, args: &KernelArgs, device: &DeviceArgs) -> anyhow::Result<Product> {
    let kernel = Kernel::of(args)?;
    let running = Running::of(device)?;
    let report = device.report;
    let factors = Factors::read(operands)?;
    factors.check()?;
    let epilogue = Epilogue::read(args, &operands.typing)?;
    let order_d = memory_order(kernel.order_d.unwrap_or(spec::Order::Row));
    epilogue.check(factors.extents(), order_d)?;
    let (of_a, of_b) = (operand(&factors.a), operand(&factors.b));
    let device = running.open(kernel.tag(of_a, of_b, epilogue.tree))?;
    let stream = device.default_stream()?;
    let desc = kernel.desc(device.info(), of_a, of_b, epilogue.tree);
    let gemm = AnyGemm::new(&desc, &device)?;

    let placed = |host: Box<dyn Matrix>| if device.is_host() { Ok(host) } else { host.to_device(&stream) };
    let a = placed(matrix::on_host(&factors.a)?)?;
    let b = placed(matrix::on_host(&factors.b)?)?;
    let mut tensors = epilogue.on_host(order_d)?;
    if !device.is_host() {
        tensors = tensors.to_device(&stream)?;
    }
    let [batch, m, n] = factors.extents();
    let mut d = matrix::zeros_on(desc.d, Strided::dense_batch(batch, m, n, order_d), &stream)?;

    let compute = if desc.acc == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let saved = epilogue.saved([batch, m, n], order_d, compute);
    tensors.make_room(&saved, &stream)?;
    let call = CallArgs { epilogue: tensors.args()?, ..CallArgs::default() };
    let plan = gemm.plan_of_call(a.raw(), b.raw(), d.raw_mut()?, call)?;
    let started = Instant::now();
    gemm.run_raw(&stream, a.raw(), b.raw(), d.raw_mut()?, call)?;
    stream.synchronize()?;
    let took = started.elapsed();
    let d = d.to_host(&stream)?;
    let mut stored = Vec::new();
    for saved in saved {
        if let Some(matrix) = tensors.stored(&saved, &stream)? {
            stored.push((saved, matrix));
        }
    }
    let launches = if report { counts::launches(&device) } else { Vec::new() };
    Ok(Product { factors, epilogue, device, plan, d, stored, order: order_d, took, launches })
}
