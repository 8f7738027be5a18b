use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().tile::<Tile<256, 128, 64>>().schedule::<Pingpong>().build(&Device::host());
}
