//! Memory of an emulated device.

use std::sync::Arc;

use super::Emulated;
use crate::backend::Buffer;
use crate::{MemoryError, Space};

/// One allocation, freed on drop: work has ended when it was submitted.
#[derive(Debug)]
pub(super) struct EmulatedBuffer {
    device: Arc<Emulated>,
    address: u64,
    bytes: usize,
}

impl EmulatedBuffer {
    pub(super) fn new(device: &Arc<Emulated>, bytes: usize) -> Result<EmulatedBuffer, MemoryError> {
        let out_of_memory = MemoryError::OutOfMemory { space: device.space, bytes };
        let mut state = device.lock();
        let used = state.used.checked_add(bytes as u64).filter(|used| *used <= device.options.info().memory_bytes);
        let Some(used) = used else { return Err(out_of_memory) };
        // The machine's own allocation ends the process where this one can be refused.
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            return Err(out_of_memory);
        }
        state.used = used;
        let address = state.machine.allocate(bytes);
        Ok(EmulatedBuffer { device: device.clone(), address, bytes })
    }
}

impl Drop for EmulatedBuffer {
    fn drop(&mut self) {
        let mut state = self.device.lock();
        if let Err(error) = state.machine.free(self.address) {
            log::error!("{}: {error}", self.device.space);
        }
        state.used -= self.bytes as u64;
    }
}

// SAFETY: the addresses are the emulated device's and are never used for another allocation; nothing on the host
// dereferences them, and the device checks every access against the allocation.
unsafe impl Buffer for EmulatedBuffer {
    fn space(&self) -> Space {
        self.device.space
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
