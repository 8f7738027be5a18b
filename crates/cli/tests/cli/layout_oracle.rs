//! Every layout case of the oracle through the built command: what the reference gives is given, what it refuses is refused.
//! Skipped, saying so, where the folder is absent.

use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::layout::batch;

/// The layout cases of the oracle.
const CASES: usize = 5_285;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle")
}

/// The families with their cases.
fn families() -> Option<Vec<(String, Vec<Value>)>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder()).ok()?.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut families = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(family) = name.split('.').next().filter(|name| name.starts_with("cute_")) else { continue };
        let bytes = std::fs::read(&path).unwrap();
        let mut text = String::new();
        match name.ends_with(".gz") {
            true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap(),
            false => (&bytes[..]).read_to_string(&mut text).unwrap(),
        };
        let mut file: Value = serde_json::from_str(&text).unwrap();
        let Value::Array(cases) = file["cases"].take() else { panic!("{name} has no cases") };
        families.push((family.to_owned(), cases));
    }
    Some(families)
}

/// By what an item of a list that the reference chose is found: the index of a point, the number of a thread.
fn key(item: &Value) -> Option<&Value> {
    ["i", "idx", "thr"].iter().find_map(|name| item.get(name))
}

/// Points and threads that the reference chose at random.
fn chosen(out: &Value) -> Option<(&'static str, Vec<Value>)> {
    ["points", "threads"].into_iter().find_map(|name| {
        let items = out[name].as_array()?;
        Some((name, items.iter().map(|item| key(item).unwrap_or(&item[0]).clone()).collect()))
    })
}

/// Whether a field of the answer is what the reference gives, or contains it where the reference lists a random choice.
fn field_passes(name: &str, got: Option<&Value>, expected: &Value) -> bool {
    let (Some(Value::Array(got)), Value::Array(expected)) = (got, expected) else { return got == Some(expected) };
    match name {
        "points" | "threads" if expected.first().is_some_and(|item| key(item).is_some()) => {
            expected.iter().all(|item| got.iter().find(|g| key(g) == key(item)) == Some(item))
        }
        // A swizzle is linear over bits: its values at powers of two say what it is.
        "points" => {
            let at = |bit: u64| got.iter().find(|p| p[0].as_u64() == Some(1 << bit)).and_then(|p| p[1].as_u64());
            expected.iter().all(|point| {
                let (Some(x), Some(y)) = (point[0].as_u64(), point[1].as_u64()) else { return false };
                (0..31).filter(|bit| x >> bit & 1 == 1).try_fold(0, |sum, bit| Some(sum ^ at(bit)?)) == Some(y)
            })
        }
        _ => got == expected,
    }
}

/// Whether an answer passes for a case; `exact` where the request named what the reference chose.
fn passes(case: &Value, answer: &Value, exact: bool) -> Result<(), String> {
    let lawless = case["law"] == false || case["out"]["law"] == false;
    let refused = answer["error"].is_string();
    if case["error"] == true {
        return if refused { Ok(()) } else { Err(format!("accepted what the reference refuses ({})", case["why"])) };
    }
    let Some(ok) = answer.get("ok") else {
        return if lawless && refused { Ok(()) } else { Err(answer.to_string()) };
    };
    // `law` is the reference's own check of its result.
    for (name, expected) in case["out"].as_object().expect("an object").iter().filter(|(name, _)| *name != "law") {
        let got = ok.get(name);
        let passes = if exact { got == Some(expected) } else { field_passes(name, got, expected) };
        if !passes {
            return Err(format!("{name}: {got:?} instead of {expected}"));
        }
    }
    Ok(())
}

/// Feeds the cases of a family through the command; those that do not pass.
fn failures(family: &str, cases: &[Value], exact: bool) -> Vec<String> {
    let mut requests = Vec::new();
    for case in cases {
        let mut input = case["in"].clone();
        if let Some((name, list)) = chosen(&case["out"]).filter(|_| exact) {
            input[name] = list.into();
        }
        serde_json::to_writer(&mut requests, &json!({ "family": family, "in": input })).unwrap();
        requests.push(b'\n');
    }
    let (text, code) = batch(&requests);
    assert_eq!(code, Some(0), "{family}: every case is a request");
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len(), "{family}: one answer a line");
    let judged = cases.iter().zip(&answers).filter_map(|(case, answer)| {
        passes(case, answer, exact)
            .err()
            .map(|why| format!("{}: {}", case["id"], why.chars().take(400).collect::<String>()))
    });
    judged.collect()
}

#[test]
fn every_case_of_the_oracle() {
    let Some(families) = families() else {
        println!("SKIPPED: {} does not exist", folder().display());
        return;
    };
    let (mut total, mut short) = (0, Vec::new());
    for (family, cases) in &families {
        let wrong = failures(family, cases, false);
        println!("{family:34} {:4} / {:4}", cases.len() - wrong.len(), cases.len());
        total += cases.len();
        short.extend(wrong);
        // Once more with the reference's points and threads named: then the whole answer is the reference's.
        if cases.iter().any(|case| chosen(&case["out"]).is_some()) {
            short.extend(failures(family, cases, true));
        }
    }
    println!("{} of {total} cases of {} families pass", total - short.len().min(total), families.len());
    assert!(short.is_empty(), "{}", short[..short.len().min(20)].join("\n"));
    assert!(total >= CASES, "only {total} of {CASES} cases ran");
}
