//! A tree in single-assignment form. The device's text and the host's evaluation both follow it step by step, which is why
//! they agree bit for bit.

use crate::host::Along;
use crate::{NEG, ParamBlock, RELU};
use warpwright_numeric::Dtype;
use warpwright_spec::{Function, LineStep, Node, Operator, ScalarKind, Scope, Sink, Violation};

/// What a value is computed in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Number {
    /// The compute type: f32, or f64 for f64 accumulators.
    Real,
    /// 64-bit integers that wrap: i32 accumulators and integer operands until a scalar, a division, a function or a
    /// conversion asks for the compute type.
    Exact,
}

/// A value of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// The accumulator.
    Accumulator,
    /// The scalar that is this argument, narrowed to the compute type.
    Scalar(usize),
    /// A number of the tree: the bits of an f64, narrowed to the compute type.
    Constant(u64),
    /// The result of a step.
    Step(usize),
}

/// Where elements are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// The accumulator.
    Accumulator,
    /// What D held before.
    Previous,
    /// The operand that is this argument.
    Argument(usize),
}

/// What a step computes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op {
    /// The elements of an operand, or of the previous D.
    Load(Place),
    /// A scalar times what it may drop: +0 if the scalar is ±0.
    Scale {
        /// The argument that is the scalar.
        scalar: usize,
        /// What is scaled.
        term: Place,
        /// Whether the scalar is the left factor.
        scalar_first: bool,
    },
    /// A function; values beyond its arity repeat the first.
    Apply(Function, [Value; 3]),
    /// An operator.
    Combine(Operator, Value, Value),
    /// The second value where the first is not 0, else the third.
    Select(Value, Value, Value),
    /// Where the element lies: its row or its column.
    Index(Along),
    /// An element of the mask that is this argument: 0 or 1.
    Mask(usize),
    /// What was loaded of an argument, or the other value if the argument is absent.
    Otherwise(usize, Value, Value),
    /// `max(x, 0)` in integers.
    Relu(Value),
    /// `-x` in integers.
    Negate(Value),
    /// Rounds to an element type.
    Convert(Dtype, Value),
    /// From integers to the compute type.
    ToReal(Value),
    /// What the values of lines become together: [`Program::lines`] has them.
    Line(usize),
}

/// Values that depend on their neighbours in a line of D. They are known once all of a tile was seen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LineValues {
    /// What becomes of them.
    pub step: LineStep,
    /// The argument in which their scale factors are stored.
    pub argument: Option<usize>,
    /// The values, which are [`Number::Real`]s.
    pub value: Value,
    /// How many such steps must be known before their values are: they are seen in the pass of this number.
    pub pass: usize,
}

/// One assignment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// What it computes.
    pub op: Op,
    /// In which numbers.
    pub number: Number,
}

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LeafKind {
    /// A scalar.
    Scalar(ScalarKind),
    /// A vector along N.
    Row(Dtype),
    /// A vector along M.
    Column(Dtype),
    /// C.
    Source(Dtype),
    /// Another M x N matrix.
    Tile(Dtype),
    /// What a sink stores in.
    Output(Sink),
    /// A matrix of bits.
    Mask,
}

/// One argument of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Leaf {
    /// What it is.
    pub kind: LeafKind,
    /// The scalar argument whose zero drops it: then it is not read.
    pub guard: Option<usize>,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether a constant zero drops it: nobody reads it.
    pub unread: bool,
}

/// A value that is stored on the side, once all steps are done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SideStore {
    /// The argument that it is stored in.
    pub argument: usize,
    /// How.
    pub sink: Sink,
    /// What is stored; reductions are of [`Number::Real`]s.
    pub value: Value,
}

/// When something is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Uses {
    /// Whatever the scalars are.
    pub always: bool,
    /// If one of these scalar arguments (bit i: argument i) is not zero.
    pub guards: u32,
}

impl Uses {
    /// Never, in no case.
    pub const fn never(self) -> bool {
        !self.always && self.guards == 0
    }
    /// The scalar arguments in [`guards`](Self::guards).
    pub fn scalars(self) -> impl Iterator<Item = usize> {
        (0..u32::BITS as usize).filter(move |i| self.guards >> i & 1 == 1)
    }
    /// Whether it is read, given which scalars are kept.
    pub fn given(self, keeps: impl FnMut(usize) -> bool) -> bool {
        self.always || self.scalars().any(keeps)
    }
}

/// An epilogue's tree in single-assignment form, for one type of accumulator.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    accumulator: Dtype,
    output: Dtype,
    block: ParamBlock,
    leaves: Vec<Leaf>,
    steps: Vec<Step>,
    stores: Vec<SideStore>,
    lines: Vec<LineValues>,
    step_passes: Vec<usize>,
    result: Value,
    reads_accumulator: Uses,
    reads_previous: Uses,
}

impl Program {
    /// Lowers a tree. `accumulator` decides the arithmetic: f64 for f64, exact integers and f32 for i32, else f32; `output`
    /// is D's element, which `previous()` reads.
    ///
    /// # Errors
    /// [`Violation::Arguments`] or [`Violation::Shared`] for trees that `check` would refuse as well.
    pub fn of(node: &Node, accumulator: Dtype, output: Dtype) -> Result<Program, Violation> {
        let block = ParamBlock::of(node)?;
        node.scope(0).map_err(Violation::Shared)?;
        let mut lowering = Lowering {
            exact: accumulator == Dtype::I32,
            output,
            leaves: Vec::new(),
            steps: Vec::new(),
            stores: Vec::new(),
            lines: Vec::new(),
            passes: Vec::new(),
            shared: [None; 8],
            reads_accumulator: Uses::default(),
            reads_previous: Uses::default(),
        };
        let result = lowering.value(node)?;
        lowering.stores.sort_unstable_by_key(|store| store.argument);
        let Lowering { leaves, steps, stores, lines, passes: step_passes, reads_accumulator, reads_previous, .. } =
            lowering;
        Ok(Program {
            accumulator,
            output,
            block,
            leaves,
            steps,
            stores,
            lines,
            step_passes,
            result,
            reads_accumulator,
            reads_previous,
        })
    }

    /// The accumulator's element.
    pub fn accumulator(&self) -> Dtype {
        self.accumulator
    }
    /// D's element.
    pub fn output(&self) -> Dtype {
        self.output
    }
    /// The compute type of [`Number::Real`]: f32 or f64. Scalars in memory are of this type.
    pub fn compute(&self) -> Dtype {
        if self.accumulator == Dtype::F64 { Dtype::F64 } else { Dtype::F32 }
    }
    /// The fields of the parameters, one an argument.
    pub fn block(&self) -> &ParamBlock {
        &self.block
    }
    /// The arguments.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }
    /// The assignments, each of values before it.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// What is stored beside D, in the order of the arguments.
    pub fn stores(&self) -> &[SideStore] {
        &self.stores
    }
    /// The values that depend on their neighbours, in the order of their steps.
    pub fn lines(&self) -> &[LineValues] {
        &self.lines
    }
    /// How often all of a tile is seen before its values are known.
    pub fn passes(&self) -> usize {
        self.lines.iter().map(|line| line.pass + 1).max().unwrap_or(0)
    }
    /// In which pass the value of a step is known, as [`LineValues::pass`] counts them.
    pub(crate) fn pass_of(&self, step: usize) -> usize {
        self.step_passes[step]
    }
    /// What goes to D.
    pub fn result(&self) -> Value {
        self.result
    }
    /// In which numbers a value is.
    pub fn number(&self, value: Value) -> Number {
        number(&self.steps, self.accumulator == Dtype::I32, value)
    }
    /// When the accumulator is read. Where it is not, the mainloop need not run.
    pub fn reads_accumulator(&self) -> Uses {
        self.reads_accumulator
    }
    /// When the previous D is read.
    pub fn reads_previous(&self) -> Uses {
        self.reads_previous
    }
    /// When a source is read.
    pub fn reads_source(&self) -> Uses {
        let sources = self.leaves.iter().filter(|l| matches!(l.kind, LeafKind::Source(_)) && !l.unread);
        sources.fold(Uses::default(), |u, l| match l.guard {
            None => Uses { always: true, ..u },
            Some(s) => Uses { guards: u.guards | 1 << s, ..u },
        })
    }
    /// The element types that the device must be able to read, or round to.
    pub fn elements(&self) -> impl Iterator<Item = Dtype> + '_ {
        let read = self.leaves.iter().filter_map(|l| match l.kind {
            LeafKind::Row(t) | LeafKind::Column(t) | LeafKind::Source(t) | LeafKind::Tile(t) => Some(t),
            LeafKind::Scalar(_) | LeafKind::Mask | LeafKind::Output(_) => None,
        });
        let rounded = self.steps.iter().filter_map(|s| match s.op {
            Op::Convert(t, _) => Some(t),
            _ => None,
        });
        let previous = (!self.reads_previous.never()).then_some(self.output);
        read.chain(rounded).chain(previous)
    }
    /// The element types of matrices that are stored beside D.
    pub fn stored_elements(&self) -> impl Iterator<Item = Dtype> + '_ {
        self.stores.iter().filter_map(|store| match store.sink {
            Sink::Matrix(t) => Some(t),
            _ => None,
        })
    }
}

fn number(steps: &[Step], exact_accumulator: bool, value: Value) -> Number {
    match value {
        Value::Accumulator if exact_accumulator => Number::Exact,
        Value::Accumulator | Value::Scalar(_) | Value::Constant(_) => Number::Real,
        Value::Step(i) => steps[i].number,
    }
}

struct Lowering {
    exact: bool,
    output: Dtype,
    leaves: Vec<Leaf>,
    steps: Vec<Step>,
    stores: Vec<SideStore>,
    lines: Vec<LineValues>,
    /// Of each step, as [`LineValues::pass`].
    passes: Vec<usize>,
    shared: [Option<Value>; 8],
    reads_accumulator: Uses,
    reads_previous: Uses,
}

impl Lowering {
    fn number(&self, value: Value) -> Number {
        number(&self.steps, self.exact, value)
    }

    /// In which pass a value is known.
    fn pass(&self, value: Value) -> usize {
        match value {
            Value::Step(i) => self.passes.get(i).copied().unwrap_or(0),
            Value::Accumulator | Value::Scalar(_) | Value::Constant(_) => 0,
        }
    }

    fn step(&mut self, op: Op, number: Number) -> Value {
        let before = |values: &[Value]| values.iter().map(|&v| self.pass(v)).max().unwrap_or(0);
        self.passes.push(match op {
            Op::Apply(_, [a, b, c]) | Op::Select(a, b, c) => before(&[a, b, c]),
            Op::Combine(_, a, b) | Op::Otherwise(_, a, b) => before(&[a, b]),
            Op::Relu(a) | Op::Negate(a) | Op::Convert(_, a) | Op::ToReal(a) => before(&[a]),
            Op::Line(i) => self.lines.get(i).map_or(0, |line| line.pass + 1),
            Op::Load(_) | Op::Scale { .. } | Op::Index(_) | Op::Mask(_) => 0,
        });
        self.steps.push(Step { op, number });
        Value::Step(self.steps.len() - 1)
    }

    fn leaf(&mut self, kind: LeafKind, guard: Option<usize>) -> usize {
        self.leaves.push(Leaf { kind, guard, optional: false, unread: false });
        self.leaves.len() - 1
    }

    fn real(&mut self, value: Value) -> Value {
        match self.number(value) {
            Number::Real => value,
            Number::Exact => self.step(Op::ToReal(value), Number::Real),
        }
    }

    /// The number of whole values that the kernel computes itself.
    fn whole(&self) -> Number {
        if self.exact { Number::Exact } else { Number::Real }
    }

    /// Two values in one kind of number.
    fn alike(&mut self, [a, b]: [Value; 2]) -> (Number, [Value; 2]) {
        match (self.number(a), self.number(b)) {
            (Number::Exact, Number::Exact) => (Number::Exact, [a, b]),
            _ => (Number::Real, [self.real(a), self.real(b)]),
        }
    }

    fn load(&mut self, place: Place, element: Dtype) -> Value {
        let number = if self.exact && element.is_integer() { Number::Exact } else { Number::Real };
        self.step(Op::Load(place), number)
    }

    fn operand(&mut self, kind: LeafKind, element: Dtype) -> Value {
        let argument = self.leaf(kind, None);
        self.load(Place::Argument(argument), element)
    }

    /// A leaf that a scalar may drop.
    fn term(&mut self, node: &Node, guard: usize) -> Place {
        match *node {
            Node::LoadSource(t) => Place::Argument(self.leaf(LeafKind::Source(t), Some(guard))),
            Node::LoadPrevious => {
                self.reads_previous.guards |= 1 << guard;
                Place::Previous
            }
            _ => {
                self.reads_accumulator.guards |= 1 << guard;
                Place::Accumulator
            }
        }
    }

    fn value(&mut self, node: &Node) -> Result<Value, Violation> {
        Ok(match *node {
            Node::LoadAcc => {
                self.reads_accumulator.always = true;
                Value::Accumulator
            }
            Node::LoadPrevious => {
                self.reads_previous.always = true;
                self.load(Place::Previous, self.output)
            }
            Node::LoadScalar(kind) => Value::Scalar(self.leaf(LeafKind::Scalar(kind), None)),
            Node::Constant(bits) => Value::Constant(bits),
            Node::LoadRowIndex => self.step(Op::Index(Along::M), self.whole()),
            Node::LoadColumnIndex => self.step(Op::Index(Along::N), self.whole()),
            Node::LoadMask => {
                let argument = self.leaf(LeafKind::Mask, None);
                self.step(Op::Mask(argument), self.whole())
            }
            Node::Otherwise(leaf, default) => {
                let argument = self.leaves.len();
                let loaded = self.value(leaf)?;
                if let Some(leaf) = self.leaves.get_mut(argument) {
                    leaf.optional = true;
                }
                let default = self.value(default)?;
                let (number, [loaded, default]) = self.alike([loaded, default]);
                self.step(Op::Otherwise(argument, loaded, default), number)
            }
            Node::Select(condition, left, right) => {
                let condition = self.value(condition)?;
                let values = [self.value(left)?, self.value(right)?];
                let (number, [left, right]) = self.alike(values);
                self.step(Op::Select(condition, left, right), number)
            }
            Node::LoadSource(t) => self.operand(LeafKind::Source(t), t),
            Node::LoadRow(t) => self.operand(LeafKind::Row(t), t),
            Node::LoadColumn(t) => self.operand(LeafKind::Column(t), t),
            Node::LoadTile(t) => self.operand(LeafKind::Tile(t), t),
            Node::Shared(i) => {
                let bound = self.shared.get(usize::from(i)).copied().flatten();
                bound.ok_or(Violation::Shared(Scope::Unbound(i)))?
            }
            Node::Bind(i, value, body) => {
                let value = self.value(value)?;
                *self.shared.get_mut(usize::from(i)).ok_or(Violation::Shared(Scope::TooMany(i)))? = Some(value);
                self.value(body)?
            }
            Node::Combine(op, left, right) => self.combine(node, op, left, right)?,
            Node::Sink(Sink::Quantize(scales), e) => {
                let argument = self.leaf(LeafKind::Output(Sink::Quantize(scales)), None);
                let value = self.value(e)?;
                self.line(LineStep::Quantize(scales), Some(argument), value)
            }
            Node::TopKSoftmax(k, e) => {
                let value = self.value(e)?;
                self.line(LineStep::TopKSoftmax(k), None, value)
            }
            Node::Sink(sink, e) => {
                let argument = self.leaf(LeafKind::Output(sink), None);
                let value = self.value(e)?;
                let stored = if matches!(sink, Sink::Reduce(_)) { self.real(value) } else { value };
                self.stores.push(SideStore { argument, sink, value: stored });
                value
            }
            Node::Convert(t, e) => {
                let value = self.value(e)?;
                self.convert(t, value)
            }
            Node::Apply(function, children) => {
                let mut values = [None; 3];
                for (slot, child) in values.iter_mut().zip(children) {
                    *slot = child.map(|c| self.value(c)).transpose()?;
                }
                self.apply(function, values)
            }
        })
    }

    fn line(&mut self, step: LineStep, argument: Option<usize>, value: Value) -> Value {
        let value = self.real(value);
        self.lines.push(LineValues { step, argument, value, pass: self.pass(value) });
        self.step(Op::Line(self.lines.len() - 1), Number::Real)
    }

    fn combine(&mut self, node: &Node, op: Operator, left: &Node, right: &Node) -> Result<Value, Violation> {
        if node.droppable().is_some() {
            // The leaves are numbered left to right, whichever of them is the scalar.
            let factor = |n: &Node| if let Node::Constant(bits) = *n { Some(bits) } else { None };
            if let Some(bits) = factor(left).or(factor(right)) {
                if f64::from_bits(bits) == 0.0 {
                    let dropped = if factor(left).is_some() { right } else { left };
                    if let Node::LoadSource(t) = *dropped {
                        self.leaves.push(Leaf {
                            kind: LeafKind::Source(t),
                            guard: None,
                            optional: false,
                            unread: true,
                        });
                    }
                    return Ok(Value::Constant(0));
                }
                let (left, right) = (self.value(left)?, self.value(right)?);
                let (left, right) = (self.real(left), self.real(right));
                return Ok(self.step(Op::Combine(op, left, right), Number::Real));
            }
            let kind = |n: &Node| if let Node::LoadScalar(kind) = *n { Some(LeafKind::Scalar(kind)) } else { None };
            let (scalar, term, scalar_first) = match (kind(left), kind(right)) {
                (Some(kind), _) => {
                    let scalar = self.leaf(kind, None);
                    (scalar, self.term(right, scalar), true)
                }
                (None, kind) => {
                    let scalar = self.leaves.len() + usize::from(matches!(left, Node::LoadSource(_)));
                    let term = self.term(left, scalar);
                    (self.leaf(kind.unwrap_or(LeafKind::Scalar(ScalarKind::Host)), None), term, false)
                }
            };
            return Ok(self.step(Op::Scale { scalar, term, scalar_first }, Number::Real));
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        let exact = self.number(left) == Number::Exact && self.number(right) == Number::Exact;
        if exact && op != Operator::Over {
            return Ok(self.step(Op::Combine(op, left, right), Number::Exact));
        }
        let (left, right) = (self.real(left), self.real(right));
        Ok(self.step(Op::Combine(op, left, right), Number::Real))
    }

    fn convert(&mut self, element: Dtype, value: Value) -> Value {
        match self.number(value) {
            Number::Exact if element.is_integer() => self.step(Op::Convert(element, value), Number::Exact),
            _ => self.step(Op::Convert(element, value), Number::Real),
        }
    }

    fn apply(&mut self, function: Function, values: [Option<Value>; 3]) -> Value {
        let first = values[0].unwrap_or(Value::Accumulator);
        if self.number(first) == Number::Exact {
            if function == RELU {
                return self.step(Op::Relu(first), Number::Exact);
            }
            if function == NEG {
                return self.step(Op::Negate(first), Number::Exact);
            }
        }
        let first = self.real(first);
        let [second, third] = [values[1], values[2]].map(|v| v.map_or(first, |v| self.real(v)));
        self.step(Op::Apply(function, [first, second, third]), Number::Real)
    }
}
