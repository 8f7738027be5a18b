//! The problem as schedulers see it: in tiles.

use crate::order::tile_number;
use warpwright_spec::{KernelPlan, Mnk, Problem, RasterOrder, Work};

/// Extents in tiles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tiles {
    /// Along the kernel's M.
    pub m: usize,
    /// Along the kernel's N.
    pub n: usize,
    /// Along K; 0 when K is 0.
    pub k: usize,
}

impl Tiles {
    /// The tiles that cover `extents`, both in the kernel's terms.
    pub fn covering(extents: Mnk, tile: Mnk) -> Tiles {
        let count = |extent: usize, tile: usize| extent.div_ceil(tile.max(1));
        Tiles { m: count(extents.m, tile.m), n: count(extents.n, tile.n), k: count(extents.k, tile.k) }
    }

    /// Tiles of the output.
    pub fn plane(&self) -> usize {
        self.m.saturating_mul(self.n)
    }
}

/// What a launch fixes for its scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TileSpace {
    /// What no group exceeds; every group's own extents where all are equal.
    pub tiles: Tiles,
    /// Batch entries or groups.
    pub groups: usize,
    /// Blocks that the device keeps resident at once; at least 1.
    pub wave: usize,
    /// Which way tiles are walked.
    pub raster: RasterOrder,
    /// Tiles side by side that are walked together; at least 1.
    pub swizzle: usize,
    /// Parts of K that a split-K launch makes; at least 1.
    pub splits: usize,
}

impl TileSpace {
    /// The space of a plan and problem. Launch, workspace and host execution all take it from here, so they cannot
    /// disagree about a transposed plan, whose tile is in the kernel's terms while the problem is in the user's.
    pub fn new(plan: &KernelPlan, problem: &Problem, wave: usize) -> TileSpace {
        let bound = problem.bound();
        let bound = if plan.transposed { bound.swapped() } else { bound };
        TileSpace {
            tiles: Tiles::covering(bound, plan.tile),
            groups: problem.groups(),
            wave: wave.max(1),
            raster: plan.raster,
            swizzle: plan.swizzle.max(1),
            splits: plan.splits.max(1),
        }
    }

    /// The same in tiles of whole clusters, which is what a launch with clusters hands out; `wave` counts clusters.
    pub fn of_clusters(plan: &KernelPlan, problem: &Problem, wave: usize) -> TileSpace {
        let Mnk { m, n, k } = plan.tile;
        let tile = Mnk { m: m * plan.cluster.m, n: n * plan.cluster.n, k };
        TileSpace::new(&KernelPlan { tile, ..*plan }, problem, wave)
    }

    /// The same walked by as few blocks as take no more waves: of SMs that are short of power those that would idle in the last
    /// wave leave theirs to the others all along. For blocks that have an SM each.
    pub fn evened(self) -> TileSpace {
        // Of few waves it would be many blocks less, and memory is slower for them.
        const FEWEST_WAVES: usize = 4;
        let waves = self.total().div_ceil(self.wave);
        if waves < FEWEST_WAVES { self } else { TileSpace { wave: self.total().div_ceil(waves), ..self } }
    }

    /// Tiles of all groups, if all groups are as large as the bound.
    pub fn total(&self) -> usize {
        self.tiles.plane().saturating_mul(self.groups)
    }

    /// The number of a work's tile among [`total`](TileSpace::total), in the order in which tiles are walked.
    pub fn number(&self, work: &Work) -> usize {
        let Tiles { m, n, .. } = self.tiles;
        work.group * self.tiles.plane() + tile_number(work.tile_m, work.tile_n, m, n, self.swizzle, self.raster)
    }
}

/// Where a scheduler learns a group's extents when it fetches work: from the problem, or from memory that was written just
/// before.
pub trait GroupTiles: Sync {
    /// The extents of a group below the space's group count.
    fn tiles(&self, group: usize) -> Tiles;
}

/// Groups that are all alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uniform(pub Tiles);

impl GroupTiles for Uniform {
    fn tiles(&self, _: usize) -> Tiles {
        self.0
    }
}

impl GroupTiles for [Tiles] {
    fn tiles(&self, group: usize) -> Tiles {
        self[group]
    }
}

impl GroupTiles for Vec<Tiles> {
    fn tiles(&self, group: usize) -> Tiles {
        self[group]
    }
}
