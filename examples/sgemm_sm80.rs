//! CuTe's pipelined GEMM tutorial for SM80, on the host: three stages of shared memory, swizzled; cp.async, ldmatrix and
//! mma.sync as the atoms say who moves and who multiplies what. The loop is the GPU's, with all threads at each statement.
//!
//!     cargo run --release --example sgemm_sm80

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use std::fmt::Write;
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::tensor::{Tagged, Tensor, axpby, clear, gmem, rmem, smem};
use warpwright_layout::{
    ComposedLayout, Coord, Int, IntTuple, Layout, Operand, Side, Swizzle, TiledCopy, TiledMma, Tiler, int_tuple, layout,
};

type Fallible<T> = Result<T, Box<dyn Error>>;
/// What one thread holds.
type Registers = Tensor<Tagged<Vec<f32>>>;

const M: i64 = 256;
const N: i64 = 128;
const K: i64 = 320;
const PIPES: i64 = 3;

/// One operand, A or B: how it comes into shared memory and from there into registers.
struct Feed<'a> {
    global: Tensor<Tagged<&'a [f32]>>,
    tile: ComposedLayout,
    shared: Vec<f32>,
    g2s: TiledCopy,
    s2r: TiledCopy,
    registers: Vec<Registers>,
}

impl<'a> Feed<'a> {
    /// `rows` are the block's 128 rows of the K-major matrix `data`.
    fn new(data: &'a [f32], rows: i64, operand: Operand, mma: &TiledMma) -> Fallible<Self> {
        let matrix = Layout::row_major(IntTuple::flat(&[Int::Static(data.len() as i64 / K), Int::Static(K)])?)?;
        // (128 rows, 64 of k, tiles of k).
        let tiler = [Tiler::of(128), Tiler::of(64)];
        let global = Tensor::new(gmem(data), matrix)?
            .local_tile(&Tiler::ByMode(&tiler), &Coord::ByMode(&[Coord::At(rows), Coord::All]))?;
        // Eight rows of 64, swizzled so that eight lanes read one column of chunks without bank conflicts.
        let atom = ComposedLayout::new(Swizzle::new(3, 3, 3)?, layout!((8, (8, 8)):(8, (1, 64))));
        let tile = atom.tile_to_shape(&int_tuple!((128, 64, PIPES)), None)?;
        let g2s = TiledCopy::new(CopyAtom::cp_async(16)?, 16, &layout!((16, 8):(8, 1)), &layout!((1, 8)))?;
        let s2r = TiledCopy::for_mma(CopyAtom::ldmatrix(4, false)?, 16, mma, operand)?;
        let stage = layout!((128, 64));
        let registers = (0..mma.threads())
            .map(|thread| {
                let layout = mma.partition(operand, &stage, thread)?.0.fragment_like()?;
                Ok(Tensor::new(rmem(vec![0.0; layout.cosize().value() as usize]), layout)?)
            })
            .collect::<Fallible<Vec<_>>>()?;
        Ok(Self { global, tile, shared: vec![f32::NAN; tile.cosize().value() as usize], g2s, s2r, registers })
    }

    /// One pipe of the shared memory.
    fn pipe(&self, pipe: i64) -> Fallible<ComposedLayout> {
        Ok(self.tile.slice(&Coord::ByMode(&[Coord::All, Coord::All, Coord::At(pipe)]))?)
    }

    /// Global memory to shared memory: cp.async by all threads.
    fn fetch(&mut self, k_tile: i64, pipe: i64) -> Fallible<()> {
        let tile = self.global.slice(&Coord::ByMode(&[Coord::All, Coord::All, Coord::At(k_tile)]))?;
        let layout = self.pipe(pipe)?;
        self.g2s.copy(&tile, &mut Tensor::new(smem(&mut self.shared[..]), layout)?)?;
        Ok(())
    }

    /// Shared memory to registers: ldmatrix for block `k_block` of 16.
    fn load(&mut self, pipe: i64, k_block: i64) -> Fallible<()> {
        let layout = self.pipe(pipe)?;
        let tiler = Tiler::ByMode(&[Tiler::Keep, Tiler::of(16)]);
        let coord = [Coord::All, Coord::ByMode(&[Coord::All, Coord::At(k_block)])];
        let block = Tensor::new(smem(&self.shared[..]), layout)?
            .map(|l| l.logical_divide(&tiler))?
            .slice(&Coord::ByMode(&coord))?;
        for (thread, registers) in self.registers.iter_mut().enumerate() {
            let mut seen = registers.as_mut().map(|l| Ok(self.s2r.retile(&l.layout)?.into()))?;
            let last = seen.rank() - 1;
            let mut keep = vec![Coord::All; last];
            keep.push(Coord::At(k_block));
            seen = seen.slice(&Coord::ByMode(&keep))?;
            self.s2r.load(thread as i64, &block, &mut seen)?;
        }
        Ok(())
    }

    /// The registers of one block of k.
    fn block(&self, k_block: i64) -> Fallible<Vec<Tensor<&Tagged<Vec<f32>>>>> {
        let one = [Coord::All, Coord::All, Coord::At(k_block)];
        self.registers
            .iter()
            .map(|registers| {
                // (values, m) and the block, as a third mode of extent 1.
                let slice = registers.as_ref().slice(&Coord::ByMode(&one))?;
                Ok(slice.map(|l| {
                    let layout = Layout::concat(&[l.layout.mode(0), l.layout.mode(1), Layout::UNIT])?;
                    Ok(ComposedLayout { layout, ..*l })
                })?)
            })
            .collect()
    }
}

fn main() -> Fallible<()> {
    let mut text = String::new();
    run(&mut text)?;
    print!("{text}");
    Ok(())
}

/// The tutorial; what it prints goes to `out`.
pub fn run(out: &mut String) -> Fallible<()> {
    let value = |i: i64, j: i64, seed: i64| ((i * 7 + j * 3 + seed) % 9 - 4) as f32;
    let a: Vec<f32> = (0..M * K).map(|i| value(i / K, i % K, 1)).collect();
    let b: Vec<f32> = (0..N * K).map(|i| value(i / K, i % K, 5)).collect();
    let mut c: Vec<f32> = (0..M * N).map(|i| (i % 5) as f32).collect();
    let before = c.clone();
    let (alpha, beta) = (2.0, -1.0);

    let mma = TiledMma::new(MmaAtom::named("SM80_16x8x16_F16F16F16F16_TN")?, &layout!((2, 2)))?;
    let mma = mma.with_permutation(0, &layout!(32))?.with_permutation(1, &layout!(32))?;
    for block_m in 0..M / 128 {
        for block_n in 0..N / 128 {
            let feed_a = Feed::new(&a, block_m, Operand::A, &mma)?;
            let feed_b = Feed::new(&b, block_n, Operand::B, &mma)?;
            let shown = if (block_m, block_n) == (0, 0) { Some(&mut *out) } else { None };
            let sums = mainloop(feed_a, feed_b, &mma, shown)?;
            // The epilogue: each thread writes alpha * acc + beta * C where it holds it. C is column-major.
            let tiler = [Tiler::of(128), Tiler::of(128)];
            let coord = [Coord::At(block_m), Coord::At(block_n)];
            let mut tile = Tensor::new(gmem(&mut c[..]), layout!((M, N)))?
                .local_tile(&Tiler::ByMode(&tiler), &Coord::ByMode(&coord))?;
            for (thread, sums) in sums.iter().enumerate() {
                let mut mine = tile.as_mut().part(|l| mma.partition(Operand::C, l, thread as i64))?;
                axpby(alpha, sums, beta, &mut mine)?;
            }
        }
    }
    let right = |m: i64, n: i64| -> f32 {
        let sum: f32 = (0..K).map(|k| a[(m * K + k) as usize] * b[(n * K + k) as usize]).sum();
        alpha * sum + beta * before[(m + M * n) as usize]
    };
    let good = (0..M * N).filter(|i| c[*i as usize] == right(i % M, i / M)).count();
    writeln!(out, "{good} of {} elements are right", M * N)?;
    Ok(())
}

/// The accumulators of all threads after all of k.
fn mainloop(mut a: Feed<'_>, mut b: Feed<'_>, mma: &TiledMma, shown: Option<&mut String>) -> Fallible<Vec<Registers>> {
    let tile = layout!((128, 128));
    let mut sums = (0..mma.threads())
        .map(|thread| {
            let layout = mma.partition(Operand::C, &tile, thread)?.0.fragment_like()?;
            let mut sums = Tensor::new(rmem(vec![f32::NAN; layout.cosize().value() as usize]), layout)?;
            clear(&mut sums)?;
            Ok(sums)
        })
        .collect::<Fallible<Vec<_>>>()?;
    if let Some(out) = shown {
        show(out, &a, mma, &sums[0])?;
    }
    let (mut k_tiles, mut next) = (K / 64, 0);
    for pipe in 0..PIPES - 1 {
        a.fetch(next, pipe)?;
        b.fetch(next, pipe)?;
        k_tiles -= 1;
        next += i64::from(k_tiles > 0);
    }
    const BLOCKS: i64 = 4;
    let (mut read, mut write) = (0, PIPES - 1);
    let mut pipe = read;
    a.load(pipe, 0)?;
    b.load(pipe, 0)?;
    while k_tiles > -(PIPES - 1) {
        for k_block in 0..BLOCKS {
            if k_block == BLOCKS - 1 {
                pipe = read;
            }
            // The next block into registers, while this one is multiplied.
            let k_next = (k_block + 1) % BLOCKS;
            a.load(pipe, k_next)?;
            b.load(pipe, k_next)?;
            if k_block == 0 {
                // The next tile of k into the pipe that was read last.
                a.fetch(next, write)?;
                b.fetch(next, write)?;
                k_tiles -= 1;
                next += i64::from(k_tiles > 0);
                write = read;
                read = if read == PIPES - 1 { 0 } else { read + 1 };
            }
            mma.gemm(&a.block(k_block)?, &b.block(k_block)?, &mut sums)?;
        }
    }
    Ok(sums)
}

/// What the tutorial prints of its layouts, for thread 0.
fn show(out: &mut String, a: &Feed<'_>, mma: &TiledMma, sums: &Registers) -> Fallible<()> {
    writeln!(out, "gA   : {}", a.global)?;
    writeln!(out, "sA   : {}", a.tile)?;
    writeln!(out, "tAgA : {}", a.g2s.partition(Side::Source, &a.global.layout().layout, 0)?.0)?;
    writeln!(out, "tAsA : {}", a.g2s.partition(Side::Destination, &a.tile.layout, 0)?.0)?;
    writeln!(out, "tXsA : {}", a.s2r.partition(Side::Source, &a.tile.layout, 0)?.0)?;
    writeln!(out, "tCrA : {}", a.registers[0].layout())?;
    writeln!(out, "tXrA : {}", a.s2r.retile(&a.registers[0].layout().layout)?)?;
    writeln!(out, "tCrC : {}", sums.layout())?;
    let (lanes, column) = (layout!(32:1), a.tile.slice(&Coord::ByMode(&[Coord::All, Coord::At(8), Coord::At(0)]))?);
    writeln!(out, "ldmatrix of 32 rows: {} wavefronts", column.wavefronts(16, &lanes, 16)?)?;
    writeln!(out, "{} threads, tile {:?}", mma.threads(), mma.tile_mnk())?;
    Ok(())
}
