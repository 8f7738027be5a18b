//! The machine code of dot products: wide streaming loads, as many products as there are elements, nothing in local memory.

#![allow(missing_docs)]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod device;
mod machine_code;

use device::{Case, PLAIN, plan};
use machine_code::{opcodes, skipped};
use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;
use warpwright_runtime::nvrtc;
use warpwright_spec::*;

fn cases() -> Vec<Case> {
    use Dtype::*;
    let (k, mn) = (MajorId::K, MajorId::MN);
    let tile = Mnk::new;
    let width = |ab, d| CopyWidths { a: ab, b: ab, c: d, d };
    let bf16 = Case {
        arch: ArchId::SM90,
        schedule: ScheduleId::GEMV,
        scheduler: SchedulerId::PERSISTENT,
        tile: tile(8, 1, 1024),
        stages: 2,
        ..PLAIN
    };
    let of = |a, acc, d, depth| Case { a, acc, d, tile: tile(8, 1, depth), ..bf16 };
    vec![
        bf16,
        Case { transposed: true, stages: 1, ..bf16 },
        Case { stages: 4, tile: tile(4, 1, 1024), ..bf16 },
        Case { majors: (mn, k), tile: tile(64, 1, 128), ..bf16 },
        Case { tile: tile(4, 4, 1024), scheduler: SchedulerId::SPLIT_K, ..bf16 },
        Case { tile: tile(8, 8, 512), ..bf16 },
        Case { majors: (mn, mn), tile: tile(64, 8, 64), ..bf16 },
        Case { widths: width(2, 2), whole: false, ..bf16 },
        Case { widths: width(8, 2), whole: false, majors: (k, mn), ..bf16 },
        of(F32, F32, F32, 512),
        of(F64, F64, F64, 256),
        Case { majors: (mn, k), tile: tile(32, 2, 32), ..of(F64, F64, F64, 256) },
        Case { arch: ArchId::SM75, ..of(F16, F32, F16, 1024) },
        Case { arch: ArchId::SM80, ..of(Tf32, F32, F32, 512) },
        of(I8, I32, I32, 2048),
        Case { b: Some(U8), tile: tile(16, 8, 512), ..of(I8, I32, I32, 2048) },
        Case { majors: (mn, k), tile: tile(64, 8, 128), ..of(I8, I32, I32, 2048) },
        Case { widths: width(1, 1), whole: false, ..of(U8, I32, I32, 2048) },
        Case { arch: ArchId::SM89, ..of(E4m3, F32, Bf16, 2048) },
        Case { b: Some(E5m2), tile: tile(16, 8, 512), ..of(E4m3, F32, Bf16, 2048) },
        Case { loader: Some(LoaderId::BULK_ROWS), stages: 6, ..bf16 },
        Case { loader: Some(LoaderId::BULK_ROWS), stages: 6, tile: tile(8, 8, 512), ..bf16 },
        Case { loader: Some(LoaderId::BULK_ROWS), stages: 6, ..of(E4m3, F32, Bf16, 2048) },
    ]
}

#[test]
fn the_machine_code_holds_what_the_arithmetic_says() {
    if let Err(missing) = nvrtc::version() {
        return skipped(&missing.to_string());
    }
    for case in cases() {
        let plan = plan(&case);
        let target = match case.arch {
            ArchId::SM75 => "sm_75",
            ArchId::SM80 => "sm_80",
            ArchId::SM89 => "sm_89",
            _ => "sm_90a",
        };
        let Some(codes) = opcodes(&case, &plan, target) else { return };
        let count = |prefix: &str| codes.iter().filter(|code| code.starts_with(prefix)).count();
        if case.loader.is_some() {
            // Four lines, with and without bounds; the rows are copied in one place.
            assert_eq!((count("LDS.128"), count("UBLKCP"), count("LDG.E.NA")), (8, 1, 0), "{case:?}");
            assert_eq!(count("FFMA"), 512 / case.a.bits() * case.tile.n, "{case:?}");
            assert_eq!(count("LDL") + count("STL"), 0, "{case:?}");
            continue;
        }
        // Of each step that may be in flight, and of those that are asked for ahead, with and without bounds.
        let steps = 2 * case.stages - 1;
        let access = case.widths.a;
        let (opcode, each) = match access {
            16 => ("LDG.E.NA.128.CONSTANT", 64 / 16),
            8 => ("LDG.E.NA.64.CONSTANT", 64 / 8),
            // Bounds go element by element.
            _ => ("LDG.E.NA.U", 0),
        };
        if each > 0 {
            assert_eq!(count(opcode), 2 * each * steps, "{opcode} of {case:?}");
        } else {
            assert!(count(opcode) >= 64 / access * steps, "{opcode} of {case:?}");
        }
        // Of a step, as often as the loop over steps is unrolled. Bytes by fours, if they lie along K.
        let products = 512 / case.a.bits() * case.tile.n * case.stages;
        match (case.acc, case.majors.0) {
            (Dtype::F32, _) => assert_eq!(count("FFMA"), products, "{case:?}"),
            (Dtype::F64, _) => assert_eq!(count("DFMA"), products, "{case:?}"),
            (_, MajorId::K) if access >= 4 => assert_eq!(count("IDP.4A"), products / 4, "{case:?}"),
            _ => assert!(count("IMAD") + 4 * count("IDP.4A") >= products, "{case:?}"),
        }
        assert_eq!(count("LDL") + count("STL"), 0, "{case:?}");
    }
}
