//! The right answer, in f64, with a bound on the error that a right kernel may make.
//!
//! The accumulator's bound is 2⁻²³·√K·‖a_i‖·‖b_j‖ for f32 accumulators (2⁻⁵² for f64, none for integers); where an instruction
//! keeps 14 bits of sums of fp8, 2⁻¹⁶·√K·‖a_i‖·‖b_j‖, and if they are promoted as much of every 128 products. The epilogue
//! runs in f32 on devices, so every operation carries the bounds of its arguments on and adds its own rounding, half an
//! ulp (2⁻²⁴ of the result): a sum adds the bounds, a product weighs each by the other factor, a quotient divides by
//! the smallest divisor, `min`, `max` and `relu` take the larger bound, a user's function multiplies by its slope.
//! For `alpha*acc` that is |alpha| times the accumulator's bound plus one rounding.

use rayon::prelude::*;
use warpwright::AccumulationId;
use warpwright_numeric::Dtype;

use crate::compare::{half_ulp, round};
use crate::expression::{Expression, Leaves, Operator, Value, extreme};
use crate::functions::Called;
use crate::prepare::Prepared;
use crate::user::UserFunction;

/// Half an ulp of f32, relative.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;

/// A number and by how much a device's value of it may differ.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// The exact value, but for f64's rounding.
    pub value: f64,
    /// Largest difference allowed.
    pub error: f64,
}

/// D before it is rounded to its type.
#[derive(Clone, Debug)]
pub struct Reference {
    rows: usize,
    columns: usize,
    values: Vec<Tracked>,
}

impl Reference {
    /// Computes D; sums are whole.
    pub fn of(case: &Prepared) -> Self {
        Self::summed(case, None)
    }

    /// Computes D for a kernel whose instruction keeps 14 bits of sums, and how it keeps them.
    pub fn summed(case: &Prepared, narrow: Option<AccumulationId>) -> Self {
        let (rows, columns, batch) = (case.case.m, case.case.n, case.case.batch);
        let mut values = vec![Tracked { value: 0.0, error: 0.0 }; batch * rows * columns];
        if !values.is_empty() {
            values.par_chunks_mut(rows * columns).enumerate().for_each(|(b, out)| entry(case, narrow, b, out));
        }
        Self { rows, columns, values }
    }

    /// D's element.
    pub fn at(&self, batch: usize, row: usize, column: usize) -> Tracked {
        self.values[(batch * self.rows + row) * self.columns + column]
    }

    /// All elements in the order batch, row, column.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.values.iter().map(|t| t.value)
    }
}

fn entry(case: &Prepared, narrow: Option<AccumulationId>, batch: usize, out: &mut [Tracked]) {
    let (m, n, k) = (case.case.m, case.case.n, case.case.k);
    let multiply = case.epilogue.reads(&|e| matches!(e, Expression::Acc));
    let k = if multiply { k } else { 0 };
    let a: Vec<f64> = (0..m).flat_map(|i| (0..k).map(move |l| (i, l))).map(|(i, l)| case.a.get(batch, i, l)).collect();
    let b: Vec<f64> = (0..n).flat_map(|j| (0..k).map(move |l| (l, j))).map(|(l, j)| case.b.get(batch, l, j)).collect();
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let b_norms: Vec<f64> = (0..n).map(|j| norm(&b[j * k..][..k])).collect();
    let unit = match case.case.acc_type() {
        Dtype::F64 => f64::EPSILON,
        Dtype::I32 => 0.0,
        _ => 2.0 * ROUNDING,
    } * (k as f64).sqrt();
    // A few products are cut off at the last of the 14 bits of the largest: 2^-13 of it, however few they are.
    let cut = |k: usize| 2f64.powi(-16) * ((k + 64) as f64).sqrt();
    let unit = unit
        + match narrow {
            None => 0.0,
            Some(AccumulationId::FAST_ACCUM) => cut(k),
            // By Cauchy and Schwarz, the sum of what each part may be off.
            Some(AccumulationId::PROMOTED) => cut(k.min(128)),
        };
    out.par_chunks_mut(n).enumerate().for_each(|(row, out)| {
        let a = &a[row * k..][..k];
        let a_norm = norm(a);
        for (column, out) in out.iter_mut().enumerate() {
            let value = dot(a, &b[column * k..][..k]);
            let acc = Tracked { value, error: unit * a_norm * b_norms[column] };
            *out = case.epilogue.evaluate(&At { case, acc, batch, row, column });
        }
    });
}

/// A sum of products with the rounding errors of the additions carried along. Products of types up to f32 are exact,
/// so the result is, but for its last bit, the correctly rounded one.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for (x, y) in a.iter().zip(b) {
        let product = x * y;
        let next = sum + product;
        let part = next - sum;
        lost += (sum - (next - part)) + (product - part);
        sum = next;
    }
    // An infinite sum has lost NaN.
    if sum.is_finite() { sum + lost } else { sum }
}

struct At<'a> {
    case: &'a Prepared,
    acc: Tracked,
    batch: usize,
    row: usize,
    column: usize,
}

impl Leaves<Tracked> for At<'_> {
    fn acc(&self) -> Tracked {
        self.acc
    }

    fn source(&self) -> Tracked {
        exact(self.case.c.as_ref().map_or(f64::NAN, |c| c.get(self.batch, self.row, self.column)))
    }

    fn previous(&self) -> Tracked {
        exact(self.case.d.get(self.batch, self.row, self.column))
    }

    fn bound(&self, name: &str) -> Tracked {
        exact(self.case.binding(name).map_or(f64::NAN, |b| b.at(self.batch, self.row, self.column)))
    }

    fn is_bound(&self, name: &str) -> bool {
        self.case.binding(name).is_some()
    }

    fn place(&self) -> (usize, usize) {
        (self.row, self.column)
    }
}

fn exact(value: f64) -> Tracked {
    Tracked { value, error: 0.0 }
}

impl Value for Tracked {
    fn number(x: f64) -> Self {
        exact(f64::from(x as f32))
    }

    fn negate(self) -> Self {
        Self { value: -self.value, ..self }
    }

    fn binary(self, op: Operator, other: Self) -> Self {
        let (x, y) = (self, other);
        let rounded = |value: f64, error: f64| Self { value, error: error + ROUNDING * (value.abs() + error) };
        match op {
            Operator::Add => rounded(x.value + y.value, x.error + y.error),
            Operator::Subtract => rounded(x.value - y.value, x.error + y.error),
            Operator::Multiply => {
                let error = x.value.abs() * y.error + y.value.abs() * x.error + x.error * y.error;
                rounded(x.value * y.value, error)
            }
            Operator::Divide => {
                let quotient = x.value / y.value;
                // A divisor that may be zero makes the bound useless, which `compare` reports.
                let smallest = (y.value.abs() - y.error).max(0.0);
                rounded(quotient, (x.error + quotient.abs() * y.error) / smallest)
            }
            Operator::Min | Operator::Max => Self { value: extreme(op, x.value, y.value), error: x.error.max(y.error) },
        }
    }

    fn relu(self) -> Self {
        Self { value: self.value.relu(), ..self }
    }

    /// A function moves with its arguments as far as it moves between the ends of their bounds.
    fn call(f: &Called, arguments: &[Self]) -> Self {
        let values: Vec<f64> = arguments.iter().map(|x| x.value).collect();
        let value = (f.exact)(&values);
        let moved = (0..1usize << arguments.len()).map(|ends| {
            let at = |(i, x): (usize, &Self)| x.value + if ends >> i & 1 == 1 { x.error } else { -x.error };
            let ends: Vec<f64> = arguments.iter().enumerate().map(at).collect();
            ((f.exact)(&ends) - value).abs()
        });
        let moved = moved.fold(0.0, f64::max);
        let [of_result, of_first, own] = f.error;
        let first = arguments.first().map_or(0.0, |x| x.value.abs() + x.error);
        Self { value, error: moved + of_result * (value.abs() + moved) + of_first * first + own }
    }

    fn convert(self, dtype: Dtype) -> Self {
        let value = round(dtype, self.value);
        Self {
            value,
            error: if self.error == 0.0 { 0.0 } else { self.error + 2.0 * half_ulp(dtype, value.abs() + self.error) },
        }
    }

    fn user(self, f: &UserFunction) -> Self {
        let value = (f.exact)(self.value);
        Self { value, error: self.error * f.slope + f.roundings * ROUNDING * value.abs() }
    }
}
