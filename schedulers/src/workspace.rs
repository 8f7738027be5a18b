//! What fix-up needs in global memory.

use crate::Fixup;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The workspace of a launch: one flag per slot, and one or more tiles of accumulators.
///
/// Old contents never matter. Flags are zero when a launch begins and it leaves them so: they are memory that nothing else
/// uses, or are cleared before each launch. A part's accumulators are written before they are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WorkspaceRegions {
    /// Slots.
    pub slots: usize,
    /// Bytes of flags at offset 0, one u32 a slot.
    pub flags_bytes: usize,
    /// Where the accumulators begin.
    pub partials_offset: usize,
    /// Bytes from one part's accumulators to the next one's.
    pub partials_stride: usize,
    /// All bytes.
    pub bytes: usize,
}

impl WorkspaceRegions {
    /// Alignment of the workspace and of every part's accumulators, in bytes.
    pub const ALIGN: usize = 256;

    /// The regions of `slots` slots, each of `parts` tiles that have `accumulators` bytes. Sizes saturate; no allocation of
    /// that size succeeds.
    pub fn new(slots: usize, parts: usize, accumulators: usize) -> WorkspaceRegions {
        if slots == 0 {
            return WorkspaceRegions::default();
        }
        let up = |n: usize| n.saturating_add(Self::ALIGN - 1) / Self::ALIGN * Self::ALIGN;
        let flags_bytes = slots.saturating_mul(4);
        let (partials_offset, partials_stride) = (up(flags_bytes), up(accumulators));
        let bytes = slots.saturating_mul(parts).saturating_mul(partials_stride).saturating_add(partials_offset);
        WorkspaceRegions { slots, flags_bytes, partials_offset, partials_stride, bytes }
    }
}

/// A launch's workspace in host memory, divided into its slots.
#[derive(Debug)]
pub struct Slots<'a> {
    flags: &'a [AtomicU32],
    partials: Vec<Mutex<&'a mut [u8]>>,
    abandoned: AtomicBool,
}

impl WorkspaceRegions {
    /// Clears the flags, as is done before a launch on a device, and divides the memory into slots. `None` if it is too small or
    /// not aligned to the flags' 4 bytes.
    pub fn attach<'a>(&self, workspace: &'a mut [u8]) -> Option<Slots<'a>> {
        if workspace.len() < self.bytes {
            return None;
        }
        let (flags, partials) = workspace.split_at_mut(self.partials_offset);
        let flags = &mut flags[..self.flags_bytes];
        flags.fill(0);
        // SAFETY: any bit pattern is a valid u32, and an AtomicU32 has the size and alignment of one.
        let (before, flags, after) = unsafe { flags.align_to_mut::<AtomicU32>() };
        if !before.is_empty() || !after.is_empty() {
            return None;
        }
        let partials = partials.chunks_mut(self.partials_stride.max(1)).take(self.slots).map(Mutex::new).collect();
        Some(Slots { flags, partials, abandoned: AtomicBool::new(false) })
    }
}

impl<'a> Slots<'a> {
    /// One slot, below the regions' count.
    pub fn get<'s>(&'s self, slot: usize) -> Option<Fixup<'s>>
    where
        'a: 's,
    {
        // A slot's memory is reached through this borrow alone.
        let partials: &'s Mutex<&'a mut [u8]> = self.partials.get(slot)?;
        Some(Fixup { flag: self.flags.get(slot)?, partials, abandoned: &self.abandoned })
    }

    /// Whether the launch has failed.
    pub fn abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Lets everybody who waits give up, because the launch has failed.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}
