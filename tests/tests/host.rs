//! The whole table on the host device.

use warpwright::Device;
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
