//! Plans, operands in memory, and references for tests and benches.
#![allow(dead_code, missing_docs)]

use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_epilogue::Args;
use warpwright_kernels::contract::Arguments;
use warpwright_kernels::{GemmHost, HostError};
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, RawViewMut, Space, Strided};
use warpwright_spec::*;

/// A spec with every slot filled.
pub fn spec(arch: ArchId, a: Dtype, b: Dtype, acc: Dtype, d: Dtype, scales: ScaleSpec, tile: Mnk) -> Spec {
    let desc = GemmDesc { b, d, scales, ..GemmDesc::new(arch, a, acc) };
    // What a tile must be for an instruction is the device's concern: the host takes any.
    Spec { tile: Some(tile), ..desc.spec().expect("a legal composition") }
}

/// A plan for the host: what a planner would decide, decided by the test.
pub fn plan(spec: Spec) -> KernelPlan {
    let tile = spec.tile.expect("a tile");
    KernelPlan {
        spec,
        transposed: false,
        tile,
        cluster: Mnk::new(1, 1, 1),
        major_a: MajorId::K,
        major_b: MajorId::K,
        widths: CopyWidths { a: 1, b: 1, c: 1, d: 1 },
        repacks: Repacks::NONE,
        whole_a: false,
        whole_b: false,
        order_c: Order::Row,
        raster: RasterOrder::AlongM,
        swizzle: 1,
        splits: 1,
        shares: 1,
        resources: ResourcePlan::of(&spec, tile),
        substitute: None,
    }
}

/// Alignment of one byte: nothing is declared.
pub const UNALIGNED: Alignment = Alignment { a: 1, b: 1, c: 1, d: 1 };

pub fn problem(extents: Extents) -> Problem {
    Problem { extents, alignment: UNALIGNED }
}

pub fn dense(m: usize, n: usize, k: usize) -> Problem {
    problem(Extents::Dense(Mnk::new(m, n, k)))
}

/// A batch of matrices with its own memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub dtype: Dtype,
    pub layout: Strided,
    pub bytes: Vec<u8>,
}

impl Tensor {
    pub fn new(dtype: Dtype, layout: Strided, f: impl Fn(usize, usize, usize) -> f64) -> Tensor {
        let elements = layout.span(dtype).expect("a layout");
        let mut t = Tensor { dtype, layout, bytes: vec![0xff; dtype.packed_bytes(elements)] };
        t.fill(f);
        t
    }
    pub fn row_major(dtype: Dtype, [b, m, n]: [usize; 3], f: impl Fn(usize, usize, usize) -> f64) -> Tensor {
        Tensor::new(dtype, Strided::dense_batch(b, m, n, warpwright_runtime::Order::RowMajor), f)
    }
    pub fn column_major(dtype: Dtype, [b, m, n]: [usize; 3], f: impl Fn(usize, usize, usize) -> f64) -> Tensor {
        Tensor::new(dtype, Strided::dense_batch(b, m, n, warpwright_runtime::Order::ColumnMajor), f)
    }
    pub fn fill(&mut self, f: impl Fn(usize, usize, usize) -> f64) {
        let [b, m, n] = self.layout.extents;
        for i in 0..b {
            for j in 0..m {
                for l in 0..n {
                    self.dtype.encode(&mut self.bytes, self.layout.offset(i, j, l), f(i, j, l));
                }
            }
        }
    }
    pub fn at(&self, b: usize, m: usize, n: usize) -> f64 {
        self.dtype.decode(&self.bytes, self.layout.offset(b, m, n))
    }
    pub fn view(&self) -> RawView<'_> {
        let address = self.bytes.as_ptr().expose_provenance() as u64;
        // SAFETY: the bytes are this tensor's, and the layout was made for them.
        unsafe { RawView::new(address, self.bytes.len(), Space::Host, self.dtype, self.layout) }
    }
    pub fn view_mut(&mut self) -> RawViewMut<'_> {
        let address = self.bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: as above.
        unsafe { RawViewMut::new(address, self.bytes.len(), Space::Host, self.dtype, self.layout) }
    }
}

/// Executes a call as users' calls are, in waves of `wave` blocks, with a poisoned workspace.
pub fn run<'a>(
    plan: &'a KernelPlan,
    problem: &'a Problem,
    wave: usize,
    (a, b, d): (&'a Tensor, &'a Tensor, &'a mut Tensor),
    epilogue: Args<'a>,
    extra: &'a [(&'static str, RawView<'a>)],
) -> Result<(), HostError> {
    let arguments = Arguments { a: a.view(), b: b.view(), d: d.view_mut(), epilogue: &epilogue, extra };
    run_arguments(plan, problem, wave, arguments)
}

pub fn run_arguments<'a>(
    plan: &'a KernelPlan,
    problem: &'a Problem,
    wave: usize,
    arguments: Arguments<'a>,
) -> Result<(), HostError> {
    // SAFETY: D is borrowed for the call; addresses that tests pass are those of their own tensors.
    let host = unsafe { GemmHost::new(plan, &DeviceInfo::h100(), problem, arguments) }?;
    let bytes = host.workspace(wave).bytes;
    let mut workspace = vec![u32::MAX; bytes.div_ceil(4)];
    // SAFETY: any u32s are bytes.
    let bytes = unsafe { workspace.align_to_mut::<u8>().1 };
    host.execute_in(wave, bytes)?;
    // Once more in the same workspace, as a graph's replay does.
    host.execute_in(wave, bytes)
}

/// Numbers that look random, small integers in `-limit..=limit`.
pub fn integer(limit: i64) -> impl Fn(usize, usize, usize) -> f64 + Copy {
    move |b, m, n| {
        let mut x = (b as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (m as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9)
            ^ (n as u64).wrapping_mul(0x94d0_49bb_1331_11eb);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x >> 33) % (2 * limit as u64 + 1)) as f64 - limit as f64
    }
}
