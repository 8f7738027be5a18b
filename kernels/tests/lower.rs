//! Plans as CUDA C++: what is generated, whether NVRTC takes it, and what the machine code holds.

#![allow(missing_docs)]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod device;
mod machine_code;

use device::{Case, PLAIN, families, node, plan};
use machine_code::{opcodes, opcodes_of, skipped};
use warpwright_arch::ArchId;
use warpwright_epilogue::{acc, column, epilogue_fn, previous, relu, row, source};
use warpwright_kernels::lower::{self, LowerError};
use warpwright_numeric::{Dtype, bf16};
use warpwright_runtime::nvrtc;
use warpwright_spec::*;

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
        ("straddling.cuh", include_str!("../src/straddling.cuh")),
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
    let scale = KernelPlan { spec: Spec { d: Dtype::E8m0, ..plan(&PLAIN).spec }, ..plan(&PLAIN) };
    assert!(matches!(lower::program(&scale), Err(LowerError::Mainloop { d: Dtype::E8m0, .. })));
    // What is packed is stored, not read back.
    let stored = |dtype| Case { epilogue: intern(Node::Sink(Sink::Matrix(dtype), &Node::LoadAcc)), ..PLAIN };
    assert!(lower::program(&plan(&stored(Dtype::E2m1))).is_ok());
    assert_eq!(lower::program(&plan(&stored(Dtype::E8m0))).unwrap_err(), LowerError::Element { element: Dtype::E8m0 });
    let previous = Case { d: Dtype::E2m1, epilogue: node(previous() + acc()), ..PLAIN };
    assert_eq!(lower::program(&plan(&previous)).unwrap_err(), LowerError::Element { element: Dtype::E2m1 });
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

macro_rules! need_nvrtc {
    () => {
        if let Err(missing) = nvrtc::version() {
            skipped(&missing.to_string());
            return;
        }
    };
}

/// Machine code by the beginnings of opcodes.
struct Code(Vec<String>);

impl Code {
    fn count(&self, prefix: &str) -> usize {
        self.0.iter().filter(|opcode| opcode.starts_with(prefix)).count()
    }
}

/// Compiles a case's kernel; none if nvdisasm is missing.
fn code(case: &Case, target: &str) -> Option<Code> {
    opcodes(case, &plan(case), target).map(Code)
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

/// One file, two tags: an instruction half as deep, and no asynchronous copy. A smaller block has fewer warps that each do the
/// same.
#[test]
fn a_tag_changes_the_instruction_the_fill_and_the_shared_memory() {
    need_nvrtc!();
    let block =
        |arch, n, stages| Case { arch, a: Dtype::F16, d: Dtype::F32, tile: Mnk::new(128, n, 32), stages, ..PLAIN };
    for (case, target, shape, each, stage) in [
        (block(ArchId::SM75, 128, 2), "sm_75", "HMMA.1688", 128, 16),
        (block(ArchId::SM80, 128, 3), "sm_80", "HMMA.16816", 64, 16),
        (block(ArchId::SM75, 64, 2), "sm_75", "HMMA.1688", 128, 12),
    ] {
        assert_eq!(plan(&case).resources.stage_bytes, stage << 10, "{case:?}");
        let Some(code) = code(&case, target) else { return };
        assert_eq!((code.count("HMMA"), code.count(shape)), (each, each), "{case:?}");
        assert_eq!(code.count("LDGSTS") > 0, target == "sm_80", "{case:?}");
        assert!(code.count("LDSM") > 0, "{case:?}");
    }
}

/// Of the launch that copies operands: two aligned vectors for each that is stored, but at an operand's end.
#[test]
fn operands_are_repacked_by_whole_vectors() {
    need_nvrtc!();
    let Some(codes) = opcodes_of(&"repack", &lower::repack_source(), "ww_repack", "sm_90a") else { return };
    let code = Code(codes);
    assert_eq!((code.count("LDG.E.128"), code.count("STG.E.128"), code.count("STG")), (8, 4, 4));
    assert_eq!((code.count("LDG.E.U8"), code.count("LDG")), (64, 72));
    assert_eq!(code.count("LDL") + code.count("STL"), 0);
}

#[test]
fn the_machine_code_holds_what_the_arithmetic_says() {
    need_nvrtc!();
    for (i, case) in cases().into_iter().enumerate() {
        let plan = plan(&case);
        for target in if i < 2 { &["sm_80", "sm_90a"][..] } else { &["sm_80"] } {
            let Some(code) = code(&case, target) else { continue };
            let count = |prefix: &str| code.count(prefix);
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
