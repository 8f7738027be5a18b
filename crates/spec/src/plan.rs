//! A resolved kernel: nothing is left to decide but addresses and extents. Lowering is a function of this value and the target.

use crate::*;
use warpwright_numeric::Dtype;

/// Bytes that one copy instruction moves for each operand: a power of two up to 16 that divides every address and stride.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CopyWidths {
    /// For A.
    pub a: usize,
    /// For B.
    pub b: usize,
    /// For D.
    pub d: usize,
    /// For C and every other M x N operand of the epilogue.
    pub c: usize,
}

impl CopyWidths {
    /// Bytes of the widest copy that is asked for; what empty operands and those that are not there count as.
    pub const WIDEST: usize = 16;

    /// The widest copy where all addresses are multiples of so many bytes.
    pub const fn dividing(bytes: usize) -> usize {
        1 << (bytes | CopyWidths::WIDEST).trailing_zeros()
    }
}

/// Operands that are copied into workspace first, in rows that TMA can address, in the kernel's terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Repacks {
    /// The kernel's first operand.
    pub a: bool,
    /// The kernel's second operand.
    pub b: bool,
}

impl Repacks {
    /// Both are read where they lie.
    pub const NONE: Repacks = Repacks { a: false, b: false };

    /// Whether any is copied.
    pub const fn any(self) -> bool {
        self.a || self.b
    }

    /// The same with the operands exchanged.
    pub const fn swapped(self) -> Repacks {
        Repacks { a: self.b, b: self.a }
    }

    /// `A`, `B`, `A and B`, or nothing.
    pub const fn name(self) -> &'static str {
        match (self.a, self.b) {
            (true, true) => "A and B",
            (true, false) => "A",
            (false, true) => "B",
            (false, false) => "",
        }
    }
}

/// A kernel with everything decided.
///
/// In a `transposed` plan the kernel computes Dᵀ = Bᵀ·Aᵀ: its rows are the user's columns. `spec` stays in the user's
/// terms; `tile` and everything else here is the kernel's. How D lies is another matter: it may be contiguous along the
/// kernel's columns or along its rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelPlan {
    /// The user's composition with every slot filled.
    pub spec: Spec,
    /// Whether the kernel's rows are the user's columns.
    pub transposed: bool,
    /// The tile in the kernel's terms.
    pub tile: Mnk,
    /// The cluster in the kernel's terms.
    pub cluster: Mnk,
    /// Which mode of the kernel's first operand is contiguous.
    pub major_a: MajorId,
    /// Which mode of the kernel's second operand is contiguous.
    pub major_b: MajorId,
    /// Copy widths, in the kernel's terms: `a` is of the kernel's first operand. Of an operand that is repacked, that of its copy.
    pub widths: CopyWidths,
    /// Operands that another launch copies into workspace before the kernel's own.
    pub repacks: Repacks,
    /// Whether every copy of the kernel's first operand lies inside it or outside: the extent along which it is contiguous
    /// is a multiple of its copy. Copies that may straddle the end cost more arithmetic.
    pub whole_a: bool,
    /// As `whole_a`, of the kernel's second operand.
    pub whole_b: bool,
    /// How C lies in memory, if the epilogue reads one.
    pub order_c: Order,
    /// Which way tiles are walked.
    pub raster: RasterOrder,
    /// Tiles side by side that are walked together, for L2: a power of two.
    pub swizzle: usize,
    /// Parts of K that different blocks compute: 1 unless the scheduler splits.
    pub splits: usize,
    /// How many of these blocks, the first ones, add up what all have of as many of a tile's columns each: 1 where the last to arrive adds up
    /// all of them.
    pub shares: usize,
    /// What the kernel occupies, in its own terms.
    pub resources: ResourcePlan,
    /// Why the plan's schedule, or its loader, is not the principal one of the architecture, if it is not.
    pub substitute: Option<Substitute>,
}

/// Why an `Auto` schedule, or a schedule's loader, was not the principal one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Substitute {
    /// The principal schedule's device side is not written yet.
    NotWritten {
        /// The principal family.
        principal: InstructionId,
    },
    /// The problem is a matrix times few vectors.
    Vectors {
        /// The principal family.
        principal: InstructionId,
    },
    /// The principal instruction does not read an operand of this element that is MN-major.
    Unreadable {
        /// The principal family.
        principal: InstructionId,
        /// `A` or `B`.
        operand: &'static str,
        /// Its element.
        dtype: Dtype,
    },
    /// The principal schedule's own loader is TMA, which cannot address an operand: cp.async loads instead.
    Loader {
        /// `A` or `B`.
        operand: &'static str,
        /// What divides its address and strides, in bytes, up to 16.
        given: usize,
        /// What must.
        needed: usize,
    },
    /// The principal schedule loads by TMA, which cannot address an operand.
    Misaligned {
        /// The principal family.
        principal: InstructionId,
        /// `A` or `B`.
        operand: &'static str,
        /// What divides its address and strides, in bytes, up to 16.
        given: usize,
        /// What must.
        needed: usize,
    },
}

impl KernelPlan {
    /// The spec in the kernel's terms: A and B, and M and N exchanged if the plan is transposed.
    pub const fn kernel_spec(&self) -> Spec {
        let mut s = self.spec.in_kernel_terms(self.transposed);
        s.tile = Some(self.tile);
        s.cluster = Some(self.cluster);
        s
    }
    /// The tile in the user's terms.
    pub const fn user_tile(&self) -> Mnk {
        if self.transposed { self.tile.swapped() } else { self.tile }
    }
    /// Blocks of a cluster that have a part of a tile's D each ([`Spec::output_parts`]).
    pub const fn output_parts(&self) -> usize {
        self.kernel_spec().output_parts(self.tile)
    }
    /// What one block's epilogue has of it at a time, in the kernel's terms.
    pub const fn output_tile(&self) -> Mnk {
        let whole = self.kernel_spec().output_tile(self.tile);
        Mnk::new(whole.m, whole.n / self.shares, whole.k)
    }
    /// Columns of accumulators, of all warps that have some beside one another, that the epilogue takes at a time.
    pub fn subtile_columns(&self) -> usize {
        let (widest, all) = (self.resources.accumulators.subtile_n, self.output_tile().n);
        if self.shares == 1 { widest } else { widest.min(1 << all.trailing_zeros()) }
    }
    /// The same in the user's terms.
    pub const fn user_output_tile(&self) -> Mnk {
        if self.transposed { self.output_tile().swapped() } else { self.output_tile() }
    }
    /// How D lies in memory.
    pub const fn order_d(&self) -> Order {
        match self.spec.order_d {
            Some(order) => order,
            None => Order::Row,
        }
    }
    /// Whether D is contiguous along the kernel's rows.
    pub const fn along_rows(&self) -> bool {
        self.transposed == matches!(self.order_d(), Order::Row)
    }
    /// Operands that are copied first, in the user's terms.
    pub const fn user_repacks(&self) -> Repacks {
        if self.transposed { self.repacks.swapped() } else { self.repacks }
    }
    /// Elements of D that one vector store writes.
    pub const fn vector(&self) -> usize {
        let n = self.widths.d * 8 / self.spec.d.bits();
        if n == 0 { 1 } else { n }
    }
    /// The kernel's name: what it is, readable in a profiler. Not unique: the epilogue and layouts are in the cache key.
    pub fn name(&self) -> String {
        let s = &self.spec;
        let major = |m: MajorId| if matches!(m, MajorId::K) { 'k' } else { 'm' };
        format!(
            "ww_{}_{}_{}_{}_{}_{}x{}x{}_{}_{}{}{}{}{}{}{}",
            s.schedule.name().to_lowercase(),
            s.a.name(),
            s.b.name(),
            s.acc.name(),
            s.d.name(),
            self.tile.m,
            self.tile.n,
            self.tile.k,
            self.resources.stages,
            major(self.major_a),
            major(self.major_b),
            if self.transposed { "_t" } else { "" },
            if matches!(s.narrow_sums(), Some(AccumulationId::FAST_ACCUM)) { "_fast" } else { "" },
            if matches!(s.loader, LoaderId::BULK_ROWS) { "_bulk" } else { "" },
            if s.first_in_registers() { "_rs" } else { "" },
            if matches!(s.instruction, InstructionId::WGMMA) && self.resources.reuses_stages() {
                "_reused"
            } else {
                ""
            },
        )
    }
}
