//! The tile scheduler: one tile a block, along N first.

use warpwright::kernels::CollectiveScheduler;
use warpwright::schedulers::{GroupTiles, Implementation, TileScheduler, TileSpace, Works};
use warpwright::spec::Work;
use warpwright::{Extension, Multistage, SingleTile};

/// Hands each block one tile; neighbouring blocks are neighbours along N. For the rules it is a [`SingleTile`].
#[derive(Debug)]
pub struct RowOfTiles;

impl CollectiveScheduler<Multistage> for RowOfTiles {
    type Tag = SingleTile;
    const EXTENSION: Option<Extension> = Some(Extension {
        name: "RowOfTiles",
        cuda: include_str!("row_of_tiles.cuh"),
        implementation: &Implementation(&RowOfTiles),
    });
}

impl TileScheduler for RowOfTiles {
    fn name(&self) -> &'static str {
        "row_of_tiles"
    }

    fn blocks(&self, space: &TileSpace) -> usize {
        space.total()
    }

    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a> {
        let (plane, columns) = (space.tiles.plane().max(1), space.tiles.n.max(1));
        let group = block / plane;
        let (tile_m, tile_n) = (block % plane / columns, block % columns);
        let own = groups.tiles(group);
        let valid = tile_m < own.m && tile_n < own.n;
        let work = Work { tile_m, tile_n, group, k_count: own.k, last: true, whole: true, valid, ..Work::default() };
        Box::new(core::iter::once(work).filter(|work| work.valid))
    }
}
