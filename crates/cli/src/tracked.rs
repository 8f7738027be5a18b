//! Numbers that carry how far a right kernel's value may be off, and epilogues evaluated with them.
//!
//! A device computes an epilogue in f32 (f64 in an f64 GEMM), so every operation carries the bounds of its arguments on and
//! adds its own rounding: for `alpha*acc` that is |alpha| times the accumulator's bound, and one rounding of the result.

use crate::blocks;
use crate::reference::Dense;
use crate::top_k::TopK;
use warpwright::spec::{Function, HostFn, Operator, Sink};
use warpwright::{Dtype, Node};

/// An exact value, and how far a right kernel's may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracked {
    /// The value.
    pub value: f64,
    /// The largest difference that is right.
    pub error: f64,
}

/// What a leaf of the tree reads.
pub enum Leaf {
    /// A number.
    Number(f64),
    /// A matrix or vector; extents of 1 repeat.
    Values(Dense),
    /// Nothing.
    Absent,
}

/// What an epilogue makes of an element, beside its value.
#[derive(Default)]
pub struct Seen {
    /// What each sink is given, with the number of the sink's argument: a sink behind those of its value.
    pub sinks: Vec<(usize, Tracked)>,
    /// What the first step is given whose row is not known yet.
    pub measured: Option<Tracked>,
}

/// Where an element lies: batch entry, row, column.
pub type Place = (usize, usize, usize);

/// An epilogue with its arguments.
pub struct Evaluator<'a> {
    tree: &'static Node,
    leaves: &'a [Leaf],
    rounding: f64,
    /// An i32 accumulator is rounded when it first meets a float.
    integers: bool,
}

/// Relative error of a function in the type of the epilogue, in roundings: the library's own are good to a few.
const FUNCTION_ROUNDINGS: f64 = 16.0;

impl<'a> Evaluator<'a> {
    /// The tree with what its leaves read, in the order of reading.
    pub fn new(tree: &'static Node, leaves: &'a [Leaf], acc: Dtype) -> Evaluator<'a> {
        let rounding = if acc == Dtype::F64 { 2f64.powi(-53) } else { 2f64.powi(-24) };
        Evaluator { tree, leaves, rounding, integers: acc == Dtype::I32 }
    }

    /// The value of an element before it is rounded to D's type. `rows` are what is known of the element's row, of each step that
    /// depends on it; what lies behind one that is not known is NaN.
    pub fn at(&self, acc: Tracked, place: Place, rows: &[TopK], seen: &mut Seen) -> Tracked {
        seen.sinks.clear();
        seen.measured = None;
        let mut walk = Walk { of: self, acc, place, rows, seen, next: 0, steps: 0, shared: [None; 8] };
        walk.value(self.tree)
    }

    /// How many steps depend on an element's row, and how many values each keeps, in the order in which they are reached.
    pub fn row_steps(&self) -> Vec<usize> {
        fn steps(node: &Node, kept: &mut Vec<usize>) {
            node.children().into_iter().flatten().for_each(|child| steps(child, kept));
            if let Node::TopKSoftmax(k, _) = node {
                kept.push(usize::from(*k));
            }
        }
        let mut kept = Vec::new();
        steps(self.tree, &mut kept);
        kept
    }

    /// What a leaf reads, or what was stored by a sink.
    pub fn values(&self, argument: usize) -> Option<&'a Dense> {
        match self.leaves.get(argument) {
            Some(Leaf::Values(dense)) => Some(dense),
            _ => None,
        }
    }
}

struct Walk<'a, 'e> {
    of: &'e Evaluator<'a>,
    acc: Tracked,
    place: Place,
    rows: &'a [TopK],
    seen: &'a mut Seen,
    next: usize,
    /// Steps of rows so far.
    steps: usize,
    shared: [Option<Tracked>; 8],
}

impl Walk<'_, '_> {
    fn value(&mut self, node: &Node) -> Tracked {
        match *node {
            Node::LoadAcc => self.acc,
            // D is a new file: what it held is zero.
            Node::LoadPrevious => Tracked { value: 0.0, error: 0.0 },
            Node::LoadSource(_)
            | Node::LoadScalar(_)
            | Node::LoadRow(_)
            | Node::LoadColumn(_)
            | Node::LoadTile(_)
            | Node::LoadMask => self.leaf(),
            Node::Constant(bits) => {
                let value = f64::from_bits(bits);
                Tracked { value, error: value.abs() * self.of.rounding }
            }
            Node::LoadRowIndex => self.index(self.place.1),
            Node::LoadColumnIndex => self.index(self.place.2),
            Node::Otherwise(leaf, default) => {
                let there = !matches!(self.of.leaves.get(self.next), Some(Leaf::Absent));
                let (leaf, default) = (self.value(leaf), self.value(default));
                if there { leaf } else { default }
            }
            Node::Select(condition, a, b) => {
                let (condition, a, b) = (self.value(condition), self.value(a), self.value(b));
                let chosen = if condition.value != 0.0 { a } else { b };
                // Where a right kernel may decide otherwise, so may its value.
                let other = if condition.value != 0.0 { b } else { a };
                let open = condition.error > 0.0 && condition.error >= condition.value.abs();
                let apart = if open { (chosen.value - other.value).abs() + other.error } else { 0.0 };
                Tracked { error: chosen.error.max(apart), ..chosen }
            }
            Node::Shared(id) => self.shared.get(usize::from(id)).copied().flatten().unwrap_or(NAN),
            Node::Bind(id, value, body) => {
                let value = self.value(value);
                if let Some(slot) = self.shared.get_mut(usize::from(id)) {
                    *slot = Some(value);
                }
                self.value(body)
            }
            Node::TopKSoftmax(_, value) => {
                let value = self.value(value);
                let row = self.rows.get(self.steps);
                if self.steps == self.rows.len() {
                    self.seen.measured = Some(value);
                }
                self.steps += 1;
                row.map_or(NAN, |row| row.softmax(value))
            }
            Node::Sink(sink, value) => {
                let argument = self.next;
                self.next += 1;
                let value = self.value(value);
                self.seen.sinks.push((argument, value));
                match (sink, self.of.values(argument)) {
                    (Sink::Quantize(scales), Some(stored)) => {
                        let [row, column] = blocks::place(scales, self.place.1, self.place.2);
                        blocks::divided(value, stored.at(self.place.0, row, column), self.of.rounding)
                    }
                    (Sink::Quantize(_), None) => NAN,
                    _ => value,
                }
            }
            Node::Convert(dtype, inner) => {
                let inner = self.value(inner);
                Tracked {
                    value: round(dtype, inner.value),
                    error: inner.error + half_ulp(dtype, inner.value.abs() + inner.error),
                }
            }
            Node::Apply(function, children) => {
                let arguments =
                    children.map(|child| child.map_or(Tracked { value: 0.0, error: 0.0 }, |c| self.value(c)));
                self.apply(&function, arguments)
            }
            Node::Combine(op, left, right) => {
                let dropped = node.droppable().is_some() && self.is_zero(left, right);
                let (x, y) = (self.value(left), self.value(right));
                // A scalar of zero drops the term it multiplies, as in BLAS.
                if dropped { Tracked { value: 0.0, error: 0.0 } } else { self.combine(op, x, y) }
            }
        }
    }

    fn leaf(&mut self) -> Tracked {
        let (b, m, n) = self.place;
        let value = match self.of.leaves.get(self.next) {
            Some(Leaf::Number(x)) => *x,
            Some(Leaf::Values(dense)) => dense.at(b, m, n),
            Some(Leaf::Absent) | None => f64::NAN,
        };
        self.next += 1;
        // A leaf that the type of the epilogue does not hold is rounded to it.
        Tracked { value, error: value.abs() * self.of.rounding }
    }

    fn index(&self, at: usize) -> Tracked {
        let value = at as f64;
        Tracked { value, error: value * self.of.rounding }
    }

    /// Whether the scalar of a product is zero; the product's own leaves are the next ones to be read.
    fn is_zero(&self, left: &Node, right: &Node) -> bool {
        if let Node::Constant(bits) = *if matches!(left, Node::Constant(_)) { left } else { right } {
            return f64::from_bits(bits) == 0.0;
        }
        let at = if matches!(left, Node::LoadScalar(_)) { self.next } else { self.next + left.arguments() };
        debug_assert!(matches!(left, Node::LoadScalar(_)) || matches!(right, Node::LoadScalar(_)));
        matches!(self.of.leaves.get(at), Some(Leaf::Number(x)) if *x == 0.0)
    }

    fn combine(&self, op: Operator, x: Tracked, y: Tracked) -> Tracked {
        let (value, error) = match op {
            Operator::Plus => (x.value + y.value, x.error + y.error),
            Operator::Minus => (x.value - y.value, x.error + y.error),
            Operator::Times => {
                (x.value * y.value, x.value.abs() * y.error + y.value.abs() * x.error + x.error * y.error)
            }
            Operator::Over => {
                let least = (y.value.abs() - y.error).max(0.0);
                (x.value / y.value, (x.error + (x.value / y.value).abs() * y.error) / least)
            }
            Operator::Maximum => (either(x.value, y.value, f64::max), x.error.max(y.error)),
            Operator::Minimum => (either(x.value, y.value, f64::min), x.error.max(y.error)),
            _ => return compared(op, x, y),
        };
        let conversions = if self.of.integers { (x.value.abs() + y.value.abs()) * self.of.rounding } else { 0.0 };
        let exact = matches!(op, Operator::Maximum | Operator::Minimum);
        let own = if exact { 0.0 } else { (value.abs() + error) * self.of.rounding };
        Tracked { value, error: error + own + conversions }
    }

    /// A function moves with its arguments as far as it moves between the ends of their bounds.
    fn apply(&self, function: &Function, [x, y, z]: [Tracked; 3]) -> Tracked {
        let f = |x: f64, y: f64, z: f64| match function.host {
            HostFn::Unary(_, f) => f(x),
            HostFn::Binary(_, f) => f(x, y),
            HostFn::Ternary(_, f) => f(x, y, z),
        };
        let value = f(x.value, y.value, z.value);
        let ends = |t: Tracked| [t.value - t.error, t.value + t.error];
        let mut error = 0.0f64;
        for x in ends(x) {
            for y in ends(y) {
                for z in ends(z) {
                    error = error.max((f(x, y, z) - value).abs());
                }
            }
        }
        let bits = if self.of.rounding < 2f64.powi(-24) { 53 } else { 24 };
        let accuracy = function.accuracy;
        let own = accuracy.allows(x.value.abs() + x.error, value.abs() + error, bits) + accuracy.flushed(bits);
        Tracked { value, error: error + own + FUNCTION_ROUNDINGS * self.of.rounding * (value.abs() + error) }
    }
}

/// A comparison: 1 or 0, and open where the bounds of its sides meet.
fn compared(op: Operator, x: Tracked, y: Tracked) -> Tracked {
    let (a, b) = (x.value, y.value);
    let holds = match op {
        Operator::IsLess => a < b,
        Operator::IsLessOrEqual => a <= b,
        Operator::IsGreater => a > b,
        Operator::IsGreaterOrEqual => a >= b,
        Operator::IsEqual => a == b,
        _ => a != b,
    };
    let slack = x.error + y.error;
    let open = slack > 0.0 && (a - b).abs() <= slack;
    Tracked { value: f64::from(u8::from(holds)), error: f64::from(u8::from(open)) }
}

/// No number.
pub const NAN: Tracked = Tracked { value: f64::NAN, error: f64::NAN };

/// The larger or the smaller; NaN if either is, which f64's own do not say.
fn either(x: f64, y: f64, of: fn(f64, f64) -> f64) -> f64 {
    if x.is_nan() || y.is_nan() { f64::NAN } else { of(x, y) }
}

/// A value after one rounding to a type.
pub fn round(dtype: Dtype, x: f64) -> f64 {
    dtype.decode_bits(dtype.encode_bits(x))
}

/// Half the distance between a type's values at a magnitude.
pub fn half_ulp(dtype: Dtype, magnitude: f64) -> f64 {
    if dtype.is_integer() {
        return 0.5;
    }
    if !magnitude.is_finite() {
        return magnitude;
    }
    let binade = 2f64.powi(exponent(magnitude.max(dtype.smallest_normal())));
    binade * dtype.epsilon() / 2.0
}

/// The exponent of a positive normal number.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Matrices;
    use warpwright::Order;
    use warpwright::spec::ScalarKind;

    const ACC: Tracked = Tracked { value: 3.0, error: 0.25 };
    static SCALED: Node = Node::Combine(Operator::Times, &Node::LoadScalar(ScalarKind::Host), &Node::LoadAcc);
    static LARGER: Node = Node::Combine(Operator::Maximum, &SCALED, &Node::LoadRow(Dtype::F32));

    #[test]
    fn bounds_are_carried_on() {
        let at = |alpha: f64, acc| {
            let row = Matrices {
                dtype: Dtype::F32,
                extents: [1, 1, 1],
                order: Order::RowMajor,
                bytes: (-7f32).to_le_bytes().to_vec(),
            };
            let leaves = [Leaf::Number(alpha), Leaf::Values(Dense::of(&row))];
            Evaluator::new(&LARGER, &leaves, Dtype::F32).at(acc, (0, 5, 0), &[], &mut Seen::default())
        };
        let two = at(2.0, ACC);
        assert_eq!(two.value, 6.0);
        assert!((0.5..0.500001).contains(&two.error), "{two:?}");
        assert_eq!(at(-4.0, ACC).value, -7.0);
        // A zero scalar drops the accumulator, its NaN too.
        assert_eq!(at(0.0, NAN).value, 0.0);
        assert!(at(1.0, NAN).value.is_nan());
    }

    #[test]
    fn half_ulps() {
        assert_eq!(half_ulp(Dtype::F32, 1.0), 2f64.powi(-24));
        assert_eq!(half_ulp(Dtype::Bf16, 3.0), 2f64.powi(-7));
        assert_eq!(half_ulp(Dtype::F16, 0.0), 2f64.powi(-25));
        assert_eq!(half_ulp(Dtype::E4m3, 448.0), 16.0);
        assert_eq!(half_ulp(Dtype::F64, 1.0), 2f64.powi(-53));
    }
}
