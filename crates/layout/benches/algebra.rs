//! The cost of the algebra on static layouts. Criterion's times are those of the machine as it is; the shortest of many short
//! runs, printed first, is the cost itself when others work on the machine too.

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

type Operation = Box<dyn Fn()>;

/// What is timed, by name.
fn operations() -> Vec<(&'static str, Operation)> {
    fn timed<R>(f: impl Fn() -> R + 'static) -> Operation {
        Box::new(move || {
            black_box(f());
        })
    }
    let tile = tile();
    let compose = || black_box(&A).compose(black_box(&B));
    let divide = || black_box(&A).zipped_divide(black_box(&TILER));
    vec![
        ("compose rank 4", timed(compose)),
        ("divide rank 4", timed(divide)),
        ("compose and divide rank 4", timed(move || (compose(), divide()))),
        ("divide rank 4 by a layout", timed(|| black_box(&A).logical_divide(black_box(&Tiler::Layout(&B))))),
        ("eval a linear coordinate", timed(|| black_box(&A).eval(black_box(777)))),
        ("eval a coordinate of four modes", timed(|| black_box(&A).eval_at(black_box(&[7, 3, 9, 1])))),
        ("eval a swizzled coordinate", timed(move || black_box(&tile).eval_at(black_box(&[77, 33])))),
    ]
}

/// The shortest of many short runs.
fn undisturbed() {
    const RUNS: usize = 3000;
    const TIMES: u32 = 100;
    for (name, operation) in operations() {
        let run = |_| {
            let started = Instant::now();
            (0..TIMES).for_each(|_| operation());
            started.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
        };
        println!("{name:32} {:8.1} ns undisturbed", (0..RUNS).map(run).fold(f64::MAX, f64::min));
    }
}

fn algebra(c: &mut Criterion) {
    undisturbed();
    for (name, operation) in operations() {
        c.bench_function(name, |b| b.iter(&operation));
    }
}

criterion_group!(benches, algebra);
criterion_main!(benches);
