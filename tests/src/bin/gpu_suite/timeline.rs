//! When each warp group of a Pingpong kernel multiplies and when it stores, by timers that are written into its text: one
//! group's epilogue must run under the other's products.

use warpwright::kernels::lower;
use warpwright::prelude::*;
use warpwright::runtime::{Invocation, WorkspacePtr};
use warpwright::spec::{Node, Problem};
use warpwright::{Arg, Args, Arguments, ScheduleId, SchedulerId};
use warpwright_tests::launched::{NotOnTheHost, packed};

use crate::Part;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Short products, so that storing takes a good part of the time.
const EXTENTS: (usize, usize, usize) = (4096, 4096, 512);
/// Tiles of a block that are recorded.
const TURNS: usize = 6;
/// What is recorded of a tile: the clock and the global timer before its products, behind them, and behind its epilogue.
const STAMPS: usize = 6;
/// Of every epilogue's time, at least this must lie under the other group's products.
const LEAST: f64 = 0.8;

const STAMP: &str = "
// The recorder's addresses come where partial sums would be.
__device__ __forceinline__ void stamp(const Params& params, unsigned turn, unsigned what) {
    if (threadIdx.x % 128 != 0 || turn >= TURNS) return;
    unsigned long long clock, timer;
    asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(clock)::\"memory\");
    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(timer)::\"memory\");
    auto* to = static_cast<unsigned long long*>(params.scheduler.partials) + (blockIdx.x * TURNS + turn) * 6;
    to[what] = clock;
    to[3 + what] = timer;
}
template <class Visitor, class Scheduler, class Mainloop>
__device__ __forceinline__ void consume(";

pub fn run(device: &Device, small: bool) -> Part {
    if small {
        return Ok("not in a small run: tools that watch every access change what a timeline shows".into());
    }
    if device.info().capability.map(|c| c.number()) != Some(90) {
        return Ok("not here: Pingpong is sm_90's alone".into());
    }
    timeline(device).map_err(|e| e.to_string())
}

/// The kernel's text with a timer before and behind its parts.
fn with_timers(source: &str) -> Result<String> {
    let mut text = source.to_owned();
    for (from, to) in [
        ("template <class Visitor, class Scheduler, class Mainloop>\n__device__ __forceinline__ void consume(", STAMP),
        ("mainloop.await(turn);", "mainloop.await(turn);\nstamp(params, turn, 0);"),
        ("mainloop.combine(accumulators, ", "stamp(params, turn, 1);\nmainloop.combine(accumulators, "),
        ("if (shares) visitor.run(output, sums);", "if (shares) visitor.run(output, sums);\nstamp(params, turn, 2);"),
    ] {
        if text.matches(from).count() != 1 {
            return Err(format!("the kernel's text has no one place that reads `{from}`").into());
        }
        text = text.replace(from, to);
    }
    Ok(text.replace("TURNS", &TURNS.to_string()))
}

fn timeline(device: &Device) -> Result<String> {
    judge(&record(device, &Node::LoadAcc, &[])?)
}

/// The mean clocks that products and epilogues of a tile take side by side, of a tree whose arguments are these numbers; a row where
/// there is none.
pub fn clocks(device: &Device, node: &'static Node, arguments: &[Option<f64>]) -> Result<[u64; 2]> {
    let (mut products, mut epilogues, mut turns) = (0, 0, 0);
    for turn in record(device, node, arguments)?.chunks(STAMPS).filter(|turn| turn[2] > 0) {
        products += turn[1] - turn[0];
        epilogues += turn[2] - turn[1];
        turns += 1;
    }
    if turns == 0 {
        return Err("nothing was recorded".into());
    }
    Ok([products / turns, epilogues / turns])
}

fn record(device: &Device, node: &'static Node, arguments: &[Option<f64>]) -> Result<Vec<u64>> {
    let (m, n, k) = EXTENTS;
    let desc = GemmDesc {
        schedule: ScheduleId::PINGPONG,
        scheduler: SchedulerId::PERSISTENT,
        tile: Some(Mnk::new(128, 128, 64)),
        epilogue: node,
        ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32)
    };
    let problem = Problem::dense(m, n, k);
    let plan = AnyGemm::new(&desc, device)?.plan(&problem)?;
    let mut program = lower::program(&plan)?;
    for launch in &mut program.launches {
        launch.source = with_timers(&launch.source)?;
    }
    let executable = device.load(&program)?;
    let stream = device.new_stream()?;
    let operand = |rows, columns| Tensor::<bf16>::zeros_on(&stream, Strided::dense(rows, columns, Order::RowMajor));
    let (a, b, mut d) = (operand(m, k)?, operand(n, k)?, operand(m, n)?);
    let blocks = device.info().sms as usize;
    let record = Tensor::<f64>::zeros_on(&stream, Strided::dense(blocks, TURNS * STAMPS, Order::RowMajor))?;
    let partials = WorkspacePtr { address: record.view().raw().address(), bytes: record.view().raw().bytes() };
    let row = Tensor::<f32>::zeros_on(&stream, Strided::dense(1, n, Order::RowMajor))?;
    let mut args = Args::new();
    for argument in arguments {
        args.push(argument.map_or(Arg::Read(row.view().raw()), Arg::Number));
    }
    let arguments = Arguments {
        a: a.view().raw(),
        b: b.view().transposed().raw(),
        d: d.view_mut()?.into_raw(),
        epilogue: &args,
        extra: &[],
    };
    let at = lower::DeviceWorkspace { partials, ..Default::default() };
    let call = packed(device, &plan, &problem, &arguments, blocks, at)?;
    // The second launch is the one that is read: its code and operands are where they are wanted.
    for _ in 0..2 {
        let invocation = Invocation { launches: &[call.launch()], host: &NotOnTheHost };
        // SAFETY: the operands are this device's, of the problem's extents, and live until the stream is waited for; the
        // record has room for every block's turns.
        unsafe { executable.run(&stream, &invocation) }?;
    }
    stream.synchronize()?;
    Ok(record.to_host(&stream)?.to_vec()?.into_iter().map(f64::to_bits).collect())
}

fn judge(stamps: &[u64]) -> Result<String> {
    let (mut under, mut epilogues, mut products, mut apart) = (0u64, 0u64, 0u64, true);
    for block in stamps.chunks(TURNS * STAMPS) {
        let turns: Vec<&[u64]> = block.chunks(STAMPS).collect();
        // The first turns begin together, and the last has nobody behind it.
        for pair in turns.windows(2).filter(|pair| pair.iter().all(|turn| turn[2] > 0)) {
            let (this, next) = (pair[0], pair[1]);
            under += this[2].min(next[1]).saturating_sub(this[1].max(next[0]));
            epilogues += this[2] - this[1];
            products += this[1] - this[0];
            // One group multiplies at a time.
            apart &= next[1] > this[1];
        }
    }
    if epilogues == 0 {
        return Err("nothing was recorded".into());
    }
    let share = under as f64 / epilogues as f64;
    let of_block: Vec<String> = stamps
        .chunks(STAMPS)
        .take(4)
        .map(|turn| {
            let since = |i: usize| turn[i].saturating_sub(stamps[3]);
            format!("{}-{}-{}", since(3), since(4), since(5))
        })
        .collect();
    let text = format!(
        "{:.0} % of the epilogues' clocks under the other group's products ({:.2} of theirs); block 0 by the global timer, ns: {}",
        100.0 * share,
        epilogues as f64 / products as f64,
        of_block.join(", ")
    );
    if share >= LEAST && apart { Ok(text) } else { Err(text.into()) }
}
