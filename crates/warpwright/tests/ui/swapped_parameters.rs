use warpwright::prelude::*;

fn main() {
    let _ = GemmBuilder::<f16, Sm90, f32>::auto();
}
