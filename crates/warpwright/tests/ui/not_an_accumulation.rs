use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, e4m3, f32>::auto().accumulation::<Cooperative>().build(&Device::host());
}
