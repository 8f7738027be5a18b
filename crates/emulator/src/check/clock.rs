//! Vector clocks: what a warp knows to have happened before.

use std::collections::BTreeMap;

/// Who did something: a warp, or an mbarrier standing for the asynchronous copies that completed on it. Numbers are unique
/// within a launch; those of a cluster are consecutive.
pub(crate) type Agent = u32;

/// Agents that a cluster may have beside its warps.
pub(crate) const SPARE_AGENTS: u32 = 4096;

/// Memory that a proxy fence may be restricted to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Memory {
    Shared,
    #[default]
    Global,
}

impl Memory {
    pub const ALL: [Memory; 2] = [Memory::Shared, Memory::Global];
}

/// For every agent, the epoch up to which its deeds are known.
#[derive(Clone, Default, Debug)]
pub(crate) struct Clock {
    first: Agent,
    known: Vec<u32>,
    /// Of what is known, the parts that proxy fences have made visible to the asynchronous proxy, by memory.
    fenced: Vec<[u32; 2]>,
    /// Agents of other clusters.
    foreign: BTreeMap<Agent, (u32, [u32; 2])>,
}

impl Clock {
    /// Knows nothing. `first` is the first agent of the cluster.
    pub fn new(first: Agent) -> Clock {
        Clock { first, ..Clock::default() }
    }

    fn slot(&self, agent: Agent) -> Option<usize> {
        (agent >= self.first && agent < self.first + SPARE_AGENTS).then(|| (agent - self.first) as usize)
    }

    /// The epoch of `agent` that is known.
    #[inline]
    pub fn known(&self, agent: Agent) -> u32 {
        let at = agent.wrapping_sub(self.first) as usize;
        match self.known.get(at) {
            Some(epoch) => *epoch,
            None => self.foreign.get(&agent).map_or(0, |e| e.0),
        }
    }

    /// The epoch of `agent` whose writes to a memory the asynchronous proxy sees.
    pub fn fenced(&self, agent: Agent, memory: Memory) -> u32 {
        let at = agent.wrapping_sub(self.first) as usize;
        match self.fenced.get(at) {
            Some(epochs) => epochs[memory as usize],
            None => self.foreign.get(&agent).map_or(0, |e| e.1[memory as usize]),
        }
    }

    /// Learns of `agent` up to `epoch`.
    pub fn learn(&mut self, agent: Agent, epoch: u32) {
        match self.slot(agent) {
            Some(at) => {
                if self.known.len() <= at {
                    self.known.resize(at + 1, 0);
                    self.fenced.resize(at + 1, [0; 2]);
                }
                self.known[at] = self.known[at].max(epoch);
            }
            None => {
                let entry = self.foreign.entry(agent).or_default();
                entry.0 = entry.0.max(epoch);
            }
        }
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        if other.first == self.first {
            if self.known.len() < other.known.len() {
                self.known.resize(other.known.len(), 0);
                self.fenced.resize(other.known.len(), [0; 2]);
            }
            for (mine, theirs) in self.known.iter_mut().zip(&other.known) {
                *mine = (*mine).max(*theirs);
            }
            for (mine, theirs) in self.fenced.iter_mut().zip(&other.fenced) {
                *mine = latest(*mine, *theirs);
            }
        } else {
            for (i, (known, fenced)) in other.known.iter().zip(&other.fenced).enumerate() {
                if *known > 0 {
                    self.learn_foreign(other.first + i as u32, *known, *fenced);
                }
            }
        }
        for (agent, (known, fenced)) in &other.foreign {
            self.learn_foreign(*agent, *known, *fenced);
        }
    }

    fn learn_foreign(&mut self, agent: Agent, known: u32, fenced: [u32; 2]) {
        self.learn(agent, known);
        match self.slot(agent) {
            Some(at) => self.fenced[at] = latest(self.fenced[at], fenced),
            None => {
                let entry = self.foreign.entry(agent).or_default();
                entry.1 = latest(entry.1, fenced);
            }
        }
    }

    /// A proxy fence: all that is known to have been done to a memory is visible to the asynchronous proxy too.
    pub fn fence_proxy(&mut self, memory: Memory) {
        for (fenced, known) in self.fenced.iter_mut().zip(&self.known) {
            fenced[memory as usize] = *known;
        }
        for (known, fenced) in self.foreign.values_mut() {
            fenced[memory as usize] = *known;
        }
    }
}

fn latest(x: [u32; 2], y: [u32; 2]) -> [u32; 2] {
    [x[0].max(y[0]), x[1].max(y[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_travels_between_clusters() {
        let (mut x, mut y) = (Clock::new(0), Clock::new(SPARE_AGENTS));
        x.learn(1, 5);
        x.fence_proxy(Memory::Shared);
        x.learn(1, 6);
        y.join(&x);
        let fenced = |clock: &Clock| Memory::ALL.map(|memory| clock.fenced(1, memory));
        assert_eq!((y.known(1), fenced(&y), y.known(2)), (6, [5, 0], 0));
        let mut z = Clock::new(0);
        z.join(&y);
        assert_eq!((z.known(1), fenced(&z)), (6, [5, 0]));
        z.fence_proxy(Memory::Global);
        assert_eq!(fenced(&z), [5, 6]);
    }
}
