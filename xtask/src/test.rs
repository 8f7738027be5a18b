//! Everything that must hold on a machine without a GPU.

use crate::process::{command, root, run};
use crate::{nvrtc, tidy};
use anyhow::Result;

/// How much of the cross products is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// What fits a quarter of an hour: pairwise.
    Pairwise,
    /// Everything.
    Full,
}

pub fn run_tests(breadth: Breadth) -> Result<()> {
    let nvrtc = nvrtc::directory()?;
    run_all(breadth, &nvrtc)?;
    // `cargo test` has built it: `cargo run` for one package alone would build its dependencies with other features again.
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    run(std::process::Command::new(target.join("debug/unproven")))?;
    let oracle = root().join("../shared/oracle");
    match oracle.is_dir() {
        true => println!("oracle: ran from ../shared/oracle (the tests fail if a known case is missing)"),
        false => println!("oracle: SKIPPED, ../shared/oracle is not here"),
    }
    println!("all of `cargo xtask {}` passed", if breadth == Breadth::Full { "nightly" } else { "test" });
    Ok(())
}

fn run_all(breadth: Breadth, nvrtc: &std::path::Path) -> Result<()> {
    run_cargo("fmt --all --check", breadth, nvrtc)?;
    tidy::run()?;
    run_cargo("clippy --workspace --all-targets -- -D warnings", breadth, nvrtc)?;
    run_cargo("test --workspace", breadth, nvrtc)?;
    // Doctests of the facade are in the line above; what is missing is that the documentation builds without warnings.
    let mut doc = cargo("doc --workspace --no-deps --quiet", breadth, nvrtc);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)
}

fn cargo(arguments: &str, breadth: Breadth, nvrtc: &std::path::Path) -> std::process::Command {
    let mut cargo = command("cargo", arguments);
    cargo
        .env("WARPWRIGHT_NVRTC_DIR", nvrtc)
        .env("WARPWRIGHT_NVDISASM", nvrtc::nvdisasm())
        // Here a missing compiler is a failure, not a reason to skip.
        .env("WARPWRIGHT_REQUIRE_NVRTC", "1")
        .env("WARPWRIGHT_CACHE_DIR", root().join("target/kernel-cache"));
    if breadth == Breadth::Full {
        cargo.env("WARPWRIGHT_NIGHTLY", "1");
    }
    cargo
}

fn run_cargo(arguments: &str, breadth: Breadth, nvrtc: &std::path::Path) -> Result<()> {
    run(cargo(arguments, breadth, nvrtc))
}
