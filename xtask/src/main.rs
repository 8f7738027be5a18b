//! The project's own tasks: `cargo xtask <task>`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its user")]

mod bundle;
mod nvrtc;
mod process;
mod test;
mod tidy;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask <task>
  test         formatting, lints, house rules, every test and doctest, every kernel family compiled and disassembled
  nightly      test, with the full cross products
  tidy         the house rules alone
  nvrtc        fetch NVRTC and nvdisasm into target/nvrtc and print the directory
  gpu-bundle   build one self-contained folder that tests on a machine with a GPU and without Rust";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test::run_tests(test::Breadth::Pairwise),
        ["nightly"] => test::run_tests(test::Breadth::Full),
        ["tidy"] => tidy::run(),
        ["nvrtc"] => {
            println!("{}", nvrtc::directory()?.display());
            Ok(())
        }
        ["gpu-bundle"] => bundle::run(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => bail!("no task given\n{USAGE}"),
        _ => bail!("no such task: {}\n{USAGE}", arguments.join(" ")),
    }
}
