//! Loads, stores and atomics.

use super::{Executed, Flow};
use crate::check::fault::{FaultKind, Violation};
use crate::ir::{Address, Atomic, Base, Load, Order, Space, Store};
use crate::machine::address::*;
use crate::machine::block::Block;
use crate::machine::memory::{GlobalMemory, Region};
use crate::machine::run::{At, Location, Run, conflict};
use crate::machine::warp::{Warp, lanes};

/// Where an address leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Global { allocation: usize, offset: usize },
    Shared { block: usize, offset: usize },
    Local { offset: usize },
    Param { offset: usize },
}

/// All memory that a warp can reach.
pub(crate) struct Sight<'a> {
    pub memory: &'a mut GlobalMemory,
    pub blocks: &'a mut [Block],
    pub warp: &'a mut Warp,
    pub parameters: &'a [u8],
    /// First byte of shared memory that is the kernel's.
    pub shared_base: u32,
    pub local_bytes: usize,
}

/// Elements of the longest vector access.
const ELEMENTS: usize = 8;

impl Sight<'_> {
    /// Finds `len` bytes at an address of a lane.
    pub fn find(&mut self, space: Space, address: u64, len: usize, lane: usize) -> Result<Place, Violation> {
        if address & (len as u64 - 1) != 0 {
            let message = format!("access of {len} bytes at {address:#x}, which is not a multiple of {len}");
            return Err(Violation::new(FaultKind::Misaligned, message).at(address).lane(lane));
        }
        self.find_bytes(space, address, len, lane)
    }

    /// As [`Sight::find`], at any alignment.
    pub fn find_bytes(&mut self, space: Space, address: u64, len: usize, lane: usize) -> Result<Place, Violation> {
        let (space, address) = match space {
            Space::Generic if within(address, SHARED_WINDOW) => (Space::Shared, address - SHARED_WINDOW),
            Space::Generic if within(address, LOCAL_WINDOW) => (Space::Local, address - LOCAL_WINDOW),
            Space::Generic if within(address, PARAM_WINDOW) => (Space::Param, address - PARAM_WINDOW),
            Space::Generic => (Space::Global, address),
            space => (space, address),
        };
        let outside = |name: &str, from: u32, to: usize| {
            let message = format!("access of {len} bytes at {name} address {address:#x}, outside {from:#x} to {to:#x}");
            Err(Violation::new(FaultKind::OutOfBounds, message).at(address).lane(lane))
        };
        match space {
            Space::Shared => {
                let (rank, offset) = (address as u32 >> RANK_SHIFT, (address as u32 & OFFSET_MASK) as usize);
                let Some(block) = self.blocks.get(rank as usize) else {
                    let message =
                        format!("shared address {address:#x} names block {rank} of a cluster of {}", self.blocks.len());
                    return Err(Violation::new(FaultKind::OutOfBounds, message).at(address).lane(lane));
                };
                let end = block.shared.bytes.len();
                if offset < self.shared_base as usize || offset + len > end || address >> 32 != 0 {
                    return outside("shared", self.shared_base, end);
                }
                if block.alive == 0 {
                    let message = format!("access to shared memory of block {rank} of the cluster, which has exited");
                    return Err(Violation::new(FaultKind::OutOfBounds, message).at(address).lane(lane));
                }
                Ok(Place::Shared { block: rank as usize, offset })
            }
            Space::Local if address.saturating_add(len as u64) <= self.local_bytes as u64 => {
                Ok(Place::Local { offset: lane * self.local_bytes + address as usize })
            }
            Space::Local => outside("local", 0, self.local_bytes),
            Space::Param if address.saturating_add(len as u64) <= self.parameters.len() as u64 => {
                Ok(Place::Param { offset: address as usize })
            }
            Space::Param => outside("parameter", 0, self.parameters.len()),
            Space::Global | Space::Generic => {
                let (allocation, offset) = self.memory.find(address, len).map_err(|v| v.lane(lane))?;
                Ok(Place::Global { allocation, offset })
            }
        }
    }

    fn region(&mut self, place: Place) -> Option<(&mut Region, usize, &mut Warp, &'static str)> {
        match place {
            Place::Global { allocation, offset } => Some((self.memory.region(allocation), offset, self.warp, "global")),
            Place::Shared { block, offset } => Some((&mut self.blocks[block].shared, offset, self.warp, "shared")),
            Place::Local { .. } | Place::Param { .. } => None,
        }
    }

    /// Checks a read or write of `len` bytes by a lane, and remembers it.
    #[inline]
    pub fn check(
        &mut self,
        place: Place,
        len: usize,
        write: bool,
        lane: usize,
        pc: u32,
        strong: bool,
    ) -> Result<(), Violation> {
        if let Place::Shared { block, offset } = place {
            self.spare_mbarriers(block, offset, len, write).map_err(|v| v.lane(lane))?;
        }
        let Some((region, offset, warp, space)) = self.region(place) else { return Ok(()) };
        let me = warp.access(lane, pc).strong(strong);
        let result = if write {
            region.shadow.write(offset, len, me, &warp.clock)
        } else {
            region.shadow.read(offset, len, me, &warp.clock)
        };
        result.map_err(|(at, found)| {
            let what = if write { format!("write of {len} bytes") } else { format!("read of {len} bytes") };
            conflict(found, &what, space, at as u64).lane(lane)
        })
    }

    /// An mbarrier's bytes mean nothing to ordinary accesses: a GPU may not even show them.
    fn spare_mbarriers(&self, block: usize, offset: usize, len: usize, write: bool) -> Result<(), Violation> {
        let before = self.blocks[block].mbarriers.range(..(offset + len) as u32).next_back();
        match before {
            Some((at, barrier)) if *at as usize + 8 > offset => {
                let what = if write { "written" } else { "read" };
                let message = format!(
                    "the mbarrier at offset {at:#x} of rank {block}, in phase {}, is {what} as ordinary memory",
                    barrier.phase
                );
                Err(Violation::new(FaultKind::Mbarrier, message).at(offset as u64))
            }
            _ => Ok(()),
        }
    }

    /// Checks a read through the asynchronous proxy, and remembers it.
    pub fn check_asynchronous(&mut self, place: Place, len: usize, lane: usize, pc: u32) -> Result<(), Violation> {
        let Some((region, offset, warp, space)) = self.region(place) else { return Ok(()) };
        let me = warp.access(lane, pc).asynchronous();
        let result = region.shadow.read(offset, len, me, &warp.clock);
        result.map_err(|(at, found)| conflict(found, "asynchronous read", space, at as u64).lane(lane))
    }

    /// The bytes at a place.
    #[inline]
    pub fn bytes(&mut self, place: Place, len: usize) -> &mut [u8] {
        match place {
            Place::Global { allocation, offset } => &mut self.memory.region(allocation).bytes[offset..offset + len],
            Place::Shared { block, offset } => &mut self.blocks[block].shared.bytes[offset..offset + len],
            Place::Local { offset } => &mut self.warp.local[offset..offset + len],
            // Parameters are never written: their bytes are read through `parameter`.
            Place::Param { .. } => &mut [],
        }
    }

    /// Copies the bytes at a place.
    #[inline]
    pub fn fetch(&mut self, place: Place, out: &mut [u8]) {
        match place {
            Place::Param { offset } => out.copy_from_slice(&self.parameters[offset..offset + out.len()]),
            place => out.copy_from_slice(self.bytes(place, out.len())),
        }
    }
}

/// A few bytes as a number.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

impl<'m> Run<'m> {
    /// What the warp at a point of execution can reach.
    #[inline]
    pub fn sight(&mut self, at: At) -> Sight<'_> {
        let cluster = &mut self.clusters[at.cluster];
        Sight {
            memory: self.memory,
            blocks: &mut cluster.blocks,
            warp: &mut cluster.warps[at.warp],
            parameters: &self.parameters,
            shared_base: self.kernel.shared_base(),
            local_bytes: self.kernel.code.local_bytes as usize,
        }
    }

    /// An address operand in every lane. Shared offsets carry the block's rank.
    pub fn addresses(&mut self, at: At, address: &Address) -> [u64; 32] {
        let cluster = &self.clusters[at.cluster];
        let warp = &cluster.warps[at.warp];
        let offset = address.offset as u64;
        match address.base {
            Base::Reg(reg) if reg.width.rows() > 1 => {
                warp.registers.read::<u64>(crate::machine::registers::Src::Reg(reg)).map(|x| x.wrapping_add(offset))
            }
            Base::Reg(reg) => warp
                .registers
                .read::<u32>(crate::machine::registers::Src::Reg(reg))
                .map(|x| u64::from(x.wrapping_add(offset as u32))),
            Base::None => [offset; 32],
            Base::Variable(i) => [self.variables[i as usize].wrapping_add(offset); 32],
            Base::Shared(at) => {
                let rank = cluster.blocks[warp.block].rank;
                [u64::from(rank << RANK_SHIFT | at).wrapping_add(offset); 32]
            }
            Base::Local(at) | Base::Param(at) => [u64::from(at).wrapping_add(offset); 32],
        }
    }

    /// The key of a location for synchronisation through memory.
    pub fn location(&self, at: At, place: Place, address: u64) -> Location {
        match place {
            Place::Shared { block, offset } => {
                let number = self.clusters[at.cluster].first_agent + block as u32;
                (Some(number), offset as u64)
            }
            _ => (None, address),
        }
    }

    fn count_bytes(&mut self, place: Place, bytes: u64, write: bool) {
        let report = &mut self.report;
        match (place, write) {
            (Place::Global { .. }, false) => report.global_read_bytes += bytes,
            (Place::Global { .. }, true) => report.global_written_bytes += bytes,
            (Place::Shared { .. }, false) => report.shared_read_bytes += bytes,
            (Place::Shared { .. }, true) => report.shared_written_bytes += bytes,
            _ => {}
        }
    }

    /// Counts the passes of a shared access whose lanes touch `len` bytes each.
    pub fn wavefronts(&mut self, place: Place, addresses: &[u64; 32], mask: u32, len: usize) {
        if !self.config.profile || !matches!(place, Place::Shared { .. }) {
            return;
        }
        // 128 bytes a pass: wide accesses go in parts of the warp.
        let lanes_a_pass = (128 / len.max(4)).min(32);
        for first in (0..32).step_by(lanes_a_pass) {
            let mut words: Vec<u32> = lanes(mask)
                .filter(|l| (first..first + lanes_a_pass).contains(l))
                .flat_map(|l| (0..len.div_ceil(4) as u32).map(move |i| (addresses[l] as u32 & OFFSET_MASK) / 4 + i))
                .collect();
            if words.is_empty() {
                continue;
            }
            words.sort_unstable();
            words.dedup();
            let mut banks = [0u64; 32];
            for word in words {
                banks[word as usize % 32] += 1;
            }
            let passes = banks.into_iter().max().unwrap_or(1);
            self.report.shared_wavefronts += passes;
            self.report.bank_conflicts += passes - 1;
        }
    }

    pub(super) fn load(&mut self, at: At, load: &Load) -> Executed {
        let addresses = self.addresses(at, &load.address);
        let (size, count) = (load.bytes as usize, load.to.len());
        let len = size * count;
        let mut last = None;
        let mut buffer = [0u8; 8 * ELEMENTS];
        let mut sight = self.sight(at);
        for lane in lanes(at.mask) {
            let place = sight.find(load.space, addresses[lane], len, lane)?;
            sight.check(place, len, false, lane, at.pc, load.order.strong).map_err(|v| v.at(addresses[lane]))?;
            sight.fetch(place, &mut buffer[..len]);
            for (i, to) in load.to.iter().enumerate() {
                let Some(to) = to else { continue };
                let element = &buffer[i * size..(i + 1) * size];
                if size == 16 {
                    sight.warp.registers.set_lane(*to, lane, number(&element[..8]));
                    let high = crate::ptx::ast::Reg { row: to.row + 2, ..*to };
                    sight.warp.registers.set_lane(high, lane, number(&element[8..]));
                    continue;
                }
                let value = number(element);
                let shift = 64 - 8 * size as u32;
                let value = if load.signed { (value << shift) as i64 >> shift } else { value as i64 };
                sight.warp.registers.set_lane(*to, lane, value as u64);
            }
            last = Some(place);
            if load.order.strong {
                self.observe(at, place, addresses[lane], load.order);
                sight = self.sight(at);
            }
        }
        if let Some(place) = last {
            self.count_bytes(place, len as u64 * u64::from(at.mask.count_ones()), false);
            self.wavefronts(place, &addresses, at.mask, len);
        }
        Ok(Flow::Next)
    }

    pub(super) fn store(&mut self, at: At, store: &Store) -> Executed {
        let addresses = self.addresses(at, &store.address);
        let (size, count) = (store.bytes as usize, store.from.len());
        let len = size * count;
        let (mut last, mut changed) = (None, false);
        let mut values = [[0u64; 32]; ELEMENTS];
        for (value, from) in values.iter_mut().zip(&store.from) {
            *value = self.warp(at).registers.read_wide(*from);
        }
        if store.order.strong {
            self.publish_to(at, &addresses, store.space, len, store.order)?;
        }
        let mut sight = self.sight(at);
        for lane in lanes(at.mask) {
            let place = sight.find(store.space, addresses[lane], len, lane)?;
            if let Place::Param { .. } = place {
                let message = "a write to kernel parameters";
                return Err(Violation::new(FaultKind::OutOfBounds, message).at(addresses[lane]).lane(lane));
            }
            sight.check(place, len, true, lane, at.pc, store.order.strong).map_err(|v| v.at(addresses[lane]))?;
            let bytes = sight.bytes(place, len);
            for (bytes, value) in bytes.chunks_exact_mut(size).zip(&values) {
                let new = &value[lane].to_le_bytes()[..size];
                changed |= *bytes != *new;
                bytes.copy_from_slice(new);
            }
            last = Some(place);
        }
        // Writing what is there already tells nobody anything.
        self.events += u64::from(changed);
        if let Some(place) = last {
            self.count_bytes(place, len as u64 * u64::from(at.mask.count_ones()), true);
            self.wavefronts(place, &addresses, at.mask, len);
        }
        Ok(Flow::Next)
    }

    pub(super) fn atomic(&mut self, at: At, atomic: &Atomic) -> Executed {
        let addresses = self.addresses(at, &atomic.address);
        let (size, count) = (atomic.bytes as usize, atomic.operands.len());
        let swaps = self.warp(at).registers.read_wide(atomic.swap);
        let operands: Vec<[u64; 32]> =
            atomic.operands.iter().map(|src| self.warp(at).registers.read_wide(*src)).collect();
        if atomic.order.strong {
            self.publish_to(at, &addresses, atomic.space, size * count, atomic.order)?;
        }
        let mut changed = false;
        for lane in lanes(at.mask) {
            let address = addresses[lane];
            let mut sight = self.sight(at);
            let place = sight.find(atomic.space, address, size * count, lane)?;
            if let Place::Param { .. } = place {
                return Err(Violation::new(FaultKind::OutOfBounds, "an atomic on parameters").at(address).lane(lane));
            }
            sight.check(place, size * count, false, lane, at.pc, true).map_err(|v| v.at(address))?;
            sight.check(place, size * count, true, lane, at.pc, true).map_err(|v| v.at(address))?;
            let keep = u64::MAX >> (64 - 8 * size as u32);
            let apply = if let Place::Global { .. } = place { atomic.apply_global } else { atomic.apply };
            for (i, operand) in operands.iter().enumerate() {
                let bytes = &mut sight.bytes(place, size * count)[i * size..(i + 1) * size];
                let old = number(bytes);
                let new = apply(old, operand[lane] & keep, swaps[lane] & keep);
                bytes.copy_from_slice(&new.to_le_bytes()[..size]);
                changed |= new != old;
                if let Some(Some(to)) = atomic.to.get(i) {
                    sight.warp.registers.set_lane(*to, lane, old);
                }
            }
            self.count_bytes(place, (size * count) as u64, true);
            self.observe(at, place, address, atomic.order);
        }
        self.events += u64::from(changed);
        Ok(Flow::Next)
    }

    /// Lanes of a release or relaxed store publish what they may.
    fn publish_to(
        &mut self,
        at: At,
        addresses: &[u64; 32],
        space: Space,
        len: usize,
        order: Order,
    ) -> Result<(), Violation> {
        let mut places = Vec::new();
        let mut sight = self.sight(at);
        for lane in lanes(at.mask) {
            places.push((sight.find(space, addresses[lane], len, lane)?, addresses[lane]));
        }
        for (place, address) in places {
            self.publish(at, place, address, order);
        }
        Ok(())
    }
}
