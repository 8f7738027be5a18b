//! The value that an epilogue's type reifies to. No function here knows a node *type*, so trees parsed at run time take
//! the same path.

use crate::Sink;
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
    /// A vector along N: one value per column.
    LoadRow(Dtype),
    /// A vector along M: one value per row.
    LoadColumn(Dtype),
    /// Another M x N operand.
    LoadTile(Dtype),
    /// A function of one to three values.
    Apply(Function, [Option<&'static Node>; 3]),
    /// An operator of two values.
    Combine(Operator, &'static Node, &'static Node),
    /// Rounds to an element type, saturating where the type says so, and goes on in the compute type.
    Convert(Dtype, &'static Node),
    /// Binds a shared sub-expression: number, value, body.
    Bind(u8, &'static Node, &'static Node),
    /// The value bound under a number.
    Shared(u8),
    /// A value that is passed on, and stored on the side: the argument is what it is stored in.
    Sink(Sink, &'static Node),
}

/// A function of one to three numbers. A user's own function is the same thing as a built-in one.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// A C identifier, unique within a tree.
    pub name: &'static str,
    /// A CUDA expression in `x`, `y`, `z`.
    pub cuda: &'static str,
    /// What the host computes.
    pub host: HostFn,
}

/// The host's body of a [`Function`], in both compute types.
#[derive(Clone, Copy, Debug)]
pub enum HostFn {
    /// Of one number.
    Unary(fn(f32) -> f32, fn(f64) -> f64),
    /// Of two numbers.
    Binary(fn(f32, f32) -> f32, fn(f64, f64) -> f64),
    /// Of three numbers.
    Ternary(fn(f32, f32, f32) -> f32, fn(f64, f64, f64) -> f64),
}

impl HostFn {
    /// How many numbers it takes.
    pub const fn arity(&self) -> usize {
        match self {
            HostFn::Unary(..) => 1,
            HostFn::Binary(..) => 2,
            HostFn::Ternary(..) => 3,
        }
    }
}

// Identity is what reaches the GPU. Comparing function pointers would be wrong: they are not unique.
impl PartialEq for Function {
    fn eq(&self, o: &Self) -> bool {
        (self.name, self.cuda, self.host.arity()) == (o.name, o.cuda, o.host.arity())
    }
}
impl Eq for Function {}
impl core::hash::Hash for Function {
    fn hash<H: core::hash::Hasher>(&self, h: &mut H) {
        (self.name, self.cuda).hash(h)
    }
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
        }
    }
    /// Whether it stands between its operands.
    pub const fn infix(self) -> bool {
        !matches!(self, Operator::Maximum | Operator::Minimum)
    }
    /// Binding strength of an infix operator; functions bind tightest.
    const fn precedence(self) -> u8 {
        match self {
            Operator::Plus | Operator::Minus => 1,
            Operator::Times | Operator::Over => 2,
            Operator::Maximum | Operator::Minimum => 3,
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
            Node::Convert(_, e) | Node::Sink(_, e) => [Some(e), None, None],
            Node::Combine(_, a, b) | Node::Bind(_, a, b) => [Some(a), Some(b), None],
            _ => [None, None, None],
        }
    }

    /// Whether the tree holds a node of this kind.
    const fn any(&self, kind: Kind) -> bool {
        let here = match self {
            Node::LoadAcc => matches!(kind, Kind::Accumulator),
            Node::LoadSource(_) => matches!(kind, Kind::Source),
            Node::LoadPrevious => matches!(kind, Kind::Previous),
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

    /// How many arguments the tree binds: one per leaf that is neither the accumulator, the previous D nor a shared value, and one
    /// per sink. A sink's argument comes before those of the value that it stores.
    pub const fn arguments(&self) -> usize {
        let mut n = match self {
            Node::LoadSource(_) | Node::LoadScalar(_) | Node::LoadRow(_) | Node::LoadColumn(_) | Node::LoadTile(_) => 1,
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
        let scalar = |x: &Node| matches!(x, Node::LoadScalar(_));
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
}

/// The notation that users write, for messages and for the command line.
impl core::fmt::Display for Node {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Node::LoadAcc => f.write_str("acc"),
            Node::LoadPrevious => f.write_str("previous"),
            Node::LoadScalar(ScalarKind::Host) => f.write_str("scalar"),
            Node::LoadScalar(ScalarKind::Pointer) => f.write_str("scalar<pointer>"),
            Node::LoadScalar(ScalarKind::PerBatch) => f.write_str("scalar<per batch>"),
            Node::Shared(i) => write!(f, "shared{i}"),
            Node::LoadSource(t) => write!(f, "source<{}>", t.name()),
            Node::LoadRow(t) => write!(f, "row<{}>", t.name()),
            Node::LoadColumn(t) => write!(f, "column<{}>", t.name()),
            Node::LoadTile(t) => write!(f, "tile<{}>", t.name()),
            Node::Convert(t, e) => write!(f, "convert<{}>({e})", t.name()),
            Node::Sink(sink, e) => write!(f, "{sink}({e})"),
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
