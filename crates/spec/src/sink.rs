//! What an epilogue stores beside D.

use crate::BlockScales;
use warpwright_numeric::Dtype;

/// What becomes of a value on the side, while it is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sink {
    /// It is rounded to this element and stored in an M x N matrix.
    Matrix(Dtype),
    /// Whether it is greater than zero is stored, a bit an element.
    Mask,
    /// It is reduced.
    Reduce(Reduction),
    /// The scale factors of its blocks are stored, and what is passed on is divided by them.
    Quantize(BlockScales),
}

/// A reduction of an M x N matrix, in the compute type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reduction {
    /// What values become.
    pub operator: Reducer,
    /// What they are reduced along.
    pub axes: Axes,
    /// Whether partial results are put together by atomic operations, in any order, rather than by a second kernel in the
    /// order of their places.
    pub atomic: bool,
}

/// How values are reduced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reducer {
    /// The sum, accumulated in f64.
    Sum,
    /// The largest value; NaN if any is.
    Max,
    /// The smallest value; NaN if any is.
    Min,
    /// The largest magnitude; NaN if any is.
    Amax,
    /// The sum of squares, accumulated in f64.
    SumOfSquares,
}

/// What is reduced away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Axes {
    /// M: N values remain, one a column.
    Rows,
    /// N: M values remain, one a row.
    Columns,
    /// Both: one value remains.
    All,
}

impl Reducer {
    /// All of them.
    pub const ALL: [Reducer; 5] = [Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Amax, Reducer::SumOfSquares];

    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Reducer::Sum => "sum",
            Reducer::Max => "max",
            Reducer::Min => "min",
            Reducer::Amax => "amax",
            Reducer::SumOfSquares => "sum_of_squares",
        }
    }

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Reducer> {
        Self::ALL.into_iter().find(|r| r.name() == name)
    }

    /// Whether results depend on the order in which values are put together.
    pub const fn is_sum(self) -> bool {
        matches!(self, Reducer::Sum | Reducer::SumOfSquares)
    }
}

impl Axes {
    /// The function that reduces along them.
    pub const fn name(self) -> &'static str {
        match self {
            Axes::Rows => "reduce_rows",
            Axes::Columns => "reduce_columns",
            Axes::All => "reduce_all",
        }
    }
}

impl Reduction {
    /// `amax(s, e)`: the largest magnitude of a matrix.
    pub const AMAX: Reduction = Reduction { operator: Reducer::Amax, axes: Axes::All, atomic: false };
}

/// As users write it, up to the parenthesis.
impl core::fmt::Display for Sink {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Sink::Matrix(t) => write!(f, "aux_store<{}>", t.name()),
            Sink::Mask => f.write_str("aux_mask"),
            Sink::Reduce(Reduction::AMAX) => f.write_str("amax"),
            Sink::Reduce(Reduction { operator, axes, atomic }) => {
                let atomic = if *atomic { "atomic " } else { "" };
                write!(f, "{}<{atomic}{}>", axes.name(), operator.name())
            }
            Sink::Quantize(scales) => scales.fmt(f),
        }
    }
}
