//! Global memory: allocations with guard space between them.

use super::address::GLOBAL_START;
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
}

impl Default for GlobalMemory {
    fn default() -> GlobalMemory {
        GlobalMemory { allocations: Vec::new(), next: GLOBAL_START, last: 0 }
    }
}

impl GlobalMemory {
    pub fn allocate(&mut self, bytes: usize, checks: Checks) -> u64 {
        let base = self.next;
        self.next = (base + bytes as u64 + GUARD).next_multiple_of(ALIGN);
        self.allocations.push(Allocation { base, region: Region::new(bytes, Memory::Global, checks), live: true });
        base
    }

    /// Frees the allocation that starts at `base`; its addresses are never used again.
    pub fn free(&mut self, base: u64) -> bool {
        match self.allocations.binary_search_by_key(&base, |a| a.base) {
            Ok(at) if self.allocations[at].live => {
                self.allocations[at].live = false;
                self.allocations[at].region = Region::default();
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
