//! The multistage GEMM kernel as NVRTC compiles it.

mod common;

use common::{BF16, F16_MN, Gemm, config};
use warpwright_emulator::{Checks, Completion, Config, Module};

fn exact(gemm: &Gemm, problem: [usize; 3], blocks: u32, config: Config) {
    let module = Module::parse(gemm.text).unwrap_or_else(|e| panic!("{e}"));
    let outcome = gemm.run(&module, config, problem, blocks).unwrap_or_else(|fault| panic!("{fault}"));
    let wrong = outcome.found.iter().zip(&outcome.expected).position(|(x, y)| x.to_bits() != y.to_bits());
    assert_eq!(wrong, None, "{problem:?}");
    let [m, n, k] = problem;
    assert!(outcome.report.tensor_products >= (m * n * k) as u64);
}

#[test]
fn whole_and_partial_tiles_are_exact() {
    exact(&BF16, [64, 64, 128], 1, config(0));
    exact(&BF16, [100, 72, 88], 3, config(1));
    exact(&F16_MN, [64, 32, 128], 1, config(2));
    exact(&F16_MN, [92, 40, 72], 1, config(3));
}

#[test]
fn every_completion_is_right() {
    for completion in [Completion::Early, Completion::Late, Completion::Reordered] {
        exact(&BF16, [72, 64, 160], 2, Config { completion, ..config(5) });
    }
}

#[test]
fn the_unbroken_kernels_are_never_reported() {
    for seed in 0..20 {
        exact(&BF16, [136, 64, 104], 2, config(seed));
        exact(&F16_MN, [68, 40, 200], 1, config(seed));
    }
}

#[test]
fn checks_do_not_change_results() {
    exact(&BF16, [72, 64, 160], 2, Config { checks: Checks::NONE, ..config(5) });
}
