//! `warpwright verify`: a result, from a kernel or from a file, against the f64 reference.

use super::{Extents, print, print_json};
use crate::args::VerifyArgs;
use crate::counts::{self, Launched};
use crate::error::InputError;
use crate::files::{self, Matrices};
use crate::operands::{Epilogue, Factors, operand, shown};
use crate::place::Running;
use crate::product::{Product, multiply};
use crate::reference::{Dense, Sums};
use crate::request::Kernel;
use crate::tracked::Evaluator;
use crate::verdict::{Verdict, Worst, judge};
use serde::Serialize;
use std::fmt::Write;
use warpwright::{Device, FunctionError, Node, RawView, check_tree};

#[derive(Serialize)]
struct Report {
    holds: bool,
    /// Device and kernel, or the file.
    source: String,
    problem: Extents,
    epilogue: String,
    #[serde(flatten)]
    verdict: Verdict,
    /// The epilogue's functions, whose device texts were compared with their host bodies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    functions: Vec<&'static str>,
    /// Of an emulated device, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    launches: Vec<Launched>,
}

/// Judges; whether every element is right.
pub fn run(args: &VerifyArgs) -> anyhow::Result<bool> {
    let epilogue = Epilogue::read(&args.kernel, &args.operands.typing)?;
    if epilogue.tree.line_steps() > 0 {
        return Err(InputError::Neighbours { epilogue: epilogue.text }.into());
    }
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
        let Product { factors, epilogue, device, plan, d, launches, .. } =
            multiply(&args.operands, &args.kernel, &args.device)?;
        let d = matrices_of(d.raw());
        let source = format!("{} on {}", plan.name(), device.name());
        let narrow = plan.spec.narrow_sums().filter(|_| !device.is_host());
        let functions = compared(epilogue.tree, &device)?;
        Ok(Report {
            launches,
            functions,
            ..Report::new(source, &factors, &epilogue, Sums { acc: plan.spec.acc, narrow }, &d)
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
        epilogue.check(needed)?;
        let (of_a, of_b) = (operand(&factors.a), operand(&factors.b));
        let device = running.open(kernel.tag(of_a, of_b, epilogue.tree))?;
        let desc = kernel.desc(device.info(), of_a, of_b, epilogue.tree);
        let narrow = desc.spec()?.narrow_sums().filter(|_| !device.is_host());
        Ok(Report::new(path.to_owned(), &factors, &epilogue, Sums { acc: desc.acc, narrow }, &d))
    }

    fn new(source: String, factors: &Factors, epilogue: &Epilogue, sums: Sums, d: &Matrices) -> Report {
        let leaves = epilogue.leaves();
        let evaluator = Evaluator::new(epilogue.tree, &leaves, sums.acc);
        let (a, b) = (Dense::of(&factors.a), Dense::of(&factors.b));
        let verdict = judge(&a, &b, sums, &evaluator, &Dense::of(d), d.dtype);
        let problem = Extents::of(factors);
        Report {
            holds: verdict.holds(),
            source,
            problem,
            epilogue: epilogue.text.clone(),
            verdict,
            functions: Vec::new(),
            launches: Vec::new(),
        }
    }

    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut t = String::new();
        let Verdict { elements, wrong, worst } = self.verdict;
        writeln!(t, "{}, {}", self.problem, self.epilogue)?;
        writeln!(t, "from     {}", self.source)?;
        match self.holds {
            true => writeln!(t, "right    {elements} elements")?,
            false => writeln!(t, "WRONG    {wrong} of {elements} elements")?,
        }
        if let Some(Worst { batch, row, column, value, reference, error, allowed, ratio }) = worst {
            writeln!(t, "worst    d[{batch}][{row}, {column}] = {value}, the reference is {reference}")?;
            writeln!(t, "         off by {error:.3e}, {ratio:.3} of the {allowed:.3e} allowed")?;
        }
        if !self.functions.is_empty() {
            writeln!(t, "agree    {}: the device's text and the host's body", self.functions.join(", "))?;
        }
        counts::write(&mut t, &self.launches)?;
        Ok(t)
    }
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
