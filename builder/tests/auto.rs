//! What `Auto` chooses on devices that are not here.

#![allow(missing_docs)]

use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_builder::auto::{
    Decided, OperandFacts, PlanError, Prediction, alternatives, explain, predict, resolve, resolve_choice,
    resolve_decided,
};
use warpwright_builder::tune::PlanChoice;
use warpwright_kernels::device_code;
use warpwright_numeric::Dtype;
use warpwright_spec::{
    CopyWidths, Function, GemmDesc, HostFn, KernelPlan, Mnk, Node, Order, Problem, Repacks, ScheduleId, SchedulerId,
    Spec, StagingId, Violation,
};

fn split(spec: &Spec, device: &DeviceInfo, problem: &Problem, parts: Option<usize>) -> Result<KernelPlan, PlanError> {
    let decided = Decided { parts, ..Decided::default() };
    resolve_decided(spec, device, problem, &OperandFacts::K_MAJOR, &decided)
}

fn devices() -> [(DeviceInfo, ArchId); 4] {
    [
        (DeviceInfo::t4(), ArchId::SM75),
        (DeviceInfo::a100(), ArchId::SM80),
        (DeviceInfo::h100(), ArchId::SM80),
        (DeviceInfo::h200(), ArchId::SM80),
    ]
}

fn spec(tag: ArchId) -> Spec {
    GemmDesc::new(tag, Dtype::F16, Dtype::F32).spec().unwrap()
}

fn plan(device: &DeviceInfo, tag: ArchId, (m, n, k): (usize, usize, usize)) -> (KernelPlan, Prediction) {
    let problem = Problem::dense(m, n, k);
    let plan = resolve(&spec(tag), device, &problem, &OperandFacts::K_MAJOR).unwrap();
    (plan, predict(&plan, device, &problem))
}

#[test]
fn large_products_take_large_tiles_and_do_not_split() {
    for (device, tag) in devices() {
        for size in [4096, 8192] {
            let (plan, prediction) = plan(&device, tag, (size, size, size));
            let of = format!("{size} on {}: {}", device.name, plan.tile);
            let whole_waves = [SchedulerId::PERSISTENT, SchedulerId::STREAM_K].contains(&plan.spec.scheduler);
            assert!(whole_waves && plan.splits == 1, "{of}: {}", plan.spec.scheduler);
            assert!(plan.tile.m * plan.tile.n >= 128 * 128, "{of}");
            // Arithmetic is what they wait for.
            assert!(prediction.compute > 2.0 * prediction.memory, "{of}: {prediction:?}");
        }
    }
}

#[test]
fn long_k_is_split_until_the_device_is_full() {
    for (device, tag) in devices() {
        for problem in [(256, 256, 65536), (100, 100, 100_000), (64, 64, 16384)] {
            let (plan, prediction) = plan(&device, tag, problem);
            let of = format!("{problem:?} on {}: {} x {}", device.name, plan.tile, plan.splits);
            assert_eq!(plan.spec.scheduler, SchedulerId::SPLIT_K, "{of}");
            assert!(prediction.pieces * 2 >= device.sms as usize, "{of}");
            assert_eq!(prediction.waves, 1, "{of}");
            let whole = split(&spec(tag), &device, &Problem::dense(problem.0, problem.1, problem.2), Some(1));
            let whole = predict(&whole.unwrap(), &device, &Problem::dense(problem.0, problem.1, problem.2));
            assert!(prediction.seconds < 0.5 * whole.seconds, "{of}");
        }
    }
}

#[test]
fn vectors_are_multiplied_by_dot_products() {
    for (device, tag) in devices() {
        for (problem, transposed) in
            [((1, 4096, 4096), true), ((4096, 1, 4096), false), ((1, 28672, 8192), true), ((1, 256, 65536), true)]
        {
            let (plan, prediction) = plan(&device, tag, problem);
            let of = format!("{problem:?} on {}: {} {}", device.name, plan.spec.schedule, plan.tile);
            assert_eq!((plan.spec.schedule, plan.transposed), (ScheduleId::GEMV, transposed), "{of}");
            assert!(plan.tile.n == 1 && plan.tile.m >= 4, "{of}");
            // The matrix is read once, and there is enough to do for every SM.
            let bytes = (problem.0.max(problem.1) * problem.2 * 2) as f64;
            assert!(prediction.memory_bytes < 1.01 * bytes + 1e6, "{of}: {prediction:?}");
            assert!(prediction.pieces * 2 >= device.sms as usize, "{of}: {prediction:?}");
            let text = explain(&plan, &device, &Problem::dense(problem.0, problem.1, problem.2));
            assert!(text.contains("instead of MmaSync, most of whose products would be of zeros"), "{text}");
        }
        for problem in [(16, 4096, 4096), (4096, 4096, 1)] {
            assert_ne!(plan(&device, tag, problem).0.spec.schedule, ScheduleId::GEMV, "{problem:?}");
        }
    }
}

/// A named schedule stays, whatever the problem.
#[test]
fn dot_products_can_be_asked_for_and_refused() {
    let named = GemmDesc { schedule: ScheduleId::GEMV, ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) };
    let (device, problem) = (DeviceInfo::a100(), Problem::dense(64, 64, 64));
    let plan = resolve(&named.spec().unwrap(), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
    assert_eq!((plan.spec.schedule, plan.tile.n), (ScheduleId::GEMV, 8));
    let multistage = GemmDesc { schedule: ScheduleId::MULTISTAGE, ..named };
    let vector = Problem::dense(1, 4096, 4096);
    let plan = resolve(&multistage.spec().unwrap(), &device, &vector, &OperandFacts::K_MAJOR).unwrap();
    assert_eq!(plan.spec.schedule, ScheduleId::MULTISTAGE);
}

#[test]
fn short_k_is_never_split() {
    for (device, tag) in devices() {
        for problem in [(256, 256, 256), (64, 64, 128), (16, 16, 16), (4096, 64, 64)] {
            let (plan, _) = plan(&device, tag, problem);
            assert_eq!(
                (plan.spec.scheduler, plan.splits),
                (SchedulerId::PERSISTENT, 1),
                "{problem:?} on {}",
                device.name
            );
        }
    }
}

#[test]
fn few_rows_take_low_tiles() {
    for (device, tag) in devices() {
        let (plan, prediction) = plan(&device, tag, (16, 8192, 8192));
        assert!(plan.tile.m <= 64, "{}: {}", device.name, plan.tile);
        // Reading B is what it waits for.
        assert!(prediction.memory > 0.4 * (prediction.seconds - prediction.fixed), "{}: {prediction:?}", device.name);
    }
}

#[test]
fn tiles_become_smaller_rather_than_leave_the_device_empty() {
    for (device, tag) in devices() {
        let (plan, prediction) = plan(&device, tag, (1024, 1024, 512));
        let of = format!("{}: {}", device.name, plan.tile);
        assert!(prediction.pieces * 3 >= device.sms as usize, "{of} {prediction:?}");
    }
}

/// Each element has the rate of the device's instruction for it: twice the width, twice the time, at least.
#[test]
fn narrow_elements_are_predicted_to_be_faster() {
    let (device, problem) = (DeviceInfo::l40s(), Problem::dense(8192, 8192, 8192));
    let seconds = |a: Dtype, acc: Dtype| {
        let spec = GemmDesc { tile: Some(Mnk::new(128, 128, 1024 / a.bits())), ..GemmDesc::new(ArchId::SM89, a, acc) };
        let plan = resolve(&spec.spec().unwrap(), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
        predict(&plan, &device, &problem).seconds
    };
    let eight = [seconds(Dtype::I8, Dtype::I32), seconds(Dtype::E4m3, Dtype::F32)];
    let (sixteen, tf32) = (seconds(Dtype::Bf16, Dtype::F32), seconds(Dtype::Tf32, Dtype::F32));
    let (single, double) = (seconds(Dtype::F32, Dtype::F32), seconds(Dtype::F64, Dtype::F64));
    for narrow in eight {
        assert!((1.5..2.5).contains(&(sixteen / narrow)), "{narrow} {sixteen}");
    }
    assert!((1.5..2.5).contains(&(tf32 / sixteen)), "{sixteen} {tf32}");
    assert!(single > 1.5 * tf32 && double > 10.0 * single, "{tf32} {single} {double}");
}

#[test]
fn a_named_split_splits_and_one_part_keeps_auto_from_it() {
    let (device, problem) = (DeviceInfo::a100(), Problem::dense(4096, 4096, 4096));
    for scheduler in [SchedulerId::SPLIT_K, SchedulerId::SPLIT_K_SERIAL] {
        let spec = GemmDesc { scheduler, ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) }.spec().unwrap();
        let resolved = |device, parts| split(&spec, device, &problem, parts).unwrap();
        assert!(resolved(&device, None).splits >= 2);
        assert_eq!(resolved(&device, Some(7)).splits, 7);
        // The CPU's answer is the same whatever it is.
        assert_eq!(resolved(&DeviceInfo::host(), None).splits, 4);
    }
    let long = Problem::dense(256, 256, 65536);
    let plan = split(&spec(ArchId::SM80), &device, &long, Some(1)).unwrap();
    assert_eq!((plan.spec.scheduler, plan.splits), (SchedulerId::PERSISTENT, 1));
}

#[test]
fn what_is_chosen_is_the_best_predicted_of_the_alternatives() {
    for (device, tag) in devices() {
        for (m, n, k) in [(256, 256, 65536), (1536, 1536, 1536), (16, 4096, 4096)] {
            let problem = Problem::dense(m, n, k);
            let all = alternatives(&spec(tag), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
            let chosen = resolve(&spec(tag), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
            assert!(all.contains(&chosen) && all.len() > 10, "{}", all.len());
            let least = all.iter().map(|p| predict(p, &device, &problem).seconds).fold(f64::INFINITY, f64::min);
            assert!(predict(&chosen, &device, &problem).seconds <= 1.05 * least);
            // Cutting K into more parts than the device holds at once is not considered.
            assert!(all.iter().all(|p| predict(p, &device, &problem).pieces <= 4 * 32 * device.sms as usize));
        }
    }
}

#[test]
fn explanations_show_every_term() {
    let (device, problem) = (DeviceInfo::h200(), Problem::dense(256, 256, 65536));
    let plan = resolve(&spec(ArchId::SM80), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
    let text = explain(&plan, &device, &problem);
    for term in
        ["waves", " parts on ", "predicted", "us fixed", "us pipe", "us epilogue", "us split", "L2->SM", "HBM", "MB"]
    {
        assert!(text.contains(term), "`{term}` is not in\n{text}");
    }
    let whole = split(&spec(ArchId::SM80), &device, &problem, Some(1)).unwrap();
    assert!(!explain(&whole, &device, &problem).contains("split"));
}

#[test]
fn problems_of_every_size_are_planned_or_refused() {
    let newest = [(DeviceInfo::h200(), ArchId::SM90), (DeviceInfo::b200(), ArchId::SM100)];
    for (device, tag) in devices().into_iter().chain(newest) {
        let sizes = [0, 1, 1 << 40, usize::MAX];
        for (m, n) in sizes.into_iter().flat_map(|m| sizes.map(|n| (m, n))) {
            for (k, batch, splits) in
                [(64, 1, None), (0, 3, None), (usize::MAX, usize::MAX, None), (64, 1, Some(usize::MAX)), (64, 0, None)]
            {
                let problem = Problem::batched(m, n, k, batch);
                match split(&spec(tag), &device, &problem, splits) {
                    Ok(plan) => {
                        let prediction = predict(&plan, &device, &problem);
                        let of = format!("{batch} of {m} x {n} x {k} on {}: {prediction:?}", device.name);
                        assert!(prediction.seconds >= prediction.fixed, "{of}");
                        assert!(!prediction.seconds.is_nan() && !prediction.memory.is_nan(), "{of}");
                        assert!(prediction.tiles > 0 || prediction.memory == 0.0, "{of}");
                        assert!(explain(&plan, &device, &problem).contains("predicted"), "{of}");
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
}

/// A kernel of the transposed problem has its tile's rows where the user has columns: 64x128 for them is 128x64 for two warp groups.
#[test]
fn tiles_of_column_major_outputs_are_judged_as_the_kernel_has_them() {
    let (device, problem) = (DeviceInfo::h200(), Problem::dense(1024, 1024, 1024));
    let facts = OperandFacts { order_c: Order::Column, order_d: Order::Column, ..OperandFacts::K_MAJOR };
    let spec = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32).spec().unwrap();
    let mut all = alternatives(&spec, &device, &problem, &facts).unwrap();
    all.retain(|plan| plan.transposed);
    let cooperative = |tile| move |p: &&KernelPlan| p.spec.schedule == ScheduleId::COOPERATIVE && p.tile == tile;
    assert!(all.iter().any(|plan| cooperative(Mnk::new(128, 64, 64))(&plan)));
    assert_eq!(all.iter().find(cooperative(Mnk::new(64, 128, 64))), None);
    // As many as of row-major D that do not change places, whose kernels they are.
    let plain = alternatives(&spec, &device, &problem, &OperandFacts::K_MAJOR).unwrap();
    assert_eq!(all.len(), plain.iter().filter(|plan| !plan.transposed).count());
}

/// A tile that is legal by its own numbers has a plan however D lies.
#[test]
fn named_tiles_of_column_major_outputs_are_planned() {
    let (device, problem) = (DeviceInfo::h200(), Problem::dense(1024, 1024, 1024));
    let facts = OperandFacts { order_c: Order::Column, order_d: Order::Column, ..OperandFacts::K_MAJOR };
    let named = |schedule, tile| {
        let desc = GemmDesc { tile: Some(tile), schedule, ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32) };
        resolve(&desc.spec().unwrap(), &device, &problem, &facts)
    };
    let (auto, cooperative) = (ScheduleId::AUTO, ScheduleId::COOPERATIVE);
    for (schedule, (m, n), transposed) in [
        // 120 are no rows of an instruction, and 64 none of two warp groups.
        (auto, (128, 120), false),
        (cooperative, (128, 120), false),
        (cooperative, (192, 64), false),
        (auto, (192, 64), true),
        (cooperative, (128, 256), true),
        (ScheduleId::PINGPONG, (64, 64), true),
        (ScheduleId::PINGPONG, (128, 8), false),
    ] {
        let plan = named(schedule, Mnk::new(m, n, 64)).unwrap_or_else(|e| panic!("{schedule} {m} x {n}: {e}"));
        let tile = Mnk::new(m, n, 64);
        assert_eq!(plan.transposed, transposed, "{schedule} {m} x {n}");
        assert_eq!(plan.tile, if transposed { tile.swapped() } else { tile });
    }
}

/// Of schedules that nobody named one is taken that can have parts of K, whichever would be the fastest without.
#[test]
fn parts_that_are_asked_for_are_of_schedules_that_have_them() {
    for dtype in [Dtype::F16, Dtype::I8, Dtype::E4m3] {
        let acc = if dtype == Dtype::I8 { Dtype::I32 } else { Dtype::F32 };
        let desc = GemmDesc::new(ArchId::SM90, dtype, acc).spec().unwrap();
        for (m, n, k) in [(194, 256, 256), (128, 128, 64), (256, 256, 1024), (320, 128, 16), (512, 512, 8192)] {
            for parts in [2, 4] {
                let plan = split(&desc, &DeviceInfo::h200(), &Problem::dense(m, n, k), Some(parts)).unwrap();
                let SchedulerId::SPLIT_K = plan.spec.scheduler else { panic!("{m} x {n} x {k}: {:?}", plan.spec) };
                let written = device_code::scheduler(plan.spec.scheduler, plan.spec.schedule);
                let parts = parts.min(k.div_ceil(plan.tile.k));
                assert!(written && plan.splits == parts, "{m} x {n} x {k} in {parts}: {}", plan.spec.schedule);
            }
        }
    }
}

#[test]
fn parts_are_of_what_splits_and_no_more_than_k_has_tiles() {
    let device = DeviceInfo::h200();
    let planned = |desc: GemmDesc, k: usize, parts: usize| {
        split(&desc.spec().unwrap(), &device, &Problem::dense(256, 256, k), Some(parts))
    };
    let bf16 = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    let pingpong = GemmDesc { schedule: ScheduleId::PINGPONG, ..bf16 };
    let refused = GemmDesc { scheduler: SchedulerId::SPLIT_K, ..pingpong }.spec().unwrap_err();
    assert_eq!(planned(pingpong, 4096, 3), Err(PlanError::Rule(refused)));
    assert!(planned(pingpong, 4096, 1).is_ok());
    for scheduler in [SchedulerId::PERSISTENT, SchedulerId::STREAM_K] {
        let named = GemmDesc { scheduler, ..bf16 };
        let text = planned(named, 4096, 3).unwrap_err().to_string();
        assert_eq!(
            text,
            format!(
                "K is to be cut into 3 parts, but the {scheduler} tile scheduler does not take a number of them: name SplitK or SplitKSerial, leave the scheduler `Auto`, or leave out `.splits(3)`"
            )
        );
        assert_eq!(planned(named, 4096, 1).map(|plan| plan.spec.scheduler), Ok(scheduler));
    }
    // Clusters whose blocks have parts of K are parts too.
    for (k, parts) in [(4096, 1), (65536, 1), (65536, 3)] {
        let problem = Problem::dense(64, 64, k);
        let open = split(&bf16.spec().unwrap(), &device, &problem, Some(parts)).unwrap();
        assert_eq!((open.splits, open.cluster.k), (parts, 1), "K = {k}");
    }
    for scheduler in [SchedulerId::AUTO, SchedulerId::SPLIT_K, SchedulerId::SPLIT_K_SERIAL] {
        for k in [0, 40, 150, 4096] {
            let problem = Problem::dense(256, 256, k);
            let plan = planned(GemmDesc { scheduler, ..bf16 }, k, 50).unwrap();
            let parts = k.div_ceil(plan.tile.k).clamp(1, 50);
            assert_eq!(plan.splits, parts, "{scheduler}, K = {k}");
            let text = explain(&plan, &device, &problem);
            assert!(parts == 1 || text.contains(&format!(" in {parts} parts on ")), "{text}");
        }
    }
}

/// Lines may begin anywhere, whatever the element: the CPU reads them all.
#[test]
fn the_host_has_a_plan_of_what_every_tag_multiplies() {
    let device = DeviceInfo::host();
    let mut planned = 0;
    for &tag in ArchId::ALL {
        for &dtype in Dtype::ALL {
            for acc in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::I32] {
                let Ok(spec) = GemmDesc::new(tag, dtype, acc).spec() else { continue };
                let narrowest = (dtype.bits() / 8).max(1);
                for (a, b) in [(16, 16), (narrowest, 16), (16, narrowest), (narrowest, narrowest)] {
                    for problem in
                        [Problem::dense(65, 33, 63), Problem::dense(1, 1, 0), Problem::dense(4096, 4096, 4096)]
                    {
                        let plan = resolve(&spec, &device, &problem, &narrow(a, b));
                        assert!(plan.is_ok(), "{dtype} into {acc} on {tag}, {a} and {b} bytes: {}", plan.unwrap_err());
                        planned += 1;
                    }
                }
            }
        }
    }
    assert!(planned > 500, "{planned}");
}

#[test]
fn a_device_with_little_shared_memory_says_so() {
    let spec = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32).spec().unwrap();
    for kib in [8, 16, 48, 64, 80] {
        let device = DeviceInfo { smem_optin: kib << 10, ..DeviceInfo::h200() };
        for problem in [Problem::dense(4096, 4096, 4096), Problem::dense(40, 4096, 4096)] {
            match resolve(&spec, &device, &problem, &OperandFacts::K_MAJOR) {
                Ok(plan) => assert!(plan.resources.shared_bytes <= kib as usize * 1024, "{kib} KiB"),
                Err(PlanError::Device { source: Violation::SharedMemory { limit, .. }, .. }) => {
                    assert_eq!(limit, kib as usize * 1024);
                }
                Err(other) => panic!("{kib} KiB, {problem:?}: {other}"),
            }
        }
    }
}

/// acc + source(c).
static SUM: Node = Node::Apply(
    Function::exact("add", "x + y", HostFn::Binary(|x, y| x + y, |x, y| x + y)),
    [Some(&Node::LoadAcc), Some(&Node::LoadSource(Dtype::Bf16)), None],
);

/// Each measured both ways on an H200, and the faster taken.
#[test]
fn blocks_of_one_tile_stage_in_their_stages_where_that_makes_room_for_another() {
    let bf16 = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    let planned = |desc: &GemmDesc, (m, n, k): (usize, usize, usize)| {
        let plan =
            resolve(&desc.spec().unwrap(), &DeviceInfo::h200(), &Problem::dense(m, n, k), &OperandFacts::K_MAJOR);
        plan.map(|plan| (plan.tile, plan.resources.stages, plan.spec.staging)).unwrap()
    };
    let (reused, separate) = (StagingId::REUSED, StagingId::SEPARATE);
    for (problem, stages, staging) in [
        ((512, 6144, 4096), 5, reused),
        ((512, 4096, 4096), 7, reused),
        ((1024, 1280, 8192), 6, reused),
        // Nothing is gained.
        ((1024, 4096, 4096), 4, separate),
        // Several tiles a block.
        ((4096, 4096, 4096), 4, separate),
        // Device memory decides.
        ((96, 11008, 4096), 7, separate),
    ] {
        let (tile, given, at) = planned(&bf16, problem);
        assert_eq!((given, at), (stages, staging), "{problem:?}: {tile}");
    }
    let tile = Some(Mnk::new(128, 192, 64));
    let wide = GemmDesc { tile, schedule: ScheduleId::COOPERATIVE, ..bf16 };
    assert_eq!(planned(&wide, (512, 6144, 1024)).2, reused);
    assert_eq!(planned(&wide, (512, 6144, 256)).2, separate, "few K tiles");
    for named in [
        GemmDesc { stages: Some(4), ..bf16 },
        GemmDesc { staging: separate, ..bf16 },
        GemmDesc { schedule: ScheduleId::PINGPONG, ..bf16 },
        GemmDesc { epilogue: &SUM, ..bf16 },
    ] {
        assert_eq!(planned(&named, (512, 6144, 4096)).2, separate, "{named:?}");
    }
}

/// Rows of which there are few are the instruction's columns, of which it may have eight, whichever way D lies.
#[test]
fn few_rows_become_columns() {
    let device = DeviceInfo::h200();
    let spec = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32).spec().unwrap();
    for order in [Order::Row, Order::Column] {
        let facts = OperandFacts { order_c: order, order_d: order, ..OperandFacts::K_MAJOR };
        for (m, n) in [(9, 4096), (16, 8192), (8192, 16)] {
            let plan = resolve(&spec, &device, &Problem::dense(m, n, 4096), &facts).unwrap();
            assert_eq!(plan.transposed, m < n, "{m} x {n}: {plan:?}");
            assert_eq!(plan.tile.n, m.min(n).next_multiple_of(8), "{m} x {n}");
            assert_eq!(plan.along_rows(), (order == Order::Row) == plan.transposed);
        }
    }
    let named = GemmDesc { swap_ab: Some(false), ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32) };
    let plan =
        resolve(&named.spec().unwrap(), &device, &Problem::dense(1, 4096, 4096), &OperandFacts::K_MAJOR).unwrap();
    assert!(!plan.transposed);
}

/// K-major operands whose addresses or strides are multiples of so many bytes.
fn narrow(a: usize, b: usize) -> OperandFacts {
    OperandFacts { widths: CopyWidths { a, b, c: 16, d: 16 }, ..OperandFacts::K_MAJOR }
}

#[test]
fn lines_of_d_that_begin_anywhere_are_stored_in_long_parts() {
    let desc = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    for d in [2, 4] {
        let facts = OperandFacts { widths: CopyWidths { d, ..OperandFacts::K_MAJOR.widths }, ..OperandFacts::K_MAJOR };
        for (m, n, k) in [(2048, 50257, 768), (2047, 2047, 2047), (1024, 4097, 4096)] {
            let problem = Problem::dense(m, n, k);
            let plan = resolve(&desc.spec().unwrap(), &DeviceInfo::h200(), &problem, &facts).unwrap();
            // Along the kernel's rows a warp has 16 elements of a line at once.
            assert!(!plan.along_rows(), "{m}x{n}x{k}: {}", plan.name());
        }
    }
}

const BOTH: Repacks = Repacks { a: true, b: true };

#[test]
fn what_tma_cannot_address_is_repacked_where_that_pays() {
    let device = DeviceInfo::h200();
    let planned = |device: &DeviceInfo, desc: &GemmDesc, (m, n, k), facts: &OperandFacts, repacks: Option<bool>| {
        let decided = Decided { repacks, ..Decided::default() };
        resolve_decided(&desc.spec().unwrap(), device, &Problem::dense(m, n, k), facts, &decided).unwrap()
    };
    let auto = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    let large = (1024, 4096, 4095);
    for (facts, expected) in [
        (narrow(2, 2), BOTH),
        (narrow(8, 2), BOTH),
        (narrow(16, 2), Repacks { a: false, b: true }),
        (narrow(4, 16), Repacks { a: true, b: false }),
        (narrow(16, 16), Repacks::NONE),
    ] {
        for schedule in [ScheduleId::AUTO, ScheduleId::COOPERATIVE, ScheduleId::WARP_SPECIALIZED, ScheduleId::PINGPONG]
        {
            for swap_ab in [None, Some(false), Some(true)] {
                let plan = planned(&device, &GemmDesc { schedule, swap_ab, ..auto }, large, &facts, None);
                assert_eq!(plan.user_repacks(), expected, "{schedule} {swap_ab:?} {facts:?}: {}", plan.name());
                assert!(plan.spec.loader.is_tma() && plan.substitute.is_none(), "{}", plan.name());
            }
        }
        let never = planned(&device, &auto, large, &facts, Some(false));
        assert_eq!(never.repacks, Repacks::NONE);
        assert_eq!(never.spec.loader.is_tma(), expected == Repacks::NONE);
    }
    // Few rows of a long B read it once, which copies would read and write beside that.
    assert_eq!(planned(&device, &auto, (16, 4096, 4095), &narrow(2, 2), None).repacks, Repacks::NONE);
    assert_eq!(planned(&device, &auto, (16, 4096, 4095), &narrow(2, 2), Some(true)).repacks, BOTH);
    // Copies may take an eighth of the memory, and older instructions need none.
    let small = DeviceInfo { memory_bytes: 8 * 40_000_000, ..device.clone() };
    assert_eq!(planned(&small, &auto, large, &narrow(2, 2), None).repacks, Repacks::NONE);
    assert_eq!(planned(&small, &auto, (1024, 4096, 3839), &narrow(2, 2), None).repacks, BOTH);
    // Lines of 6 bytes are copied to lines of 128.
    assert!(planned(&device, &auto, (1 << 26, 64, 3), &narrow(2, 2), Some(true)).repacks.any());
    assert_eq!(planned(&device, &auto, (1 << 28, 64, 3), &narrow(2, 2), Some(true)).repacks, Repacks::NONE);
    for (device, arch) in [(&device, ArchId::SM80), (&DeviceInfo::host(), ArchId::SM90)] {
        let desc = GemmDesc { arch, ..auto };
        assert_eq!(planned(device, &desc, large, &narrow(2, 2), Some(true)).repacks, Repacks::NONE);
    }
    // Nothing is copied of what is empty.
    assert_eq!(planned(&device, &auto, (1024, 4096, 0), &narrow(2, 2), Some(true)).repacks, Repacks::NONE);
    // No cp.async loads tf32 into an instruction that truncates.
    let tf32 = GemmDesc { schedule: ScheduleId::COOPERATIVE, ..GemmDesc::new(ArchId::SM90, Dtype::Tf32, Dtype::F32) };
    assert_eq!(planned(&device, &tf32, large, &narrow(4, 4), None).repacks, BOTH);
    let refused = Decided { repacks: Some(false), ..Decided::default() };
    let (spec, problem) = (tf32.spec().unwrap(), Problem::dense(1024, 4096, 4095));
    let error = resolve_decided(&spec, &device, &problem, &narrow(4, 4), &refused).unwrap_err().to_string();
    assert!(
        error.contains("Cooperative loads by TMA, which needs addresses and strides in multiples of 16 bytes"),
        "{error}"
    );
}

#[test]
fn repacked_plans_say_so_and_are_found_again() {
    let (device, problem) = (DeviceInfo::h200(), Problem::dense(1024, 4096, 4095));
    let spec = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32).spec().unwrap();
    let facts = narrow(16, 2);
    let plan = resolve(&spec, &device, &problem, &facts).unwrap();
    let text = explain(&plan, &device, &problem);
    assert!(text.contains("  repacks    B into 33.6 MB of workspace first, in lines that TMA can address\n"), "{text}");
    assert!(text.contains(" us to repack, and what does not overlap of"), "{text}");
    let predicted = predict(&plan, &device, &problem);
    let own = predict(&KernelPlan { repacks: Repacks::NONE, ..plan }, &device, &problem);
    assert!(predicted.repack > 20e-6 && predicted.seconds > predicted.repack + 0.8 * own.seconds, "{predicted:?}");
    let choice = PlanChoice::of(&plan);
    assert!(choice.to_string().ends_with(" B repacked"), "{choice}");
    let written = serde_json::to_string(&choice).unwrap();
    assert_eq!(serde_json::from_str::<PlanChoice>(&written).unwrap(), choice, "{written}");
    assert_eq!(resolve_choice(&spec, &device, &problem, &facts, &choice).unwrap(), plan);
    // What was written before there were copies has none.
    let aligned = PlanChoice { repacks: Repacks::NONE, ..choice };
    let written = serde_json::to_string(&aligned).unwrap();
    assert!(!written.contains("repacks"), "{written}");
    assert_eq!(serde_json::from_str::<PlanChoice>(&written).unwrap(), aligned);
    // Both ways are there to be raced.
    let all = alternatives(&spec, &device, &problem, &facts).unwrap();
    let of =
        |tma: bool| all.iter().filter(|plan| plan.spec.loader.is_tma() == tma && plan.repacks.any() == tma).count();
    assert!(of(true) > 10 && of(false) > 10 && of(true) + of(false) == all.len(), "{} {}", of(true), of(false));
}

/// Vectors are the kernel's columns, whichever operand they are: who names which operand comes first gets another kernel, or a tile
/// whose columns are the matrix'.
#[test]
fn a_named_orientation_holds_for_vectors_too() {
    let device = DeviceInfo::a100();
    for (m, n, dtype) in [(1, 130, Dtype::F32), (130, 1, Dtype::F32), (1, 130, Dtype::I8)] {
        let acc = if dtype == Dtype::I8 { Dtype::I32 } else { Dtype::F32 };
        let problem = Problem::dense(m, n, 72);
        for swapped in [false, true] {
            for schedule in [ScheduleId::AUTO, ScheduleId::GEMV] {
                let desc = GemmDesc { schedule, swap_ab: Some(swapped), ..GemmDesc::new(ArchId::SM80, dtype, acc) };
                let plan = resolve(&desc.spec().unwrap(), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
                let of = format!("{m} x {n}, {swapped}: {} {}", plan.spec.schedule, plan.tile);
                assert_eq!(plan.transposed, swapped, "{of}");
                let natural = swapped == (m < n);
                assert!(schedule != ScheduleId::GEMV || plan.tile.n == if natural { 1 } else { 8 }, "{of}");
                let dots = plan.spec.schedule == ScheduleId::GEMV;
                assert!(!dots || natural || schedule == ScheduleId::GEMV, "{of}");
            }
        }
    }
}
