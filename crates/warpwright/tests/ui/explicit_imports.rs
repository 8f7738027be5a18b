use warpwright::{Cooperative, Device, GemmBuilder, Sm80, f16};

fn main() {
    let _ = GemmBuilder::<Sm80, f16, f32>::auto().schedule::<Cooperative>().build(&Device::host());
}
