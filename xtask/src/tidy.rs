//! House rules that a reader would otherwise have to enforce.

use crate::process::{command, root};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Longest source file without a stated reason.
const LINES: usize = 800;

pub fn run() -> Result<()> {
    let mut faults = Vec::new();
    for path in files()? {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match extension {
            "rs" => rust(&path, &text, &mut faults),
            "cuh" | "cu" => device(&path, &text, &mut faults),
            _ => {}
        }
        if matches!(extension, "rs" | "cuh" | "cu") && text.lines().count() > LINES {
            faults.push(format!("{}: over {LINES} lines; split it by concept", path.display()));
        }
    }
    architecture(&mut faults)?;
    if !faults.is_empty() {
        bail!("{} house rules are broken:\n  {}", faults.len(), faults.join("\n  "));
    }
    println!("tidy: every house rule holds");
    Ok(())
}

/// Tracked files and new ones that git does not ignore.
fn files() -> Result<Vec<PathBuf>> {
    let output = command("git", "ls-files --cached --others --exclude-standard").output().context("git ls-files")?;
    let list = String::from_utf8(output.stdout).context("git ls-files prints paths")?;
    Ok(list.lines().map(PathBuf::from).filter(|p| root().join(p).is_file()).collect())
}

fn rust(path: &Path, text: &str, faults: &mut Vec<String>) {
    let inside = |folder: &str| path.starts_with(folder);
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        // Only the runtime names the driver bindings.
        if code.contains("cudarc::") && !inside("crates/runtime") && !inside("xtask") {
            faults.push(format!("{}:{}: only crates/runtime names cudarc", path.display(), number + 1));
        }
    }
}

/// Index arithmetic is generated from layouts: a swizzle or a tile index spelt out in device code would be a second copy.
fn device(path: &Path, text: &str, faults: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let literal_xor = code.split('^').nth(1).is_some_and(|right| right.contains('&') || right.contains(">>"));
        if literal_xor {
            faults.push(format!("{}:{}: swizzle arithmetic belongs to a layout", path.display(), number + 1));
        }
        if code.trim_start().starts_with("#include") {
            faults.push(format!("{}:{}: device code is freestanding", path.display(), number + 1));
        }
    }
}

/// Every crate has its line on the map.
fn architecture(faults: &mut Vec<String>) -> Result<()> {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    for manifest in files()?.into_iter().filter(|p| p.ends_with("Cargo.toml")) {
        let Some(folder) = manifest.parent().filter(|p| !p.as_os_str().is_empty()) else { continue };
        if !map.contains(&format!("`{}", folder.display())) {
            faults.push(format!("ARCHITECTURE.md does not mention `{}`", folder.display()));
        }
    }
    Ok(())
}
