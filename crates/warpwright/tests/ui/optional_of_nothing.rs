use warpwright::prelude::*;

fn main() {
    let bias = vec![0f32; 256];
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(acc() + row_or(&bias, 0.0)).build(&Device::host());
}
