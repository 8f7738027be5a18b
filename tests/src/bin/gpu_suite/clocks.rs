//! How many clocks the products and the epilogue of a tile take under one another, by what the epilogue computes: of functions,
//! and of chains of one instruction.

use crate::Part;
use crate::timeline::clocks;
use crate::turns::Result;
use warpwright::epilogue::parse::{Argument, NameKind, expression};
use warpwright::prelude::*;
use warpwright::spec::Node;
use warpwright::{Accuracy, Function, HostFn};

const TEXTS: [&str; 10] = [
    "acc",
    "2*acc",
    "acc + row(bias)",
    "2*acc + row(bias)",
    "tanh_fast(acc)",
    "tanh_fast(tanh_fast(tanh_fast(tanh_fast(acc))))",
    "silu(acc)",
    "gelu_tanh(acc)",
    "gelu(acc)",
    "gelu_tanh(2*acc + row(bias))",
];

const CHAINS: [(&str, &Node); 4] = [
    ("8 products by constants", &apply("mul8", "x * 1.1f * 0.9f * 1.2f * 0.8f * 1.3f * 0.7f * 1.4f * 0.6f")),
    (
        "16 products by constants",
        &apply(
            "mul16",
            "x * 1.1f * 0.9f * 1.2f * 0.8f * 1.3f * 0.7f * 1.4f * 0.6f * 1.01f * 0.91f * 1.21f * 0.81f * 1.31f * 0.71f * 1.41f * 0.61f",
        ),
    ),
    (
        "8 terms of a polynomial",
        &apply(
            "fma8",
            "fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(0.1f, x, 0.2f), x, 0.3f), x, 0.4f), x, 0.5f), x, 0.6f), x, \
             0.7f), x, 0.8f), x, 0.9f)",
        ),
    ),
    (
        "16 terms of a polynomial",
        &apply(
            "fma16",
            "fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(fma_rn(0.1f, \
             x, 0.2f), x, 0.3f), x, 0.4f), x, 0.5f), x, 0.6f), x, 0.7f), x, 0.8f), x, 0.9f), x, 0.11f), x, 0.12f), x, 0.13f), x, \
             0.14f), x, 0.15f), x, 0.16f), x, 0.17f), x, 0.18f)",
        ),
    ),
];

const fn apply(name: &'static str, cuda: &'static str) -> Node {
    // Nobody looks at the values, and the GPU alone computes them.
    let function = Function::exact(name, cuda, HostFn::Unary(|x| x, |x| x)).within(Accuracy::relative(f32::INFINITY));
    Node::Apply(function, [Some(&Node::LoadAcc), None, None])
}

pub fn run(device: &Device, small: bool) -> Part {
    if small || device.info().check_tag(ArchId::SM90).is_err() {
        return Ok("not here: Pingpong is sm_90's, and tools that watch take clocks of their own".into());
    }
    let all = || -> Result<String> {
        let mut lines = Vec::new();
        for text in TEXTS {
            let parsed = expression(&format!("d = {text}"), &[("bias", NameKind::Operand(Dtype::F32))])?;
            let number = |argument: &Argument| if let Argument::Number(x) = argument { Some(*x) } else { None };
            let arguments: Vec<_> = parsed.arguments.iter().map(number).collect();
            let [products, epilogue] = clocks(device, parsed.node, &arguments)?;
            lines.push(format!("{text}: {products} and {epilogue}"));
        }
        for (what, node) in CHAINS {
            let [products, epilogue] = clocks(device, node, &[])?;
            lines.push(format!("{what}: {products} and {epilogue}"));
        }
        Ok(format!("of products and epilogue, a tile of 128x128x512: {}", lines.join("; ")))
    };
    all().map_err(|e| e.to_string())
}
