//! The value that an epilogue's type reifies to. No function here knows a node *type*, so trees parsed at run time take
//! the same path.

use crate::{Axes, Function, Sink};
use warpwright_numeric::Dtype;

/// Where a scalar leaf finds its number when the kernel runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarKind {
    /// In the parameter block: a host value of the call.
    Host,
    /// In device memory, one for the whole problem: read when the kernel runs, so a captured graph sees changes.
    Pointer,
    /// In device memory, one per batch entry or group.
    PerBatch,
}

/// One node of an epilogue tree. Children are `'static`: promoted constants for trees that come from types, interned
/// for trees that come from text. `Copy`, comparable and hashable, so it can sit in a `Spec`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// The accumulator.
    LoadAcc,
    /// C: an M x N operand beside A and B.
    LoadSource(Dtype),
    /// What D held before: C and D in one buffer, which a borrow of C beside a mutable one of D could not say.
    LoadPrevious,
    /// A number, held in f64 and narrowed to the compute type.
    LoadScalar(ScalarKind),
    /// A number that is part of the tree, hence of the kernel's text: the bits of an f64.
    Constant(u64),
    /// The element's row in D, as a number.
    LoadRowIndex,
    /// The element's column in D, as a number.
    LoadColumnIndex,
    /// A vector along N: one value per column.
    LoadRow(Dtype),
    /// A vector along M: one value per row.
    LoadColumn(Dtype),
    /// Another M x N operand.
    LoadTile(Dtype),
    /// A bit for each element, 0 or 1: 8 to a byte along the direction in which D is contiguous, the lowest first.
    LoadMask,
    /// An operand that may be absent, which is seen when the kernel runs, and what then stands for it.
    Otherwise(&'static Node, &'static Node),
    /// A function of one to three values.
    Apply(Function, [Option<&'static Node>; 3]),
    /// An operator of two values.
    Combine(Operator, &'static Node, &'static Node),
    /// The second value where the first is not 0 (NaN is not), else the third.
    Select(&'static Node, &'static Node, &'static Node),
    /// Rounds to an element type, saturating where the type says so, and goes on in the compute type.
    Convert(Dtype, &'static Node),
    /// Binds a shared sub-expression: number, value, body.
    Bind(u8, &'static Node, &'static Node),
    /// The value bound under a number.
    Shared(u8),
    /// A value that is passed on, and stored on the side: the argument is what it is stored in.
    Sink(Sink, &'static Node),
    /// The softmax of so many of the largest values of a row of D, and 0 for the others.
    TopKSoftmax(u8, &'static Node),
}

/// An operator of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    /// `a + b`
    Plus,
    /// `a - b`
    Minus,
    /// `a * b`
    Times,
    /// `a / b`
    Over,
    /// The larger; NaN if either is.
    Maximum,
    /// The smaller; NaN if either is.
    Minimum,
    /// `a < b`: 1 or 0, as all comparisons. One with NaN is 0, but that for inequality.
    IsLess,
    /// `a <= b`
    IsLessOrEqual,
    /// `a > b`
    IsGreater,
    /// `a >= b`
    IsGreaterOrEqual,
    /// `a == b`
    IsEqual,
    /// `a != b`
    IsNotEqual,
}

impl Operator {
    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Times => "*",
            Operator::Over => "/",
            Operator::Maximum => "max",
            Operator::Minimum => "min",
            Operator::IsLess => "lt",
            Operator::IsLessOrEqual => "le",
            Operator::IsGreater => "gt",
            Operator::IsGreaterOrEqual => "ge",
            Operator::IsEqual => "eq",
            Operator::IsNotEqual => "ne",
        }
    }
    /// Those that are written as functions.
    pub const CALLED: [Operator; 8] = [
        Operator::Maximum,
        Operator::Minimum,
        Operator::IsLess,
        Operator::IsLessOrEqual,
        Operator::IsGreater,
        Operator::IsGreaterOrEqual,
        Operator::IsEqual,
        Operator::IsNotEqual,
    ];
    /// Whether it stands between its operands.
    pub const fn infix(self) -> bool {
        matches!(self, Operator::Plus | Operator::Minus | Operator::Times | Operator::Over)
    }
    /// The C++ operator that compares, if it is one.
    pub const fn comparison(self) -> Option<&'static str> {
        Some(match self {
            Operator::IsLess => "<",
            Operator::IsLessOrEqual => "<=",
            Operator::IsGreater => ">",
            Operator::IsGreaterOrEqual => ">=",
            Operator::IsEqual => "==",
            Operator::IsNotEqual => "!=",
            _ => return None,
        })
    }
    /// Binding strength of an infix operator; functions bind tightest.
    const fn precedence(self) -> u8 {
        match self {
            Operator::Plus | Operator::Minus => 1,
            Operator::Times | Operator::Over => 2,
            _ => 3,
        }
    }
}

/// What is wrong with the shared values of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Bound again inside its own scope.
    Rebound(u8),
    /// Used outside of its scope.
    Unbound(u8),
    /// Numbered beyond 7.
    TooMany(u8),
}

impl Node {
    /// The children, left to right.
    pub const fn children(&self) -> [Option<&'static Node>; 3] {
        match *self {
            Node::Apply(_, c) => c,
            Node::Convert(_, e) | Node::Sink(_, e) | Node::TopKSoftmax(_, e) => [Some(e), None, None],
            Node::Combine(_, a, b) | Node::Bind(_, a, b) | Node::Otherwise(a, b) => [Some(a), Some(b), None],
            Node::Select(c, a, b) => [Some(c), Some(a), Some(b)],
            _ => [None, None, None],
        }
    }

    /// Whether the tree holds a node of this kind.
    const fn any(&self, kind: Kind) -> bool {
        let here = match self {
            Node::LoadAcc => matches!(kind, Kind::Accumulator),
            Node::LoadSource(_) => matches!(kind, Kind::Source),
            Node::LoadPrevious => matches!(kind, Kind::Previous),
            Node::Sink(Sink::Matrix(t), _) if t.bits() < 8 => matches!(kind, Kind::Together),
            Node::Sink(Sink::Mask | Sink::Reduce(_) | Sink::Quantize(_), _) | Node::TopKSoftmax(..) => {
                matches!(kind, Kind::Together)
            }
            _ => false,
        };
        if here {
            return true;
        }
        let children = self.children();
        let mut i = 0;
        while i < 3 {
            if let Some(c) = children[i]
                && c.any(kind)
            {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Whether anyone reads the accumulator.
    pub const fn reads_accumulator(&self) -> bool {
        self.any(Kind::Accumulator)
    }
    /// Whether anyone reads C.
    pub const fn reads_source(&self) -> bool {
        self.any(Kind::Source)
    }
    /// Whether anyone reads what D held before.
    pub const fn reads_previous(&self) -> bool {
        self.any(Kind::Previous)
    }

    /// Whether anyone computes or stores what neighbours of D share: elements below a byte, bits, reductions, scale factors of blocks, a row's largest values.
    pub const fn stores_together(&self) -> bool {
        self.any(Kind::Together)
    }

    /// Whether this is a leaf that reads an argument.
    pub const fn is_argument(&self) -> bool {
        matches!(
            self,
            Node::LoadSource(_)
                | Node::LoadScalar(_)
                | Node::LoadRow(_)
                | Node::LoadColumn(_)
                | Node::LoadTile(_)
                | Node::LoadMask
        )
    }

    /// How many reductions leave a row or a column: each takes a slab of the epilogue's own, but the first.
    pub const fn reduced_lines(&self) -> usize {
        let mut n = match self {
            Node::Sink(Sink::Reduce(r), _) if !matches!(r.axes, Axes::All) => 1,
            _ => 0,
        };
        let children = self.children();
        let mut i = 0;
        while i < 3 {
            if let Some(c) = children[i] {
                n += c.reduced_lines();
            }
            i += 1;
        }
        n
    }

    /// How many arguments the tree binds: one per leaf that is neither the accumulator, the previous D nor a shared value, and one
    /// per sink. A sink's argument comes before those of the value that it stores.
    pub const fn arguments(&self) -> usize {
        let mut n = match self {
            leaf if leaf.is_argument() => 1,
            Node::Sink(..) => 1,
            _ => 0,
        };
        let children = self.children();
        let mut i = 0;
        while i < 3 {
            if let Some(c) = children[i] {
                n += c.arguments();
            }
            i += 1;
        }
        n
    }

    /// Shared values: each number bound once in its scope, used inside of it, below 8.
    pub const fn scope(&self, bound: u8) -> Result<(), Scope> {
        match *self {
            Node::Shared(i) => {
                if i < 8 && bound >> i & 1 == 1 {
                    Ok(())
                } else {
                    Err(Scope::Unbound(i))
                }
            }
            Node::Bind(i, v, b) => {
                if i >= 8 {
                    return Err(Scope::TooMany(i));
                }
                if bound >> i & 1 == 1 {
                    return Err(Scope::Rebound(i));
                }
                match v.scope(bound) {
                    Ok(()) => b.scope(bound | 1 << i),
                    e => e,
                }
            }
            _ => {
                let children = self.children();
                let mut i = 0;
                while i < 3 {
                    if let Some(c) = children[i]
                        && let Err(e) = c.scope(bound)
                    {
                        return Err(e);
                    }
                    i += 1;
                }
                Ok(())
            }
        }
    }

    /// Whether `self` is a scalar times a term that a zero drops (`acc`, C, the previous D), in either order:
    /// then the scalar and the term.
    pub fn droppable(&self) -> Option<(&'static Node, &'static Node)> {
        let Node::Combine(Operator::Times, a, b) = *self else { return None };
        let scalar = |x: &Node| matches!(x, Node::LoadScalar(_) | Node::Constant(_));
        let term = |x: &Node| matches!(x, Node::LoadAcc | Node::LoadSource(_) | Node::LoadPrevious);
        match (scalar(a) && term(b), scalar(b) && term(a)) {
            (true, _) => Some((a, b)),
            (_, true) => Some((b, a)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Accumulator,
    Source,
    Previous,
    Together,
}

/// A number as the notation has it.
struct Shown(f64);
impl core::fmt::Display for Shown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_nan() { f.write_str("nan") } else { write!(f, "{}", self.0) }
    }
}

/// The notation that users write, for messages and for the command line.
impl core::fmt::Display for Node {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Node::LoadAcc => f.write_str("acc"),
            Node::LoadPrevious => f.write_str("previous"),
            Node::LoadScalar(ScalarKind::Host) => f.write_str("scalar"),
            Node::Constant(bits) => write!(f, "const<{}>", Shown(f64::from_bits(bits))),
            Node::LoadRowIndex => f.write_str("row_index"),
            Node::LoadColumnIndex => f.write_str("column_index"),
            Node::LoadMask => f.write_str("mask"),
            Node::Otherwise(leaf, default) => write!(f, "otherwise({leaf}, {default})"),
            Node::Select(c, a, b) => write!(f, "select({c}, {a}, {b})"),
            Node::LoadScalar(ScalarKind::Pointer) => f.write_str("scalar<pointer>"),
            Node::LoadScalar(ScalarKind::PerBatch) => f.write_str("scalar<per batch>"),
            Node::Shared(i) => write!(f, "shared{i}"),
            Node::LoadSource(t) => write!(f, "source<{}>", t.name()),
            Node::LoadRow(t) => write!(f, "row<{}>", t.name()),
            Node::LoadColumn(t) => write!(f, "column<{}>", t.name()),
            Node::LoadTile(t) => write!(f, "tile<{}>", t.name()),
            Node::Convert(t, e) => write!(f, "convert<{}>({e})", t.name()),
            Node::Sink(sink, e) => write!(f, "{sink}({e})"),
            Node::TopKSoftmax(k, e) => write!(f, "top_k_softmax<{k}>({e})"),
            Node::Bind(i, v @ Node::Bind(..), b) => write!(f, "let shared{i} = ({v}); {b}"),
            Node::Bind(i, v, b) => write!(f, "let shared{i} = {v}; {b}"),
            Node::Apply(g, c) => {
                write!(f, "{}(", g.name)?;
                for (i, e) in c.into_iter().flatten().enumerate() {
                    write!(f, "{}{e}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Node::Combine(op, a, b) if !op.infix() => write!(f, "{}({a}, {b})", op.name()),
            Node::Combine(op, a, b) => {
                let side = |e: &Node, right: bool| match e {
                    Node::Combine(o, ..)
                        if o.infix()
                            && (o.precedence() < op.precedence() || right && o.precedence() == op.precedence()) =>
                    {
                        format!("({e})")
                    }
                    Node::Bind(..) => format!("({e})"),
                    _ => e.to_string(),
                };
                write!(f, "{} {} {}", side(a, false), op.name(), side(b, true))
            }
        }
    }
}

/// A tree made at run time, kept for ever. Kernels are cached for ever too, so the leak is bounded by the distinct trees.
pub fn intern(node: Node) -> &'static Node {
    use std::collections::HashSet;
    use std::sync::{Mutex, OnceLock};
    static SEEN: OnceLock<Mutex<HashSet<&'static Node>>> = OnceLock::new();
    let mut seen = SEEN.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner());
    if let Some(n) = seen.get(&node) {
        return n;
    }
    let n: &'static Node = Box::leak(Box::new(node));
    seen.insert(n);
    n
}
