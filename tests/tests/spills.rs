//! Registers must suffice for whatever `Auto` may choose of Hopper's kernels: a sample of them through NVRTC, all nightly.

#![allow(clippy::print_stdout, reason = "says what was skipped, and how many kernels were compiled")]

use std::collections::HashSet;

use rayon::prelude::*;
use warpwright::builder::auto::{OperandFacts, alternatives};
use warpwright::prelude::{ArchId, Dtype, GemmDesc, Problem};
use warpwright::runtime::nvrtc;
use warpwright::spec::{CopyWidths, Order};
use warpwright::{AccumulationId, DeviceInfo, KernelPlan};
use warpwright_tests::need_nvrtc;

/// Kernels of the sample.
const SAMPLE: usize = 16;

/// Operands, accumulators, D, and how sums are kept.
const TYPES: &[(Dtype, Dtype, Dtype, AccumulationId)] = &[
    (Dtype::Bf16, Dtype::F32, Dtype::Bf16, AccumulationId::PROMOTED),
    (Dtype::Bf16, Dtype::F32, Dtype::F32, AccumulationId::PROMOTED),
    (Dtype::Tf32, Dtype::F32, Dtype::F32, AccumulationId::PROMOTED),
    (Dtype::I8, Dtype::I32, Dtype::I32, AccumulationId::PROMOTED),
    (Dtype::E4m3, Dtype::F32, Dtype::Bf16, AccumulationId::FAST_ACCUM),
    (Dtype::E4m3, Dtype::F32, Dtype::Bf16, AccumulationId::PROMOTED),
    (Dtype::E4m3, Dtype::F32, Dtype::F32, AccumulationId::PROMOTED),
];

/// Everything that a plan of an open description is chosen from, each kernel once.
fn candidates() -> Vec<KernelPlan> {
    let device = DeviceInfo::h200();
    // Of few rows A and B change places, and D lies along the kernel's rows, as column-major D does where they do not.
    let problems = [4096, 64].map(|rows| Problem::dense(rows, 4096, 4096));
    let mut seen = HashSet::new();
    let mut plans = Vec::new();
    for &(element, acc, d, accumulation) in TYPES {
        // TMA stores D where its lines begin at multiples of 16 bytes; where at any element, they are shifted.
        for (order_d, width_d) in [Order::Row, Order::Column].into_iter().flat_map(|o| [(o, 16), (o, d.bits() / 8)]) {
            let desc = GemmDesc { d, accumulation, ..GemmDesc::new(ArchId::SM90, element, acc) };
            let widths = CopyWidths { d: width_d, ..OperandFacts::K_MAJOR.widths };
            let facts = OperandFacts { order_c: order_d, order_d, widths, ..OperandFacts::K_MAJOR };
            let spec = desc.spec().expect("legal");
            let all = problems.iter().flat_map(|p| alternatives(&spec, &device, p, &facts).expect("planned"));
            // Splits and walks are arguments.
            let kernel = |plan: &KernelPlan| {
                let shape = (plan.tile, plan.cluster, plan.resources.stages);
                (element, d, accumulation, plan.spec.schedule, shape, order_d, width_d, plan.transposed)
            };
            let wanted = |plan: &KernelPlan| order_d == Order::Row || !plan.along_rows();
            plans.extend(all.filter(|plan| wanted(plan) && seen.insert(kernel(plan))));
        }
    }
    plans
}

#[test]
fn what_auto_chooses_from_does_not_spill() {
    need_nvrtc!();
    let all = candidates();
    assert!(all.len() > 1000, "only {} kernels", all.len());
    let nightly = std::env::var_os("WARPWRIGHT_NIGHTLY").is_some();
    let step = if nightly { 1 } else { all.len().div_ceil(SAMPLE) };
    let target = "sm_90a".parse().expect("a target");
    // Of column-major D many are those of row-major D.
    let mut seen = HashSet::new();
    let sample: Vec<_> = all
        .iter()
        .step_by(step)
        .map(|plan| (plan.name(), warpwright::kernels::lower::source(plan).expect("lowered")))
        .filter(|(_, source)| seen.insert(source.clone()))
        .collect();
    let spilled: Vec<_> = sample
        .par_iter()
        .filter_map(|(name, source)| {
            let compiled = nvrtc::compile(source, name, target, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
            let advisories: Vec<_> = nvrtc::advisories(&compiled.log).map(str::to_owned).collect();
            (!advisories.is_empty()).then(|| format!("{name}: {}", advisories.join("; ")))
        })
        .collect();
    println!("{} of {} kernels compiled", sample.len(), all.len());
    assert!(spilled.is_empty(), "{} spill: {spilled:#?}", spilled.len());
}
