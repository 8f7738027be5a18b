//! Is an answer right?
//!
//! Exact rows: every element equals the reference rounded once to D's type (zeros of either sign are equal, NaN equals
//! NaN). Bounded rows: |d − reference| ≤ the bound of [`crate::reference`] plus one rounding to D's type. In both, every
//! byte of D's buffer outside its elements is as it was.

use std::fmt;

use warpwright_numeric::Dtype;

use crate::case::Expect;
use crate::operand::Operand;
use crate::prepare::Prepared;
use crate::reference::{Reference, Tracked};
use crate::runner::Outcome;

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Report {
    /// The case.
    pub name: String,
    /// Right, wrong or not run.
    pub verdict: Verdict,
    /// Name of the launched kernel; empty if nothing was launched.
    pub kernel: String,
    /// The element with the largest error relative to what is allowed.
    pub worst: Option<Worst>,
}

/// Right, wrong or not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Right.
    Pass,
    /// Wrong: what, where, by how much.
    Fail(String),
    /// Not run: why.
    Skip(String),
}

/// An element of D and how far it is off.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    /// Batch, row, column.
    pub at: (usize, usize, usize),
    /// What is in D.
    pub got: f64,
    /// The reference.
    pub want: f64,
    /// |got − want|.
    pub error: f64,
    /// The largest error allowed; 0 in exact rows.
    pub allowed: f64,
    /// `error / allowed`; infinite where nothing is allowed and the values differ.
    pub ratio: f64,
}

impl Report {
    /// A failure that has nothing to do with single elements.
    pub fn failed(name: &str, what: String) -> Self {
        Self { name: name.to_owned(), verdict: Verdict::Fail(what), kernel: String::new(), worst: None }
    }

    /// Whether the answer was right.
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Pass
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (batch, row, column) = self.at;
        let Self { got, want, error, allowed, ratio, .. } = self;
        write!(
            f,
            "d[{batch}][{row}, {column}] = {got}, should be {want}: off by {error:.3e}, allowed {allowed:.3e} (x{ratio:.2})"
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<32} ", self.name)?;
        match &self.verdict {
            Verdict::Pass => write!(f, "ok")?,
            Verdict::Fail(what) => write!(f, "WRONG {what}")?,
            Verdict::Skip(why) => write!(f, "skipped: {why}")?,
        }
        match self.worst {
            Some(worst) if self.passed() && worst.allowed > 0.0 => write!(f, " (x{:.3} of the bound)", worst.ratio),
            _ => Ok(()),
        }
    }
}

/// Judges an outcome.
pub fn judge(case: &Prepared, reference: &Reference, outcome: &Outcome) -> Report {
    let mut report = Report::failed(&case.case.name, String::new());
    report.verdict = match (outcome, &case.case.expect) {
        (Outcome::Skipped { why }, _) => Verdict::Skip(why.clone()),
        (Outcome::Done { .. }, Expect::Error { error, .. }) => {
            Verdict::Fail(format!("ran, but {error:?} was expected"))
        }
        (Outcome::Failed { kind, text, d }, Expect::Error { error, text: part }) => {
            if kind != error {
                Verdict::Fail(format!("{kind:?} instead of {error:?}: {text}"))
            } else if !text.contains(part) {
                Verdict::Fail(format!("the error does not speak of `{part}`: {text}"))
            } else if **d != *case.d.bytes {
                Verdict::Fail("refused, but D was touched".to_owned())
            } else {
                Verdict::Pass
            }
        }
        (Outcome::Failed { kind, text, .. }, _) => Verdict::Fail(format!("{kind:?}: {text}")),
        (Outcome::Done { d, kernel, .. }, _) => {
            report.kernel.clone_from(kernel);
            match with_bytes(&case.d, d) {
                Ok(d) => {
                    let (verdict, worst) = elements(case, reference, &d);
                    report.worst = worst;
                    verdict
                }
                Err(what) => Verdict::Fail(what),
            }
        }
    };
    report
}

/// The operand `like` with other contents.
pub(crate) fn with_bytes(like: &Operand, bytes: &[u8]) -> Result<Operand, String> {
    if bytes.len() != like.bytes.len() {
        return Err(format!("D's buffer has {} bytes, {} came back", like.bytes.len(), bytes.len()));
    }
    let mut operand = like.clone();
    operand.bytes.copy_from_slice(bytes);
    Ok(operand)
}

fn elements(case: &Prepared, reference: &Reference, d: &Operand) -> (Verdict, Option<Worst>) {
    let exact = case.case.expect == Expect::Exact;
    let (mut wrong, mut first, mut worst) = (0usize, None, None::<Worst>);
    for at in d.layout.coordinates() {
        let (b, i, j) = at;
        let want = reference.at(b, i, j);
        let allowed = if exact { 0.0 } else { want.error + half_ulp(d.layout.dtype, want.value.abs() + want.error) };
        if exact && !computable(case, want.value) {
            return (Verdict::Fail(format!("the row is not exact: {} needs more bits than f32 has", want.value)), None);
        }
        if !exact && want.value.is_finite() && !allowed.is_finite() {
            return (Verdict::Fail(format!("the row has no finite bound at d[{b}][{i}, {j}]")), None);
        }
        let this = deviation(d.layout.dtype, at, d.get(b, i, j), want, allowed);
        if this.ratio > 1.0 {
            wrong += 1;
            first = first.or(Some(this));
        }
        if worst.is_none_or(|w| this.ratio > w.ratio) {
            worst = Some(this);
        }
    }
    let verdict = match (first, worst) {
        (Some(first), Some(worst)) => {
            let more = if worst.at == first.at { String::new() } else { format!("; worst: {worst}") };
            Verdict::Fail(format!("{wrong} of {} elements; first: {first}{more}", d.layout.coordinates().count()))
        }
        _ => match d.broken_guard(&case.d.bytes) {
            Some(byte) => Verdict::Fail(format!("byte {byte} of D's buffer, outside its elements, was written")),
            None => Verdict::Pass,
        },
    };
    (verdict, worst)
}

/// Whether the compute type holds a value: otherwise an exact answer cannot be asked for.
fn computable(case: &Prepared, x: f64) -> bool {
    case.case.acc_type() != Dtype::F32 || x.is_nan() || f64::from(x as f32) == x
}

fn deviation(dtype: Dtype, at: (usize, usize, usize), got: f64, want: Tracked, allowed: f64) -> Worst {
    let rounded = round(dtype, want.value);
    let error = (got - want.value).abs();
    let ratio = if got == rounded || got.is_nan() && rounded.is_nan() {
        if allowed > 0.0 && error.is_finite() { error / allowed } else { 0.0 }
    } else if error.is_nan() || allowed == 0.0 {
        f64::INFINITY
    } else {
        error / allowed
    };
    Worst { at, got, want: want.value, error, allowed, ratio }
}

/// A value after one rounding to a type.
pub(crate) fn round(dtype: Dtype, x: f64) -> f64 {
    let mut bytes = [0; 8];
    dtype.encode(&mut bytes, 0, x);
    dtype.decode(&bytes, 0)
}

/// Half an ulp of a type at a magnitude; integers round by up to a half.
pub(crate) fn half_ulp(dtype: Dtype, magnitude: f64) -> f64 {
    let (digits, least) = match dtype {
        Dtype::F64 => (53, -1022),
        Dtype::F32 => (24, -126),
        Dtype::F16 => (11, -14),
        Dtype::Bf16 => (8, -126),
        Dtype::E4m3 => (4, -6),
        Dtype::E5m2 => (3, -14),
        _ => return 0.5,
    };
    if !magnitude.is_finite() {
        return magnitude;
    }
    let exponent = ((magnitude.to_bits() >> 52) & 0x7FF) as i32 - 1023;
    2f64.powi(exponent.max(least) - digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_ulps() {
        assert_eq!(half_ulp(Dtype::F32, 1.0), 2f64.powi(-24));
        assert_eq!(half_ulp(Dtype::Bf16, 3.0), 2f64.powi(-7));
        assert_eq!(half_ulp(Dtype::F16, 0.0), 2f64.powi(-25));
    }
}
