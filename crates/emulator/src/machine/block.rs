//! A block and a cluster of blocks while they run.

use super::barrier::{ClusterBarrier, NamedBarrier};
use super::flight::{BulkLoad, BulkStore, LandedBox};
use super::mbarrier::Mbarrier;
use super::memory::Region;
use super::warp::Warp;
use crate::check::clock::Agent;
use std::collections::BTreeMap;

/// One block: what its threads share.
pub(crate) struct Block {
    /// `%ctaid`.
    pub id: [u32; 3],
    /// `%cluster_ctaid`.
    pub in_cluster: [u32; 3],
    pub rank: u32,
    /// Its shared window, from offset 0.
    pub shared: Region,
    pub barriers: [NamedBarrier; 16],
    /// Live mbarriers by their offset.
    pub mbarriers: BTreeMap<u32, Mbarrier>,
    /// Where tensor loads have put boxes.
    pub boxes: Vec<LandedBox>,
    /// Registers in the pool that `setmaxnreg` draws on.
    pub pool: u32,
    /// Threads that have not exited.
    pub alive: u32,
}

/// Blocks that run together, and their warps.
pub(crate) struct Cluster {
    /// `%clusterid`.
    pub id: [u32; 3],
    pub blocks: Vec<Block>,
    /// Block by block.
    pub warps: Vec<Warp>,
    pub barrier: ClusterBarrier,
    pub first_agent: Agent,
    /// Agents handed out beside the warps.
    pub spare_agents: u32,
    /// Bulk loads that have not landed.
    pub loads: Vec<BulkLoad>,
    /// Bulk stores that their threads have not waited for.
    pub stores: Vec<BulkStore>,
}

impl Cluster {
    pub fn is_done(&self) -> bool {
        self.blocks.iter().all(|b| b.alive == 0)
    }
}
