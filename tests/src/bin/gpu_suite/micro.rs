//! Micro-kernels on the GPU: each once, its output kept.
//!
//! A kernel that faults takes the process's context with it, so children run them, and a new child goes on behind the kernel
//! that failed or hung.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use warpwright::Device;
use warpwright::arch::ArchId;
use warpwright::runtime::{
    Invocation, LaunchCall, LaunchTemplate, Program, TensorMapSpec, TensorView, WorkspaceLayout,
};
use warpwright_tests::launched::NotOnTheHost;
use warpwright_tests::micro::{Buffer, Micro, Outcome, PARAMETERS, Record, all, emulate, parse, write};

/// How long one kernel may take with its loading, and the first one with the driver's start.
const PATIENCE: Duration = Duration::from_secs(8);

/// Children that run side by side: the driver assembles each text on the CPU.
const STRIPES: usize = 8;

/// Children that may fail one after the other before the rest of a stripe is given up.
const MOST_CHILDREN: usize = 12;

pub fn main(arguments: &[String]) -> ExitCode {
    let mut out = PathBuf::from(".");
    let mut mode = "run";
    let (mut first, mut stripe) = (0, 0);
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        match name.as_str() {
            "--out" => out = rest.next().map(PathBuf::from).unwrap_or(out),
            "--emulate" => mode = "emulate",
            "--ptx" => mode = "ptx",
            "--child" => {
                mode = "child";
                let mut number = || rest.next().and_then(|n| n.parse().ok()).unwrap_or(0);
                (stripe, first) = (number(), number());
            }
            _ => {
                eprintln!("no such option: {name}");
                return ExitCode::from(2);
            }
        }
    }
    let result = match mode {
        "emulate" => emulated(&out),
        "ptx" => texts(&out),
        "child" => child(&out, stripe, first),
        _ => parent(&out),
    };
    match result {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(1)
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Writes what the emulator makes of every kernel.
fn emulated(out: &Path) -> Result<String> {
    let mut records = Vec::new();
    for micro in all() {
        let outcome = match emulate(&micro, warpwright_emulator::Config::new(ArchId::SM90)) {
            Ok(bytes) => Outcome::Output(bytes),
            Err(words) => {
                if !micro.traps {
                    println!("{}: {words}", micro.name);
                }
                Outcome::Refused(words)
            }
        };
        records.push(Record { hash: micro.hash(), name: micro.name, outcome });
    }
    let path = out.join("micro-emulated.bin.gz");
    let bytes = write(&records)?;
    fs::write(&path, &bytes)?;
    Ok(format!("{} kernels, {} bytes in {}", records.len(), bytes.len(), path.display()))
}

/// Writes every kernel's text.
fn texts(out: &Path) -> Result<String> {
    let micros = all();
    fs::create_dir_all(out)?;
    for (i, micro) in micros.iter().enumerate() {
        fs::write(out.join(format!("{i:03}.ptx")), format!("// {}\n{}", micro.name, micro.ptx))?;
    }
    Ok(format!("{} kernels", micros.len()))
}

/// A child and the lines it prints: one number before each kernel, a line at the end.
struct Running {
    process: Child,
    lines: Receiver<String>,
}

fn spawn(out: &Path, stripe: usize, first: usize) -> Result<Running> {
    let mut process = Command::new(std::env::current_exe()?)
        .args(["micro", "--child", &stripe.to_string(), &first.to_string(), "--out"])
        .arg(out)
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = process.stdout.take().ok_or("the child has no output")?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Running { process, lines })
}

/// Where the children of a stripe leave their records.
fn part(out: &Path, stripe: usize) -> PathBuf {
    out.join(format!("micro.part{stripe}"))
}

fn parent(out: &Path) -> Result<String> {
    let started = Instant::now();
    let micros = all();
    let parts: Vec<Vec<Record>> = std::thread::scope(|scope| {
        let micros = &micros;
        let threads: Vec<_> = (0..STRIPES)
            .map(|stripe| scope.spawn(move || run_stripe(out, micros, stripe).map_err(|e| e.to_string())))
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| Err("a thread panicked".into())))
            .collect::<std::result::Result<_, _>>()
    })?;
    let mut records: Vec<Record> = parts.into_iter().flatten().collect();
    let place = |record: &Record| micros.iter().position(|micro| micro.name == record.name);
    records.sort_by_key(place);
    let bytes = write(&records)?;
    fs::write(out.join("micro.bin.gz"), &bytes)?;
    let mut unexpected = 0;
    for record in &records {
        let Some(micro) = place(record).map(|i| &micros[i]) else { continue };
        match &record.outcome {
            Outcome::Refused(why) if !micro.traps => println!("refused: {}: {why}", record.name),
            Outcome::Output(_) if micro.traps => println!("ran, but should trap: {}", record.name),
            _ => continue,
        }
        unexpected += 1;
    }
    Ok(format!(
        "micro-kernels: {} of {} ran, {unexpected} unexpectedly, {} bytes, {:.1} s",
        records.len(),
        micros.len(),
        bytes.len(),
        started.elapsed().as_secs_f64()
    ))
}

/// Runs the kernels of a stripe, in as many processes as it takes.
fn run_stripe(out: &Path, micros: &[Micro], stripe: usize) -> Result<Vec<Record>> {
    let part = part(out, stripe);
    fs::write(&part, [])?;
    let (mut next, mut children) = (stripe, 0);
    while next < micros.len() && children < MOST_CHILDREN {
        children += 1;
        let mut running = spawn(out, stripe, next)?;
        let mut current = next;
        let why = loop {
            match running.lines.recv_timeout(PATIENCE) {
                Ok(line) => match line.parse() {
                    Ok(number) => current = number,
                    Err(_) => break line,
                },
                Err(RecvTimeoutError::Timeout) => break "no answer: the kernel hangs".to_owned(),
                Err(RecvTimeoutError::Disconnected) => break "the process ended".to_owned(),
            }
        };
        // A process whose context is lost may not end by itself.
        let _ = running.process.kill();
        running.process.wait()?;
        if why == DONE {
            break;
        }
        next = current + STRIPES;
        let known = parse(&fs::read(&part)?);
        // A child that fails notes it, unless it cannot.
        if known.iter().all(|record| record.name != micros[current].name) {
            let outcome = Outcome::Refused(why);
            let record = Record { name: micros[current].name.clone(), hash: micros[current].hash(), outcome };
            // Written anew: a torn record would hide what follows.
            let whole: Vec<u8> = known.iter().chain([&record]).flat_map(Record::bytes).collect();
            fs::write(&part, whole)?;
        }
    }
    let records = parse(&fs::read(&part)?);
    fs::remove_file(&part)?;
    Ok(records)
}

/// What a child says when it has run everything.
const DONE: &str = "done";

/// Runs the kernels of a stripe from number `first` on until one fails, and appends what they wrote.
fn child(out: &Path, stripe: usize, first: usize) -> Result<String> {
    let micros = all();
    println!("{first}");
    let device = Device::cuda(0)?;
    let mut file = fs::OpenOptions::new().append(true).open(part(out, stripe))?;
    for (i, micro) in micros.iter().enumerate().skip(first).step_by(STRIPES) {
        println!("{i}");
        std::io::stdout().flush()?;
        let outcome = one(&device, micro).map_or_else(|error| Outcome::Refused(error.to_string()), Outcome::Output);
        let failed =
            if let Outcome::Refused(why) = &outcome { Some(format!("failed: {why}").replace('\n', " ")) } else { None };
        file.write_all(&Record { name: micro.name.clone(), hash: micro.hash(), outcome }.bytes())?;
        file.flush()?;
        if let Some(why) = failed {
            return Ok(why);
        }
    }
    Ok(DONE.to_owned())
}

fn one(device: &Device, micro: &Micro) -> Result<Vec<u8>> {
    let stream = device.new_stream()?;
    // Buffers are never empty.
    let mut input = micro.input.clone();
    input.resize(input.len().max(16), 0);
    let input = TensorView::<u8>::from_slice(1, input.len(), &input)?.to_device(&stream)?;
    let output = TensorView::<u8>::from_slice(1, micro.output.len(), &micro.output)?.to_device(&stream)?;
    let (at_input, at_output) = (input.view().raw().address(), output.view().raw().address());
    let mut parameters = vec![0; PARAMETERS];
    if let Some((buffer, spec)) = &micro.map {
        let base = if *buffer == Buffer::Input { at_input } else { at_output };
        let placed = TensorMapSpec { address: base + spec.address, ..spec.clone() };
        parameters[..128].copy_from_slice(&device.encode_tensor_map(&placed)?);
    }
    parameters[128..136].copy_from_slice(&at_input.to_le_bytes());
    parameters[136..144].copy_from_slice(&at_output.to_le_bytes());
    let program = Program {
        name: micro.name.clone(),
        tag: ArchId::SM90,
        launches: vec![LaunchTemplate {
            entry: "k".into(),
            source: micro.ptx.clone(),
            options: Vec::new(),
            block: [micro.threads, 1, 1],
            cluster: [micro.cluster, 1, 1],
            shared_bytes: micro.shared,
            params_bytes: PARAMETERS,
            pdl: false,
        }],
        workspace: WorkspaceLayout::default(),
    };
    let executable = device.load(&program)?;
    let call = LaunchCall { grid: [micro.blocks, 1, 1], params: &parameters };
    // SAFETY: the parameter is the kernel's: a map over one buffer and the buffers' addresses, which outlive the run. What a
    // kernel that faults on purpose does is the GPU's to contain.
    unsafe { executable.run(&stream, &Invocation { launches: &[call], host: &NotOnTheHost }) }?;
    stream.synchronize()?;
    Ok(output.view().to_host(&stream)?.to_vec()?)
}
