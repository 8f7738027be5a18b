//! The reports that the crate's page shows are those that the emulator gives.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "common/ptx.rs"]
mod ptx;

use common::{BF16, config};
use pipeline::{SAME, run, text};
use warpwright_emulator::{Completion, Module};

const PAGE: &str = include_str!("../README.md");

#[test]
fn a_kernel_that_hangs() {
    let broken = text().replace("[%r2+16], 4;", "[%r2+16], 5;");
    let fault = run(&broken, 0, Completion::Seeded, SAME).expect_err("it hangs");
    assert!(PAGE.contains(&fault.to_string()), "{fault}");
}

#[test]
fn a_wait_left_out() {
    let wait = BF16.text.lines().filter(|l| l.contains("cp.async.wait_group 1")).nth(1).unwrap_or_default();
    let at = BF16.text.rfind(wait).unwrap_or_default();
    let broken = format!("{}{}", &BF16.text[..at], &BF16.text[at + wait.len()..]);
    let module = Module::parse(&broken).unwrap_or_else(|e| panic!("{e}"));
    let fault = BF16.run(&module, config(2), [64, 64, 224], 1).err().expect("a report");
    assert!(PAGE.contains(&fault.to_string()), "{fault}");
}
