use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm80, e4m3, f32>::auto().build(&Device::host());
}
