//! Expected values from outside: `cases/expected.json.gz`, computed by `tools/expect.py` with NumPy in f64.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;

use crate::compare::{round, with_bytes};
use crate::prepare::Prepared;
use crate::reference::Reference;

/// All values from outside, by name of the case.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Outside(BTreeMap<String, Known>);

/// What is known of one case.
#[derive(Debug, Deserialize)]
pub struct Known {
    /// Elements before they are rounded to D's type: batch, row, column, bits of the f64 in hexadecimal.
    samples: Vec<(usize, usize, usize, String)>,
    /// Of all elements before they are rounded; integer data only.
    whole: Option<Checksum>,
    /// Of all elements of D; integer data only.
    output: Option<Checksum>,
}

/// Sums over a whole D in 1024ths, as decimal integers; elements that are not finite are counted instead.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Checksum {
    sum: String,
    /// Each element times one plus its position (batch, row, column) modulo 65521.
    weighted: String,
    nan: usize,
    infinite: usize,
}

/// Why the values could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutsideError {
    /// The file could not be read.
    #[error("expected values: {0}")]
    Io(#[from] std::io::Error),
    /// The file is not what it should be.
    #[error("expected values: {0}")]
    Syntax(#[from] serde_json::Error),
}

impl Checksum {
    /// Of elements in the order of positions. An error names an element that is no multiple of 1/1024.
    pub fn of(values: impl Iterator<Item = f64>) -> Result<Self, String> {
        let (mut sum, mut weighted, mut nan, mut infinite) = (0i128, 0i128, 0, 0);
        for (position, x) in values.enumerate() {
            if x.is_nan() {
                nan += 1;
            } else if x.is_infinite() {
                infinite += 1;
            } else {
                let scaled = x * 1024.0;
                if scaled.fract() != 0.0 {
                    return Err(format!("element {position}, {x}, is no multiple of 1/1024"));
                }
                sum += scaled as i128;
                weighted += scaled as i128 * (1 + (position % 65521) as i128);
            }
        }
        Ok(Self { sum: sum.to_string(), weighted: weighted.to_string(), nan, infinite })
    }
}

impl Outside {
    /// Reads `expected.json.gz` in `folder`.
    pub fn load(folder: &Path) -> Result<Self, OutsideError> {
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(folder.join("expected.json.gz"))?).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// What is known of a case.
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.0.get(name)
    }

    /// The cases of which something is known.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Known {
    /// Compares the Rust reference: checksums must be equal, samples within 10⁻¹² of their value.
    pub fn check_reference(&self, reference: &Reference) -> Result<(), String> {
        for (batch, row, column, bits) in &self.samples {
            let want = u64::from_str_radix(bits, 16).map(f64::from_bits).map_err(|e| format!("`{bits}`: {e}"))?;
            let got = reference.at(*batch, *row, *column).value;
            let equal = got == want || got.is_nan() && want.is_nan();
            if !equal && (self.whole.is_some() || (got - want).abs().total_cmp(&(1e-12 * want.abs())).is_gt()) {
                return Err(format!("[{batch}][{row}, {column}] = {got}, from outside {want}"));
            }
        }
        same("before rounding", self.whole.as_ref(), || reference.values())
    }

    /// Compares the bytes of a D with what is known of the whole of it.
    pub fn check_output(&self, case: &Prepared, d: &[u8]) -> Result<(), String> {
        let d = with_bytes(&case.d, d)?;
        same("D", self.output.as_ref(), || d.layout.coordinates().map(|(b, i, j)| d.get(b, i, j)))
    }

    /// Compares the reference, rounded to D's type by this workspace's conversions.
    pub fn check_rounded(&self, case: &Prepared, reference: &Reference) -> Result<(), String> {
        same("rounded", self.output.as_ref(), || reference.values().map(|x| round(case.d.layout.dtype, x)))
    }
}

fn same<I: Iterator<Item = f64>>(what: &str, known: Option<&Checksum>, values: impl Fn() -> I) -> Result<(), String> {
    let Some(known) = known else { return Ok(()) };
    let ours = Checksum::of(values())?;
    if ours == *known { Ok(()) } else { Err(format!("{what}: {ours:?}, from outside {known:?}")) }
}
