//! `cp.async`: copies that land when the adversary pleases, in groups that each thread commits and waits for.

use super::warp::lanes;

/// One `cp.async` of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    /// Lanes that have not waited for it.
    pub pending: u32,
    /// Of these, the lanes whose bytes have not landed.
    pub flying: u32,
    /// Block of the cluster and offset in its shared memory.
    pub to: [(u32, u32); 32],
    pub from: [u64; 32],
    pub bytes: u32,
    pub valid: [u8; 32],
    /// Number of the group that each lane will commit it to.
    pub group: [u32; 32],
    pub pc: u32,
}

/// The copies of a warp that somebody has yet to wait for, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct CopyQueue {
    pub copies: Vec<Copy>,
    /// Groups that each lane has committed.
    pub committed: [u32; 32],
}

impl CopyQueue {
    pub fn commit(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.committed[lane] += 1;
        }
    }

    /// Of copy `index`, the lanes of `mask` that must have landed when at most `pending` groups may be incomplete, or all.
    pub fn due(&self, index: usize, mask: u32, pending: Option<u32>) -> u32 {
        let copy = &self.copies[index];
        let waiting = copy.pending & mask;
        match pending {
            None => waiting,
            Some(n) => lanes(waiting).filter(|&l| copy.group[l] + n < self.committed[l]).fold(0, |due, l| due | 1 << l),
        }
    }
}
