//! How long kernels take whose warp groups multiply what another warp loads.

use super::model::{Model, Prediction, memory_bytes};
use warpwright_arch::DeviceInfo;
use warpwright_schedulers::TileSpace;
use warpwright_spec::{Mnk, Problem, ScheduleId};

/// Launch, descriptors, barriers, the first requests and the last stores of a kernel, in seconds.
const FIXED: f64 = 4.3e-6;
/// Cycles until a block's first K tile is there.
const FILL: f64 = 1200.0;
/// What waits and barriers add to a K tile's instructions.
const OVERHEAD: f64 = 1.06;
/// Cycles of a barrier round, once a K tile.
const STAGE_CYCLES: f64 = 30.0;
/// Bytes of shared memory that an instruction reads in a cycle.
const SHARED_BYTES: f64 = 128.0;
/// Bytes of K of one instruction.
const DEPTH_BYTES: usize = 32;
/// Rows of A of one instruction.
const ROWS: usize = 64;
/// Bytes that one SM gets from L2 in a cycle when all ask (measured on an H200: 36 to 40).
const L2_TOGETHER: f64 = 40.0;
/// Bytes that fill the shared memory of an SM in a cycle, whoever asked for them (measured on an H200 with pairs: 65).
const FILLED: f64 = 65.0;
/// Cycles of an epilogue whatever its size, and bytes of D (and C) that an SM moves in one.
const EPILOGUE: (f64, f64) = (700.0, 64.0);
/// What a kernel's time grows by each time that it is ten times as long as the first figure: the clock sinks when power is short.
const POWER: (f64, f64) = (20e-6, 0.12);

/// Predicts one plan on one device.
pub(super) fn predict(model: &Model<'_>, device: &DeviceInfo, problem: &Problem) -> Prediction {
    let (plan, spec) = (model.plan, model.spec);
    let cluster = plan.cluster.m * plan.cluster.n;
    let at_once = if cluster > 1 { device.max_clusters(cluster as u32) } else { device.sms }.max(1) as usize;
    let space = TileSpace::of_clusters(plan, problem, at_once);
    let (clusters, k_tiles) = (space.total(), space.tiles.k.max(1));
    let (tiles, resident) = (clusters.saturating_mul(cluster), at_once * cluster);
    let waves = clusters.div_ceil(at_once).max(1);

    let Mnk { m, n, k } = plan.tile;
    let depth = k * spec.a.bits() / 8;
    let instructions = (m / ROWS * depth.div_ceil(DEPTH_BYTES)) as f64;
    let shared = instructions * (DEPTH_BYTES * (ROWS + n)) as f64 / SHARED_BYTES;
    let pipe = (m * n * k) as f64 / model.rates.products;
    let k_tile = (OVERHEAD * pipe.max(shared) + STAGE_CYCLES).max(model.k_tile_bytes() / FILLED);
    let mainloops = waves as f64 * k_tiles as f64 * k_tile + FILL;

    let one = EPILOGUE.0 + (m * n) as f64 * model.output_bytes() / EPILOGUE.1;
    // Of two groups, one stores while the other multiplies, which takes it as long.
    let exposed = match spec.schedule {
        ScheduleId::PINGPONG => one + (waves - 1) as f64 * (one - k_tiles as f64 * k_tile).max(0.0) / 2.0,
        _ => waves as f64 * one,
    };

    let seconds = |cycles: f64| cycles / device.clock;
    let (pipe, epilogue) = (seconds(mainloops), seconds(exposed));
    let l2_bytes = tiles as f64
        * k_tiles as f64
        * ((m * k * spec.a.bits()) as f64 / plan.cluster.n as f64
            + (n * k * spec.b.bits()) as f64 / plan.cluster.m as f64)
        / 8.0;
    let l2 = seconds(l2_bytes / (L2_TOGETHER * resident as f64));
    let memory_bytes =
        memory_bytes(model, &TileSpace::new(plan, problem, resident), device, problem, tiles.min(resident), 0.0);
    let memory = memory_bytes / (device.memory_bandwidth * super::model::MEMORY_EFFICIENCY);
    let compute = (pipe + epilogue) * slowed(pipe + epilogue);
    Prediction {
        tiles,
        pieces: tiles,
        resident,
        waves,
        pipe,
        epilogue,
        split: 0.0,
        compute,
        l2_bytes,
        l2,
        memory_bytes,
        memory,
        fixed: FIXED,
        seconds: FIXED + compute.max(l2).max(memory),
    }
}

/// By how much power slows a kernel down that would take as many seconds.
fn slowed(seconds: f64) -> f64 {
    1.0 + POWER.1 * (seconds / POWER.0).log10().max(0.0)
}
