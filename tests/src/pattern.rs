//! What an operand holds.

use serde::Deserialize;
use warpwright_numeric::Dtype;

use crate::random;

/// A data pattern. All but `Normal` are exact in every type of the table that uses them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Pattern {
    /// There is no buffer at all.
    Absent,
    /// `integers` or `integers(low, high)`: uniform integers, from -4 to 4 by default.
    Integers(i64, i64),
    /// `normal`: see [`random::normal`], rounded to the type.
    Normal,
    /// `ones`, `zeros`, `nan`, `inf` or `constant(x)`.
    Constant(f64),
    /// `rowid`: row number modulo the type's prime in column 0, the rest zero.
    RowId,
    /// `colid`: column number modulo the type's prime in row 0, the rest zero.
    ColumnId,
    /// `batchid`: batch number modulo the type's prime, everywhere.
    BatchId,
    /// `onehot_row(r)`: one in row `r`, the rest zero.
    OneHotRow(usize),
    /// `onehot_column(c)`: one in column `c`, the rest zero.
    OneHotColumn(usize),
    /// `tail_rows(r)`: one in the last `r` rows, the rest zero.
    TailRows(usize),
    /// `tail_columns(r)`: one in the last `r` columns, the rest zero.
    TailColumns(usize),
    /// `affine(base, batch, row, column)`: `base + batch*b + row*i + column*j`.
    Affine([f64; 4]),
}

/// Where in an operand an element is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Batch entry.
    pub batch: usize,
    /// Row, of `rows`.
    pub row: usize,
    /// Column, of `columns`.
    pub column: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

impl Pattern {
    /// The value at `place`, before rounding to the type.
    pub fn value(&self, key: u64, dtype: Dtype, place: Place) -> f64 {
        let Place { batch, row, column, rows, columns } = place;
        let one_if = |yes: bool| f64::from(u8::from(yes));
        let bits = || random::draw(key, ((batch * rows + row) * columns + column) as u64);
        match *self {
            Pattern::Absent => 0.0,
            Pattern::Integers(low, high) => random::integer(bits(), low, high) as f64,
            Pattern::Normal => random::normal(bits()),
            Pattern::Constant(x) => x,
            Pattern::RowId => one_if(column == 0) * (row % prime(dtype)) as f64,
            Pattern::ColumnId => one_if(row == 0) * (column % prime(dtype)) as f64,
            Pattern::BatchId => (batch % prime(dtype)) as f64,
            Pattern::OneHotRow(r) => one_if(row == r),
            Pattern::OneHotColumn(c) => one_if(column == c),
            Pattern::TailRows(r) => one_if(row + r >= rows),
            Pattern::TailColumns(r) => one_if(column + r >= columns),
            Pattern::Affine([base, per_batch, per_row, per_column]) => {
                base + per_batch * batch as f64 + per_row * row as f64 + per_column * column as f64
            }
        }
    }
}

/// A prime up to which the type holds every integer, so that a tile misplaced by a power of two shows.
fn prime(dtype: Dtype) -> usize {
    match dtype {
        Dtype::Bf16 | Dtype::U8 => 251,
        Dtype::I8 => 127,
        Dtype::E4m3 => 13,
        Dtype::E5m2 => 7,
        _ => 2039,
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no data pattern");
        let (name, arguments) = match text.split_once('(') {
            Some((name, rest)) => (name.trim(), rest.strip_suffix(')').ok_or_else(unknown)?),
            None => (text.trim(), ""),
        };
        let numbers: Vec<f64> = arguments
            .split(',')
            .map(str::trim)
            .filter(|s| !s.is_empty())
            .map(|s| s.parse().map_err(|_| unknown()))
            .collect::<Result<_, _>>()?;
        Ok(match (name, numbers.as_slice()) {
            ("absent", []) => Pattern::Absent,
            ("integers", []) => Pattern::Integers(-4, 4),
            ("integers", &[low, high]) => Pattern::Integers(low as i64, high as i64),
            ("normal", []) => Pattern::Normal,
            ("ones", []) => Pattern::Constant(1.0),
            ("zeros", []) => Pattern::Constant(0.0),
            ("nan", []) => Pattern::Constant(f64::NAN),
            ("inf", []) => Pattern::Constant(f64::INFINITY),
            ("constant", &[x]) => Pattern::Constant(x),
            ("rowid", []) => Pattern::RowId,
            ("colid", []) => Pattern::ColumnId,
            ("batchid", []) => Pattern::BatchId,
            ("onehot_row", &[r]) => Pattern::OneHotRow(r as usize),
            ("onehot_column", &[c]) => Pattern::OneHotColumn(c as usize),
            ("tail_rows", &[r]) => Pattern::TailRows(r as usize),
            ("tail_columns", &[r]) => Pattern::TailColumns(r as usize),
            ("affine", &[base, batch, row, column]) => Pattern::Affine([base, batch, row, column]),
            _ => return Err(unknown()),
        })
    }
}
