//! D whose lines begin anywhere, on emulated devices: every length of its last vector at every place of its first.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use warpwright::ArchId;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright_tests::library::{self, Library};
use warpwright_tests::{Case, Outside, Report, case, need_nvrtc, run};

/// Lines of `length` elements, 75 apart, from element `offset` on; 66 of them, along M or N.
fn case(order: &str, length: usize, offset: usize) -> Case {
    let (m, n) = if order == "row" { (66, length) } else { (length, 66) };
    let text = format!(
        r#"
[[case]]
name = "realigned_{order}_{length}_{offset}"
m = {m}
n = {n}
k = 8
a = {{ type = "bf16", order = "row", data = "integers" }}
b = {{ order = "column", data = "integers" }}
d = {{ order = "{order}", pad = {}, offset = {offset} }}
plan = {{ arch = "sm90", tile = [64, 64, 64], cluster = [1, 1], schedule = "warpspecialized", scheduler = "persistent", transposed = false }}
expect = "exact"
"#,
        75 - length
    );
    case::parse(&text).expect("a row").remove(0)
}

#[test]
fn vectors_that_straddle_the_ends_of_lines_are_stored_to_the_element() {
    need_nvrtc!();
    for order in ["row", "column"] {
        // Outputs of every length, one kernel: its lines begin at an odd element, so that neighbours differ in all places.
        let cases: Vec<Case> = (57..=72).map(|length| case(order, length, 1 + 2 * (length % 4))).collect();
        let device = EmulatorOptions::of_tag(ArchId::SM90).sms(4).device().expect("a device");
        let library = Library::new(&device).expect("a library");
        let reports = run(&cases, &library, &Outside::default());
        let wrong: Vec<&Report> = reports.iter().filter(|report| !report.passed()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let plans = library.launched();
        assert!(!plans.is_empty());
        for (name, text) in plans.iter().flat_map(library::sources) {
            assert!(text.contains("Visitor<Epilogue, RealignedStore>"), "{name} stores element by element");
        }
    }
}
