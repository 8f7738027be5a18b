//! What is stored beside D.

use super::{Accumulators, Along, Evaluator, Scratch, Segment, Values};
use crate::bound::{Slot, narrowed};
use crate::{Number, OutputShape, Program, SideStore, Value};
use core::sync::atomic::{AtomicU64, Ordering};
use warpwright_runtime::RawViewMut;
use warpwright_spec::{Axes, Reducer, Reduction, Sink};

/// The tile that a segment belongs to, in the user's coordinates: the work on it is one thread's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TileIndex {
    /// Along M.
    pub m: usize,
    /// Along N.
    pub n: usize,
}

/// The partial results of a run's reductions: each tile has its own, so that threads share none, and the end puts them together
/// in the order of tiles. Made once a run.
#[derive(Debug)]
pub struct Partials {
    output: OutputShape,
    tiles: [usize; 2],
    /// In the order of the program's stores; empty for what is no reduction. f64, which holds every value of the compute type.
    values: Vec<Vec<AtomicU64>>,
}

impl Partials {
    /// Those of a program on a D that is cut into `tiles` tiles along M and N; `None` if there is no memory for them.
    pub fn new(program: &Program, output: OutputShape, tiles: [usize; 2]) -> Option<Partials> {
        let values = program.stores().iter().map(|store| {
            let Sink::Reduce(reduction) = store.sink else { return Some(Vec::new()) };
            let [blocks, length] = extents(reduction.axes, output, tiles);
            let count = output.batch.checked_mul(blocks)?.checked_mul(length)?;
            let mut values = Vec::new();
            values.try_reserve_exact(count).ok()?;
            values.resize_with(count, || AtomicU64::new(identity(reduction.operator).to_bits()));
            Some(values)
        });
        Some(Partials { output, tiles, values: values.collect::<Option<_>>()? })
    }
}

/// Partial results of each value that remains, and how many values remain.
fn extents(axes: Axes, output: OutputShape, [tiles_m, tiles_n]: [usize; 2]) -> [usize; 2] {
    match axes {
        Axes::Rows => [tiles_m, output.n],
        Axes::Columns => [tiles_n, output.m],
        Axes::All => [tiles_m.saturating_mul(tiles_n), 1],
    }
}

/// What a reduction begins with.
fn identity(operator: Reducer) -> f64 {
    match operator {
        Reducer::Sum | Reducer::Amax | Reducer::SumOfSquares => 0.0,
        Reducer::Max => f64::NEG_INFINITY,
        Reducer::Min => f64::INFINITY,
    }
}

/// What a value counts as. Squares of f32 are exact in f64.
fn counted(operator: Reducer, x: f64) -> f64 {
    match operator {
        Reducer::Sum => x,
        // Zeros of both signs are equal, so that no order of comparisons shows.
        Reducer::Max | Reducer::Min => x + 0.0,
        Reducer::Amax => x.abs(),
        Reducer::SumOfSquares => x * x,
    }
}

#[allow(clippy::eq_op, reason = "a value that differs from itself is NaN")]
fn join(operator: Reducer, a: f64, b: f64) -> f64 {
    match operator {
        Reducer::Sum | Reducer::SumOfSquares => a + b,
        Reducer::Max | Reducer::Amax => {
            if a > b || a != a {
                a
            } else {
                b
            }
        }
        Reducer::Min => {
            if a < b || a != a {
                a
            } else {
                b
            }
        }
    }
}

impl Evaluator<'_> {
    /// Stores what a program stores beside D of a segment that was [evaluated](Self::evaluate) last, with the same scratch and
    /// accumulators, and adds to the reductions' partial results.
    ///
    /// # Safety
    /// Nobody else uses the outputs' elements of this segment; of a mask, the bytes that hold its bits.
    pub unsafe fn store(
        &self,
        at: Segment,
        tile: TileIndex,
        acc: Accumulators<'_>,
        scratch: &mut Scratch,
        partials: &Partials,
    ) {
        for (number, &SideStore { argument, sink, value }) in self.program.stores().iter().enumerate() {
            let Slot::Output { view, along, .. } = self.slots[argument] else { continue };
            let values = self.stored(value, at.batch, acc, scratch);
            match sink {
                // SAFETY: as the caller vouches.
                Sink::Matrix(_) => unsafe { values.write(&view, at) },
                Sink::Mask => {
                    for i in (0..values.len()).filter_map(|i| Some((i, values.get(i)?))) {
                        let (m, n) = match at.along {
                            Along::N => (at.m, at.n + i.0),
                            Along::M => (at.m + i.0, at.n),
                        };
                        // SAFETY: as the caller vouches.
                        unsafe { set_bit(&view, along, [at.batch, m, n], i.1 > 0.0, self.ends(along, m, n, partials)) };
                    }
                }
                // No store, but a step.
                Sink::Quantize(_) => {}
                Sink::Reduce(reduction) => reduce(reduction, &partials.values[number], partials, at, tile, &values),
            }
        }
    }

    /// Whether an element is the last of its line, so that what is left of its byte is cleared.
    fn ends(&self, along: Along, m: usize, n: usize, partials: &Partials) -> bool {
        match along {
            Along::N => n + 1 == partials.output.n,
            Along::M => m + 1 == partials.output.m,
        }
    }

    /// A value of the segment that was evaluated last.
    pub(super) fn stored<'s>(
        &self,
        value: Value,
        batch: usize,
        acc: Accumulators<'s>,
        scratch: &'s mut Scratch,
    ) -> Values<'s> {
        let Scratch { single, double, exact, .. } = scratch;
        let width = acc.len();
        match (value, self.program.number(value), acc) {
            (Value::Accumulator, _, Accumulators::F32(x)) => Values::F32(x),
            (Value::Accumulator, _, Accumulators::F64(x)) => Values::F64(x),
            (Value::Accumulator, _, Accumulators::I32(x)) => Values::I32(x),
            (Value::Step(i), Number::Exact, _) => Values::I64(exact.materialize(i + 1, width)),
            (Value::Step(i), Number::Real, Accumulators::F64(_)) => Values::F64(double.materialize(i + 1, width)),
            (Value::Step(i), Number::Real, _) => Values::F32(single.materialize(i + 1, width)),
            (Value::Scalar(_) | Value::Constant(_), _, acc) => {
                let x = match value {
                    Value::Scalar(argument) => self.scalar(argument, batch),
                    Value::Constant(bits) => narrowed(f64::from_bits(bits), self.program.compute()),
                    _ => 0.0,
                };
                if matches!(acc, Accumulators::F64(_)) {
                    double.row_mut(0, width).fill(x);
                    Values::F64(double.row_mut(0, width))
                } else {
                    single.row_mut(0, width).fill(x as f32);
                    Values::F32(single.row_mut(0, width))
                }
            }
        }
    }

    /// Puts the partial results of a run together and stores them.
    ///
    /// # Safety
    /// Nobody else uses the reductions' outputs, and no segment is evaluated any more.
    pub unsafe fn finish(&self, partials: &Partials) {
        for (store, values) in self.program.stores().iter().zip(&partials.values) {
            let (Sink::Reduce(reduction), Slot::Output { view, strides, .. }) =
                (store.sink, &self.slots[store.argument])
            else {
                continue;
            };
            let [blocks, length] = extents(reduction.axes, partials.output, partials.tiles);
            let batch = partials.output.batch;
            // One output for all entries is of all of them.
            let (outputs, entries) = if strides[0] == 0 && batch > 1 { (1, batch) } else { (batch, 1) };
            for (output, i) in (0..outputs).flat_map(|b| (0..length).map(move |i| (b, i))) {
                let parts =
                    (output * entries * blocks..(output + 1) * entries * blocks).map(|block| block * length + i);
                let whole = parts.fold(identity(reduction.operator), |a, part| {
                    join(reduction.operator, a, f64::from_bits(values[part].load(Ordering::Relaxed)))
                });
                let [b, m, n] = place(view, reduction.axes, output, i);
                // SAFETY: as the caller vouches.
                unsafe { view.encode_at(b, m, n, whole) };
            }
        }
    }
}

/// Where the value is that remains: vectors may be rows or columns, and numbers of a batch lie along any mode.
fn place(view: &RawViewMut<'_>, axes: Axes, entry: usize, i: usize) -> [usize; 3] {
    let [batch, rows, columns] = view.extents();
    match axes {
        Axes::All if batch > 1 => [entry, 0, 0],
        Axes::All if rows > 1 => [0, entry, 0],
        Axes::All if columns > 1 => [0, 0, entry],
        _ if rows > 1 => [entry, i, 0],
        _ => [entry, 0, i],
    }
}

fn reduce(
    Reduction { operator, axes, .. }: Reduction,
    to: &[AtomicU64],
    partials: &Partials,
    at: Segment,
    tile: TileIndex,
    values: &Values<'_>,
) {
    let [blocks, length] = extents(axes, partials.output, partials.tiles);
    let block = match axes {
        Axes::Rows => tile.m,
        Axes::Columns => tile.n,
        Axes::All => tile.m * partials.tiles[1] + tile.n,
    };
    let first = (at.batch * blocks + block) * length;
    for i in 0..values.len() {
        let (m, n) = match at.along {
            Along::N => (at.m, at.n + i),
            Along::M => (at.m + i, at.n),
        };
        let index = match axes {
            Axes::Rows => n,
            Axes::Columns => m,
            Axes::All => 0,
        };
        let to = &to[first + index];
        let x = counted(operator, values.get(i).unwrap_or_default());
        let whole = join(operator, f64::from_bits(to.load(Ordering::Relaxed)), x);
        to.store(whole.to_bits(), Ordering::Relaxed);
    }
}

/// Sets or clears the bit of an element, and clears those behind the last of a line.
///
/// # Safety
/// Nobody else uses its byte.
unsafe fn set_bit(view: &RawViewMut<'_>, along: Along, [batch, m, n]: [usize; 3], set: bool, last: bool) {
    let (place, bit) = match along {
        Along::N => ([batch, m, n / 8], n % 8),
        Along::M => ([batch, m / 8, n], m % 8),
    };
    assert!(place.iter().zip(view.extents()).all(|(&i, extent)| i < extent), "an element is not within a mask");
    let Some(base) = view.host_ptr() else { panic!("a mask is in the memory of {}", view.space()) };
    let byte = base.wrapping_add(view.layout().offset(place[0], place[1], place[2]));
    let kept = !(1u8 << bit) & if last { (1u16 << (bit + 1)).wrapping_sub(1) as u8 } else { 0xff };
    // SAFETY: the byte is within the view, as asserted; the caller vouches that nobody else uses it.
    unsafe { byte.write(byte.read() & kept | u8::from(set) << bit) };
}
