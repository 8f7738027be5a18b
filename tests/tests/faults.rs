//! Planted faults must be found, in integer and in random data.

use std::sync::LazyLock;

use warpwright_tests::naive::{Fault, Naive};
use warpwright_tests::pattern::Pattern;
use warpwright_tests::{Case, Expect, Prepared, Reference, Report, Runner, Verdict, case, judge};

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

struct Row {
    prepared: Prepared,
    reference: Reference,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let prepare = |case: &Case| {
        let prepared = Prepared::new(case).unwrap();
        Row { reference: Reference::of(&prepared), prepared }
    };
    telling_rows().iter().map(prepare).collect()
});

fn found_in_all(fault: Fault) {
    for expect in [Expect::Exact, Expect::Bound] {
        let judged = ROWS.iter().filter(|row| row.prepared.case.expect == expect).map(|row| {
            let outcome = Naive { fault: Some(fault) }.run(&row.prepared);
            judge(&row.prepared, &row.reference, &outcome)
        });
        let (found, missed): (Vec<_>, Vec<_>) = judged.partition(|report| matches!(report.verdict, Verdict::Fail(_)));
        let missed: Vec<String> = missed.iter().map(Report::to_string).collect();
        assert!(missed.is_empty(), "{fault:?} missed in {}:\n{}", missed.len(), missed.join("\n"));
        assert!(found.len() >= 20, "{} rows", found.len());
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
