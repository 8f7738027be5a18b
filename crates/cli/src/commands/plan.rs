//! `warpwright plan`: which kernel would run, and why, without running it.

use super::{Extents, Types, print, print_json};
use crate::args::{PlanArgs, ProblemArgs};
use crate::error::InputError;
use crate::files;
use crate::operands::{Epilogue, Factors, memory_order, operand};
use crate::place::Place;
use crate::product::problem;
use crate::request::{Kernel, Operand, count, dtype, order, preset, shape};
use serde::Serialize;
use warpwright::builder::auto::{self, OperandFacts, Prediction};
use warpwright::epilogue::{ascii, svg};
use warpwright::spec::{self, CopyWidths};
use warpwright::{DeviceInfo, KernelPlan, Mnk, Node, Problem, Tuning};

/// A plan with what it was made for.
pub struct Planned {
    /// The device.
    pub info: DeviceInfo,
    /// The plan.
    pub plan: KernelPlan,
    is_tuned: bool,
    problem: Problem,
    extents: Extents,
}

#[derive(Serialize)]
struct Report {
    kernel: String,
    device: String,
    arch: &'static str,
    problem: Extents,
    types: Types,
    epilogue: String,
    schedule: &'static str,
    scheduler: &'static str,
    instruction: &'static str,
    /// In the kernel's terms, as the cluster.
    tile: [usize; 3],
    cluster: [usize; 3],
    transposed: bool,
    stages: usize,
    threads: usize,
    shared_bytes: usize,
    tiles: usize,
    waves: usize,
    predicted_seconds: f64,
    /// The epilogue, drawn in ASCII.
    tree: String,
    explanation: String,
}

/// Plans, and says why.
pub fn run(args: &PlanArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.tree_svg {
        files::check_target(path)?;
    }
    let planned = Planned::of(&args.problem)?;
    let mut explanation = auto::explain(&planned.plan, &planned.info, &planned.problem);
    if planned.is_tuned {
        explanation.push_str(Tuning::NOTE);
    }
    let tree = planned.plan.spec.epilogue;
    if let Some(path) = &args.tree_svg {
        files::write_atomically(path, svg(tree).as_bytes())?;
    }
    if args.json {
        return print_json(&planned.report(explanation));
    }
    print(explanation.as_bytes())?;
    if *tree != Node::LoadAcc {
        let drawn: String = ascii(tree).lines().map(|line| format!("    {line}\n")).collect();
        print(format!("  tree\n{drawn}").as_bytes())?;
    }
    Ok(())
}

impl Planned {
    /// Reads the options and plans.
    pub fn of(args: &ProblemArgs) -> anyhow::Result<Planned> {
        let kernel = Kernel::of(&args.kernel)?;
        let preset = args.device_preset.as_deref().map(preset).transpose()?;
        let place = Place::of(args.device.as_deref())?;
        let (a, b, extents) = factors(args)?;
        let epilogue = Epilogue::read(&args.kernel, &args.typing)?;
        let info = match preset {
            Some(info) => info,
            None => place.info(kernel.tag(a, b, epilogue.tree))?,
        };
        let spec = kernel.desc(&info, a, b, epilogue.tree).spec()?;
        let order_d = spec.order_d.unwrap_or(spec::Order::Row);
        let order_c = epilogue.order_c().unwrap_or(order_d);
        let Extents { m, n, k, batch } = extents;
        let widths = CopyWidths {
            a: width(a, m, k, batch),
            b: width(b, k, n, batch),
            c: epilogue.on_host(memory_order(order_d))?.alignment(epilogue.tree).max(1),
            d: width(Operand { dtype: spec.d, order: order_d }, m, n, batch),
        };
        let facts = OperandFacts { order_a: a.order, order_b: b.order, order_c, order_d, widths };
        let CopyWidths { a, b, c, d } = widths;
        let problem = problem(extents.mnk(), batch).aligned(spec::Alignment { a, b, c, d });
        let tuned = Tuning::global().plan(&spec, &info, &problem, &facts);
        let is_tuned = tuned.is_some();
        let plan = tuned.map_or_else(|| auto::resolve(&spec, &info, &problem, &facts), Ok)?;
        Ok(Planned { info, plan, is_tuned, problem, extents })
    }

    fn report(&self, explanation: String) -> Report {
        let Planned { info, plan, problem, extents, .. } = self;
        let Prediction { tiles, waves, seconds, .. } = auto::predict(plan, info, problem);
        Report {
            kernel: plan.name(),
            device: info.name.clone(),
            arch: plan.spec.arch.lower_name(),
            problem: *extents,
            types: Types::of(plan),
            epilogue: plan.spec.epilogue.to_string(),
            schedule: plan.spec.schedule.name(),
            scheduler: plan.spec.scheduler.name(),
            instruction: plan.spec.instruction.name(),
            tile: [plan.tile.m, plan.tile.n, plan.tile.k],
            cluster: [plan.cluster.m, plan.cluster.n, plan.cluster.k],
            transposed: plan.transposed,
            stages: plan.resources.stages,
            threads: plan.resources.threads,
            shared_bytes: plan.resources.shared_bytes,
            tiles,
            waves,
            predicted_seconds: seconds,
            tree: ascii(plan.spec.epilogue),
            explanation,
        }
    }
}

/// A, B and the extents: from files, or from the options.
fn factors(args: &ProblemArgs) -> anyhow::Result<(Operand, Operand, Extents)> {
    if let (Some(a), Some(b)) = (&args.a, &args.b) {
        let factors = Factors::of(a, b, &args.typing)?;
        factors.check()?;
        return Ok((operand(&factors.a), operand(&factors.b), Extents::of(&factors)));
    }
    let Mnk { m, n, k } = shape(args.shape.as_deref().ok_or(InputError::NoProblem)?)?;
    let batch = args.batch.as_deref().map_or(Ok(1), |text| count("batch", text, 0))?;
    let type_a = dtype("type-a", &args.typing.type_a)?.ok_or(InputError::NoType)?;
    let type_b = dtype("type-b", &args.typing.type_b)?.unwrap_or(type_a);
    let a = Operand { dtype: type_a, order: order("order-a", &args.order_a)?.unwrap_or(spec::Order::Row) };
    let b = Operand { dtype: type_b, order: order("order-b", &args.order_b)?.unwrap_or(spec::Order::Row) };
    Ok((a, b, Extents { m, n, k, batch }))
}

/// Bytes that one copy of a dense operand may move: a power of two up to 16 that divides every line's start.
fn width(Operand { dtype, order }: Operand, rows: usize, cols: usize, batch: usize) -> usize {
    let (line, lines) = match order {
        spec::Order::Row => (cols, rows),
        spec::Order::Column => (rows, cols),
    };
    let bits = |extent: usize, distance: usize| if extent > 1 { distance.wrapping_mul(dtype.bits()) } else { 0 };
    let starts = bits(lines, line) | bits(batch, line.wrapping_mul(lines)) | 128;
    ((1 << starts.trailing_zeros()) / 8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwright::Dtype;

    #[test]
    fn widths_of_dense_operands() {
        let row = |dtype| Operand { dtype, order: spec::Order::Row };
        assert_eq!(width(row(Dtype::F16), 8, 64, 1), 16);
        assert_eq!(width(row(Dtype::F16), 8, 65, 1), 2);
        assert_eq!(width(row(Dtype::F16), 1, 65, 1), 16);
        assert_eq!(width(row(Dtype::F16), 1, 66, 2), 4);
        assert_eq!(width(row(Dtype::F32), 3, 6, 1), 8);
    }
}
