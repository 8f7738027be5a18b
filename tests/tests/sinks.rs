//! What epilogues store beside D, on the host and on emulated devices with every check on, against values from outside.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use rayon::prelude::*;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::{ArchId, Device, KernelPlan};
use warpwright_tests::need_nvrtc;
use warpwright_tests::sinks::{Row, check, rows};

fn all(run: impl Fn(usize, &Row) -> Result<(), String> + Sync) {
    let rows = rows().unwrap();
    let failed: Vec<_> = rows.par_iter().enumerate().filter_map(|(i, row)| run(i, row).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_host_stores_what_it_should() {
    all(|_, row| check(row, &Device::host()).map(|_| ()).map_err(|e| e.to_string()));
}

#[test]
fn emulated_devices_store_what_they_should() {
    need_nvrtc!();
    let nightly = std::env::var_os("WARPWRIGHT_NIGHTLY").is_some();
    let only = std::env::var("WARPWRIGHT_ROWS").unwrap_or_default();
    all(|i, row| {
        if !(row.ci || nightly) || !row.name.starts_with(&only) {
            return Ok(());
        }
        let tag = ArchId::from_name(row.arch()).ok_or("no such tag")?;
        // With one multiprocessor a persistent block works on several tiles.
        let device = EmulatorOptions::of_tag(tag).sms(1 + i as u32 % 2).device().map_err(|e| e.to_string())?;
        let plans = check(row, &device).map_err(|e| e.to_string())?;
        plans.iter().try_for_each(|plan| by_tma(row, plan))
    });
}

/// Whether D, and a matrix beside it, go the way that the row is about.
fn by_tma(row: &Row, plan: &KernelPlan) -> Result<(), String> {
    let source = warpwright::kernels::lower::source(plan).map_err(|e| e.to_string())?;
    let [output, aux] = [row.name.contains("fragments"), row.name.contains("aux")];
    let found = [source.contains("BulkVisitor<Epilogue>>"), source.contains("has_aux = true")];
    if (output || aux) && found != [true, aux] {
        return Err(format!("{}: TMA stores {found:?}", row.name));
    }
    Ok(())
}
