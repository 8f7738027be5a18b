//! Tiles and partitions of one block or thread.

use crate::{Coord, IntTuple, Layout, LayoutError, Tiler, tri};

impl Layout {
    /// The tile at tile coordinate `coord`: (tile modes), and its offset. `coord` has one entry for each mode; `_` keeps
    /// the tiles of that mode as a further mode, so `(1,_)` on (M, K) gives (BLK_M, BLK_K, k). CuTe's `local_tile`.
    ///
    /// # Errors
    /// As [`zipped_divide`](Self::zipped_divide) and [`slice`](Self::slice).
    pub const fn local_tile(&self, tiler: &Tiler<'_>, coord: &Coord<'_>) -> Result<(Self, i64), LayoutError> {
        let tiled = tri!(self.zipped_divide(tiler));
        let (kept, offset) = tri!(tiled.slice(&Coord::ByMode(&[Coord::All, *coord])));
        Ok((tri!(kept.unpack_first()), offset))
    }

    /// The elements that index `index` of `threads` owns when the threads, laid out as `threads` says, take the elements
    /// of each tile in turn. CuTe's `local_partition`.
    ///
    /// # Errors
    /// As [`zipped_divide`](Self::zipped_divide) and [`slice`](Self::slice).
    pub const fn local_partition(&self, threads: &Self, index: i64) -> Result<(Self, i64), LayoutError> {
        let extents = threads.shape.product_each();
        let (mut tiler, mut coord) = ([Tiler::Keep; IntTuple::MAX_LEAVES], [Coord::All; IntTuple::MAX_LEAVES]);
        let place = threads.coord_of(index);
        let (mut i, rank) = (0, extents.leaves());
        while i < rank {
            tiler[i] = Tiler::Size(extents.get(i));
            coord[i] = Coord::At(tri!(crate::crd2idx(&place.mode(i), &threads.shape.mode(i))));
            i += 1;
        }
        let tiled = tri!(self.zipped_divide(&Tiler::ByMode(tiler.split_at(rank).0)));
        let all = [Coord::All; IntTuple::MAX_LEAVES];
        let rest = tiled.mode(1).rank();
        let rest = if rest > 1 { Coord::ByMode(all.split_at(rest).0) } else { Coord::All };
        tiled.slice(&Coord::ByMode(&[Coord::ByMode(coord.split_at(rank).0), rest]))
    }

    /// Mode 0 taken apart in front of the others.
    const fn unpack_first(&self) -> Result<Self, LayoutError> {
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
