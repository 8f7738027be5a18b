//! How long a plan should take: pipe time, shared-memory time, memory time, waves and a fixed cost. It ranks tiles; it is
//! not a promise.

use warpwright_arch::DeviceInfo;
use warpwright_spec::{InstructionId, KernelPlan, Mnk, Problem, ResourcePlan, Spec};

/// What the model says of one plan and problem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// Tiles of all batch entries.
    pub tiles: usize,
    /// Blocks that the device holds at once.
    pub resident: usize,
    /// Tiles per resident block, rounded up.
    pub waves: usize,
    /// Cycles of one tile on an SM that it shares with the other resident blocks.
    pub tile_cycles: f64,
    /// Seconds that the multiply pipes, shared memory and waits take.
    pub compute: f64,
    /// Seconds that device memory takes for every operand once and D.
    pub memory: f64,
    /// Seconds in all, with the fixed cost of a launch.
    pub seconds: f64,
}

/// Launch, first loads and last stores of a kernel, in seconds: measured on one H200 at 4 to 6 µs for a memory-bound call.
const FIXED: f64 = 5e-6;
/// Bytes that shared memory of one SM moves in a cycle.
const SHARED_BYTES: f64 = 128.0;
/// What issue, bank conflicts and refills add to the busier of pipe and shared memory; with the two constants below it
/// reproduces an H200's times of bf16 128x256x64, 128x128x64, 128x128x32 and 64x128x64 tiles at 1024 to 8192 cubed within 7 %.
const OVERHEAD: f64 = 1.15;
/// Cycles of a block's barrier and address arithmetic, once a K tile.
const BLOCK_CYCLES: f64 = 60.0;
/// Cycles of waiting at a K tile's start that no other block fills.
const STAGE_CYCLES: f64 = 220.0;

/// Fused multiply-adds of one SM in a cycle, for 16-bit elements, by capability.
fn mma_sync_rate(device: &DeviceInfo) -> f64 {
    match device.capability.map(|c| (c.major, c.minor)) {
        Some((7, _)) => 512.0,
        Some((8, 0)) => 1024.0,
        Some((8, _)) => 512.0,
        // mma.sync reaches about 0.63 of what wgmma does.
        Some((9, _)) => 1290.0,
        _ => 1024.0,
    }
}

fn rate(spec: &Spec, device: &DeviceInfo) -> f64 {
    let sixteen = match spec.instruction {
        InstructionId::SIMT => return 128.0,
        InstructionId::WGMMA => 2048.0,
        InstructionId::TCGEN05 => 4096.0,
        _ => mma_sync_rate(device),
    };
    sixteen * 16.0 / spec.a.bits().max(spec.b.bits()) as f64
}

/// Cycles of one K tile on an SM with `blocks` resident blocks, for all of them together.
fn k_tile_cycles(spec: &Spec, device: &DeviceInfo, tile: Mnk, resources: &ResourcePlan, blocks: usize) -> f64 {
    let products = (tile.m * tile.n * tile.k) as f64;
    let pipe = products / rate(spec, device);
    let bytes_k = (tile.k * spec.a.bits() / 8) as f64;
    let (warps_m, warps_n) = resources.warps;
    // Every warp reads its rows of both operands; the copies write each once.
    let reads = match spec.instruction {
        InstructionId::WGMMA | InstructionId::TCGEN05 => (tile.m + tile.n) as f64 * bytes_k,
        _ => (tile.m * warps_n + tile.n * warps_m) as f64 * bytes_k,
    };
    let writes = (tile.m + tile.n) as f64 * bytes_k;
    let shared = (reads + writes) / SHARED_BYTES;
    blocks as f64 * (OVERHEAD * pipe.max(shared) + BLOCK_CYCLES) + STAGE_CYCLES
}

/// Predicts one plan on one device.
pub fn predict(plan: &KernelPlan, device: &DeviceInfo, problem: &Problem) -> Prediction {
    let spec = plan.kernel_spec();
    let bound = problem.bound();
    let extents = if plan.transposed { bound.swapped() } else { bound };
    let groups = problem.groups();
    let across = extents.m.div_ceil(plan.tile.m).saturating_mul(extents.n.div_ceil(plan.tile.n));
    let tiles = across.saturating_mul(groups);
    let r = &plan.resources;
    let blocks = device.blocks_per_sm(r.threads as u32, registers(r) as u32, r.shared_bytes as u32).max(1) as usize;
    let resident = device.sms as usize * blocks;
    let waves = tiles.div_ceil(resident.max(1));
    let k_tiles = extents.k.div_ceil(plan.tile.k).max(1);
    // The last wave of a few tiles leaves SMs to fewer blocks each.
    let last = tiles.saturating_sub(waves.saturating_sub(1).saturating_mul(resident));
    let last_blocks = last.div_ceil(device.sms as usize).clamp(1, blocks);
    let fill = 800.0 + (plan.tile.m * plan.tile.n) as f64 / 16.0;
    let cycles = |blocks| k_tiles as f64 * k_tile_cycles(&spec, device, plan.tile, r, blocks) + fill;
    let tile_cycles = cycles(blocks);
    let total_cycles = waves.saturating_sub(1) as f64 * tile_cycles + if tiles > 0 { cycles(last_blocks) } else { 0.0 };
    let compute = total_cycles / device.clock;
    let bytes = |rows: usize, columns: usize, bits: usize| rows as f64 * columns as f64 * bits as f64 / 8.0;
    let d_bits =
        spec.d.bits() * if plan.spec.epilogue.reads_source() || plan.spec.epilogue.reads_previous() { 2 } else { 1 };
    let memory = groups as f64
        * (bytes(extents.m, extents.k, spec.a.bits())
            + bytes(extents.k, extents.n, spec.b.bits())
            + bytes(extents.m, extents.n, d_bits))
        / device.memory_bandwidth;
    Prediction { tiles, resident, waves, tile_cycles, compute, memory, seconds: FIXED + compute.max(memory) }
}

/// Registers a thread that residency counts with: accumulators, fragments and addresses of a 64 x 64 warp tile take most of
/// a thread's 255, smaller warp tiles what the accumulators leave.
fn registers(r: &ResourcePlan) -> usize {
    let a = &r.accumulators;
    let per_thread = a.subtile_n * a.subtile_m / r.threads.max(1) * 4;
    (96 + per_thread.max(16)).min(r.registers)
}
