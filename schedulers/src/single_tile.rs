//! One tile a block.

use crate::order::tile_at;
use crate::scheduler::{TileScheduler, Works};
use crate::space::{GroupTiles, TileSpace};
use warpwright_spec::{RasterOrder, SingleTile, Work};

impl TileScheduler for SingleTile {
    fn name(&self) -> &'static str {
        "single_tile"
    }

    /// As many as there are tiles: (tiles along M, tiles along N, groups), of which M runs fastest.
    fn blocks(&self, space: &TileSpace) -> usize {
        space.total()
    }

    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        Box::new(core::iter::once(plain_tile(space, groups, block, 1, RasterOrder::AlongM)).filter(|w| w.valid))
    }
}

/// The whole tile number `linear` of all groups' tiles, which are counted as if all groups were as large as the bound. Tiles
/// that a smaller group lacks are not valid.
pub(crate) fn plain_tile(
    space: &TileSpace,
    groups: &dyn GroupTiles,
    linear: usize,
    swizzle: usize,
    raster: RasterOrder,
) -> Work {
    let plane = space.tiles.plane();
    if plane == 0 || linear >= space.total() {
        return Work::default();
    }
    let group = linear / plane;
    let (tile_m, tile_n) = tile_at(linear % plane, space.tiles.m, space.tiles.n, swizzle, raster);
    let own = groups.tiles(group);
    Work {
        tile_m,
        tile_n,
        group,
        k_begin: 0,
        k_count: own.k,
        split: 0,
        last: true,
        whole: true,
        valid: tile_m < own.m && tile_n < own.n,
        wait: None,
        signal: None,
    }
}
