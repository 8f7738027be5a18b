use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, bf16, f32>::auto().staging::<Cooperative>().build(&Device::host());
}
