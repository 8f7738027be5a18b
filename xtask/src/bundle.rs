//! One folder that tests on a machine with a GPU and without Rust: stripped binaries, and a script that runs them.

use crate::process::{command, root};
use anyhow::{Context, Result};

/// Release binaries of the bundle: package and binary.
const BINARIES: &[(&str, &str)] = &[("warpwright-tests", "gpu-suite"), ("warpwright-cli", "warpwright")];

pub fn run() -> Result<()> {
    let bundle = root().join(".bundle");
    std::fs::create_dir_all(&bundle).context("create .bundle")?;
    for (package, binary) in BINARIES {
        run_build(package, binary)?;
        let built = root().join("target/release").join(binary);
        let to = bundle.join(binary);
        std::fs::copy(&built, &to).with_context(|| format!("copy {}", built.display()))?;
        run_strip(&to)?;
    }
    println!("bundle: {}", bundle.display());
    Ok(())
}

fn run_build(package: &str, binary: &str) -> Result<()> {
    run_command(command("cargo", &format!("build --release --package {package} --bin {binary}")))
}

fn run_strip(path: &std::path::Path) -> Result<()> {
    run_command(command("strip", &path.to_string_lossy()))
}

fn run_command(command: std::process::Command) -> Result<()> {
    crate::process::run(command)
}
