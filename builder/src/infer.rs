//! From the operands of a call to its problem. Whether a plan can execute it is `can_implement`'s to say.

use crate::auto::{OperandFacts, Placed};
use crate::error::RunError;
use warpwright_epilogue::{Bound, OutputShape, Program};
use warpwright_kernels::Arguments;
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, Space, Strided};
use warpwright_spec::{Mnk, Problem, Spec};

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
    // SAFETY: only its extents and address are looked at.
    let stored = |i| bound.output(i).map(|view| unsafe { view.as_raw_view() });
    let matrix = |i| bound.view(i).or_else(|| stored(i)).map(Placed::from);
    let facts = OperandFacts::of(spec, epilogue, [a, b, seen].map(Placed::from), matrix)?;
    let arguments = Arguments { a: broadcast(a, batch), b: broadcast(b, batch), d, epilogue: given.epilogue, extra };
    Ok(Call { problem: facts.problem(mnk, batch), facts, arguments })
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
