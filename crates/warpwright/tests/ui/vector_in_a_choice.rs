use warpwright::prelude::*;

fn main() {
    let bias = vec![0f32; 256];
    let _ = GemmBuilder::<Sm90, f16, f32>::auto().epilogue(select(lt(acc(), 0), &bias, acc())).build(&Device::host());
}
