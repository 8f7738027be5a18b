//! What `Auto` chooses against the best of everything that it chooses from, timed in turn; and the same again from a file of
//! such times, with the model as it is now.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use warpwright::builder::auto::{OperandFacts, predict, resolve};
use warpwright::builder::race::{RaceProblem, RaceRules, RaceTrack};
use warpwright::prelude::*;
use warpwright::{DeviceInfo, KernelPlan, ScheduleId, SchedulerId};
use warpwright_tests::choice::{
    Choice, Row, Suite, base, candidates, choices, geometric_mean, misses, read, suite, which, write,
};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: gpu-suite auto [--out FOLDER] [--type TYPE] [--suite fitting|judging] [--rounds N] [--seconds N] \
                     [--ordinal N] [--compile SHARE/SHARES] | gpu-suite auto --replay FILE [--misses]";
/// How many of the fastest are timed more often, for a best that is not one of luck.
const FINALISTS: usize = 16;
/// Beyond this multiple of the fastest, one run of a plan is enough.
const HOPELESS: f64 = 1.6;

struct Options {
    out: PathBuf,
    element: Dtype,
    suites: Vec<Suite>,
    rounds: usize,
    /// No problem is begun later.
    seconds: u64,
    ordinal: usize,
    /// Compile this of so many shares of the kernels into the disk cache, and no more.
    compile: Option<(usize, usize)>,
    replay: Option<PathBuf>,
    misses: bool,
}

/// `gpu-suite auto`.
pub fn main(arguments: &[String]) -> ExitCode {
    let outcome = options(arguments).and_then(|options| match &options.replay {
        Some(file) => replay(file, options.misses),
        None => measure(&options),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(1)
        }
    }
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        out: PathBuf::from("."),
        element: Dtype::Bf16,
        suites: Suite::ALL.to_vec(),
        rounds: 7,
        seconds: 120,
        ordinal: 0,
        compile: None,
        replay: None,
        misses: false,
    };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match name.as_str() {
            "--out" => options.out = value()?.into(),
            "--type" => options.element = Dtype::from_name(value()?).ok_or("no such type")?,
            "--suite" => options.suites = vec![Suite::from_name(value()?).ok_or(USAGE)?],
            "--rounds" => options.rounds = value()?.parse::<usize>()?.max(1),
            "--seconds" => options.seconds = value()?.parse()?,
            "--ordinal" => options.ordinal = value()?.parse()?,
            "--compile" => {
                let (share, shares) = value()?.split_once('/').ok_or(USAGE)?;
                options.compile = Some((share.parse()?, shares.parse::<usize>()?.max(1)));
            }
            "--replay" => options.replay = Some(value()?.into()),
            "--misses" => options.misses = true,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

/// Kernels by tile, depth and scheduler: problems share them.
struct Kernels<'d> {
    device: &'d Device,
    element: Dtype,
    made: HashMap<(Mnk, usize, SchedulerId), AnyGemm>,
}

impl Kernels<'_> {
    /// Makes the kernels of plans: those of one share, in an order that is the same in every process.
    fn make(&mut self, plans: &[KernelPlan], (share, shares): (usize, usize)) -> Result {
        let distinct: HashSet<_> =
            plans.iter().map(|plan| (plan.tile, plan.resources.stages, plan.spec.scheduler)).collect();
        let mut distinct: Vec<_> = distinct.into_iter().collect();
        distinct.sort_by_key(|(tile, stages, scheduler)| (tile.m, tile.n, tile.k, *stages, scheduler.name()));
        let own: Vec<_> = distinct.into_iter().skip(share).step_by(shares).collect();
        let made: Vec<_> = own
            .into_par_iter()
            .map(|(tile, stages, scheduler)| {
                let desc = GemmDesc {
                    tile: Some(tile),
                    cluster: Some(Mnk::new(1, 1, 1)),
                    stages: Some(stages),
                    schedule: ScheduleId::MULTISTAGE,
                    scheduler,
                    ..base(self.element)
                };
                AnyGemm::new(&desc, self.device).map(|gemm| ((tile, stages, scheduler), gemm))
            })
            .collect::<std::result::Result<_, _>>()?;
        self.made.extend(made);
        Ok(())
    }

    fn of(&self, plan: &KernelPlan) -> AnyGemm {
        let gemm = self.made[&(plan.tile, plan.resources.stages, plan.spec.scheduler)].clone();
        if plan.splits > 1 { gemm.splits(plan.splits) } else { gemm }
    }
}

/// A plan in the race.
struct Lane {
    plan: KernelPlan,
    gemm: AnyGemm,
    times: Vec<f64>,
}

impl Lane {
    fn median(&self) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    fn row(&self, suite: Suite, element: Dtype, mnk: Mnk, device: &DeviceInfo) -> Row {
        let compiled = self.gemm.compiled();
        let kernel = compiled.first().and_then(|(_, executable)| executable.kernels().first());
        Row {
            suite,
            element,
            mnk,
            which: which(&self.plan),
            registers: kernel.map_or(0, |kernel| kernel.registers),
            blocks_per_sm: kernel.map_or(0, |kernel| kernel.blocks_per_sm),
            predicted: predict(&self.plan, device, &Problem::dense(mnk.m, mnk.n, mnk.k)).seconds * 1e6,
            median: self.median() * 1e6,
            runs: self.times.len(),
        }
    }
}

/// NVRTC compiles one kernel at a time in one process, so that many processes fill the disk cache.
fn compile_apart(options: &Options) -> Result {
    let shares = std::thread::available_parallelism()?.get();
    let children: Vec<_> = (0..shares)
        .map(|share| {
            let mut child = std::process::Command::new(std::env::current_exe()?);
            child.args(["auto", "--compile", &format!("{share}/{shares}"), "--type", options.element.name()]);
            child.args(["--ordinal", &options.ordinal.to_string()]);
            if let [of] = options.suites[..] {
                child.args(["--suite", of.name()]);
            }
            child.spawn()
        })
        .collect::<std::io::Result<_>>()?;
    for mut child in children {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("a process that compiles ended with {status}").into());
        }
    }
    Ok(())
}

fn measure(options: &Options) -> Result {
    let started = Instant::now();
    let device = Device::cuda(options.ordinal)?;
    let spec = base(options.element).spec()?;
    // In turn, so that a run that is out of time has problems of both.
    let suites: Vec<_> = options.suites.iter().map(|&of| (of, suite(of))).collect();
    let longest = suites.iter().map(|(_, problems)| problems.len()).max().unwrap_or(0);
    let mut problems = Vec::new();
    for i in 0..longest {
        for (of, suite) in &suites {
            if let Some(&(m, n, k)) = suite.get(i) {
                problems.push((*of, Mnk::new(m, n, k)));
            }
        }
    }
    let mut kernels = Kernels { device: &device, element: options.element, made: HashMap::new() };
    let mut everything = Vec::new();
    for (_, Mnk { m, n, k }) in &problems {
        everything.extend(candidates(&spec, device.info(), &Problem::dense(*m, *n, *k))?);
    }
    if let Some(share) = options.compile {
        return kernels.make(&everything, share);
    }
    compile_apart(options)?;
    kernels.make(&everything, (0, 1))?;
    println!(
        "auto on {}: {}, {} kernels in {:.1} s; medians in turn, cold L2; the best plan's time over Auto's",
        device.name(),
        options.element,
        kernels.made.len(),
        started.elapsed().as_secs_f64()
    );
    let file = options.out.join(format!("auto_{}.csv", options.element.name()));
    let mut rows = Vec::new();
    for (of, mnk) in problems {
        if started.elapsed() > Duration::from_secs(options.seconds) {
            println!("auto {} {mnk} is left out: {} s are over", of.name(), options.seconds);
            continue;
        }
        let problem = Problem::dense(mnk.m, mnk.n, mnk.k);
        let chosen = resolve(&spec, device.info(), &problem, &OperandFacts::K_MAJOR)?;
        let rules = RaceRules { library: false, ..RaceRules::default() };
        let mut track = RaceTrack::new(&device, &RaceProblem::new(mnk, options.element), &rules)?;
        let mut lanes: Vec<Lane> = candidates(&spec, device.info(), &problem)?
            .into_iter()
            .map(|plan| Lane { gemm: kernels.of(&plan), plan, times: Vec::new() })
            .collect();
        race(&mut track, &mut lanes, which(&chosen), options.rounds)?;
        let measured: Vec<Row> = lanes.iter().map(|lane| lane.row(of, options.element, mnk, device.info())).collect();
        for choice in choices(&measured, device.info())? {
            tell(&choice);
        }
        rows.extend(measured);
        std::fs::write(&file, write(&rows))?;
    }
    summary(&choices(&rows, device.info())?);
    println!("auto {} candidates in {}, {:.1} s", rows.len(), file.display(), started.elapsed().as_secs_f64());
    Ok(())
}

/// Times lanes: once all, then those with a chance, then the fastest and the chosen one more often.
fn race(track: &mut RaceTrack, lanes: &mut [Lane], chosen: warpwright_tests::choice::Which, rounds: usize) -> Result {
    // The first run loads and allocates.
    time(track, lanes, 1)?;
    lanes.iter_mut().for_each(|lane| lane.times.clear());
    time(track, lanes, 1)?;
    lanes.sort_by(|x, y| x.median().total_cmp(&y.median()));
    let own = lanes.iter().position(|lane| which(&lane.plan) == chosen).ok_or("Auto's plan was not raced")?;
    let limit = lanes.first().map_or(0.0, Lane::median) * HOPELESS;
    let hopeful = lanes.partition_point(|lane| lane.median() <= limit).max(FINALISTS.min(lanes.len()));
    let own = if own >= hopeful {
        lanes.swap(own, hopeful - 1);
        hopeful - 1
    } else {
        own
    };
    let chosen = which(&lanes[own].plan);
    time(track, &mut lanes[..hopeful], rounds - 1)?;
    lanes[..hopeful].sort_by(|x, y| x.median().total_cmp(&y.median()));
    let mut finalists = FINALISTS.min(hopeful);
    let own = lanes.iter().position(|lane| which(&lane.plan) == chosen).ok_or("Auto's plan was lost")?;
    if own >= finalists {
        lanes.swap(own, finalists);
        finalists += 1;
    }
    time(track, &mut lanes[..finalists], rounds)
}

/// Each lane once a round, there and back, so that nobody always follows the same plan.
fn time(track: &mut RaceTrack, lanes: &mut [Lane], rounds: usize) -> Result {
    for round in 0..rounds {
        let count = lanes.len();
        for i in 0..count {
            let lane = &mut lanes[if round % 2 == 0 { i } else { count - 1 - i }];
            lane.times.push(track.time(&lane.gemm)?);
        }
    }
    Ok(())
}

fn tell(choice: &Choice) {
    let name = |(tile, stages, scheduler, splits): warpwright_tests::choice::Which| {
        format!("{tile} s{stages} {scheduler}{}", if splits > 1 { format!(" x{splits}") } else { String::new() })
    };
    let ((own, own_predicted, own_measured), (best, best_predicted, best_measured)) = (choice.chosen, choice.best);
    println!(
        "auto {:<7} {} {} | {} {own_measured:.2} us ({own_predicted:.2}) | best of {}: {} {best_measured:.2} us \
         ({best_predicted:.2}) | ratio {:.3}",
        choice.suite.name(),
        choice.element,
        choice.mnk,
        name(own),
        choice.measured,
        name(best),
        choice.ratio()
    );
}

fn summary(choices: &[Choice]) {
    for suite in Suite::ALL {
        let of: Vec<&Choice> = choices.iter().filter(|choice| choice.suite == suite).collect();
        let least = of.iter().map(|choice| choice.ratio()).fold(f64::INFINITY, f64::min);
        if !of.is_empty() {
            let mean = geometric_mean(of.iter().copied());
            println!("auto {:<7} {} problems, geometric mean {mean:.3}, least {least:.3}", suite.name(), of.len());
        }
    }
}

/// Times in parentheses are predictions of the model as it is now.
fn replay(file: &std::path::Path, all: bool) -> Result {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let (rows, device) = (read(&text)?, DeviceInfo::h200());
    if all {
        for (row, predicted) in misses(&rows, &device)? {
            let (tile, stages, scheduler, splits) = row.which;
            println!(
                "{},{},{},{tile},{stages},{scheduler},{splits},{},{:.2},{predicted:.2},{:.3}",
                row.suite.name(),
                row.element,
                row.mnk,
                row.blocks_per_sm,
                row.median,
                predicted / row.median
            );
        }
        return Ok(());
    }
    let choices = choices(&rows, &device)?;
    choices.iter().for_each(tell);
    summary(&choices);
    Ok(())
}
