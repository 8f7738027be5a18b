use warpwright::prelude::*;

fn runs(kernel: Kernel<BiasRelu>, stream: &Stream, bias: &[f32], x: &Tensor<f16>, d: &mut Tensor<f16>) {
    let _ = kernel.run_with(stream, x, x, d, acc() + row(bias));
}

type BiasRelu = Composed<Sm90, f16, f32, Operands, Plan, Apply<Relu, Plus<Acc, Row<'static, f32>>>>;

fn main() {}
