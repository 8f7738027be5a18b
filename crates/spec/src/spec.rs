//! What a composition of types reifies to.

use crate::{
    AccumulationId, InstructionId, LoaderId, Mnk, Node, Order, ReadFrom, ScaleSpec, ScheduleId, SchedulerId, StagingId,
    TransformId,
};
use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;

/// Everything that determines a kernel but the problem and the device. `None` and `AUTO` mean that the plan decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Spec {
    /// Which instructions may be used.
    pub arch: ArchId,
    /// Element of A (M x K).
    pub a: Dtype,
    /// Element of B (K x N).
    pub b: Dtype,
    /// Element of the accumulator.
    pub acc: Dtype,
    /// Element of D (M x N).
    pub d: Dtype,
    /// How A lies in memory.
    pub order_a: Option<Order>,
    /// How B lies in memory.
    pub order_b: Option<Order>,
    /// How D lies in memory.
    pub order_d: Option<Order>,
    /// What multiplies.
    pub instruction: InstructionId,
    /// How operands reach shared memory.
    pub loader: LoaderId,
    /// What is done to B on the way.
    pub transform: TransformId,
    /// How scale factors enter.
    pub scales: ScaleSpec,
    /// How sums are kept by an instruction that keeps fewer bits than the accumulator.
    pub accumulation: AccumulationId,
    /// Where the instruction reads its first operand, if it has the choice.
    pub first_from: ReadFrom,
    /// Whether A and B change places: the kernel computes Dᵀ = Bᵀ·Aᵀ, however D lies. Tile and cluster stay the user's, but what
    /// is legal is said of them the other way round.
    pub swap_ab: Option<bool>,
    /// Where the epilogue is staged.
    pub staging: StagingId,
    /// What one block (under TwoSm one pair of blocks) computes at a time, in elements.
    pub tile: Option<Mnk>,
    /// Blocks of a cluster along M and N; K is 1.
    pub cluster: Option<Mnk>,
    /// Depth of the pipeline through shared memory.
    pub stages: Option<usize>,
    /// How loading, multiplying and storing overlap.
    pub schedule: ScheduleId,
    /// How tiles are handed to blocks.
    pub scheduler: SchedulerId,
    /// The epilogue's tree.
    pub epilogue: &'static Node,
    /// A mainloop from another crate: the tables do not judge it.
    pub mainloop: Option<Extension>,
    /// A tile scheduler from another crate.
    pub tile_scheduler: Option<Extension>,
}

/// A collective that another crate adds: its name and device text enter the generated source and the cache key.
#[derive(Clone, Copy)]
pub struct Extension {
    /// A C identifier, unique among a program's extensions.
    pub name: &'static str,
    /// Its device text.
    pub cuda: &'static str,
    /// What the crate that defines the collective's trait downcasts to.
    pub implementation: &'static (dyn core::any::Any + Send + Sync),
}

// An implementation has no identity of its own: name and text are what reaches the GPU.
impl PartialEq for Extension {
    fn eq(&self, o: &Self) -> bool {
        (self.name, self.cuda) == (o.name, o.cuda)
    }
}
impl Eq for Extension {}
impl core::hash::Hash for Extension {
    fn hash<H: core::hash::Hasher>(&self, h: &mut H) {
        (self.name, self.cuda).hash(h)
    }
}
impl core::fmt::Debug for Extension {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Extension").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Products along K whose sum is promoted at a time.
pub const PROMOTION: usize = 128;

impl Spec {
    /// How sums are kept, if the instruction keeps fewer bits of them than the accumulator has. Sums that are scaled are promoted
    /// by that.
    pub const fn narrow_sums(&self) -> Option<AccumulationId> {
        let narrow = matches!(self.instruction, InstructionId::WGMMA) && (self.a.is_fp8() || self.b.is_fp8());
        if !narrow || self.mainloop.is_some() {
            None
        } else if self.scales.any() {
            Some(AccumulationId::PROMOTED)
        } else {
            Some(self.accumulation)
        }
    }

    /// The same in the terms of a kernel whose A and B changed places, if they do.
    pub const fn in_kernel_terms(&self, swapped: bool) -> Spec {
        let mut s = *self;
        s.swap_ab = Some(false);
        if swapped {
            (s.a, s.b) = (self.b, self.a);
            s.tile = match self.tile {
                Some(tile) => Some(tile.swapped()),
                None => None,
            };
            s.cluster = match self.cluster {
                Some(cluster) => Some(cluster.swapped()),
                None => None,
            };
        }
        s
    }

    /// How many of a cluster's blocks that have parts of a tile's K, the first ones, add up what all have of as many columns each: all of
    /// them where each then has whole fragments of 8 columns. The tile is in the kernel's terms.
    pub const fn output_parts(&self, tile: Mnk) -> usize {
        let parts = match self.cluster {
            Some(cluster) if cluster.k > 1 => cluster.k,
            _ => 1,
        };
        let shares = if tile.n < 8 { 1 } else { 1 << (tile.n / 8).trailing_zeros() };
        if parts < shares { parts } else { shares }
    }

    /// What the epilogue of one of these blocks has of a tile.
    pub const fn output_tile(&self, tile: Mnk) -> Mnk {
        Mnk::new(tile.m, tile.n / self.output_parts(tile), tile.k)
    }

    /// Whether threads load the instruction's first operand into registers, where it could read shared memory.
    pub const fn first_in_registers(&self) -> bool {
        let chosen = matches!(self.first_from, ReadFrom::Registers) && self.mainloop.is_none();
        chosen && matches!(self.instruction, InstructionId::WGMMA)
    }

    /// Whether the sum of every [`PROMOTION`] products along K is added, as it is, to accumulators of full precision.
    pub const fn promotes(&self) -> bool {
        matches!(self.narrow_sums(), Some(AccumulationId::PROMOTED)) && !self.scales.any()
    }

    /// The type in which an epilogue computes: f64 for f64, else f32; integers stay exact until something asks for a conversion.
    pub const fn compute(&self) -> Dtype {
        match self.acc {
            Dtype::F64 => Dtype::F64,
            Dtype::I32 => Dtype::I32,
            _ => Dtype::F32,
        }
    }
}
