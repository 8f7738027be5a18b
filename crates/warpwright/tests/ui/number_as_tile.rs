use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().tile::<U128>().build(&Device::host());
}
