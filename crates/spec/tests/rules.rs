//! The words of each rule, numbers included: they are what a user sees, from rustc and at run time alike.

use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;
use warpwright_spec::*;

fn base() -> GemmDesc {
    GemmDesc::new(ArchId::SM90, Dtype::F16, Dtype::F32)
}

fn refusal(desc: GemmDesc) -> String {
    desc.spec().expect_err("this desc is illegal").to_string()
}

fn tile(m: usize, n: usize, k: usize) -> Option<Mnk> {
    Some(Mnk { m, n, k })
}

#[test]
fn numbers_are_named() {
    let sm80 = GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32);
    let fp8 = GemmDesc::new(ArchId::SM90, Dtype::E4m3, Dtype::F32);
    let cases = [
        (
            GemmDesc { tile: tile(96, 128, 64), ..base() },
            "tile M = 96 is not a multiple of 64 up to 256 (the rows of one wgmma)",
        ),
        (
            GemmDesc { tile: tile(64, 96, 64), swap_ab: Some(true), ..base() },
            "tile N = 96 is not a multiple of 64 up to 256 (the rows of one wgmma)",
        ),
        (
            GemmDesc { tile: tile(128, 12, 64), ..base() },
            "tile N = 12 is not a multiple of 8 up to 256 (the columns of one wgmma)",
        ),
        (
            GemmDesc { tile: tile(128, 128, 24), ..base() },
            "tile K = 24 is not a multiple of 16 up to 512 (the depth of one instruction, 32 bytes)",
        ),
        (
            GemmDesc { cluster: tile(3, 1, 1), ..base() },
            "cluster 3x1x1: extents must be powers of two, and at most 16 blocks may form a cluster; 2x1, 1x2 and 2x2 are usual",
        ),
        (
            GemmDesc { cluster: tile(1, 1, 2), schedule: ScheduleId::PINGPONG, ..base() },
            "cluster 1x1x2: its blocks would add up parts of K, which those of WarpSpecialized and Cooperative kernels of wgmma do, not of Pingpong; use cluster K = 1",
        ),
        (GemmDesc { cluster: tile(2, 1, 1), ..sm80 }, "cluster 2x1x1: this architecture has no clusters; use 1x1x1"),
        (
            GemmDesc { arch: ArchId::SM100, cluster: tile(1, 2, 1), schedule: ScheduleId::TWO_SM, ..base() },
            "TwoSm pairs two blocks along M, so cluster M must be even, but it is 1; use Cluster<2, 1>",
        ),
        (
            GemmDesc { tile: tile(256, 128, 64), schedule: ScheduleId::PINGPONG, ..base() },
            "Pingpong gives each warp group its own tile of at most 128 rows, but tile M = 256; lower M or use Cooperative",
        ),
        (
            GemmDesc { tile: tile(64, 128, 64), schedule: ScheduleId::COOPERATIVE, ..base() },
            "Cooperative splits a tile's rows over two warp groups of 64, but tile M = 64; use 128 or more, or Pingpong",
        ),
        (
            GemmDesc { stages: Some(1), schedule: ScheduleId::WARP_SPECIALIZED, ..base() },
            "WarpSpecialized needs 2 to 16 stages to overlap loading with arithmetic, but has 1",
        ),
        (
            GemmDesc { stages: Some(3), ..GemmDesc::new(ArchId::SM75, Dtype::F16, Dtype::F32) },
            "Auto on Sm75 has exactly 2 stages, one in registers and one in shared memory, but 3 were asked for",
        ),
        (
            GemmDesc { tile: tile(256, 256, 32), ..sm80 },
            "a 256x256x32 tile has 65536 accumulators, but at most 32768 fit the registers of a block; 128x256 and 256x128 are the largest",
        ),
        (
            GemmDesc { tile: tile(128, 256, 64), stages: Some(4), ..sm80 },
            "4 stages of 48.0 KiB need 192.0 KiB of shared memory, but Sm80 has 163.0 KiB; at most 3 stages fit",
        ),
        (
            GemmDesc { schedule: ScheduleId::COOPERATIVE, ..sm80 },
            "Sm80 has no Cooperative schedule; Auto, the default, picks one that Sm80 has",
        ),
        (
            GemmDesc { schedule: ScheduleId::PINGPONG, scheduler: SchedulerId::STREAM_K, ..base() },
            "the StreamK tile scheduler cannot feed a Pingpong kernel; Pingpong gives each warp group its own whole tile, while StreamK and SplitK cut tiles along K: use Cooperative with them; Pingpong and Cooperative are persistent, so not with SingleTile",
        ),
        (
            GemmDesc::new(ArchId::SM80, Dtype::E4m3, Dtype::F32),
            "Sm80 has no instruction for the Auto schedule that multiplies e4m3 by e4m3 into f32; bf16 and tf32 need Sm80 or later, fp8 Sm89, fp4 and fp6 Sm100; integers accumulate in i32, f64 in f64, all others in f32; plain f32 runs with Auto or Multistage, on tensor cores as tf32",
        ),
        (
            GemmDesc { order_a: Some(Order::Column), ..GemmDesc::new(ArchId::SM90, Dtype::E4m3, Dtype::F32) },
            "Wgmma cannot read A of e4m3 that is MN-major: this type must be K-major, A RowMajor and B ColumnMajor; transpose it once, or store it K-major",
        ),
        (
            GemmDesc { tile: tile(128, 128, 64), ..fp8 },
            "tile K = 64 is not a multiple of 128, the products along K after which sums of fp8 are promoted; use a tile K of 128 or 256, or FastAccum",
        ),
        (
            GemmDesc { tile: tile(128, 176, 128), schedule: ScheduleId::PINGPONG, ..fp8 },
            "a 128x176x128 tile over 1 warp group(s) gives each thread 220 accumulators and sums to promote, but at most 192 fit its registers; lower N, or M",
        ),
        (
            GemmDesc { tile: tile(128, 128, 128), first_from: ReadFrom::Registers, ..fp8 },
            "sums of fp8 that are promoted leave no registers for A: read it FromShared, or use FastAccum",
        ),
        (
            GemmDesc { schedule: ScheduleId::PINGPONG, staging: StagingId::REUSED, ..base() },
            "Pingpong stores one tile while it multiplies another, whose stages a Reused staging of the epilogue would overwrite; use Separate, or Cooperative",
        ),
        (
            GemmDesc { tile: tile(128, 40, 128), ..GemmDesc::new(ArchId::SM90, Dtype::I8, Dtype::I32) },
            "tile N = 40 is not a multiple of 16 up to 256 (the columns of one wgmma)",
        ),
        (
            GemmDesc { b: Dtype::I4, ..base() },
            "the narrow operand B of i4 has no scales: give it Blockwise<G> or ZeroPoints<G>",
        ),
        (
            GemmDesc { schedule: ScheduleId::GEMV, tile: tile(1, 16, 2048), ..base() },
            "a 1x16x2048 tile gives Gemv 1024 threads, each of which reads 64 bytes of the matrix at a time: extents must be powers of two, the shorter of M and N at most 8, the longer 4 to 1024, K at least 4 and 16 bytes, and threads 32 to 512; for this type 8x1x1024 and 1x8x1024 have 256",
        ),
        (
            GemmDesc { schedule: ScheduleId::GEMV, tile: tile(1, 16, 1024), swap_ab: Some(false), ..base() },
            "a 1x16x1024 tile has its longer side along N, which Gemv takes for a matrix' rows, and so must the kernel: A and B must change places; leave swap_ab Auto",
        ),
        (
            GemmDesc { schedule: ScheduleId::GEMV, tile: tile(16, 1, 1024), swap_ab: Some(true), ..base() },
            "a 16x1x1024 tile has its longer side along M, which Gemv takes for a matrix' rows, and so must the kernel: A and B may not change places; leave swap_ab Auto",
        ),
        (
            GemmDesc { schedule: ScheduleId::GEMV, cluster: tile(2, 1, 1), ..base() },
            "cluster 2x1x1: blocks of Gemv kernels work alone; use 1x1x1, or a schedule of warp groups, such as Cooperative",
        ),
        (
            GemmDesc { schedule: ScheduleId::GEMV, stages: Some(5), ..base() },
            "Gemv needs 1 to 4 stages to overlap loading with arithmetic, but has 5",
        ),
        (
            GemmDesc { epilogue: &Node::LoadRow(Dtype::F32), ..base() },
            "this epilogue never uses acc(), so the product would be computed in vain",
        ),
        (
            GemmDesc { epilogue: &Node::Combine(Operator::Plus, &Node::LoadAcc, &Node::Shared(3)), ..base() },
            "shared value 3 is used outside of its share(..)",
        ),
    ];
    for (desc, text) in cases {
        assert_eq!(refusal(desc), text);
    }
}

#[test]
fn eight_stages_do_not_fit() {
    let text = refusal(GemmDesc { tile: tile(128, 256, 64), stages: Some(8), ..base() });
    assert!(text.starts_with("8 stages of 48.0 KiB and "), "{text}");
    assert!(text.ends_with("of shared memory, but Sm90 has 227.0 KiB; at most 4 stages fit"), "{text}");
}

/// Open stages are counted as the two that are needed at least.
#[test]
fn two_stages_do_not_fit() {
    let deep = GemmDesc { a: Dtype::Tf32, b: Dtype::Tf32, tile: tile(192, 64, 128), ..base() };
    assert_eq!(
        refusal(deep),
        "2 stages of 128.0 KiB and 0.8 KiB for the epilogue and barriers need 256.8 KiB of shared memory, but Sm90 has 227.0 KiB; not even 2 stages fit, so use a smaller tile"
    );
    let plain = GemmDesc { tile: tile(192, 64, 128), ..GemmDesc::new(ArchId::SM80, Dtype::F64, Dtype::F64) };
    assert_eq!(
        refusal(plain),
        "2 stages of 256.0 KiB need 512.0 KiB of shared memory, but Sm80 has 163.0 KiB; not even 2 stages fit, so use a smaller tile"
    );
}

/// Four stages of 56 KiB leave 3 KiB, so that an epilogue of f32 is staged in them, named or not, and not beside them.
#[test]
fn an_epilogue_reuses_stages_that_would_not_fit_beside_it() {
    let wide = GemmDesc { d: Dtype::F32, tile: tile(256, 192, 64), stages: Some(4), ..base() };
    let plan = |desc: &GemmDesc| ResourcePlan::of(&desc.spec().unwrap(), desc.tile.unwrap());
    let staging = |desc: &GemmDesc| plan(desc).buffer("staging").unwrap();
    let reused = plan(&wide);
    assert_eq!(reused, plan(&GemmDesc { staging: StagingId::REUSED, ..wide }));
    // 128 rows of 32 columns, twice, over stages of 32 KiB of A.
    assert_eq!((staging(&wide).offset, staging(&wide).bytes, reused.lent_stages()), (0, 32 << 10, 1));
    assert!(reused.buffers.iter().all(|b| b.lifetime != Lifetime::Kernel || b.offset >= 4 * reused.stage_bytes));
    assert_eq!(
        refusal(GemmDesc { staging: StagingId::SEPARATE, ..wide }),
        "4 stages of 56.0 KiB and 32.7 KiB for the epilogue and barriers need 256.7 KiB of shared memory, but Sm90 has 227.0 KiB; at most 3 stages fit"
    );
    let narrower = GemmDesc { stages: Some(3), ..wide };
    assert!(!plan(&narrower).reuses_stages() && plan(&narrower).lent_stages() == 0);
    assert_eq!(staging(&narrower).offset, 3 * plan(&narrower).stage_bytes);
    // What alternates never reuses, and ordinary MMA always does unless it is told otherwise.
    let pingpong = GemmDesc { schedule: ScheduleId::PINGPONG, tile: tile(128, 192, 64), stages: Some(5), ..wide };
    assert_eq!(
        refusal(pingpong),
        "5 stages of 40.0 KiB and 32.7 KiB for the epilogue and barriers need 232.7 KiB of shared memory, but Sm90 has 227.0 KiB; at most 4 stages fit"
    );
    let ordinary = GemmDesc { tile: tile(128, 128, 32), ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) };
    assert!(plan(&ordinary).reuses_stages());
    assert!(!plan(&GemmDesc { staging: StagingId::SEPARATE, ..ordinary }).reuses_stages());
}

/// Filling a slot can break a rule, never mend one: a partial desc that is refused stays refused when more is fixed.
#[test]
fn check_is_monotone() {
    let tiles = [None, tile(64, 64, 64), tile(128, 256, 64), tile(96, 96, 24), tile(256, 256, 64)];
    let (mut legal, mut illegal) = (0, 0);
    for &arch in ArchId::ALL {
        for &schedule in ScheduleId::ALL {
            for &scheduler in SchedulerId::ALL {
                for cluster in [None, tile(1, 1, 1), tile(2, 1, 1), tile(3, 1, 1)] {
                    for stages in [None, Some(1), Some(2), Some(4), Some(9)] {
                        for (t, staging) in tiles.into_iter().flat_map(|t| StagingId::ALL.iter().map(move |&s| (t, s)))
                        {
                            let full = GemmDesc {
                                schedule,
                                staging,
                                scheduler,
                                cluster,
                                stages,
                                tile: t,
                                ..GemmDesc::new(arch, Dtype::Bf16, Dtype::F32)
                            };
                            let emptier = [
                                GemmDesc { tile: None, ..full },
                                GemmDesc { stages: None, ..full },
                                GemmDesc { cluster: None, ..full },
                                GemmDesc { scheduler: SchedulerId::AUTO, ..full },
                                GemmDesc { staging: StagingId::AUTO, ..full },
                            ];
                            match full.spec() {
                                Ok(_) => {
                                    legal += 1;
                                    for e in emptier {
                                        assert!(e.spec().is_ok(), "{full:?} is legal, {e:?} is not: {}", refusal(e));
                                    }
                                }
                                Err(_) => illegal += 1,
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(legal > 200 && illegal > 200, "{legal} legal, {illegal} illegal");
}

#[test]
fn buffers_of_one_lifetime_never_overlap_and_fit() {
    for (m, n, k) in [(128, 256, 32), (128, 128, 64), (64, 64, 64), (16, 128, 64), (256, 128, 32)] {
        for arch in [ArchId::SM80, ArchId::SM90] {
            for schedule in [ScheduleId::MULTISTAGE, ScheduleId::AUTO] {
                let desc = GemmDesc { tile: tile(m, n, k), schedule, ..GemmDesc::new(arch, Dtype::Bf16, Dtype::F32) };
                let Ok(spec) = desc.spec() else { continue };
                let plan = ResourcePlan::of(&spec, Mnk { m, n, k });
                let buffers: Vec<Buffer> = plan.buffers.iter().collect();
                for (i, x) in buffers.iter().enumerate() {
                    assert_eq!(x.offset % x.align, 0);
                    assert!(x.offset + x.bytes <= plan.shared_bytes);
                    for y in &buffers[..i] {
                        let together = x.lifetime == y.lifetime
                            || x.lifetime == Lifetime::Kernel
                            || y.lifetime == Lifetime::Kernel;
                        let apart = x.offset >= y.offset + y.bytes || y.offset >= x.offset + x.bytes;
                        assert!(!together || apart, "{x:?} and {y:?}");
                    }
                }
                assert_eq!(plan.threads, plan.roles.iter().map(|r| 32 * r.warps).sum::<usize>());
            }
        }
    }
}

#[test]
fn warps_share_a_tile_evenly() {
    let spec = GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32).spec().unwrap();
    for ((m, n), warps) in [
        ((128, 256), (2, 4)),
        ((256, 128), (4, 2)),
        ((128, 128), (2, 2)),
        ((64, 64), (2, 2)),
        ((64, 128), (2, 2)),
        ((128, 64), (4, 1)),
        ((64, 256), (1, 4)),
        ((16, 128), (1, 4)),
        ((16, 64), (1, 4)),
        ((32, 64), (2, 2)),
    ] {
        let got = mma_warps(&spec, Mnk { m, n, k: 32 });
        assert_eq!(got.0 * got.1 % 4, 0, "{m}x{n}: {got:?}");
        assert_eq!(got, warps, "{m}x{n}");
    }
}

/// Every architecture has a row for each of its principal products, and the trait side and the value side are one table.
#[test]
fn tables_agree() {
    for &arch in ArchId::ALL {
        for &a in Dtype::ALL {
            for &b in Dtype::ALL {
                for &acc in Dtype::ALL {
                    let Some(auto) = multiplies(arch, InstructionId::AUTO, a, b, acc) else { continue };
                    assert!(loads(arch, auto.instruction).is_some(), "{} {} {}", arch.name(), a.name(), b.name());
                    assert_eq!(acc, default_accumulator(a), "{} accumulates in {}", a.name(), acc.name());
                }
            }
        }
    }
}
