//! Device text: what of this crate is part of a kernel's source.

/// `struct Work`.
pub const WORK: &str = include_str!("work.cuh");
/// `struct PersistentScheduler`.
pub const PERSISTENT: &str = include_str!("persistent.cuh");
/// `struct SingleTileScheduler`.
pub const SINGLE_TILE: &str = include_str!("single_tile.cuh");
