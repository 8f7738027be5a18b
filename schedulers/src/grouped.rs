//! Problems of different extents in one launch.

use crate::order::tile_at;
use crate::scheduler::{TileScheduler, Works};
use crate::space::{GroupTiles, TileSpace, Tiles};
use warpwright_spec::{Grouped, Work};

impl TileScheduler for Grouped {
    fn name(&self) -> &'static str {
        "grouped"
    }

    /// A wave, or fewer if even groups as large as the bound have fewer tiles.
    fn blocks(&self, space: &TileSpace) -> usize {
        space.wave.min(space.total())
    }

    /// Tiles `block`, `block + blocks`, … of all groups' tiles, one group behind the other, each in the order that
    /// [`tile_at`] gives its own plane. A group's extents are read when the walk reaches it. A group whose K is 0 has its
    /// tiles all the same: their epilogues run on zeros.
    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        Box::new(Walk {
            space: *space,
            groups,
            stride: self.blocks(space).max(1),
            next: block,
            group: 0,
            before: 0,
            current: None,
        })
    }
}

/// A block's place among the tiles of all groups.
struct Walk<'a> {
    space: TileSpace,
    groups: &'a dyn GroupTiles,
    stride: usize,
    /// The next tile, counted over all groups.
    next: usize,
    /// The group that is being walked, the tiles of those before it, and its extents once they are read.
    group: usize,
    before: usize,
    current: Option<Tiles>,
}

impl Iterator for Walk<'_> {
    type Item = Work;

    fn next(&mut self) -> Option<Work> {
        while self.group < self.space.groups {
            let tiles = *self.current.get_or_insert_with(|| self.groups.tiles(self.group));
            let in_group = self.next - self.before;
            if in_group >= tiles.plane() {
                self.before += tiles.plane();
                self.group += 1;
                self.current = None;
                continue;
            }
            self.next += self.stride;
            let (tile_m, tile_n) = tile_at(in_group, tiles.m, tiles.n, self.space.swizzle, self.space.raster);
            return Some(Work {
                tile_m,
                tile_n,
                group: self.group,
                k_begin: 0,
                k_count: tiles.k,
                split: 0,
                last: true,
                whole: true,
                valid: true,
                wait: None,
                signal: None,
            });
        }
        None
    }
}
