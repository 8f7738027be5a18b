//! How long a plan should take: the longest of what its SMs do, what L2 hands to them and what device memory brings, and a
//! fixed cost. It ranks plans; it is not a promise.

use super::{dot, rates::Rates, warp_groups};
use warpwright_arch::DeviceInfo;
use warpwright_kernels::lower;
use warpwright_schedulers::{TileSpace, decompose};
use warpwright_spec::{InstructionId, KernelPlan, Mnk, Problem, ResourcePlan, SchedulerId, Spec};

/// What the model says of one plan and problem. Times are in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// Tiles of all batch entries.
    pub tiles: usize,
    /// Pieces of work: tiles, or parts of tiles.
    pub pieces: usize,
    /// Blocks that the device holds at once.
    pub resident: usize,
    /// Pieces per resident block, rounded up.
    pub waves: usize,
    /// What the busiest SM takes to multiply, waits in the mainloop and a tile's first loads among it.
    pub pipe: f64,
    /// What it takes for epilogues.
    pub epilogue: f64,
    /// What it takes to put the parts of tiles together.
    pub split: f64,
    /// What it waits because power is short, and the clock sinks.
    pub power: f64,
    /// The four together.
    pub compute: f64,
    /// Bytes from L2 to SMs: operands of every tile, and partial sums.
    pub l2_bytes: f64,
    /// What they take.
    pub l2: f64,
    /// Bytes from and to device memory: every operand once, again if L2 does not keep it, and D.
    pub memory_bytes: f64,
    /// What they take.
    pub memory: f64,
    /// What a launch takes that copies operands into workspace first.
    pub repack: f64,
    /// Launch, first loads and last stores.
    pub fixed: f64,
    /// In all.
    pub seconds: f64,
    /// What plans are compared by: the time, and of those that wait for memory alike, who leaves the SMs more to spare.
    pub rank: f64,
}

/// That of a model that tells the longest of several times alone.
fn spared(seconds: f64, compute: f64) -> f64 {
    seconds + 0.05 * compute
}

/// Launch, first loads and last stores of a kernel, in seconds: measured on one H200 at 4 to 6 µs for a memory-bound call.
const FIXED: f64 = 5e-6;
/// Bytes that shared memory of one SM moves in a cycle.
const SHARED_BYTES: f64 = 128.0;
/// What issue and bank conflicts add to the busier of pipe and shared memory. This and what follows but the vectors' cycles is
/// fitted to an H200's times of bf16 kernels (`benches/results/h200_auto.md`).
const OVERHEAD: f64 = 1.03;
/// Cycles of waiting for one vector of a step's operands of fused multiply-adds, which no other block fills either: it
/// reproduces an H200's times of f32 256x128x16, 128x128x16, 256x128x32 and 64x128x16 tiles at 4096 and 8192 cubed, and the
/// second one, for K tiles of eight steps, those of 128x128x8.
const VECTOR_CYCLES: [f64; 2] = [20.0, 15.0];
/// Cycles of a block's barrier and address arithmetic, once a K tile.
const BLOCK_CYCLES: f64 = 60.0;
/// Cycles of waiting at a K tile's start that no other block fills, times the stages that are in flight.
const STAGE_CYCLES: f64 = 660.0;
/// Cycles of 16 bytes that alignment forbids to copy asynchronously, between a block's instructions: an H200's times of bf16 with
/// K = 4095 in tiles of 128x256, 128x128 and 64x64 ask for 1.3 to 1.7.
const UNALIGNED_CYCLES: f64 = 1.5;
/// Cycles from a request to its data.
const LATENCY: f64 = 800.0;
/// Cycles until a piece's first K tile is there.
const FILL: f64 = 1800.0;
/// Cycles of an exchange through a flag in global memory, with the stores before and the loads behind it.
const EXCHANGE: f64 = 3600.0;
/// What of its predecessors' exchanges a block waits for, when it continues the tile of another that began with it.
const CHAINED: f64 = 0.54;
/// Bytes of partial sums that a block moves in a cycle.
const PARTIAL_BYTES: f64 = 31.0;
/// Bytes of D (and C) that an SM moves in a cycle.
const EPILOGUE_BYTES: f64 = 29.0;
/// The part of the data sheet's bandwidth that a kernel sees whose loads never wait.
const MEMORY_EFFICIENCY: f64 = 0.85;
/// Cycles until device memory answers, which all bytes in flight share.
const MEMORY_LATENCY: f64 = 1050.0;
/// The part of L2 in which operands stay between waves.
const L2_KEPT: f64 = 0.7;

/// A launch that copies operands into workspace, and the part of the data sheet's bandwidth at which it reads and writes. Estimated
/// from an H200's other kernels that move as many bytes both ways; its own times are not fitted yet.
const REPACK: (f64, f64) = (2.5e-6, 3.3 / 4.8);

/// What is the same for all pieces of a launch.
pub(super) struct Model<'a> {
    pub(super) rates: Rates,
    pub(super) spec: &'a Spec,
    pub(super) plan: &'a KernelPlan,
}

impl Model<'_> {
    fn tile(&self) -> Mnk {
        self.plan.tile
    }

    fn resources(&self) -> &ResourcePlan {
        &self.plan.resources
    }

    /// Bytes of one K tile of both operands.
    pub(super) fn k_tile_bytes(&self) -> f64 {
        let Mnk { m, n, k } = self.tile();
        (k * (m * self.spec.a.bits() + n * self.spec.b.bits())) as f64 / 8.0
    }

    /// Bytes that all blocks together have asked for and wait for.
    fn in_flight(&self, pieces: usize, sms: usize, per_sm: usize) -> f64 {
        let pieces = pieces.max(1);
        let blocks = pieces.min(sms) * pieces.div_ceil(sms).min(per_sm);
        let ahead = self.resources().stages.saturating_sub(1).max(1);
        (blocks * ahead) as f64 * self.k_tile_bytes()
    }

    /// Bytes of a tile's accumulators.
    pub(super) fn partial_bytes(&self) -> f64 {
        (self.tile().m * self.tile().n * self.spec.acc.bits() / 8) as f64
    }

    /// Bytes of D, and of C where it is read, for one element.
    pub(super) fn output_bytes(&self) -> f64 {
        let epilogue = &self.plan.spec.epilogue;
        let reads = epilogue.reads_source() || epilogue.reads_previous();
        (self.spec.d.bits() * if reads { 2 } else { 1 }) as f64 / 8.0
    }

    /// Vectors that a lane loads of a step of K for fused multiply-adds: one of every 16 rows, one of every 32 columns.
    fn vectors(&self) -> f64 {
        let (warps_m, warps_n) = self.resources().warps;
        (self.tile().m / warps_m).div_ceil(16) as f64 + (self.tile().n / warps_n).div_ceil(32) as f64
    }

    /// Cycles of one K tile on an SM with `blocks` resident blocks, for all of them together.
    fn k_tile_cycles(&self, blocks: usize) -> f64 {
        let Mnk { m, n, k } = self.tile();
        let pipe = (m * n * k) as f64 / self.rates.products;
        let (warps_m, warps_n) = self.resources().warps;
        let (a, b) = ((m * k * self.spec.a.bits() / 8) as f64, (n * k * self.spec.b.bits() / 8) as f64);
        // Every warp reads its rows of both operands; the copies write each once.
        let reads = match self.spec.instruction {
            InstructionId::WGMMA | InstructionId::TCGEN05 => a + b,
            _ => a * warps_n as f64 + b * warps_m as f64,
        };
        let shared = (reads + a + b) / SHARED_BYTES;
        let ahead = self.resources().stages.saturating_sub(1).max(1) as f64;
        let blocks = blocks as f64;
        let (overhead, waits) = match self.spec.instruction {
            InstructionId::SIMT => {
                (1.0, k as f64 * self.vectors() * VECTOR_CYCLES[usize::from(k <= 8)] * self.rates.latency)
            }
            // An instruction of 64-bit operands takes its pipe long enough for all that is issued beside it.
            _ if self.spec.a.bits() == 64 => (1.0, 0.0),
            _ => (OVERHEAD, 0.0),
        };
        let widths = self.plan.widths;
        let unaligned = [(widths.a, a), (widths.b, b)].into_iter().filter(|(width, _)| *width < 4);
        let copies = unaligned.map(|(_, bytes)| bytes / 16.0 * UNALIGNED_CYCLES * self.rates.latency).sum::<f64>();
        let busy = blocks * (overhead * pipe.max(shared) + copies + BLOCK_CYCLES) + waits + STAGE_CYCLES / ahead;
        busy.max(blocks * self.k_tile_bytes() / self.rates.l2_alone).max(self.rates.latency * LATENCY / ahead)
    }

    /// Cycles of a tile's epilogue.
    fn epilogue_cycles(&self) -> f64 {
        (self.tile().m * self.tile().n) as f64 * self.output_bytes() / EPILOGUE_BYTES
    }

    /// Cycles of a block that stores or loads a tile of partial sums.
    fn move_cycles(&self) -> f64 {
        self.partial_bytes() / PARTIAL_BYTES
    }
}

/// Cycles of the busiest SM.
#[derive(Clone, Copy, Default)]
struct Cycles {
    pipe: f64,
    epilogue: f64,
    split: f64,
}

/// Predicts one plan on one device.
pub fn predict(plan: &KernelPlan, device: &DeviceInfo, problem: &Problem) -> Prediction {
    let kernel = kernel(plan, device, problem);
    if !plan.repacks.any() {
        return kernel;
    }
    let (fixed, efficiency) = REPACK;
    let bytes = lower::repacked_bytes(plan, problem) as f64;
    let repack = fixed + 2.0 * bytes / (efficiency * device.memory_bandwidth);
    Prediction { repack, seconds: kernel.seconds + repack, rank: kernel.rank + repack, ..kernel }
}

/// The plan's own kernel.
fn kernel(plan: &KernelPlan, device: &DeviceInfo, problem: &Problem) -> Prediction {
    let spec = plan.kernel_spec();
    let model = Model { rates: Rates::of(&spec, device), spec: &spec, plan };
    if spec.instruction == InstructionId::WGMMA && !device.is_host() {
        return warp_groups::predict(&model, device, problem);
    }
    if spec.instruction == InstructionId::DOT {
        return dot::predict(&model, device, problem);
    }
    let per_sm = blocks_per_sm(plan, device);
    let sms = (device.sms as usize).max(1);
    let resident = sms * per_sm;
    let space = TileSpace::new(plan, problem, resident);
    let tiles = space.total();
    let k_tiles = space.tiles.k.max(1);
    let (pieces, cycles, partials) = match spec.scheduler {
        SchedulerId::SPLIT_K | SchedulerId::SPLIT_K_SERIAL if space.splits > 1 => split(&model, &space, sms, per_sm),
        SchedulerId::STREAM_K => stream(&model, &space, sms, per_sm),
        _ => (tiles, whole(&model, tiles, k_tiles, sms, per_sm), 0.0),
    };
    let moved = partials * model.partial_bytes();
    let l2_bytes = tiles as f64 * k_tiles as f64 * model.k_tile_bytes() + moved;
    let seconds = |cycles: f64| cycles / device.clock;
    let l2 = seconds(l2_bytes / (model.rates.l2_together * sms as f64));
    let memory_bytes = memory_bytes(&model, &space, device, problem, pieces.min(resident), moved);
    let memory = memory_bytes / (device.memory_bandwidth * MEMORY_EFFICIENCY)
        + seconds(memory_bytes * MEMORY_LATENCY * model.rates.latency / model.in_flight(pieces, sms, per_sm));
    let (pipe, epilogue, split) = (seconds(cycles.pipe), seconds(cycles.epilogue), seconds(cycles.split));
    let compute = pipe + epilogue + split;
    let seconds = FIXED + compute.max(l2).max(memory);
    Prediction {
        tiles,
        pieces,
        resident,
        waves: pieces.div_ceil(resident),
        pipe,
        epilogue,
        split,
        power: 0.0,
        compute,
        l2_bytes,
        l2,
        memory_bytes,
        memory,
        repack: 0.0,
        fixed: FIXED,
        seconds,
        rank: spared(seconds, compute),
    }
}

/// Whole waves, and a last one whose few pieces leave SMs to fewer blocks each.
fn whole(model: &Model<'_>, pieces: usize, k_tiles: usize, sms: usize, per_sm: usize) -> Cycles {
    let waves = pieces.div_ceil(sms * per_sm);
    let whole = waves.saturating_sub(1);
    let last = (pieces - whole * sms * per_sm).div_ceil(sms);
    let one = |blocks| k_tiles as f64 * model.k_tile_cycles(blocks) + FILL;
    let pipe = whole as f64 * one(per_sm) + if last > 0 { one(last) } else { 0.0 };
    Cycles { pipe, epilogue: waves as f64 * model.epilogue_cycles(), split: 0.0 }
}

/// Pieces, cycles, and how often a tile of partial sums is moved.
fn split(model: &Model<'_>, space: &TileSpace, sms: usize, per_sm: usize) -> (usize, Cycles, f64) {
    let k_tiles = space.tiles.k.max(1);
    let parts = space.splits.min(k_tiles);
    let pieces = space.total().saturating_mul(parts);
    let together = whole(model, pieces, k_tiles.div_ceil(parts), sms, per_sm);
    // One block in `parts` has an epilogue.
    let tiles = space.total().div_ceil(sms) as f64;
    let epilogue = tiles * model.epilogue_cycles();
    let moved = model.move_cycles();
    let split = match model.spec.scheduler {
        // A block loads and stores the sum in its turn.
        SchedulerId::SPLIT_K_SERIAL => parts as f64 * (2.0 * moved + EXCHANGE),
        // All store, the last to arrive loads all.
        _ => moved * pieces.div_ceil(sms) as f64 + EXCHANGE + tiles * parts as f64 * moved,
    };
    (pieces, Cycles { pipe: together.pipe, epilogue, split }, 2.0 * pieces as f64)
}

/// Stream-K: a unit of the split tiles, then whole tiles.
fn stream(model: &Model<'_>, space: &TileSpace, sms: usize, per_sm: usize) -> (usize, Cycles, f64) {
    let d = decompose(space);
    if d.units == 0 {
        return (space.total(), whole(model, space.total(), space.tiles.k.max(1), sms, per_sm), 0.0);
    }
    let unit = d.split_tiles.saturating_mul(space.tiles.k).div_ceil(d.units);
    // A unit begins in the middle of one tile and ends in that of another.
    let visited = d.split_tiles as f64 / d.units as f64 + 1.0;
    let blocks = d.units.div_ceil(sms).min(per_sm);
    let of_units = unit as f64 * model.k_tile_cycles(blocks) + visited * FILL;
    let whole = whole(model, d.whole_tiles, space.tiles.k.max(1), sms, per_sm);
    // What a block stores of one tile and loads of another.
    let moved = 2.0 * model.move_cycles();
    let cycles = Cycles {
        pipe: of_units + whole.pipe,
        epilogue: visited * model.epilogue_cycles() + whole.epilogue,
        split: blocks as f64 * moved + EXCHANGE + d.units.div_ceil(d.split_tiles) as f64 * CHAINED * (moved + EXCHANGE),
    };
    (d.units + d.whole_tiles, cycles, 2.0 * (d.units + d.split_tiles) as f64)
}

/// Blocks of a plan that one SM holds, at least one.
pub(super) fn blocks_per_sm(plan: &KernelPlan, device: &DeviceInfo) -> usize {
    let r = &plan.resources;
    // Accumulators, and what fragments and addresses take beside them.
    let accumulators = plan.tile.m * plan.tile.n * plan.spec.acc.bits() / 32 / r.threads.max(1);
    let registers = match plan.spec.instruction {
        InstructionId::DOT => r.registers,
        _ => (96 + accumulators.max(16)).min(r.registers),
    };
    device.blocks_per_sm(r.threads as u32, registers as u32, r.shared_bytes as u32).max(1) as usize
}

/// Bytes of device memory that are moved when `together` pieces run at once, which move `moved` bytes of partial sums.
pub(super) fn memory_bytes(
    model: &Model<'_>,
    space: &TileSpace,
    device: &DeviceInfo,
    problem: &Problem,
    together: usize,
    moved: f64,
) -> f64 {
    // Nothing is launched then.
    if space.total() == 0 {
        return 0.0;
    }
    let (spec, plan) = (model.spec, model.plan);
    let bound = problem.bound();
    let extents = if plan.transposed { bound.swapped() } else { bound };
    let groups = space.groups as f64;
    let matrix = |rows: usize, columns: usize, bits: usize| rows as f64 * columns as f64 * bits as f64 / 8.0;
    let operands = groups * (matrix(extents.m, extents.k, spec.a.bits()) + matrix(extents.k, extents.n, spec.b.bits()));
    let output = groups * extents.m as f64 * extents.n as f64 * model.output_bytes();
    let kept = device.l2_bytes as f64 * L2_KEPT;
    // Rows and columns of tiles that a wave covers, each read once a wave if L2 keeps none between waves.
    let plane = space.tiles.plane().max(1);
    let at_once = together.clamp(1, plane);
    let (across, along) = match plan.raster {
        warpwright_spec::RasterOrder::AlongM => (space.tiles.n, space.tiles.m),
        warpwright_spec::RasterOrder::AlongN => (space.tiles.m, space.tiles.n),
    };
    let across = plan.swizzle.min(across).max(1);
    let along = at_once.div_ceil(across).min(along.max(1));
    let (rows, columns) = match plan.raster {
        warpwright_spec::RasterOrder::AlongM => (along, across),
        warpwright_spec::RasterOrder::AlongN => (across, along),
    };
    let footprint =
        matrix(rows * plan.tile.m, extents.k, spec.a.bits()) + matrix(extents.k, columns * plan.tile.n, spec.b.bits());
    let again = groups * (plane as f64 / at_once as f64) * footprint;
    let read = if operands <= kept { operands } else { operands.max(again) };
    read + output + if moved <= kept { 0.0 } else { moved }
}

#[cfg(test)]
mod tests {
    use crate::auto::{OperandFacts, predict, resolve};
    use warpwright_arch::{ArchId, DeviceInfo};
    use warpwright_numeric::Dtype;
    use warpwright_spec::{GemmDesc, Mnk, Problem, ScheduleId};

    fn predicted(desc: &GemmDesc, size: usize) -> (Mnk, f64) {
        let (device, problem) = (DeviceInfo::h200(), Problem::dense(size, size, size));
        let plan = resolve(&desc.spec().unwrap(), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
        (plan.tile, predict(&plan, &device, &problem).seconds * 1e6)
    }

    fn desc(tag: ArchId, element: Dtype) -> GemmDesc {
        let d = if element == Dtype::Bf16 { Dtype::F32 } else { element };
        GemmDesc { schedule: ScheduleId::MULTISTAGE, ..GemmDesc::new(tag, element, d) }
    }

    /// Medians of one H200 (`benches/results/h200_sm80_multistage.md`), in µs.
    #[test]
    fn times_of_an_h200_are_reproduced() {
        for (element, size, tile, stages, measured) in [
            (Dtype::Bf16, 1024, (64, 128, 64), 4, 12.6),
            (Dtype::Bf16, 2048, (128, 256, 64), 3, 41.9),
            (Dtype::Bf16, 4096, (128, 256, 64), 3, 280.7),
            (Dtype::Bf16, 4096, (256, 128, 64), 3, 282.0),
            (Dtype::Bf16, 4096, (128, 128, 64), 3, 293.0),
            (Dtype::Bf16, 8192, (128, 256, 64), 3, 2110.0),
            (Dtype::Bf16, 8192, (128, 128, 64), 3, 2504.0),
            (Dtype::F32, 4096, (256, 128, 16), 4, 3209.6),
            (Dtype::F32, 4096, (256, 128, 32), 3, 3217.9),
            (Dtype::F32, 4096, (128, 256, 16), 4, 3356.8),
            (Dtype::F32, 4096, (128, 128, 8), 4, 3136.6),
            (Dtype::F32, 4096, (128, 128, 16), 4, 3424.0),
            (Dtype::F32, 8192, (64, 128, 16), 4, 25257.1),
            (Dtype::F32, 8192, (128, 128, 8), 4, 24634.2),
            (Dtype::F32, 8192, (256, 128, 32), 3, 25561.5),
            (Dtype::F32, 8192, (64, 128, 32), 4, 30969.9),
            (Dtype::F64, 4096, (128, 128, 16), 4, 4392.4),
            (Dtype::F64, 4096, (128, 64, 16), 4, 4443.4),
            (Dtype::F64, 8192, (128, 128, 16), 4, 34747.4),
            (Dtype::F64, 8192, (128, 64, 16), 4, 34656.8),
        ] {
            let tile = Mnk::new(tile.0, tile.1, tile.2);
            let desc = GemmDesc { tile: Some(tile), stages: Some(stages), ..desc(ArchId::SM80, element) };
            let (_, predicted) = predicted(&desc, size);
            let ratio = predicted / measured;
            assert!((0.85..1.15).contains(&ratio), "{element} {size} {tile:?}: {predicted:.1}, measured {measured}");
        }
    }

    /// The fastest of the tiles that were measured: 64x128x16 takes 1.4 to 3 % longer.
    #[test]
    fn the_tile_of_exact_f32_is_the_fastest_on_an_h200() {
        let desc = desc(ArchId::SM80, Dtype::F32);
        for size in [4096, 8192] {
            assert_eq!(predicted(&desc, size).0, Mnk::new(128, 128, 8), "{size}");
        }
    }

    /// Hopper runs m8n8k4, all that older tags have, at half of the rate of its data sheet.
    #[test]
    fn newer_instructions_of_f64_are_expected_to_pay() {
        for size in [4096, 8192] {
            let [old, new] = [ArchId::SM80, ArchId::SM90].map(|tag| predicted(&desc(tag, Dtype::F64), size));
            assert!(new.1 < 0.6 * old.1, "{size}: {old:?} {new:?}");
        }
    }
}
