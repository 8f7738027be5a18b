use warpwright::prelude::*;

fn generic<T: Element>(a: &Tensor<T>, b: &Tensor<T>) -> Tensor<T> {
    GemmBuilder::<Sm90, T, f32>::auto().run(a, b).unwrap()
}

fn main() {}
