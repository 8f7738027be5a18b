//! Slicing with `_`.

use crate::error::within;
use crate::layout::{Builder, wide_sum};
use crate::{Cursor, IntTuple, Layout, LayoutError, ModePath, tri};

/// A coordinate in which `_` keeps a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coord<'a> {
    /// `_`: the whole mode.
    All,
    /// A linear coordinate in the mode, however deep the mode is.
    At(i64),
    /// One coordinate a mode.
    ByMode(&'a [Coord<'a>]),
}

impl Coord<'_> {
    /// Whether there is no integer in it.
    pub const fn is_all(&self) -> bool {
        match self {
            Coord::All => true,
            Coord::At(_) => false,
            Coord::ByMode(modes) => {
                let mut i = 0;
                while i < modes.len() {
                    if !modes[i].is_all() {
                        return false;
                    }
                    i += 1;
                }
                true
            }
        }
    }
}

impl IntTuple {
    /// Whether `coord` is within this shape of a grid of tiles, as far as it is nested like it: what is not, a slice refuses.
    pub(crate) const fn has_tile(&self, coord: &Coord<'_>) -> Result<(), LayoutError> {
        self.has_tile_at(Cursor::START, coord, ModePath::ROOT)
    }

    const fn has_tile_at(&self, at: Cursor, coord: &Coord<'_>, mode: ModePath) -> Result<(), LayoutError> {
        match coord {
            Coord::All => {}
            Coord::At(coordinate) => {
                let tiles = self.product_at(at);
                if *coordinate < 0 || *coordinate >= tiles.value() {
                    return Err(LayoutError::NoSuchTile { mode, coordinate: *coordinate, tiles });
                }
            }
            Coord::ByMode(modes) => {
                if self.is_tuple_at(at) && modes.len() == self.rank_at(at) {
                    let mut i = 0;
                    while i < modes.len() {
                        tri!(self.has_tile_at(self.child_at(at, i), &modes[i], mode.child(i)));
                        i += 1;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Layout {
    /// The modes that `coord` keeps, and the offset of the coordinates that it fixes. Kept modes inside a nested
    /// coordinate move up beside the others, as in CuTe; with nothing kept the layout is `():()`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] and [`LayoutError::CoordinateTooDeep`] when the nesting does not fit, [`LayoutError::Overflow`]
    /// when coordinates beyond the layout are at an offset beyond [`LIMIT`](Self::LIMIT).
    pub const fn slice(&self, coord: &Coord<'_>) -> Result<(Self, i64), LayoutError> {
        let offset = tri!(self.fixed_offset(Cursor::START, coord, ModePath::ROOT));
        let offset = tri!(within("the offset of the fixed coordinates", offset, Self::LIMIT));
        Ok((tri!(self.kept(coord)), offset))
    }

    /// The modes that a coordinate keeps which is nested as the layout is.
    pub(crate) const fn kept(&self, coord: &Coord<'_>) -> Result<Self, LayoutError> {
        if let Coord::All = coord {
            return Ok(*self);
        }
        let mut out = Builder::new();
        out.open();
        self.picked(Cursor::START, coord, true, &mut out);
        out.close();
        out.finish()
    }

    /// The modes that `coord` fixes, where [`slice`](Self::slice) keeps the others: CuTe's `dice`. They move up beside each
    /// other in the same way.
    ///
    /// ```
    /// use warpwright_layout::{Coord, layout};
    /// let fixed = layout!((8, (4, 2)):(8, (1, 64))).dice(&Coord::ByMode(&[Coord::At(3), Coord::ByMode(&[Coord::All, Coord::At(1)])]))?;
    /// assert_eq!(fixed.to_string(), "(_8,_2):(_8,_64)");
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub const fn dice(&self, coord: &Coord<'_>) -> Result<Self, LayoutError> {
        tri!(self.fixed_offset(Cursor::START, coord, ModePath::ROOT));
        if let Coord::At(_) = coord {
            return Ok(*self);
        }
        let mut out = Builder::new();
        out.open();
        self.picked(Cursor::START, coord, false, &mut out);
        out.close();
        out.finish()
    }

    /// Writes the modes that `coord` keeps, or those that it fixes.
    const fn picked(&self, at: Cursor, coord: &Coord<'_>, keeps: bool, out: &mut Builder) {
        match coord {
            Coord::All if keeps => out.subtree(self, at),
            Coord::At(_) if !keeps => out.subtree(self, at),
            Coord::All | Coord::At(_) => {}
            Coord::ByMode(modes) => {
                let mut i = 0;
                while i < modes.len() {
                    self.picked(self.shape.child_at(at, i), &modes[i], keeps, out);
                    i += 1;
                }
            }
        }
    }

    const fn fixed_offset(&self, at: Cursor, coord: &Coord<'_>, mode: ModePath) -> Result<i128, LayoutError> {
        match coord {
            Coord::All => Ok(0),
            Coord::At(i) => Ok(self.wide_leaves(at.leaf, self.shape.skip(at).leaf, *i)),
            Coord::ByMode(modes) => {
                if !self.shape.is_tuple_at(at) {
                    return Err(LayoutError::CoordinateTooDeep { mode });
                }
                let needed = self.shape.rank_at(at);
                if modes.len() != needed {
                    return Err(LayoutError::Rank { operation: "slice", found: modes.len(), needed });
                }
                let (mut i, mut sum) = (0, 0i128);
                while i < needed {
                    let child = self.shape.child_at(at, i);
                    sum = tri!(wide_sum(sum, tri!(self.fixed_offset(child, &modes[i], mode.child(i)))));
                    i += 1;
                }
                Ok(sum)
            }
        }
    }

    /// For each mode of `codomain`, the layout that gives that coordinate of the point which this layout reaches: a
    /// layout whose offsets are linear indices in the compact `codomain` becomes one function a coordinate.
    ///
    /// ```
    /// use warpwright_layout::{int_tuple, layout, Layout};
    /// // Thread and value to (m, n) in a 16 by 8 accumulator tile.
    /// const C: Layout = layout!(((4, 8), (2, 2)):((32, 1), (16, 8)));
    /// let n = C.coordinate(&int_tuple!((16, 8)), 1)?;
    /// assert_eq!(n.eval_at(&[5, 1]), 3);
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// As [`compose`](Self::compose); [`LayoutError::Rank`] when `codomain` has no mode `mode`.
    pub const fn coordinate(&self, codomain: &IntTuple, mode: usize) -> Result<Self, LayoutError> {
        let each = codomain.product_each();
        if mode >= each.leaves() {
            return Err(LayoutError::Rank {
                operation: "coordinate",
                found: each.leaves(),
                needed: mode.saturating_add(1),
            });
        }
        let mut pick = [crate::Int::ZERO; IntTuple::MAX_LEAVES];
        pick[mode] = crate::Int::ONE;
        tri!(Self::new(each, each.with_leaves(&pick))).compose(self)
    }
}
