use warpwright::prelude::*;

fn main() {
    let mut scales = Tensor::<e8m0>::zeros(64, 8).unwrap();
    let _ = GemmBuilder::<Sm90, f16, f32>::auto()
        .output::<e5m2>()
        .epilogue(quantize_rows::<Mx<e4m3>, _>(&mut scales, acc()))
        .build(&Device::host());
}
