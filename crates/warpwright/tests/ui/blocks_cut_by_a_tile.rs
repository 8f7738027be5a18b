use warpwright::prelude::*;

fn main() {
    let mut scales = Tensor::<f32>::zeros(64, 2).unwrap();
    let _ = GemmBuilder::<Sm90, f16, f32>::auto()
        .output::<e4m3>()
        .tile::<Shape<U128, U64, U64>>()
        .epilogue(quantize_rows::<Blocks<e4m3, f32, 128>, _>(&mut scales, acc()))
        .build(&Device::host());
}
