//! The grid is the device; blocks walk the tiles.

use crate::scheduler::{TileScheduler, Works};
use crate::single_tile::plain_tile;
use crate::space::{GroupTiles, TileSpace};
use warpwright_spec::Persistent;

impl TileScheduler for Persistent {
    fn name(&self) -> &'static str {
        "persistent"
    }

    fn blocks(&self, space: &TileSpace) -> usize {
        space.wave.min(space.total())
    }

    /// Tiles `block`, `block + blocks`, … of the order that [`tile_at`](crate::tile_at) gives each group.
    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        let space = *space;
        let tiles = (block..space.total()).step_by(self.blocks(&space).max(1));
        Box::new(tiles.map(move |i| plain_tile(&space, groups, i, space.swizzle, space.raster)).filter(|w| w.valid))
    }
}
