//! Two schedules, raced by type: 256 x 512 x 256 on the host, 4096 cubed on the GPU if there is one. Times are the device's
//! own, behind a flushed cache.
//!
//! ```text
//! cargo bench -p warpwright-builder --bench race
//! ```
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
use warpwright_arch::Sm80;
use warpwright_builder::race::{RaceProblem, RaceRules, RaceTrack};
use warpwright_builder::{AnyGemm, Composed, Operands, Plan};
use warpwright_kernels::GemmKernel;
use warpwright_numeric::{Dtype, bf16};
use warpwright_runtime::Device;
use warpwright_spec::{Auto, Cluster, Mnk, Multistage, Persistent, SingleTile, Tile, U3};

type Pipelined<T, W> = Composed<Sm80, bf16, f32, Operands, Plan<T, Cluster<1, 1>, Multistage, U3, W>>;
/// One block walks many tiles.
type Walking = Pipelined<Tile<128, 128, 64>, Persistent>;
/// One block a tile.
type OneEach = Pipelined<Tile<128, 128, 64>, SingleTile>;
/// Whatever the plan chooses.
type Chosen = Composed<Sm80, bf16, f32, Operands, Plan<Auto>>;

fn raced(c: &mut Criterion) {
    for (device, mnk, flush_bytes) in [
        (Ok(Device::host()), Mnk { m: 256, n: 512, k: 256 }, Some(64 << 20)),
        (Device::cuda(0), Mnk { m: 4096, n: 4096, k: 4096 }, None),
    ] {
        // A machine without a GPU races on the host alone.
        let Ok(device) = device else { continue };
        let problem = RaceProblem::new(mnk, Dtype::Bf16);
        let rules = RaceRules { flush_bytes, ..RaceRules::default() };
        let mut track = RaceTrack::new(&device, &problem, &rules).expect("operands fit");
        let mut group = c.benchmark_group(device.name());
        group.throughput(Throughput::Elements(problem.flops() as u64)).sample_size(20);
        for (name, spec) in [("persistent", Walking::SPEC), ("single_tile", OneEach::SPEC), ("auto", Chosen::SPEC)] {
            let gemm = AnyGemm::from_spec(&spec, &device).expect("it has device code");
            track.time(&gemm).expect("it runs");
            group.bench_function(name, |b| {
                b.iter_custom(|runs| {
                    let seconds = (0..runs).map(|_| track.time(&gemm).expect("it ran before")).sum();
                    Duration::from_secs_f64(seconds)
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, raced);
criterion_main!(benches);
