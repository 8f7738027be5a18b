//! A warp: its registers, and its lanes in groups that stand at the same instruction.

use super::copy::CopyQueue;
use super::registers::Registers;
use super::wgmma::WgmmaQueue;
use crate::check::clock::{Agent, Clock};
use crate::check::shadow::Access;

/// What a group of lanes waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Other lanes of the warp at the same instruction.
    Lanes { needed: u32 },
    /// A named barrier of the block.
    Barrier { id: usize },
    /// The cluster's barrier.
    Cluster { phase: u32 },
    /// A phase of an mbarrier in the shared memory of a block of the cluster. `gave_up` is the machine's event count when
    /// the wait last timed out.
    Mbarrier { block: usize, offset: u32, parity: u32, gave_up: Option<u64> },
    /// Registers of the block's pool.
    Registers,
}

/// Lanes of a warp that stand at the same instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    pub pc: u32,
    pub mask: u32,
    pub wait: Option<Wait>,
}

/// A wait on an mbarrier that was given up because nobody could go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timeout {
    pub pc: u32,
    /// The machine's event count then.
    pub events: u64,
    /// The instruction has answered no.
    pub answered: bool,
}

/// One warp of a block.
pub(crate) struct Warp {
    /// Index of its block in the cluster.
    pub block: usize,
    /// Its number in the block.
    pub index: u32,
    pub registers: Registers,
    /// Local memory, one lane after the other.
    pub local: Vec<u8>,
    pub groups: Vec<Group>,
    /// Lanes that have not exited.
    pub live: u32,
    pub agent: Agent,
    /// Counts the warp's synchronisations; accesses are stamped with it.
    pub epoch: u32,
    pub clock: Clock,
    /// What the last fence published, for relaxed writes after it.
    pub fenced: Option<Clock>,
    /// What relaxed reads saw, for a fence after them.
    pub seen: Option<Clock>,
    pub copies: CopyQueue,
    /// Bulk groups that each lane has committed.
    pub bulk_committed: [u32; 32],
    pub wgmma: WgmmaQueue,
    /// Registers that `setmaxnreg` last gave each thread; 0 before the first.
    pub max_registers: u32,
    /// Phase of the cluster barrier at which it arrived.
    pub cluster_phase: u32,
    /// The mbarrier wait that last timed out.
    pub timed_out: Option<Timeout>,
}

impl Warp {
    /// The next group to run: the one that is furthest behind, which makes lanes meet again; or any, when `any` is given.
    pub fn pick(&self, any: Option<u64>) -> Option<usize> {
        let ready = || self.groups.iter().enumerate().filter(|(_, g)| g.wait.is_none());
        if let (Some(random), [_, _, ..]) = (any, self.groups.as_slice()) {
            let count = ready().count();
            return ready().nth(random as usize % count.max(1)).map(|(i, _)| i);
        }
        ready().min_by_key(|(_, g)| g.pc).map(|(i, _)| i)
    }

    pub fn is_ready(&self) -> bool {
        self.groups.iter().any(|g| g.wait.is_none())
    }

    /// Joins groups that stand at the same instruction, waiting for each other or for nothing.
    pub fn merge(&mut self) {
        let mut i = 0;
        while i < self.groups.len() {
            let mut j = i + 1;
            while j < self.groups.len() {
                let (x, y) = (self.groups[i], self.groups[j]);
                let free = |g: Group| matches!(g.wait, None | Some(Wait::Lanes { .. }));
                if x.pc == y.pc && free(x) && free(y) {
                    self.groups[i].mask |= y.mask;
                    self.groups[i].wait = None;
                    self.groups.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Takes the lanes of `mask` out of the warp for good.
    pub fn exit(&mut self, mask: u32) {
        self.live &= !mask;
        self.groups.retain_mut(|g| {
            g.mask &= !mask;
            // Those that waited for them need not.
            if matches!(g.wait, Some(Wait::Lanes { .. })) {
                g.wait = None;
            }
            g.mask != 0
        });
    }

    /// An access of the warp's lane `lane` now.
    #[inline]
    pub fn access(&self, lane: usize, pc: u32) -> Access {
        Access::new(self.agent, self.epoch, lane, pc)
    }

    /// What others learn who synchronise with the warp now. Later accesses are not part of it.
    pub fn publish(&mut self) -> &Clock {
        self.clock.learn(self.agent, self.epoch);
        self.epoch += 1;
        &self.clock
    }
}

/// The lanes of a mask.
#[inline]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}
