//! What an epilogue stores beside D: matrices and bits, which are judged where they are computed, and what is joined from many
//! elements, reductions and scale factors of blocks, which is judged at the end.

use crate::blocks;
use crate::reference::Dense;
use crate::tracked::{Place, Tracked};
use crate::verdict::{Verdict, Worst, compared};
use std::sync::Mutex;
use warpwright::Dtype;
use warpwright::spec::{Axes, BlockRun, BlockScales, Reducer, Sink};

/// What a sink stored.
pub struct Side<'a> {
    /// The number of the sink's argument.
    pub argument: usize,
    sink: Sink,
    dtype: Dtype,
    stored: &'a Dense,
    /// Rows and columns of D.
    extents: [usize; 2],
    /// Of each batch entry, what is joined: in the order of [`Side::slot`].
    joined: Vec<Mutex<Vec<Joined>>>,
}

/// What many values are together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Joined {
    /// Their sum, how far it may be off, and the sum of magnitudes.
    Sum { value: f64, error: f64, magnitude: f64 },
    /// The largest, and what it is at least and at most.
    Largest { least: f64, value: f64, most: f64 },
}

impl<'a> Side<'a> {
    /// Beside a D of these extents.
    pub fn new(argument: usize, sink: Sink, dtype: Dtype, stored: &'a Dense, [batch, m, n]: [usize; 3]) -> Side<'a> {
        let slots = match sink {
            Sink::Matrix(_) | Sink::Mask => 0,
            Sink::Reduce(reduction) => remaining(reduction.axes, m, n),
            Sink::Quantize(scales) => lines(scales, m, n) * blocks_of(scales, m, n),
        };
        let none = match sink {
            Sink::Reduce(r) if r.operator.is_sum() => Joined::Sum { value: 0.0, error: 0.0, magnitude: 0.0 },
            Sink::Reduce(r) if matches!(r.operator, Reducer::Max | Reducer::Min) => {
                Joined::largest(f64::NEG_INFINITY, 0.0)
            }
            _ => Joined::largest(0.0, 0.0),
        };
        let joined = (0..batch).map(|_| Mutex::new(vec![none; slots])).collect();
        Side { argument, sink, dtype, stored, extents: [m, n], joined }
    }

    /// Looks at a row of what the sink is given.
    pub fn row(&self, entry: usize, row: usize, values: &[Tracked]) -> Verdict {
        let each = |verdict: &dyn Fn(usize, Tracked) -> Worst| {
            let all = values.iter().enumerate().map(|(column, &x)| Verdict::of(verdict(column, x)));
            all.fold(Verdict::NONE, Verdict::and)
        };
        match self.sink {
            Sink::Matrix(dtype) => each(&|column, x| self.compared((entry, row, column), x, dtype)),
            Sink::Mask => each(&|column, x| {
                let open = x.value.is_finite() && x.error >= x.value.abs() && x.error > 0.0;
                let bit = Tracked { value: f64::from(u8::from(x.value > 0.0)), error: f64::from(u8::from(open)) };
                self.compared((entry, row, column), bit, Dtype::F64)
            }),
            Sink::Reduce(_) | Sink::Quantize(_) => {
                // A thread that panicked has ended the command.
                let mut joined = self.joined[entry].lock().unwrap_or_else(|e| e.into_inner());
                for (column, &x) in values.iter().enumerate() {
                    joined[self.slot(row, column)].join(self.sink, x);
                }
                Verdict::NONE
            }
        }
    }

    /// Judges what was joined, when all rows were seen.
    pub fn end(self) -> Verdict {
        let [m, n] = self.extents;
        let mut verdict = Verdict::NONE;
        // A product of nothing stores nothing.
        let entries = if m == 0 || n == 0 { 0 } else { self.joined.len() };
        for entry in 0..entries {
            let joined = core::mem::take(&mut *self.joined[entry].lock().unwrap_or_else(|e| e.into_inner()));
            for (slot, joined) in joined.into_iter().enumerate() {
                verdict = verdict.and(Verdict::of(match (self.sink, joined) {
                    (Sink::Quantize(scales), Joined::Largest { least, value, most }) => {
                        let blocks = blocks_of(scales, m, n);
                        let [row, column] = blocks::stored_at(scales, slot / blocks, slot % blocks);
                        self.factor((entry, row, column), scales, [least, value, most])
                    }
                    (Sink::Reduce(reduction), joined) => {
                        let (row, column) = if reduction.axes == Axes::Rows { (0, slot) } else { (slot, 0) };
                        let terms = m * n / remaining(reduction.axes, m, n);
                        self.compared((entry, row, column), joined.reduced(reduction.operator, terms), self.dtype)
                    }
                    _ => continue,
                }));
            }
        }
        verdict
    }

    fn slot(&self, row: usize, column: usize) -> usize {
        match self.sink {
            Sink::Quantize(scales) => {
                let [line, block] = blocks::block(scales, row, column);
                line * blocks_of(scales, self.extents[0], self.extents[1]) + block
            }
            Sink::Reduce(reduction) => match reduction.axes {
                Axes::Rows => column,
                Axes::Columns => row,
                Axes::All => 0,
            },
            Sink::Matrix(_) | Sink::Mask => 0,
        }
    }

    fn compared(&self, place: Place, want: Tracked, dtype: Dtype) -> Worst {
        compared(place, self.stored.at(place.0, place.1, place.2), want, dtype)
    }

    /// A scale factor is one of those that are right for a magnitude within the bounds of its block's.
    fn factor(&self, (batch, row, column): Place, scales: BlockScales, amax: [f64; 3]) -> Worst {
        let value = self.stored.at(batch, row, column);
        let [least, reference, largest] = blocks::factors(scales, amax);
        let allowed = (largest - reference).max(reference - least);
        let error = (value - reference).abs();
        let (error, ratio) = if value == reference || value.is_nan() && reference.is_nan() {
            (0.0, 0.0)
        } else if (least..=largest).contains(&value) {
            (error, error / allowed)
        } else {
            let ratio = error / allowed;
            (error, if ratio > 1.0 { ratio } else { f64::INFINITY })
        };
        Worst { batch, row, column, value, reference, error, allowed, ratio }
    }
}

/// Lines along which blocks lie.
fn lines(scales: BlockScales, m: usize, n: usize) -> usize {
    if scales.run == BlockRun::AlongRows { m } else { n }
}

/// Blocks of a line.
fn blocks_of(scales: BlockScales, m: usize, n: usize) -> usize {
    let along = if scales.run == BlockRun::AlongRows { n } else { m };
    along.div_ceil(usize::from(scales.block))
}

/// Values that remain of a reduction.
fn remaining(axes: Axes, m: usize, n: usize) -> usize {
    match axes {
        Axes::Rows => n,
        Axes::Columns => m,
        Axes::All => 1,
    }
}

impl Joined {
    fn largest(value: f64, error: f64) -> Joined {
        // What is infinite has no bound that is a number.
        let error = if value.is_infinite() { 0.0 } else { error };
        Joined::Largest { least: value - error, value, most: value + error }
    }

    fn join(&mut self, sink: Sink, x: Tracked) {
        let operator = match sink {
            Sink::Reduce(reduction) => reduction.operator,
            _ => Reducer::Amax,
        };
        let next = match operator {
            Reducer::Sum => Joined::Sum { value: x.value, error: x.error, magnitude: x.value.abs() },
            Reducer::SumOfSquares => {
                let (value, error) = (x.value * x.value, x.error * (2.0 * x.value.abs() + x.error));
                Joined::Sum { value, error, magnitude: value }
            }
            Reducer::Max => Joined::largest(x.value, x.error),
            Reducer::Min => Joined::largest(-x.value, x.error),
            Reducer::Amax => Joined::largest(x.value.abs(), x.error),
        };
        let larger = |x: f64, y: f64| if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) };
        *self = match (*self, next) {
            (Joined::Sum { value, error, magnitude }, Joined::Sum { value: v, error: e, magnitude: m }) => {
                Joined::Sum { value: value + v, error: error + e, magnitude: magnitude + m }
            }
            (Joined::Largest { least, value, most }, Joined::Largest { least: l, value: v, most: m }) => {
                Joined::Largest { least: larger(least, l), value: larger(value, v), most: larger(most, m) }
            }
            (own, _) => own,
        };
    }

    /// Before it is rounded to its type, of so many terms.
    fn reduced(self, operator: Reducer, terms: usize) -> Tracked {
        match self {
            Joined::Sum { value, error, magnitude } => {
                Tracked { value, error: error + magnitude * 2f64.powi(-53) * terms as f64 }
            }
            Joined::Largest { least, value, most } => {
                let error = if value.is_infinite() { 0.0 } else { (value - least).max(most - value) };
                Tracked { value: if operator == Reducer::Min { -value } else { value }, error }
            }
        }
    }
}
