//! What `Auto` chooses against the best of everything that it chooses from, timed in turn; and the same again from a file of
//! such times, with the model as it is now.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use warpwright::builder::auto::{OperandFacts, predict, resolve};
use warpwright::builder::race::{LibraryEntrant, RaceProblem, RaceRules, RaceTrack};
use warpwright::prelude::*;
use warpwright::{DeviceInfo, KernelPlan};
use warpwright_tests::choice::{
    Choice, Row, Suite, Which, base, candidates, choices, geometric_mean, misses, other_walks, rank_correlation, read,
    suite, write,
};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: gpu-suite auto [--out FOLDER] [--arch TAG] [--type TYPE] [--suite fitting|judging] [--rounds N] [--seconds N] \
                     [--ordinal N] [--compile SHARE/SHARES] | gpu-suite auto --replay FILE [--misses]";
/// How many of the fastest are timed more often, for a best that is not one of luck.
const FINALISTS: usize = 16;
/// How many of the fastest kernels with TMA are walked in other orders too.
const WALKED: usize = 5;
/// Beyond this multiple of the fastest, one run of a plan is enough.
const HOPELESS: f64 = 1.6;
/// A problem whose fastest plan takes so many seconds is timed half as often.
const LONG: f64 = 1e-3;

struct Options {
    out: PathBuf,
    tag: ArchId,
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
        tag: ArchId::SM80,
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
            "--arch" => options.tag = ArchId::from_name(value()?).ok_or("no such tag")?,
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

/// Kernels by all that is compiled in: problems share them.
struct Kernels<'d> {
    device: &'d Device,
    base: GemmDesc,
    made: HashMap<Which, AnyGemm>,
}

/// What is compiled of a plan.
fn compiled(plan: &KernelPlan) -> Which {
    Which { splits: 1, ..Which::of(plan).unwalked() }
}

impl Kernels<'_> {
    /// Makes the kernels of plans: those of one share, in an order that is the same in every process.
    fn make(&mut self, plans: &[KernelPlan], (share, shares): (usize, usize)) -> Result {
        let distinct: HashSet<_> = plans.iter().map(compiled).collect();
        let mut distinct: Vec<_> = distinct.into_iter().collect();
        distinct.sort_by_cached_key(ToString::to_string);
        let own: Vec<_> = distinct.into_iter().skip(share).step_by(shares).collect();
        let made: Vec<_> = own
            .into_par_iter()
            .map(|which| {
                let user = |shape: Mnk| if which.swapped { shape.swapped() } else { shape };
                let desc = GemmDesc {
                    swap_ab: Some(which.swapped),
                    tile: Some(user(which.tile)),
                    cluster: Some(user(which.cluster)),
                    stages: Some(which.stages),
                    schedule: which.schedule,
                    scheduler: which.scheduler,
                    ..self.base
                };
                AnyGemm::new(&desc, self.device).map(|gemm| (which, gemm))
            })
            .collect::<std::result::Result<_, _>>()?;
        self.made.extend(made);
        Ok(())
    }

    fn of(&self, plan: &KernelPlan) -> AnyGemm {
        let gemm = self.made[&compiled(plan)].clone().rasterized(plan.raster, plan.swizzle);
        if plan.splits > 1 { gemm.splits(plan.splits) } else { gemm }
    }

    fn lane(&self, plan: KernelPlan) -> Lane {
        Lane { gemm: self.of(&plan), plan, times: Vec::new() }
    }
}

/// A plan in the race.
struct Lane {
    plan: KernelPlan,
    gemm: AnyGemm,
    times: Vec<f64>,
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Lane {
    fn median(&self) -> f64 {
        median(&self.times)
    }

    fn row(&self, suite: Suite, element: Dtype, mnk: Mnk, device: &DeviceInfo, library: f64) -> Row {
        let compiled = self.gemm.compiled();
        let (name, loaded) = (self.plan.name(), compiled.first());
        let kernel = loaded.and_then(|(_, loaded)| loaded.kernels().iter().find(|kernel| kernel.entry == name));
        Row {
            suite,
            tag: self.plan.spec.arch,
            element,
            mnk,
            which: Which::of(&self.plan),
            registers: kernel.map_or(0, |kernel| kernel.registers),
            blocks_per_sm: kernel.map_or(0, |kernel| kernel.blocks_per_sm),
            predicted: predict(&self.plan, device, &Problem::dense(mnk.m, mnk.n, mnk.k)).seconds * 1e6,
            median: self.median() * 1e6,
            runs: self.times.len(),
            library: library * 1e6,
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
            child.args(["--arch", options.tag.name(), "--ordinal", &options.ordinal.to_string()]);
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
    let base = base(options.tag, options.element);
    let spec = base.spec()?;
    // In turn, so that a run that is out of time has problems of both.
    let suites: Vec<_> = options.suites.iter().map(|&of| (of, suite(options.tag, of))).collect();
    let longest = suites.iter().map(|(_, problems)| problems.len()).max().unwrap_or(0);
    let mut problems = Vec::new();
    for i in 0..longest {
        for (of, suite) in &suites {
            if let Some(&(m, n, k)) = suite.get(i) {
                problems.push((*of, Mnk::new(m, n, k)));
            }
        }
    }
    let mut kernels = Kernels { device: &device, base, made: HashMap::new() };
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
        "auto on {}: {} {}, {} kernels in {:.1} s; medians in turn, cold L2; the best plan's time over Auto's",
        device.name(),
        options.tag,
        options.element,
        kernels.made.len(),
        started.elapsed().as_secs_f64()
    );
    let file = options.out.join(format!("auto_{}_{}.csv", options.tag.lower_name(), options.element.name()));
    let mut rows = Vec::new();
    for (of, mnk) in problems {
        if started.elapsed() > Duration::from_secs(options.seconds) {
            println!("auto {} {mnk} is left out: {} s are over", of.name(), options.seconds);
            continue;
        }
        let problem = Problem::dense(mnk.m, mnk.n, mnk.k);
        let chosen = Which::of(&resolve(&spec, device.info(), &problem, &OperandFacts::K_MAJOR)?);
        let rules = RaceRules { qualifying: 3, ..RaceRules::default() };
        let track = RaceTrack::new(&device, &RaceProblem::new(mnk, options.element), &rules)?;
        let lanes = candidates(&spec, device.info(), &problem)?.into_iter().map(|plan| kernels.lane(plan)).collect();
        let mut heat = Heat { track, lanes, library: None, library_times: Vec::new() };
        heat.library = heat.track.enter_library(&rules).map_err(|why| println!("auto {mnk}: {why}")).ok();
        heat.run(chosen, options.rounds, |plan| {
            other_walks(plan, &problem).into_iter().map(|plan| kernels.lane(plan))
        })?;
        let library = median(&heat.library_times);
        let row = |lane: &Lane| lane.row(of, options.element, mnk, device.info(), library);
        let measured: Vec<Row> = heat.lanes.iter().map(row).collect();
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

/// One problem's race.
struct Heat {
    track: RaceTrack,
    lanes: Vec<Lane>,
    library: Option<LibraryEntrant>,
    library_times: Vec<f64>,
}

impl Heat {
    /// Times lanes: once all, then those with a chance and other walks of the fastest, then the fastest and the chosen one more often.
    fn run<I: Iterator<Item = Lane>>(
        &mut self,
        chosen: Which,
        rounds: usize,
        walked: impl Fn(&KernelPlan) -> I,
    ) -> Result {
        // The first run loads and allocates.
        self.time(self.lanes.len(), 1)?;
        self.lanes.iter_mut().for_each(|lane| lane.times.clear());
        self.time(self.lanes.len(), 1)?;
        let limit = self.sort(self.lanes.len()) * HOPELESS;
        let rounds = if limit > HOPELESS * LONG { rounds.div_ceil(2) } else { rounds };
        let hopeful = self.lanes.partition_point(|lane| lane.median() <= limit).max(FINALISTS.min(self.lanes.len()));
        let hopeful = self.keep(chosen, hopeful)?;
        self.time(hopeful, rounds - 1)?;
        self.sort(hopeful);
        let fastest = self.lanes[..WALKED.min(hopeful)].iter().filter(|lane| lane.plan.spec.loader.is_tma());
        let mut others: Vec<Lane> = fastest.flat_map(|lane| walked(&lane.plan)).collect();
        let lanes = others.len() + hopeful;
        others.append(&mut self.lanes);
        self.lanes = others;
        self.time(lanes - hopeful, rounds)?;
        self.sort(lanes);
        let finalists = self.keep(chosen, FINALISTS.min(lanes))?;
        self.time(finalists, rounds)
    }

    /// Brings the chosen plan among the first `count` if it is behind them, as one more.
    fn keep(&mut self, chosen: Which, count: usize) -> Result<usize> {
        let own =
            self.lanes.iter().position(|lane| Which::of(&lane.plan) == chosen).ok_or("Auto's plan is not raced")?;
        if own < count {
            return Ok(count);
        }
        self.lanes.swap(own, count);
        Ok(count + 1)
    }

    /// Sorts the first `count` lanes by their times, and tells the least.
    fn sort(&mut self, count: usize) -> f64 {
        self.lanes[..count].sort_by(|x, y| x.median().total_cmp(&y.median()));
        self.lanes.first().map_or(0.0, Lane::median)
    }

    /// Each of the first `count` lanes once a round, there and back, so that nobody always follows the same plan, and
    /// cuBLASLt in between.
    fn time(&mut self, count: usize, rounds: usize) -> Result {
        for round in 0..rounds {
            for i in 0..count {
                if i == count / 2
                    && let Some(library) = &self.library
                {
                    self.library_times.push(self.track.time_library(library)?);
                }
                let lane = &mut self.lanes[if round % 2 == 0 { i } else { count - 1 - i }];
                lane.times.push(self.track.time(&lane.gemm)?);
            }
        }
        Ok(())
    }
}

fn tell(choice: &Choice) {
    let ((own, own_predicted, own_measured), (best, best_predicted, best_measured)) = (choice.chosen, choice.best);
    println!(
        "auto {:<7} {} {} | {own} {own_measured:.2} us ({own_predicted:.2}) | best of {}: {best} {best_measured:.2} us \
         ({best_predicted:.2}) | ratio {:.3} | cuBLASLt {:.2} us, {:.3} | ranks {:.2}",
        choice.suite.name(),
        choice.element,
        choice.mnk,
        choice.measured,
        choice.ratio(),
        choice.library,
        choice.against_library(),
        choice.correlation
    );
}

fn summary(choices: &[Choice]) {
    for suite in Suite::ALL {
        let of: Vec<&Choice> = choices.iter().filter(|choice| choice.suite == suite).collect();
        if of.is_empty() {
            continue;
        }
        let least = of.iter().map(|choice| choice.ratio()).fold(f64::INFINITY, f64::min);
        let mean = geometric_mean(of.iter().map(|choice| choice.ratio()));
        println!("auto {:<7} {} problems, geometric mean {mean:.3}, least {least:.3}", suite.name(), of.len());
        let raced: Vec<f64> = of.iter().map(|choice| choice.against_library()).filter(|x| x.is_finite()).collect();
        let least = raced.iter().copied().fold(f64::INFINITY, f64::min);
        if !raced.is_empty() {
            let best = of.iter().map(|choice| choice.library / choice.best.2).filter(|x| x.is_finite());
            let (mean, best) = (geometric_mean(raced), geometric_mean(best));
            println!(
                "auto {:<7} cuBLASLt/auto: mean {mean:.3}, least {least:.3}; cuBLASLt/best: {best:.3}",
                suite.name()
            );
        }
        let within = of.iter().map(|choice| choice.correlation).sum::<f64>() / of.len() as f64;
        let chosen: Vec<_> = of.iter().map(|choice| (choice.chosen.1, choice.chosen.2)).collect();
        println!(
            "auto {:<7} ranks of predictions: {within:.2} within problems, {:.2} over the chosen plans",
            suite.name(),
            rank_correlation(&chosen)
        );
    }
}

/// Times in parentheses are predictions of the model as it is now.
fn replay(file: &std::path::Path, all: bool) -> Result {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let (rows, device) = (read(&text)?, DeviceInfo::h200());
    if all {
        for (row, predicted) in misses(&rows, &device)? {
            println!(
                "{},{},{},{},{},{:.2},{predicted:.2},{:.3}",
                row.suite.name(),
                row.element,
                row.mnk,
                row.which,
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
