use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, i8, f32>::auto().build(&Device::host());
}
