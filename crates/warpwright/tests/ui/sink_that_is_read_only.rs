use warpwright::prelude::*;

fn main() {
    let z = Tensor::<f16>::zeros(64, 64).unwrap();
    let _ = aux_store(&z, acc());
}
