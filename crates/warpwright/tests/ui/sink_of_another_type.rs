use warpwright::prelude::*;

fn main() {
    let mut largest = [f16::ZERO; 1];
    let _ = amax(&mut largest, acc());
}
