use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, bf16, f32>::auto().tile::<Shape<U128, U256, U64>>().stages::<U8>().build(&Device::host());
}
