use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().tile::<Shape<U96, U128, U64>>().build(&Device::host());
}
