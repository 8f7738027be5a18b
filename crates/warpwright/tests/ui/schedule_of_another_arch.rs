use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm80, f16, f32>::auto().schedule::<Cooperative>().build(&Device::host());
}
