//! What is to be multiplied: one value for dense, batched, pointer-array, grouped, ragged, masked and K-grouped problems.

use crate::Mnk;
use std::sync::Arc;

/// Extents and declared alignments of one call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Problem {
    /// How large, and how many.
    pub extents: Extents,
    /// What every address and stride of each operand is a multiple of. Declared, since extents and addresses that exist
    /// only on the device cannot be inspected.
    pub alignment: Alignment,
}

/// Bytes of which every base address, leading dimension and batch stride of an operand is a multiple. Copies are of at most 16, so
/// that a larger number permits no more than 16 does.
///
/// [`FULL`](Self::FULL), which a problem has unless another is given, speaks of addresses alone: lines follow one another, and how wide their
/// copies are comes from the extents. Who pads lines to multiples of 16 bytes says so by a larger number, of which no copy makes more:
/// `Alignment { a: 32, ..Alignment::FULL }` for an A whose lines are padded where those of B and D are multiples of 16 bytes too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Alignment {
    /// Of A.
    pub a: usize,
    /// Of B.
    pub b: usize,
    /// Of C and of every other M x N operand that the epilogue reads.
    pub c: usize,
    /// Of D.
    pub d: usize,
}

impl Alignment {
    /// 16 bytes everywhere, what every vectorised path wants, as far as lines that follow one another have it.
    pub const FULL: Alignment = Alignment { a: 16, b: 16, c: 16, d: 16 };
}

/// The extents of a problem. M and N are D's, K is contracted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extents {
    /// One product.
    Dense(Mnk),
    /// Equal products at constant strides; a stride of zero broadcasts.
    Batched {
        /// Of each.
        mnk: Mnk,
        /// How many.
        batch: usize,
    },
    /// Equal products at arbitrary addresses: operands are arrays of bases.
    PointerArray {
        /// Of each.
        mnk: Mnk,
        /// How many.
        count: usize,
    },
    /// Products of different extents.
    Grouped(Groups<Mnk>),
    /// Groups share N and K and lie one behind the other along M in A and D; B differs by group.
    Ragged {
        /// Rows of each group.
        rows: Groups<usize>,
        /// N of every group.
        n: usize,
        /// K of every group.
        k: usize,
    },
    /// Groups of up to `capacity` rows at constant strides, of which the first few are valid.
    Masked {
        /// Valid rows of each group.
        rows: Groups<usize>,
        /// Rows of storage a group.
        capacity: usize,
        /// N of every group.
        n: usize,
        /// K of every group.
        k: usize,
    },
    /// Groups share M and N and lie one behind the other along K.
    KGrouped {
        /// M of every group.
        m: usize,
        /// N of every group.
        n: usize,
        /// K of each group.
        depths: Groups<usize>,
    },
}

/// A value per group, known to the host or to the device alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Groups<T> {
    /// The host knows them.
    Host(Arc<[T]>),
    /// Only the device does, when the kernel runs.
    Device {
        /// How many groups.
        count: usize,
        /// No group exceeds this.
        at_most: T,
    },
}

impl<T: Copy> Groups<T> {
    /// How many groups there are.
    pub fn count(&self) -> usize {
        match self {
            Groups::Host(v) => v.len(),
            Groups::Device { count, .. } => *count,
        }
    }
    /// The value of a group, where the host knows it.
    pub fn get(&self, group: usize) -> Option<T> {
        match self {
            Groups::Host(v) => v.get(group).copied(),
            Groups::Device { .. } => None,
        }
    }
    fn fold<U>(&self, start: U, f: impl Fn(U, T) -> U) -> U {
        match self {
            Groups::Host(v) => v.iter().fold(start, |u, &x| f(u, x)),
            Groups::Device { at_most, .. } => f(start, *at_most),
        }
    }
}

/// What distinguishes the plans of a kernel: problems of one class share a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProblemKind {
    /// One product.
    Dense,
    /// Equal products at constant strides.
    Batched,
    /// Equal products at arbitrary addresses.
    PointerArray,
    /// Products of different extents.
    Grouped,
    /// Ragged along M.
    Ragged,
    /// Masked along M.
    Masked,
    /// Ragged along K.
    KGrouped,
}

impl Problem {
    /// One product with 16-byte alignment, as far as lines that follow one another have it.
    pub fn dense(m: usize, n: usize, k: usize) -> Problem {
        Problem { extents: Extents::Dense(Mnk { m, n, k }), alignment: Alignment::FULL }
    }
    /// Equal products at constant strides with 16-byte alignment, as far as lines that follow one another have it.
    pub fn batched(m: usize, n: usize, k: usize, batch: usize) -> Problem {
        Problem { extents: Extents::Batched { mnk: Mnk { m, n, k }, batch }, alignment: Alignment::FULL }
    }
    /// The same problem with declared alignments.
    pub fn aligned(mut self, alignment: Alignment) -> Problem {
        self.alignment = alignment;
        self
    }

    /// Which kind it is.
    pub fn kind(&self) -> ProblemKind {
        match self.extents {
            Extents::Dense(_) => ProblemKind::Dense,
            Extents::Batched { .. } => ProblemKind::Batched,
            Extents::PointerArray { .. } => ProblemKind::PointerArray,
            Extents::Grouped(_) => ProblemKind::Grouped,
            Extents::Ragged { .. } => ProblemKind::Ragged,
            Extents::Masked { .. } => ProblemKind::Masked,
            Extents::KGrouped { .. } => ProblemKind::KGrouped,
        }
    }

    /// Batch entries or groups.
    pub fn groups(&self) -> usize {
        match &self.extents {
            Extents::Dense(_) => 1,
            Extents::Batched { batch, .. } => *batch,
            Extents::PointerArray { count, .. } => *count,
            Extents::Grouped(g) => g.count(),
            Extents::Ragged { rows, .. } | Extents::Masked { rows, .. } => rows.count(),
            Extents::KGrouped { depths, .. } => depths.count(),
        }
    }

    /// The extents of one group; `None` where only the device knows them.
    pub fn group(&self, group: usize) -> Option<Mnk> {
        match &self.extents {
            Extents::Dense(mnk) | Extents::Batched { mnk, .. } | Extents::PointerArray { mnk, .. } => Some(*mnk),
            Extents::Grouped(g) => g.get(group),
            Extents::Ragged { rows, n, k } | Extents::Masked { rows, n, k, .. } => {
                rows.get(group).map(|m| Mnk { m, n: *n, k: *k })
            }
            Extents::KGrouped { m, n, depths } => depths.get(group).map(|k| Mnk { m: *m, n: *n, k }),
        }
    }

    /// Extents that no group exceeds.
    pub fn bound(&self) -> Mnk {
        match &self.extents {
            Extents::Dense(mnk) | Extents::Batched { mnk, .. } | Extents::PointerArray { mnk, .. } => *mnk,
            Extents::Grouped(g) => {
                g.fold(Mnk { m: 0, n: 0, k: 0 }, |u, x| Mnk { m: u.m.max(x.m), n: u.n.max(x.n), k: u.k.max(x.k) })
            }
            Extents::Ragged { rows, n, k } | Extents::Masked { rows, n, k, .. } => {
                Mnk { m: rows.fold(0, usize::max), n: *n, k: *k }
            }
            Extents::KGrouped { m, n, depths } => Mnk { m: *m, n: *n, k: depths.fold(0, usize::max) },
        }
    }

    /// Whether no element of D exists, as far as the host can know.
    pub fn is_empty(&self) -> bool {
        let bound = self.bound();
        bound.m == 0 || bound.n == 0 || self.groups() == 0
    }
}
