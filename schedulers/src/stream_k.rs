//! Stream-K: the tiles of the last waves are split along K so that all blocks finish together. All groups have equal extents.

use crate::scheduler::{Cut, TileScheduler, Works};
use crate::single_tile::plain_tile;
use crate::space::{GroupTiles, TileSpace};
use crate::split_k::part_begin;
use warpwright_spec::{StreamK, Work};

/// Fewest K tiles of a unit: below, the fix-up costs more than it saves.
const FEWEST_K_TILES: usize = 8;

/// How a launch's tiles are divided. Tiles are numbered over all groups in the order of [`tile_at`](crate::tile_at); the first `split_tiles`
/// are cut, as one line of K tiles, into `units` nearly equal pieces, one a block. The rest are done whole, in whole waves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Decomposition {
    /// Tiles that may be split along K.
    pub split_tiles: usize,
    /// Blocks that share them.
    pub units: usize,
    /// Tiles that are not split.
    pub whole_tiles: usize,
    /// Blocks of the launch.
    pub blocks: usize,
}

/// Divides a launch's tiles: as many whole waves as there are but one, and the rest, at least one and less than two waves,
/// split. If the last wave is full, or K is too short to be worth splitting, all tiles are whole.
pub fn decompose(space: &TileSpace) -> Decomposition {
    let (tiles, wave) = (space.total(), space.wave.max(1));
    let whole = Decomposition { split_tiles: 0, units: 0, whole_tiles: tiles, blocks: wave.min(tiles) };
    if tiles.is_multiple_of(wave) || space.tiles.k <= FEWEST_K_TILES {
        return whole;
    }
    let whole_tiles = (tiles / wave).saturating_sub(1) * wave;
    let split_tiles = tiles - whole_tiles;
    let line = split_tiles.saturating_mul(space.tiles.k);
    let units = wave.min(line / FEWEST_K_TILES);
    // Every unit would be whole tiles, or the device, which counts in 32 bits, could not number the K tiles.
    if split_tiles.is_multiple_of(units) || line > u32::MAX as usize {
        return whole;
    }
    Decomposition { split_tiles, units, whole_tiles, blocks: units.max(wave.min(whole_tiles)) }
}

impl TileScheduler for StreamK {
    fn name(&self) -> &'static str {
        "stream_k"
    }

    fn blocks(&self, space: &TileSpace) -> usize {
        decompose(space).blocks
    }

    /// A block's piece of the split tiles, last tile first: a tile that the block begins is stored before the block has to
    /// wait for the one that its predecessor began. Then its whole tiles.
    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        let space = *space;
        let d = decompose(&space);
        let k_tiles = space.tiles.k;
        let line = d.split_tiles * k_tiles;
        let (begin, mut end) = if block < d.units {
            (part_begin(line, d.units, block), part_begin(line, d.units, block + 1))
        } else {
            (0, 0)
        };
        let split = core::iter::from_fn(move || {
            if end <= begin {
                return None;
            }
            let tile = (end - 1) / k_tiles;
            let first = begin.max(tile * k_tiles);
            let (k_begin, k_end) = (first - tile * k_tiles, end - tile * k_tiles);
            end = first;
            Some(Work {
                k_begin,
                k_count: k_end - k_begin,
                // The blocks that began this tile before this one.
                split: block - unit_of(line, d.units, tile * k_tiles),
                last: k_end == k_tiles,
                whole: k_begin == 0 && k_end == k_tiles,
                ..whole_tile(&space, groups, tile)
            })
        });
        let whole = (d.split_tiles + block..d.split_tiles + d.whole_tiles).step_by(d.blocks.max(1));
        Box::new(split.chain(whole.map(move |tile| whole_tile(&space, groups, tile))))
    }

    fn slots(&self, space: &TileSpace) -> usize {
        decompose(space).split_tiles
    }

    fn slot(&self, space: &TileSpace, work: &Work) -> usize {
        space.number(work)
    }

    fn cut(&self, space: &TileSpace) -> Cut {
        let d = decompose(space);
        Cut { split_tiles: d.split_tiles, pieces: d.units }
    }
}

/// The unit that holds position `at` of a line cut by [`part_begin`].
fn unit_of(line: usize, units: usize, at: usize) -> usize {
    let (short, longer) = (line / units, line % units);
    let in_longer = longer * (short + 1);
    if at < in_longer { at / (short + 1) } else { longer + (at - in_longer) / short }
}

/// Tile number `linear` as a whole.
fn whole_tile(space: &TileSpace, groups: &dyn GroupTiles, linear: usize) -> Work {
    plain_tile(space, groups, linear, space.swizzle, space.raster)
}
