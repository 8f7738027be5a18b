//! The suite that proves kernels on a GPU: one binary, no Rust needed where it runs.
//!
//! `gpu-suite micro [--out FOLDER] [--emulate | --ptx]`
//! `gpu-suite auto [--out FOLDER] [--arch TAG] [--type TYPE] [--suite fitting|judging] [--rounds N] [--seconds N] [--ordinal N]`
//! `gpu-suite auto --replay FILE [--misses]`
//! `gpu-suite [--cases FOLDER] [--out FOLDER] [--ordinal N] [--fuzz COUNT] [--seed N] [--small] [--part NAME] [--bench ROUNDS] [--limit SECONDS]`
//! `gpu-suite hang [--limit SECONDS]`
//!
//! It runs the case table, random problems, lowered index functions, planted faults, refusals, graph replay and many threads
//! on one kernel, prints a table and writes `proven.json`: the hash of each generated source that passed. `--small` runs few
//! and small cases, for compute-sanitizer. `--bench` times plans instead. Exit code 1 if anything fell short. What takes longer than
//! `--limit` for one launch hangs: it is named, and the process aborts. `hang` hangs, to see that.
//! `auto` times what `Auto` chooses against everything that it chooses from, or replays such times. `micro` runs every
//! micro-kernel of the emulator's proof once and writes what they wrote.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its user")]

mod bench;
mod choice;
mod clocks;
mod compile;
mod faults;
mod functions;
mod fused;
mod fuzz;
mod graph;
mod host_time;
mod layouts;
mod micro;
mod proven;
mod refusals;
mod roles;
mod sinks;
mod splits;
mod table;
mod threads;
mod timeline;
mod turns;
mod walks;

use rayon::prelude::*;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use warpwright::Device;
use warpwright_tests::watchdog;

/// What the command line asked for.
struct Options {
    cases: PathBuf,
    out: PathBuf,
    ordinal: usize,
    fuzz: usize,
    seed: u64,
    small: bool,
    bench: usize,
    /// The only parts to run, if any are named.
    parts: Vec<String>,
    /// Longest that a launch may take, its compilation and what is expected of it included.
    limit: Duration,
}

/// Limits of a launch that a part of the suite may take.
const PART: u32 = 10;
/// Under compute-sanitizer a kernel takes a hundred times as long.
const LIMITS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(900)];

/// What became of one part of the suite: a line for the table, or what fell short.
type Part = Result<String, String>;

/// A part of the suite; what passed is noted in the list.
type Run<'a> = Box<dyn FnOnce(&mut proven::Proven) -> Part + 'a>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("micro", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return micro::main(rest);
    }
    if arguments.first().is_some_and(|first| first == "host") {
        let alone = host_time::without_driver(2000).map_err(|e| e.to_string());
        println!("a call without a driver: {alone:.2?} us");
        return ExitCode::SUCCESS;
    }
    if let Some(("auto", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return choice::main(rest);
    }
    let hangs = arguments.first().is_some_and(|first| first == "hang");
    let options = match options(usize::from(hangs)) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    watchdog::watch_launches(options.limit, |hanging| {
        for what in hanging {
            eprintln!("HANGS: {what}");
        }
        // Whoever waits for the GPU cannot be told to stop.
        std::process::abort();
    });
    if hangs {
        let _watched = watchdog::launches(1, || "a launch that never ends".into());
        loop {
            std::thread::park();
        }
    }
    let device = match Device::cuda(options.ordinal) {
        Ok(device) => device,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    if options.bench > 0 {
        let _watched = watchdog::launches(PART, || "the bench".into());
        return match bench::run(&device, options.bench) {
            Ok(()) => ExitCode::SUCCESS,
            Err(what) => {
                eprintln!("{what}");
                ExitCode::from(1)
            }
        };
    }
    println!("device: {} ({:?})", device.name(), device.info().capability);
    let mut proven = proven::Proven::default();
    let parts: [(&str, Run<'_>); 21] = [
        ("case table", Box::new(|p| table::run(&device, &options, p))),
        ("random problems", Box::new(|p| fuzz::run(&device, &options, p))),
        ("walks and tiles", Box::new(|_| walks::run(&device))),
        ("functions", Box::new(|_| functions::run(&device))),
        ("functions' cost", Box::new(|_| functions::cost(&device, options.small))),
        ("fused gelu against cuBLASLt", Box::new(|_| fused::run(&device, options.small))),
        ("index functions", Box::new(|_| layouts::run(&device))),
        ("planted faults", Box::new(|_| faults::run(&device))),
        ("refusals", Box::new(|_| refusals::run(&device))),
        ("graph replay", Box::new(|_| graph::run(&device))),
        ("warp-specialised", Box::new(|_| roles::run(&device, options.small))),
        ("few rows", Box::new(|_| few_rows(&device, options.small))),
        ("chains", Box::new(|_| chains(&device, options.small))),
        ("ping-pong", Box::new(|_| timeline::run(&device, options.small))),
        ("epilogues' clocks", Box::new(|_| clocks::run(&device, options.small))),
        ("split kernels", Box::new(|_| splits::run(&device, options.small))),
        ("outputs", Box::new(|p| sinks::run(&device, options.small, p))),
        ("outputs' cost", Box::new(|_| sinks::cost(&device, options.small))),
        ("threads", Box::new(|_| threads::run(&device, options.small))),
        ("host time", Box::new(|_| host_time::run(&device, options.small))),
        ("compile times", Box::new(|_| compile::run(&device, options.small))),
    ];
    let mut right = true;
    let named = |name: &str| options.parts.is_empty() || options.parts.iter().any(|part| part == name);
    for (name, part) in parts.into_iter().filter(|(name, _)| named(name)) {
        let started = std::time::Instant::now();
        let _watched = watchdog::launches(PART, || format!("the part \"{name}\""));
        let (mark, text) = match part(&mut proven) {
            Ok(text) => ("ok  ", text),
            Err(text) => {
                right = false;
                ("FAIL", text)
            }
        };
        println!("{mark} {name:<16} {:>6.1} s  {text}", started.elapsed().as_secs_f64());
    }
    match proven.write(&options.out, &device) {
        Ok(count) => println!("proven.json: {count} kernels"),
        Err(what) => {
            right = false;
            println!("FAIL proven.json: {what}");
        }
    }
    if right { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Every number of rows up to 128, by kernels that must agree in every bit.
fn few_rows(device: &Device, small: bool) -> Part {
    if device.info().capability.map(|c| c.number()) != Some(90) {
        return Ok("not here: the kernels are sm_90's".into());
    }
    let rows: Vec<usize> = if small { vec![1, 17, 64] } else { (1..=128).collect() };
    let runs: Vec<usize> = rows
        .par_iter()
        .map(|&m| warpwright_tests::few_rows::alike(device, m, (200, 1032)))
        .collect::<Result<_, _>>()?;
    Ok(format!("{} numbers of rows, {} runs of equal bits", rows.len(), runs.iter().sum::<usize>()))
}

/// Dependent products back to back, launched one behind the other and overlapping.
fn chains(device: &Device, small: bool) -> Part {
    if device.info().capability.map(|c| c.number()) != Some(90) {
        return Ok("not here: the kernels are sm_90's".into());
    }
    let (links, times) = if small { (5, 2) } else { (500, 20) };
    for programmatic in [false, true] {
        for _ in 0..times {
            warpwright_tests::chain::permuted(device, links, programmatic).map_err(|e| e.to_string())?;
        }
    }
    Ok(format!("{times} x {links} products, each of the last one's result; the same with programmatic launches"))
}

/// Reads the options behind `skipped` arguments.
fn options(skipped: usize) -> Result<Options, String> {
    let mut limit = None;
    let mut options = Options {
        cases: warpwright_tests::case::folder(),
        out: PathBuf::from("."),
        ordinal: 0,
        fuzz: 400,
        seed: std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_nanos() as u64),
        small: false,
        bench: 0,
        parts: Vec::new(),
        limit: LIMITS[0],
    };
    let mut arguments = std::env::args().skip(1 + skipped);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|e| format!("`{text}` is no number: {e}"));
        match name.as_str() {
            "--cases" => options.cases = value()?.into(),
            "--out" => options.out = value()?.into(),
            "--ordinal" => options.ordinal = number(value()?)? as usize,
            "--fuzz" => options.fuzz = number(value()?)? as usize,
            "--seed" => options.seed = number(value()?)?,
            "--bench" => options.bench = number(value()?)? as usize,
            "--part" => options.parts.push(value()?),
            "--small" => options.small = true,
            "--limit" => limit = Some(Duration::from_secs(number(value()?)?)),
            _ => return Err(format!("no such option: {name}")),
        }
    }
    options.limit = limit.unwrap_or(LIMITS[usize::from(options.small)]);
    Ok(options)
}
