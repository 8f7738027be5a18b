use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(top_k_softmax::<3, _>(acc())).build(&Device::host());
}
