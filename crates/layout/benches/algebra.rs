//! The cost of the algebra on static layouts.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{Layout, Tiler, int_tuple, layout};

const A: Layout = layout!((8, 4, 16, 2):(64, 512, 1, 2048));
const B: Layout = layout!((4, 4, 8, 4):(1, 8, 32, 256));

fn algebra(c: &mut Criterion) {
    c.bench_function("compose rank 4", |b| b.iter(|| black_box(&A).compose(black_box(&B))));
    let tiler = [Tiler::of(4), Tiler::of(2), Tiler::of(8), Tiler::of(2)];
    c.bench_function("divide rank 4", |b| {
        b.iter(|| black_box(&A).zipped_divide(black_box(&Tiler::ByMode(&tiler))));
    });
    c.bench_function("compose and divide rank 4", |b| {
        b.iter(|| {
            let r = black_box(&A).compose(black_box(&B));
            (r, black_box(&A).zipped_divide(black_box(&Tiler::ByMode(&tiler))))
        })
    });
    c.bench_function("divide rank 4 by a layout", |b| {
        b.iter(|| black_box(&A).logical_divide(black_box(&Tiler::Layout(&B))));
    });
    c.bench_function("eval a linear coordinate", |b| b.iter(|| black_box(&A).eval(black_box(777))));
    c.bench_function("eval a coordinate of four modes", |b| {
        b.iter(|| black_box(&A).eval_at(black_box(&[7, 3, 9, 1])));
    });
    let tile = atom(Major::K, SmemSwizzle::B128, 16).unwrap().tile_to_shape(&int_tuple!((128, 64)), None).unwrap();
    c.bench_function("eval a swizzled coordinate", |b| b.iter(|| black_box(&tile).eval_at(black_box(&[77, 33]))));
}

criterion_group!(benches, algebra);
criterion_main!(benches);
