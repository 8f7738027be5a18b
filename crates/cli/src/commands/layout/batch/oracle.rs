//! Every case of the oracle through batch mode: equal to `out` in every field, refused where the reference refuses. Skipped,
//! saying so, where the folder is absent.

use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

/// The input with the points that the reference chose at random.
fn with_chosen_points(input: &Value, out: &Value) -> Value {
    let mut input = input.clone();
    let of = |list: &Value, field: &dyn Fn(&Value) -> Value| -> Option<Value> {
        Some(list.as_array()?.iter().map(field).collect())
    };
    let points = of(&out["points"], &|p| match p {
        Value::Array(pair) => pair[0].clone(),
        p => p.get("i").or_else(|| p.get("idx")).cloned().unwrap_or_default(),
    });
    let threads = of(&out["threads"], &|t| t["thr"].clone());
    for (name, chosen) in [("points", points), ("threads", threads)] {
        if let Some(chosen) = chosen {
            input[name] = chosen;
        }
    }
    input
}

/// Whether an answer passes for a case.
fn passes(case: &Value, answer: &Value) -> Result<(), String> {
    let lawless = case["law"] == false || case["out"]["law"] == false;
    if case["error"] == true {
        let refused = answer.get("error").is_some();
        return if refused { Ok(()) } else { Err(format!("accepted what the reference refuses ({})", case["why"])) };
    }
    let Some(ok) = answer.get("ok").and_then(Value::as_object) else {
        return if lawless { Ok(()) } else { Err(answer.to_string()) };
    };
    let out: &Map<String, Value> = case["out"].as_object().expect("an object");
    // Fields that the reference gives beyond the function itself, as `law`, are not ours to repeat.
    let differs = |(name, value): &(&String, &Value)| *name != "law" && ok.get(*name) != Some(*value);
    match out.iter().find(differs) {
        None => Ok(()),
        Some((name, value)) => Err(format!("{name}: {:?} instead of {value}", ok.get(name))),
    }
}

#[test]
fn every_case_of_the_oracle() {
    let mut report = std::io::stderr();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle");
    let Ok(files) = std::fs::read_dir(&folder) else {
        writeln!(report, "SKIPPED: {} does not exist", folder.display()).unwrap();
        return;
    };
    let (mut total, mut failures, mut families) = (0, Vec::new(), 0);
    for path in files.map(|file| file.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(family) = name.split('.').next().filter(|name| name.starts_with("cute_")) else { continue };
        let mut text = std::fs::read(&path).unwrap();
        if name.ends_with(".gz") {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&text[..]).read_to_end(&mut plain).unwrap();
            text = plain;
        }
        let file: Value = serde_json::from_slice(&text).unwrap();
        let cases = file["cases"].as_array().expect("cases");
        let mut requests = Vec::new();
        for case in cases {
            let input = with_chosen_points(&case["in"], &case["out"]);
            serde_json::to_writer(&mut requests, &json!({ "family": family, "in": input })).unwrap();
            requests.push(b'\n');
        }
        let (mut output, start) = (Vec::new(), Instant::now());
        assert!(super::run(&requests[..], &mut output).unwrap(), "{family}: a request is malformed");
        let seconds = start.elapsed().as_secs_f64();
        let answers: Vec<Value> = output
            .split(|c| *c == b'\n')
            .filter(|l| !l.is_empty())
            .map(|l| serde_json::from_slice(l).unwrap())
            .collect();
        assert_eq!(answers.len(), cases.len(), "{family}");
        let before = failures.len();
        for (case, answer) in cases.iter().zip(&answers) {
            if let Err(why) = passes(case, answer) {
                failures.push(format!("{}: {why}", case["id"]));
            }
        }
        let good = cases.len() - (failures.len() - before);
        let rate = cases.len() as f64 / seconds;
        writeln!(report, "{family:34} {good:4} / {:4}  {rate:8.0} a second", cases.len()).unwrap();
        total += cases.len();
        families += 1;
    }
    writeln!(report, "{} of {total} cases of {families} families pass", total - failures.len()).unwrap();
    let shown: Vec<String> = failures.iter().take(20).map(|f| f.chars().take(400).collect()).collect();
    assert!(failures.is_empty(), "{}", shown.join("\n"));
}
