use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().schedule::<Pingpong>().scheduler::<StreamK>().build(&Device::host());
}
