//! The cost of the algebra on static layouts. Criterion's times are those of the machine as it is; the shortest of many short
//! runs is the cost itself when others work on the machine too.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{ComposedLayout, Layout, Tiler, int_tuple, layout};

const A: Layout = layout!((8, 4, 16, 2):(64, 512, 1, 2048));
const B: Layout = layout!((4, 4, 8, 4):(1, 8, 32, 256));
const TILER: Tiler<'_> = Tiler::ByMode(&[Tiler::of(4), Tiler::of(2), Tiler::of(8), Tiler::of(2)]);

fn tile() -> ComposedLayout {
    let atom = atom(Major::K, SmemSwizzle::B128, 16).expect("an atom of 16 bits");
    atom.tile_to_shape(&int_tuple!((128, 64)), None).expect("the atom divides the tile")
}

/// Times one operation. It is not called through a pointer, which would cost as much as an evaluation.
fn time<R>(c: &mut Criterion, name: &str, operation: impl Fn() -> R) {
    const RUNS: usize = 3000;
    const TIMES: u32 = 100;
    let run = |_| {
        let started = Instant::now();
        for _ in 0..TIMES {
            black_box(operation());
        }
        started.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
    };
    println!("{name:32} {:8.1} ns undisturbed", (0..RUNS).map(run).fold(f64::MAX, f64::min));
    c.bench_function(name, |b| b.iter(&operation));
}

fn algebra(c: &mut Criterion) {
    let tile = tile();
    let compose = || black_box(&A).compose(black_box(&B));
    let divide = || black_box(&A).zipped_divide(black_box(&TILER));
    time(c, "compose rank 4", compose);
    time(c, "divide rank 4", divide);
    time(c, "compose and divide rank 4", || (compose(), divide()));
    time(c, "divide rank 4 by a layout", || black_box(&A).logical_divide(black_box(&Tiler::Layout(&B))));
    time(c, "eval a linear coordinate", || black_box(&A).eval(black_box(777)));
    time(c, "eval a coordinate of four modes", || black_box(&A).eval_at(black_box(&[7, 3, 9, 1])));
    time(c, "eval a swizzled coordinate", || black_box(&tile).eval_at(black_box(&[77, 33])));
}

criterion_group!(benches, algebra);
criterion_main!(benches);
