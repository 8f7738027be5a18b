//! The Sm80 mainloop's speed: thread-instructions a second on one core, with every check on and with none.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{BF16, config};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpwright_emulator::{Checks, Config, Module};

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
        group.bench_function(name, |b| b.iter(run));
    }
    group.finish();
}

criterion_group!(benches, mainloop);
criterion_main!(benches);
