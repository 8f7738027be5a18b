//! The `warpwright` command: matrices in files, multiplied, explained, and checked.
//!
//! [`args`] is what was typed, [`request`] what it means, [`files`] and [`operands`] the matrices, and each command is one
//! file of [`commands`]. Exit codes: 0, 1 when a result falls short, 2 when the input is bad.

mod args;
mod blocks;
mod commands;
mod counts;
mod error;
mod files;
mod matrix;
mod operands;
mod place;
mod product;
mod progress;
mod reference;
mod remedy;
mod request;
mod sides;
mod top_k;
mod tracked;
mod verdict;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind;
use std::io::Write;
use std::process::ExitCode;
use warpwright::{RunError, runtime};

/// Every check of the command was passed.
const DONE: u8 = 0;
/// A result falls short, or an emulated kernel broke a rule.
const SHORT: u8 = 1;
/// The input is bad, or the machine cannot do it.
const BAD: u8 = 2;

/// Warnings of the libraries go to standard error.
struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }
    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            complain(format_args!("{}: {}", record.level().as_str().to_lowercase(), record.args()));
        }
    }
    fn flush(&self) {}
}

fn main() -> ExitCode {
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misspelt(&error),
    };
    let done = match cli.command {
        Command::Devices(args) => commands::devices::run(&args).map(|()| DONE),
        Command::Gemm(args) => commands::gemm::run(&args).map(|()| DONE),
        Command::Plan(args) => commands::plan::run(&args).map(|()| DONE),
        Command::Emit(args) => commands::emit::run(&args).map(|()| DONE),
        Command::Layout(args) => commands::layout::run(&args).map(|formed| if formed { DONE } else { BAD }),
        Command::Profile(args) => commands::profile::run(&args).map(|held| if held { DONE } else { SHORT }),
        Command::Verify(args) => commands::verify::run(&args).map(|holds| if holds { DONE } else { SHORT }),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        match remedy::of(&error) {
            Some(remedy) => complain(format_args!("{error}; {remedy}")),
            None => complain(format_args!("{error}")),
        }
        code_of(&error)
    }))
}

/// A kernel that broke a rule on an emulated device falls short; whatever else went wrong is the input's or the machine's.
fn code_of(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<RunError>() {
        Some(RunError::Launch(runtime::RunError::Fault { .. })) => SHORT,
        _ => BAD,
    }
}

/// A sentence on standard error; where nobody reads that, the exit code alone tells.
fn complain(sentence: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "warpwright: {sentence}");
}

/// clap's message in one sentence; help and version as they are.
fn misspelt(error: &clap::Error) -> ExitCode {
    let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if help || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(if help { DONE } else { BAD });
    }
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let sentence = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = sentence.trim_start_matches("error: ");
    complain(format_args!("{sentence}; `warpwright help` lists the commands and their options"));
    ExitCode::from(BAD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwright::runtime::emulator::{Fault, FaultKind};

    #[test]
    fn a_kernel_that_breaks_a_rule_falls_short() {
        let fault = Fault { kind: FaultKind::Race, message: "race".into(), address: None, site: None, other: None };
        let fault = runtime::RunError::Fault { entry: "k".into(), seed: 3, source_path: None, fault: Box::new(fault) };
        let error = anyhow::Error::from(RunError::from(fault));
        assert_eq!((code_of(&error), error.to_string().as_str()), (SHORT, "kernel `k`, emulated with seed 3: race"));
        assert_eq!(code_of(&RunError::Unprepared.into()), BAD);
    }
}
