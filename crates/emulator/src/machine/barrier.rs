//! Barriers of a block and of a cluster.

use super::registers::PredSrc;
use crate::check::clock::Clock;
use crate::ir::{Answer, ReduceMode};

/// One warp's arrival at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub warp: usize,
    pub mask: u32,
    pub pc: u32,
    /// It waits, rather than only arriving.
    pub waits: bool,
    pub reduce: Option<(Answer, PredSrc, ReduceMode)>,
}

/// One of a block's 16 barriers.
#[derive(Clone, Default, Debug)]
pub(crate) struct NamedBarrier {
    pub arrivals: Vec<Arrival>,
    /// Threads that the first arrival said will come; `None` for all of the block's.
    pub expected: Option<u32>,
    pub arrived: u32,
    pub clock: Clock,
}

/// The cluster's barrier.
#[derive(Clone, Default, Debug)]
pub(crate) struct ClusterBarrier {
    pub phase: u32,
    /// Per warp, the lanes that have arrived in this phase.
    pub arrived: Vec<u32>,
    /// What those who arrived knew.
    pub clock: Clock,
    /// The same of the phase that completed last.
    pub complete: Clock,
}
