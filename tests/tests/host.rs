//! The whole table on the host device.

use warpwright::Device;
use warpwright_tests::fuzz::{Random, random_case};
use warpwright_tests::library::Library;
use warpwright_tests::{Outside, Report, Verdict, case, run};

#[test]
fn every_row_is_right_on_the_host() {
    let cases = case::load(&case::folder()).expect("the table reads");
    let outside = Outside::load(&case::folder()).expect("the outside values read");
    let library = Library::new(&Device::host()).expect("the host has streams");
    let reports = run(&cases, &library, &outside);
    let fault = |r: &Report| match &r.verdict {
        Verdict::Fail(what) => Some(format!("{}: {what}", r.name)),
        _ => None,
    };
    let faults: Vec<String> = reports.iter().filter_map(fault).collect();
    let ran = reports.iter().filter(|r| r.passed()).count();
    assert!(faults.is_empty(), "{} of {} rows:\n{}", faults.len(), reports.len(), faults.join("\n"));
    assert!(ran >= 350, "only {ran} rows ran");
}

#[test]
fn random_problems_are_right_on_the_host() {
    // Nightly, another seed every time; it is in the message if a problem fails.
    let (count, seed) = match std::env::var_os("WARPWRIGHT_NIGHTLY") {
        Some(_) => (20_000, std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_secs())),
        None => (300, 1),
    };
    let mut random = Random::new(seed);
    let cases: Vec<_> = (0..count).map(|i| random_case(&mut random, format!("fuzz_{seed}_{i}"), true)).collect();
    let library = Library::new(&Device::host()).expect("the host has streams");
    let reports = run(&cases, &library, &Outside::default());
    let wrong = reports.iter().zip(&cases).find(|(r, _)| !r.passed());
    assert!(wrong.is_none(), "{wrong:#?}");
}
