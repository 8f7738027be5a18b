use warpwright::prelude::*;

fn main() {
    let mut scales = Tensor::<e8m0>::zeros(64, 8).unwrap();
    let _ = quantize_rows::<Mx<bf16>, _>(&mut scales, acc());
}
