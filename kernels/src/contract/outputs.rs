//! What an epilogue's outputs must be beside what binding them checks: memory of their own, and bits that lie as D does.

use super::arguments::Arguments;
use super::can_implement::{CanImplementError, Seen, injective};
use warpwright_epilogue::{Arg, FieldKind, ParamBlock};
use warpwright_spec::{Axes, BlockRun, BlockScales, KernelPlan, Order, Problem, ProblemKind, Reduction};

pub(super) fn check_outputs(
    plan: &KernelPlan,
    problem: &Problem,
    arguments: &Arguments<'_>,
) -> Result<(), CanImplementError> {
    let args = arguments.epilogue;
    if !args.iter().any(|arg| matches!(arg, Arg::Write(_))) {
        return Ok(());
    }
    let kind = problem.kind();
    if !matches!(kind, ProblemKind::Dense | ProblemKind::Batched | ProblemKind::PointerArray) {
        return Err(CanImplementError::Outputs { kind });
    }
    // Too many arguments are refused when they are bound.
    let Ok(block) = ParamBlock::of(plan.spec.epilogue) else { return Ok(()) };
    let outputs = || {
        args.iter().zip(block.fields()).enumerate().filter_map(|(i, (arg, field))| match arg {
            // SAFETY: only its address and extents are looked at.
            Arg::Write(view) => Some((i, name(field.kind), field.kind, Seen::from(unsafe { view.as_raw_view() }))),
            _ => None,
        })
    };
    let d = Seen::written(arguments);
    for (argument, what, kind, seen) in outputs() {
        if !injective(seen.layout()) {
            let layout = *seen.layout();
            return Err(CanImplementError::SharedOutput {
                argument,
                what,
                extents: layout.extents,
                strides: layout.strides,
            });
        }
        let along_m = plan.order_d() == Order::Column;
        if !lines_of_bytes(&seen, along_m) {
            let (dtype, strides) = (seen.dtype(), seen.layout().strides);
            return Err(CanImplementError::PackedOutput { argument, what, dtype, strides });
        }
        let bytes = if along_m { problem.bound().m } else { problem.bound().n }.div_ceil(8);
        let [_, rows, columns] = seen.layout().extents;
        if kind == FieldKind::Mask && bytes != if along_m { rows } else { columns } {
            return Err(CanImplementError::Mask { argument, rows, columns });
        }
        let overlaps = |other| Err(CanImplementError::OutputOverlap { argument, what, other });
        let own = [("A", Seen::from(arguments.a)), ("B", Seen::from(arguments.b))];
        if seen.overlaps(&d) {
            return overlaps("D".to_owned());
        }
        let extra = arguments.extra.iter().map(|(name, view)| (*name, Seen::from(*view)));
        if let Some((other, _)) = own.into_iter().chain(extra).find(|(_, other)| seen.overlaps(other)) {
            return overlaps(other.to_owned());
        }
        for (other, (arg, field)) in args.iter().zip(block.fields()).enumerate() {
            let theirs = match arg {
                Arg::Read(view) => Seen::from(view),
                // SAFETY: as above.
                Arg::Write(view) if other > argument => Seen::from(unsafe { view.as_raw_view() }),
                _ => continue,
            };
            if seen.overlaps(&theirs) {
                return overlaps(format!("epilogue argument {other} ({})", name(field.kind)));
            }
        }
    }
    Ok(())
}

/// Whether no byte of a matrix holds elements of two lines, which may be different threads'.
fn lines_of_bytes(seen: &Seen, along_m: bool) -> bool {
    let bits = seen.dtype().bits();
    let [batch, m, n] = seen.layout().strides;
    let [_, rows, columns] = seen.layout().extents;
    let ((length, along), across) = if along_m { ((rows, m), n) } else { ((columns, n), m) };
    let whole = |stride: i64| (stride * bits as i64) % 8 == 0;
    bits >= 8 || (length < 2 || along == 1) && whole(across) && whole(batch)
}

const fn name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Scalar => "a scalar",
        FieldKind::Row(_) => "row(..)",
        FieldKind::Column(_) => "column(..)",
        FieldKind::Matrix(_) => "a matrix",
        FieldKind::Bits => "mask(..)",
        FieldKind::Store(_) => "aux_store(..)",
        FieldKind::Mask => "aux_mask(..)",
        FieldKind::ScaleFactors(BlockScales { run: BlockRun::AlongRows, .. }) => "quantize_rows(..)",
        FieldKind::ScaleFactors(BlockScales { run: BlockRun::AlongColumns, .. }) => "quantize_columns(..)",
        FieldKind::Reduction(Reduction { axes: Axes::Rows, .. }) => "reduce_rows(..)",
        FieldKind::Reduction(Reduction { axes: Axes::Columns, .. }) => "reduce_columns(..)",
        FieldKind::Reduction(Reduction { axes: Axes::All, .. }) => "reduce_all(..)",
    }
}
