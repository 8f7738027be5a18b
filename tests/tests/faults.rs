//! Planted faults must be found, in integer and in random data.

use warpwright_tests::naive::{Fault, Naive};
use warpwright_tests::pattern::Pattern;
use warpwright_tests::{Case, Expect, Outside, Verdict, case, run};

/// Rows whose answer depends on every element of A and B.
fn telling_rows() -> Vec<Case> {
    let random = |data: &Option<Pattern>| matches!(data, None | Some(Pattern::Integers(..) | Pattern::Normal));
    let zero = |case: &Case, name: &str| case.scalars.get(name) == Some(&0.0);
    case::load(&case::folder())
        .unwrap()
        .into_iter()
        .filter(|case| matches!(case.expect, Expect::Exact | Expect::Bound))
        .filter(|case| random(&case.a.data) && random(&case.b.data))
        .filter(|case| case.epilogue.contains("acc") && !zero(case, "alpha"))
        .filter(|case| random(&case.c.data) || zero(case, "beta"))
        .filter(|case| case.m >= 7 && case.n >= 7 && case.k >= 1 && case.batch >= 1)
        .collect()
}

fn missed(rows: &[Case], fault: Fault) -> Vec<String> {
    let reports = run(rows, &Naive { fault: Some(fault) }, &Outside::default());
    reports
        .iter()
        .filter(|report| !matches!(report.verdict, Verdict::Fail(_)))
        .map(|report| report.to_string())
        .collect()
}

fn found_in_all(fault: Fault) {
    for expect in [Expect::Exact, Expect::Bound] {
        let rows: Vec<Case> = telling_rows().into_iter().filter(|case| case.expect == expect).collect();
        assert!(rows.len() >= 20, "{} rows", rows.len());
        let missed = missed(&rows, fault);
        assert!(missed.is_empty(), "{fault:?} missed in {} of {}:\n{}", missed.len(), rows.len(), missed.join("\n"));
    }
}

#[test]
fn the_last_k_dropped() {
    found_in_all(Fault::DropLastK);
}

#[test]
fn a_tile_of_64_rows_shifted_by_one() {
    found_in_all(Fault::ShiftRows(64));
}

#[test]
fn a_tile_of_128_rows_shifted_by_one() {
    found_in_all(Fault::ShiftRows(128));
}

#[test]
fn a_tile_of_64_columns_shifted_by_one() {
    found_in_all(Fault::ShiftColumns(64));
}

#[test]
fn a_tile_of_128_columns_shifted_by_one() {
    found_in_all(Fault::ShiftColumns(128));
}

#[test]
fn an_element_written_behind_the_end() {
    found_in_all(Fault::WriteBeyond);
}
