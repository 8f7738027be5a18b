//! Kernels as machine code, and how a test says that a tool is missing.

use std::fmt::Debug;
use std::path::PathBuf;
use std::process::Command;
use warpwright_kernels::lower;
use warpwright_runtime::nvrtc;
use warpwright_spec::KernelPlan;

/// Says what is missing, or fails where nothing may be.
pub fn skipped(missing: &str) {
    assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
    eprintln!("SKIPPED: {missing}");
}

/// Compiles a case's plan, which ptxas has nothing to remark on, and lists its opcodes with their modifiers, in order; `None`, and a
/// word about it, without nvdisasm.
pub fn opcodes(case: &impl Debug, plan: &KernelPlan, target: &str) -> Option<Vec<String>> {
    let source = lower::source(plan).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    opcodes_of(case, &source, &plan.name(), target)
}

/// The same of a source.
pub fn opcodes_of(case: &impl Debug, source: &str, name: &str, target: &str) -> Option<Vec<String>> {
    let target = target.parse().expect("a target");
    let compiled = nvrtc::compile(source, name, target, &[]).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    let advisories: Vec<_> = nvrtc::advisories(&compiled.log).collect();
    assert!(advisories.is_empty(), "{case:?}: {advisories:?}");
    let Some(nvdisasm) = std::env::var_os("WARPWRIGHT_NVDISASM").map(PathBuf::from) else {
        skipped("WARPWRIGHT_NVDISASM names no nvdisasm");
        return None;
    };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("kernel.cubin");
    std::fs::write(&file, &compiled.cubin).expect("the cubin is written");
    let output = Command::new(nvdisasm).arg("-c").arg(&file).output().expect("nvdisasm runs");
    let text = String::from_utf8_lossy(&output.stdout);
    // `/*0a30*/ @!P0 LDGSTS.E.BYPASS.128 [R1], … ;`
    let opcode = |line: &str| -> Option<String> {
        let (address, rest) = line.trim().strip_prefix("/*")?.split_once("*/")?;
        let opcode = rest.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        address.chars().all(|c| c.is_ascii_hexdigit()).then(|| opcode.trim_end_matches(';').to_owned())
    };
    Some(text.lines().filter_map(opcode).collect())
}
