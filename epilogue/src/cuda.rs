//! The device's text of a tree: a parameter struct, a function for each function, and `struct Epilogue`.
//!
//! The text is straight-line code in the order of the [`Program`], compiled with `--fmad=false`, so the device rounds where
//! the host does. It knows the user's coordinates only: what a vector runs along is the loaders' affair.

mod lines;
mod sinks;

pub use lines::{LineMemory, lines};
pub use sinks::{FINISH_THREADS, finish, finished_at_once, sinks};

use crate::host::Along;
use crate::{Field, FieldKind, Number, Op, ParamBlock, Place, Program, Uses, Value};
use std::fmt::Write;
use warpwright_numeric::Dtype;
use warpwright_spec::{Function, HostFn, KernelPlan, Operator};

/// How wide operands may be accessed: bytes of which their addresses and strides along D's contiguous direction are
/// multiples. 0 where a matrix is not contiguous along that direction: then single elements are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Accesses {
    /// Of C and every other M x N operand.
    pub matrix: usize,
    /// Of vectors.
    pub vector: usize,
    /// Of D.
    pub output: usize,
    /// What the visitor brings through shared memory instead: a matrix, or the previous D.
    pub staged: Option<Place>,
    /// Whether the visitor reads vectors for a subtile's fragments at once.
    pub fragments: bool,
    /// The argument that the visitor stores through shared memory: a matrix beside D.
    pub aux: Option<usize>,
}

impl Accesses {
    /// What a plan declares. Nothing is declared of vectors, so single elements are read.
    pub fn of(plan: &KernelPlan, staged: Option<Place>, fragments: bool, aux: Option<usize>) -> Accesses {
        let matrix = if plan.order_c == plan.order_d() { plan.widths.c } else { 0 };
        Accesses { matrix, vector: 0, output: plan.widths.d, staged, fragments, aux }
    }
}

/// The structs that parameters are made of. The kernel's own parameters use `TensorArg` too.
pub fn argument_structs(compute: Dtype) -> &'static str {
    if compute == Dtype::F64 {
        "struct ScalarArg { const double* pointer; long long stride_batch; double value; };\n\
         struct VectorArg { const void* pointer; long long stride; long long stride_batch; };\n\
         struct TensorArg { const void* pointer; long long stride_m, stride_n, stride_batch; };\n"
    } else {
        "struct ScalarArg { const float* pointer; long long stride_batch; float value; unsigned pad; };\n\
         struct VectorArg { const void* pointer; long long stride; long long stride_batch; };\n\
         struct TensorArg { const void* pointer; long long stride_m, stride_n, stride_batch; };\n"
    }
}

/// `struct EpilogueParams`, with its offsets asserted.
pub fn params(block: &ParamBlock) -> String {
    let mut text = String::new();
    if block.reduces() {
        text += REDUCTION_ARG;
    }
    text += "struct EpilogueParams {\n";
    for field in block.fields() {
        line(&mut text, 1, format_args!("{} {field};", field.kind.stem().structure()));
    }
    text += "};\n";
    for field in block.fields() {
        let what = format_args!("__INTADDR__(&((EpilogueParams*)0)->{field}) == {}", field.offset);
        line(&mut text, 0, format_args!("static_assert({what}, \"offset of {field}\");"));
    }
    if block.size() > 0 {
        let size = block.size();
        line(
            &mut text,
            0,
            format_args!("static_assert(sizeof(EpilogueParams) == {size}, \"size of EpilogueParams\");"),
        );
    }
    text
}

/// The functions of a tree, then `struct Epilogue`: what `visitor.cuh` calls.
pub fn epilogue(program: &Program, accesses: Accesses) -> String {
    let mut text = String::new();
    Writer { program, accesses, real: real(program.compute()), functions: functions(program) }.write(&mut text);
    text
}

/// All of an epilogue's text, for reading: in a kernel, other text stands between its parts.
pub fn text(program: &Program, accesses: Accesses) -> String {
    argument_structs(program.compute()).to_owned() + &params(program.block()) + &epilogue(program, accesses)
}

/// How the device reads and writes an epilogue's tensors; it stands before [`epilogue`].
pub const ACCESS: &str = include_str!("access.cuh");
/// The loop that visits a tile's accumulators; it stands behind [`epilogue`].
pub const VISITOR: &str = include_str!("visitor.cuh");
/// How it stores where lines of D begin anywhere, behind it.
pub const REALIGNED_STORE: &str = include_str!("realigned.cuh");
/// The one that TMA stores for, behind [`VISITOR`].
pub const BULK_VISITOR: &str = include_str!("visitor_bulk.cuh");
/// The one of accumulators that are single numbers, behind [`VISITOR`].
pub const ELEMENT_VISITOR: &str = include_str!("visitor_elements.cuh");

/// What a kernel is told of a reduction: [`ReductionParams`](crate::ReductionParams) behind its output.
const REDUCTION_ARG: &str = "struct ReductionArg { void* pointer; long long stride, stride_batch; double* partials; unsigned length, blocks, entries, reserved; };\n";

const INLINE: &str = "__device__ __forceinline__";

fn line(text: &mut String, depth: usize, content: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:1$}{content}", "", 4 * depth);
}

fn real(compute: Dtype) -> &'static str {
    if compute == Dtype::F64 { "double" } else { "float" }
}

fn functions(program: &Program) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    for step in program.steps() {
        if let Op::Apply(function, _) = step.op
            && !found.contains(&function)
        {
            found.push(function);
        }
    }
    found
}

struct Writer<'p> {
    program: &'p Program,
    accesses: Accesses,
    real: &'static str,
    functions: Vec<Function>,
}

impl Writer<'_> {
    fn write(&self, text: &mut String) {
        self.helpers(text);
        line(text, 0, format_args!("struct Epilogue {{"));
        let result = match self.program.result() {
            Value::Accumulator => "Accumulator",
            other => self.number(self.program.number(other)),
        };
        line(text, 1, format_args!("using Result = {result};"));
        self.store_members(text);
        self.scalars(text);
        self.uses(text);
        self.loads(text);
        if self.accesses.fragments {
            self.vectors(text);
        }
        if let Some(place) = self.accesses.staged {
            self.staged(text, place);
        }
        self.line_passes(text);
        self.visit(text);
        self.end(text);
        line(text, 0, format_args!("}};"));
    }

    fn fields(&self) -> impl Iterator<Item = (usize, Field)> {
        self.program.block().fields().iter().copied().enumerate()
    }

    /// The scalar fields' arguments.
    fn scalar_fields(&self) -> impl Iterator<Item = (usize, Field)> {
        self.fields().filter(|(_, f)| f.kind == FieldKind::Scalar)
    }

    fn field(&self, argument: usize) -> Field {
        self.program.block().fields()[argument]
    }

    fn zero(&self) -> &'static str {
        if self.real == "double" { "0.0" } else { "0.0f" }
    }

    fn number(&self, number: Number) -> &'static str {
        match number {
            Number::Real => self.real,
            Number::Exact => "long long",
        }
    }

    /// Whether a zero of this scalar drops something.
    fn drops(&self, argument: usize) -> bool {
        self.program.steps().iter().any(|s| matches!(s.op, Op::Scale { scalar, .. } if scalar == argument))
    }

    /// Whether a term has zeros where this scalar, its factor, is zero: where nothing else asks for it.
    fn is_zero_without(&self, scalar: usize, term: Place) -> bool {
        let alone = Uses { always: false, guards: 1 << scalar };
        match term {
            Place::Accumulator => self.program.reads_accumulator() == alone,
            Place::Previous => self.program.reads_previous() == alone,
            Place::Argument(argument) => self.program.leaves()[argument].guard == Some(scalar),
        }
    }

    /// A flag's name: of the scalar with the same ordinal.
    fn keep(&self, argument: usize) -> String {
        format!("keep{}", self.field(argument).ordinal)
    }

    /// Whether an optional argument is there.
    fn there(&self, argument: usize) -> String {
        format!("p.{}.pointer", self.field(argument))
    }

    fn function(&self, function: &Function) -> String {
        let i = self.functions.iter().position(|f| f == function).unwrap_or_default();
        format!("f{i}_{}", function.name)
    }

    fn helpers(&self, text: &mut String) {
        let real = self.real;
        let mut needed: Vec<&str> = Vec::new();
        for text in self.functions.iter().flat_map(|f| f.needs) {
            if !needed.contains(text) {
                needed.push(text);
            }
        }
        needed.into_iter().for_each(|needed| *text += needed);
        for function in &self.functions {
            let parameters = match function.host {
                HostFn::Unary(..) => format!("{real} x"),
                HostFn::Binary(..) => format!("{real} x, {real} y"),
                HostFn::Ternary(..) => format!("{real} x, {real} y, {real} z"),
            };
            let name = self.function(function);
            line(text, 0, format_args!("{INLINE} {real} {name}({parameters}) {{ return {}; }}", function.cuda));
        }
        let steps = self.program.steps();
        let any = |f: fn(&Op) -> bool| steps.iter().any(|s| f(&s.op));
        if any(|op| matches!(op, Op::Combine(Operator::Maximum, ..))) {
            line(
                text,
                0,
                format_args!("template <class T> {INLINE} T maximum(T x, T y) {{ return x > y || x != x ? x : y; }}"),
            );
        }
        if any(|op| matches!(op, Op::Combine(Operator::Minimum, ..))) {
            line(
                text,
                0,
                format_args!("template <class T> {INLINE} T minimum(T x, T y) {{ return x < y || x != x ? x : y; }}"),
            );
        }
        if any(|op| matches!(op, Op::Index(_))) {
            *text += include_str!("index.cuh");
        }
        let vector = |kind| matches!(kind, FieldKind::Row(_) | FieldKind::Column(_));
        if self.accesses.fragments && self.fields().any(|(_, field)| vector(field.kind)) {
            *text += include_str!("vectors.cuh");
        }
        if any(|op| matches!(op, Op::Mask(_))) {
            *text += include_str!("mask.cuh");
        }
        if steps.iter().any(|s| matches!(s.op, Op::Convert(t, _) if s.number == Number::Real && !self.keeps(t))) {
            line(text, 0, format_args!("template <class T> {INLINE} {real} rounded({real} x) {{"));
            line(text, 1, format_args!("const {real} values[1] = {{x}};"));
            line(text, 1, format_args!("return Vector<T, 1>::encode(values)[0];"));
            line(text, 0, format_args!("}}"));
        }
        if steps.iter().any(|s| matches!(s.op, Op::Convert(..)) && s.number == Number::Exact) {
            line(text, 0, format_args!("{INLINE} long long clamped(long long x, long long low, long long high) {{"));
            line(text, 1, format_args!("return x < low ? low : x > high ? high : x;"));
            line(text, 0, format_args!("}}"));
        }
    }

    /// Whether every value of the compute type is one of this element.
    fn keeps(&self, element: Dtype) -> bool {
        element == Dtype::F64 || element == Dtype::F32 && self.real == "float"
    }

    fn scalars(&self, text: &mut String) {
        for (argument, field) in self.scalar_fields() {
            line(text, 1, format_args!("{} {field};", self.real));
            if self.drops(argument) {
                line(text, 1, format_args!("bool {};", self.keep(argument)));
            }
        }
        line(text, 1, format_args!("{INLINE} explicit Epilogue(const EpilogueParams& p, unsigned batch) {{"));
        for (argument, field) in self.scalar_fields() {
            line(text, 2, format_args!("{field} = scalar(p.{field}, batch);"));
            if self.drops(argument) {
                line(text, 2, format_args!("{} = {field} != {};", self.keep(argument), self.zero()));
                // Not -0, whose products have its sign.
                line(text, 2, format_args!("if (!{}) {field} = {};", self.keep(argument), self.zero()));
            }
        }
        line(text, 1, format_args!("}}"));
    }

    fn uses(&self, text: &mut String) {
        line(
            text,
            1,
            format_args!("static {INLINE} bool uses_accumulator(const EpilogueParams& p, unsigned batch) {{"),
        );
        let uses = self.program.reads_accumulator();
        let condition =
            self.condition(uses, |argument| format!("scalar(p.{}, batch) != {}", self.field(argument), self.zero()));
        line(text, 2, format_args!("return {condition};"));
        line(text, 1, format_args!("}}"));
    }

    fn condition(&self, uses: Uses, kept: impl Fn(usize) -> String) -> String {
        match uses {
            Uses { always: true, .. } => "true".to_owned(),
            uses if uses.never() => "false".to_owned(),
            uses => uses.scalars().map(kept).collect::<Vec<_>>().join(" || "),
        }
    }

    fn loads(&self, text: &mut String) {
        let output = self.program.output();
        let previous = self.program.reads_previous();
        line(text, 1, format_args!("template <int V> struct Loads {{"));
        for (_, field) in self.fields() {
            let (load, element) = match field.kind {
                FieldKind::Scalar
                | FieldKind::Store(_)
                | FieldKind::Mask
                | FieldKind::Reduction(_)
                | FieldKind::ScaleFactors(_) => continue,
                FieldKind::Row(t) => ("RowLoad", t),
                FieldKind::Column(t) => ("ColumnLoad", t),
                FieldKind::Matrix(t) => ("TileLoad", t),
                FieldKind::Bits => {
                    line(text, 2, format_args!("MaskLoad<V> {field};"));
                    continue;
                }
            };
            line(text, 2, format_args!("{load}<{}, V> {field};", element.name()));
        }
        if !previous.never() {
            line(text, 2, format_args!("TileLoad<{}, V> previous;", output.name()));
        }
        line(text, 1, format_args!("}};"));
        line(text, 1, format_args!("template <int V>"));
        let parameters = "const EpilogueParams& p, const TensorArg& d, const Coordinates& c";
        line(text, 1, format_args!("{INLINE} Loads<V> load({parameters}) const {{"));
        line(text, 2, format_args!("Loads<V> l = {{}};"));
        for (argument, field) in self.fields().filter(|&(a, _)| self.accesses.staged != Some(Place::Argument(a))) {
            let leaf = self.program.leaves()[argument];
            if leaf.unread {
                continue;
            }
            let guard = match leaf.guard {
                Some(scalar) => format!("if ({}) ", self.keep(scalar)),
                None if leaf.optional => format!("if ({}) ", self.there(argument)),
                None => String::new(),
            };
            let (load, element, bytes) = match field.kind {
                FieldKind::Scalar
                | FieldKind::Store(_)
                | FieldKind::Mask
                | FieldKind::Reduction(_)
                | FieldKind::ScaleFactors(_) => continue,
                FieldKind::Row(_) | FieldKind::Column(_) if self.accesses.fragments => continue,
                FieldKind::Row(t) => ("load_row", t, self.accesses.vector),
                FieldKind::Column(t) => ("load_column", t, self.accesses.vector),
                FieldKind::Matrix(t) => ("load_tile", t, self.accesses.matrix),
                FieldKind::Bits => {
                    line(text, 2, format_args!("{guard}l.{field} = load_mask<V>(p.{field}, c);"));
                    continue;
                }
            };
            let (element, width) = (element.name(), width(bytes, element));
            line(text, 2, format_args!("{guard}l.{field} = {load}<{element}, {width}, V>(p.{field}, c);"));
        }
        if !previous.never() && self.accesses.staged != Some(Place::Previous) {
            let guard = match previous {
                Uses { always: true, .. } => String::new(),
                uses => format!("if ({}) ", self.condition(uses, |s| self.keep(s))),
            };
            let (element, width) = (output.name(), width(self.accesses.output, output));
            line(text, 2, format_args!("{guard}l.previous = load_tile<{element}, {width}, V>(d, c);"));
        }
        line(text, 2, format_args!("return l;"));
        line(text, 1, format_args!("}}"));
    }

    /// The vectors of a tile: how they are fetched, kept, and handed to a subtile's fragments.
    fn vectors(&self, text: &mut String) {
        let vectors: Vec<_> = self
            .fields()
            .filter_map(|(argument, field)| match field.kind {
                FieldKind::Row(t) => Some((argument, field, "RowAhead", t)),
                FieldKind::Column(t) => Some((argument, field, "ColumnAhead", t)),
                _ => None,
            })
            .collect();
        line(text, 1, format_args!("struct Vectors {{"));
        for (_, field, ahead, element) in &vectors {
            line(text, 2, format_args!("{ahead}<{}> {field};", element.name()));
        }
        line(text, 1, format_args!("}};"));
        let parameters = "const EpilogueParams& p, const Coordinates (&c)[rows], unsigned column, unsigned columns";
        line(text, 1, format_args!("template <unsigned rows>"));
        line(text, 1, format_args!("static {INLINE} Vectors fetch({parameters}) {{"));
        line(text, 2, format_args!("Vectors v = {{}};"));
        for (argument, field, ..) in &vectors {
            let there = match self.program.leaves()[*argument].optional {
                true => format!("if ({}) ", self.there(*argument)),
                false => String::new(),
            };
            line(text, 2, format_args!("{there}v.{field}.fetch(p.{field}, c, column, columns);"));
        }
        line(text, 2, format_args!("return v;"));
        line(text, 1, format_args!("}}"));
        line(text, 1, format_args!("template <int V, unsigned pairs>"));
        let parameters = "Loads<V> (&l)[pairs], const Vectors& v, unsigned part, unsigned column";
        line(text, 1, format_args!("static {INLINE} void spread({parameters}) {{"));
        for (_, field, ..) in &vectors {
            let place = format_args!("[&](unsigned i) -> auto& {{ return l[i].{field}; }}").to_string();
            line(text, 2, format_args!("v.{field}.template spread<pairs>(part, column, {place});"));
        }
        line(text, 1, format_args!("}}"));
    }

    /// How the visitor hands over what it brings.
    fn staged(&self, text: &mut String, place: Place) {
        let (element, name, uses) = match place {
            Place::Argument(argument) => {
                let FieldKind::Matrix(element) = self.field(argument).kind else { return };
                let guard = self.program.leaves()[argument].guard;
                let uses = Uses { always: guard.is_none(), guards: guard.map_or(0, |s| 1 << s) };
                (element, self.field(argument).to_string(), uses)
            }
            _ => (self.program.output(), "previous".to_owned(), self.program.reads_previous()),
        };
        line(text, 1, format_args!("using Staged = {};", element.name()));
        let condition = self.condition(uses, |s| self.keep(s));
        line(text, 1, format_args!("{INLINE} bool reads_staged() const {{ return {condition}; }}"));
        line(text, 1, format_args!("template <int V>"));
        line(
            text,
            1,
            format_args!("{INLINE} void stage(Loads<V>& l, const Vector<Staged, V>& x) const {{ l.{name} = x; }}"),
        );
    }

    fn visit(&self, text: &mut String) {
        line(text, 1, format_args!("template <int V>"));
        let values = "Result (&out)[V], const Accumulator (&acc)[V], const Loads<V>& l";
        line(
            text,
            1,
            format_args!("{INLINE} void visit({values}, const EpilogueParams& p, const Coordinates& c) const {{"),
        );
        self.known_lines(text, usize::MAX);
        self.stored_values(text);
        line(text, 0, format_args!("#pragma unroll"));
        line(text, 2, format_args!("for (int v = 0; v < V; ++v) {{"));
        self.steps(text, |_| true);
        line(text, 3, format_args!("out[v] = {};", self.value(self.program.result())));
        self.store_values(text);
        line(text, 2, format_args!("}}"));
        self.store(text);
        line(text, 1, format_args!("}}"));
    }

    /// The assignments of those steps that are wanted.
    fn steps(&self, text: &mut String, wanted: impl Fn(usize) -> bool) {
        for (i, step) in self.program.steps().iter().enumerate().filter(|(i, _)| wanted(*i)) {
            let (number, value) = (self.number(step.number), self.step(&step.op, step.number));
            line(text, 3, format_args!("const {number} x{i} = {value};"));
        }
    }

    fn value(&self, value: Value) -> String {
        match value {
            Value::Accumulator => "acc[v]".to_owned(),
            Value::Scalar(argument) => self.field(argument).to_string(),
            Value::Constant(bits) => literal(f64::from_bits(bits), self.real == "double"),
            Value::Step(i) => format!("x{i}"),
        }
    }

    /// An element in the compute type, or as an integer.
    fn element(&self, place: Place, number: Number) -> String {
        let name = match place {
            Place::Accumulator => return "acc[v]".to_owned(),
            Place::Previous => "l.previous".to_owned(),
            Place::Argument(argument) => format!("l.{}", self.field(argument)),
        };
        match number {
            Number::Real => format!("{name}[v]"),
            Number::Exact => format!("{name}.exact(v)"),
        }
    }

    fn step(&self, op: &Op, number: Number) -> String {
        // Signed overflow is undefined in C++ and wraps on the host, so exact arithmetic is done unsigned.
        let exact = |v: Value| format!("static_cast<unsigned long long>({})", self.value(v));
        match *op {
            Op::Load(place) => self.element(place, number),
            Op::Scale { scalar, term, scalar_first } => {
                let (factor, place, term) = (self.field(scalar), term, self.element(term, Number::Real));
                let product = if scalar_first { format!("{factor} * {term}") } else { format!("{term} * {factor}") };
                if self.is_zero_without(scalar, place) {
                    return product;
                }
                format!("{} ? {product} : {}", self.keep(scalar), self.zero())
            }
            Op::Apply(function, values) => {
                let values: Vec<_> = values[..function.host.arity()].iter().map(|v| self.value(*v)).collect();
                format!("{}({})", self.function(&function), values.join(", "))
            }
            Op::Combine(op @ (Operator::Maximum | Operator::Minimum), a, b) => {
                let name = if op == Operator::Maximum { "maximum" } else { "minimum" };
                format!("{name}<{}>({}, {})", self.number(number), self.value(a), self.value(b))
            }
            Op::Combine(op, a, b) if op.comparison().is_some() => {
                let (number, compare) = (self.number(number), op.comparison().unwrap_or_default());
                format!("static_cast<{number}>({} {compare} {})", self.value(a), self.value(b))
            }
            Op::Select(c, a, b) => format!("{} != 0 ? {} : {}", self.value(c), self.value(a), self.value(b)),
            Op::Index(along) => {
                let index = if along == Along::M { "row_index" } else { "column_index" };
                format!("static_cast<{}>({index}(c, v))", self.number(number))
            }
            Op::Mask(argument) => format!("static_cast<{}>(l.{}[v])", self.number(number), self.field(argument)),
            Op::Otherwise(argument, loaded, default) => {
                format!("{} ? {} : {}", self.there(argument), self.value(loaded), self.value(default))
            }
            Op::Combine(op, a, b) if number == Number::Exact => {
                format!("static_cast<long long>({} {} {})", exact(a), op.name(), exact(b))
            }
            Op::Combine(op, a, b) => format!("{} {} {}", self.value(a), op.name(), self.value(b)),
            Op::Relu(a) => format!("{0} < 0 ? 0 : {0}", self.value(a)),
            Op::Negate(a) => format!("static_cast<long long>(0ull - {})", exact(a)),
            Op::Convert(t, a) if number == Number::Exact => {
                let (low, high) = integer_range(t);
                format!("clamped({}, {low}ll, {high}ll)", self.value(a))
            }
            Op::Convert(t, a) => {
                // An integer goes through the compute type, as on the host.
                let value = format!("static_cast<{}>({})", self.real, self.value(a));
                if self.keeps(t) { value } else { format!("rounded<{}>({value})", t.name()) }
            }
            Op::ToReal(a) => format!("static_cast<{}>({})", self.real, self.value(a)),
            Op::Line(i) => format!("line{i}(v, {})", self.value(self.program.lines()[i].value)),
        }
    }
}

/// A number of the compute type, exact: the shortest decimal that reads back as it.
fn literal(x: f64, double: bool) -> String {
    let (bits, from, suffix) = match double {
        true => (format!("{:#x}ll", x.to_bits()), "__longlong_as_double", ""),
        false => (format!("{:#x}", (x as f32).to_bits()), "__int_as_float", "f"),
    };
    match double {
        _ if !x.is_finite() || !double && !(x as f32).is_finite() => format!("{from}({bits})"),
        true => format!("{x:?}"),
        false => format!("{:?}{suffix}", x as f32),
    }
}

/// Elements per access.
fn width(bytes: usize, element: Dtype) -> usize {
    (bytes.min(16) * 8 / element.bits()).max(1)
}

/// The least and the largest value of an integer type.
pub(crate) const fn integer_range(element: Dtype) -> (i64, i64) {
    match element {
        Dtype::I8 => (-128, 127),
        Dtype::U8 => (0, 255),
        Dtype::I4 => (-8, 7),
        Dtype::U4 => (0, 15),
        _ => (i32::MIN as i64, i32::MAX as i64),
    }
}

#[cfg(test)]
mod tests;
