//! Scratch memory of a run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::backend::Buffer;
use crate::{Stream, WorkspaceError, WorkspaceLayout};

/// Workspace memory as plain data. Its owner is an [`Executable`](crate::Executable)'s slot, or the caller.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WorkspacePtr {
    /// Its address on the device that the program is loaded on.
    pub address: u64,
    /// Its size.
    pub bytes: usize,
}

impl WorkspacePtr {
    /// Checks a workspace that the caller passes against what a run needs.
    ///
    /// # Errors
    /// [`WorkspaceError::TooSmall`] if it is too small or not aligned, [`WorkspaceError::Nowhere`] if it is no memory at all.
    pub fn check(self, needed: WorkspaceLayout) -> Result<WorkspacePtr, WorkspaceError> {
        let alignment = needed.alignment.max(1);
        if needed.bytes > 0 && (self.bytes < needed.bytes || !self.address.is_multiple_of(alignment as u64)) {
            let (address, given) = (self.address, self.bytes);
            return Err(WorkspaceError::TooSmall { address, given, needed: needed.bytes, alignment });
        }
        let beyond = self.address.checked_add(self.bytes as u64).is_none();
        if needed.bytes > 0 && (self.address == 0 || beyond) {
            return Err(WorkspaceError::Nowhere { address: self.address, given: self.bytes });
        }
        Ok(self)
    }

    /// Sets all of it to zero, in the stream's order. A capture may hold this.
    ///
    /// # Safety
    /// It is memory of the stream's device, and nobody else uses it until it is set.
    ///
    /// # Errors
    /// [`WorkspaceError::Memory`].
    pub unsafe fn clear(self, stream: &Stream) -> Result<(), WorkspaceError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { stream.queue().backend().fill(self.address, 0, self.bytes) }?)
    }
}

/// One program's workspaces of one kind, one slot per stream.
///
/// A slot grows by getting a new buffer, twice as large or more unless the backend wants exact bounds, and keeps the old ones:
/// work that was submitted, captured graphs among it, holds their addresses.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    by_stream: Mutex<HashMap<u64, Vec<Box<dyn Buffer>>>>,
}

/// What device allocations are aligned to.
const ALLOCATION_ALIGNMENT: usize = 256;

impl Slots {
    /// At least `needed` bytes that belong to `stream`. Only this takes the lock that streams share; the caller remembers
    /// what it got per stream. New buffers are zeros if `zeroed`.
    pub(crate) fn get(
        &self,
        stream: &Stream,
        needed: WorkspaceLayout,
        zeroed: bool,
    ) -> Result<WorkspacePtr, WorkspaceError> {
        let mut slots = self.by_stream.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers = slots.entry(stream.id()).or_default();
        let have = buffers.last().map_or(0, |newest| newest.bytes());
        let slack = if needed.alignment > ALLOCATION_ALIGNMENT { needed.alignment } else { 0 };
        let total = needed.bytes + slack;
        if have < total {
            if stream.is_capturing().map_err(|_| WorkspaceError::Capturing { needed: total, have })? {
                return Err(WorkspaceError::Capturing { needed: total, have });
            }
            let queue = stream.queue();
            let buffer = queue.allocate(queue.backend().workspace_bytes(total))?;
            if zeroed {
                let whole = WorkspacePtr { address: buffer.address(), bytes: buffer.bytes() };
                // SAFETY: the buffer is this slot's own, of the stream's device.
                unsafe { whole.clear(stream) }?;
            }
            buffers.push(buffer);
        }
        let newest = buffers.last().map_or((0, 0), |buffer| (buffer.address(), buffer.bytes()));
        let address = newest.0.next_multiple_of(needed.alignment.max(1) as u64);
        Ok(WorkspacePtr { address, bytes: newest.1 - (address - newest.0) as usize })
    }
}
