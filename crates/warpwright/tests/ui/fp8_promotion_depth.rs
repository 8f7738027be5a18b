use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<Sm90, e4m3, f32>::auto().tile::<Tile<128, 128, 64>>().build(&Device::host());
}
