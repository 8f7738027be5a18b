//! The `warpwright` command: matrices in files, multiplied, explained, and checked.
//!
//! [`args`] is what was typed, [`request`] what it means, [`files`] and [`operands`] the matrices, and each command is one
//! file of [`commands`]. Exit codes: 0, 1 when a result falls short, 2 when the input is bad.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the program that talks to the user")]

mod args;
mod commands;
mod error;
mod files;
mod matrix;
mod operands;
mod product;
mod reference;
mod request;
mod tracked;
mod verdict;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Every check of the command was passed.
const DONE: u8 = 0;
/// A result falls short.
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
            eprintln!("warpwright: {}: {}", record.level().as_str().to_lowercase(), record.args());
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
        Command::Verify(args) => commands::verify::run(&args).map(|holds| if holds { DONE } else { SHORT }),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        eprintln!("warpwright: {error}");
        BAD
    }))
}

/// clap's message in one sentence; help and version go to standard output.
fn misspelt(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        print!("{error}");
        return ExitCode::from(DONE);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        eprint!("{error}");
        return ExitCode::from(BAD);
    }
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let sentence = words.join(" ");
    eprintln!(
        "warpwright: {}; `warpwright help` lists the commands and their options",
        sentence.trim_start_matches("error: ")
    );
    ExitCode::from(BAD)
}
