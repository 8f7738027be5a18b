//! Divides: a layout split into tiles and the rest.

use crate::layout::Builder;
use crate::{Cursor, Int, Layout, LayoutError, Tiler, tri};

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
        if !self.shape.is_tuple_at(at) && !tile.shape.is_tuple() {
            return self.divide_leaf(at.leaf, tile.shape.get(0), tile.stride.get(0), out);
        }
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

    /// One integer divided by one integer, as tilers mostly do: what the general way computes, without its layouts between.
    const fn divide_leaf(&self, leaf: usize, extent: Int, stride: Int, out: &mut Builder) -> Result<(), LayoutError> {
        let (s, d) = (self.shape.get(leaf), self.stride.get(leaf));
        // A static extent of 1 coalesces to `_1:_0`, but goes on beyond its end with its stride.
        let beyond = if stride.is(0) { stride } else { stride.mul(d) };
        let from = out.here();
        out.leaf(extent, beyond);
        let filtered = extent.is(1) || stride.is(0);
        let (gap, covered) = if filtered { (Int::ONE, Int::ONE) } else { (stride, stride.mul(extent)) };
        if gap.value() < 1 {
            return Err(LayoutError::NotInjective { stride });
        }
        let rest = s.ceil_div(covered);
        let at = out.here();
        if gap.is(1) && rest.is(1) {
            out.leaf(Int::ONE, Int::ZERO);
        }
        if !gap.is(1) {
            out.leaf(gap, d);
        }
        if !rest.is(1) {
            out.leaf(rest, covered.mul(d));
        }
        if !gap.is(1) && !rest.is(1) {
            out.enclose(at);
        }
        out.enclose(from);
        Ok(())
    }

    /// `((tile modes),(rest modes))`.
    ///
    /// # Errors
    /// As [`logical_divide`](Self::logical_divide); [`LayoutError::Rank`] for an underscore over a mode that is not a
    /// (tile, rest) pair.
    pub const fn zipped_divide(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        let mut divided = Builder::new();
        tri!(self.divide_at(Cursor::START, tiler, &mut divided));
        tri!(divided.parts()).tile_unzip(tiler)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntTuple;

    /// One integer by one integer is what the general way gives: a tuple of one integer takes that way.
    #[test]
    fn the_short_way_is_the_general_way() {
        let kinds = |v| [Int::Static(v), Int::Dynamic(v)];
        let (mut divided, mut refused) = (0, 0);
        for s in [1, 2, 3, 6, 8, 17].into_iter().flat_map(kinds) {
            for d in [0, 1, 5, -4].into_iter().flat_map(kinds) {
                let leaf = Layout::of(s, d).unwrap();
                let wrapped = Layout::concat(&[leaf]).unwrap();
                for extent in [1, 2, 3, 4, 20].into_iter().flat_map(kinds) {
                    for stride in [0, 1, 2, 3, -1].into_iter().flat_map(kinds) {
                        let tile = Layout::of(extent, stride).unwrap();
                        let short = leaf.logical_divide(&Tiler::Layout(&tile));
                        assert_eq!(short, wrapped.logical_divide(&Tiler::Layout(&tile)), "{leaf} by {tile}");
                        if short.is_ok() { divided += 1 } else { refused += 1 }
                    }
                }
            }
        }
        assert!(divided > 2000 && refused > 500, "{divided} and {refused}");
        let big = Layout::of(Int::Static(1 << 40), Int::ONE).unwrap();
        let tile = Layout::of(Int::Static(1 << 40), Int::Static(1 << 21)).unwrap();
        let whole =
            Layout::new(IntTuple::tuple(&[big.shape]).unwrap(), IntTuple::tuple(&[big.stride]).unwrap()).unwrap();
        assert_eq!(big.logical_divide(&Tiler::Layout(&tile)), whole.logical_divide(&Tiler::Layout(&tile)));
    }
}
