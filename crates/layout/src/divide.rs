//! Divides: a layout split into tiles and the rest.

use crate::layout::Builder;
use crate::{Cursor, Layout, LayoutError, Tiler, tri};

impl Layout {
    /// `((tile),(rest))` in each tiled mode: composition with the tile and its complement.
    ///
    /// # Errors
    /// As [`compose`](Self::compose) and [`complement`](Self::complement); [`LayoutError::TooManyModes`].
    pub const fn logical_divide(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        let mut out = Builder::new();
        tri!(self.divide_at(Cursor::START, tiler, &mut out));
        out.finish()
    }

    const fn divide_at(&self, at: Cursor, tiler: &Tiler<'_>, out: &mut Builder) -> Result<(), LayoutError> {
        match tiler {
            Tiler::Keep => {
                out.subtree(self, at);
                Ok(())
            }
            Tiler::Size(n) => self.divide_by(at, &tri!(Self::contiguous(*n)), out),
            Tiler::Layout(tile) => self.divide_by(at, tile, out),
            Tiler::ByMode(modes) => {
                let rank = self.shape.rank_at(at);
                if modes.len() > rank {
                    return Err(LayoutError::TooManyModes { operation: "logical_divide", given: modes.len(), rank });
                }
                out.open();
                let (mut i, mut child) = (0, self.shape.child_at(at, 0));
                while i < rank {
                    if i < modes.len() {
                        tri!(self.divide_at(child, &modes[i], out));
                    } else {
                        out.subtree(self, child);
                    }
                    child = self.shape.skip(child);
                    i += 1;
                }
                out.close();
                Ok(())
            }
        }
    }

    const fn divide_by(&self, at: Cursor, tile: &Self, out: &mut Builder) -> Result<(), LayoutError> {
        let end = self.shape.skip(at).leaf;
        let whole = tri!(self.coalesce_leaves(at.leaf, end, false));
        let rest = tri!(tile.complement(&whole.shape));
        out.open();
        if end > at.leaf && self.shape.get(end - 1).is(1) {
            let beyond = tri!(self.coalesce_leaves(at.leaf, end, true));
            tri!(beyond.compose_ragged(&[tile, &rest], out));
        } else {
            tri!(whole.compose_ragged(&[tile, &rest], out));
        }
        out.close();
        Ok(())
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
        let mut out = Builder::new();
        out.open();
        tri!(self.unzip_half(Cursor::START, tiler, 0, &mut out));
        tri!(self.unzip_half(Cursor::START, tiler, 1, &mut out));
        out.close();
        out.finish()
    }

    /// Writes the first or second modes of the pairs at the tiler's terminals.
    const fn unzip_half(
        &self,
        at: Cursor,
        tiler: &Tiler<'_>,
        half: usize,
        out: &mut Builder,
    ) -> Result<(), LayoutError> {
        let rank = self.shape.rank_at(at);
        let Tiler::ByMode(modes) = tiler else {
            if rank != 2 {
                return Err(LayoutError::Rank { operation: "zipped_divide", found: rank, needed: 2 });
            }
            out.subtree(self, self.shape.child_at(at, half));
            return Ok(());
        };
        if modes.len() > rank {
            return Err(LayoutError::TooManyModes { operation: "zipped_divide", given: modes.len(), rank });
        }
        out.open();
        let (mut i, mut child) = (0, self.shape.child_at(at, 0));
        while i < rank {
            if i < modes.len() {
                tri!(self.unzip_half(child, &modes[i], half, out));
            } else if half == 1 {
                out.subtree(self, child);
            }
            child = self.shape.skip(child);
            i += 1;
        }
        out.close();
        Ok(())
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
