use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().cluster::<Shape<U3, U1, U1>>().build(&Device::host());
}
