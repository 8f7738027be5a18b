//! NVRTC and nvdisasm as Python wheels: they compile and disassemble every kernel on a machine without a GPU.

use crate::process::{command, root, run};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Pinned, so that disassembly counts are the same everywhere.
const WHEELS: &str = "nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-nvdisasm==13.5.37";

/// Where libnvrtc lies; fetched into `target/nvrtc` if neither `WARPWRIGHT_NVRTC_DIR` names it nor it is there already.
pub fn directory() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("WARPWRIGHT_NVRTC_DIR").map(PathBuf::from) {
        if !has_nvrtc(&given) {
            bail!(
                "WARPWRIGHT_NVRTC_DIR names {}, where there is no libnvrtc: correct it, or unset it",
                given.display()
            );
        }
        return Ok(given);
    }
    let target = root().join("target/nvrtc");
    let lib = target.join("nvidia/cu13/lib");
    if !has_nvrtc(&lib) || !nvdisasm().is_file() {
        let pip = format!(
            "-m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target {} {WHEELS}",
            target.display()
        );
        run(command("python3", &pip))
            .context("NVRTC is missing; install it, set WARPWRIGHT_NVRTC_DIR, or make Python's pip available")?;
    }
    if !has_nvrtc(&lib) {
        bail!("the NVRTC wheel has no libnvrtc in {}", lib.display());
    }
    Ok(lib)
}

/// Where nvdisasm lies once [`directory`] has fetched it.
pub fn nvdisasm() -> PathBuf {
    std::env::var_os("WARPWRIGHT_NVDISASM")
        .map_or_else(|| root().join("target/nvrtc/nvidia/cu13/bin/nvdisasm"), PathBuf::from)
}

fn has_nvrtc(lib: &std::path::Path) -> bool {
    std::fs::read_dir(lib).is_ok_and(|mut entries| {
        entries.any(|e| e.is_ok_and(|e| e.file_name().to_string_lossy().starts_with("libnvrtc.so")))
    })
}
