//! One file for each command.

pub mod devices;
pub mod emit;
pub mod gemm;
pub mod layout;
pub mod plan;
pub mod profile;
pub mod verify;

use crate::operands::Factors;
use serde::Serialize;
use std::io::{self, Write};
use warpwright::{Dtype, KernelPlan, Mnk};

/// Prints. A reader that has seen enough, as `head` has, is no error.
fn print(contents: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(contents).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Prints a value as JSON, on one line.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    Ok(print(&text)?)
}

/// The element types of a plan.
#[derive(Serialize)]
struct Types {
    a: &'static str,
    b: &'static str,
    accumulator: &'static str,
    d: &'static str,
}

impl Types {
    fn of(plan: &KernelPlan) -> Types {
        let [a, b, accumulator, d] = [plan.spec.a, plan.spec.b, plan.spec.acc, plan.spec.d].map(Dtype::name);
        Types { a, b, accumulator, d }
    }
}

impl std::fmt::Display for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} -> {} -> {}", self.a, self.b, self.accumulator, self.d)
    }
}

/// The extents of a problem.
#[derive(Clone, Copy, Serialize)]
struct Extents {
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
}

impl Extents {
    fn of(factors: &Factors) -> Extents {
        let [batch, m, n] = factors.extents();
        Extents { m, n, k: factors.a.extents[2], batch }
    }

    fn mnk(self) -> Mnk {
        Mnk { m: self.m, n: self.n, k: self.k }
    }
}

impl std::fmt::Display for Extents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (M x N x K)", self.mnk())?;
        if self.batch == 1 { Ok(()) } else { write!(f, ", {} of them", self.batch) }
    }
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_options_are_consistent() {
        Cli::command().debug_assert();
    }
}
