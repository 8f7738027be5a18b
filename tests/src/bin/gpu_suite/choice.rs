//! What `Auto` chooses against the best of everything that it chooses from: every tile, depth and number of splits, and
//! stream-K, timed in turn on problems that the model was not fitted to.

use std::collections::HashMap;
use std::process::ExitCode;

use rayon::prelude::*;
use warpwright::builder::auto::{OperandFacts, alternatives, explain, predict, resolve};
use warpwright::builder::race::{RaceProblem, RaceRules, RaceTrack};
use warpwright::prelude::*;
use warpwright::{KernelPlan, SchedulerId};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// M, N and K: squares off the powers of two, few rows, few tiles and long K, one wave and a little more, short K.
const PROBLEMS: [(usize, usize, usize); 12] = [
    (512, 512, 512),
    (1536, 1536, 1536),
    (2304, 2304, 2304),
    (3072, 3072, 3072),
    (16, 8192, 8192),
    (64, 24576, 1536),
    (128, 2112, 7168),
    (256, 7168, 2048),
    (256, 256, 65536),
    (384, 640, 16384),
    (4096, 4096, 320),
    (1664, 2560, 4096),
];
/// How many of the fastest are timed again, for a best that is not one of luck.
const FINALISTS: usize = 12;
/// Rounds of the heats.
const HEATS: usize = 3;

/// What tells plans apart here.
type Which = (Mnk, usize, SchedulerId, usize);

fn which(plan: &KernelPlan) -> Which {
    (plan.tile, plan.resources.stages, plan.spec.scheduler, plan.splits)
}

fn name((tile, stages, scheduler, splits): Which) -> String {
    format!("{tile} s{stages} {scheduler}{}", if splits > 1 { format!(" x{splits}") } else { String::new() })
}

/// `gpu-suite auto [ROUNDS [ORDINAL]]`.
pub fn main(arguments: &[String]) -> ExitCode {
    let number = |i: usize, usual: usize| arguments.get(i).map_or(Ok(usual), |text| text.parse::<usize>());
    let outcome = match (number(0, 11), number(1, 0)) {
        (Ok(rounds), Ok(ordinal)) => run(rounds.max(1), ordinal),
        _ => Err("usage: gpu-suite auto [ROUNDS [ORDINAL]]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(1)
        }
    }
}

/// Kernels by tile, depth and scheduler: problems share them.
struct Kernels<'d> {
    device: &'d Device,
    made: HashMap<(Mnk, usize, SchedulerId), AnyGemm>,
}

impl Kernels<'_> {
    /// Compiles what is missing, on all cores.
    fn make(&mut self, plans: &[KernelPlan]) -> Result {
        let mut missing: Vec<_> = plans
            .iter()
            .map(|plan| (plan.tile, plan.resources.stages, plan.spec.scheduler))
            .filter(|key| !self.made.contains_key(key))
            .collect();
        missing.sort_by_key(|(tile, stages, scheduler)| (tile.m, tile.n, tile.k, *stages, *scheduler as u8));
        missing.dedup();
        let device = self.device;
        let made: Vec<_> = missing
            .into_par_iter()
            .map(|(tile, stages, scheduler)| {
                let desc = GemmDesc {
                    tile: Some(tile),
                    cluster: Some(Mnk::new(1, 1, 1)),
                    stages: Some(stages),
                    schedule: warpwright::ScheduleId::MULTISTAGE,
                    scheduler,
                    ..base()
                };
                AnyGemm::new(&desc, device).map(|gemm| ((tile, stages, scheduler), gemm))
            })
            .collect::<std::result::Result<_, _>>()?;
        self.made.extend(made);
        Ok(())
    }

    fn of(&self, plan: &KernelPlan) -> AnyGemm {
        let gemm = self.made[&(plan.tile, plan.resources.stages, plan.spec.scheduler)].clone();
        match plan.spec.scheduler {
            SchedulerId::SPLIT_K => gemm.splits(plan.splits),
            _ => gemm,
        }
    }
}

fn base() -> GemmDesc {
    GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32)
}

/// A plan in the race.
struct Lane {
    plan: KernelPlan,
    gemm: AnyGemm,
    times: Vec<f64>,
}

impl Lane {
    fn median(&mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

fn run(rounds: usize, ordinal: usize) -> Result {
    let device = Device::cuda(ordinal)?;
    let mut kernels = Kernels { device: &device, made: HashMap::new() };
    let (mut sum, mut worst) = (0.0, f64::INFINITY);
    println!(
        "auto on {}: bf16, medians of {rounds} in turn, cold L2; ratio of the best plan's time to Auto's",
        device.name()
    );
    for (m, n, k) in PROBLEMS {
        let problem = Problem::dense(m, n, k);
        let spec = base().spec()?;
        let facts = OperandFacts::K_MAJOR;
        let chosen = resolve(&spec, device.info(), &problem, &facts)?;
        let mut plans = alternatives(&spec, device.info(), &problem, &facts)?;
        // One depth of each tile, the deepest, is enough to see where stream-K would be better.
        let whole = plans.iter().filter(|plan| plan.splits == 1);
        let mut stream_k: Vec<_> = whole.map(|plan| with(plan, SchedulerId::STREAM_K)).collect();
        stream_k.dedup_by_key(|plan| plan.tile);
        plans.extend(stream_k);
        kernels.make(&plans)?;
        let rules = RaceRules { library: false, ..RaceRules::default() };
        let mut track = RaceTrack::new(&device, &RaceProblem::new(Mnk::new(m, n, k), Dtype::Bf16), &rules)?;
        let lane = |plan: KernelPlan| Lane { gemm: kernels.of(&plan), plan, times: Vec::new() };
        let mut lanes: Vec<Lane> = plans.into_iter().map(lane).collect();
        let raced = lanes.len();
        time(&mut track, &mut lanes, HEATS)?;
        lanes.sort_by(|x, y| least(x).total_cmp(&least(y)));
        let auto =
            lanes.iter().position(|lane| which(&lane.plan) == which(&chosen)).ok_or("Auto's plan was not raced")?;
        let mut finalists: Vec<Lane> = Vec::new();
        for (i, lane) in lanes.into_iter().enumerate() {
            if i < FINALISTS || i == auto {
                finalists.push(lane);
            }
        }
        finalists.iter_mut().for_each(|lane| lane.times.clear());
        time(&mut track, &mut finalists, rounds)?;
        let medians: Vec<f64> = finalists.iter_mut().map(Lane::median).collect();
        let best = (0..medians.len()).min_by(|&x, &y| medians[x].total_cmp(&medians[y])).ok_or("nothing was raced")?;
        let own = finalists.iter().position(|lane| which(&lane.plan) == which(&chosen)).ok_or("Auto was lost")?;
        let ratio = medians[best] / medians[own];
        (sum, worst) = (sum + ratio.ln(), worst.min(ratio));
        let predicted = predict(&chosen, device.info(), &problem).seconds;
        println!(
            "auto {m}x{n}x{k} | {} | {:.2} us, predicted {:.2} | best of {raced}: {} {:.2} us | ratio {ratio:.3}",
            name(which(&chosen)),
            medians[own] * 1e6,
            predicted * 1e6,
            name(which(&finalists[best].plan)),
            medians[best] * 1e6,
        );
        if ratio < 0.95 {
            print!(
                "{}{}",
                explain(&chosen, device.info(), &problem),
                explain(&finalists[best].plan, device.info(), &problem)
            );
        }
    }
    println!("auto geometric mean {:.3}, least {worst:.3}", (sum / PROBLEMS.len() as f64).exp());
    Ok(())
}

fn with(plan: &KernelPlan, scheduler: SchedulerId) -> KernelPlan {
    let mut plan = *plan;
    plan.spec.scheduler = scheduler;
    plan
}

/// Each lane once a round, there and back, so that nobody always follows the same plan.
fn time(track: &mut RaceTrack, lanes: &mut [Lane], rounds: usize) -> Result {
    let count = lanes.len();
    for round in 0..=rounds {
        for i in 0..count {
            let lane = &mut lanes[if round % 2 == 0 { i } else { count - 1 - i }];
            let seconds = track.time(&lane.gemm)?;
            // The first round loads and allocates.
            if round > 0 {
                lane.times.push(seconds);
            }
        }
    }
    Ok(())
}

fn least(lane: &Lane) -> f64 {
    lane.times.iter().copied().fold(f64::INFINITY, f64::min)
}
