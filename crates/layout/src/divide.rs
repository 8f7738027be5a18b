//! Divides: a layout split into tiles and the rest.

use crate::layout::Builder;
use crate::{Cursor, IntTuple, Layout, LayoutError, Tiler, tri};

impl Layout {
    /// `((tile),(rest))` in each tiled mode: composition with the tile and its complement.
    ///
    /// # Errors
    /// As [`compose`](Self::compose) and [`complement`](Self::complement); [`LayoutError::TooManyModes`].
    pub const fn logical_divide(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        match tiler {
            Tiler::Keep => Ok(*self),
            Tiler::Size(n) => {
                let tile = tri!(Self::column_major(IntTuple::leaf(*n)));
                self.divide_by(&tile)
            }
            Tiler::Layout(tile) => self.divide_by(tile),
            Tiler::ByMode(modes) => {
                let rank = self.rank();
                if modes.len() > rank {
                    return Err(LayoutError::TooManyModes { operation: "logical_divide", given: modes.len(), rank });
                }
                let mut out = Builder::new();
                out.open();
                let mut i = 0;
                while i < rank {
                    if i < modes.len() {
                        let mode = tri!(self.mode(i).logical_divide(&modes[i]));
                        out.subtree(&mode, Cursor::START);
                    } else {
                        out.mode(self, i);
                    }
                    i += 1;
                }
                out.close();
                out.finish()
            }
        }
    }

    const fn divide_by(&self, tile: &Self) -> Result<Self, LayoutError> {
        let rest = tri!(tile.complement(&tri!(self.coalesce()).shape));
        self.compose_ragged(&tri!(Self::concat(&[*tile, rest])))
    }

    /// `((tile modes),(rest modes))`.
    ///
    /// # Errors
    /// As [`logical_divide`](Self::logical_divide); [`LayoutError::Rank`] for an underscore over a mode that is not a
    /// (tile, rest) pair.
    pub const fn zipped_divide(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        tri!(self.logical_divide(tiler)).tile_unzip(tiler)
    }

    /// `((tile modes),rest modes…)`.
    ///
    /// # Errors
    /// As [`zipped_divide`](Self::zipped_divide).
    pub const fn tiled_divide(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        tri!(self.zipped_divide(tiler)).unpack(false)
    }

    /// `(tile modes…,rest modes…)`.
    ///
    /// # Errors
    /// As [`zipped_divide`](Self::zipped_divide).
    pub const fn flat_divide(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        tri!(self.zipped_divide(tiler)).unpack(true)
    }

    /// Gathers the pairs at the tiler's terminals: `((A,a),((B,b),(C,c)),d)` becomes `((A,(B,C)),(a,(b,c),d))`.
    pub(crate) const fn tile_unzip(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        let Tiler::ByMode(modes) = tiler else {
            return if self.shape.is_tuple() && self.rank() == 2 {
                Ok(*self)
            } else {
                Err(LayoutError::Rank { operation: "zipped_divide", found: self.rank(), needed: 2 })
            };
        };
        let rank = self.rank();
        if modes.len() > rank {
            return Err(LayoutError::TooManyModes { operation: "zipped_divide", given: modes.len(), rank });
        }
        let (mut tiles, mut rests, mut i) = (Builder::new(), Builder::new(), 0);
        tiles.open();
        rests.open();
        while i < rank {
            if i < modes.len() {
                let split = tri!(self.mode(i).tile_unzip(&modes[i]));
                tiles.mode(&split, 0);
                rests.mode(&split, 1);
            } else {
                rests.mode(self, i);
            }
            i += 1;
        }
        tiles.close();
        rests.close();
        Self::concat(&[tri!(tiles.finish()), tri!(rests.finish())])
    }

    /// Takes the second (and the first, when `both`) of two modes apart. A mode of rank 1 stays as it is.
    pub(crate) const fn unpack(&self, both: bool) -> Result<Self, LayoutError> {
        let mut out = Builder::new();
        out.open();
        let mut i = 0;
        while i < 2 {
            let mode = self.mode(i);
            if (i == 1 || both) && mode.rank() > 1 {
                out.modes(&mode);
            } else {
                out.subtree(&mode, Cursor::START);
            }
            i += 1;
        }
        out.close();
        out.finish()
    }
}
