//! CuTe's tiled copy tutorial, on the host: a matrix is cut into tiles, each tile is copied by 256 threads, and each thread
//! moves four neighbours at a time. Nothing here computes an index.
//!
//!     cargo run --example tiled_copy

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use std::fmt::Write;
use warpwright_layout::atom::CopyAtom;
use warpwright_layout::tensor::{Tensor, copy, gmem, rmem};
use warpwright_layout::{Coord, Side, TiledCopy, Tiler, int_tuple, layout};

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    run(&mut text)?;
    print!("{text}");
    Ok(())
}

/// The tutorial; what it prints goes to `out`.
pub fn run(out: &mut String) -> Result<(), Box<dyn Error>> {
    // A column-major 256 by 512 matrix. A tensor is a view: it owns no element and copies none.
    let matrix = layout!((256, 512));
    let source: Vec<f32> = (0..256 * 512).map(|i| i as f32).collect();
    let mut destination = vec![f32::NAN; 256 * 512];
    let tensor_s = Tensor::new(gmem(&source[..]), matrix)?;
    let mut tensor_d = Tensor::new(gmem(&mut destination[..]), matrix)?;
    writeln!(out, "tensor_S:       {tensor_s}")?;

    // (m,n) becomes ((M,N),m',n'): one tile, and the tiles of the matrix.
    let block = [Tiler::of(128), Tiler::of(64)];
    let block = Tiler::ByMode(&block);
    let tiled_s = tensor_s.tiled_divide(&block)?;
    let mut tiled_d = tensor_d.as_mut().tiled_divide(&block)?;
    writeln!(out, "tiled_tensor_S: {tiled_s}")?;

    // 32 by 8 threads, each with 4 by 1 values: one 128-bit access.
    let tiled_copy = TiledCopy::new(CopyAtom::universal(128)?, 32, &layout!((32, 8)), &layout!((4, 1)))?;
    writeln!(out, "tiled_copy:     {} elements by {} threads", tiled_copy.tiler(), tiled_copy.threads())?;

    let (tiles_m, tiles_n) = (2, 8);
    for x in 0..tiles_m {
        for y in 0..tiles_n {
            // One tile a block. The tile is mode 0, which itself has the modes M and N.
            let both = [Coord::All, Coord::All];
            let tile = [Coord::ByMode(&both), Coord::At(x), Coord::At(y)];
            let tile_s = tiled_s.slice(&Coord::ByMode(&tile))?;
            let mut tile_d = tiled_d.as_mut().slice(&Coord::ByMode(&tile))?;
            for thread in 0..tiled_copy.threads() {
                let thr_s = tile_s.part(|l| tiled_copy.partition(Side::Source, l, thread))?;
                let mut thr_d = tile_d.as_mut().part(|l| tiled_copy.partition(Side::Destination, l, thread))?;
                if (x, y, thread) == (0, 0, 65) {
                    writeln!(out, "tile_S:         {tile_s}")?;
                    writeln!(out, "thr_tile_S:     {thr_s}")?;
                }
                let registers = thr_d.layout().layout.fragment_like()?;
                let mut fragment = Tensor::new(rmem(vec![0.0; registers.cosize().value() as usize]), registers)?;
                copy(&thr_s, &mut fragment)?;
                copy(&fragment, &mut thr_d)?;
            }
        }
    }
    writeln!(out, "{} of {} elements are copied", equal(&source, &destination), source.len())?;

    // The same thread of a tile that stands alone, each mode simplified.
    let tile_s = Tensor::new(gmem(&source[..128 * 64]), layout!((128, 64)))?;
    let thr_s =
        tile_s.part(|l| tiled_copy.partition(Side::Source, l, 65))?.map(|l| l.coalesce_by(&int_tuple!((1, 1, 1))))?;
    writeln!(out, "tile_S:         {tile_s}")?;
    writeln!(out, "thr_tile_S:     {thr_s}")?;
    Ok(())
}

fn equal(a: &[f32], b: &[f32]) -> usize {
    a.iter().zip(b).filter(|(x, y)| x == y).count()
}
