use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm75, bf16, f32>::auto().build(&Device::host());
}
