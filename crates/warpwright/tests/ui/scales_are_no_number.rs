use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, bf16, f32>::auto().b::<i4>().scales::<U128>().build(&Device::host());
}
