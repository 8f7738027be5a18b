//! Races on the host, and on a device whose clock is wound by hand.

mod clockwork;
mod tuning;

use clockwork::{Event, device, untimed};
use warpwright_arch::{ArchId, DeviceInfo, Sm80};
use warpwright_builder::race::{
    RaceEntrant, RaceError, RaceProblem, RaceRefusalReason, RaceRules, RaceRunner, race, space, time_library,
};
use warpwright_builder::{Composed, Operands, Plan};
use warpwright_numeric::{Dtype, bf16};
use warpwright_runtime::Device;
use warpwright_runtime::cublaslt::CublasLtError;
use warpwright_spec::{
    Auto, GemmDesc, Mnk, Multistage, Node, Operator, Order, Persistent, RasterOrder, ScalarKind, SchedulerId,
    SingleTile, Tile, U3, intern,
};

const SMALL: Mnk = Mnk { m: 96, n: 80, k: 64 };

fn rules() -> RaceRules<'static> {
    RaceRules { rounds: 5, warmups: 1, flush_bytes: Some(4096), library: false, ..RaceRules::default() }
}

fn desc(a: Dtype, tile: (usize, usize, usize)) -> GemmDesc {
    let mut desc = GemmDesc::new(ArchId::SM80, a, warpwright_spec::default_accumulator(a));
    desc.tile = Some(Mnk { m: tile.0, n: tile.1, k: tile.2 });
    desc
}

fn entrant(label: &str, tile: (usize, usize, usize)) -> RaceEntrant {
    RaceEntrant::from_desc(label, &desc(Dtype::Bf16, tile)).unwrap()
}

/// Seconds by the rows of the tile: the median of 32 rows is 3, that of 64 rows 2.
fn by_tile(name: &str, run: usize) -> Option<f64> {
    let outlier = run.is_multiple_of(5);
    match name {
        _ if name.contains("_32x64x32_") => Some(if outlier { 50.0 } else { 3.0 }),
        _ if name.contains("_64x64x32_") => Some(if outlier { 0.5 } else { 2.0 }),
        _ if name.contains("_64x32x32_") => None,
        _ => Some(9.0),
    }
}

#[test]
fn the_median_decides_and_filling_is_not_timed() {
    let (device, shared) = device(by_tile);
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let entrants = [entrant("slow", (32, 64, 32)), entrant("", (64, 64, 32))];
    let table = race(&device, &problem, &entrants, &rules()).unwrap();
    assert!(table.refused.is_empty(), "{:?}", table.refused);
    let [first, second] = &table.rows[..] else { panic!("{table}") };
    assert_eq!((first.median(), second.median(), second.label.as_str()), (2.0, 3.0, "slow"));
    assert!(first.label.contains("_64x64x32_"), "it goes by its plan's name: {}", first.label);
    assert_eq!(first.seconds.len(), 5);
    assert_eq!((first.least(), second.greatest()), (0.5, 50.0));
    assert_eq!(table.rate(first), 2.0 * (96 * 80 * 64) as f64 / 2.0);
    assert_eq!((table.ratio(first), first.predicted), (None, None));
    // Every timed run is a fill of the whole buffer, a mark, the run and a mark.
    let events = shared.events();
    let timed: Vec<&str> = events
        .windows(4)
        .filter_map(|w| match w {
            [Event::Fill(4096), Event::Mark, Event::Run(name), Event::Mark] => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(timed.len(), 2 * (1 + 5), "{events:?}");
    let runs = events.iter().filter(|event| matches!(event, Event::Run(_))).count();
    assert_eq!(runs, 2 + timed.len(), "one run of each is checked, and not timed");
    // Interleaved: each round has both.
    assert!(timed.chunks(2).all(|round| round[0] != round[1]), "{timed:?}");
}

#[test]
fn the_order_changes_from_round_to_round() {
    let (device, shared) = device(by_tile);
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let entrants = [entrant("x", (32, 64, 32)), entrant("y", (64, 64, 32))];
    race(&device, &problem, &entrants, &RaceRules { rounds: 20, ..rules() }).unwrap();
    let runs: Vec<Event> = shared.events().into_iter().filter(|e| matches!(e, Event::Run(_))).collect();
    let firsts: Vec<&Event> = runs[4..].chunks(2).map(|round| &round[0]).collect();
    assert!(firsts.iter().any(|first| *first != firsts[0]), "{firsts:?}");
}

#[test]
fn whoever_computes_something_else_does_not_start() {
    let (device, _) = device(by_tile);
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let entrants = [entrant("idle", (64, 32, 32)), entrant("right", (64, 64, 32))];
    let table = race(&device, &problem, &entrants, &rules()).unwrap();
    assert_eq!(table.rows.len(), 1);
    let [refusal] = &table.refused[..] else { panic!("{table}") };
    assert_eq!(refusal.label, "idle");
    match &refusal.reason {
        RaceRefusalReason::Wrong(wrong) => assert!(wrong.got.is_nan() && wrong.want.is_finite(), "{wrong}"),
        other => panic!("{other}"),
    }
    assert!(refusal.reason.to_string().starts_with("D[0](0, 0) is NaN, but the product is "), "{}", refusal.reason);
    assert!(table.to_string().contains("- idle: D[0](0, 0) is NaN"), "{table}");
}

#[test]
fn progress_is_told() {
    let seen = std::sync::Mutex::new(Vec::new());
    let watch = |done: usize, total: usize| seen.lock().unwrap().push((done, total));
    let (device, _) = device(by_tile);
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let entrants = [entrant("x", (32, 64, 32)), entrant("y", (64, 64, 32))];
    race(&device, &problem, &entrants, &RaceRules { rounds: 3, watch: Some(&watch), ..rules() }).unwrap();
    assert_eq!(*seen.lock().unwrap(), (1..=6).map(|done| (done, 6)).collect::<Vec<_>>());
}

#[test]
fn every_element_order_and_batch_races_on_the_host() {
    let device = Device::host();
    for a in [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64, Dtype::I8, Dtype::E4m3] {
        for orders in 0..8 {
            let order = |bit: u32| if orders >> bit & 1 == 0 { Order::Row } else { Order::Column };
            let problem = RaceProblem {
                batch: 1 + (orders as usize & 1),
                order_a: order(0),
                order_b: order(1),
                order_d: order(2),
                ..RaceProblem::new(Mnk { m: 37, n: 50, k: 41 }, a)
            };
            let arch = if a == Dtype::E4m3 { ArchId::SM89 } else { ArchId::SM80 };
            let desc = GemmDesc::new(arch, a, warpwright_spec::default_accumulator(a));
            let entrant = RaceEntrant::from_desc("auto", &desc).unwrap();
            let table = race(&device, &problem, &[entrant], &RaceRules { rounds: 1, ..rules() }).unwrap();
            assert_eq!((table.rows.len(), table.refused.len()), (1, 0), "{table}");
            assert!(table.rows[0].median() > 0.0, "{table}");
        }
    }
}

#[test]
fn elements_of_less_than_a_byte_race_on_the_host() {
    for a in [Dtype::E2m1, Dtype::E3m2, Dtype::E2m3] {
        let problem = RaceProblem::new(Mnk { m: 40, n: 48, k: 64 }, a);
        let entrant = RaceEntrant::from_desc("auto", &GemmDesc::new(ArchId::SM100, a, Dtype::F32)).unwrap();
        let table = race(&Device::host(), &problem, &[entrant], &RaceRules { rounds: 1, ..rules() }).unwrap();
        assert_eq!((table.rows.len(), table.refused.len()), (1, 0), "{table}");
    }
}

type Sized<T, W> = Composed<Sm80, bf16, f32, Operands, Plan<T, Auto, Multistage, U3, W>>;

#[test]
fn kernels_by_type_walks_and_splits_race() {
    let mut entrants =
        RaceEntrant::of_types::<(Sized<Tile<64, 64, 32>, Persistent>, Sized<Tile<32, 64, 32>, SingleTile>)>();
    entrants.push(entrants[0].clone().rasterized(RasterOrder::AlongM, 3));
    let open = desc(Dtype::Bf16, (64, 64, 32));
    entrants.push(RaceEntrant::from_desc("two parts", &open).unwrap().splits(2));
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let table = race(&Device::host(), &problem, &entrants, &rules()).unwrap();
    assert_eq!((table.rows.len(), table.refused.len()), (4, 0), "{table}");
    let plans: Vec<_> = table
        .rows
        .iter()
        .map(|row| match &row.runner {
            RaceRunner::Kernel(plan) => (plan.spec.scheduler, plan.swizzle, plan.splits),
            RaceRunner::Library(_) => panic!("{table}"),
        })
        .collect();
    assert!(plans.iter().any(|plan| plan.0 == SchedulerId::SINGLE_TILE));
    assert!(plans.iter().any(|plan| plan.1 == 4), "3 side by side are rounded up: {plans:?}");
    assert!(plans.iter().any(|plan| (plan.0, plan.2) == (SchedulerId::SPLIT_K, 2)), "{plans:?}");
}

#[test]
fn the_whole_space_races_on_the_host() {
    let problem = RaceProblem::new(SMALL, Dtype::F16);
    let base = GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32);
    let all = space(&base, &DeviceInfo::host(), &problem);
    let entrants: Vec<_> = all.iter().step_by(7).map(|desc| RaceEntrant::from_desc("", desc).unwrap()).collect();
    let table = race(&Device::host(), &problem, &entrants, &RaceRules { rounds: 1, ..rules() }).unwrap();
    assert_eq!((table.rows.len(), table.refused.len()), (entrants.len(), 0), "{table}");
    assert!(table.rows.is_sorted_by(|x, y| x.median() <= y.median()), "{table}");
}

#[test]
fn cublaslt_that_cannot_run_is_told_and_stops_nobody() {
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let table =
        race(&Device::host(), &problem, &[entrant("ours", (64, 64, 32))], &RaceRules { library: true, ..rules() })
            .unwrap();
    assert_eq!(table.rows.len(), 1);
    assert_eq!(table.refused[0].label, "cuBLASLt");
    let library = |reason: &RaceRefusalReason| match reason {
        RaceRefusalReason::Library(CublasLtError::Missing(_) | CublasLtError::NotCuda { .. }) => {}
        other => panic!("{other}"),
    };
    library(&table.refused[0].reason);
    assert!(table.library().is_none() && table.best_kernel().is_some());
    match time_library(&Device::host(), &problem, &rules()) {
        Err(RaceError::Library(reason)) => library(&reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kernel_that_cannot_be_planned_is_told_and_stops_nobody() {
    let problem = RaceProblem { order_a: Order::Column, ..RaceProblem::new(SMALL, Dtype::Bf16) };
    let mut rows = desc(Dtype::Bf16, (64, 64, 32));
    rows.order_a = Some(Order::Row);
    let entrants = [RaceEntrant::from_desc("rows", &rows).unwrap(), entrant("any", (64, 64, 32))];
    let table = race(&Device::host(), &problem, &entrants, &rules()).unwrap();
    assert_eq!((table.rows.len(), table.refused.len()), (1, 1), "{table}");
    assert_eq!(table.refused[0].label, "rows");
    let text = table.refused[0].reason.to_string();
    assert!(text.starts_with("A has strides"), "{text}");
}

#[test]
fn products_that_are_rounded_to_integers_or_saturate_are_right() {
    let narrow = [Dtype::U8, Dtype::I4, Dtype::U4, Dtype::E2m1, Dtype::E3m2, Dtype::E2m3, Dtype::E8m0, Dtype::I32];
    let pairs = [Dtype::Bf16, Dtype::F64, Dtype::I8].into_iter().flat_map(|a| narrow.map(|d| (a, d)));
    for (i, (a, d)) in pairs.chain([(Dtype::I8, Dtype::I8), (Dtype::F16, Dtype::I8)]).enumerate() {
        let order_d = if i % 2 == 0 { Order::Row } else { Order::Column };
        let problem = RaceProblem { d, order_d, batch: 2, ..RaceProblem::new(SMALL, a) };
        let mut desc = GemmDesc::new(ArchId::SM80, a, warpwright_spec::default_accumulator(a));
        desc.d = d;
        let entrant = RaceEntrant::from_desc("auto", &desc).unwrap();
        let table = race(&Device::host(), &problem, &[entrant], &RaceRules { rounds: 1, ..rules() }).unwrap();
        assert_eq!((table.rows.len(), table.refused.len()), (1, 0), "{a} into {d}: {table}");
    }
}

#[test]
fn races_that_make_no_sense_are_refused() {
    let problem = RaceProblem::new(SMALL, Dtype::Bf16);
    let ours = [entrant("ours", (64, 64, 32))];
    let told = |device: &Device, problem: &RaceProblem, entrants: &[RaceEntrant], rules: RaceRules<'_>| {
        race(device, problem, entrants, &rules).unwrap_err().to_string()
    };
    let host = Device::host();
    assert_eq!(told(&host, &problem, &[], rules()), "nobody enters the race: give entrants, or let cuBLASLt enter");
    assert_eq!(
        told(&host, &problem, &ours, RaceRules { rounds: 0, ..rules() }),
        "a race of 0 rounds measures nothing: give 1 round or more"
    );
    let empty = RaceProblem { mnk: Mnk { k: 0, ..SMALL }, ..problem };
    assert_eq!(
        told(&host, &empty, &ours, rules()),
        "1 x 96x80x0 has no elements, so there is nothing to time: give extents of 1 or more"
    );
    assert_eq!(
        told(&host, &RaceProblem::new(SMALL, Dtype::F16), &ours, rules()),
        "ours multiplies bf16 by bf16 into bf16, but the race is of f16 by f16 into f16: enter it into a race of its own elements"
    );
    let mut fused = desc(Dtype::Bf16, (64, 64, 32));
    fused.epilogue = intern(Node::Combine(Operator::Maximum, &Node::LoadAcc, &Node::LoadScalar(ScalarKind::Host)));
    assert_eq!(
        told(&host, &problem, &[RaceEntrant::from_desc("fused", &fused).unwrap()], rules()),
        "fused computes max(acc, scalar), but a race is of D = A * B: enter it with the epilogue acc()"
    );
    assert_eq!(
        told(&untimed(), &problem, &ours, rules()),
        "clockwork does not time its work (clockwork has no timing): race on Device::host() or Device::cuda(i)"
    );
    let huge = RaceProblem::new(Mnk { m: 1 << 40, n: 1, k: 1 << 40 }, Dtype::Bf16);
    assert!(told(&host, &huge, &ours, rules()).contains("more than 2^63 bytes"));
    // Addressable, but no machine's.
    let large = RaceProblem::new(Mnk { m: 1 << 25, n: 1, k: 1 << 25 }, Dtype::Bf16);
    assert_eq!(
        told(&host, &large, &ours, rules()),
        "the host has no 2251799813685248 bytes free: use smaller operands, or free some tensors first"
    );
}
