//! How many requests the built command answers a second, end to end: parsed, computed, printed and read back. The requests are
//! the oracle's cases of the algebra families, each family on its own and all of them mixed; nothing runs without the oracle.

#![allow(clippy::print_stdout, reason = "says what it cannot run")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};

const FAMILIES: &[&str] = &[
    "eval",
    "idx2crd_stride",
    "crd2idx_mixed",
    "slice_and_offset",
    "coalesce",
    "coalesce_by_mode",
    "filter",
    "nullspace",
    "max_alignment",
    "make_layout_like",
    "complement",
    "complement_shape",
    "right_inverse",
    "left_inverse",
    "composition",
    "composition_by_mode",
    "max_common_layout",
    "max_common_vector",
    "logical_divide",
    "zipped_divide",
    "tiled_divide",
    "flat_divide",
    "logical_product",
    "zipped_product",
    "tiled_product",
    "flat_product",
    "blocked_product",
    "raked_product",
    "tile_to_shape",
    "make_ordered_layout",
    "upcast",
    "downcast",
    "recast_layout",
    "swizzle",
    "composed_eval",
    "composed_ops",
];

/// Lines of one run.
const LINES: usize = 50_000;

/// A family's requests, one a line.
fn requests(family: &str) -> Option<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle");
    let text = match std::fs::read_to_string(folder.join(format!("cute_{family}.json"))) {
        Ok(text) => text,
        Err(_) => {
            let file = std::fs::File::open(folder.join(format!("cute_{family}.json.gz"))).ok()?;
            let mut text = String::new();
            flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file");
            text
        }
    };
    let file: Value = serde_json::from_str(&text).expect("a JSON file");
    let line = |case: &Value| json!({ "family": format!("cute_{family}"), "in": case["in"] }).to_string();
    Some(file["cases"].as_array().expect("cases").iter().map(line).collect())
}

/// `LINES` lines that repeat these.
fn repeated(lines: &[String]) -> Vec<u8> {
    lines.iter().cycle().take(LINES).flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// Runs the command on the lines; the number of answers.
fn answers(lines: &[u8]) -> usize {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpwright"))
        .args(["layout", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = child.stdout.take().expect("a pipe");
    let mut text = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(lines).expect("the command reads"));
        output.read_to_end(&mut text).expect("the command writes");
    });
    assert!(child.wait().expect("it ends").success());
    text.iter().filter(|c| **c == b'\n').count()
}

fn batch(c: &mut Criterion) {
    let families: Vec<(&str, Vec<String>)> =
        FAMILIES.iter().filter_map(|family| Some((*family, requests(family)?))).collect();
    if families.is_empty() {
        println!("SKIPPED: the oracle is not here");
        return;
    }
    let mut group = c.benchmark_group("batch");
    group.sample_size(10).throughput(Throughput::Elements(LINES as u64));
    let all: Vec<String> = families.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let mut run = |name: &str, lines: &[String]| {
        let lines = repeated(lines);
        group.bench_with_input(BenchmarkId::from_parameter(name), &lines, |b, lines| {
            b.iter(|| assert_eq!(answers(lines), LINES));
        });
    };
    run("all families", &all);
    for (family, lines) in &families {
        run(family, lines);
    }
}

criterion_group!(benches, batch);
criterion_main!(benches);
