use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, bf16, f32>::auto().schedule::<Cooperative>().scheduler::<SingleTile>().build(&Device::host());
}
