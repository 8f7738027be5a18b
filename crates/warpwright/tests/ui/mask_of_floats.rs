use warpwright::prelude::*;

fn main() {
    let kept = vec![0f32; 256];
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(select(mask(&kept), acc(), 0.0)).build(&Device::host());
}
