//! The matrices of a call, read and named.

use crate::args::{KernelArgs, OperandArgs, TypingArgs};
use crate::error::InputError;
use crate::files::{self, Matrices, TypedArray};
use crate::matrix::{self, Matrix};
use crate::reference::Dense;
use crate::request::{Operand, dtype, pair};
use crate::tracked::Leaf;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use warpwright::builder::auto::Placed;
use warpwright::epilogue::Program;
use warpwright::epilogue::parse::{self, NameKind, Names, Parsed};
use warpwright::spec::{self, Axes, ScalarKind, Sink};
use warpwright::{Arg, Args, Dtype, Node, Order, Stream, Strided, TensorError};

/// A and B of a call.
pub struct Factors {
    /// A.
    pub a: Matrices,
    /// B.
    pub b: Matrices,
    /// Whether the result is a batch, be it of one, because a factor is.
    pub batched: bool,
}

impl Factors {
    /// Reads both files.
    pub fn read(args: &OperandArgs) -> Result<Factors, InputError> {
        Factors::of(&args.a, &args.b, &args.typing)
    }

    /// Reads two files with the types that the options give.
    pub fn of(a: &str, b: &str, typing: &TypingArgs) -> Result<Factors, InputError> {
        let (type_a, type_b) = (dtype("type-a", &typing.type_a)?, dtype("type-b", &typing.type_b)?);
        let a = files::read(a)?.typed(type_a, "--type-a")?;
        let b = files::read(b)?.typed(type_b, "--type-b")?;
        let batched = a.shape.len() == 3 || b.shape.len() == 3;
        Ok(Factors { a: a.matrices("A")?, b: b.matrices("B")?, batched })
    }

    /// Refuses factors that no product has.
    pub fn check(&self) -> Result<(), InputError> {
        let ([batch_a, _, k], [batch_b, rows, _]) = (self.a.extents, self.b.extents);
        if k != rows {
            return Err(InputError::Contraction { a: k, b: rows });
        }
        if batch_a != batch_b && batch_a != 1 && batch_b != 1 {
            return Err(InputError::Batch { a: batch_a, b: batch_b });
        }
        Ok(())
    }

    /// Batch entries, rows and columns of D.
    pub fn extents(&self) -> [usize; 3] {
        let ([batch_a, m, _], [batch_b, _, n]) = (self.a.extents, self.b.extents);
        [if batch_a == 1 { batch_b } else { batch_a }, m, n]
    }
}

/// What a description needs to know of a factor.
pub fn operand(matrices: &Matrices) -> Operand {
    Operand { dtype: matrices.dtype, order: order(matrices.order) }
}

/// Extents in a message.
pub fn shown([batch, rows, cols]: [usize; 3]) -> String {
    if batch == 1 { format!("{rows} x {cols}") } else { format!("{batch} x {rows} x {cols}") }
}

/// How kernels speak of an order.
pub fn order(order: Order) -> spec::Order {
    match order {
        Order::RowMajor => spec::Order::Row,
        Order::ColumnMajor => spec::Order::Column,
    }
}

/// How tensors speak of an order.
pub fn memory_order(order: spec::Order) -> Order {
    match order {
        spec::Order::Row => Order::RowMajor,
        spec::Order::Column => Order::ColumnMajor,
    }
}

/// An epilogue with what its leaves read.
pub struct Epilogue {
    /// As it was written, without line breaks.
    pub text: String,
    /// The tree.
    pub tree: &'static Node,
    values: Vec<Value>,
}

/// One argument, in the order of reading. A name that is read twice is held once.
struct Value {
    name: String,
    holds: Rc<Holds>,
}

enum Holds {
    Number(f64),
    Matrices(Matrices),
    /// Bytes of 8 elements, along the direction in which D is contiguous.
    Bits(Matrices),
    Absent,
    /// What a sink stores, and the file that it goes to.
    Output(Sink, PathBuf),
}

/// What the options say of names.
struct Named {
    arrays: BTreeMap<String, TypedArray>,
    scalars: BTreeMap<String, f64>,
    saved: BTreeMap<String, (PathBuf, Dtype)>,
}

impl Epilogue {
    /// Reads the expression, and the files and scalars that it names.
    pub fn read(kernel: &KernelArgs, typing: &TypingArgs) -> Result<Epilogue, InputError> {
        let mut types = types(kernel)?;
        let saved = saved(kernel, &mut types)?;
        let mut named = Named { arrays: arrays(kernel, types)?, scalars: scalars(kernel)?, saved };
        let text = match (&kernel.epilogue, &typing.c) {
            (Some(text), _) => text.as_str(),
            (None, Some(_)) => "d = acc + source(c)",
            (None, None) => "d = acc",
        };
        if let Some(path) = &typing.c {
            let c = files::read(path)?.typed(dtype("type-c", &typing.type_c)?, "--type-c")?;
            if named.arrays.insert("c".into(), c).is_some() {
                return Err(InputError::Twice { name: "c".into() });
            }
        }
        let bound = |name: &&String| named.scalars.contains_key(*name) || named.saved.contains_key(*name);
        if let Some(name) = named.arrays.keys().find(bound) {
            return Err(InputError::Twice { name: name.clone() });
        }
        let parsed = parse::expression(text, &named).map_err(InputError::Epilogue)?;
        let epilogue = named.bind(text, parsed)?;
        let read = |name: &String| epilogue.values.iter().any(|value| value.name == *name);
        match named.arrays.keys().chain(named.scalars.keys()).chain(named.saved.keys()).find(|name| !read(name)) {
            Some(unread) => Err(InputError::Unread { name: unread.clone(), epilogue: text.to_owned() }),
            None => Ok(epilogue),
        }
    }

    /// Refuses operands that do not fit a D in this order, by their names, which a kernel does not know.
    pub fn check(&self, [batch, m, n]: [usize; 3], order: Order) -> Result<(), InputError> {
        for (leaf, value) in leaves(self.tree).into_iter().zip(&self.values) {
            let (Holds::Matrices(Matrices { extents, .. }) | Holds::Bits(Matrices { extents, .. })) = &*value.holds
            else {
                continue;
            };
            let (rows, cols) = match leaf {
                Node::LoadRow(_) => (1, n),
                Node::LoadColumn(_) => (m, 1),
                Node::LoadMask => mask_extents(m, n, order),
                _ => (m, n),
            };
            let vector = match leaf {
                Node::LoadRow(_) => Some(("row", extents[2], "N", n)),
                Node::LoadColumn(_) => Some(("column", extents[1], "M", m)),
                _ => None,
            };
            if let Some((what, given, extent, needed)) = vector.filter(|v| v.1 != v.3) {
                return Err(InputError::Length { what, name: value.name.clone(), given, extent, needed });
            }
            if extents[1..] != [rows, cols] || (extents[0] != batch && extents[0] != 1) {
                let what = format!("`{}`", value.name);
                return Err(InputError::Shape { what, given: shown(*extents), needed: shown([batch, rows, cols]) });
            }
        }
        Ok(())
    }

    /// Where a matrix is that an epilogue reads or stores beside a D of these extents, in this order, if a call looks at it.
    pub fn placed(&self, program: &Program, argument: usize, extents: [usize; 3], order: Order) -> Option<Placed> {
        let number = |scalar: usize| match &*self.values.get(scalar)?.holds {
            Holds::Number(x) => Some(*x),
            _ => None,
        };
        if program.drops(argument, number) {
            return None;
        }
        match &*self.values.get(argument)?.holds {
            Holds::Matrices(matrices) => Some(matrices.placed()),
            Holds::Output(..) => {
                let mut saved = self.saved(extents, order, program.compute()).into_iter();
                let Saved { dtype, layout, .. } = saved.find(|saved| saved.argument == argument)?;
                Some(Placed { address: 0, dtype, layout })
            }
            _ => None,
        }
    }

    /// The arguments on the host, where D lies in this order.
    pub fn on_host(&self, order: Order) -> anyhow::Result<Tensors> {
        let mut tensors = Vec::new();
        for value in &self.values {
            tensors.push(match &*value.holds {
                Holds::Number(x) => Argument::Number(*x),
                Holds::Matrices(matrices) => Argument::Tensor(matrix::on_host(matrices)?),
                Holds::Bits(bytes) => Argument::Tensor(matrix::on_host(&bytes.in_order(order))?),
                Holds::Absent => Argument::Absent,
                Holds::Output(..) => Argument::Output(None),
            });
        }
        Ok(Tensors { tensors })
    }

    /// The arguments as the reference reads them, where D lies in this order: what sinks stored among them.
    pub fn leaves(&self, order: Order, stored: &[(Saved, Matrices)]) -> Vec<Leaf> {
        let leaf = |(argument, value): (usize, &Value)| match &*value.holds {
            Holds::Number(x) => Leaf::Number(*x),
            Holds::Matrices(matrices) => Leaf::Values(Dense::of(matrices)),
            Holds::Bits(matrices) => Leaf::Values(Dense::of(&spread(matrices, order))),
            Holds::Absent => Leaf::Absent,
            Holds::Output(sink, _) => match stored.iter().find(|(saved, _)| saved.argument == argument) {
                Some((_, bits)) if *sink == Sink::Mask => Leaf::Values(Dense::of(&spread(bits, order))),
                Some((_, matrices)) => Leaf::Values(Dense::of(matrices)),
                None => Leaf::Absent,
            },
        };
        self.values.iter().enumerate().map(leaf).collect()
    }
}

/// What a sink stores: where it goes, and what it is.
pub struct Saved {
    /// Which argument.
    pub argument: usize,
    /// Its name in the epilogue.
    pub name: String,
    /// What it stores.
    pub sink: Sink,
    /// Its file.
    pub path: PathBuf,
    /// Its elements.
    pub dtype: Dtype,
    /// How it lies in memory.
    pub layout: Strided,
}

/// Bytes of a mask beside a D in this order.
fn mask_extents(m: usize, n: usize, order: Order) -> (usize, usize) {
    match order {
        Order::RowMajor => (m, n.div_ceil(8)),
        Order::ColumnMajor => (m.div_ceil(8), n),
    }
}

impl Epilogue {
    /// What the epilogue stores beside a D of these extents, in this order, computing in `compute`: reductions one an entry.
    pub fn saved(&self, [batch, m, n]: [usize; 3], order: Order, compute: Dtype) -> Vec<Saved> {
        let of = |sink: &Sink| match sink {
            Sink::Matrix(t) => (*t, m, n, order),
            Sink::Mask => {
                let (rows, columns) = mask_extents(m, n, order);
                (Dtype::U8, rows, columns, order)
            }
            Sink::Quantize(scales) => {
                let [rows, columns] = scales.extents(m, n);
                (scales.scale, rows, columns, Order::RowMajor)
            }
            Sink::Reduce(r) => match r.axes {
                Axes::Rows => (compute, 1, n, Order::RowMajor),
                Axes::Columns => (compute, m, 1, Order::RowMajor),
                Axes::All => (compute, 1, 1, Order::RowMajor),
            },
        };
        let outputs = self.values.iter().enumerate().filter_map(|(argument, value)| match &*value.holds {
            Holds::Output(sink, path) => Some((argument, &value.name, *sink, path)),
            _ => None,
        });
        outputs
            .map(|(argument, name, sink, path)| {
                let (dtype, rows, columns, order) = of(&sink);
                let layout = Strided::dense_batch(batch, rows, columns, order);
                Saved { argument, name: name.clone(), sink, path: path.clone(), dtype, layout }
            })
            .collect()
    }
}

impl Names for Named {
    fn kind(&self, name: &str) -> Option<NameKind> {
        let array = self.arrays.get(name).map(|array| NameKind::Operand(array.dtype));
        let saved = || self.saved.get(name).map(|(_, dtype)| NameKind::Output(*dtype));
        array.or_else(|| self.scalars.get(name).map(|_| NameKind::Scalar(ScalarKind::Host))).or_else(saved)
    }
    fn all(&self) -> Vec<String> {
        self.arrays.keys().chain(self.scalars.keys()).chain(self.saved.keys()).cloned().collect()
    }
}

impl Named {
    /// Gives each argument of a tree what its leaf reads.
    fn bind(&self, text: &str, parsed: Parsed) -> Result<Epilogue, InputError> {
        let mut values: Vec<Value> = Vec::new();
        let leaves = leaves(parsed.node);
        for (argument, leaf) in parsed.arguments.into_iter().zip(&leaves) {
            let (name, holds) = match argument {
                parse::Argument::Number(x) => (x.to_string(), Rc::new(Holds::Number(x))),
                parse::Argument::Absent => (String::new(), Rc::new(Holds::Absent)),
                parse::Argument::Unnamed => return Err(InputError::Unnamed { leaf: leaf.to_string() }),
                parse::Argument::Named(name) => {
                    let known = values.iter().zip(&leaves).find(|(value, other)| value.name == name && *other == leaf);
                    let holds = match known {
                        Some((value, _)) => value.holds.clone(),
                        None => Rc::new(self.holds(&name, leaf)?),
                    };
                    (name, holds)
                }
            };
            values.push(Value { name, holds });
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Epilogue { text, tree: parsed.node, values })
    }

    fn holds(&self, name: &str, leaf: &Node) -> Result<Holds, InputError> {
        if let (Node::Sink(sink, _), Some((path, _))) = (leaf, self.saved.get(name)) {
            return Ok(Holds::Output(*sink, path.clone()));
        }
        let Some(array) = self.arrays.get(name) else {
            return Ok(Holds::Number(self.scalars.get(name).copied().unwrap_or(f64::NAN)));
        };
        if *leaf == Node::LoadMask {
            let packed = array.clone().matrices(&format!("`{name}`"))?;
            if packed.dtype != Dtype::U8 {
                return Err(InputError::MaskType { name: name.to_owned(), given: packed.dtype });
            }
            return Ok(Holds::Bits(packed));
        }
        let matrices = match leaf {
            Node::LoadRow(_) if array.shape.len() < 3 => array.clone().vector(&format!("the row `{name}`"), true),
            Node::LoadColumn(_) if array.shape.len() < 3 => {
                array.clone().vector(&format!("the column `{name}`"), false)
            }
            _ => array.clone().matrices(&format!("`{name}`")),
        };
        matrices.map(Holds::Matrices)
    }
}

/// The bits of a mask, an element each: 8 times as many along the direction in which D is contiguous.
fn spread(packed: &Matrices, order: Order) -> Matrices {
    let [batch, rows, columns] = packed.extents;
    let (down, across) = if order == Order::RowMajor { (1, 8) } else { (8, 1) };
    let dense = Dense::of(packed);
    let mut bytes = Vec::with_capacity(8 * batch * rows * columns);
    for b in 0..batch {
        for row in 0..down * rows {
            for column in 0..across * columns {
                let byte = dense.at(b, row / down, column / across) as u8;
                bytes.push(byte >> (row % down + column % across) & 1);
            }
        }
    }
    Matrices { dtype: Dtype::U8, extents: [batch, down * rows, across * columns], order: Order::RowMajor, bytes }
}

/// The nodes that have an argument, in the order of arguments.
fn leaves(node: &Node) -> Vec<Node> {
    match node {
        Node::Sink(_, value) => core::iter::once(*node).chain(leaves(value)).collect(),
        leaf if leaf.is_argument() => vec![*leaf],
        _ => node.children().into_iter().flatten().flat_map(leaves).collect(),
    }
}

/// Arguments in the memory of a device.
pub struct Tensors {
    tensors: Vec<Argument>,
}

enum Argument {
    Number(f64),
    Tensor(Box<dyn Matrix>),
    Absent,
    /// What a sink stores, once it has memory.
    Output(Option<Box<dyn Matrix>>),
}

impl Tensors {
    /// The same on the stream's device.
    pub fn to_device(&self, stream: &Stream) -> Result<Tensors, TensorError> {
        let moved = |argument: &Argument| match argument {
            Argument::Number(x) => Ok(Argument::Number(*x)),
            Argument::Tensor(tensor) => tensor.to_device(stream).map(Argument::Tensor),
            Argument::Absent => Ok(Argument::Absent),
            Argument::Output(_) => Ok(Argument::Output(None)),
        };
        Ok(Tensors { tensors: self.tensors.iter().map(moved).collect::<Result<_, _>>()? })
    }

    /// Makes room for what is stored on the stream's device.
    pub fn make_room(&mut self, saved: &[Saved], stream: &Stream) -> Result<(), TensorError> {
        for Saved { argument, dtype, layout, .. } in saved {
            self.tensors[*argument] = Argument::Output(Some(matrix::zeros_on(*dtype, *layout, stream)?));
        }
        Ok(())
    }

    /// What was stored, on the host.
    pub fn stored(&self, saved: &Saved, stream: &Stream) -> Result<Option<Box<dyn Matrix>>, TensorError> {
        match &self.tensors[saved.argument] {
            Argument::Output(Some(tensor)) => tensor.to_host(stream).map(Some),
            _ => Ok(None),
        }
    }

    /// As a call takes them.
    pub fn args(&mut self) -> Result<Args<'_>, TensorError> {
        let mut args = Args::new();
        for argument in &mut self.tensors {
            args.push(match argument {
                Argument::Output(Some(tensor)) => Arg::Write(tensor.raw_mut()?),
                Argument::Output(None) => Arg::Absent,
                Argument::Number(x) => Arg::Number(*x),
                Argument::Tensor(tensor) => Arg::Read(tensor.raw()),
                Argument::Absent => Arg::Absent,
            });
        }
        Ok(args)
    }
}

/// The files that results are written to: D's, if it has one, and those of `--save` with their names.
pub fn targets<'a>(kernel: &'a KernelArgs, out: Option<&Path>) -> Result<Vec<(&'a str, PathBuf)>, InputError> {
    let mut taken: Vec<PathBuf> = Vec::new();
    let mut take = |path: &Path| {
        let written = || path.display().to_string();
        if path.extension().is_none_or(|e| e != "npy") {
            return Err(InputError::OutKind { path: written() });
        }
        files::check_target(path)?;
        let place = files::place(path);
        if taken.contains(&place) {
            return Err(InputError::SameFile { path: written() });
        }
        taken.push(place);
        Ok(())
    };
    out.map(&mut take).transpose()?;
    let mut saves = Vec::new();
    for text in &kernel.save {
        let (name, file) = pair("save", text, "FILE", "--save z=z.npy")?;
        let path = PathBuf::from(file);
        take(&path)?;
        saves.push((name, path));
    }
    Ok(saves)
}

/// `--save`, with the types that are said of its names.
fn saved(
    kernel: &KernelArgs,
    types: &mut BTreeMap<&str, Dtype>,
) -> Result<BTreeMap<String, (PathBuf, Dtype)>, InputError> {
    let mut saved = BTreeMap::new();
    for (name, path) in targets(kernel, None)? {
        let dtype = types.remove(name).unwrap_or(Dtype::F32);
        if saved.insert(name.to_owned(), (path, dtype)).is_some() {
            return Err(InputError::Twice { name: name.to_owned() });
        }
    }
    Ok(saved)
}

/// `--bind-type`.
fn types(kernel: &KernelArgs) -> Result<BTreeMap<&str, Dtype>, InputError> {
    let mut types = BTreeMap::new();
    for text in &kernel.bind_type {
        let (name, given) = pair("bind-type", text, "TYPE", "--bind-type bias=bf16")?;
        if let Some(wanted) = dtype("bind-type", &Some(given.to_owned()))?
            && types.insert(name, wanted).is_some()
        {
            return Err(InputError::Twice { name: name.to_owned() });
        }
    }
    Ok(types)
}

/// `--bind`, with the types that are said of its names.
fn arrays(kernel: &KernelArgs, mut types: BTreeMap<&str, Dtype>) -> Result<BTreeMap<String, TypedArray>, InputError> {
    let mut arrays = BTreeMap::new();
    for text in &kernel.bind {
        let (name, file) = pair("bind", text, "FILE", "--bind bias=bias.npy")?;
        let array = files::read(file)?.typed(types.remove(name), &format!("--bind-type {name}=TYPE"))?;
        if arrays.insert(name.to_owned(), array).is_some() {
            return Err(InputError::Twice { name: name.to_owned() });
        }
    }
    match types.into_keys().next() {
        Some(name) => Err(InputError::NoBind { name: name.to_owned() }),
        None => Ok(arrays),
    }
}

/// `--scalar`.
fn scalars(kernel: &KernelArgs) -> Result<BTreeMap<String, f64>, InputError> {
    let mut scalars = BTreeMap::new();
    for text in &kernel.scalar {
        let (name, given) = pair("scalar", text, "VALUE", "--scalar alpha=0.5")?;
        let value: f64 =
            given.trim().parse().map_err(|_| InputError::Scalar { name: name.to_owned(), given: given.to_owned() })?;
        if scalars.insert(name.to_owned(), value).is_some() {
            return Err(InputError::Twice { name: name.to_owned() });
        }
    }
    Ok(scalars)
}
