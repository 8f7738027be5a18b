use warpwright::prelude::*;

fn runs(x: &Tensor<e4m3>) {
    let _ = GemmBuilder::<Sm80, e4m3, f32>::auto().run(x, x);
}

fn main() {}
