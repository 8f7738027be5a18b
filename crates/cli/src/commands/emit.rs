//! `warpwright emit`: what a plan generates.

use super::plan::Planned;
use super::{print, print_json};
use crate::args::EmitArgs;
use crate::error::InputError;
use crate::files;
use serde::Serialize;
use std::io::Write;
use std::process::Command;
use warpwright::arch::{Target, nvrtc_target};
use warpwright::kernels::lower;
use warpwright::runtime::Program;
use warpwright::runtime::nvrtc::{self, Compiled};

#[derive(Serialize)]
struct Report {
    kernel: String,
    target: String,
    form: &'static str,
    /// Absent for a cubin, which is written to a file.
    text: Option<String>,
    bytes: usize,
    out: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Cuda,
    Ptx,
    Cubin,
    Sass,
}

impl Form {
    const ALL: [Form; 4] = [Form::Cuda, Form::Ptx, Form::Cubin, Form::Sass];

    const fn name(self) -> &'static str {
        match self {
            Form::Cuda => "cuda",
            Form::Ptx => "ptx",
            Form::Cubin => "cubin",
            Form::Sass => "sass",
        }
    }

    fn of(given: &str) -> Result<Form, InputError> {
        Form::ALL.into_iter().find(|form| form.name() == given).ok_or_else(|| InputError::Name {
            flag: "as",
            given: given.to_owned(),
            what: "a form",
            choices: Form::ALL.map(Form::name).join(", "),
        })
    }
}

/// Generates, and writes or prints it.
pub fn run(args: &EmitArgs) -> anyhow::Result<()> {
    let form = Form::of(&args.form)?;
    match &args.out {
        Some(out) => files::check_target(out)?,
        None if form == Form::Cubin => return Err(InputError::BinaryToTerminal.into()),
        None => {}
    }
    let Planned { info, plan, .. } = Planned::of(&args.problem)?;
    let capability = info.capability.ok_or(InputError::NothingToEmit)?;
    let target = nvrtc_target(plan.spec.arch, capability)?;
    let program = lower::program(&plan)?;
    let contents = emitted(form, &program, target)?;
    if let Some(out) = &args.out {
        files::write_atomically(out, &contents)?;
    }
    if args.json {
        let text = (form != Form::Cubin).then(|| String::from_utf8_lossy(&contents).into_owned());
        let out = args.out.as_ref().map(|path| path.display().to_string());
        let (kernel, target, bytes) = (program.name, target.to_string(), contents.len());
        return print_json(&Report { kernel, target, form: form.name(), text, bytes, out });
    }
    if args.out.is_none() {
        print(&contents)?;
    }
    Ok(())
}

/// The artefacts of a program's launches, one behind the other; launches of one source share it.
fn emitted(form: Form, program: &Program, target: Target) -> anyhow::Result<Vec<u8>> {
    let mut contents = Vec::new();
    let mut seen = Vec::new();
    for launch in &program.launches {
        let unit = (&launch.source, &launch.options);
        if seen.contains(&unit) {
            continue;
        }
        seen.push(unit);
        if form == Form::Cuda {
            contents.extend_from_slice(launch.source.as_bytes());
            continue;
        }
        let Compiled { cubin, ptx, .. } = nvrtc::compile(&launch.source, &launch.entry, target, &launch.options)?;
        match form {
            Form::Ptx => contents.extend_from_slice(ptx.as_bytes()),
            Form::Sass => contents.extend_from_slice(&disassembled(&cubin)?),
            _ => contents.extend_from_slice(&cubin),
        }
    }
    Ok(contents)
}

/// What nvdisasm says of machine code. It is found through WARPWRIGHT_NVDISASM, or on the PATH.
fn disassembled(cubin: &[u8]) -> anyhow::Result<Vec<u8>> {
    let program = std::env::var_os("WARPWRIGHT_NVDISASM").unwrap_or_else(|| "nvdisasm".into());
    let failed = |why: String| InputError::Disassembler { program: program.to_string_lossy().into_owned(), why };
    let mut file = tempfile::Builder::new().suffix(".cubin").tempfile()?;
    file.write_all(cubin)?;
    let output = Command::new(&program)
        .arg("--print-code")
        .arg(file.path())
        .output()
        .map_err(|e| failed(format!("cannot be started: {e}")))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        return Err(failed(format!("failed: {words}")).into());
    }
    Ok(output.stdout)
}
