//! One folder that tests on a machine with a GPU and without Rust: stripped binaries, and a script that runs them.

use crate::process::{command, root, run as run_command};
use anyhow::{Context, Result};

/// Release binaries of the bundle: package and binary.
const BINARIES: &[(&str, &str)] = &[("warpwright-tests", "gpu-suite"), ("warpwright-cli", "warpwright")];

/// What runs there: right first, then the sanitizers on small cases, then times.
const SCRIPT: &str = r#"#!/usr/bin/env bash
# Usage: run.sh [FOR_RESULTS], or run.sh micro [FOR_RESULTS] for the emulator's micro-kernels alone. NVRTC is found through WARPWRIGHT_NVRTC_DIR, the loader's path or CUDA's usual folders.
set -u
here=$(cd "$(dirname "$0")" && pwd)
micro=
[ "${1:-}" = micro ] && { micro=1; shift; }
out=${1:-$here}
if [ -z "${WARPWRIGHT_NVRTC_DIR:-}" ]; then
    found=$(ls -d /usr/local/cuda*/targets/*/lib/libnvrtc.so.1[23] 2>/dev/null | tail -n 1)
    [ -n "$found" ] && export WARPWRIGHT_NVRTC_DIR=$(dirname "$found")
fi
[ -n "$micro" ] && exec "$here/gpu-suite" micro --out "$out"
"$here/gpu-suite" --cases "$here/cases" --out "$out" || status=1
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
for tool in memcheck racecheck; do
    [ -n "$sanitizer" ] && { "$sanitizer" --tool $tool --error-exitcode 3 "$here/gpu-suite" --cases "$here/cases" --out "$(mktemp -d)" --small | tail -n 1 || status=1; }
done
"$here/gpu-suite" --bench 15
exit ${status:-0}
"#;

pub fn run() -> Result<()> {
    let bundle = root().join(".bundle");
    let cases = bundle.join("cases");
    std::fs::create_dir_all(&cases).context("create .bundle/cases")?;
    for (package, binary) in BINARIES {
        run_command(command("cargo", &format!("build --release --package {package} --bin {binary}")))?;
        let to = bundle.join(binary);
        std::fs::copy(root().join("target/release").join(binary), &to).with_context(|| format!("copy {binary}"))?;
        run_command(command("strip", &to.to_string_lossy()))?;
    }
    for entry in std::fs::read_dir(root().join("tests/cases")).context("tests/cases")? {
        let path = entry.context("tests/cases")?.path();
        if let Some(name) = path.file_name() {
            std::fs::copy(&path, cases.join(name)).with_context(|| format!("copy {}", path.display()))?;
        }
    }
    let script = bundle.join("run.sh");
    std::fs::write(&script, SCRIPT).context("write run.sh")?;
    run_command(command("chmod", &format!("+x {}", script.display())))?;
    println!("bundle: {} (run.sh there tests, checks and times)", bundle.display());
    Ok(())
}
