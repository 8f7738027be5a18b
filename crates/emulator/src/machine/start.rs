//! Starting clusters.

use super::barrier::ClusterBarrier;
use super::block::{Block, Cluster};
use super::copy::CopyQueue;
use super::memory::Region;
use super::registers::Registers;
use super::run::Run;
use super::warp::{Group, Warp};
use super::wgmma::WgmmaQueue;
use crate::check::clock::{Clock, Memory, SPARE_AGENTS};
use std::collections::BTreeMap;

impl Run<'_> {
    /// Clusters of the grid.
    pub fn cluster_count(&self) -> u32 {
        (0..3).map(|i| self.launch.grid[i] / self.cluster[i]).product()
    }

    /// Starts the next cluster.
    pub fn start(&mut self) {
        let number = self.next;
        self.next += 1;
        let (size, warps, threads) = (self.cluster.iter().product::<u32>(), self.warps(), self.threads());
        let first_agent = number * SPARE_AGENTS;
        let code = &self.kernel.code;
        let shared = self.kernel.shared_total(self.launch.shared_bytes) as usize;
        let blocks = (0..size)
            .map(|rank| Block {
                id: self.block_id(number, rank),
                in_cluster: self.in_cluster(rank),
                rank,
                shared: Region::new(shared, Memory::Shared, self.config.checks),
                barriers: Default::default(),
                mbarriers: BTreeMap::new(),
                boxes: Vec::new(),
                pool: 0,
                alive: threads,
            })
            .collect();
        let warps = (0..size * warps)
            .map(|w| {
                let (block, index) = ((w / warps) as usize, w % warps);
                let lanes = (threads - index * 32).min(32);
                let live = u32::MAX >> (32 - lanes);
                Warp {
                    block,
                    index,
                    registers: Registers::new(code.rows, code.predicates),
                    local: vec![0; code.local_bytes as usize * 32],
                    groups: vec![Group { pc: 0, mask: live, wait: None }],
                    live,
                    agent: first_agent + w,
                    epoch: 1,
                    clock: Clock::new(first_agent),
                    fenced: None,
                    seen: None,
                    copies: CopyQueue::default(),
                    bulk_committed: [0; 32],
                    wgmma: WgmmaQueue::new(code.rows),
                    max_registers: 0,
                    cluster_phase: 0,
                    timed_out: None,
                }
            })
            .collect::<Vec<_>>();
        let barrier = ClusterBarrier {
            phase: 0,
            arrived: vec![0; warps.len()],
            clock: Clock::new(first_agent),
            complete: Clock::new(first_agent),
        };
        let spare_agents = warps.len() as u32;
        self.clusters.push(Cluster {
            id: self.cluster_id(number),
            blocks,
            warps,
            barrier,
            first_agent,
            spare_agents,
            loads: Vec::new(),
            stores: Vec::new(),
        });
        self.report.blocks += u64::from(size);
    }
}
