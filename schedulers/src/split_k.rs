//! Every tile is split along K into the same number of parts.

use crate::scheduler::{Cut, TileScheduler, Works};
use crate::single_tile::plain_tile;
use crate::space::{GroupTiles, TileSpace};
use warpwright_spec::{SplitK, SplitKSerial, Work};

/// The parts that K tiles are cut into: as many as asked for, but none of them empty.
fn parts(splits: usize, k_tiles: usize) -> usize {
    splits.clamp(1, k_tiles.max(1))
}

/// First K tile of part `i` of `parts`: the longer parts come first.
pub(crate) fn part_begin(k_tiles: usize, parts: usize, i: usize) -> usize {
    k_tiles / parts * i + i.min(k_tiles % parts)
}

/// What the blocks of a cluster that share a tile do of its work: a part of its K each, of none of which there are fewer.
pub fn in_parts(work: Work, parts: usize) -> impl Iterator<Item = Work> {
    let parts = self::parts(parts, work.k_count);
    (0..parts).map(move |i| {
        let begin = part_begin(work.k_count, parts, i);
        Work {
            k_begin: work.k_begin + begin,
            k_count: part_begin(work.k_count, parts, i + 1) - begin,
            split: i,
            last: i + 1 == parts,
            whole: parts == 1,
            ..work
        }
    })
}

/// One work a block. All tiles' first parts come first, so that blocks that run together read the same K.
fn blocks(space: &TileSpace) -> usize {
    space.total().saturating_mul(parts(space.splits, space.tiles.k))
}

fn works<'a>(space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
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

/// Also where K has one tile: who shares out columns stores them.
fn slots(space: &TileSpace) -> usize {
    if space.splits > 1 { space.total() } else { 0 }
}

fn cut(space: &TileSpace) -> Cut {
    Cut { split_tiles: slots(space), pieces: parts(space.splits, space.tiles.k) }
}

macro_rules! split_k {
    ($tag:ident $name:literal { $($own:item)* }) => {
        impl TileScheduler for $tag {
            fn name(&self) -> &'static str {
                $name
            }
            fn blocks(&self, space: &TileSpace) -> usize {
                blocks(space)
            }
            fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
                works(space, groups, block)
            }
            fn slots(&self, space: &TileSpace) -> usize {
                slots(space)
            }
            fn slot(&self, space: &TileSpace, work: &Work) -> usize {
                space.number(work)
            }
            fn cut(&self, space: &TileSpace) -> Cut {
                cut(space)
            }
            $($own)*
        }
    };
}
split_k!(SplitK "split_k" {
    /// Every part, for whoever arrives last.
    fn parts_kept(&self, space: &TileSpace) -> usize {
        cut(space).pieces
    }
});
split_k!(SplitKSerial "split_k_serial" {});
