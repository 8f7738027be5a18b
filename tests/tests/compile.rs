//! Kernels of the case table through NVRTC: a sample spread over the table, all of them nightly. Registers must suffice.

#![allow(clippy::print_stdout, reason = "says what was skipped, and how long compiling took")]

use warpwright::DeviceInfo;
use warpwright::runtime::nvrtc;
use warpwright_tests::need_nvrtc;
use warpwright_tests::{case, stand_in};

/// Kernels of the sample.
const SAMPLE: usize = 48;

#[test]
fn the_tables_kernels_compile() {
    need_nvrtc!();
    let all = stand_in::kernels(&case::load(&case::folder()).expect("the table reads"), &DeviceInfo::h200());
    assert!(all.len() > 150, "only {} kernels", all.len());
    let nightly = std::env::var_os("WARPWRIGHT_NIGHTLY").is_some();
    let step = if nightly { 1 } else { all.len().div_ceil(SAMPLE) };
    let target = "sm_90a".parse().expect("a target");
    let mut times = Vec::new();
    for (name, source) in all.iter().step_by(step) {
        let compiled = nvrtc::compile(source, name, target, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!compiled.cubin.is_empty(), "{name}");
        times.push(compiled.seconds);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{} kernels compiled, median {:.2} s, slowest {:.2} s",
        times.len(),
        times[times.len() / 2],
        times[times.len() - 1]
    );
}
