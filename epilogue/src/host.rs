//! The device's arithmetic on the CPU: one segment of a row of D, or of a column, at a time.
//!
//! Interpretation costs one `match` a step and segment; inside a step is a plain loop over a slice. `acc` alone costs
//! nothing, and `alpha * acc` one multiplication an element.

mod arena;
mod lanes;
mod lines;
mod read;
mod sink;
mod write;

use crate::bound::{Slot, narrowed};
use crate::cuda::integer_range;
use crate::{Bound, LeafKind, Number, Op, Place, Program, Uses, Value};
use arena::{Arena, Lane, Lanes};
use lanes::Real;
use lines::TileLines;
use read::Target;
use warpwright_numeric::Dtype;
use warpwright_runtime::RawView;
use warpwright_spec::MAX_ARGUMENTS;

pub use lines::Region;
pub use sink::{Partials, TileIndex};

/// The direction of a segment, in the user's coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Along {
    /// Along a row of D: n runs.
    N,
    /// Along a column of D: m runs, as it does in the rows of a transposed plan's tiles.
    M,
}

/// Consecutive elements of D.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    /// Batch entry or group.
    pub batch: usize,
    /// Row of the first element.
    pub m: usize,
    /// Column of the first element.
    pub n: usize,
    /// Which way the others lie.
    pub along: Along,
}

/// The accumulators of a segment.
#[derive(Clone, Copy, Debug)]
pub enum Accumulators<'x> {
    /// For every accumulator of a float type but f64.
    F32(&'x [f32]),
    /// For f64.
    F64(&'x [f64]),
    /// For i32.
    I32(&'x [i32]),
}

impl Accumulators<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Accumulators::F32(x) => x.len(),
            Accumulators::F64(x) => x.len(),
            Accumulators::I32(x) => x.len(),
        }
    }
    /// Their element.
    pub const fn dtype(&self) -> Dtype {
        match self {
            Accumulators::F32(_) => Dtype::F32,
            Accumulators::F64(_) => Dtype::F64,
            Accumulators::I32(_) => Dtype::I32,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The values of a segment before they are converted to D's element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Values<'s> {
    /// In f32.
    F32(&'s [f32]),
    /// In f64.
    F64(&'s [f64]),
    /// Accumulators that nothing changed.
    I32(&'s [i32]),
    /// Integers.
    I64(&'s [i64]),
}

/// The memory of an evaluation: one a thread. It grows to what the largest segment needs and stays.
#[derive(Default, Debug)]
pub struct Scratch {
    single: Arena<f32>,
    double: Arena<f64>,
    exact: Arena<i64>,
    lines: TileLines,
}

impl Scratch {
    /// Empty.
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

/// Evaluates a program over D.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator<'a> {
    program: &'a Program,
    slots: [Slot<'a>; MAX_ARGUMENTS],
    previous: Option<RawView<'a>>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of a program with its arguments, which are in the host's memory.
    ///
    /// `previous` is D: needed if the program may read it. The elements of a segment must not be written by others while
    /// [`evaluate`](Self::evaluate) runs on that segment.
    ///
    /// # Panics
    /// If `bound` was made by another program, or `previous` is missing where it may be read.
    pub fn new(program: &'a Program, bound: &Bound<'a>, previous: Option<RawView<'a>>) -> Evaluator<'a> {
        assert!(bound.is_of(program), "the arguments were bound to another epilogue");
        assert!(previous.is_some() || !bound.may_read_previous(), "an epilogue that reads the previous D needs it");
        Evaluator { program, slots: bound.slots, previous }
    }

    /// The value of a scalar argument, narrowed to the compute type.
    fn scalar(&self, argument: usize, batch: usize) -> f64 {
        match self.slots[argument] {
            Slot::Number(x) => narrowed(x, self.program.compute()),
            Slot::Scalar { view, batch: stride } => {
                let extents = view.extents();
                let at = |d: usize| if stride != 0 && extents[d] > 1 { batch } else { 0 };
                view.decode_at(at(0), at(1), at(2))
            }
            Slot::Operand { .. } | Slot::Output { .. } | Slot::Dropped => 0.0,
        }
    }

    fn given(&self, uses: Uses, batch: usize) -> bool {
        uses.given(|s| self.scalar(s, batch) != 0.0)
    }
    /// Whether the accumulators of a batch entry are read. If not, A and B must not be.
    pub fn uses_accumulator(&self, batch: usize) -> bool {
        self.given(self.program.reads_accumulator(), batch)
    }
    /// Whether C is read in a batch entry.
    pub fn reads_source(&self, batch: usize) -> bool {
        self.given(self.program.reads_source(), batch)
    }
    /// Whether the previous D is read in a batch entry.
    pub fn reads_previous(&self, batch: usize) -> bool {
        self.given(self.program.reads_previous(), batch)
    }

    /// The values of a segment as long as `acc`, which must be zeros where [`uses_accumulator`](Self::uses_accumulator) says
    /// no.
    ///
    /// # Panics
    /// If `acc` is of another type than the program's accumulator, or the segment is not within D.
    pub fn evaluate<'s>(&self, at: Segment, acc: Accumulators<'s>, scratch: &'s mut Scratch) -> Values<'s> {
        let Scratch { single, double, exact, lines } = scratch;
        match (acc, self.program.accumulator()) {
            (Accumulators::F32(acc), dtype) if !matches!(dtype, Dtype::F64 | Dtype::I32) => {
                Values::F32(self.reals(at, acc, single, exact, lines))
            }
            (Accumulators::F64(acc), Dtype::F64) => Values::F64(self.reals(at, acc, double, exact, lines)),
            (Accumulators::I32(acc), Dtype::I32) => {
                let result = self.program.result();
                if result == Value::Accumulator && self.program.stores().is_empty() && self.program.lines().is_empty() {
                    return Values::I32(acc);
                }
                let width = acc.len();
                exact.prepare(self.program.steps().len() + 1, width);
                for (wide, narrow) in exact.row_mut(0, width).iter_mut().zip(acc) {
                    *wide = i64::from(*narrow);
                }
                let scalars = self.run::<f32>(at, None, width, single, exact, lines);
                match (self.program.number(result), result) {
                    (_, Value::Accumulator) => Values::I32(acc),
                    (Number::Exact, Value::Step(i)) => Values::I64(exact.materialize(i + 1, width)),
                    _ => Values::F32(self.result(&scalars, single, width)),
                }
            }
            (acc, dtype) => panic!("{} accumulators for an epilogue of {dtype} accumulators", acc.dtype()),
        }
    }

    fn reals<'s, R: Real>(
        &self,
        at: Segment,
        acc: &'s [R],
        real: &'s mut Arena<R>,
        exact: &mut Arena<i64>,
        lines: &TileLines,
    ) -> &'s [R] {
        let result = self.program.result();
        if result == Value::Accumulator && self.program.stores().is_empty() && self.program.lines().is_empty() {
            return acc;
        }
        let scalars = self.run(at, Some(acc), acc.len(), real, exact, lines);
        if result == Value::Accumulator { acc } else { self.result(&scalars, real, acc.len()) }
    }

    /// The result of a run as a slice.
    fn result<'s, R: Real>(&self, scalars: &[R], real: &'s mut Arena<R>, width: usize) -> &'s [R] {
        match self.program.result() {
            Value::Step(i) => real.materialize(i + 1, width),
            Value::Scalar(argument) => {
                real.row_mut(0, width).fill(scalars[argument]);
                real.materialize(0, width)
            }
            Value::Constant(bits) => {
                real.row_mut(0, width).fill(R::narrow(f64::from_bits(bits)));
                real.materialize(0, width)
            }
            Value::Accumulator => &[],
        }
    }

    /// All steps. Step i writes row i + 1 of an arena; row 0 of the exact one holds i32 accumulators.
    fn run<R: Real>(
        &self,
        at: Segment,
        acc: Option<&[R]>,
        width: usize,
        real: &mut Arena<R>,
        exact: &mut Arena<i64>,
        lines: &TileLines,
    ) -> [R; MAX_ARGUMENTS] {
        let mut scalars = [R::ZERO; MAX_ARGUMENTS];
        for (i, leaf) in self.program.leaves().iter().enumerate() {
            if matches!(leaf.kind, LeafKind::Scalar(_)) {
                scalars[i] = R::narrow(self.scalar(i, at.batch));
            }
        }
        real.prepare(self.program.steps().len() + 1, width);
        for (i, step) in self.program.steps().iter().enumerate() {
            match step.number {
                Number::Real => {
                    let (done, row, lane) = real.split(i + 1, width);
                    let value = |v: Value| match v {
                        Value::Scalar(argument) => Lanes::Splat(scalars[argument]),
                        Value::Constant(bits) => Lanes::Splat(R::narrow(f64::from_bits(bits))),
                        Value::Step(i) => done.get(i + 1),
                        Value::Accumulator => acc.map_or(Lanes::Splat(R::ZERO), Lanes::Row),
                    };
                    *lane = match step.op {
                        Op::Load(place) => self.load(at, place, row),
                        Op::Scale { scalar, term, .. } => {
                            let factor = scalars[scalar];
                            if factor == R::ZERO {
                                Lane::Splat(R::ZERO)
                            } else {
                                match (term, acc) {
                                    (Place::Accumulator, Some(acc)) => {
                                        lanes::unary(Lanes::Row(acc), row, |x| factor * x)
                                    }
                                    (Place::Accumulator, None) => {
                                        lanes::map(exact.row(0, width), row, |x| factor * R::from_integer(x))
                                    }
                                    (place, _) => {
                                        let loaded = self.load(at, place, row);
                                        lanes::in_place(loaded, row, |x| factor * x)
                                    }
                                }
                            }
                        }
                        Op::Apply(function, values) => lanes::apply(function.host, values.map(value), row),
                        Op::Combine(op, a, b) => lanes::combine(op, value(a), value(b), row),
                        Op::Select(c, a, b) if self.program.number(c) == Number::Exact => {
                            let keeps = |x: i64| x != 0;
                            lanes::select(exact_value(exact, c, width), value(a), value(b), row, keeps)
                        }
                        Op::Select(c, a, b) => lanes::select(value(c), value(a), value(b), row, |x| x != R::ZERO),
                        Op::Index(along) => index(at, along, row, |i| R::from_integer(i as i64)),
                        Op::Mask(argument) => self.mask(at, argument, row, |bit| R::from_integer(bit.into())),
                        Op::Otherwise(argument, loaded, default) => {
                            let chosen = if self.is_there(argument) { loaded } else { default };
                            lanes::unary(value(chosen), row, |x| x)
                        }
                        Op::Convert(element, a) if self.program.number(a) == Number::Exact => {
                            let lane = lanes::map(exact_value(exact, a, width), row, R::from_integer);
                            lanes::round(element, lane, row)
                        }
                        Op::Convert(element, a) => {
                            let lane = lanes::unary(value(a), row, |x| x);
                            lanes::round(element, lane, row)
                        }
                        Op::ToReal(a) => lanes::map(exact_value(exact, a, width), row, R::from_integer),
                        Op::Line(number) => {
                            let line = self.program.lines()[number];
                            lines.values(number, &line, at, value(line.value), row)
                        }
                        // Integers only.
                        Op::Relu(_) | Op::Negate(_) => Lane::Splat(R::ZERO),
                    };
                }
                Number::Exact => {
                    let (done, row, lane) = exact.split(i + 1, width);
                    let value = |v: Value| match v {
                        Value::Step(i) => done.get(i + 1),
                        Value::Accumulator | Value::Scalar(_) | Value::Constant(_) => done.get(0),
                    };
                    *lane = match step.op {
                        Op::Load(place) => self.load(at, place, row),
                        Op::Combine(op, a, b) => lanes::combine_exact(op, value(a), value(b), row),
                        Op::Select(c, a, b) if self.program.number(c) == Number::Real => {
                            let condition = match c {
                                Value::Step(i) => real.row(i + 1, width),
                                Value::Scalar(argument) => Lanes::Splat(scalars[argument]),
                                Value::Constant(bits) => Lanes::Splat(R::narrow(f64::from_bits(bits))),
                                Value::Accumulator => acc.map_or(Lanes::Splat(R::ZERO), Lanes::Row),
                            };
                            lanes::select(condition, value(a), value(b), row, |x| x != R::ZERO)
                        }
                        Op::Select(c, a, b) => lanes::select(value(c), value(a), value(b), row, |x| x != 0),
                        Op::Index(along) => index(at, along, row, |i| i as i64),
                        Op::Mask(argument) => self.mask(at, argument, row, i64::from),
                        Op::Otherwise(argument, loaded, default) => {
                            let chosen = if self.is_there(argument) { loaded } else { default };
                            lanes::unary(value(chosen), row, |x| x)
                        }
                        Op::Relu(a) => lanes::unary(value(a), row, |x| x.max(0)),
                        Op::Negate(a) => lanes::unary(value(a), row, i64::wrapping_neg),
                        Op::Convert(element, a) => {
                            let (low, high) = integer_range(element);
                            lanes::unary(value(a), row, |x| x.clamp(low, high))
                        }
                        // Reals only.
                        Op::Scale { .. } | Op::Apply(..) | Op::ToReal(_) | Op::Line(_) => Lane::Splat(0),
                    };
                }
            }
        }
        scalars
    }

    /// Where a place's elements are: the view, its strides between batch entries, rows and columns.
    fn place(&self, place: Place) -> Option<(RawView<'a>, [i64; 3])> {
        match place {
            Place::Argument(argument) => match self.slots[argument] {
                Slot::Operand { view, strides } => Some((view, strides)),
                _ => None,
            },
            Place::Previous => self.previous.map(|view| (view, view.strides())),
            Place::Accumulator => None,
        }
    }

    /// Whether an optional operand is not absent.
    fn is_there(&self, argument: usize) -> bool {
        matches!(self.slots[argument], Slot::Operand { .. })
    }

    fn mask<T: Copy>(&self, at: Segment, argument: usize, row: &mut [T], of: impl Fn(bool) -> T) -> Lane<T> {
        match self.slots[argument] {
            Slot::Operand { view, strides } => read::bits(&view, strides, at, row, of),
            _ => Lane::Splat(of(false)),
        }
    }

    fn load<T: Target>(&self, at: Segment, place: Place, row: &mut [T]) -> Lane<T> {
        match self.place(place) {
            Some((view, strides)) => read::segment(&view, strides, at, row),
            None => Lane::Splat(T::of_number(0.0)),
        }
    }
}

/// Rows or columns of a segment's elements.
fn index<T: Copy>(at: Segment, along: Along, row: &mut [T], of: impl Fn(usize) -> T) -> Lane<T> {
    let first = if along == Along::M { at.m } else { at.n };
    if along != at.along {
        return Lane::Splat(of(first));
    }
    for (i, x) in row.iter_mut().enumerate() {
        *x = of(first + i);
    }
    Lane::Row
}

/// An integer value as lanes of an arena.
fn exact_value(exact: &Arena<i64>, value: Value, width: usize) -> Lanes<'_, i64> {
    match value {
        Value::Step(i) => exact.row(i + 1, width),
        Value::Accumulator | Value::Scalar(_) | Value::Constant(_) => exact.row(0, width),
    }
}

#[cfg(test)]
mod tests;
