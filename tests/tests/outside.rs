//! The Rust reference against the values that NumPy computed.

use warpwright_tests::{Case, Expect, Outside, Prepared, Reference, case};

#[test]
fn the_reference_agrees_with_every_value_from_outside() {
    let table = case::load(&case::folder()).unwrap();
    let outside = Outside::load(&case::folder()).unwrap();
    assert!(outside.names().len() >= 120, "{} rows with values from outside", outside.names().len());
    for name in outside.names() {
        assert!(table.iter().any(|case| case.name == name), "`{name}` is no row any more; run tests/tools/expect.py");
    }
    let mut wrong = Vec::new();
    for case in &table {
        let Some(known) = outside.get(&case.name) else { continue };
        let prepared = Prepared::new(case).unwrap();
        let reference = Reference::of(&prepared);
        let checked = known.check_reference(&reference).and_then(|()| known.check_rounded(&prepared, &reference));
        wrong.extend(checked.err().map(|what| format!("{}: {what}", case.name)));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_row_but_the_largest_has_values_from_outside() {
    let outside = Outside::load(&case::folder()).unwrap();
    let due = |case: &&Case| {
        let elements = case.m * case.n * case.batch;
        elements > 0 && case.batch <= 1000 && matches!(case.expect, Expect::Exact | Expect::Bound)
    };
    for case in case::load(&case::folder()).unwrap().iter().filter(due) {
        assert!(outside.get(&case.name).is_some(), "{}: run tests/tools/expect.py", case.name);
    }
}

#[test]
fn a_wrong_reference_is_noticed() {
    let table = case::load(&case::folder()).unwrap();
    let outside = Outside::load(&case::folder()).unwrap();
    let plain = |case: &&Case| case.name.starts_with("pair_") && case.epilogue == "d = acc" && case.k > 1;
    for expect in [Expect::Exact, Expect::Bound] {
        let case = table.iter().filter(plain).find(|case| case.expect == expect).unwrap();
        let mut prepared = Prepared::new(case).unwrap();
        let (row, column) = (case.m - 1, case.k - 1);
        for batch in 0..case.batch {
            let x = prepared.a.get(batch, row, column);
            prepared.a.set(batch, row, column, x + 1.0);
        }
        assert!(outside.get(&case.name).unwrap().check_reference(&Reference::of(&prepared)).is_err(), "{}", case.name);
    }
}
