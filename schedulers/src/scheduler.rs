//! The contract of a tile scheduler.

use crate::fixup::{self, Accumulators, Fixup};
use crate::space::{GroupTiles, TileSpace};
use crate::workspace::WorkspaceRegions;
use warpwright_spec::{Grouped, Persistent, SchedulerId, SingleTile, Spec, SplitK, SplitKSerial, StreamK, Work};

/// The works of one block, in the order in which it does them.
pub type Works<'a> = Box<dyn Iterator<Item = Work> + 'a>;

/// How a launch's tiles are cut along K, as a kernel is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cut {
    /// Tiles that may be cut: the first of the order.
    pub split_tiles: usize,
    /// Parts of each tile, or of all cut tiles together.
    pub pieces: usize,
}

/// Hands out work: tiles, and parts of a tile's K range, to the blocks of a launch.
///
/// What an implementation promises:
/// - Over all blocks of the grid, every K tile of every output tile is in exactly one work, and exactly one work of a tile is
///   `last`. A tile whose K is empty has one work, with `k_count` 0, which is `whole` and `last`.
/// - A tile's splits are numbered 0, 1, … in the order of K, and each begins where the one before ends.
/// - A work waits (in [`fixup`](TileScheduler::fixup), or for its [`Work::wait`] flag) only for works of blocks with lower
///   numbers or for earlier works of its own block. Devices and the host start blocks in the order of their numbers, so
///   nothing waits for ever, however few blocks run at once. For others it waits a while at most, and does without them.
/// - Group extents are read when the work is fetched, not before: on a device they may have been written by the launch before.
/// - Empty problems have no blocks or only blocks without work. Nothing divides by an extent of zero.
/// - What a block gets depends on the space and the group extents alone, so results are reproducible.
pub trait TileScheduler: Send + Sync + core::fmt::Debug {
    /// The name in plans and kernels.
    fn name(&self) -> &'static str;

    /// Blocks of the launch.
    fn blocks(&self, space: &TileSpace) -> usize;

    /// The works of block `block`, which is below [`blocks`](TileScheduler::blocks).
    fn works<'a>(&self, space: &TileSpace, groups: &'a dyn GroupTiles, block: usize) -> Works<'a>;

    /// Tiles whose K range is split, at most; each has one workspace slot. 0 where nothing is ever split.
    fn slots(&self, space: &TileSpace) -> usize {
        let _ = space;
        0
    }

    /// The workspace slot of a split work's tile, below [`slots`](TileScheduler::slots).
    fn slot(&self, space: &TileSpace, work: &Work) -> usize {
        let _ = (space, work);
        0
    }

    /// Parts of a tile that a slot holds at once on a device; 1 where each part is added to the sum of those before.
    fn parts_kept(&self, space: &TileSpace) -> usize {
        let _ = space;
        1
    }

    /// How tiles are cut along K; none is, unless a scheduler says otherwise.
    fn cut(&self, space: &TileSpace) -> Cut {
        let _ = space;
        Cut::default()
    }

    /// The workspace of a launch on a device, whose tiles have `accumulators` bytes.
    fn workspace(&self, space: &TileSpace, accumulators: usize) -> WorkspaceRegions {
        WorkspaceRegions::new(self.slots(space), self.parts_kept(space), accumulators)
    }

    /// The workspace of a run on the host, where parts are added up as they come.
    fn host_workspace(&self, space: &TileSpace, accumulators: usize) -> WorkspaceRegions {
        WorkspaceRegions::new(self.slots(space), 1, accumulators)
    }

    /// Puts a split work's accumulators together with those of its tile's other splits. When it returns after the `last` split,
    /// `accumulators` are the whole tile's; after any other, they are stored and the work is done. The default is
    /// [`turnstile`](crate::turnstile): in K order, so that results are deterministic.
    fn fixup(&self, work: &Work, accumulators: &mut dyn Accumulators, fixup: &Fixup<'_>) {
        if !work.whole {
            fixup::turnstile(work, accumulators, fixup);
        }
    }
}

/// What an [`Extension`](warpwright_spec::Extension) of another crate holds as its `implementation` if it is a tile scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Implementation(pub &'static dyn TileScheduler);

/// The scheduler of an id. `AUTO`, which a finished plan does not have, is [`SingleTile`].
pub fn scheduler(id: SchedulerId) -> &'static dyn TileScheduler {
    match id {
        SchedulerId::AUTO | SchedulerId::SINGLE_TILE => &SingleTile,
        SchedulerId::PERSISTENT => &Persistent,
        SchedulerId::STREAM_K => &StreamK,
        SchedulerId::SPLIT_K => &SplitK,
        SchedulerId::SPLIT_K_SERIAL => &SplitKSerial,
        SchedulerId::GROUPED => &Grouped,
    }
}

/// The scheduler of a spec: its extension's, where it has one; `None` if that is no [`Implementation`].
pub fn of_spec(spec: &Spec) -> Option<&'static dyn TileScheduler> {
    match &spec.tile_scheduler {
        None => Some(scheduler(spec.scheduler)),
        Some(extension) => extension.implementation.downcast_ref::<Implementation>().map(|i| i.0),
    }
}
