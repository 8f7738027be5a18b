//! Products: a block repeated over a tiler.

use crate::layout::Builder;
use crate::{Cursor, IntTuple, Layout, LayoutError, Tiler, tri};

impl Layout {
    /// `(block,(repetitions))` in each tiled mode: the tiler laid out in the block's complement. As in CuTe, a tiler whose modes
    /// together run past a gap between the block's elements is laid out mode by mode all the same.
    ///
    /// # Errors
    /// As [`compose`](Self::compose) and [`complement`](Self::complement); [`LayoutError::TooManyModes`].
    pub const fn logical_product(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        match tiler {
            Tiler::Keep => Ok(*self),
            Tiler::Size(n) => self.product_with(&tri!(Self::contiguous(*n))),
            Tiler::Layout(tile) => self.product_with(tile),
            Tiler::ByMode(modes) => {
                let rank = self.rank();
                if modes.len() > rank {
                    return Err(LayoutError::TooManyModes { operation: "logical_product", given: modes.len(), rank });
                }
                let mut out = Builder::new();
                out.open();
                let mut i = 0;
                while i < rank {
                    if i < modes.len() {
                        let mode = tri!(self.mode(i).logical_product(&modes[i]));
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

    const fn product_with(&self, tile: &Self) -> Result<Self, LayoutError> {
        let room = tri!(self.complement(&IntTuple::leaf(self.size().mul(tile.cosize()))));
        let mut out = Builder::new();
        out.open();
        out.subtree(self, Cursor::START);
        tri!(room.compose_ragged(&[tile], &mut out));
        out.close();
        out.finish()
    }

    /// `((block modes),(tiler modes))`.
    ///
    /// # Errors
    /// As [`logical_product`](Self::logical_product).
    pub const fn zipped_product(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        tri!(self.logical_product(tiler)).tile_unzip(tiler)
    }

    /// `((block modes),tiler modes…)`.
    ///
    /// # Errors
    /// As [`logical_product`](Self::logical_product).
    pub const fn tiled_product(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        tri!(self.zipped_product(tiler)).unpack(false)
    }

    /// `(block modes…,tiler modes…)`.
    ///
    /// # Errors
    /// As [`logical_product`](Self::logical_product).
    pub const fn flat_product(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        tri!(self.zipped_product(tiler)).unpack(true)
    }

    /// The block repeated over `tiler`, each mode `(block,tile)`: every element of `tiler` is one block.
    ///
    /// # Errors
    /// As [`logical_product`](Self::logical_product); [`LayoutError::Rank`] when one layout is a tuple of rank 1 and the
    /// other a single integer that cannot be paired with it.
    pub const fn blocked_product(&self, tiler: &Self) -> Result<Self, LayoutError> {
        self.zip_product(tiler, true)
    }

    /// As [`blocked_product`](Self::blocked_product) with the blocks interleaved: each mode is `(tile,block)`.
    ///
    /// # Errors
    /// As [`blocked_product`](Self::blocked_product).
    pub const fn raked_product(&self, tiler: &Self) -> Result<Self, LayoutError> {
        self.zip_product(tiler, false)
    }

    const fn zip_product(&self, tiler: &Self, block_first: bool) -> Result<Self, LayoutError> {
        let rank = if self.rank() > tiler.rank() { self.rank() } else { tiler.rank() };
        let (block, tiler) = (tri!(self.append(rank)), tri!(tiler.append(rank)));
        let product = tri!(block.product_with(&tiler));
        let (block, tile) = (product.mode(0), product.mode(1));
        let (first, second) = if block_first { (block, tile) } else { (tile, block) };
        if !first.shape.is_tuple() {
            return Self::concat(&[tri!(Self::concat(&[first, second]))]);
        }
        if !second.shape.is_tuple() || first.rank() != second.rank() {
            return Err(LayoutError::Rank {
                operation: "blocked or raked product of a tuple and an integer, which must both be tuples",
                found: second.rank(),
                needed: first.rank(),
            });
        }
        let mut out = Builder::new();
        out.open();
        let mut i = 0;
        while i < first.rank() {
            out.open();
            out.mode(&first, i);
            out.mode(&second, i);
            out.close();
            i += 1;
        }
        out.close();
        out.finish()
    }
}
