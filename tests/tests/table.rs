//! The table itself: it can be read, it is large enough, its generated part is the generator's, and the plainest right
//! runner passes every row.

use std::collections::BTreeMap;

use warpwright_tests::naive::{Naive, Refuse};
use warpwright_tests::{Case, ErrorKind, Expect, Outside, Prepared, Verdict, case, pairwise, run};

fn table() -> Vec<Case> {
    case::load(&case::folder()).unwrap()
}

fn outside() -> Outside {
    Outside::load(&case::folder()).unwrap()
}

#[test]
fn the_table_has_400_rows_and_all_its_edge_cases() {
    let table = table();
    assert!(table.len() >= 400, "{} rows", table.len());
    let mut edges: BTreeMap<&str, usize> = BTreeMap::new();
    for edge in table.iter().filter_map(|case| case.edge.as_deref()) {
        *edges.entry(edge).or_default() += 1;
    }
    for edge in ["A1", "A2", "B2", "B3", "B5", "C1", "C6", "C10", "D5", "E1", "E4", "E5", "E6", "F1", "F3", "G9"] {
        assert!(edges.contains_key(edge), "no row for {edge}: {edges:?}");
    }
}

#[test]
fn the_generated_rows_are_the_generators() {
    let committed = std::fs::read_to_string(case::folder().join("pairwise.toml")).unwrap();
    assert!(committed == pairwise::table(), "run `cargo run -p warpwright-tests --bin pairwise`");
}

#[test]
fn every_row_can_be_prepared() {
    for case in table() {
        let prepared = Prepared::new(&case).unwrap();
        let broken = prepared.d.broken_guard(&prepared.d.bytes);
        assert_eq!(broken, None, "{}", case.name);
    }
}

#[test]
fn the_plainest_right_runner_passes_every_row() {
    let reports = run(&table(), &Naive::default(), &outside());
    let wrong: Vec<String> =
        reports.iter().filter(|r| matches!(r.verdict, Verdict::Fail(_))).map(|r| r.to_string()).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_expected_error_is_told_from_others() {
    let rows: Vec<Case> = table().into_iter().filter(|c| matches!(c.expect, Expect::Error { .. })).collect();
    assert!(!rows.is_empty());
    for case in rows {
        let Expect::Error { error, text } = case.expect.clone() else { unreachable!() };
        let passes = |kind, text: &str, touches| {
            let runner = Refuse { kind, text: text.to_owned(), touches };
            run(std::slice::from_ref(&case), &runner, &Outside::default())[0].passed()
        };
        let other = if error == ErrorKind::Driver { ErrorKind::OutOfMemory } else { ErrorKind::Driver };
        assert!(passes(error, &format!("so: {text}."), false), "{}", case.name);
        assert!(!passes(other, &text, false), "{}", case.name);
        assert!(!passes(error, &text, true), "{}", case.name);
        assert!(text.is_empty() || !passes(error, "no", false), "{}", case.name);
    }
}

#[test]
fn a_refused_row_is_wrong_where_an_answer_is_due() {
    let runner = Refuse { kind: ErrorKind::NotSupported, text: String::new(), touches: false };
    let due: Vec<Case> = table().into_iter().filter(|c| c.expect == Expect::Exact).take(3).collect();
    assert!(run(&due, &runner, &Outside::default()).iter().all(|r| matches!(r.verdict, Verdict::Fail(_))));
}
