//! The extension's kernels on the host, against sums written out here.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use warpwright::arch::Target;
use warpwright::builder::auto;
use warpwright::kernels::lower;
use warpwright::prelude::*;
use warpwright::runtime::nvrtc;
use warpwright::{DeviceInfo, GemmKernel};
use warpwright_extension_example::{Distances, RowOfTiles};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn distances_are_right_under_every_scheduler_and_epilogue() -> Result {
    let device = Device::host();
    let stream = device.default_stream()?;
    let (m, n, k) = (70, 150, 37);
    let a = Tensor::<f16>::from_fn(m, k, |i, j| f16::from_f64(((i + 3 * j) % 7) as f64))?;
    let b = Tensor::<f16>::from_fn(k, n, |i, j| f16::from_f64(((5 * i + j) % 9) as f64))?;
    let want =
        |i: usize, j: usize| (0..k).map(|l| (((i + 3 * l) % 7) as f32 - ((5 * l + j) % 9) as f32).powi(2)).sum::<f32>();
    let check = |d: &Tensor<f32>, f: &dyn Fn(f32, usize) -> f32| -> Result {
        for i in 0..m {
            for j in 0..n {
                assert_eq!(d.get(i, j)?, f(want(i, j), j), "({i}, {j})");
            }
        }
        Ok(())
    };
    for mut d in [Tensor::<f32>::zeros(m, n)?, Tensor::column_major(m, n)?] {
        Kernel::<Distances>::compile(&device)?.run_with(&stream, &a, &b, &mut d, acc())?;
        check(&d, &|x, _| x)?;
        Kernel::<Distances<Acc, StreamK>>::compile(&device)?.run_with(&stream, &a, &b, &mut d, acc())?;
        check(&d, &|x, _| x)?;
        Kernel::<Distances<Acc, RowOfTiles>>::compile(&device)?.run_with(&stream, &a, &b, &mut d, acc())?;
        check(&d, &|x, _| x)?;
        let weights: Vec<f32> = (0..n).map(|j| j as f32).collect();
        type Weighted = Plus<Times<Scalar, Acc>, Row<'static, f32>>;
        let kernel = Kernel::<Distances<Weighted, RowOfTiles>>::compile(&device)?;
        kernel.run_with(&stream, &a, &b, &mut d, 0.5 * acc() + row(&weights))?;
        check(&d, &|x, j| 0.5 * x + j as f32)?;
    }
    Ok(())
}

#[test]
fn name_and_text_enter_the_generated_source() -> Result {
    type K = Distances<Acc, RowOfTiles>;
    const _: () = K::LEGAL;
    let (device, problem) = (DeviceInfo::a100(), Problem::dense(512, 512, 64));
    let plan = auto::resolve(&K::SPEC, &device, &problem, &auto::OperandFacts::K_MAJOR)?;
    let text = lower::source(&plan)?;
    assert!(text.contains("struct SquaredDistance : SingleRole {") && text.contains("struct RowOfTiles {"));
    assert!(text.contains("gemm_universal<RowOfTiles, SquaredDistance, Visitor<Epilogue, DirectStore>>"));
    if let Err(missing) = nvrtc::version() {
        eprintln!("SKIPPED compiling it: {missing}");
        return Ok(());
    }
    let compiled = nvrtc::compile(&text, &plan.name(), Target::of_tag(ArchId::SM80), &[])?;
    assert!(compiled.cubin.starts_with(b"\x7fELF"));
    Ok(())
}
