//! Tiles and partitions of one block or thread.

use crate::{ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler, tri};

impl Layout {
    /// The tile at tile coordinate `coord`: (tile modes), and its offset. `coord` has one entry for each mode; `_` keeps
    /// the tiles of that mode as a further mode, so `(1,_)` on (M, K) gives (BLK_M, BLK_K, k). CuTe's `local_tile`.
    ///
    /// # Errors
    /// [`LayoutError::NoSuchTile`] for a coordinate beyond the tiles, and those of [`zipped_divide`](Self::zipped_divide) and
    /// [`slice`](Self::slice).
    pub const fn local_tile(&self, tiler: &Tiler<'_>, coord: &Coord<'_>) -> Result<(Self, i64), LayoutError> {
        let tiled = tri!(self.zipped_divide(tiler));
        tri!(tiled.shape.mode(1).has_tile(coord));
        let (kept, offset) = tri!(tiled.slice(&Coord::ByMode(&[Coord::All, *coord])));
        Ok((tri!(kept.unpack_first()), offset))
    }

    /// The elements that index `index` of `threads` owns when the threads, laid out as `threads` says, take the elements
    /// of each tile in turn. CuTe's `local_partition`.
    ///
    /// # Errors
    /// [`LayoutError::NoSuchThread`] for an index that no thread has, and those of [`zipped_divide`](Self::zipped_divide) and
    /// [`slice`](Self::slice).
    pub const fn local_partition(&self, threads: &Self, index: i64) -> Result<(Self, i64), LayoutError> {
        // Without a swizzle the whole offset stands behind the layout.
        let (part, offset) = tri!(ComposedLayout::new(Swizzle::IDENTITY, *self).local_partition(threads, index));
        Ok((part.layout, offset))
    }

    /// The coordinate of thread `index` in a layout of threads, one integer a mode.
    pub(crate) const fn place_of(&self, index: i64) -> Result<IntTuple, LayoutError> {
        let place = self.coord_of(index);
        let (mut within, mut leaf) = (tri!(self.crd2idx(&place)) == index, 0);
        while leaf < place.leaves() {
            within = within && place.get(leaf).value() >= 0;
            leaf += 1;
        }
        if !within {
            return Err(LayoutError::NoSuchThread {
                thread: index,
                threads: self.size(),
                last: self.cosize().sub(Int::ONE),
            });
        }
        let (mut out, mut i, rank) = ([Int::ZERO; IntTuple::MAX_LEAVES], 0, self.rank());
        while i < rank {
            out[i] = Int::Dynamic(tri!(crate::crd2idx(&place.mode(i), &self.shape.mode(i))));
            i += 1;
        }
        IntTuple::flat(out.split_at(rank).0)
    }

    /// Mode 0 taken apart in front of the others.
    pub(crate) const fn unpack_first(&self) -> Result<Self, LayoutError> {
        let mut out = crate::layout::Builder::new();
        out.open();
        let (mut i, rank) = (0, self.rank());
        while i < rank {
            if i == 0 {
                out.modes(&self.mode(0));
            } else {
                out.mode(self, i);
            }
            i += 1;
        }
        out.close();
        out.finish()
    }
}
