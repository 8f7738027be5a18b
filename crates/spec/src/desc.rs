//! A kernel as plain run-time data, for command lines, heuristics and tuners.

use crate::*;
use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_numeric::Dtype;

/// What a builder's types would say, as values. [`GemmDesc::spec`] composes it through the same tables and rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GemmDesc {
    /// Which instructions may be used.
    pub arch: ArchId,
    /// Element of A.
    pub a: Dtype,
    /// Element of B.
    pub b: Dtype,
    /// Element of the accumulator.
    pub acc: Dtype,
    /// Element of D.
    pub d: Dtype,
    /// How A lies in memory; `None`: as its strides say.
    pub order_a: Option<Order>,
    /// How B lies in memory.
    pub order_b: Option<Order>,
    /// How D lies in memory.
    pub order_d: Option<Order>,
    /// Scale factors.
    pub scales: ScaleSpec,
    /// How operands arrive; `None`: as the schedule's do.
    pub loader: Option<LoaderId>,
    /// How sums are kept by an instruction that keeps fewer bits than the accumulator.
    pub accumulation: AccumulationId,
    /// Where the instruction reads its first operand, if it has the choice.
    pub first_from: ReadFrom,
    /// Whether A and B change places, so that the tile's rows are columns of D.
    pub swap_ab: Option<bool>,
    /// Where the epilogue is staged.
    pub staging: StagingId,
    /// The tile.
    pub tile: Option<Mnk>,
    /// The cluster.
    pub cluster: Option<Mnk>,
    /// The pipeline depth.
    pub stages: Option<usize>,
    /// The schedule.
    pub schedule: ScheduleId,
    /// The tile scheduler.
    pub scheduler: SchedulerId,
    /// The epilogue's tree.
    pub epilogue: &'static Node,
}

impl GemmDesc {
    /// A x A into `acc`, everything else automatic, D in the default element of A.
    pub fn new(arch: ArchId, a: Dtype, acc: Dtype) -> GemmDesc {
        GemmDesc {
            arch,
            a,
            b: a,
            acc,
            d: default_output(a),
            order_a: None,
            order_b: None,
            order_d: None,
            scales: ScaleSpec::NONE,
            loader: None,
            accumulation: AccumulationId::PROMOTED,
            first_from: ReadFrom::Shared,
            swap_ab: None,
            staging: StagingId::AUTO,
            tile: None,
            cluster: None,
            stages: None,
            schedule: ScheduleId::AUTO,
            scheduler: SchedulerId::AUTO,
            epilogue: &Node::LoadAcc,
        }
    }

    /// Like [`GemmDesc::new`] with the newest tag that a device runs; the host and older devices get `Sm80`'s.
    pub fn native(device: &DeviceInfo, a: Dtype, acc: Dtype) -> GemmDesc {
        GemmDesc::new(device.newest_tag().unwrap_or(ArchId::SM80), a, acc)
    }

    /// The spec, checked by the rules that rustc checks.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn spec(&self) -> Result<Spec, Violation> {
        let family =
            runs(self.arch, self.schedule).ok_or(Violation::NoSchedule { arch: self.arch, schedule: self.schedule })?;
        let product = multiplies(self.arch, family, self.a, self.b, self.acc).ok_or(Violation::NoInstruction {
            arch: self.arch,
            schedule: self.schedule,
            a: self.a,
            b: self.b,
            acc: self.acc,
        })?;
        let spec = Spec {
            arch: self.arch,
            a: self.a,
            b: self.b,
            acc: self.acc,
            d: self.d,
            order_a: self.order_a,
            order_b: self.order_b,
            order_d: self.order_d,
            instruction: product.instruction,
            loader: match (self.loader, loads(self.arch, product.instruction)) {
                (Some(named), _) | (None, Some(named)) => named,
                (None, None) => LoaderId::GLOBAL_TO_REGISTER,
            },
            transform: product.transform,
            scales: self.scales,
            accumulation: self.accumulation,
            first_from: self.first_from,
            swap_ab: self.swap_ab,
            staging: self.staging,
            tile: self.tile,
            cluster: self.cluster,
            stages: self.stages,
            schedule: self.schedule,
            scheduler: self.scheduler,
            epilogue: self.epilogue,
            mainloop: None,
            tile_scheduler: None,
        };
        check(&spec).map(|()| spec)
    }
}

/// What a GEMM with this A stores when nobody says otherwise: the value of `Element::Output`.
pub const fn default_output(a: Dtype) -> Dtype {
    match a {
        Dtype::F64 => Dtype::F64,
        Dtype::F32 | Dtype::Tf32 | Dtype::E8m0 => Dtype::F32,
        Dtype::F16 => Dtype::F16,
        Dtype::Bf16 | Dtype::E4m3 | Dtype::E5m2 | Dtype::E3m2 | Dtype::E2m3 | Dtype::E2m1 => Dtype::Bf16,
        Dtype::I32 | Dtype::I8 | Dtype::U8 | Dtype::I4 | Dtype::U4 => Dtype::I32,
    }
}

/// What accumulates products of this A.
pub const fn default_accumulator(a: Dtype) -> Dtype {
    match a {
        Dtype::F64 => Dtype::F64,
        Dtype::I32 | Dtype::I8 | Dtype::U8 | Dtype::I4 | Dtype::U4 => Dtype::I32,
        _ => Dtype::F32,
    }
}

/// The product of choices, for a tuner: filter by [`GemmDesc::spec`], which says why a point is illegal.
pub fn candidates<'a>(
    base: GemmDesc,
    tiles: &'a [Mnk],
    schedules: &'a [ScheduleId],
    stages: &'a [Option<usize>],
) -> impl Iterator<Item = GemmDesc> + 'a {
    tiles.iter().flat_map(move |&tile| {
        schedules.iter().flat_map(move |&schedule| {
            stages.iter().map(move |&stages| GemmDesc { tile: Some(tile), schedule, stages, ..base })
        })
    })
}
