//! Planted faults must be found, in integer and in random data.

use std::sync::LazyLock;

use warpwright_tests::expression::Expression;
use warpwright_tests::naive::{Fault, Naive};
use warpwright_tests::pattern::Pattern;
use warpwright_tests::{Case, Expect, Prepared, Reference, Report, Runner, Verdict, case, judge};

struct Row {
    prepared: Prepared,
    reference: Reference,
}

/// Rows whose answer depends on every element of A and B.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let random = |data: &Option<Pattern>| matches!(data, None | Some(Pattern::Integers(..) | Pattern::Normal));
    let telling = |case: &Case| {
        let large = case.m >= 7 && case.n >= 7 && case.k >= 1 && case.batch >= 1;
        large && random(&case.a.data) && random(&case.b.data) && matches!(case.expect, Expect::Exact | Expect::Bound)
    };
    let prepare = |case: Case| {
        let prepared = Prepared::new(&case).unwrap();
        Row { reference: Reference::of(&prepared), prepared }
    };
    let table = case::load(&case::folder()).unwrap();
    let mut rows: Vec<Row> = table.into_iter().filter(telling).map(prepare).collect();
    rows.retain(|row| row.prepared.epilogue.reads(&|e| matches!(e, Expression::Acc)));
    rows.retain(|row| !row.reference.values().any(f64::is_nan));
    rows
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
