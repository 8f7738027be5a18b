//! Speed on one core: the Sm80 mainloop with every check and with none, and products of tensor cores. Time is the thread's
//! on its core, so that other work on the machine counts little.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{BF16, config};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::{Duration, Instant};
use warpwright_arch::ArchId;
use warpwright_emulator::{Checks, Config, Launch, Machine, Module};

/// What the thread has spent on a core, where the system says it.
fn on_core() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Time of `count` runs.
fn timed(count: u64, mut run: impl FnMut()) -> Duration {
    let (start, wall) = (on_core(), Instant::now());
    (0..count).for_each(|_| run());
    match (start, on_core()) {
        (Some(start), Some(end)) => end - start,
        _ => wall.elapsed(),
    }
}

fn mainloop(c: &mut Criterion) {
    let Ok(module) = Module::parse(BF16.text) else { unreachable!("the kernel of the tests is well-formed") };
    let problem = [64, 64, 2048];
    let mut group = c.benchmark_group("sm80_mainloop");
    group.sample_size(10);
    let cases = [
        ("checked", Checks::ALL, 1.0),
        ("unchecked", Checks::NONE, 1.0),
        // Fractions take the general model of the tensor core, integers its shortcut.
        ("unchecked_fractions", Checks::NONE, 0.37),
    ];
    for (name, checks, scale) in cases {
        let run = || BF16.run_scaled(&module, Config { checks, ..config(0) }, problem, 1, scale);
        let Ok(outcome) = run() else { unreachable!("the kernel is right") };
        group.throughput(Throughput::Elements(outcome.report.thread_instructions));
        group.bench_function(name, |b| {
            b.iter_custom(|count| {
                timed(count, || {
                    std::hint::black_box(run().is_ok());
                })
            })
        });
    }
    group.finish();
}

/// A kernel of `threads` threads that runs `instruction` 256 times on registers and shared memory full of `element`s.
fn repeated(instruction: &str, element: u32) -> String {
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k()
{{
    .reg .pred %p; .reg .b32 %i, %a, %s, %r<8>; .reg .f32 %f<128>; .reg .b64 %x<2>;
    mov.u32 %r0, {element}; mov.u32 %r1, %r0; mov.u32 %r2, %r0; mov.u32 %r3, %r0; mov.u32 %r4, %r0; mov.u32 %r5, %r0;
    mov.u32 %s, tile;
    mov.u32 %i, %tid.x; shl.b32 %i, %i, 2;
FILL: add.u32 %a, %s, %i; st.shared.b32 [%a], %r0; add.u32 %i, %i, 512; setp.lt.u32 %p, %i, 16384; @%p bra FILL;
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %a, %s, 4; cvt.u64.u32 %x0, %a; or.b64 %x0, %x0, 0x0000001000080000;
    add.u64 %x1, %x0, 128;
    {}
    mov.u32 %i, 0;
LOOP: {instruction}
    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 256; @%p bra LOOP;
    ret;
}}
",
        (0..128).map(|i| format!("mov.f32 %f{i}, 0f3EAAAAAB;")).collect::<String>()
    )
}

fn products(c: &mut Criterion) {
    let list = |n: usize| (0..n).map(|i| format!("%f{i}")).collect::<Vec<_>>().join(", ");
    let wgmma = |shape: &str, types: &str, rest: &str, n: usize| {
        format!(
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.{shape}.f32.{types} {{{}}}, %x0, %x1, 1, 1, 1{rest}; \
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            list(n)
        )
    };
    let mma = |shape: &str, element: &str| {
        format!(
            "mma.sync.aligned.{shape}.row.col.f32.{element}.{element}.f32 {{{0}}}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {{{0}}};",
            list(4)
        )
    };
    // 1.3 and 0.7 in bf16, f16 and tf32; fp8 of the same bits: fractions of one exponent or two, so that nothing is exact.
    let cases = [
        ("mma_bf16_m16n8k16", mma("m16n8k16", "bf16"), 0x3FA6_3F33, 128),
        ("mma_f16_m16n8k16", mma("m16n8k16", "f16"), 0x3D33_399A, 128),
        ("mma_tf32_m16n8k8", mma("m16n8k8", "tf32"), 0x3FA6_6666, 128),
        ("wgmma_bf16_m64n256k16", wgmma("m64n256k16", "bf16.bf16", ", 0, 0", 128), 0x3FA6_3F33, 128),
        ("wgmma_bf16_m64n64k16", wgmma("m64n64k16", "bf16.bf16", ", 0, 0", 32), 0x3FA6_3F33, 128),
        ("wgmma_e4m3_m64n256k32", wgmma("m64n256k32", "e4m3.e4m3", "", 128), 0x3A33_3B36, 128),
    ];
    let mut group = c.benchmark_group("products");
    group.sample_size(10);
    for (name, instruction, element, threads) in cases {
        let Ok(module) = Module::parse(&repeated(&instruction, element)) else { unreachable!("{name} is well-formed") };
        let run = || {
            let mut machine = Machine::new(Config { checks: Checks::NONE, ..Config::new(ArchId::SM90) });
            machine.launch(&module.kernels()[0], &Launch::linear(1, threads, 16 << 10), &[])
        };
        let report = run().unwrap_or_else(|fault| unreachable!("{name}: {fault}"));
        group.throughput(Throughput::Elements(report.tensor_products));
        group.bench_function(name, |b| {
            b.iter_custom(|count| {
                timed(count, || {
                    std::hint::black_box(run().is_ok());
                })
            })
        });
    }
    group.finish();
}

criterion_group!(benches, mainloop, products);
criterion_main!(benches);
