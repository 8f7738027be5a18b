use warpwright::prelude::*;

fn main() {
    let alpha = [f16::ONE];
    let _ = scalar(&alpha) * acc();
}
