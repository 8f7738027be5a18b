//! Machine code of warp-specialised kernels: the instructions that the arithmetic predicts, one wait a batch of them, no spills.

#![allow(missing_docs)]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod machine_code;

use machine_code::{opcodes, skipped};
use warpwright_arch::ArchId;
use warpwright_kernels::lower;
use warpwright_numeric::Dtype;
use warpwright_runtime::nvrtc;
use warpwright_spec::*;

/// What varies between the kernels.
#[derive(Clone, Copy, Debug)]
struct Case {
    a: Dtype,
    tile: (usize, usize, usize),
    cluster: (usize, usize),
    schedule: ScheduleId,
    major_a: MajorId,
    /// Bytes of a copy; 16: TMA.
    width: usize,
    accumulation: AccumulationId,
    first_from: ReadFrom,
    staging: StagingId,
}

const COOPERATIVE: Case = Case {
    a: Dtype::Bf16,
    tile: (128, 256, 64),
    cluster: (1, 1),
    schedule: ScheduleId::COOPERATIVE,
    major_a: MajorId::K,
    width: 16,
    accumulation: AccumulationId::PROMOTED,
    first_from: ReadFrom::Shared,
    staging: StagingId::AUTO,
};

fn cases() -> Vec<Case> {
    let fp8 = Case { a: Dtype::E4m3, tile: (128, 256, 128), ..COOPERATIVE };
    let fast = Case { accumulation: AccumulationId::FAST_ACCUM, ..fp8 };
    let held = Case { first_from: ReadFrom::Registers, ..COOPERATIVE };
    let pingpong = Case { tile: (128, 192, 64), schedule: ScheduleId::PINGPONG, ..COOPERATIVE };
    vec![
        COOPERATIVE,
        Case { tile: (192, 192, 64), ..COOPERATIVE },
        Case { tile: (256, 112, 64), cluster: (2, 1), ..COOPERATIVE },
        pingpong,
        fp8,
        Case { tile: (256, 128, 128), cluster: (2, 1), ..fp8 },
        Case { tile: (128, 192, 128), cluster: (1, 2), ..fp8 },
        Case { tile: (128, 128, 128), schedule: ScheduleId::PINGPONG, ..fp8 },
        Case { tile: (128, 192, 128), schedule: ScheduleId::PINGPONG, ..fast },
        Case { width: 8, ..COOPERATIVE },
        Case { width: 2, tile: (128, 128, 64), ..pingpong },
        held,
        Case { tile: (256, 128, 64), major_a: MajorId::MN, cluster: (2, 1), ..held },
        Case { tile: (128, 128, 64), schedule: ScheduleId::PINGPONG, ..held },
        Case { first_from: ReadFrom::Registers, ..fast },
        Case { tile: (256, 192, 64), staging: StagingId::REUSED, cluster: (2, 1), ..COOPERATIVE },
    ]
}

fn plan(case: &Case) -> KernelPlan {
    let (m, n, k) = case.tile;
    let desc = GemmDesc {
        tile: Some(Mnk { m, n, k }),
        cluster: Some(Mnk { m: case.cluster.0, n: case.cluster.1, k: 1 }),
        stages: Some(3),
        schedule: case.schedule,
        scheduler: SchedulerId::PERSISTENT,
        accumulation: case.accumulation,
        first_from: case.first_from,
        staging: case.staging,
        ..GemmDesc::new(ArchId::SM90, case.a, Dtype::F32)
    };
    let mut spec = desc.spec().expect("a legal composition");
    if case.width < 16 {
        spec.loader = LoaderId::CP_ASYNC;
    }
    KernelPlan {
        spec,
        transposed: false,
        tile: Mnk { m, n, k },
        cluster: desc.cluster.expect("a cluster"),
        major_a: case.major_a,
        major_b: MajorId::K,
        widths: CopyWidths { a: case.width, b: case.width, c: 16, d: 16 },
        repacks: Repacks::NONE,
        whole_a: true,
        whole_b: true,
        order_c: Order::Row,
        raster: RasterOrder::AlongN,
        swizzle: 8,
        splits: 1,
        shares: 1,
        resources: ResourcePlan::of(&spec, Mnk { m, n, k }),
        substitute: None,
    }
}

#[test]
fn the_machine_code_holds_what_the_arithmetic_says() {
    if let Err(missing) = nvrtc::version() {
        return skipped(&missing.to_string());
    }
    for case in cases() {
        let plan = plan(&case);
        let Some(codes) = opcodes(&case, &plan, "sm_90a") else { return };
        let count = |prefix: &str| codes.iter().filter(|code| code.starts_with(prefix)).count();
        let parts = case.tile.0 / 64 / plan.resources.warp_groups(&plan.spec);
        let blocks = case.tile.2 * case.a.bits() / 256;
        let opcode = if case.a.bits() == 8 { "QGMMA" } else { "HGMMA" };
        let (partial, held) = (plan.resources.partial_columns, plan.spec.first_in_registers());
        // Of sums that stay in the instruction, the first K tile is not the loop's, which accumulates.
        let (columns, tiles) = case.tile.1.checked_div(partial).map_or((1, 2), |columns| (columns, 1));
        assert_eq!(count(opcode), tiles * parts * columns * blocks, "{case:?}");
        // A batch of instructions is waited for once: of a K block with A in registers, else of a stage, or of promoted sums.
        let waits = match (partial > 0, held) {
            (true, _) => parts * columns,
            (_, true) => tiles * blocks + 1,
            _ => 2,
        };
        assert_eq!(count("WARPGROUP.DEPBAR"), waits, "{case:?}");
        assert_eq!(count("LDSM"), if held { tiles * parts * blocks } else { 0 }, "{case:?}");
        assert_eq!(count("UTMALDG") > 0, case.width == 16, "{case:?}");
        assert_eq!(count("LDGSTS") > 0, (4..16).contains(&case.width), "{case:?}");
        assert_eq!(count("LDL") + count("STL"), 0, "{case:?}");
    }
}

/// D and what is stored beside it leave through slabs by TMA whichever way D lies; a matrix of another width does not, nor do elements
/// of D where it is stored one by one.
#[test]
fn d_is_stored_by_tma_along_rows_too() {
    if let Err(missing) = nvrtc::version() {
        return skipped(&missing.to_string());
    }
    let [d, z] = [Dtype::E4m3, Dtype::F32].map(|beside| intern(Node::Sink(Sink::Matrix(beside), &Node::LoadAcc)));
    for (element, epilogue, stores) in
        [(Dtype::Bf16, &Node::LoadAcc, 1), (Dtype::F32, &Node::LoadAcc, 2), (Dtype::E4m3, d, 2), (Dtype::Bf16, z, 0)]
    {
        for (transposed, order) in [(true, Order::Row), (false, Order::Column)] {
            let tile = Mnk { m: 64, n: 32, k: 64 };
            let mut plan = plan(&Case { tile: (64, 32, 64), schedule: ScheduleId::WARP_SPECIALIZED, ..COOPERATIVE });
            plan.spec = Spec { d: element, order_d: Some(order), epilogue, ..plan.spec };
            (plan.transposed, plan.order_c) = (transposed, order);
            plan.resources = ResourcePlan::of(&plan.kernel_spec(), tile);
            assert!(plan.along_rows());
            let case = (element, transposed);
            let Some(codes) = opcodes(&case, &plan, "sm_90a") else { return };
            let count = |prefix: &str| codes.iter().filter(|code| code.starts_with(prefix)).count();
            assert_eq!(count("UTMASTG"), stores, "{case:?}");
            // Four matrices of eight rows and columns each; of other widths nothing transposes.
            let matrices = if element == Dtype::Bf16 && stores > 0 { 2 } else { 0 };
            assert_eq!(count("STSM.16.MT88.4"), matrices, "{case:?}: {codes:?}");
            assert_eq!(count("STG") > 0, stores == 0, "{case:?}");
            assert_eq!(count("LDL") + count("STL"), 0, "{case:?}");
        }
    }
}

/// A launch hands out whole clusters, padded to their rectangles: each of their tiles has flags and parts of its own.
#[test]
fn every_tile_of_a_cluster_has_workspace() {
    let mut plan = plan(&Case { cluster: (2, 2), ..COOPERATIVE });
    let tile = 128 * 256 * 4;
    for (scheduler, kept) in [(SchedulerId::SPLIT_K, 3), (SchedulerId::SPLIT_K_SERIAL, 1)] {
        (plan.spec.scheduler, plan.splits) = (scheduler, 3);
        // 3 x 1 tiles are 2 x 1 clusters of 2 x 2.
        let regions = lower::workspace(&plan, &Problem::dense(264, 72, 4096), 132);
        assert_eq!((regions.slots, regions.flags_bytes), (8, 32));
        assert!(regions.bytes >= 8 * kept * tile + 32);
    }
}
