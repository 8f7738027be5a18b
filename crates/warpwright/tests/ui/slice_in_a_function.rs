use warpwright::prelude::*;

fn main() {
    let bias = vec![0f32; 256];
    let _ = relu(&bias);
}
