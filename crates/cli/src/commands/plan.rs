//! `warpwright plan`: which kernel would run, and why, without running it.

use super::{Extents, Types, print, print_json};
use crate::args::{PlanArgs, ProblemArgs};
use crate::error::InputError;
use crate::files;
use crate::operands::{Epilogue, Factors, memory_order, operand};
use crate::place::Place;
use crate::request::{Kernel, Operand, count, dtype, order, preset, shape};
use serde::Serialize;
use warpwright::builder::auto::{self, OperandFacts, Placed, Prediction};
use warpwright::epilogue::{Program, ascii, svg};
use warpwright::spec;
use warpwright::{DeviceInfo, KernelPlan, Mnk, Node, Problem, Strided, Tuning};

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
        let ([a, b], [at_a, at_b], extents) = factors(args)?;
        let epilogue = Epilogue::read(&args.kernel, &args.typing)?;
        let info = match preset {
            Some(info) => info,
            None => place.info(kernel.tag(a, b, epilogue.tree))?,
        };
        let spec = kernel.desc(&info, a, b, epilogue.tree).spec()?;
        let program = Program::of(spec.epilogue, spec.acc, spec.d)?;
        let Extents { m, n, batch, .. } = extents;
        let order_d = memory_order(spec.order_d.unwrap_or(spec::Order::Row));
        epilogue.check([batch, m, n], order_d)?;
        let d = Placed { address: 0, dtype: spec.d, layout: Strided::dense_batch(batch, m, n, order_d) };
        let matrix = |argument| epilogue.placed(&program, argument, [batch, m, n], order_d);
        let facts = OperandFacts::of(&spec, &program, [at_a, at_b, d], matrix)?;
        let problem = facts.problem(extents.mnk(), batch);
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

/// What A and B are and where, and the extents: from files, or from the options.
fn factors(args: &ProblemArgs) -> anyhow::Result<([Operand; 2], [Placed; 2], Extents)> {
    if let (Some(a), Some(b)) = (&args.a, &args.b) {
        let factors = Factors::of(a, b, &args.typing)?;
        factors.check()?;
        let Factors { a, b, .. } = &factors;
        return Ok(([operand(a), operand(b)], [a.placed(), b.placed()], Extents::of(&factors)));
    }
    let Mnk { m, n, k } = shape(args.shape.as_deref().ok_or(InputError::NoProblem)?)?;
    let batch = args.batch.as_deref().map_or(Ok(1), |text| count("batch", text, 0))?;
    let type_a = dtype("type-a", &args.typing.type_a)?.ok_or(InputError::NoType)?;
    let type_b = dtype("type-b", &args.typing.type_b)?.unwrap_or(type_a);
    let a = Operand { dtype: type_a, order: order("order-a", &args.order_a)?.unwrap_or(spec::Order::Row) };
    let b = Operand { dtype: type_b, order: order("order-b", &args.order_b)?.unwrap_or(spec::Order::Row) };
    let placed = |Operand { dtype, order }, rows, columns| {
        let layout = Strided::dense_batch(batch, rows, columns, memory_order(order));
        Placed { address: 0, dtype, layout }
    };
    Ok(([a, b], [placed(a, m, k), placed(b, k, n)], Extents { m, n, k, batch }))
}
