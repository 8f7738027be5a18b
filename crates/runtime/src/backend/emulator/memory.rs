//! Memory of an emulated device.

use std::sync::Arc;

use warpwright_emulator::AllocationError;

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
        let allocated = device.lock().allocate(bytes);
        let address = allocated
            .map_err(|AllocationError { bytes, .. }| MemoryError::OutOfMemory { space: device.space, bytes })?;
        Ok(EmulatedBuffer { device: device.clone(), address, bytes })
    }
}

impl Drop for EmulatedBuffer {
    fn drop(&mut self) {
        if let Err(error) = self.device.lock().free(self.address) {
            log::error!("{}: {error}", self.device.space);
        }
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
