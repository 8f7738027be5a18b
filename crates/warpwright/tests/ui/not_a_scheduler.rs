use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().scheduler::<Cooperative>().build(&Device::host());
}
