//! `warpwright verify`: a result, from a kernel or from a file, against the f64 reference.

use super::{Extents, print, print_json};
use crate::args::VerifyArgs;
use crate::counts::{self, Launched};
use crate::error::InputError;
use crate::files::{self, Matrices};
use crate::operands::{Epilogue, Factors, Saved, memory_order, operand, shown};
use crate::place::Running;
use crate::product::{Product, multiply};
use crate::reference::{Dense, Sums};
use crate::request::Kernel;
use crate::sides::Side;
use crate::tracked::Evaluator;
use crate::verdict::{Verdict, Worst, judge};
use serde::Serialize;
use std::fmt::Write;
use warpwright::{Device, Dtype, FunctionError, Node, Order, RawView, check_tree, spec};

#[derive(Serialize)]
struct Report {
    holds: bool,
    /// Device and kernel, or the file.
    source: String,
    problem: Extents,
    epilogue: String,
    #[serde(flatten)]
    verdict: Verdict,
    /// What the epilogue stored beside D.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Beside>,
    /// The epilogue's functions, whose device texts were compared with their host bodies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    functions: Vec<&'static str>,
    /// Of an emulated device, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    launches: Vec<Launched>,
}

#[derive(Serialize)]
struct Beside {
    name: String,
    #[serde(flatten)]
    verdict: Verdict,
}

/// A result that is judged.
struct Found {
    d: Matrices,
    order: Order,
    /// What was stored beside it.
    stored: Vec<(Saved, Matrices)>,
}

/// Judges; whether every element is right.
pub fn run(args: &VerifyArgs) -> anyhow::Result<bool> {
    let report = match &args.against {
        Some(path) => Report::of_file(args, path)?,
        None => Report::of_kernel(args)?,
    };
    if args.json {
        print_json(&report)?;
    } else {
        print(report.text()?.as_bytes())?;
    }
    Ok(report.holds)
}

impl Report {
    fn of_kernel(args: &VerifyArgs) -> anyhow::Result<Report> {
        let Product { factors, epilogue, device, plan, d, stored, order, launches, .. } =
            multiply(&args.operands, &args.kernel, &args.device)?;
        let stored = stored.into_iter().map(|(saved, matrix)| (saved, matrices_of(matrix.raw()))).collect();
        let found = Found { d: matrices_of(d.raw()), order, stored };
        let source = format!("{} on {}", plan.name(), device.name());
        let narrow = plan.spec.narrow_sums().filter(|_| !device.is_host());
        let functions = compared(epilogue.tree, &device)?;
        Ok(Report {
            launches,
            functions,
            ..Report::new(source, &factors, &epilogue, Sums { acc: plan.spec.acc, narrow }, &found)
        })
    }

    fn of_file(args: &VerifyArgs, path: &str) -> anyhow::Result<Report> {
        let kernel = Kernel::of(&args.kernel)?;
        let running = Running::of(&args.device)?;
        let factors = Factors::read(&args.operands)?;
        let epilogue = Epilogue::read(&args.kernel, &args.operands.typing)?;
        let d = files::read(path)?.typed(kernel.output, "--output-type")?.matrices("D")?;
        factors.check()?;
        let needed = factors.extents();
        if d.extents != needed {
            return Err(
                InputError::Shape { what: path.to_owned(), given: shown(d.extents), needed: shown(needed) }.into()
            );
        }
        let order = memory_order(kernel.order_d.unwrap_or(spec::Order::Row));
        epilogue.check(needed, order)?;
        let (of_a, of_b) = (operand(&factors.a), operand(&factors.b));
        let device = running.open(kernel.tag(of_a, of_b, epilogue.tree))?;
        let desc = kernel.desc(device.info(), of_a, of_b, epilogue.tree);
        let narrow = desc.spec()?.narrow_sums().filter(|_| !device.is_host());
        let compute = if desc.acc == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
        let saved = epilogue.saved(needed, order, compute);
        let stored = saved.into_iter().map(stored).collect::<Result<_, _>>()?;
        let sums = Sums { acc: desc.acc, narrow };
        Ok(Report::new(path.to_owned(), &factors, &epilogue, sums, &Found { d, order, stored }))
    }

    fn new(source: String, factors: &Factors, epilogue: &Epilogue, sums: Sums, found: &Found) -> Report {
        let Found { d, order, stored } = found;
        let leaves = epilogue.leaves(*order, stored);
        let evaluator = Evaluator::new(epilogue.tree, &leaves, sums.acc);
        let (a, b) = (Dense::of(&factors.a), Dense::of(&factors.b));
        let side = |(saved, _): &(Saved, Matrices)| {
            let values = evaluator.values(saved.argument)?;
            Some(Side::new(saved.argument, saved.sink, saved.dtype, values, d.extents))
        };
        let sides = stored.iter().filter_map(side).collect();
        let mut verdicts = judge(&a, &b, sums, &evaluator, &Dense::of(d), d.dtype, sides).into_iter();
        let verdict = verdicts.next().unwrap_or(Verdict::NONE);
        let names = stored.iter().map(|(saved, _)| saved.name.clone());
        let beside: Vec<Beside> = names.zip(verdicts).map(|(name, verdict)| Beside { name, verdict }).collect();
        let problem = Extents::of(factors);
        Report {
            holds: verdict.holds() && beside.iter().all(|beside| beside.verdict.holds()),
            source,
            problem,
            epilogue: epilogue.text.clone(),
            verdict,
            beside,
            functions: Vec::new(),
            launches: Vec::new(),
        }
    }

    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut t = String::new();
        writeln!(t, "{}, {}", self.problem, self.epilogue)?;
        writeln!(t, "from     {}", self.source)?;
        judged(&mut t, "d", self.verdict, "")?;
        for Beside { name, verdict } in &self.beside {
            judged(&mut t, name, *verdict, &format!(" of {name}"))?;
        }
        if !self.functions.is_empty() {
            writeln!(t, "agree    {}: the device's text and the host's body", self.functions.join(", "))?;
        }
        counts::write(&mut t, &self.launches)?;
        Ok(t)
    }
}

/// What came of one output.
fn judged(t: &mut String, name: &str, verdict: Verdict, of: &str) -> std::fmt::Result {
    let Verdict { elements, wrong, worst } = verdict;
    match verdict.holds() {
        true => writeln!(t, "right    {elements} elements{of}")?,
        false => writeln!(t, "WRONG    {wrong} of {elements} elements{of}")?,
    }
    if let Some(Worst { batch, row, column, value, reference, error, allowed, ratio }) = worst {
        writeln!(t, "worst    {name}[{batch}][{row}, {column}] = {value}, the reference is {reference}")?;
        writeln!(t, "         off by {error:.3e}, {ratio:.3} of the {allowed:.3e} allowed")?;
    }
    Ok(())
}

/// What a sink stored, from its file.
fn stored(saved: Saved) -> anyhow::Result<(Saved, Matrices)> {
    let path = saved.path.display().to_string();
    let flag = format!("--bind-type {}=TYPE", saved.name);
    let matrices = files::read(&path)?.typed(Some(saved.dtype), &flag)?.matrices(&format!("`{}`", saved.name))?;
    let needed = saved.layout.extents;
    if matrices.extents != needed {
        return Err(InputError::Shape { what: path, given: shown(matrices.extents), needed: shown(needed) }.into());
    }
    Ok((saved, matrices))
}

/// Compares both sides of each function of a tree. On the CPU an emulated device runs the device's text, if there is NVRTC.
fn compared(tree: &Node, device: &Device) -> Result<Vec<&'static str>, FunctionError> {
    match check_tree(tree, device) {
        Ok(functions) => Ok(functions.iter().map(|f| f.name).collect()),
        Err(FunctionError::Device(_)) if device.is_host() => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

fn matrices_of(d: RawView<'_>) -> Matrices {
    let (dtype, extents) = (d.dtype(), d.extents());
    let order = d.layout().order().unwrap_or_default();
    Matrices { dtype, extents, order, bytes: d.host_bytes().unwrap_or_default().to_vec() }
}
