//! The host's GEMM against the `gemm` crate, 1024 x 1024 x 1024, both on all of rayon's threads.
//!
//! ```text
//! cargo bench -p warpwright-kernels --bench host_gemm
//! ```
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_epilogue::Args;
use warpwright_kernels::GemmHost;
use warpwright_kernels::contract::Arguments;
use warpwright_numeric::Dtype;
use warpwright_spec::{Mnk, ScaleSpec, SchedulerId};

#[path = "../tests/common/mod.rs"]
mod common;
use common::Tensor;

const N: usize = 1024;

fn ours(c: &mut Criterion) {
    let mut group = c.benchmark_group("1024");
    group
        .throughput(Throughput::Elements((2 * N * N * N) as u64))
        .sample_size(20)
        .measurement_time(Duration::from_secs(4));
    let value = |_: usize, m: usize, n: usize| ((m * 31 + n * 17) % 64) as f64 / 32.0 - 1.0;

    let (lhs, rhs) = (vec![0.5f32; N * N], vec![0.25f32; N * N]);
    let mut dst = vec![0.0f32; N * N];
    group.bench_function("gemm_crate_f32", |b| {
        b.iter(|| {
            let n = N as isize;
            // SAFETY: three N x N row-major matrices.
            unsafe {
                gemm::gemm(
                    N,
                    N,
                    N,
                    dst.as_mut_ptr(),
                    1,
                    n,
                    false,
                    lhs.as_ptr(),
                    1,
                    n,
                    rhs.as_ptr(),
                    1,
                    n,
                    0.0f32,
                    1.0f32,
                    false,
                    false,
                    false,
                    gemm::Parallelism::Rayon(0),
                );
            }
        });
    });
    for (dtype, d) in [(Dtype::F32, Dtype::F32), (Dtype::F16, Dtype::F16), (Dtype::Bf16, Dtype::Bf16)] {
        let tile = Mnk::new(128, 128, 32);
        let mut spec = common::spec(ArchId::SM80, dtype, dtype, Dtype::F32, d, ScaleSpec::NONE, tile);
        spec.scheduler = SchedulerId::PERSISTENT;
        let plan = common::plan(spec);
        let problem = common::dense(N, N, N);
        let a = Tensor::row_major(dtype, [1, N, N], value);
        let b = Tensor::row_major(dtype, [1, N, N], value);
        let mut out = Tensor::row_major(d, [1, N, N], value);
        let arguments =
            Arguments { a: a.view(), b: b.view(), d: out.view_mut(), epilogue: const { &Args::new() }, extra: &[] };
        group.bench_function(format!("ours_{dtype}"), |b| {
            b.iter(|| {
                // SAFETY: D is this closure's.
                let host = unsafe { GemmHost::new(&plan, &DeviceInfo::h100(), &problem, arguments) };
                host.and_then(|h| {
                    h.execute(rayon::current_num_threads()).map_err(|_| unreachable!("no workspace is needed"))
                })
            })
        });
    }
    group.finish();
}

criterion_group!(benches, ours);
criterion_main!(benches);
