//! One folder that tests on a machine with a GPU and without Rust: stripped binaries, and a script that runs them.

use crate::process::{command, root, run as run_command};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Release binaries of the bundle: package and binary.
const BINARIES: &[(&str, &str)] = &[("warpwright-tests", "gpu-suite"), ("warpwright-cli", "warpwright")];

/// What runs there: right first, then the sanitizers on small cases, then times; or, with `profile`, times against cuBLASLt.
const SCRIPT: &str = r#"#!/usr/bin/env bash
# Usage: run.sh [FOR_RESULTS]           everything but what follows
#        run.sh micro [FOR_RESULTS]     the emulator's micro-kernels
#        run.sh auto [FOR_RESULTS]      Auto's choices against everything that it chooses from
#        run.sh profile [FOR_RESULTS]   races against cuBLASLt, after a check that its known times are reproduced
# NVRTC is found through WARPWRIGHT_NVRTC_DIR, the loader's path or CUDA's usual folders; so is cuBLASLt through
# WARPWRIGHT_CUBLASLT_DIR, CUDA's usual folders and the packages of the Python environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mode=all
case "${1:-}" in profile | micro | auto) mode=$1; shift ;; esac
out=${1:-$here}
mkdir -p "$out"
if [ -z "${WARPWRIGHT_NVRTC_DIR:-}" ]; then
    found=$(ls -d /usr/local/cuda*/targets/*/lib/libnvrtc.so.1[23] 2>/dev/null | tail -n 1)
    [ -n "$found" ] && export WARPWRIGHT_NVRTC_DIR=$(dirname "$found")
fi

# Folders with a cuBLASLt, each once: more than one version may be installed.
cublaslt_folders() {
    [ -n "${WARPWRIGHT_CUBLASLT_DIR:-}" ] && { echo "$WARPWRIGHT_CUBLASLT_DIR"; return; }
    {
        ls /usr/local/cuda*/targets/*/lib/libcublasLt.so.1[23] /usr/local/cuda*/lib64/libcublasLt.so.1[23]
        packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
        ls "$packages"/nvidia/*/lib/libcublasLt.so.1[23]
        ls /opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib/libcublasLt.so.1[23]
        ls /usr/lib/*-linux-gnu/libcublasLt.so.1[23]
    } 2>/dev/null | xargs -r -n 1 realpath | xargs -r -n 1 dirname | awk '!seen[$0]++'
}

profile() {
    mapfile -t folders < <(cublaslt_folders)
    echo "cuBLASLt in: ${folders[*]:-nowhere that is known}"
    for folder in "${folders[@]}"; do
        export WARPWRIGHT_CUBLASLT_DIR=$folder
        timeout 40 "$here/warpwright" profile --device cuda:0 --check-baseline >"$out/baseline.txt" 2>&1 && break
        echo "not by the one in $folder:"
        cat "$out/baseline.txt"
    done
    # Ten shapes first; then each type with each size: the plan's choice, the six that the model likes best, and cuBLASLt.
    timeout 75 "$here/warpwright" profile --device cuda:0 --check-baseline --summary --top 6 --rounds 9 \
        --type bf16,f16,i8,tf32,f64,f32 --shape 4096x4096x4096,8192x8192x8192 \
        --csv "$out/profile.csv" --html "$out/profile.html"
}

case $mode in
    profile) profile; exit ;;
    micro) exec "$here/gpu-suite" micro --out "$out" ;;
    auto)
        # Of several versions of cuBLASLt the first will do.
        folder=$(cublaslt_folders | head -n 1)
        [ -n "$folder" ] && export WARPWRIGHT_CUBLASLT_DIR=$folder
        for tag in sm80 sm90; do "$here/gpu-suite" auto --arch $tag --out "$out" || status=1; done
        exit ${status:-0}
        ;;
esac
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
    // One build: apart, the packages would want their dependencies with other features, and build them twice.
    let wanted: String =
        BINARIES.iter().map(|(package, binary)| format!(" --package {package} --bin {binary}")).collect();
    run_command(command("cargo", &format!("build --release{wanted}")))?;
    for (_, binary) in BINARIES {
        let to = bundle.join(binary);
        std::fs::copy(built().join(binary), &to).with_context(|| format!("copy {binary}"))?;
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
    println!("bundle: {} (run.sh there tests, checks and times; run.sh profile races)", bundle.display());
    Ok(())
}

/// Where release binaries are built: cargo's own variable, or the workspace's folder.
fn built() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("release")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn the_script_can_be_parsed() {
        let checking = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn();
        let mut checking = checking.expect("bash, which runs the bundle's script, is here");
        let mut stdin = checking.stdin.take().expect("it is piped");
        stdin.write_all(SCRIPT.as_bytes()).expect("bash reads it");
        drop(stdin);
        assert!(checking.wait().expect("bash ends").success());
    }
}
