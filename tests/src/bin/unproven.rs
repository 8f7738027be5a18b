//! Says how many of the kernels that the case table needs on an H200 have passed on one, by the hashes in
//! `benches/results/proven.json`.
#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]

use std::collections::HashSet;
use std::error::Error;
use std::path::Path;
use warpwright_tests::{case, library, stand_in};

fn main() -> Result<(), Box<dyn Error>> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/results/proven.json");
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&list)?)?;
    let hashes = json["kernels"].as_array().ok_or("proven.json lists no kernels")?;
    let proven: HashSet<&str> = hashes.iter().filter_map(|k| k["source"].as_str()).collect();
    let kernels = stand_in::kernels(&case::load(&case::folder())?, &warpwright::DeviceInfo::h200());
    let missing: Vec<&str> = kernels
        .iter()
        .filter(|(_, s)| !proven.contains(library::text_hash(s).as_str()))
        .map(|(name, _)| name.as_str())
        .collect();
    println!(
        "proven: {} of {} kernels of the case table passed on {} ({}), {} unproven",
        kernels.len() - missing.len(),
        kernels.len(),
        json["device"].as_str().unwrap_or("?"),
        json["date"].as_str().unwrap_or("?"),
        missing.len()
    );
    Ok(())
}
