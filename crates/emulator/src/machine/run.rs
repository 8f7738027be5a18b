//! A launch while it runs.

use super::block::Cluster;
use super::memory::GlobalMemory;
use super::random::Random;
use super::report::Report;
use super::{Completion, Config, Launch};
use crate::check::clock::{Agent, Clock, SPARE_AGENTS};
use crate::check::fault::{Fault, FaultKind, Site, Violation};
use crate::check::shadow::{Access, Conflict};
use crate::ir::Inst;
use crate::module::Kernel;
use crate::tensor::descriptor::Tile;
use crate::tensor::tile::Operands;
use std::collections::{HashMap, HashSet};

/// Everything of one launch.
pub(crate) struct Run<'m> {
    pub config: &'m Config,
    pub memory: &'m mut GlobalMemory,
    /// Addresses of the module's variables.
    pub variables: &'m [u64],
    pub kernel: &'m Kernel,
    pub launch: Launch,
    /// Blocks of a cluster along each axis.
    pub cluster: [u32; 3],
    pub parameters: Vec<u8>,
    pub completion: Completion,
    pub random: Random,
    pub report: Report,
    /// Clusters that are resident.
    pub clusters: Vec<Cluster>,
    /// The next cluster to start.
    pub next: u32,
    /// What release operations published, by location.
    pub published: HashMap<Location, Clock>,
    /// The warps behind the instructions for which an mbarrier stands.
    pub issuers: HashMap<(Agent, u32), Agent>,
    /// Matrix descriptors, without their starts, in which no two elements share memory.
    pub sound: HashSet<Tile>,
    pub operands: Box<Operands>,
    /// Counts whatever another warp may have waited for.
    pub events: u64,
}

/// A location in memory, for synchronisation through it: the block's number with its offset, or `None` with a global address.
pub(crate) type Location = (Option<u32>, u64);

/// A point of execution: cluster, warp and group, instruction, and the lanes that execute it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub cluster: usize,
    pub warp: usize,
    pub group: usize,
    pub pc: u32,
    pub mask: u32,
}

impl<'m> Run<'m> {
    pub fn new(
        config: &'m Config,
        memory: &'m mut GlobalMemory,
        variables: &'m [u64],
        kernel: &'m Kernel,
        launch: &Launch,
        parameters: &[u8],
    ) -> Run<'m> {
        let cluster = launch.cluster.or((kernel.cluster != [0; 3]).then_some(kernel.cluster)).unwrap_or([1; 3]);
        let completion = match config.completion {
            Completion::Seeded => [Completion::Reordered, Completion::Early, Completion::Late, Completion::Reordered]
                [config.seed as usize % 4],
            other => other,
        };
        Run {
            config,
            memory,
            variables,
            kernel,
            launch: *launch,
            cluster,
            parameters: parameters.to_vec(),
            completion,
            random: Random::new(config.seed),
            report: Report::default(),
            clusters: Vec::new(),
            next: 0,
            published: HashMap::new(),
            issuers: HashMap::new(),
            sound: HashSet::new(),
            operands: Box::default(),
            events: 0,
        }
    }

    pub fn inst(&self, pc: u32) -> &'m Inst {
        &self.kernel.code.instructions[pc as usize]
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.launch.block.iter().product()
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// `%tid` of a lane of a block's warp.
    pub fn thread(&self, warp: u32, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        let n = warp * 32 + lane as u32;
        [n % x, n / x % y, n / (x * y)]
    }

    /// `%clusterid` of the cluster of this number.
    pub fn cluster_id(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = core::array::from_fn(|i| self.launch.grid[i] / self.cluster[i]);
        [number % x, number / x % y, number / (x * y)]
    }

    /// `%cluster_ctaid` of a rank.
    pub fn in_cluster(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.cluster;
        [rank % x, rank / x % y, rank / (x * y)]
    }

    /// `%ctaid` of a rank of a cluster.
    pub fn block_id(&self, number: u32, rank: u32) -> [u32; 3] {
        let (cluster, inside) = (self.cluster_id(number), self.in_cluster(rank));
        core::array::from_fn(|i| cluster[i] * self.cluster[i] + inside[i])
    }

    fn site(&self, block: [u32; 3], thread: [u32; 3], pc: u32) -> Site {
        let inst = self.inst(pc);
        let source = (inst.loc.line > 0).then(|| {
            let file = self.kernel.module.files.get(&inst.loc.file).map_or("?", String::as_str);
            let file = file.rsplit('/').next().unwrap_or(file);
            match inst.loc.inlined_at {
                0 => format!("{file}:{}", inst.loc.line),
                outer => format!("{file}:{} (inlined at line {outer})", inst.loc.line),
            }
        });
        Site { block, thread, source, line: inst.line, text: inst.text.to_string() }
    }

    /// Where a remembered access came from.
    pub fn site_of(&self, access: Access) -> Site {
        // Beyond the warps are mbarriers, which stand for copies that a warp issued.
        let agent = self.issuers.get(&(access.agent, access.pc())).copied().unwrap_or(access.agent);
        let (number, local) = (agent / SPARE_AGENTS, agent % SPARE_AGENTS);
        let (rank, warp) = (local / self.warps(), local % self.warps());
        self.site(self.block_id(number, rank), self.thread(warp, access.lane()), access.pc())
    }

    /// A violation with its sites.
    pub fn fault(&self, at: At, violation: Violation) -> Fault {
        let warp = &self.clusters[at.cluster].warps[at.warp];
        let lane = violation.lane.unwrap_or(at.mask.trailing_zeros().min(31) as usize);
        let block = self.clusters[at.cluster].blocks[warp.block].id;
        Fault {
            kind: violation.kind,
            message: violation.message,
            address: violation.address,
            site: Some(Box::new(self.site(block, self.thread(warp.index, lane), at.pc))),
            other: violation.other.map(|access| Box::new(self.site_of(access))),
        }
    }

    /// A fault of the launch as a whole.
    pub fn fault_of_launch(&self, kind: FaultKind, message: String) -> Fault {
        Fault { kind, message, address: None, site: None, other: None }
    }
}

/// A conflict in memory as a violation. `what` says what was done, `space` to which memory.
pub(crate) fn conflict(conflict: Conflict, what: &str, space: &str, address: u64) -> Violation {
    match conflict {
        Conflict::Uninitialised => {
            let message = format!("{what} of {space} memory at {address:#x}, which nothing has written");
            Violation::new(FaultKind::Uninitialised, message).at(address)
        }
        Conflict::Race(other) => {
            let past = if other.writes() { "write" } else { "read" };
            let message =
                format!("race: {what} of {space} memory at {address:#x}, and nothing orders it after a {past}");
            Violation::new(FaultKind::Race, message).at(address).against(other)
        }
        Conflict::Owned(other) => {
            let message = format!(
                "{what} of {space} memory at {address:#x}, which an asynchronous copy still owns: its completion was not \
                 waited for, or not made known to this thread"
            );
            Violation::new(FaultKind::AsyncOwned, message).at(address).against(other)
        }
        Conflict::Wanted(other) => {
            let message = format!(
                "{what} of {space} memory at {address:#x}, which an asynchronous operation has yet to read: its completion \
                 was not waited for, or not made known to this thread"
            );
            Violation::new(FaultKind::AsyncOwned, message).at(address).against(other)
        }
        Conflict::Unfenced(other) => {
            let message = format!(
                "{what} of {space} memory at {address:#x} through the asynchronous proxy, after a write through the generic \
                 proxy without fence.proxy.async between"
            );
            Violation::new(FaultKind::MissingProxyFence, message).at(address).against(other)
        }
    }
}
