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

/// An instruction of the tensor core, with operands of one word over and over.
struct Multiply {
    name: String,
    instruction: String,
    /// The word of the operands, and that of the accumulators.
    words: [u32; 2],
    times: u32,
}

/// A kernel that runs the instruction over and over on registers and shared memory full of one word.
fn repeated(multiply: &Multiply) -> String {
    let [element, accumulator] = multiply.words;
    let fill = |prefix: &str, count: usize, word: u32| {
        (0..count).map(|i| format!("mov.u32 {prefix}{i}, {word};")).collect::<String>()
    };
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k()
{{
    .reg .pred %p; .reg .b32 %i, %a, %s, %r<8>, %c<128>; .reg .b64 %x<2>; .reg .f64 %d<16>;
    {}{}{}
    mov.u32 %s, tile;
    mov.u32 %i, %tid.x; shl.b32 %i, %i, 2;
FILL: add.u32 %a, %s, %i; st.shared.b32 [%a], %r0; add.u32 %i, %i, 512; setp.lt.u32 %p, %i, 16384; @%p bra FILL;
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %a, %s, 4; cvt.u64.u32 %x0, %a; or.b64 %x0, %x0, 0x0000001000080000;
    add.u64 %x1, %x0, 128;
    mov.u32 %i, 0;
LOOP: {}
    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {}; @%p bra LOOP;
    ret;
}}
",
        fill("%r", 8, element),
        fill("%c", 128, accumulator),
        (0..16).map(|i| format!("mov.f64 %d{i}, 0d3FD5555555555555;")).collect::<String>(),
        multiply.instruction,
        multiply.times
    )
}

/// Registers `prefix` `first` to `first + count`, in braces.
fn list(prefix: &str, first: usize, count: usize) -> String {
    format!("{{{}}}", (first..first + count).map(|i| format!("%{prefix}{i}")).collect::<Vec<_>>().join(", "))
}

/// A word of two values near one of an element type, so that no sum is exact, and the bits of an element.
fn element(name: &str) -> (u32, usize) {
    match name {
        "bf16" => (0x3FA6_3F33, 16),
        "f16" => (0x3D33_399A, 16),
        "tf32" => (0x3FA6_6666, 32),
        "e4m3" | "e5m2" => (0x3A33_3B36, 8),
        "s4" => (0x1234_F7D5, 4),
        _ => (0x1234_F7D5, 8),
    }
}

/// A third in an accumulator's type, twice for f16.
fn third(accumulator: &str) -> u32 {
    match accumulator {
        "f16" => 0x3555_3555,
        "f32" => 0x3EAA_AAAB,
        _ => 3,
    }
}

fn mma([m, n, k]: [usize; 3], d: &str, ab: &str) -> Multiply {
    let name = format!("mma_m{m}n{n}k{k}_{d}_{ab}");
    let form = format!("mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{ab}.{ab}.{d}");
    if ab == "f64" {
        let (nd, na, nb) = (m * n / 32, m * k / 32, n * k / 32);
        let (d, a, b) = (list("d", 0, nd), list("d", 4, na), list("d", 12, nb));
        return Multiply { name, instruction: format!("{form} {d}, {a}, {b}, {d};"), words: [0, 0], times: 1024 };
    }
    let (word, bits) = element(ab);
    let words = |elements: usize, bits: usize| elements * bits / 1024;
    let c = list("c", 0, words(m * n, if d == "f16" { 16 } else { 32 }));
    let (a, b) = (list("r", 0, words(m * k, bits)), list("r", 4, words(n * k, bits)));
    Multiply { name, instruction: format!("{form} {c}, {a}, {b}, {c};"), words: [word, third(d)], times: 1024 }
}

fn wgmma(n: usize, d: &str, ab: &str, in_registers: bool) -> Multiply {
    let (word, bits) = element(ab);
    let k = 256 / bits;
    let c = list("c", 0, if d == "f16" { n / 4 } else { n / 2 });
    let a = if in_registers { list("r", 0, 4) } else { "%x0".to_owned() };
    let rest = match (bits, in_registers) {
        (16, false) => ", 1, 1, 0, 0",
        (16, true) => ", 1, 1, 0",
        _ if d == "s32" => "",
        _ => ", 1, 1",
    };
    Multiply {
        name: format!("wgmma_n{n}k{k}_{d}_{ab}{}", if in_registers { "_registers" } else { "" }),
        instruction: format!(
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{ab}.{ab} {c}, {a}, %x1, 1{rest}; \
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        words: [word, third(d)],
        times: 256,
    }
}

fn products(c: &mut Criterion) {
    let cases = [
        mma([16, 8, 8], "f32", "f16"),
        mma([16, 8, 8], "f16", "f16"),
        mma([16, 8, 8], "f32", "bf16"),
        mma([16, 8, 16], "f32", "f16"),
        mma([16, 8, 16], "f16", "f16"),
        mma([16, 8, 16], "f32", "bf16"),
        mma([16, 8, 4], "f32", "tf32"),
        mma([16, 8, 8], "f32", "tf32"),
        mma([16, 8, 32], "f32", "e4m3"),
        mma([16, 8, 32], "f16", "e5m2"),
        mma([8, 8, 16], "s32", "s8"),
        mma([16, 8, 32], "s32", "s8"),
        mma([16, 8, 64], "s32", "s4"),
        mma([8, 8, 4], "f64", "f64"),
        mma([16, 8, 16], "f64", "f64"),
        wgmma(256, "f32", "bf16", false),
        wgmma(64, "f32", "bf16", false),
        wgmma(256, "f32", "bf16", true),
        wgmma(256, "f16", "f16", false),
        wgmma(256, "f32", "tf32", false),
        wgmma(256, "f32", "e4m3", false),
        wgmma(256, "f16", "e5m2", false),
        wgmma(256, "s32", "s8", false),
    ];
    let mut group = c.benchmark_group("products");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
    for case in cases {
        let Ok(module) = Module::parse(&repeated(&case)) else { unreachable!("{} is well-formed", case.name) };
        let run = || {
            let mut machine = Machine::new(Config { checks: Checks::NONE, ..Config::new(ArchId::SM90) });
            machine.launch(&module.kernels()[0], &Launch::linear(1, 128, 16 << 10), &[])
        };
        let report = run().unwrap_or_else(|fault| unreachable!("{}: {fault}", case.name));
        group.throughput(Throughput::Elements(report.tensor_products));
        group.bench_function(&case.name, |b| {
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
