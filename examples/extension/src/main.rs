//! The nearest of a few centres for each of many points, by a mainloop and a scheduler that Warpwright does not have.
//!
//!     cargo run --release -p warpwright-extension-example

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use warpwright::prelude::*;
use warpwright_extension_example::{Distances, RowOfTiles};

fn main() -> Result<(), Box<dyn Error>> {
    let (points, centres, dimensions) = (1000, 16, 24);
    let device = Device::host();
    let stream = device.default_stream()?;
    // Each point lies near the centre of its number modulo 16.
    let place = |i: usize, k: usize| ((i * 7 + k * k * 3) % 16) as f64;
    let a = Tensor::<f16>::from_fn(points, dimensions, |m, k| {
        f16::from_f64(place(m % centres, k) + 0.25 * ((m / centres + k) % 2) as f64)
    })?;
    let b = Tensor::<f16>::from_fn(dimensions, centres, |k, n| f16::from_f64(place(n, k)))?;
    let mut d = Tensor::<f32>::zeros(points, centres)?;

    let kernel = Kernel::<Distances<Acc, RowOfTiles>>::compile(&device)?;
    kernel.run_with(&stream, &a, &b, &mut d, acc())?;
    print!("{}", kernel.explain(&Problem::dense(points, centres, dimensions))?);

    let distances = d.to_vec()?;
    let nearest =
        |m: usize| (0..centres).min_by(|&i, &j| distances[m * centres + i].total_cmp(&distances[m * centres + j]));
    let right = (0..points).filter(|&m| nearest(m) == Some(m % centres)).count();
    println!("{right} of {points} points have the centre that they were made from as their nearest");
    if right == points { Ok(()) } else { Err("a distance is wrong".into()) }
}
