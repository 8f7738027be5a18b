//! Bulk copies under way.

use crate::ir::Apply;
use crate::tensor_map::TensorSwizzle;

/// Bytes of a box that lie together in shared memory: at most 16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Offset in a block's shared window.
    pub shared: u32,
    pub len: u8,
    /// Of these, the range that exists in the tensor; the rest is filled, or not stored.
    pub begin: u8,
    pub end: u8,
    /// Global address of byte 0 of the piece.
    pub global: u64,
}

impl Piece {
    /// As it is stored: TMA clips lines at whole pieces, and so writes beyond the end of one whose bytes are no multiple of 16.
    pub(crate) fn widen(&mut self) {
        if self.begin < self.end {
            self.end = self.len;
        }
    }
}

/// Where a bulk load comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Global,
    /// Shared memory of a block of the cluster, from this offset on.
    Shared {
        block: usize,
        offset: u32,
    },
    /// Registers.
    Registers([u8; 16]),
}

/// A load into shared memory.
#[derive(Clone, Debug)]
pub(crate) struct BulkLoad {
    pub pieces: Vec<Piece>,
    pub origin: Origin,
    /// Filling bytes, repeated.
    pub fill: [u8; 4],
    /// tf32 maps round while loading.
    pub rounds: bool,
    /// Blocks of the cluster that receive it, each with the mbarrier that is told.
    pub targets: Vec<(usize, (usize, u32))>,
    pub bytes: u32,
    /// An element reduction in place of a copy, and the element's bytes.
    pub reduce: Option<(Apply, u8)>,
    /// Permutation of the box, if it is a tensor's.
    pub swizzle: Option<TensorSwizzle>,
    /// The warp of the cluster and the lane that issued it.
    pub warp: usize,
    pub lane: usize,
    pub pc: u32,
}

/// A box that a tensor load has written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LandedBox {
    /// Offsets in the block's window that hold it.
    pub start: u32,
    pub end: u32,
    pub swizzle: TensorSwizzle,
    /// The load's instruction.
    pub pc: u32,
}

/// A store from shared memory.
#[derive(Clone, Debug)]
pub(crate) struct BulkStore {
    pub pieces: Vec<Piece>,
    pub block: usize,
    /// The warp of the cluster and the lane that wait for it, and its group.
    pub warp: usize,
    pub lane: usize,
    pub group: u32,
    /// An element reduction in place of a copy, and the element's bytes.
    pub reduce: Option<(Apply, u8)>,
    pub landed: bool,
    /// Its thread knows that shared memory was read.
    pub read: bool,
    pub pc: u32,
}
