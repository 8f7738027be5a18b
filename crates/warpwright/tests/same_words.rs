//! A rule has one wording: what rustc says of a type (`ui/*.stderr`, pinned by `compile_fail.rs`) is what `GemmDesc` says of the value.

use std::path::Path;
use warpwright::prelude::*;
use warpwright::spec::ReadFrom;
use warpwright::{AccumulationId, ScheduleId, SchedulerId, StagingId, spec};

fn pinned(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui").join(name).with_extension("stderr");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What rules about numbers say in a file, in order.
fn evaluated(name: &str) -> Vec<String> {
    let text = pinned(name);
    text.lines().filter_map(|l| l.strip_prefix("error[E0080]: evaluation panicked: ")).map(str::to_owned).collect()
}

/// What a table says: the error, then the first note that is about it and not about where it is required.
fn unimplemented(name: &str) -> String {
    let text = pinned(name);
    let plain = |line: &str| line.replace("warpwright::", "").replace('`', "");
    let message = text.lines().find_map(|l| l.strip_prefix("error[E0277]: ")).map(plain);
    let note = text.lines().find_map(|l| l.trim_start().strip_prefix("= note: ")).map(plain);
    format!("{}; {}", message.expect("an error of a table"), note.expect("its remedy"))
}

fn refusal(desc: &GemmDesc) -> String {
    desc.spec().map(|_| ()).expect_err(&format!("{desc:?} is legal")).to_string()
}

fn sm90(element: Dtype) -> GemmDesc {
    let acc = if element == Dtype::I8 { Dtype::I32 } else { Dtype::F32 };
    GemmDesc::new(ArchId::SM90, element, acc)
}

fn tile(m: usize, n: usize, k: usize) -> Option<Mnk> {
    Some(Mnk::new(m, n, k))
}

#[test]
fn rules_about_numbers() {
    const COOPERATIVE: ScheduleId = ScheduleId::COOPERATIVE;
    const PINGPONG: ScheduleId = ScheduleId::PINGPONG;
    let (bf16, e4m3) = (sm90(Dtype::Bf16), sm90(Dtype::E4m3));
    // In the order of `ui/sm90_rules.rs`.
    let descs = [
        GemmDesc { tile: tile(96, 128, 64), ..bf16 },
        GemmDesc { tile: tile(128, 264, 64), ..bf16 },
        GemmDesc { tile: tile(128, 40, 128), ..sm90(Dtype::I8) },
        GemmDesc { tile: tile(128, 128, 24), ..bf16 },
        GemmDesc { tile: tile(64, 128, 64), schedule: COOPERATIVE, ..bf16 },
        GemmDesc { tile: tile(128, 256, 64), schedule: PINGPONG, ..bf16 },
        GemmDesc { tile: tile(192, 232, 64), schedule: COOPERATIVE, ..bf16 },
        GemmDesc { cluster: tile(3, 1, 1), ..bf16 },
        GemmDesc { cluster: tile(8, 4, 1), ..bf16 },
        GemmDesc { cluster: tile(2, 1, 1), schedule: ScheduleId::MULTISTAGE, ..bf16 },
        GemmDesc { cluster: tile(1, 1, 2), schedule: PINGPONG, ..bf16 },
        GemmDesc { stages: Some(17), schedule: COOPERATIVE, ..bf16 },
        GemmDesc { tile: tile(128, 256, 64), stages: Some(5), schedule: COOPERATIVE, ..bf16 },
        GemmDesc {
            tile: tile(256, 192, 64),
            stages: Some(4),
            schedule: COOPERATIVE,
            staging: StagingId::SEPARATE,
            d: Dtype::F32,
            ..bf16
        },
        GemmDesc { schedule: PINGPONG, staging: StagingId::REUSED, ..bf16 },
        GemmDesc { accumulation: AccumulationId::FAST_ACCUM, ..bf16 },
        GemmDesc { tile: tile(128, 128, 64), ..e4m3 },
        GemmDesc { tile: tile(128, 128, 128), first_from: ReadFrom::Registers, ..e4m3 },
        GemmDesc { cluster: tile(2, 1, 1), ..GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32) },
        GemmDesc { first_from: ReadFrom::Registers, ..GemmDesc::new(ArchId::SM100, Dtype::Bf16, Dtype::F32) },
    ];
    assert_eq!(evaluated("sm90_rules"), descs.iter().map(refusal).collect::<Vec<_>>());
    let eight = GemmDesc { tile: tile(128, 256, 64), stages: Some(8), ..bf16 };
    let one = GemmDesc { stages: Some(1), schedule: ScheduleId::WARP_SPECIALIZED, ..sm90(Dtype::F16) };
    let rows = GemmDesc { tile: tile(256, 128, 64), schedule: PINGPONG, ..sm90(Dtype::F16) };
    let f16 = sm90(Dtype::F16);
    let pair = GemmDesc {
        cluster: tile(1, 2, 1),
        schedule: ScheduleId::TWO_SM,
        ..GemmDesc::new(ArchId::SM100, Dtype::F16, Dtype::F32)
    };
    let blocks = |scale, block| {
        let scales = spec::BlockScales {
            element: Dtype::E4m3,
            scale,
            block,
            run: spec::BlockRun::AlongRows,
            order: spec::ScaleOrder::Strided,
        };
        spec::intern(spec::Node::Sink(spec::Sink::Quantize(scales), &spec::Node::LoadAcc))
    };
    let (by_128, mx) = (blocks(Dtype::F32, 128), blocks(Dtype::E8m0, 32));
    for (name, desc) in [
        ("too_many_stages", eight),
        ("stages_1", one),
        ("pingpong_256_rows", rows),
        ("tile_96", GemmDesc { tile: tile(96, 128, 64), ..f16 }),
        ("cluster_3x1", GemmDesc { cluster: tile(3, 1, 1), ..f16 }),
        ("two_sm_odd_cluster", pair),
        ("blocks_cut_by_a_tile", GemmDesc { tile: tile(128, 64, 64), d: Dtype::E4m3, epilogue: by_128, ..f16 }),
        ("blocks_of_another_output", GemmDesc { d: Dtype::E5m2, epilogue: mx, ..f16 }),
        ("top_3_softmax", GemmDesc { epilogue: spec::intern(spec::Node::TopKSoftmax(3, &spec::Node::LoadAcc)), ..f16 }),
        ("no_accumulator", GemmDesc { epilogue: spec::intern(spec::Node::LoadRow(Dtype::F32)), ..f16 }),
    ] {
        assert_eq!(evaluated(name), [refusal(&desc)]);
    }
    // A mainloop that is composed by hand of pieces of another architecture has no description but its spec.
    let hand = spec::Spec {
        loader: spec::LoaderId::TMA,
        instruction: spec::InstructionId::WGMMA,
        ..GemmDesc { schedule: ScheduleId::MULTISTAGE, ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) }
            .spec()
            .expect("legal but for its pieces")
    };
    assert_eq!(evaluated("hand_composed"), [spec::check(&hand).expect_err("wgmma on Sm80").to_string()]);
}

#[test]
fn tables_of_types() {
    let sm80 = GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32);
    let foreign = GemmDesc { schedule: ScheduleId::COOPERATIVE, ..sm80 };
    assert_eq!(unimplemented("schedule_of_another_arch"), refusal(&foreign));
    let stream_k = GemmDesc { schedule: ScheduleId::PINGPONG, scheduler: SchedulerId::STREAM_K, ..sm90(Dtype::F16) };
    assert_eq!(unimplemented("pingpong_with_stream_k"), refusal(&stream_k));
    let single =
        GemmDesc { schedule: ScheduleId::COOPERATIVE, scheduler: SchedulerId::SINGLE_TILE, ..sm90(Dtype::Bf16) };
    assert_eq!(unimplemented("cooperative_with_single_tile"), refusal(&single));
    // The value knows the schedule that the trait does not, and which operand it is.
    let type_of = GemmDesc::new(ArchId::SM80, Dtype::E4m3, Dtype::F32);
    assert_eq!(unimplemented("type_of_another_arch"), refusal(&type_of).replace("the Auto schedule", "this schedule"));
    let major = GemmDesc { order_a: Some(spec::Order::Column), ..sm90(Dtype::E4m3) };
    let said =
        refusal(&major).replace("cannot read A of", "cannot read an operand of").replace(" MN-major: ", " MnMajor; ");
    assert_eq!(unimplemented("fp8_mn_major"), said);
}
