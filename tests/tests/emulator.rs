//! The table on emulated devices, every check on, at several seeds: a sample of the kernels spread over it, all of them
//! nightly. Large rows are cut down, and a cut row's expected values are the f64 reference's.

#![allow(clippy::print_stdout, reason = "says what was skipped, and what was run")]

use std::collections::BTreeSet;

use rayon::prelude::*;
use warpwright::ArchId;
use warpwright_tests::emulated::{Row, select};
use warpwright_tests::fuzz::{Random, random_case};
use warpwright_tests::library::Library;
use warpwright_tests::need_nvrtc;
use warpwright_tests::{Case, Outside, Report, Verdict, case, run};

/// Kernels of the sample: with those of the random problems at most 150.
const KERNELS: usize = 140;

#[test]
fn random_problems_are_right_on_emulated_devices() {
    need_nvrtc!();
    // Nightly, another seed every time; it is in the message if a problem fails.
    let (count, seed) = match std::env::var_os("WARPWRIGHT_NIGHTLY") {
        Some(_) => (300, std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_secs())),
        None => (10, 1),
    };
    let mut random = Random::new(seed);
    let cases: Vec<_> = (0..count).map(|i| random_case(&mut random, format!("fuzz_{seed}_{i}"), true)).collect();
    let one = |(number, case): (usize, &Case)| {
        let row = Row::new(number, case);
        (run_once(&row, number as u64, &Outside::default()), row)
    };
    let reports: Vec<(Report, Row)> = cases.par_iter().enumerate().map(one).collect();
    let wrong = reports.iter().find(|(report, _)| !report.passed());
    assert!(wrong.is_none(), "{wrong:#?}");
}

#[test]
fn the_table_is_right_on_emulated_devices() {
    need_nvrtc!();
    let nightly = std::env::var_os("WARPWRIGHT_NIGHTLY").is_some();
    // Four seeds that follow one another have asynchronous operations land early, late, and twice in any order.
    let (kernels, seeds) = if nightly { (usize::MAX, 12) } else { (KERNELS, 4) };
    let mut table = case::load(&case::folder()).expect("the table reads");
    // While a kernel is being written: the rows whose names begin so, all of them.
    let only = std::env::var("WARPWRIGHT_ROWS").ok();
    let kernels = if only.is_some() { usize::MAX } else { kernels };
    table.retain(|case| only.as_ref().is_none_or(|prefix| case.name.starts_with(prefix)));
    let outside = Outside::load(&case::folder()).expect("the outside values read");
    let all: Vec<Row> = table.par_iter().enumerate().map(|(number, case)| Row::new(number, case)).collect();
    let rows = select(all, kernels);
    let (runs, absent): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.kernels.is_ok());

    let one = |(number, row): (usize, &&Row)| -> Vec<(u64, Report)> {
        let known = if row.is_cut { &Outside::default() } else { &outside };
        let seeds = number as u64..number as u64 + seeds;
        seeds.map(|seed| (seed, run_once(row, seed, known))).collect()
    };
    let reports: Vec<(u64, Report)> = runs.par_iter().enumerate().flat_map_iter(one).collect();
    let wrong: Vec<String> =
        reports.iter().filter(|(_, r)| !r.passed()).map(|(seed, r)| format!("seed {seed}: {r}")).collect();
    let distinct: BTreeSet<&String> = runs.iter().filter_map(|row| row.kernels.as_ref().ok()).flatten().collect();
    let cut = runs.iter().filter(|row| row.is_cut).count();
    println!(
        "{} of {} rows at {seeds} seeds each, {} kernels; {cut} of them cut; {} without device code",
        runs.len(),
        table.len(),
        distinct.len(),
        absent.len()
    );
    for tag in ArchId::ALL {
        let of_tag = runs.iter().filter(|row| row.tag == *tag && row.kernels.as_ref().is_ok_and(|k| !k.is_empty()));
        println!("  {tag}: {} rows launch kernels", of_tag.count());
    }
    for row in &absent {
        println!("  not run: {}: {}", row.case.name, row.kernels.as_ref().err().map_or("", String::as_str));
    }
    assert!(wrong.is_empty(), "{} of {} runs:\n{}", wrong.len(), reports.len(), wrong.join("\n"));
    assert!(
        only.is_some() || distinct.len() >= 100 && runs.len() >= 120,
        "{} kernels, {} rows",
        distinct.len(),
        runs.len()
    );
}

fn run_once(row: &Row, seed: u64, outside: &Outside) -> Report {
    let name = &row.case.name;
    let device = match row.device(seed) {
        Ok(device) => device,
        Err(what) => return Report::failed(name, what.to_string()),
    };
    let library = match Library::new(&device) {
        Ok(library) => library,
        Err(what) => return Report::failed(name, what.to_string()),
    };
    let report = run(std::slice::from_ref(&row.case), &library, outside).remove(0);
    let launched = device.emulated().map_or(Vec::new(), |emulated| emulated.take_launches());
    let copies = row.case.plan.repacks == Some(true) && row.case.k > 0;
    if copies && report.passed() && !launched.iter().any(|launch| launch.entry == "ww_repack") {
        return Report::failed(name, "nothing was repacked".into());
    }
    let launches = launched.len();
    let expected = row.kernels.as_ref().map_or(0, BTreeSet::len);
    match report.verdict {
        Verdict::Pass if launches < expected => {
            Report::failed(name, format!("{launches} launches of {expected} kernels"))
        }
        _ => report,
    }
}
