//! The plainest right runner, f32 sums in order of K, and the same with a fault planted. Tests use it to show that the
//! bounds can be met and that faults exceed them.

use warpwright_numeric::Dtype;

use crate::case::{ErrorKind, Expect};
use crate::expression::{Expression, Leaves, Operator, Value};
use crate::operand::Operand;
use crate::prepare::Prepared;
use crate::runner::{Outcome, Runner};

/// A fault to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The last step of K is left out.
    DropLastK,
    /// In the tile of `0` rows that holds row 0, every row holds its successor's result, cyclically.
    ShiftRows(usize),
    /// The same for columns.
    ShiftColumns(usize),
    /// One element behind the end of the first row of D is written.
    WriteBeyond,
}

/// Multiplies by definition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naive {
    /// What it does wrong.
    pub fault: Option<Fault>,
}

impl Runner for Naive {
    fn run(&self, case: &Prepared) -> Outcome {
        if matches!(case.case.expect, Expect::Error { .. }) {
            return Outcome::Skipped { why: "does not validate".to_owned() };
        }
        let d = match case.case.acc_type() {
            Dtype::F32 => self.compute::<f32>(case),
            _ => self.compute::<f64>(case),
        };
        Outcome::Done { d: d.bytes.to_vec(), kernel: "naive".to_owned() }
    }
}

impl Naive {
    fn compute<V: Value + Into<f64>>(&self, case: &Prepared) -> Operand {
        let (m, n, batch) = (case.case.m, case.case.n, case.case.batch);
        let k = case.case.k.saturating_sub(usize::from(self.fault == Some(Fault::DropLastK)));
        let mut d = case.d.clone();
        let reads_acc = case.epilogue.reads(&|e| matches!(e, Expression::Acc));
        for entry in 0..batch {
            let a: Vec<V> = matrix(&case.a, entry, m, k, |i, l| (i, l));
            let b: Vec<V> = matrix(&case.b, entry, n, k, |j, l| (l, j));
            for row in 0..m {
                for column in 0..n {
                    let mut acc = V::number(0.0);
                    if reads_acc {
                        for l in 0..k {
                            let product = a[row * k + l].binary(Operator::Multiply, b[column * k + l]);
                            acc = acc.binary(Operator::Add, product);
                        }
                    }
                    let value = case.epilogue.evaluate(&At { case, acc, entry, row, column });
                    let (i, j) = self.place(row, column, m, n);
                    d.set(entry, i, j, value.into());
                }
            }
        }
        if self.fault == Some(Fault::WriteBeyond) && !d.layout.is_empty() {
            let at = d.layout.byte(0, 0, 0) + d.layout.span() * d.layout.size();
            d.bytes[at] ^= 1;
        }
        d
    }

    /// Where the result for (row, column) goes.
    fn place(&self, row: usize, column: usize, m: usize, n: usize) -> (usize, usize) {
        let shift = |x: usize, tile: usize, extent: usize| {
            let tile = tile.min(extent);
            if x < tile { (x + tile - 1) % tile } else { x }
        };
        match self.fault {
            Some(Fault::ShiftRows(tile)) => (shift(row, tile, m), column),
            Some(Fault::ShiftColumns(tile)) => (row, shift(column, tile, n)),
            _ => (row, column),
        }
    }
}

fn matrix<V: Value>(
    x: &Operand,
    entry: usize,
    rows: usize,
    k: usize,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<V> {
    let mut values = Vec::with_capacity(rows * k);
    for outer in 0..rows {
        for l in 0..k {
            let (row, column) = place(outer, l);
            values.push(V::number(x.get(entry, row, column)));
        }
    }
    values
}

struct At<'a, V> {
    case: &'a Prepared,
    acc: V,
    entry: usize,
    row: usize,
    column: usize,
}

impl<V: Value> Leaves<V> for At<'_, V> {
    fn acc(&self) -> V {
        self.acc
    }

    fn source(&self) -> V {
        V::number(self.case.c.as_ref().map_or(f64::NAN, |c| c.get(self.entry, self.row, self.column)))
    }

    fn previous(&self) -> V {
        V::number(self.case.d.get(self.entry, self.row, self.column))
    }

    fn bound(&self, name: &str) -> V {
        V::number(self.case.binding(name).map_or(f64::NAN, |b| b.at(self.entry, self.row, self.column)))
    }
}

/// A runner that refuses everything, to test that an expected error is told from another.
#[derive(Clone, Debug)]
pub struct Refuse {
    /// The kind of its error.
    pub kind: ErrorKind,
    /// The text of its error.
    pub text: String,
    /// Whether it writes D before.
    pub touches: bool,
}

impl Runner for Refuse {
    fn run(&self, case: &Prepared) -> Outcome {
        let mut d = case.d.bytes.to_vec();
        if self.touches {
            d[0] ^= 1;
        }
        Outcome::Failed { kind: self.kind, text: self.text.clone(), d }
    }
}
