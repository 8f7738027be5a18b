//! Shapes and known times, which are part of the program.

use crate::error::InputError;
use serde::Deserialize;
use warpwright::{Dtype, Mnk};

/// A shape of a suite.
#[derive(Clone, PartialEq, Deserialize, Debug)]
pub struct Shape {
    /// By what name.
    pub name: String,
    m: usize,
    n: usize,
    k: usize,
}

impl Shape {
    /// Its extents.
    pub fn mnk(&self) -> Mnk {
        Mnk { m: self.m, n: self.n, k: self.k }
    }
}

macro_rules! suites {
    ($($name:literal)+) => {
        const SUITES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../../benches/suites/", $name, ".json")))),+];
    };
}

suites! {
    "square" "deepgemm_v1_dense" "deepgemm_head_dense" "deepgemm_head_dgrad" "deepgemm_head_wgrad" "dsv3_tp1"
    "llama3_8b" "llama3_70b" "llama3_70b_tp8" "qwen3_8b" "tileops_h200" "tileops_gemv" "tilus" "gluon_ksweep"
    "k_heavy_or_thin" "alignment"
}

/// A suite's shapes, by its name.
pub fn suite(name: &str) -> Result<Vec<Shape>, InputError> {
    let Some((_, text)) = SUITES.iter().find(|(known, _)| *known == name) else {
        return Err(InputError::Name {
            flag: "suite",
            given: name.to_owned(),
            what: "a suite",
            choices: SUITES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        });
    };
    Ok(serde_json::from_str(text).unwrap_or_else(|error| unreachable!("a test reads the suite {name}: {error}")))
}

/// A time of cuBLASLt that is known.
#[derive(Clone, PartialEq, Deserialize, Debug)]
pub struct Known {
    #[serde(rename = "type")]
    element: String,
    /// Whether fp8 products were summed in the tensor core's own precision.
    pub fast_accumulation: bool,
    m: usize,
    n: usize,
    k: usize,
    /// The fastest algorithm's median.
    pub microseconds: f64,
}

impl Known {
    /// Its extents.
    pub fn mnk(&self) -> Mnk {
        Mnk { m: self.m, n: self.n, k: self.k }
    }

    /// The element of A and B.
    pub fn element(&self) -> Dtype {
        Dtype::from_name(&self.element).unwrap_or_else(|| unreachable!("a test reads the element {}", self.element))
    }
}

/// The device that [`baseline`] was measured on.
pub const BASELINE_DEVICE: &str = "NVIDIA H200";

/// What a harness must reproduce.
pub fn baseline() -> Vec<Known> {
    let text = include_str!("../../../../../benches/suites/cublaslt_h200.json");
    serde_json::from_str(text).unwrap_or_else(|error| unreachable!("a test reads the baseline: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_suite_can_be_read_and_names_each_shape_once() {
        for (name, _) in SUITES {
            let shapes = suite(name).unwrap();
            assert!(shapes.len() >= 4, "{name}");
            let mut names: Vec<_> = shapes.iter().map(|shape| &shape.name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), shapes.len(), "{name}");
            assert!(shapes.iter().all(|shape| shape.m * shape.n * shape.k > 0), "{name}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_a_suite_or_the_baseline() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/suites");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Some(name) = name.strip_suffix(".json") else { continue };
            assert!(name == "cublaslt_h200" || suite(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_baseline_has_ten_shapes_of_many_types() {
        let known = baseline();
        assert_eq!(known.len(), 10);
        let mut types: Vec<_> = known.iter().map(|row| (row.element(), row.fast_accumulation)).collect();
        types.sort();
        types.dedup();
        assert!(types.len() >= 5, "{types:?}");
        assert!(known.iter().all(|row| (15.0..80.0).contains(&row.microseconds)));
    }

    /// Suites and baseline are what was measured and collected, where that is at hand.
    #[test]
    fn they_are_the_shared_ones() {
        let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/baselines");
        let Ok(shapes) = std::fs::read_to_string(shared.join("shapes.json")) else { return };
        #[derive(Deserialize)]
        struct Row {
            suite: String,
            #[serde(flatten)]
            shape: Shape,
        }
        let rows: Vec<Row> = serde_json::from_str(&shapes).unwrap();
        for (name, _) in SUITES {
            let want: Vec<_> = rows.iter().filter(|row| row.suite == *name).map(|row| row.shape.clone()).collect();
            assert_eq!(suite(name).unwrap(), want, "{name}");
        }
        let times = std::fs::read_to_string(shared.join("cublaslt_best16_h200.txt")).unwrap();
        for Known { element, fast_accumulation, m, n, k, microseconds } in baseline() {
            let theirs = match (element.as_str(), fast_accumulation) {
                ("i8", _) => "s8".to_owned(),
                (name, true) => format!("{name}f"),
                (name, false) => name.to_owned(),
            };
            let row = times.lines().find(|line| line.starts_with(&format!("{theirs} {m} {n} {k} ")));
            let best = row.and_then(|row| row.split(' ').nth(5)).unwrap();
            assert_eq!(best.parse::<f64>(), Ok(microseconds), "{theirs} {m} {n} {k}");
        }
    }
}
