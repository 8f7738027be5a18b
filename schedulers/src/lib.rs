//! Tile schedulers: who computes which tile, which part of K, and how parts are put together.
//!
//! The contract is [`TileScheduler`], implemented by the tags of the spec crate; [`scheduler`] gives the one of an id. What
//! a launch looks like to all of them is a [`TileSpace`]. Each `.cuh` beside a file here is what the GPU runs: the same
//! formulas in the same order.

pub mod cuda;
mod divisor;
mod fixup;
mod grouped;
mod order;
mod persistent;
mod scheduler;
mod single_tile;
mod space;
mod split_k;
mod stream_k;
mod workspace;

pub use divisor::Divisor;
pub use fixup::{Accumulators, Fixup, Fragment, Partials, turnstile};
pub use order::{tile_at, tile_number};
pub use scheduler::{Cut, Implementation, TileScheduler, Works, of_spec, scheduler};
pub use space::{GroupTiles, TileSpace, Tiles, Uniform};
pub use split_k::in_parts;
pub use stream_k::{Decomposition, decompose};
pub use workspace::{Slots, WorkspaceRegions};
