use crate::error::RunError;
use warpwright_epilogue::{LeafKind, Program};
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, Strided};
use warpwright_spec::{
    Alignment, CopyWidths, Extents, MajorId, Mnk, Order, Problem, ScheduleId, Sink, Spec, check, reads,
};

/// What a plan needs to know of the operands: how they lie, and how wide a copy their addresses and strides permit.
/// Problems whose facts differ have different plans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperandFacts {
    /// How A lies.
    pub order_a: Order,
    /// How B lies.
    pub order_b: Order,
    /// How C lies, if the epilogue reads one; else D's order.
    pub order_c: Order,
    /// How D lies.
    pub order_d: Order,
    /// Copy widths in bytes, in the user's terms.
    pub widths: CopyWidths,
}

/// Where the elements of an operand are, whose memory need not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The first one's address, in bytes; 0 for one that is a multiple of whatever a copy moves, as those of allocations are.
    pub address: u64,
    /// Their type.
    pub dtype: Dtype,
    /// Where the others are.
    pub layout: Strided,
}

impl From<RawView<'_>> for Placed {
    fn from(view: RawView<'_>) -> Placed {
        Placed { address: view.address(), dtype: view.dtype(), layout: view.layout() }
    }
}

impl OperandFacts {
    /// Row-major everywhere but B, 16-byte aligned: K is contiguous in both operands.
    pub const K_MAJOR: OperandFacts = OperandFacts {
        order_a: Order::Row,
        order_b: Order::Column,
        order_c: Order::Row,
        order_d: Order::Row,
        widths: CopyWidths { a: 16, b: 16, c: 16, d: 16 },
    };

    /// What a call is planned by whose A, B and D are there, and whose epilogue's matrices are where `matrix` says of each argument.
    ///
    /// # Errors
    /// [`RunError::Order`], [`RunError::Strides`], [`RunError::Misaligned`] or a broken rule of what no kernel of this spec reads as it
    /// lies.
    pub fn of(
        spec: &Spec,
        epilogue: &Program,
        [a, b, d]: [Placed; 3],
        matrix: impl Fn(usize) -> Option<Placed>,
    ) -> Result<OperandFacts, RunError> {
        let order_d = d.order("D", spec.order_d, Order::Row, true)?;
        let (mut order_c, mut width_c) = (None, CopyWidths::WIDEST);
        let [batch, m, n] = d.layout.extents;
        let beside = |dtype| Placed { address: 0, dtype, layout: Strided::dense_batch(batch, m, n, memory(order_d)) };
        for (i, leaf) in epilogue.leaves().iter().enumerate() {
            let Some(dtype) = is_matrix(leaf.kind) else { continue };
            let name = || format!("epilogue argument {i} ({})", leaf.kind.name());
            let Some(c) = matrix(i) else {
                // Of what nobody looks at this time the kernel is that of a dense one, as it is for problems.
                width_c = width_c.min(beside(dtype).width(&name, Some(order_d)).unwrap_or(1));
                continue;
            };
            let order = *order_c.get_or_insert(natural_order(&c.layout, order_d));
            let width = c.width(&name, order)?;
            // One order and one width serve all: matrices of another order are read element by element.
            width_c = width_c.min(if order.is_some_and(|order| is(&c.layout, order)) { width } else { 1 });
        }
        // Only K-major where the instruction reads nothing else.
        let order_a = a.order("A", spec.order_a, Order::Row, reads(spec.instruction, spec.a, MajorId::MN))?;
        let order_b = b.order("B", spec.order_b, Order::Column, reads(spec.instruction, spec.b, MajorId::MN))?;
        // An automatic schedule takes another instruction where the principal one cannot read an operand as it lies, but for
        // fp8, whose remedy is to transpose once.
        if !matches!(spec.schedule, ScheduleId::AUTO) || spec.a.is_fp8() || spec.b.is_fp8() {
            check(&Spec { order_a: Some(order_a), order_b: Some(order_b), order_d: Some(order_d), ..*spec })?;
        }
        let widths = CopyWidths {
            a: a.width(&|| "A".into(), Some(order_a))?,
            b: b.width(&|| "B".into(), Some(order_b))?,
            c: width_c,
            d: d.width(&|| "D".into(), Some(order_d))?,
        };
        Ok(OperandFacts { order_a, order_b, order_c: order_c.flatten().unwrap_or(order_d), order_d, widths })
    }

    /// The problem of a call whose operands lie so.
    pub fn problem(&self, mnk: Mnk, batch: usize) -> Problem {
        let CopyWidths { a, b, c, d } = self.widths;
        let extents = if batch == 1 { Extents::Dense(mnk) } else { Extents::Batched { mnk, batch } };
        Problem { extents, alignment: Alignment { a, b, c, d } }
    }

    /// How operands of which only the problem is known are taken to lie: as the spec says, else K-major and D row-major, and one line
    /// behind the other where the problem declares [`Alignment::FULL`], as problems do by themselves. Vectors lie either way, as
    /// those of calls do.
    pub(crate) fn usual(spec: &Spec, epilogue: &Program, problem: &Problem) -> OperandFacts {
        let (Mnk { m, n, k }, given) = (problem.bound(), problem.alignment);
        let dense = given == Alignment::FULL;
        // Copies are of powers of two, and elements begin at multiples of their size.
        let width = |declared: usize, order: Order, [rows, columns]: [usize; 2], bits: usize| {
            let (line, lines) = if matches!(order, Order::Row) { (columns, rows) } else { (rows, columns) };
            // Of one line nobody asks where the next one begins. A copy's bits are a power of two, so that what wraps does not matter.
            let beside =
                if dense && lines.saturating_mul(problem.groups()) > 1 { line.wrapping_mul(bits) / 8 } else { 0 };
            CopyWidths::dividing(declared.max(1) | beside)
        };
        let lies = |named: Option<Order>, usual: Order, any: bool, declared, extents: [usize; 2], bits: usize| {
            let of = |order| width(declared, order, extents, bits).max(bits / 8);
            let order = order_of_dense(named, usual, extents, any.then_some(&of));
            (order, of(order))
        };
        let any = |t| reads(spec.instruction, t, MajorId::MN);
        let (order_a, a) = lies(spec.order_a, Order::Row, any(spec.a), given.a, [m, k], spec.a.bits());
        let (order_b, b) = lies(spec.order_b, Order::Column, any(spec.b), given.b, [k, n], spec.b.bits());
        let (order_d, d) = lies(spec.order_d, Order::Row, true, given.d, [m, n], spec.d.bits());
        // One width serves all matrices of the epilogue.
        let matrices = epilogue.leaves().iter().filter_map(|leaf| is_matrix(leaf.kind));
        let c = matrices.map(|t| width(given.c, order_d, [m, n], t.bits())).min().unwrap_or(CopyWidths::WIDEST);
        OperandFacts { order_a, order_b, order_c: order_d, order_d, widths: CopyWidths { a, b, c, d } }
    }
}

/// The element of an argument that is a matrix of D's extents.
fn is_matrix(kind: LeafKind) -> Option<Dtype> {
    match kind {
        LeafKind::Source(t) | LeafKind::Tile(t) | LeafKind::Output(Sink::Matrix(t)) => Some(t),
        _ => None,
    }
}

impl Placed {
    fn alignment_in(&self, order: Order) -> usize {
        self.layout.alignment(self.address, self.dtype, memory(order))
    }

    /// How it lies, if `both` orders are read and a vector may be taken in the better one.
    fn order(&self, operand: &str, fixed: Option<Order>, preferred: Order, both: bool) -> Result<Order, RunError> {
        order(operand, &self.layout, fixed, preferred, both.then_some(&|order| self.alignment_in(order)))
    }

    /// What every address is a multiple of, in bytes: a power of two of at most [`CopyWidths::WIDEST`].
    fn width(&self, operand: &dyn Fn() -> String, order: Option<Order>) -> Result<usize, RunError> {
        let of = |order| self.alignment_in(order);
        let given = order.map_or_else(|| of(Order::Row).min(of(Order::Column)), of);
        match given {
            _ if self.layout.is_empty() => Ok(CopyWidths::WIDEST),
            0 => Err(RunError::Misaligned { operand: operand(), dtype: self.dtype, given }),
            _ => Ok(given.min(CopyWidths::WIDEST)),
        }
    }
}

fn memory(order: Order) -> warpwright_runtime::Order {
    match order {
        Order::Row => warpwright_runtime::Order::RowMajor,
        Order::Column => warpwright_runtime::Order::ColumnMajor,
    }
}

/// Whether a layout is of an order: its lines are contiguous.
fn is(layout: &Strided, order: Order) -> bool {
    let [_, m, n] = layout.extents;
    let [_, row, column] = layout.strides;
    match order {
        Order::Row => column == 1 || n <= 1,
        Order::Column => row == 1 || m <= 1,
    }
}

/// How a matrix lies beside D: a vector, which lies in both orders, as D does.
fn natural_order(layout: &Strided, order_d: Order) -> Option<Order> {
    [order_d, order_d.transposed()].into_iter().find(|&order| is(layout, order))
}

/// How an operand lies: as was fixed, or else as its strides say. A vector lies in both orders: then in the one that permits
/// wider copies, by `aligned`, or the preferred one.
fn order(
    operand: &str,
    layout: &Strided,
    fixed: Option<Order>,
    preferred: Order,
    aligned: Option<&dyn Fn(Order) -> usize>,
) -> Result<Order, RunError> {
    let [_, row, column] = layout.strides;
    if let Some(order) = fixed {
        let fits = is(layout, order) || layout.is_empty();
        return if fits { Ok(order) } else { Err(RunError::Order { operand: operand.into(), row, column, order }) };
    }
    // Nobody reads what is empty.
    if layout.is_empty() {
        return Ok(preferred);
    }
    let other = preferred.transposed();
    match (is(layout, preferred), is(layout, other)) {
        (true, true) if aligned.is_some_and(|of| of(other) > of(preferred)) => Ok(other),
        (true, _) => Ok(preferred),
        (false, true) => Ok(other),
        (false, false) => Err(RunError::Strides { operand: operand.into(), row, column }),
    }
}

/// The same of an operand that lies densely, as was fixed or preferred.
fn order_of_dense(
    fixed: Option<Order>,
    preferred: Order,
    [rows, columns]: [usize; 2],
    aligned: Option<&dyn Fn(Order) -> usize>,
) -> Order {
    let dense = fixed.unwrap_or(preferred);
    let line = |extent| i64::try_from(extent).unwrap_or(i64::MAX);
    let strides = if matches!(dense, Order::Row) { [0, line(columns), 1] } else { [0, 1, line(rows)] };
    let layout = Strided { extents: [1, rows, columns], strides };
    // What lies in an order fits it.
    order("", &layout, fixed, preferred, aligned).unwrap_or(dense)
}
