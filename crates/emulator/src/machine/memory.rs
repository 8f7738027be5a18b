//! Global memory: allocations with guard space between them.

use super::address::{GLOBAL_START, SHARED_WINDOW};
use super::{AllocationError, Config};
use crate::check::Checks;
use crate::check::clock::Memory;
use crate::check::fault::{FaultKind, Violation};
use crate::check::shadow::Shadow;

/// A run of memory with its shadow.
#[derive(Clone, Default, Debug)]
pub(crate) struct Region {
    pub bytes: Vec<u8>,
    pub shadow: Shadow,
}

/// What fills memory that nothing has written: NaN in every floating-point type, so that it is not taken for zeros.
const POISON: u8 = 0xFF;

impl Region {
    pub fn new(bytes: usize, memory: Memory, checks: Checks) -> Region {
        Region { bytes: vec![POISON; bytes], shadow: Shadow::new(bytes, memory, checks) }
    }

    /// As [`Region::new`], unless the process cannot have as much, shadow included.
    fn try_new(bytes: usize, memory: Memory, checks: Checks) -> Option<Region> {
        let mut room = Vec::<u8>::new();
        // The shadow starts with a bit for each byte and a pointer for each page.
        room.try_reserve_exact(bytes.checked_add(bytes / 4)?).ok()?;
        drop(room);
        Some(Region::new(bytes, memory, checks))
    }
}

#[derive(Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub region: Region,
    live: bool,
}

/// Bytes between two allocations that belong to neither.
const GUARD: u64 = 64 << 10;
/// Alignment of allocations.
const ALIGN: u64 = 256;

/// All of global memory.
#[derive(Debug)]
pub(crate) struct GlobalMemory {
    /// By base, ascending.
    allocations: Vec<Allocation>,
    next: u64,
    last: usize,
    /// Bytes of those that live.
    used: u64,
}

impl Default for GlobalMemory {
    fn default() -> GlobalMemory {
        GlobalMemory { allocations: Vec::new(), next: GLOBAL_START, last: 0, used: 0 }
    }
}

impl GlobalMemory {
    pub fn allocate(&mut self, bytes: usize, config: &Config) -> Result<u64, AllocationError> {
        let total = config.memory_bytes;
        let free = total.saturating_sub(self.used);
        let refused = AllocationError { bytes, free, total };
        let (base, size) = (self.next, bytes as u64);
        // Addresses are never used again, and end where those of shared memory start.
        let next = base.checked_add(size).and_then(|end| (end.checked_add(GUARD)?).checked_next_multiple_of(ALIGN));
        let next = next.filter(|next| size <= free && *next <= SHARED_WINDOW).ok_or(refused)?;
        let region = Region::try_new(bytes, Memory::Global, config.checks).ok_or(refused)?;
        self.allocations.push(Allocation { base, region, live: true });
        (self.next, self.used) = (next, self.used + size);
        Ok(base)
    }

    /// Frees the allocation that starts at `base`; its addresses are never used again.
    pub fn free(&mut self, base: u64) -> bool {
        match self.allocations.binary_search_by_key(&base, |a| a.base) {
            Ok(at) if self.allocations[at].live => {
                self.allocations[at].live = false;
                let freed = core::mem::take(&mut self.allocations[at].region);
                self.used -= freed.bytes.len() as u64;
                true
            }
            _ => false,
        }
    }

    /// Forgets who accessed what: everything before a launch happened before everything in it.
    pub fn forget(&mut self) {
        for allocation in &mut self.allocations {
            allocation.region.shadow.forget();
        }
    }

    /// The allocation that holds `len` bytes at `address`, and the offset in it.
    #[inline]
    pub fn find(&mut self, address: u64, len: usize) -> Result<(usize, usize), Violation> {
        let fits = |a: &Allocation| {
            let offset = address.wrapping_sub(a.base);
            offset.checked_add(len as u64).is_some_and(|end| end <= a.region.bytes.len() as u64)
        };
        if self.allocations.get(self.last).is_some_and(fits) {
            return Ok((self.last, (address - self.allocations[self.last].base) as usize));
        }
        let at = self.allocations.partition_point(|a| a.base <= address);
        if let Some(at) = at.checked_sub(1)
            && fits(&self.allocations[at])
        {
            self.last = at;
            return Ok((at, (address - self.allocations[at].base) as usize));
        }
        Err(self.outside(address, len, at))
    }

    fn outside(&self, address: u64, len: usize, after: usize) -> Violation {
        let before = after.checked_sub(1).and_then(|i| self.allocations.get(i));
        let place = match before {
            Some(a) if !a.live => format!("it lies in or behind a freed allocation at {:#x}", a.base),
            Some(a) => {
                let (bytes, offset) = (a.region.bytes.len() as u64, address - a.base);
                format!("the allocation of {bytes} bytes at {:#x} ends before byte {offset} + {len}", a.base)
            }
            None => "no allocation lies below it".to_owned(),
        };
        Violation::new(
            FaultKind::OutOfBounds,
            format!("access of {len} bytes at global address {address:#x}, outside every allocation: {place}"),
        )
        .at(address)
    }

    #[inline]
    pub fn region(&mut self, allocation: usize) -> &mut Region {
        &mut self.allocations[allocation].region
    }
}
