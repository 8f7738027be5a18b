use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm100, f16, f32>::auto().cluster::<Cluster<1, 2>>().schedule::<TwoSm>().build(&Device::host());
}
