//! Pictures of layouts, swizzles, tiled copies and MMA atoms: as text, as LaTeX (TikZ, as CuTe's `print_latex`), as SVG.
//!
//! ```
//! use warpwright_layout::layout;
//! use warpwright_layout::picture::Picture;
//! let picture = Picture::of_layout(&layout!((2, 3):(3, 1)).into())?;
//! assert_eq!(
//!     picture.ascii(),
//!     "(_2,_3):(_3,_1)\n      0   1   2 \n    +---+---+---+\n 0  | 0 | 1 | 2 |\n    +---+---+---+\n 1  | 3 | 4 | 5 |\n    \
//!      +---+---+---+\n"
//! );
//! # Ok::<(), warpwright_layout::LayoutError>(())
//! ```

mod ascii;
mod latex;
mod svg;

use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Operand, Side, Swizzle, TiledCopy, TiledMma, Wide};

/// Most cells that a picture has.
pub const MAX_CELLS: i64 = 1 << 14;

/// Most values that all threads of a thread-value picture hold together: a block's threads, each with all elements of the
/// largest tile that an instruction reads from shared memory.
const MAX_HELD: i64 = 1 << 26;

/// One or more matrices of labelled cells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    title: String,
    grids: Vec<Grid>,
}

/// A matrix and its place in the picture, in cells.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Grid {
    title: String,
    row: usize,
    column: usize,
    rows: usize,
    columns: usize,
    /// Row by row.
    cells: Vec<Cell>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Cell {
    /// Nothing reaches it.
    Empty,
    /// An offset, shaded by its value.
    Offset(i64),
    /// An offset, coloured by the unit that a swizzle moves.
    Unit { offset: i64, unit: i64 },
    /// The thread that holds it, and as which of its values.
    Held { thread: i64, value: i64 },
}

impl Cell {
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Empty => Vec::new(),
            Self::Offset(v) | Self::Unit { offset: v, .. } => vec![v.to_string()],
            Self::Held { thread, value } => vec![format!("T{thread}"), format!("V{value}")],
        }
    }
}

impl Grid {
    /// The cells of `f`, asked for each row and column.
    fn new(
        title: String,
        (rows, columns): (i64, i64),
        mut f: impl FnMut(i64, i64) -> Cell,
    ) -> Result<Self, LayoutError> {
        if rows.saturating_mul(columns) > MAX_CELLS {
            return Err(LayoutError::TooManyCells { rows, columns, most: MAX_CELLS });
        }
        let cells = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| f(i, j)).collect();
        Ok(Self { title, row: 0, column: 0, rows: rows as usize, columns: columns as usize, cells })
    }

    fn at(mut self, row: usize, column: usize) -> Self {
        (self.row, self.column) = (row, column);
        self
    }

    fn cell(&self, i: usize, j: usize) -> &Cell {
        &self.cells[i * self.columns + j]
    }

    /// Who holds each element of a tile: `tv` takes (thread, value) to a column-major index. The first holder is named.
    fn held(title: String, tv: &Layout, (rows, columns): (i64, i64), transposed: bool) -> Result<Self, LayoutError> {
        if tv.rank() != 2 {
            return Err(LayoutError::Rank { operation: "thread-value picture", found: tv.rank(), needed: 2 });
        }
        let shown = if transposed { (columns, rows) } else { (rows, columns) };
        let mut grid = Self::new(title, shown, |_, _| Cell::Empty)?;
        let (threads, values) = (tv.mode(0).size().value(), tv.mode(1).size().value());
        if threads.saturating_mul(values) > MAX_HELD {
            return Err(LayoutError::Overflow {
                what: "the number of values of all threads in a picture",
                value: Wide::of(threads as i128 * values as i128),
                limit: MAX_HELD,
            });
        }
        // An operand in shared memory is seen by all threads: the first one fills the picture.
        for thread in 0..threads {
            let mut news = false;
            for value in 0..values {
                let index = tv.eval_at(&[thread, value]);
                if !(0..rows * columns).contains(&index) {
                    return Err(LayoutError::Outside { offset: index });
                }
                let (i, j) = (index % rows, index / rows);
                let (i, j) = if transposed { (j, i) } else { (i, j) };
                let cell = &mut grid.cells[(i * shown.1 + j) as usize];
                if *cell == Cell::Empty {
                    *cell = Cell::Held { thread, value };
                    news = true;
                }
            }
            if !news && grid.cells.iter().all(|cell| *cell != Cell::Empty) {
                break;
            }
        }
        Ok(grid)
    }
}

/// Extents of mode 0 and of everything else.
fn matrix(shape: &IntTuple) -> (i64, i64) {
    if shape.rank() < 2 {
        return (1, shape.product().value());
    }
    let rows = shape.mode(0).product().value();
    (rows, shape.product().value() / rows)
}

impl Picture {
    /// Each coordinate's offset: mode 0 down, the other modes across. A layout of rank 1 is one row.
    ///
    /// # Errors
    /// [`LayoutError::TooManyCells`] above [`MAX_CELLS`].
    pub fn of_layout(layout: &ComposedLayout) -> Result<Self, LayoutError> {
        let (rows, columns) = matrix(&layout.layout.shape());
        let grid = Grid::new(String::new(), (rows, columns), |i, j| {
            let offset = layout.eval(i + rows * j);
            if layout.swizzle.is_identity() {
                Cell::Offset(offset)
            } else {
                Cell::Unit { offset, unit: offset >> layout.swizzle.base }
            }
        })?;
        Ok(Self { title: layout.to_string(), grids: vec![grid] })
    }

    /// The block that a swizzle permutes, in units of its 2^base untouched elements: where each unit goes.
    ///
    /// # Errors
    /// [`LayoutError::TooManyCells`] above [`MAX_CELLS`].
    pub fn of_swizzle(swizzle: &Swizzle) -> Result<Self, LayoutError> {
        let (rows, columns) = (1i64 << swizzle.bits, 1i64 << swizzle.shift.unsigned_abs());
        let grid = Grid::new(String::new(), (rows, columns), |i, j| {
            let offset = swizzle.apply((i * columns + j) << swizzle.base) >> swizzle.base;
            Cell::Unit { offset, unit: offset }
        })?;
        let unit = 1i64 << swizzle.base;
        Ok(Self { title: format!("{swizzle} in units of {unit}"), grids: vec![grid] })
    }

    /// Which thread holds each element of a tile of `tile` elements, and as which of its values; `tv` takes (thread, value)
    /// to a column-major index in the tile.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] when `tv` is not of rank 2, [`LayoutError::TooManyCells`] above [`MAX_CELLS`],
    /// [`LayoutError::Outside`] when it reaches beyond the tile, [`LayoutError::Overflow`] above 2^26 values,
    /// [`LayoutError::Extent`] for a tile that is none.
    pub fn of_tv(tv: &Layout, tile: &IntTuple) -> Result<Self, LayoutError> {
        // A tile that is too large or has no elements is no layout.
        Layout::column_major(*tile)?;
        let grid = Grid::held(String::new(), tv, matrix(tile), false)?;
        Ok(Self { title: format!("{tv} in {tile}"), grids: vec![grid] })
    }

    /// What each thread reads (left) and writes (right) of the copy's tile.
    ///
    /// # Errors
    /// As [`TiledCopy::tv`] and [`of_tv`](Self::of_tv).
    pub fn of_copy(copy: &TiledCopy) -> Result<Self, LayoutError> {
        let tile = matrix(&copy.tiler());
        let (source, destination) = (copy.tv(Side::Source)?, copy.tv(Side::Destination)?);
        let left = Grid::held(format!("source {source}"), &source, tile, false)?;
        let right = Grid::held(format!("destination {destination}"), &destination, tile, false)?;
        let gap = left.columns + 3;
        let title = format!("tiled copy of {} by {} threads", copy.tiler(), copy.threads());
        Ok(Self { title, grids: vec![left, right.at(0, gap)] })
    }

    /// What each thread holds of C (below right), A (left) and B (above, k down), for the tile of a tiled MMA or, with one
    /// atom, for the atom.
    ///
    /// # Errors
    /// As [`TiledMma::tv`] and [`of_tv`](Self::of_tv).
    pub fn of_mma(mma: &TiledMma) -> Result<Self, LayoutError> {
        let [m, n, k] = mma.tile_mnk();
        let tv = |operand| mma.tv(operand);
        let (a, b, c) = (tv(Operand::A)?, tv(Operand::B)?, tv(Operand::C)?);
        let gap = k as usize + 3;
        let title = format!("MMA of {m} x {n} x {k} by {} threads", mma.threads());
        let grids = vec![
            Grid::held(format!("C {c}"), &c, (m, n), false)?.at(gap, gap),
            Grid::held(format!("A {a}"), &a, (m, k), false)?.at(gap, 0),
            Grid::held(format!("B {b}"), &b, (n, k), true)?.at(0, gap),
        ];
        Ok(Self { title, grids })
    }
}
