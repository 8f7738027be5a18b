use warpwright::prelude::*;

fn runs(stream: &Stream, a: &Tensor<f16>, d: &mut Tensor<f16>) {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().build(&Device::host()).unwrap().run(stream, a, d);
}

fn main() {}
