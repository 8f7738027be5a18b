//! A program with its arguments: checked against the output's extents, ready to be packed or evaluated.

use crate::host::Along;
use crate::{Arg, Args, FieldKind, LeafKind, ParamBlock, Program, ReductionParams, Uses};
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, RawViewMut, Space, Strided};
use warpwright_spec::{Axes, BlockRun, BlockScales, MAX_ARGUMENTS, Problem, ScalarKind, ScaleOrder, Sink};

/// The extents of D: what operands must fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutputShape {
    /// Batch entries or groups.
    pub batch: usize,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
}

impl OutputShape {
    /// Of a problem; where extents differ by group, those that no group exceeds.
    pub fn of(problem: &Problem) -> OutputShape {
        let bound = problem.bound();
        OutputShape { batch: problem.groups(), m: bound.m, n: bound.n }
    }
}

/// An argument that does not fit its epilogue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The wrong number of arguments.
    #[error(
        "the epilogue takes {expected} arguments but {given} are bound: bind one to each scalar, vector and matrix, left to right"
    )]
    Count {
        /// How many the tree has.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// A number where memory belongs, or the reverse.
    #[error("epilogue argument {argument} is {what} and must be {expected}, but {given} is bound to it")]
    Kind {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// What is needed.
        expected: &'static str,
        /// What is there.
        given: &'static str,
    },
    /// A slice of elements below a byte.
    #[error("epilogue argument {argument} ({what}) is a slice that holds each {} in a byte of its own, and kernels read them packed: make a `Tensor` of it, which packs them", dtype.name())]
    Unreadable {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Its elements.
        dtype: Dtype,
    },
    /// An output whose elements share memory.
    #[error("elements of epilogue argument {argument} ({what}) share memory: give each a place of its own")]
    Overlapping {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
    },
    /// Another element type.
    #[error("epilogue argument {argument} ({what}) has elements of {}, but the kernel's are {}: convert it, or build a kernel for it", given.name(), expected.name())]
    Element {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// What the kernel reads.
        expected: Dtype,
        /// What is there.
        given: Dtype,
    },
    /// Extents that do not fit D.
    #[error("epilogue argument {argument} ({what}) is {} x {} x {} (batch x rows x columns), but D is {} x {} x {}: {rule}", given[0], given[1], given[2], output.batch, output.m, output.n)]
    Extents {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Its batch entries, rows and columns.
        given: [usize; 3],
        /// D's.
        output: OutputShape,
        /// What it must be.
        rule: &'static str,
    },
    /// A vector of another length than D has rows or columns.
    #[error("the {what} that is epilogue argument {argument} has {given} elements, but {extent} is {needed}: {rule}")]
    Length {
        /// Which, from 0.
        argument: usize,
        /// `row` or `column`.
        what: &'static str,
        /// Its elements.
        given: usize,
        /// The extent that it runs along: `M` or `N`.
        extent: &'static str,
        /// That extent.
        needed: usize,
        /// What it must be.
        rule: &'static str,
    },
    /// The memory of another device.
    #[error(
        "epilogue argument {argument} ({what}) is in the memory of {given}, but the GEMM runs on {expected}: copy it there"
    )]
    Space {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Where it is.
        given: Space,
        /// Where it must be.
        expected: Space,
    },
    /// A view of less memory than its extents span: null, usually.
    #[error(
        "epilogue argument {argument} ({what}) spans {needed} bytes, but {given} are there: bind the whole operand, or make the scalar in front of it zero"
    )]
    Memory {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Bytes from its first to its last element.
        needed: usize,
        /// Bytes of the view.
        given: usize,
    },
    /// A view that begins inside an element of its memory, which no device reads or writes.
    #[error("epilogue argument {argument} ({what}) of {dtype} begins at {address:#x}: an element's address is a multiple of its {} bytes, so copy it to one", dtype.bits() / 8)]
    InsideElement {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Its element.
        dtype: Dtype,
        /// Where it begins.
        address: u64,
    },
}

/// One checked argument. Strides are in elements; 0 repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot<'a> {
    Number(f64),
    Scalar {
        view: RawView<'a>,
        batch: i64,
    },
    Operand {
        view: RawView<'a>,
        strides: [i64; 3],
    },
    /// What a sink stores; of reductions, the strides between batch entries and between elements.
    Output {
        view: RawViewMut<'a>,
        strides: [i64; 3],
        /// Which way the bits of a mask lie.
        along: Along,
    },
    /// An operand that nobody reads: one that a zero scalar drops, or an optional one that is absent.
    Dropped,
}

/// A program with arguments that fit. Making one allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    pub(crate) slots: [Slot<'a>; MAX_ARGUMENTS],
    compute: Dtype,
    block: ParamBlock,
    accumulator: Uses,
    source: Uses,
    previous: Uses,
}

impl LeafKind {
    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            LeafKind::Scalar(ScalarKind::Host) => "a number",
            LeafKind::Scalar(ScalarKind::Pointer) => "scalar(..)",
            LeafKind::Scalar(ScalarKind::PerBatch) => "per_batch(..)",
            LeafKind::Row(_) => "row(..)",
            LeafKind::Column(_) => "column(..)",
            LeafKind::Source(_) => "source(..)",
            LeafKind::Tile(_) => "tile(..)",
            LeafKind::Output(sink) => output_name(sink),
            LeafKind::Mask => "mask(..)",
        }
    }
}

const fn output_name(sink: Sink) -> &'static str {
    match sink {
        Sink::Matrix(_) => "aux_store(..)",
        Sink::Mask => "aux_mask(..)",
        Sink::Quantize(scales) => match scales.run {
            BlockRun::AlongRows => "quantize_rows(..)",
            BlockRun::AlongColumns => "quantize_columns(..)",
        },
        Sink::Reduce(reduction) => match reduction.axes {
            Axes::Rows => "reduce_rows(..)",
            Axes::Columns => "reduce_columns(..)",
            Axes::All => "reduce_all(..)",
        },
    }
}

impl Program {
    /// Checks arguments against the tree, D's extents and the device that the GEMM runs on.
    ///
    /// A matrix behind a scalar that is a host's zero is not looked at: it may be empty, or anything else.
    ///
    /// # Errors
    /// The first argument that does not fit.
    pub fn bind<'a>(&self, args: &Args<'a>, output: OutputShape, space: Space) -> Result<Bound<'a>, BindError> {
        let mut bound = self.unbound();
        self.bind_in(&mut bound, args, output, space)?;
        Ok(bound)
    }

    /// Arguments that are none yet, for [`bind_in`](Self::bind_in).
    pub fn unbound<'a>(&self) -> Bound<'a> {
        Bound {
            slots: [Slot::Dropped; MAX_ARGUMENTS],
            compute: self.compute(),
            block: *self.block(),
            accumulator: self.reads_accumulator(),
            source: self.reads_source(),
            previous: self.reads_previous(),
        }
    }

    /// As [`bind`](Self::bind), in place: what is [`unbound`](Self::unbound) of this program is three kilobytes, which a call that
    /// takes a microsecond would rather not move.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_in<'a>(
        &self,
        bound: &mut Bound<'a>,
        args: &Args<'a>,
        output: OutputShape,
        space: Space,
    ) -> Result<(), BindError> {
        if args.len() != self.leaves().len() {
            return Err(BindError::Count { expected: self.leaves().len(), given: args.len() });
        }
        let compute = self.compute();
        let number = |scalar: usize| match args.get(scalar) {
            Some(Arg::Number(x)) => Some(x),
            _ => None,
        };
        for (i, leaf) in self.leaves().iter().enumerate() {
            if self.drops(i, number) {
                continue;
            }
            if leaf.optional && matches!(args.get(i), Some(Arg::Absent)) {
                continue;
            }
            bound.slots[i] = Check { argument: i, kind: leaf.kind, output, space, compute }.slot(args.get(i))?;
        }
        Ok(())
    }
}

impl Program {
    /// Whether nobody looks at an argument, where scalars are these numbers of the host: those in memory may be anything.
    pub fn drops(&self, argument: usize, number: impl Fn(usize) -> Option<f64>) -> bool {
        let zero = |scalar: usize| number(scalar).is_some_and(|x| narrowed(x, self.compute()) == 0.0);
        self.leaves().get(argument).is_some_and(|leaf| leaf.unread || leaf.guard.is_some_and(zero))
    }
}

/// A number in the compute type.
pub(crate) fn narrowed(x: f64, compute: Dtype) -> f64 {
    if compute == Dtype::F64 { x } else { f64::from(x as f32) }
}

impl<'a> Bound<'a> {
    /// Whether a program has the arguments that these were bound to.
    pub(crate) fn is_of(&self, program: &Program) -> bool {
        self.block == *program.block() && self.compute == program.compute()
    }
    /// Whether the scalar that is this argument may be other than zero. Scalars in memory may.
    fn may_keep(&self, scalar: usize) -> bool {
        !matches!(self.slots[scalar], Slot::Number(x) if narrowed(x, self.compute) == 0.0)
    }
    /// Whether A and B may be read: false if host scalars drop every use of the accumulator.
    pub fn may_read_accumulator(&self) -> bool {
        self.accumulator.given(|s| self.may_keep(s))
    }
    /// Whether C may be read.
    pub fn may_read_source(&self) -> bool {
        self.source.given(|s| self.may_keep(s))
    }
    /// Whether the previous D may be read.
    pub fn may_read_previous(&self) -> bool {
        self.previous.given(|s| self.may_keep(s))
    }
    /// The view that is this argument, if it is one and is not dropped.
    pub fn view(&self, argument: usize) -> Option<RawView<'a>> {
        match self.slots.get(argument) {
            Some(Slot::Scalar { view, .. } | Slot::Operand { view, .. }) => Some(*view),
            _ => None,
        }
    }

    /// The view that is this argument, if it is an output.
    pub fn output(&self, argument: usize) -> Option<RawViewMut<'a>> {
        match self.slots.get(argument) {
            Some(Slot::Output { view, .. }) => Some(*view),
            _ => None,
        }
    }

    /// Address and strides (batch, M, N, in elements) of the matrix that is this argument, if it is one and is not dropped.
    pub fn matrix(&self, argument: usize) -> Option<(u64, [i64; 3])> {
        match (self.slots.get(argument), self.block.fields().get(argument)?.kind) {
            (Some(Slot::Operand { view, strides }), FieldKind::Matrix(_)) => Some((view.address(), *strides)),
            (Some(Slot::Output { view, strides, .. }), FieldKind::Store(_)) => Some((view.address(), *strides)),
            _ => None,
        }
    }

    /// The fields of the parameters.
    pub fn block(&self) -> &ParamBlock {
        &self.block
    }

    /// Bytes that [`pack`](Self::pack) writes.
    pub fn packed_bytes(&self) -> usize {
        self.block.size()
    }

    /// Writes the kernel's parameters, as [`ParamBlock`] lays them out, to bytes that are zero and at least
    /// [`packed_bytes`](Self::packed_bytes). Dropped matrices get null pointers; `reductions` says where the reduction
    /// that is this argument keeps its partial results.
    pub fn pack(&self, packed: &mut [u8], reductions: impl Fn(usize) -> ReductionParams) {
        for (argument, (field, slot)) in self.block.fields().iter().zip(&self.slots).enumerate() {
            let mut at = field.offset;
            let mut word = |x: [u8; 8]| {
                packed[at..at + 8].copy_from_slice(&x);
                at += 8;
            };
            match *slot {
                Slot::Number(x) => {
                    word([0; 8]);
                    word([0; 8]);
                    let mut value = x.to_le_bytes();
                    if self.compute != Dtype::F64 {
                        value = [0; 8];
                        value[..4].copy_from_slice(&(x as f32).to_le_bytes());
                    }
                    word(value);
                }
                Slot::Scalar { view, batch } => {
                    word(view.address().to_le_bytes());
                    word(batch.to_le_bytes());
                }
                Slot::Operand { view, strides: [batch, m, n] } => {
                    word(view.address().to_le_bytes());
                    match field.kind {
                        FieldKind::Row(_) => word(n.to_le_bytes()),
                        FieldKind::Column(_) => word(m.to_le_bytes()),
                        _ => {
                            word(m.to_le_bytes());
                            word(n.to_le_bytes());
                        }
                    }
                    word(batch.to_le_bytes());
                }
                Slot::Output { view, strides: [batch, m, n], .. } => {
                    word(view.address().to_le_bytes());
                    word(m.to_le_bytes());
                    if let FieldKind::Reduction(_) = field.kind {
                        word(batch.to_le_bytes());
                        let ReductionParams { partials, length, blocks, entries } = reductions(argument);
                        word(partials.to_le_bytes());
                        word((u64::from(blocks) << 32 | u64::from(length)).to_le_bytes());
                        word(u64::from(entries).to_le_bytes());
                    } else {
                        word(n.to_le_bytes());
                        word(batch.to_le_bytes());
                    }
                }
                Slot::Dropped => {}
            }
        }
    }
}

struct Check {
    argument: usize,
    kind: LeafKind,
    output: OutputShape,
    space: Space,
    compute: Dtype,
}

impl Check {
    fn slot<'a>(&self, arg: Option<Arg<'a>>) -> Result<Slot<'a>, BindError> {
        let (argument, what) = (self.argument, self.kind.name());
        let view = match (self.kind, arg) {
            (LeafKind::Scalar(ScalarKind::Host), Some(Arg::Number(x))) => return Ok(Slot::Number(x)),
            (LeafKind::Scalar(ScalarKind::Host), _) => {
                return Err(BindError::Kind { argument, what, expected: "a number of the host", given: "memory" });
            }
            (LeafKind::Output(sink), Some(Arg::Write(view))) => return self.output(sink, view),
            (LeafKind::Output(_), Some(Arg::Overlapping)) => return Err(BindError::Overlapping { argument, what }),
            (LeafKind::Output(_), Some(Arg::Read(_))) => {
                let (expected, given) = ("memory that can be written", "memory that can only be read");
                return Err(BindError::Kind { argument, what, expected, given });
            }
            (_, Some(Arg::Read(view))) => view,
            (_, Some(Arg::Absent)) => {
                let (expected, given) = ("a view of memory", "nothing");
                return Err(BindError::Kind { argument, what, expected, given });
            }
            (_, Some(Arg::Unreadable(dtype))) => return Err(BindError::Unreadable { argument, what, dtype }),
            (_, Some(Arg::Write(_) | Arg::Overlapping)) => {
                return Err(BindError::Kind { argument, what, expected: "read", given: "an output" });
            }
            _ => return Err(BindError::Kind { argument, what, expected: "a view of memory", given: "a number" }),
        };
        let expected = match self.kind {
            LeafKind::Scalar(_) => self.compute,
            LeafKind::Row(t) | LeafKind::Column(t) | LeafKind::Source(t) | LeafKind::Tile(t) => t,
            // An output that was no `Arg::Write` was refused above.
            LeafKind::Output(_) => view.dtype(),
            LeafKind::Mask => Dtype::U8,
        };
        if view.dtype() != expected {
            return Err(BindError::Element { argument, what, expected, given: view.dtype() });
        }
        let slot = match self.kind {
            LeafKind::Scalar(kind) => Slot::Scalar { view, batch: self.scalar(kind, &view.layout())? },
            LeafKind::Row(_) => {
                let (batch, stride) = self.vector(&view.layout(), "row", "N", self.output.n)?;
                Slot::Operand { view, strides: [batch, 0, stride] }
            }
            LeafKind::Column(_) => {
                let (batch, stride) = self.vector(&view.layout(), "column", "M", self.output.m)?;
                Slot::Operand { view, strides: [batch, stride, 0] }
            }
            LeafKind::Source(_) | LeafKind::Tile(_) => Slot::Operand { view, strides: self.matrix(&view.layout())? },
            LeafKind::Mask => Slot::Operand { view, strides: self.bits(&view.layout())? },
            LeafKind::Output(_) => Slot::Dropped,
        };
        self.memory(&view)?;
        Ok(slot)
    }

    /// Whether memory is where the GEMM runs, as much as its extents span, and of whole elements.
    fn memory(&self, view: &RawView<'_>) -> Result<(), BindError> {
        let (argument, what) = (self.argument, self.kind.name());
        let (space, bytes) = (view.space(), view.bytes());
        if self.output.batch == 0 || self.output.m == 0 || self.output.n == 0 {
            return Ok(());
        }
        if space != self.space {
            return Err(BindError::Space { argument, what, given: space, expected: self.space });
        }
        let needed = view.needed_bytes();
        if bytes < needed {
            return Err(BindError::Memory { argument, what, needed, given: bytes });
        }
        if needed > 0 && !view.begins_at_an_element() {
            return Err(BindError::InsideElement { argument, what, dtype: view.dtype(), address: view.address() });
        }
        Ok(())
    }

    fn output<'a>(&self, sink: Sink, view: RawViewMut<'a>) -> Result<Slot<'a>, BindError> {
        let expected = match sink {
            Sink::Matrix(t) => t,
            Sink::Mask => Dtype::U8,
            Sink::Reduce(_) => self.compute,
            Sink::Quantize(scales) => scales.scale,
        };
        if view.dtype() != expected {
            let (argument, what) = (self.argument, self.kind.name());
            return Err(BindError::Element { argument, what, expected, given: view.dtype() });
        }
        let layout = view.layout();
        let OutputShape { batch, m, n } = self.output;
        let mut along = Along::N;
        let strides = match sink {
            Sink::Matrix(_) if layout.extents[0] == batch => self.matrix(&layout)?,
            Sink::Matrix(_) => {
                return Err(self.extents(&layout, "a matrix that is stored has D's batch, rows and columns"));
            }
            Sink::Mask => {
                along = match layout.extents {
                    [b, rows, bytes] if b == batch && (rows, bytes) == (m, n.div_ceil(8)) => Along::N,
                    [b, bytes, columns] if b == batch && (bytes, columns) == (m.div_ceil(8), n) => Along::M,
                    _ => {
                        let rule = "a mask has D's batch, and a byte for every eight elements of a row, or of a column if D is column-major";
                        return Err(self.extents(&layout, rule));
                    }
                };
                layout.strides
            }
            Sink::Quantize(scales) => self.scales(scales, &layout)?,
            Sink::Reduce(reduction) => {
                let (batch, stride) = match reduction.axes {
                    Axes::Rows => self.vector(&layout, "reduction over rows", "N", n)?,
                    Axes::Columns => self.vector(&layout, "reduction over columns", "M", m)?,
                    Axes::All if layout.len() == 1 => (0, 0),
                    Axes::All => (self.scalar(ScalarKind::PerBatch, &layout)?, 0),
                };
                [batch, stride, 0]
            }
        };
        // SAFETY: only its extents, address and length are looked at.
        self.memory(&unsafe { view.as_raw_view() })?;
        Ok(Slot::Output { view, strides, along })
    }

    /// Strides of a matrix of scale factors: between batch entries, and along both its modes.
    fn scales(&self, scales: BlockScales, layout: &Strided) -> Result<[i64; 3], BindError> {
        let OutputShape { batch, m, n } = self.output;
        let [entries, rows, columns] = layout.extents;
        if entries != batch || [rows, columns] != scales.extents(m, n) {
            let rule = match (scales.order, scales.run) {
                (ScaleOrder::Strided, BlockRun::AlongRows) => {
                    "scale factors have D's batch and rows, and a column for each block of a row"
                }
                (ScaleOrder::Strided, BlockRun::AlongColumns) => {
                    "scale factors have D's batch and columns, and a row for each block of a column"
                }
                (ScaleOrder::InAtoms, _) => {
                    "scale factors in atoms have D's batch, a row for each 128 lines, and 512 columns for each 4 blocks"
                }
            };
            return Err(self.extents(layout, rule));
        }
        if scales.order == ScaleOrder::InAtoms && columns > 1 && layout.strides[2] != 1 {
            return Err(self.extents(layout, "rows of atoms are contiguous"));
        }
        Ok(layout.strides)
    }

    fn extents(&self, layout: &Strided, rule: &'static str) -> BindError {
        BindError::Extents {
            argument: self.argument,
            what: self.kind.name(),
            given: layout.extents,
            output: self.output,
            rule,
        }
    }

    /// The stride between batch entries: 0 where one entry serves all.
    fn batch(&self, layout: &Strided) -> Result<i64, BindError> {
        match layout.extents[0] {
            1 => Ok(0),
            b if b == self.output.batch => Ok(layout.strides[0]),
            _ => Err(self.extents(layout, "its batch must be 1, which serves every entry of D's, or D's own")),
        }
    }

    /// Strides between batch entries and between elements.
    fn vector(
        &self,
        layout: &Strided,
        what: &'static str,
        extent: &'static str,
        needed: usize,
    ) -> Result<(i64, i64), BindError> {
        let rule = match extent {
            "N" => "it has one value for each column of D",
            _ => "it has one value for each row of D",
        };
        let [_, rows, columns] = layout.extents;
        let [_, row_stride, column_stride] = layout.strides;
        let stride = match (rows, columns) {
            (1, n) if n == needed => column_stride,
            (m, 1) if m == needed => row_stride,
            (1, given) | (given, 1) => {
                return Err(BindError::Length { argument: self.argument, what, given, extent, needed, rule });
            }
            _ => return Err(self.extents(layout, rule)),
        };
        Ok((self.batch(layout)?, stride))
    }

    fn matrix(&self, layout: &Strided) -> Result<[i64; 3], BindError> {
        let [_, rows, columns] = layout.extents;
        if (rows, columns) != (self.output.m, self.output.n) {
            return Err(self.extents(layout, "it must have D's rows and columns"));
        }
        let [_, m, n] = layout.strides;
        Ok([self.batch(layout)?, m, n])
    }

    /// Strides in bits of a matrix that is packed along one of D's directions, which its extents tell: they are alike only where D
    /// has one element.
    fn bits(&self, layout: &Strided) -> Result<[i64; 3], BindError> {
        let (m, n) = (self.output.m, self.output.n);
        let [_, rows, columns] = layout.extents;
        let [_, row, column] = layout.strides;
        let (length, along, strides) = if (rows, columns) == (m, n.div_ceil(8)) {
            (columns, column, [8 * row, 1])
        } else if (rows, columns) == (m.div_ceil(8), n) {
            (rows, row, [1, 8 * column])
        } else {
            return Err(self.extents(layout, "a mask has a byte for each 8 columns of D, or for each 8 rows"));
        };
        if length > 1 && along != 1 {
            return Err(self.extents(layout, "a mask is contiguous along the direction in which its bits are packed"));
        }
        Ok([8 * self.batch(layout)?, strides[0], strides[1]])
    }

    fn scalar(&self, kind: ScalarKind, layout: &Strided) -> Result<i64, BindError> {
        let [batch, rows, columns] = layout.extents;
        let strides = layout.strides;
        if kind == ScalarKind::Pointer {
            let one = batch == 1 && rows == 1 && columns == 1;
            return if one { Ok(0) } else { Err(self.extents(layout, "a scalar is one value")) };
        }
        let entries = self.output.batch;
        match (batch, rows, columns) {
            (1, 1, n) if n == entries => Ok(strides[2]),
            (1, m, 1) if m == entries => Ok(strides[1]),
            (b, 1, 1) if b == entries => Ok(strides[0]),
            _ => Err(self.extents(layout, "it has one value for each entry of D's batch")),
        }
    }
}
