//! From the operands of a call to its problem. Whether a plan can execute it is `can_implement`'s to say.

use crate::auto::OperandFacts;
use crate::error::RunError;
use warpwright_epilogue::{Bound, LeafKind, OutputShape, Program};
use warpwright_kernels::Arguments;
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, Space, Strided};
use warpwright_spec::{Alignment, CopyWidths, Extents, MajorId, Mnk, Order, Problem, Sink, Spec, reads};

/// A call whose operands fit one another: its problem, how its operands lie, and the operands, broadcast over the batch.
pub(crate) struct Call<'a> {
    pub(crate) problem: Problem,
    pub(crate) facts: OperandFacts,
    pub(crate) arguments: Arguments<'a>,
}

/// Checks the operands of a call against one another and against the kernel's spec and epilogue, whose arguments it puts into
/// `bound`.
pub(crate) fn infer<'a>(
    spec: &Spec,
    epilogue: &Program,
    space: Space,
    given: &Arguments<'a>,
    bound: &mut Bound<'a>,
) -> Result<Call<'a>, RunError> {
    let Arguments { a, b, d, extra, .. } = *given;
    check_type("A", spec.a, a.dtype())?;
    check_type("B", spec.b, b.dtype())?;
    check_type("D", spec.d, d.dtype())?;
    let ([batch_a, m, k], [batch_b, k_b, n], [batch, m_d, n_d]) = (a.extents(), b.extents(), d.extents());
    if k != k_b {
        return Err(RunError::Contraction { a: k, b: k_b });
    }
    if (m, n) != (m_d, n_d) {
        return Err(RunError::Output { given: (m_d, n_d), product: (m, n), k });
    }
    check_batch("A", batch_a, batch)?;
    check_batch("B", batch_b, batch)?;
    let mnk = Mnk { m, n, k };
    epilogue.bind_in(bound, given.epilogue, OutputShape { batch, m, n }, space)?;
    let of_d = |order| d.alignment_in(runtime_order(order));
    let order_d = order("D", &d.layout(), spec.order_d, Order::Row, Some(&of_d))?;
    let (mut order_c, mut align_c) = (None, CopyWidths::WIDEST);
    for (i, leaf) in epilogue.leaves().iter().enumerate() {
        let view = match leaf.kind {
            LeafKind::Source(_) | LeafKind::Tile(_) => bound.view(i),
            // SAFETY: only its extents and address are looked at.
            LeafKind::Output(Sink::Matrix(_)) => bound.output(i).map(|view| unsafe { view.as_raw_view() }),
            _ => None,
        };
        if let Some(view) = view {
            let name = || format!("epilogue argument {i} ({})", leaf.kind.name());
            let order = *order_c.get_or_insert(natural_order(&view.layout(), order_d));
            let lies = order.map_or(view.alignment(), |order| view.alignment_in(runtime_order(order)));
            let aligned = alignment(&name, view.dtype(), view.is_empty(), lies)?;
            // One order and one width serve all: matrices of another order are read element by element.
            align_c = align_c.min(if order.is_some_and(|order| is(&view.layout(), order)) { aligned } else { 1 });
        }
    }
    for (name, view) in extra {
        check_space(&|| (*name).into(), view.space(), view.is_empty(), space)?;
        check_whole(name, view)?;
    }
    check_space(&|| "A".into(), a.space(), a.is_empty(), space)?;
    check_space(&|| "B".into(), b.space(), b.is_empty(), space)?;
    check_space(&|| "D".into(), d.space(), d.is_empty(), space)?;
    if bound.may_read_accumulator() && mnk.m * mnk.n > 0 {
        check_memory("A", &a)?;
        check_memory("B", &b)?;
        check_whole("A", &a)?;
        check_whole("B", &b)?;
    }
    // SAFETY: only its extents, address and length are looked at.
    let seen = unsafe { d.as_raw_view() };
    check_memory("D", &seen)?;
    check_whole("D", &seen)?;
    let of_a = |order| a.alignment_in(runtime_order(order));
    let of_b = |order| b.alignment_in(runtime_order(order));
    // Only K-major where the instruction reads nothing else.
    let any_a = reads(spec.instruction, spec.a, MajorId::MN);
    let any_b = reads(spec.instruction, spec.b, MajorId::MN);
    let order_a = order("A", &a.layout(), spec.order_a, Order::Row, any_a.then_some(&of_a))?;
    let order_b = order("B", &b.layout(), spec.order_b, Order::Column, any_b.then_some(&of_b))?;
    let alignment = Alignment {
        a: alignment(&|| "A".into(), a.dtype(), a.is_empty(), of_a(order_a))?,
        b: alignment(&|| "B".into(), b.dtype(), b.is_empty(), of_b(order_b))?,
        c: align_c,
        d: alignment(&|| "D".into(), d.dtype(), d.is_empty(), of_d(order_d))?,
    };
    let facts = OperandFacts {
        order_a,
        order_b,
        order_c: order_c.flatten().unwrap_or(order_d),
        order_d,
        widths: CopyWidths { a: alignment.a, b: alignment.b, c: alignment.c, d: alignment.d },
    };
    let extents = if batch == 1 { Extents::Dense(mnk) } else { Extents::Batched { mnk, batch } };
    let arguments = Arguments { a: broadcast(a, batch), b: broadcast(b, batch), d, epilogue: given.epilogue, extra };
    Ok(Call { problem: Problem { extents, alignment }, facts, arguments })
}

fn check_type(operand: &str, expected: Dtype, given: Dtype) -> Result<(), RunError> {
    if given == expected { Ok(()) } else { Err(RunError::Type { operand: operand.into(), given, expected }) }
}

fn check_batch(operand: &str, given: usize, batch: usize) -> Result<(), RunError> {
    if given == batch || given == 1 {
        Ok(())
    } else {
        Err(RunError::Batch { operand: operand.into(), given, expected: batch })
    }
}

fn check_space(operand: &dyn Fn() -> String, given: Space, empty: bool, expected: Space) -> Result<(), RunError> {
    if given == expected || empty { Ok(()) } else { Err(RunError::WrongDevice { operand: operand(), given, expected }) }
}

fn check_whole(operand: &str, view: &RawView<'_>) -> Result<(), RunError> {
    if view.is_empty() || view.begins_at_an_element() {
        return Ok(());
    }
    Err(RunError::InsideElement { operand: operand.into(), dtype: view.dtype(), address: view.address() })
}

fn check_memory(operand: &str, view: &RawView<'_>) -> Result<(), RunError> {
    let (needed, given) = (view.needed_bytes(), view.bytes());
    if given >= needed { Ok(()) } else { Err(RunError::Short { operand: operand.into(), needed, given }) }
}

/// What every address of an operand is a multiple of, in bytes: a power of two of at most [`CopyWidths::WIDEST`].
fn alignment(operand: &dyn Fn() -> String, dtype: Dtype, empty: bool, given: usize) -> Result<usize, RunError> {
    match given {
        _ if empty => Ok(CopyWidths::WIDEST),
        0 => Err(RunError::Misaligned { operand: operand(), dtype, given }),
        _ => Ok(given.min(CopyWidths::WIDEST)),
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
pub(crate) fn order_of_dense(
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

fn runtime_order(order: Order) -> warpwright_runtime::Order {
    match order {
        Order::Row => warpwright_runtime::Order::RowMajor,
        Order::Column => warpwright_runtime::Order::ColumnMajor,
    }
}

/// The same operand for every batch entry, if it is one for all.
fn broadcast(view: RawView<'_>, batch: usize) -> RawView<'_> {
    let [entries, m, n] = view.extents();
    let [_, row, column] = view.strides();
    if entries != 1 || batch == 1 {
        return view;
    }
    let layout = Strided { extents: [batch, m, n], strides: [0, row, column] };
    // SAFETY: repeating an entry with a stride of zero reaches over the same bytes, which the view borrows.
    unsafe { RawView::new(view.address(), view.bytes(), view.space(), view.dtype(), layout) }
}
