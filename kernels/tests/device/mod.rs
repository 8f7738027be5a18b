//! Plans of kernels that have device code, for tests.
#![allow(dead_code, missing_docs)]

use warpwright_arch::ArchId;
use warpwright_epilogue::{Fusion, IntoExpr, acc};
use warpwright_numeric::Dtype;
use warpwright_spec::*;

/// What varies between device plans.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub arch: ArchId,
    pub a: Dtype,
    pub b: Option<Dtype>,
    pub acc: Dtype,
    pub d: Dtype,
    pub tile: Mnk,
    pub stages: usize,
    pub schedule: ScheduleId,
    pub loader: Option<LoaderId>,
    pub majors: (MajorId, MajorId),
    pub widths: CopyWidths,
    pub whole: bool,
    pub transposed: bool,
    pub scheduler: SchedulerId,
    pub epilogue: &'static Node,
}

pub const PLAIN: Case = Case {
    arch: ArchId::SM80,
    a: Dtype::Bf16,
    b: None,
    acc: Dtype::F32,
    d: Dtype::Bf16,
    tile: Mnk::new(128, 256, 64),
    stages: 3,
    schedule: ScheduleId::MULTISTAGE,
    loader: None,
    majors: (MajorId::K, MajorId::K),
    widths: CopyWidths { a: 16, b: 16, c: 16, d: 16 },
    whole: true,
    transposed: false,
    scheduler: SchedulerId::PERSISTENT,
    epilogue: &Node::LoadAcc,
};

pub fn plan(case: &Case) -> KernelPlan {
    let user = if case.transposed { case.tile.swapped() } else { case.tile };
    let desc = GemmDesc {
        b: case.b.unwrap_or(case.a),
        d: case.d,
        order_d: Some(if case.transposed { Order::Column } else { Order::Row }),
        tile: Some(user),
        cluster: Some(Mnk::new(1, 1, 1)),
        stages: Some(case.stages),
        schedule: case.schedule,
        loader: case.loader,
        scheduler: case.scheduler,
        epilogue: case.epilogue,
        ..GemmDesc::new(case.arch, case.a, case.acc)
    };
    let spec = desc.spec().expect("a legal composition");
    let mut plan = KernelPlan {
        spec,
        transposed: case.transposed,
        tile: case.tile,
        cluster: Mnk::new(1, 1, 1),
        major_a: case.majors.0,
        major_b: case.majors.1,
        widths: case.widths,
        repacks: Repacks::NONE,
        whole_a: case.whole,
        whole_b: case.whole,
        order_c: if case.transposed { Order::Column } else { Order::Row },
        raster: RasterOrder::AlongN,
        swizzle: 8,
        splits: 1,
        shares: 1,
        resources: ResourcePlan::of(&spec, user),
        substitute: None,
    };
    plan.resources = ResourcePlan::of(&plan.kernel_spec(), case.tile);
    plan
}

pub fn node<E: IntoExpr>(_: E) -> &'static Node {
    E::Node::NODE
}

/// Each family of types and instructions: every way in which their operands are fetched.
pub fn families() -> Vec<Case> {
    use Dtype::*;
    let tile = Mnk::new;
    let (k, mn) = (MajorId::K, MajorId::MN);
    let width = |ab, d| CopyWidths { a: ab, b: ab, c: d, d };
    let sm = |arch, a, acc, d| Case { arch, a, acc, d, tile: tile(128, 128, 512 / a.bits()), ..PLAIN };
    let tf32 = sm(ArchId::SM80, Tf32, F32, F32);
    let s8 = sm(ArchId::SM80, I8, I32, I32);
    let fp8 = sm(ArchId::SM89, E4m3, F32, Bf16);
    let f64 = sm(ArchId::SM80, F64, F64, F64);
    let simt = Case { tile: tile(128, 128, 16), ..sm(ArchId::SM80, F32, F32, F32) };
    let turing = Case { stages: 2, ..sm(ArchId::SM75, F16, F32, F32) };
    let bytes = Case { stages: 2, ..sm(ArchId::SM75, I8, I32, I32) };
    vec![
        tf32,
        Case { majors: (mn, mn), tile: tile(64, 64, 32), ..tf32 },
        Case { majors: (mn, k), tile: tile(64, 128, 16), widths: width(4, 4), whole: false, transposed: true, ..tf32 },
        Case { tile: tile(128, 256, 16), d: Tf32, ..tf32 },
        s8,
        Case { majors: (mn, mn), b: Some(U8), d: I8, ..s8 },
        Case { majors: (k, mn), a: U8, b: Some(I8), d: F32, tile: tile(128, 256, 64), epilogue: half(), ..s8 },
        Case { majors: (mn, k), a: U8, d: U8, tile: tile(48, 80, 32), widths: width(1, 1), whole: false, ..s8 },
        fp8,
        Case { majors: (mn, mn), b: Some(E5m2), d: E4m3, ..fp8 },
        Case { a: E5m2, d: E5m2, tile: tile(128, 128, 128), widths: width(4, 4), whole: false, ..fp8 },
        f64,
        Case { majors: (mn, mn), tile: tile(64, 64, 16), d: F32, ..f64 },
        Case { majors: (k, mn), tile: tile(128, 64, 16), widths: width(8, 8), d: F16, transposed: true, ..f64 },
        Case { arch: ArchId::SM90, tile: tile(128, 128, 16), ..f64 },
        Case { arch: ArchId::SM90, tile: tile(64, 256, 16), majors: (mn, mn), ..f64 },
        Case { arch: ArchId::SM90, tile: tile(128, 64, 32), stages: 3, majors: (mn, k), widths: width(8, 8), ..f64 },
        simt,
        Case { majors: (mn, mn), ..simt },
        Case { tile: tile(256, 128, 16), widths: width(8, 8), whole: false, ..simt },
        Case { majors: (mn, k), tile: tile(48, 48, 8), widths: width(4, 4), whole: false, transposed: true, ..simt },
        turing,
        Case { tile: tile(128, 64, 32), majors: (mn, mn), ..turing },
        Case { tile: tile(128, 64, 32), ..turing },
        Case { tile: tile(64, 64, 64), widths: width(2, 2), whole: false, d: Bf16, ..turing },
        bytes,
        Case { majors: (mn, k), tile: tile(64, 64, 64), widths: width(4, 4), whole: false, b: Some(U8), ..bytes },
        Case { a: F32, acc: F32, tile: tile(128, 128, 8), majors: (k, mn), ..turing },
        Case { a: F32, acc: F32, tile: tile(256, 128, 16), ..turing },
        Case { a: F64, acc: F64, d: F64, tile: tile(64, 64, 8), majors: (mn, k), ..turing },
    ]
}

pub fn half() -> &'static Node {
    node(0.5 * acc())
}
