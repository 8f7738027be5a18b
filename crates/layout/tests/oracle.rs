//! Every layout family of the oracle in `../shared/oracle`: outputs of the reference implementation, equal in form and as
//! functions. Prints the counts; skipped, saying so, where the folder is absent.

#[path = "oracle/algebra.rs"]
mod algebra;
#[path = "oracle/json.rs"]
mod json;
#[path = "oracle/tiled.rs"]
mod tiled;

use std::io::{Read, Write};
use std::path::PathBuf;

use json::{Failure, Outcome};
use serde_json::Value;

type Check = fn(&Value, &Value) -> Outcome;

/// Each family, its check, and the number of its cases that must pass.
const FAMILIES: &[(&str, Check, usize)] = &[
    ("eval", algebra::eval, 152),
    ("idx2crd_stride", algebra::idx2crd_stride, 88),
    ("crd2idx_mixed", algebra::crd2idx_mixed, 120),
    ("slice_and_offset", algebra::slice_and_offset, 120),
    ("coalesce", algebra::coalesce, 149),
    ("coalesce_by_mode", algebra::coalesce_by_mode, 68),
    ("filter", algebra::filter, 98),
    ("nullspace", algebra::nullspace, 69),
    ("max_alignment", algebra::max_alignment, 67),
    ("make_layout_like", algebra::make_layout_like, 66),
    ("complement", algebra::complement, 212),
    ("complement_shape", algebra::complement, 36),
    ("right_inverse", algebra::right_inverse, 157),
    ("left_inverse", algebra::left_inverse, 161),
    ("composition", algebra::composition, 331),
    ("composition_by_mode", algebra::composition_by_mode, 227),
    ("max_common_layout", algebra::max_common_layout, 178),
    ("max_common_vector", algebra::max_common_vector, 178),
    ("logical_divide", algebra::logical_divide, 178),
    ("zipped_divide", algebra::zipped_divide, 108),
    ("tiled_divide", algebra::tiled_divide, 107),
    ("flat_divide", algebra::flat_divide, 107),
    ("logical_product", algebra::logical_product, 143),
    ("zipped_product", algebra::zipped_product, 90),
    ("tiled_product", algebra::tiled_product, 90),
    ("flat_product", algebra::flat_product, 90),
    ("blocked_product", algebra::blocked_product, 132),
    ("raked_product", algebra::raked_product, 132),
    ("tile_to_shape", algebra::tile_to_shape, 143),
    ("make_ordered_layout", algebra::make_ordered_layout, 65),
    ("upcast", algebra::upcast, 143),
    ("downcast", algebra::downcast, 110),
    ("recast_layout", algebra::recast_layout, 91),
    ("swizzle", algebra::swizzles, 85),
    ("composed_eval", algebra::composed_eval, 74),
    ("composed_ops", algebra::composed_ops, 102),
    ("smem_atom", tiled::smem_atom, 43),
    ("smem_tile_to_shape", tiled::smem_tile_to_shape, 115),
    ("mma_atom", tiled::mma_atom, 94),
    ("copy_atom", tiled::copy_atom, 113),
    ("tiled_mma", tiled::tiled_mma, 83),
    ("tiled_copy", tiled::tiled_copy, 70),
    ("tiled_copy_mma", tiled::tiled_copy_mma, 47),
    ("umma_atom", tiled::umma_atom, 21),
    ("umma_instr_desc", tiled::umma_instr_desc, 81),
    ("umma_instr_desc_block_scaled", tiled::umma_instr_desc_block_scaled, 21),
    ("umma_smem_desc", tiled::umma_smem_desc, 72),
    ("umma_tile_to_mma_shape", tiled::umma_tile_to_mma_shape, 58),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle")
}

fn cases(family: &str) -> Option<Vec<Value>> {
    let plain = folder().join(format!("cute_{family}.json"));
    let text = match std::fs::read_to_string(plain) {
        Ok(text) => text,
        Err(_) => {
            let packed = std::fs::File::open(folder().join(format!("cute_{family}.json.gz"))).ok()?;
            let mut text = String::new();
            flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("a gzip file");
            text
        }
    };
    let mut file: Value = serde_json::from_str(&text).expect("a JSON file");
    match file["cases"].take() {
        Value::Array(cases) => Some(cases),
        _ => panic!("{family}: no cases"),
    }
}

/// Whether the case passes: an accepted input gives the reference's result, a refused one is refused; where the reference
/// accepted an input for which its result is not the true function, refusing is right too.
fn passes(case: &Value, check: Check) -> Result<(), String> {
    let (input, out) = (&case["in"], &case["out"]);
    let lawless = case["law"] == false || out["law"] == false;
    match (case["error"] == true, check(input, out)) {
        (false, Ok(())) => Ok(()),
        (false, Err(Failure::Rejected(_))) if lawless => Ok(()),
        (true, Err(Failure::Rejected(_))) => Ok(()),
        (false, Err(Failure::Rejected(e))) => Err(format!("rejected: {e}")),
        (false, Err(Failure::Wrong(text))) => Err(text),
        (true, other) => Err(format!("accepted what the reference refuses ({}): {other:?}", case["why"])),
    }
}

#[test]
fn every_family() {
    let mut report = std::io::stderr();
    if !folder().exists() {
        writeln!(report, "SKIPPED: {} does not exist", folder().display()).unwrap();
        return;
    }
    let (mut total, mut passed, mut short) = (0, 0, Vec::new());
    for &(family, check, needed) in FAMILIES {
        let Some(cases) = cases(family) else { panic!("the oracle has no family {family}") };
        let mut failures = Vec::new();
        for case in &cases {
            if let Err(text) = passes(case, check) {
                failures.push(format!("{}: {text}\n    {}", case["id"], case["in"]));
            }
        }
        let good = cases.len() - failures.len();
        writeln!(report, "{family:28} {good:4} / {:4}", cases.len()).unwrap();
        if good < needed {
            short.push(format!("{family}: {good}, needed {needed}"));
        }
        for text in failures.iter().take(8) {
            writeln!(report, "  {text}").unwrap();
        }
        total += cases.len();
        passed += good;
    }
    writeln!(report, "{passed} of {total} cases pass").unwrap();
    assert!(short.is_empty(), "too few cases pass: {short:?}");
}
