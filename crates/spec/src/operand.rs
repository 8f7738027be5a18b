//! Operands as a list: A and B, and with them scales, zero points, block scale factors, statistics.

use crate::Order;
use warpwright_numeric::Dtype;

/// What a collective asks the caller for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperandDecl {
    /// Its name, unique in a kernel: `a`, `b`, `scales_a`, `zero_points`.
    pub name: &'static str,
    /// Its element.
    pub element: Dtype,
    /// How it lies in memory.
    pub layout: OperandLayout,
    /// One base, or one a group.
    pub base: BaseKind,
    /// Which modes index it.
    pub granularity: Granularity,
    /// Where the instruction reads it.
    pub read_from: ReadFrom,
}

/// How an operand lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandLayout {
    /// Two modes with strides, one of them 1.
    Strided {
        /// Which; `None`: as the strides say.
        order: Option<Order>,
    },
    /// Blocks of fixed extents, each contiguous: the layout that hardware scale factors have.
    Blocked {
        /// Rows of a block.
        rows: usize,
        /// Columns of a block.
        columns: usize,
    },
    /// Rearranged offline by a function that the mainloop owns.
    Prepared {
        /// The function's name.
        pack: &'static str,
    },
}

/// One base address, or one a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BaseKind {
    /// One, with a stride between groups.
    Single,
    /// An array of addresses.
    Array,
}

/// How many elements along each mode share one element of the operand; 0: the mode does not index it.
///
/// A is `{ m: 1, n: 0, k: 1 }`; scales of B per 128 columns and 128 of K are `{ m: 0, n: 128, k: 128 }`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Granularity {
    /// Along M.
    pub m: usize,
    /// Along N.
    pub n: usize,
    /// Along K.
    pub k: usize,
}

impl Granularity {
    /// A's own.
    pub const A: Granularity = Granularity { m: 1, n: 0, k: 1 };
    /// B's own.
    pub const B: Granularity = Granularity { m: 0, n: 1, k: 1 };
    /// Rows and columns of the operand for a problem: the two indexing modes in the order M, K or K, N or M, N.
    pub const fn extents(&self, mnk: crate::Mnk) -> (usize, usize) {
        let m = if self.m == 0 { None } else { Some(mnk.m.div_ceil(self.m)) };
        let n = if self.n == 0 { None } else { Some(mnk.n.div_ceil(self.n)) };
        let k = if self.k == 0 { None } else { Some(mnk.k.div_ceil(self.k)) };
        match (m, n, k) {
            (Some(m), None, Some(k)) => (m, k),
            (None, Some(n), Some(k)) => (k, n),
            (Some(m), Some(n), _) => (m, n),
            (Some(m), None, None) => (m, 1),
            (None, Some(n), None) => (1, n),
            (None, None, Some(k)) => (1, k),
            (None, None, None) => (1, 1),
        }
    }
}

/// Where the instruction reads an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReadFrom {
    /// Shared memory, by descriptor.
    Shared,
    /// Registers, brought there from shared memory.
    Registers,
    /// Tensor memory.
    TensorMemory,
}
