use warpwright::{GemmBuilder, Sm90};

fn main() {
    let _ = GemmBuilder::<Sm90, f16, f32>::auto();
}
