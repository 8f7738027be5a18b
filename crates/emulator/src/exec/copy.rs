//! `cp.async`: issue, landing, waiting.

use super::memory::Place;
use super::{Executed, Flow};
use crate::check::fault::{FaultKind, Violation};
use crate::check::shadow::Access;
use crate::ir::{CopyAsync, CopyValid, Space};
use crate::machine::Completion;
use crate::machine::address::OFFSET_MASK;
use crate::machine::copy::Copy;
use crate::machine::run::{At, Run, conflict};
use crate::machine::warp::lanes;

impl Run<'_> {
    pub(super) fn copy_async(&mut self, at: At, op: &CopyAsync) -> Executed {
        let (to, from) = (self.addresses(at, &op.to), self.addresses(at, &op.from));
        let bytes = op.bytes as usize;
        let registers = &self.warp(at).registers;
        let valid: [u32; 32] = match op.valid {
            CopyValid::All => [op.bytes; 32],
            CopyValid::Bytes(src) => registers.read(src),
            CopyValid::Ignore(p) => {
                let ignored = p.mask(registers);
                core::array::from_fn(|l| if ignored >> l & 1 != 0 { 0 } else { op.bytes })
            }
        };
        let mut copy = Copy {
            pending: at.mask,
            flying: at.mask,
            to: [(0, 0); 32],
            from,
            bytes: op.bytes,
            valid: [0; 32],
            group: self.warp(at).copies.committed,
            pc: at.pc,
        };
        let mut sight = self.sight(at);
        for lane in lanes(at.mask) {
            if valid[lane] > op.bytes {
                let message = format!("cp.async of {bytes} bytes with a source size of {}", valid[lane]);
                return Err(Violation::new(FaultKind::OutOfBounds, message).lane(lane));
            }
            copy.valid[lane] = valid[lane] as u8;
            let place = sight.find(Space::Shared, to[lane], bytes, lane)?;
            let Place::Shared { block, offset } = place else { continue };
            copy.to[lane] = (block as u32, offset as u32);
            let me = sight.warp.access(lane, at.pc);
            sight.blocks[block].shared.shadow.own(offset, bytes, me, &sight.warp.clock).map_err(|(_, found)| {
                conflict(found, &format!("asynchronous write of {bytes} bytes"), "shared", to[lane]).lane(lane)
            })?;
            if valid[lane] > 0 {
                // The source address must fit the copy's size even where less is read.
                if from[lane] % bytes as u64 != 0 {
                    let message = format!("cp.async of {bytes} bytes from {:#x}, which is not a multiple", from[lane]);
                    return Err(Violation::new(FaultKind::Misaligned, message).at(from[lane]).lane(lane));
                }
                let len = valid[lane] as usize;
                let source = sight.find_bytes(Space::Global, from[lane], len, lane)?;
                sight.check(source, len, false, lane, at.pc, false).map_err(|v| v.at(from[lane]))?;
            }
        }
        let count = u64::from(at.mask.count_ones());
        self.report.global_read_bytes += lanes(at.mask).map(|l| u64::from(valid[l])).sum::<u64>();
        self.report.shared_written_bytes += count * bytes as u64;
        let first = at.mask.trailing_zeros() as usize;
        let place = Place::Shared { block: copy.to[first].0 as usize, offset: copy.to[first].1 as usize };
        self.wavefronts(place, &to, at.mask, bytes);
        let queue = &mut self.warp(at).copies.copies;
        queue.push(copy);
        if self.completion == Completion::Early {
            let index = self.warp(at).copies.copies.len() - 1;
            self.land(at.cluster, at.warp, index, at.mask)?;
        }
        Ok(Flow::Next)
    }

    /// Moves the bytes of some lanes of a copy.
    pub(super) fn land(&mut self, c: usize, w: usize, index: usize, mask: u32) -> Result<(), Violation> {
        let cluster = &mut self.clusters[c];
        let copy = &mut cluster.warps[w].copies.copies[index];
        for lane in lanes(mask & copy.flying) {
            let (valid, bytes) = (copy.valid[lane] as usize, copy.bytes as usize);
            let mut buffer = [0u8; 16];
            if valid > 0 {
                let (allocation, offset) = self.memory.find(copy.from[lane], valid)?;
                buffer[..valid].copy_from_slice(&self.memory.region(allocation).bytes[offset..offset + valid]);
            }
            let (block, offset) = (copy.to[lane].0 as usize, copy.to[lane].1 as usize);
            cluster.blocks[block].shared.bytes[offset..offset + bytes].copy_from_slice(&buffer[..bytes]);
        }
        copy.flying &= !mask;
        self.report.asynchronous += 1;
        Ok(())
    }

    /// Lets a few of a warp's copies land, where their moment is left to chance.
    pub fn land_some(&mut self, c: usize, w: usize) -> Result<(), crate::check::fault::Fault> {
        if self.completion != Completion::Reordered {
            return Ok(());
        }
        let count = self.clusters[c].warps[w].copies.copies.len();
        for _ in 0..count.div_ceil(4) {
            let (index, mask) = (self.random.below(count), self.random.next() as u32);
            let pc = self.clusters[c].warps[w].copies.copies[index].pc;
            let at = At { cluster: c, warp: w, group: 0, pc, mask };
            self.land(c, w, index, mask).map_err(|violation| self.fault(at, violation))?;
        }
        Ok(())
    }

    /// The lanes of `at` wait until at most `pending` of their groups are incomplete.
    pub(super) fn copy_wait(&mut self, at: At, pending: Option<u32>) -> Executed {
        for index in 0..self.warp(at).copies.copies.len() {
            let due = self.warp(at).copies.due(index, at.mask, pending);
            if due == 0 {
                continue;
            }
            self.land(at.cluster, at.warp, index, due)?;
            self.hand_over(at, index, due, None);
        }
        self.warp(at).copies.copies.retain(|copy| copy.pending != 0);
        Ok(Flow::Next)
    }

    /// What a copy wrote for the lanes of `mask` becomes ordinary: written by them now, or, completing on an mbarrier, by
    /// the access that stands for it.
    pub(super) fn hand_over(&mut self, at: At, index: usize, mask: u32, by: Option<Access>) {
        let cluster = &mut self.clusters[at.cluster];
        let warp = &mut cluster.warps[at.warp];
        let pc = warp.copies.copies[index].pc;
        for lane in lanes(mask) {
            let copy = &warp.copies.copies[index];
            let (block, offset) = (copy.to[lane].0 as usize, copy.to[lane].1 & OFFSET_MASK);
            let access = by.unwrap_or_else(|| warp.access(lane, pc));
            cluster.blocks[block].shared.shadow.release(offset as usize, copy.bytes as usize, access);
        }
        warp.copies.copies[index].pending &= !mask;
    }
}
