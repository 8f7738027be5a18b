use warpwright::prelude::*;

fn main() {
    let (bias, c) = (vec![0f32; 4], Tensor::<bf16>::zeros(4, 4).unwrap());
    let (alpha, beta) = (1.0, 1.0);
    let _ = GemmBuilder::<Sm90, bf16, f32>::auto()
        .tile::<Shape<U128, U256, U64>>()
        .cluster::<Shape<U2, U1, U1>>()
        .schedule::<Cooperative>()
        .stages::<U4>()
        .scheduler::<StreamK>()
        .epilogue(relu(alpha * acc() + row(&bias) + beta * source(&c)))
        .build(&Device::host());
}
