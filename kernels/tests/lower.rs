//! Plans as CUDA C++: what is generated, whether NVRTC takes it, and what the machine code holds.

#![allow(missing_docs)]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use warpwright_arch::{ArchId, Target};
use warpwright_epilogue::{Fusion, IntoExpr, acc, column, epilogue_fn, previous, relu, row, source};
use warpwright_kernels::lower::{self, LowerError};
use warpwright_numeric::{Dtype, bf16};
use warpwright_runtime::nvrtc;
use warpwright_spec::*;

/// What varies between device plans.
#[derive(Clone, Copy, Debug)]
struct Case {
    arch: ArchId,
    a: Dtype,
    b: Option<Dtype>,
    acc: Dtype,
    d: Dtype,
    tile: Mnk,
    stages: usize,
    majors: (MajorId, MajorId),
    widths: CopyWidths,
    whole: bool,
    transposed: bool,
    scheduler: SchedulerId,
    epilogue: &'static Node,
}

const PLAIN: Case = Case {
    arch: ArchId::SM80,
    a: Dtype::Bf16,
    b: None,
    acc: Dtype::F32,
    d: Dtype::Bf16,
    tile: Mnk::new(128, 256, 64),
    stages: 3,
    majors: (MajorId::K, MajorId::K),
    widths: CopyWidths { a: 16, b: 16, c: 16, d: 16 },
    whole: true,
    transposed: false,
    scheduler: SchedulerId::PERSISTENT,
    epilogue: &Node::LoadAcc,
};

fn plan(case: &Case) -> KernelPlan {
    let user = if case.transposed { case.tile.swapped() } else { case.tile };
    let desc = GemmDesc {
        b: case.b.unwrap_or(case.a),
        d: case.d,
        tile: Some(user),
        cluster: Some(Mnk::new(1, 1, 1)),
        stages: Some(case.stages),
        schedule: ScheduleId::MULTISTAGE,
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
        whole_a: case.whole,
        whole_b: case.whole,
        order_c: if case.transposed { Order::Column } else { Order::Row },
        raster: RasterOrder::AlongN,
        swizzle: 8,
        splits: 1,
        resources: ResourcePlan::of(&spec, user),
        substitute: None,
    };
    plan.resources = ResourcePlan::of(&plan.kernel_spec(), case.tile);
    plan
}

fn node<E: IntoExpr>(_: E) -> &'static Node {
    E::Node::NODE
}

epilogue_fn!(square_plus_one: SquarePlusOne, |x| x * x + 1.0, "x * x + 1.0f");

fn fused() -> &'static Node {
    let (v, c) = ([0f32; 4], [bf16::ZERO; 4]);
    node(relu(2.0 * acc() + row(&v) + 0.5 * source(&c)))
}

fn scheduler(id: SchedulerId) -> [&'static str; 2] {
    warpwright_schedulers::cuda::device_text(id).expect("device code").text
}

/// The text without what is the same in every kernel.
fn generated(source: &str) -> String {
    let mut text = source.to_owned();
    for (name, part) in [
        ("ptx.cuh", include_str!("../src/ptx.cuh")),
        ("numeric.cuh", include_str!("../src/numeric.cuh")),
        ("operands.cuh", include_str!("../src/operands.cuh")),
        ("mma_sync.cuh", include_str!("../src/mma_sync.cuh")),
        ("simt.cuh", include_str!("../src/simt.cuh")),
        ("sm80_multistage.cuh", include_str!("../src/sm80_multistage.cuh")),
        ("gemm_universal.cuh", include_str!("../src/gemm_universal.cuh")),
        ("work.cuh", warpwright_schedulers::cuda::WORK),
        ("persistent.cuh", scheduler(SchedulerId::PERSISTENT)[1]),
        ("single_tile.cuh", scheduler(SchedulerId::SINGLE_TILE)[1]),
        ("fixup.cuh", scheduler(SchedulerId::SPLIT_K)[0]),
        ("split_k.cuh", scheduler(SchedulerId::SPLIT_K)[1]),
        ("stream_k.cuh", scheduler(SchedulerId::STREAM_K)[1]),
        ("access.cuh", warpwright_epilogue::cuda::ACCESS),
        ("visitor.cuh", warpwright_epilogue::cuda::VISITOR),
    ] {
        text = text.replace(part, &format!("// … {name}\n"));
    }
    text
}

#[test]
fn a_large_tile_with_a_fused_epilogue() {
    let plan = plan(&Case { epilogue: fused(), ..PLAIN });
    insta::assert_snapshot!(generated(&lower::source(&plan).unwrap()));
}

#[test]
fn a_transposed_plan_with_unaligned_operands() {
    let plan = plan(&Case {
        a: Dtype::F16,
        d: Dtype::F32,
        tile: Mnk::new(64, 96, 32),
        stages: 2,
        majors: (MajorId::MN, MajorId::MN),
        widths: CopyWidths { a: 2, b: 8, c: 4, d: 4 },
        whole: false,
        transposed: true,
        scheduler: SchedulerId::SINGLE_TILE,
        ..PLAIN
    });
    insta::assert_snapshot!(generated(&lower::source(&plan).unwrap()));
}

#[test]
fn the_text_is_a_function_of_the_plan() {
    let plan = plan(&PLAIN);
    assert_eq!(lower::program(&plan).unwrap(), lower::program(&plan).unwrap());
}

#[test]
fn what_has_no_device_code_is_refused() {
    let eight = Case { epilogue: &Node::Convert(Dtype::E2m1, &Node::LoadAcc), ..PLAIN };
    assert_eq!(lower::program(&plan(&eight)).unwrap_err(), LowerError::Element { element: Dtype::E2m1 });
    let grouped = Case { scheduler: SchedulerId::GROUPED, ..PLAIN };
    let error = lower::program(&plan(&grouped)).unwrap_err();
    assert_eq!(error, LowerError::Scheduler { scheduler: SchedulerId::GROUPED });
    let wide = KernelPlan { spec: Spec { d: Dtype::E2m1, ..plan(&PLAIN).spec }, ..plan(&PLAIN) };
    assert!(matches!(lower::program(&wide), Err(LowerError::Mainloop { d: Dtype::E2m1, .. })));
}

/// One case of each: types, majors, widths, orientation, odd K blocks, epilogues.
fn cases() -> Vec<Case> {
    let v = [0f32; 4];
    let tile = Mnk::new;
    let (k, mn) = (MajorId::K, MajorId::MN);
    let width = |ab, d| CopyWidths { a: ab, b: ab, c: d, d };
    vec![
        PLAIN,
        Case { epilogue: fused(), ..PLAIN },
        Case { majors: (mn, mn), whole: false, ..PLAIN },
        Case { a: Dtype::F16, d: Dtype::F32, tile: tile(256, 128, 32), stages: 4, majors: (mn, k), ..PLAIN },
        Case {
            tile: tile(128, 128, 64),
            majors: (k, mn),
            transposed: true,
            epilogue: node(previous() + acc()),
            ..PLAIN
        },
        Case { tile: tile(128, 128, 32), widths: width(8, 8), epilogue: node(acc() * column(&v)), ..PLAIN },
        Case { tile: tile(64, 128, 64), widths: width(4, 2), whole: false, ..PLAIN },
        Case { tile: tile(64, 64, 32), widths: width(2, 2), whole: false, majors: (mn, k), stages: 8, ..PLAIN },
        Case { tile: tile(64, 64, 48), scheduler: SchedulerId::SINGLE_TILE, ..PLAIN },
        Case { tile: tile(32, 32, 16), d: Dtype::F16, epilogue: node(square_plus_one(acc())), ..PLAIN },
        Case { tile: tile(16, 16, 128), stages: 2, majors: (mn, mn), ..PLAIN },
        Case { tile: tile(96, 192, 64), ..PLAIN },
        Case { scheduler: SchedulerId::SPLIT_K, epilogue: fused(), ..PLAIN },
        Case { scheduler: SchedulerId::SPLIT_K_SERIAL, tile: tile(64, 64, 48), ..PLAIN },
        Case { scheduler: SchedulerId::STREAM_K, ..PLAIN },
    ]
}

/// Each family of types and instructions: every way in which their operands are fetched.
fn families() -> Vec<Case> {
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
        Case { majors: (mn, k), widths: width(4, 4), whole: false, transposed: true, ..tf32 },
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
        Case { arch: ArchId::SM90, ..f64 },
        simt,
        Case { majors: (mn, mn), ..simt },
        Case { majors: (mn, k), tile: tile(48, 48, 8), widths: width(4, 4), whole: false, transposed: true, ..simt },
        turing,
        Case { tile: tile(128, 64, 32), majors: (mn, mn), ..turing },
        Case { tile: tile(64, 64, 64), widths: width(2, 2), whole: false, d: Bf16, ..turing },
        bytes,
        Case { majors: (mn, k), tile: tile(64, 128, 64), widths: width(4, 4), whole: false, b: Some(U8), ..bytes },
        Case { a: F32, acc: F32, tile: tile(128, 128, 8), majors: (k, mn), ..turing },
        Case { a: F64, acc: F64, d: F64, tile: tile(64, 64, 8), majors: (mn, k), ..turing },
    ]
}

fn half() -> &'static Node {
    node(0.5 * acc())
}

/// Says what is missing, or fails where nothing may be.
fn skipped(missing: &str) {
    assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
    eprintln!("SKIPPED: {missing}");
}

macro_rules! need_nvrtc {
    () => {
        if let Err(missing) = nvrtc::version() {
            skipped(&missing.to_string());
            return;
        }
    };
}

/// Machine code by opcode, up to the first dot.
fn opcodes(cubin: &[u8]) -> Option<BTreeMap<String, usize>> {
    let nvdisasm = PathBuf::from(std::env::var_os("WARPWRIGHT_NVDISASM")?);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("kernel.cubin");
    std::fs::write(&file, cubin).expect("the cubin is written");
    let output = Command::new(nvdisasm).arg("-c").arg(&file).output().expect("nvdisasm runs");
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // `/*0a30*/ @!P0 LDGSTS.E.BYPASS.128 [R1], … ;`
        let Some((address, rest)) = line.trim().strip_prefix("/*").and_then(|l| l.split_once("*/")) else { continue };
        if !address.chars().all(|c| c.is_ascii_hexdigit()) {
            continue;
        }
        let opcode = rest.split_whitespace().find(|w| !w.starts_with('@')).unwrap_or_default();
        *counts.entry(opcode.trim_end_matches(';').to_owned()).or_insert(0) += 1;
    }
    Some(counts)
}

/// Counts of machine code by the beginnings of opcodes.
struct Code(BTreeMap<String, usize>);

impl Code {
    fn count(&self, prefix: &str) -> usize {
        self.0.iter().filter(|(op, _)| op.starts_with(prefix)).map(|(_, n)| n).sum()
    }
}

/// Compiles a case's kernel; none if nvdisasm is missing.
fn code(case: &Case, target: &str) -> Option<Code> {
    let plan = plan(case);
    let source = lower::source(&plan).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    let target: Target = target.parse().unwrap();
    let compiled = nvrtc::compile(&source, &plan.name(), target, &[]).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    let advisories: Vec<_> = nvrtc::advisories(&compiled.log).collect();
    assert!(advisories.is_empty(), "{case:?}: {advisories:?}");
    let counts = opcodes(&compiled.cubin);
    if counts.is_none() {
        skipped("WARPWRIGHT_NVDISASM names no nvdisasm");
    }
    counts.map(Code)
}

/// What a target's machine code multiplies with, how many of them an mma.sync is, and the mma.sync of a 16 x 8 x 32-byte step.
fn multiplies(case: &Case, target: &str) -> (&'static str, usize) {
    let turing = case.arch == ArchId::SM75;
    match (case.a, target) {
        (Dtype::F32, _) => ("FFMA", 0),
        (Dtype::F64, _) if turing => ("DFMA", 0),
        (Dtype::F64, _) if case.arch == ArchId::SM90 => ("DMMA.16x8x4", 1),
        (Dtype::F64, "sm_90a") => ("DMMA.8x8x4", 2),
        (Dtype::F64, _) => ("DMMA.884", 2),
        (Dtype::F16 | Dtype::Bf16, _) if turing => ("HMMA.1688", 2),
        (Dtype::F16 | Dtype::Bf16, _) => ("HMMA.16816", 1),
        (Dtype::Tf32, _) => ("HMMA.1688.F32.TF32", 1),
        (Dtype::E4m3 | Dtype::E5m2, "sm_89") => ("QMMA.16832", 1),
        (Dtype::E4m3 | Dtype::E5m2, _) => ("HMMA.16816", 2),
        _ if turing => ("IMMA.8816", 4),
        _ => ("IMMA.16832", 1),
    }
}

fn check(case: &Case, target: &str) {
    let Some(code) = code(case, target) else { return };
    let plan = plan(case);
    let (warps_m, warps_n) = plan.resources.warps;
    let (warp_m, warp_n) = (case.tile.m / warps_m, case.tile.n / warps_n);
    let (opcode, each) = multiplies(case, target);
    let simt = each == 0;
    let blocks = if simt { case.tile.k } else { case.tile.k * case.a.bits() / 256 };
    // The K loop is not unrolled: one tile's instructions.
    let due = if simt { warp_m * warp_n / 32 } else { warp_m / 16 * (warp_n / 8) * each } * blocks;
    assert_eq!(code.count(opcode), due, "{opcode} of {case:?} on {target}");
    // Local memory would be a spill.
    assert_eq!(code.count("LDL") + code.count("STL"), 0, "{case:?} on {target}");
}

#[test]
fn the_machine_code_of_every_family_holds_what_the_arithmetic_says() {
    need_nvrtc!();
    for case in families() {
        let target = match case.arch {
            ArchId::SM75 => "sm_75",
            ArchId::SM80 => "sm_80",
            ArchId::SM89 => "sm_89",
            _ => "sm_90a",
        };
        check(&case, target);
        // Hopper has other instructions for these.
        if target != "sm_90a" && matches!(case.a, Dtype::E4m3 | Dtype::F64) {
            check(&case, "sm_90a");
        }
    }
}

#[test]
fn the_machine_code_holds_what_the_arithmetic_says() {
    need_nvrtc!();
    for (i, case) in cases().into_iter().enumerate() {
        let plan = plan(&case);
        let source = lower::source(&plan).unwrap();
        for target in if i < 2 { &["sm_80", "sm_90a"][..] } else { &["sm_80"] } {
            let target: Target = target.parse().unwrap();
            let compiled =
                nvrtc::compile(&source, &plan.name(), target, &[]).unwrap_or_else(|e| panic!("{case:?}: {e}"));
            let advisories: Vec<_> = nvrtc::advisories(&compiled.log).collect();
            assert!(advisories.is_empty(), "{case:?}: {advisories:?}");
            let Some(counts) = opcodes(&compiled.cubin) else {
                skipped("WARPWRIGHT_NVDISASM names no nvdisasm");
                continue;
            };
            let count =
                |prefix: &str| counts.iter().filter(|(op, _)| op.starts_with(prefix)).map(|(_, n)| n).sum::<usize>();
            let (warps_m, warps_n) = plan.resources.warps;
            let (warp_m, warp_n, blocks) = (case.tile.m / warps_m, case.tile.n / warps_n, case.tile.k / 16);
            // The K loop is not unrolled: one tile's instructions.
            assert_eq!(count("HMMA.16816"), warp_m / 16 * warp_n / 8 * blocks, "{case:?}");
            assert_eq!(count("HMMA"), count("HMMA.16816"), "{case:?}");
            // Fragments are fetched once ahead of the loop if they cross tiles.
            let ahead = usize::from(blocks % 2 == 0);
            assert_eq!(count("LDSM"), (warp_m / 16 + warp_n / 16) * (blocks + ahead), "{case:?}");
            // Copies: once to fill the ring, once in the loop; tails are predicated.
            let copies = |extent: usize, width: usize| match width {
                0..=3 => 0,
                _ => (extent * case.tile.k * 2).div_ceil(width * plan.resources.threads).max(1),
            };
            let both = copies(case.tile.m, case.widths.a) + copies(case.tile.n, case.widths.b);
            assert_eq!(count("LDGSTS"), 2 * both, "{case:?}");
            assert_eq!(count("LDL") + count("STL"), 0, "{case:?}");
        }
    }
}
