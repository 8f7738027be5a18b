use warpwright::prelude::*;

fn runs(a: &Tensor<f16>, b: &Tensor<bf16>) {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().run(a, b);
}

fn main() {}
