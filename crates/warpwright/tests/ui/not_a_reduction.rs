use warpwright::prelude::*;

struct Mean;

fn main() {
    let mut sums = vec![0f32; 64];
    let _ = reduce_rows::<Mean, _, _>(&mut sums, acc());
}
