//! The plainest right runner, f32 sums in order of K, and the same with a fault planted. Tests use it to show that the
//! bounds can be met and that faults exceed them.

use rayon::prelude::*;
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
        Outcome::Done { d: d.bytes.to_vec(), kernel: "naive".to_owned(), narrow: None }
    }
}

impl Naive {
    fn compute<V: Value + Into<f64> + Send + Sync>(&self, case: &Prepared) -> Operand {
        let (m, n, batch) = (case.case.m, case.case.n, case.case.batch);
        let reads_acc = case.epilogue.reads(&|e| matches!(e, Expression::Acc));
        let k = if reads_acc { case.case.k } else { 0 };
        let k = k.saturating_sub(usize::from(self.fault == Some(Fault::DropLastK)));
        let entry = |entry: usize| -> Vec<f64> {
            let a: Vec<V> = matrix(m, k, |i, l| case.a.get(entry, i, l));
            let b: Vec<V> = matrix(n, k, |j, l| case.b.get(entry, l, j));
            let element = |row: usize, column: usize| {
                let products = a[row * k..][..k].iter().zip(&b[column * k..][..k]);
                let add = |sum: V, (x, y): (&V, &V)| sum.binary(Operator::Add, x.binary(Operator::Multiply, *y));
                let acc = products.fold(V::number(0.0), add);
                case.epilogue.evaluate(&At { case, acc, entry, row, column }).into()
            };
            (0..m * n).into_par_iter().map(|at| element(at / n, at % n)).collect()
        };
        let entries: Vec<Vec<f64>> = (0..batch).into_par_iter().map(entry).collect();
        let mut d = case.d.clone();
        for (entry, values) in entries.iter().enumerate() {
            for (at, value) in values.iter().enumerate() {
                let (row, column) = self.place(at / n, at % n, m, n);
                d.set(entry, row, column, *value);
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

/// `outer` vectors of `k` elements.
fn matrix<V: Value>(outer: usize, k: usize, element: impl Fn(usize, usize) -> f64) -> Vec<V> {
    let places = (0..outer).flat_map(|x| (0..k).map(move |l| (x, l)));
    places.map(|(x, l)| V::number(element(x, l))).collect()
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

    fn is_bound(&self, name: &str) -> bool {
        self.case.binding(name).is_some()
    }

    fn place(&self) -> (usize, usize) {
        (self.row, self.column)
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
