//! The extension's function and node, on the host and by the device's text on an emulated device.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use warpwright::prelude::*;
use warpwright::{EpilogueFunction, FunctionError, check_function};
use warpwright_extension_example::{Squareplus, soft_cap, squareplus};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn logits_are_capped() -> Result {
    let a = Tensor::<f16>::from_fn(9, 8, |m, k| f16::from_f32((m * 3 + k) as f32 - 12.0))?;
    let b = Tensor::<f16>::from_fn(8, 11, |k, n| f16::from_f32((k + 5 * n) as f32 % 7.0 - 3.0))?;
    let bias: Vec<f32> = (0..11).map(|n| n as f32).collect();
    let product = GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().run(&a, &b)?;
    let e = soft_cap(30.0, acc() + row(&bias)) + squareplus(acc());
    let d = GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().epilogue(e).run(&a, &b)?;
    for (m, n) in (0..9).flat_map(|m| (0..11).map(move |n| (m, n))) {
        let x = f64::from(product.get(m, n)?);
        let want = 30.0 * ((x + n as f64) / 30.0).tanh() + (x + (x * x + 4.0).sqrt()) * 0.5;
        assert!((f64::from(d.get(m, n)?) - want).abs() < 1e-4, "{m}, {n}");
    }
    Ok(())
}

#[test]
fn both_sides_of_the_function_agree() -> Result {
    match check_function(Squareplus::FUNCTION, &Device::host()) {
        Err(FunctionError::Device(missing)) => eprintln!("SKIPPED: {missing}"),
        checked => checked?,
    }
    Ok(())
}
