//! Every tile is split along K into the same number of parts.

use crate::scheduler::{TileScheduler, Works};
use crate::single_tile::plain_tile;
use crate::space::{GroupTiles, TileSpace};
use warpwright_spec::{SplitK, Work};

/// The parts that K tiles are cut into: as many as asked for, but none of them empty.
fn parts(splits: usize, k_tiles: usize) -> usize {
    splits.clamp(1, k_tiles.max(1))
}

/// First K tile of part `i` of `parts`: the longer parts come first.
pub(crate) fn part_begin(k_tiles: usize, parts: usize, i: usize) -> usize {
    k_tiles / parts * i + i.min(k_tiles % parts)
}

impl TileScheduler for SplitK {
    fn name(&self) -> &'static str {
        "split_k"
    }

    /// One work a block. All tiles' first parts come first, so that blocks that run together read the same K.
    fn blocks(&self, space: &TileSpace) -> usize {
        space.total().saturating_mul(parts(space.splits, space.tiles.k))
    }

    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        let total = space.total();
        if total == 0 {
            return Box::new(core::iter::empty());
        }
        let split = block / total;
        let mut work = plain_tile(space, groups, block % total, space.swizzle, space.raster);
        let own = parts(space.splits, work.k_count);
        work.valid &= split < own;
        if work.valid {
            let begin = part_begin(work.k_count, own, split);
            work = Work {
                k_begin: begin,
                k_count: part_begin(work.k_count, own, split + 1) - begin,
                split,
                last: split + 1 == own,
                whole: own == 1,
                ..work
            };
        }
        Box::new(core::iter::once(work).filter(|w| w.valid))
    }

    fn slots(&self, space: &TileSpace) -> usize {
        if parts(space.splits, space.tiles.k) > 1 { space.total() } else { 0 }
    }

    fn slot(&self, space: &TileSpace, work: &Work) -> usize {
        space.number(work)
    }
}
