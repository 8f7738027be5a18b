//! How long kernels take whose warp groups multiply what another warp loads.

use super::model::{Model, Prediction, memory_bytes};
use super::resolve::CP_ASYNC_ALIGNMENT;
use super::tiles::LINE;
use warpwright_arch::DeviceInfo;
use warpwright_kernels::lower;
use warpwright_schedulers::{TileSpace, decompose};
use warpwright_spec::{CopyWidths, KernelPlan, MajorId, Mnk, PROMOTION, Problem, ScheduleId, SchedulerId};

/// Launch, descriptors, barriers and the first loads of a kernel, in seconds. This and what follows is fitted to an H200's times of
/// bf16 kernels where nothing else is said (`benches/results/h200_auto.md`).
const FIXED: f64 = 3.30e-6;
/// What clusters add to that whose blocks load for one another, or have parts of a tile's K.
const CLUSTER_FIXED: (f64, f64) = (0.220e-6, 0.190e-6);
/// Cycles until a block's first K tile is there, where nothing could be loaded before.
const FILL: f64 = 2800.0;
/// What waits add to a K tile's instructions.
const OVERHEAD: f64 = 1.10;
/// Cycles of a barrier round, once a K tile, and what it takes longer where blocks load for one another.
const STAGE_CYCLES: f64 = 70.9;
const CLUSTER_CYCLES: f64 = 5.4;
/// Cycles that K tiles of more rows than two warp groups have take longer.
const TALL: (usize, f64) = (128, 11.6);
/// Cycles of the thread that requests a K tile by TMA, of each box of it but the first, and of a K tile whose boxes go to several blocks,
/// however many lines it is deep; and what that takes longer where other clusters ask for the larger operand too.
const ISSUE: (f64, f64) = (328.0, 14.7);
const MULTICAST: (f64, f64) = (163.0, 65.2);
/// Bytes of a K tile that a role's threads copy in a cycle where TMA does not bring them, of 4 or 8 bytes at a time and of fewer, by
/// aligned vectors: an H200's times of bf16 1024x4096x4092 (128x256x64, 89 µs), 4096x4096x4092 and 4090 (320 and 341) and
/// 1001x3000x1001 (128x192x64, 66).
const COPIED: (f64, f64) = (20.0, 5.7);
/// Cycles of an exchange between blocks of a cluster that have parts of a tile's K, where sums lie beside the stages and over them, and
/// bytes that each is sent in a cycle.
const CLUSTER_EXCHANGE: (f64, f64) = (380.0, 1028.0);
const SENT_BYTES: f64 = 8.15;
/// The part of it that each tile of a block beyond the first takes, whose first operands come meanwhile.
const LATER: f64 = 0.42;
/// Bytes of shared memory that an instruction reads in a cycle, of those that there are.
const SHARED_BYTES: f64 = 95.0;
const SHARED_PORT: f64 = 128.0;
/// Bytes of K of one instruction.
const DEPTH_BYTES: usize = 32;
/// Rows of A of one instruction.
const ROWS: usize = 64;
/// Bytes that one SM gets from L2 in a cycle, and with what others ask for and send to it.
const L2_ALONE: f64 = 57.1;
const RECEIVED: f64 = 85.7;
/// Cycles from a request to its bytes when all ask, and how sharply the longest of what a K tile waits for decides.
const LOADED_LATENCY: f64 = 1903.0;
const ARRIVAL: i32 = 5;
/// What of the larger operand, or of both, comes from device memory once more where several blocks ask for the same before it is there:
/// of blocks that begin together, and of blocks of different clusters, whose others they wait for.
const TWICE: (f64, f64) = (0.425, 1.1);
/// The part of what is read again that does so where blocks are at different places of K, those of StreamK.
const SCATTERED: f64 = 0.216;
/// Bytes of D (and C) that a warp group moves in a cycle, whichever way D lies, and cycles of a tile beside that.
const EPILOGUE_BYTES: f64 = 10.6;
const EPILOGUE_CYCLES: f64 = 516.0;
/// What rows of fewer bytes in a slab of D take longer, each.
const NARROW_SLAB: (usize, f64) = (64, 1.17);
/// Of plans whose times are as good as one, those are taken whose D is contiguous along the kernel's columns: more of them were measured.
const ALONG_ROWS: f64 = 1.003;
/// And those whose first operand, which is asked for first, is the larger, in kernels of few waves whose tile's columns are a power of two:
/// of 273 pairs of plans that differ in this alone the others take 2 % longer. Elsewhere they take up to 7 % less.
const LARGER_FIRST: f64 = 0.985;
const MOST_WAVES: usize = 8;
/// And those whose slabs are not narrow, where most tiles are stored beside another's products: 512x28672x4096 and 1024x28672x4096 take
/// 168 and 323 µs by Pingpong 128x176, which was predicted to be the fastest, 161 and 307 by 128x128 and 128x160. In one or two waves they
/// take what is predicted.
const NARROW_SLABS: (usize, f64) = (2, 1.02);
/// And those of two warp groups: three take 3 % longer than predicted, in 80 plans of 65 problems.
const THREE_GROUPS: f64 = 1.03;
/// Cycles from one of two groups that take turns to the other, and what each slab that one of them stores takes of the other's.
const HANDOVER: f64 = 296.0;
const SLAB_CYCLES: f64 = 31.7;
/// The part of the data sheet's bandwidth that long rows get, and the bytes that memory could give while it turns to another row: an
/// operand's rows are apart there, and of each as many bytes are asked for at once as all stages hold.
const MEMORY_EFFICIENCY: f64 = 0.895;
const ROW_BYTES: f64 = 52.6;
/// What it takes before that, in seconds: it wakes up, and writes back what L2 held.
const FIRST_BYTES: f64 = 2.00e-6;
/// What it takes longer for each block that is idle in the last wave, as a part of the whole: those that work ask for too little.
const LAST_WAVE: f64 = 0.19;
/// What operands that L2 does not hold take longer where blocks of a cluster have parts of K, and so are at two places of every row:
/// 128x7168x16384 of e4m3 in parts 41.2 µs, in whole tiles 38.7.
const PARTED: f64 = 1.06;
/// Lines beyond the matrix, of zeros, that all blocks get in a cycle: 40 rows of K = 3072 in boxes of 128 take 24.7 µs, in boxes of
/// 64 12.8.
const LINES_BEYOND: f64 = 10.9;
/// Cycles of an exchange through a flag in global memory where the last block to arrive adds, of each part that it adds, and between a
/// block's part and its next.
const EXCHANGE: f64 = 2127.0;
const PART_CYCLES: f64 = 93.0;
const NEXT_PART: f64 = 4920.0;
/// Bytes that L2 gives all blocks in a cycle where those that ask for the same are not neighbours of one GPC, whose requests are one: of
/// stream-K they are at different places of K, and of clusters that have parts of a tile's K, since each asks for other things and
/// clusters go to one GPC after the other.
const L2_TOGETHER: f64 = 4300.0;
/// Cycles of one where blocks share out the columns, and bytes that each stores and loads in a cycle.
const SHARES_EXCHANGE: f64 = 3360.0;
const SHARES_STORED: f64 = 11.5;
const SHARES_LOADED: f64 = 36.4;
/// Cycles of one where a block continues another's tile, and what of its predecessors' exchanges it waits for.
const CHAINED: (f64, f64) = (2500.0, 0.929);
/// Bytes of partial sums that a block moves in a cycle.
const PARTIAL_BYTES: f64 = 35.6;
/// How sharply the longer of multiplying and device memory decides.
const OVERLAP: i32 = 6;
/// Where power is short the clock sinks until products cost no more than there is, so that SMs that wait for another cost
/// little. Cycles of a product's pipe stand for its energy, and what shared memory gives in one for so much of that; zeros that
/// fill tiles beyond D take none.
const SHARED_ENERGY: f64 = 0.126;
/// What products cost more where nobody multiplies while a tile is stored: of kernels that take more than 0.3 ms of an H200,
/// Pingpong's 128x160 and 128x192 are the fastest.
const IDLE: f64 = 0.05;
/// What that time grows by each time that a kernel is ten times as long as the first figure, and the least of it: short kernels end before
/// power is short.
const POWER: (f64, f64) = (245e-6, 0.306);
const LEAST_POWER: f64 = 0.837;
/// How sharply the longer of both decides.
const SHARPNESS: i32 = 4;
/// Sums that an SM adds in a cycle where they are promoted.
const ADDED: f64 = 128.0;
/// Cycles from a warp group's last instruction of a sum to the first of the next, which other groups may fill, and what a K
/// tile and each of its sums take longer all the same: they reproduce an H200's times of e4m3 Pingpong 128x128, of Cooperative
/// 128x128 to 128x256, and of tiles whose sums were narrower than they may be now.
const DRAIN: f64 = 100.0;
const PROMOTED: (f64, f64) = (30.0, 20.0);

/// Predicts one plan on one device.
pub(super) fn predict(model: &Model<'_>, device: &DeviceInfo, problem: &Problem) -> Prediction {
    let (plan, spec) = (model.plan, model.spec);
    let cluster = plan.cluster.blocks();
    let at_once = if cluster > 1 { device.max_clusters(cluster as u32) } else { device.sms }.max(1) as usize;
    let space = TileSpace::of_clusters(plan, problem, at_once);
    let parts = plan.cluster.k.max(1);
    let all_k_tiles = space.tiles.k.max(1);
    let walk = Walk::of(model, &space, at_once, all_k_tiles.div_ceil(parts));
    let (pieces, resident) = (walk.pieces.saturating_mul(cluster), at_once * cluster);
    let tiles = space.total().saturating_mul(cluster / parts);
    let waves = walk.pieces.div_ceil(at_once).max(1);
    let shares = cluster > parts;

    let Mnk { m, n, k } = plan.tile;
    let seconds = |cycles: f64| cycles / device.clock;
    let bound = problem.bound();
    let extents = if plan.transposed { bound.swapped() } else { bound };
    let operands = Operands::of(model, extents, space.groups);

    let depth = k * spec.a.bits() / 8;
    let instructions = (m / ROWS * depth.div_ceil(DEPTH_BYTES)) as f64;
    let shared = instructions * (DEPTH_BYTES * (ROWS + n)) as f64 / SHARED_BYTES;
    let products = (m * n * k) as f64 / model.rates.products;
    let busy = (OVERHEAD * products).max(shared);
    let tall = if m > TALL.0 { TALL.1 } else { 0.0 };
    let multiplied = busy.max(promoted(model, busy)) + STAGE_CYCLES + tall + if shares { CLUSTER_CYCLES } else { 0.0 };
    let ahead = plan.resources.stages.saturating_sub(1).max(1) as f64;
    let lines = (operands.lines / L2_ALONE).max(operands.received / RECEIVED);
    let arrives = joined([requested(model, shares, operands.apart), (LOADED_LATENCY + lines) / ahead, lines], ARRIVAL);
    let k_tile = multiplied.max(arrives);
    let mainloop = walk.k_tiles / waves as f64 * k_tile;

    let one = stored(model);
    // Of two groups, one stores while the other multiplies. The last tile's epilogue is nobody's to hide.
    let between = match spec.schedule {
        ScheduleId::PINGPONG => {
            (waves - 1) as f64 * (HANDOVER + slabs(model) * SLAB_CYCLES + (one - mainloop).max(0.0))
        }
        // The next tile's operands come behind it where they lie where it was staged.
        _ if plan.resources.reuses_stages() => (walk.tiles - 1.0).max(0.0) * (one + FILL),
        _ => (walk.tiles - 1.0).max(0.0) * one,
    };
    let (pipe, between, last) = (seconds(walk.k_tiles * k_tile), seconds(between), seconds(one));
    // All send at once, each its sums of what another adds.
    let received = (parts - 1) as f64 * model.partial_bytes() / plan.output_parts() as f64;
    let exchange = if plan.resources.sums_reuse_stages() { CLUSTER_EXCHANGE.1 } else { CLUSTER_EXCHANGE.0 };
    let added = if parts > 1 { exchange + received / SENT_BYTES } else { 0.0 };
    let split = seconds((1.0 + LATER * (waves - 1) as f64) * added + walk.split);

    let all = tiles as f64 * all_k_tiles as f64;
    let l2_bytes = operands.requested(all) + walk.moved;
    let l2 = seconds((all * operands.lines + walk.moved) / (L2_ALONE * resident as f64));
    let working = pieces.min(resident);
    let tiles_at_once = working.div_ceil(parts);
    let memory_bytes =
        memory_bytes(model, &TileSpace::new(plan, problem, resident), device, problem, tiles_at_once, walk.moved);
    let row = (plan.resources.stages * depth) as f64;
    let bandwidth = device.memory_bandwidth * MEMORY_EFFICIENCY / (1.0 + ROW_BYTES / row);
    let idle_blocks = if waves > 1 { waves as f64 * resident as f64 / pieces as f64 - 1.0 } else { 0.0 };
    let scattered = if walk.scattered { SCATTERED * operands.again(all) } else { 0.0 };
    let parted = if parts > 1 && memory_bytes > device.l2_bytes as f64 { PARTED } else { 1.0 };
    let read = parted * (1.0 + LAST_WAVE * idle_blocks) * (memory_bytes + operands.twice + scattered);
    let first = if memory_bytes > 0.0 { FIRST_BYTES } else { 0.0 };
    let beyond = seconds(operands.beyond * all_k_tiles as f64 / LINES_BEYOND);
    let memory = (first + read / bandwidth).hypot(beyond);

    let energy = products + SHARED_ENERGY * shared * SHARED_BYTES / SHARED_PORT;
    let (alone, tail) = (pipe + between, last + split);
    let whole_tiles = space.groups as f64 * (bound.m as f64 * bound.n as f64) / (m * n) as f64;
    let idle = if matches!(spec.schedule, ScheduleId::PINGPONG) { 1.0 } else { 1.0 + IDLE };
    let powered = idle * seconds(whole_tiles / resident as f64 * all_k_tiles as f64 * energy) * growth(alone + tail);
    // Of a single row or column of tiles all blocks ask for the same of one operand, whichever they are.
    let both = extents.m > m && extents.n > n;
    let scatters = walk.scattered || (parts > 1 && !shares && both);
    let together = if scatters { seconds(operands.requested(all) / L2_TOGETHER) } else { 0.0 };
    let compute = joined([alone, powered, together], SHARPNESS);
    let sharing = if shares { CLUSTER_FIXED.0 } else { 0.0 };
    let larger_first = extents.m >= extents.n.saturating_mul(2) && n.is_power_of_two() && waves <= MOST_WAVES;
    let fixed = FIXED + (sharing + if parts > 1 { CLUSTER_FIXED.1 } else { 0.0 });
    let in_all = fixed + joined([compute, memory], OVERLAP) + tail;
    Prediction {
        tiles,
        pieces,
        resident,
        waves,
        pipe,
        epilogue: between + last,
        split,
        power: compute - alone,
        compute: compute + tail,
        l2_bytes,
        l2,
        memory_bytes,
        memory,
        repack: 0.0,
        fixed,
        seconds: in_all,
        rank: in_all
            * if plan.along_rows() { ALONG_ROWS } else { 1.0 }
            * if larger_first { LARGER_FIRST } else { 1.0 }
            * if narrow_slabs(plan) && waves > NARROW_SLABS.0 { NARROW_SLABS.1 } else { 1.0 }
            * if plan.resources.warp_groups(spec) == 3 { THREE_GROUPS } else { 1.0 },
    }
}

/// Whether a warp's slabs of D have rows for which TMA takes longer.
fn narrow_slabs(plan: &KernelPlan) -> bool {
    !plan.along_rows() && plan.subtile_columns() * plan.spec.d.bits() / 8 < NARROW_SLAB.0
}

/// Slabs that a tile's columns are stored in.
fn slabs(model: &Model<'_>) -> f64 {
    let columns = model.plan.resources.accumulators.subtile_n.max(1);
    model.plan.tile.n.div_ceil(columns) as f64
}

/// Stores for 16 bytes of a line of D, of which a warp has `part` bytes at once. What TMA cannot store is stored by as many bytes as lines
/// are aligned to, or, where these are few, by aligned vectors, of which one a part is stored in four pieces.
fn accesses(plan: &KernelPlan, part: usize) -> f64 {
    const WIDEST: f64 = CopyWidths::WIDEST as f64;
    match lower::stores_are_shifted(plan) {
        true => 1.0 + 3.0 * WIDEST / part as f64,
        false => WIDEST / plan.widths.d.clamp(1, CopyWidths::WIDEST) as f64,
    }
}

/// Cycles of a tile's epilogue.
fn stored(model: &Model<'_>) -> f64 {
    let (plan, spec, Mnk { m, n, .. }) = (model.plan, model.spec, model.plan.output_tile());
    let slab = plan.subtile_columns() * spec.d.bits() / 8;
    // Along the kernel's rows a warp group's slabs have 64 of them.
    let slower = if narrow_slabs(plan) { NARROW_SLAB.1 } else { 1.0 };
    let part = if plan.along_rows() { lower::SLAB_ROWS * spec.d.bits() / 8 } else { slab };
    let narrow = slower * accesses(plan, part);
    let groups = if matches!(spec.schedule, ScheduleId::PINGPONG) { 1 } else { plan.resources.warp_groups(spec) };
    narrow * (m * n) as f64 * model.output_bytes() / (EPILOGUE_BYTES * groups as f64) + EPILOGUE_CYCLES
}

/// The two operands, in bytes.
struct Operands {
    /// What a block asks for of a K tile of each. Where blocks load for one another, others ask for the rest.
    asked: [f64; 2],
    /// What L2 gives for both.
    lines: f64,
    /// The same with what others ask for.
    received: f64,
    /// The matrices.
    whole: [f64; 2],
    /// Whether they are not small beside the other one. What is small comes once and stays in L2 for all.
    large: [bool; 2],
    /// What comes from device memory once more.
    twice: f64,
    /// Whether what is not small is asked for by blocks of different clusters that do not load it for one another.
    apart: bool,
    /// Lines of all tiles that are beyond the matrix, of one K tile: of operands along K.
    beyond: f64,
}

impl Operands {
    fn of(model: &Model<'_>, extents: Mnk, groups: usize) -> Operands {
        let (plan, spec, Mnk { m, n, k }) = (model.plan, model.spec, model.plan.tile);
        let bits = [spec.a.bits(), spec.b.bits()];
        let bytes = |mn: usize, bits: usize| (mn * k * bits) as f64 / 8.0;
        let asked = [bytes(m, bits[0]) / plan.cluster.n as f64, bytes(n, bits[1]) / plan.cluster.m as f64];
        // L2 gives a line at a time: of rows that begin elsewhere, two for the bytes of one.
        let in_lines = |repacked, major, mn: usize, bits: usize| {
            if repacked {
                return 1.0;
            }
            let row = if matches!(major, MajorId::K) { extents.k } else { mn };
            // A line's bits are a power of two, so that what wraps does not matter.
            if row.wrapping_mul(bits).is_multiple_of(8 * LINE) { 1.0 } else { 2.0 }
        };
        let of_line = [
            in_lines(plan.repacks.a, plan.major_a, extents.m, bits[0]),
            in_lines(plan.repacks.b, plan.major_b, extents.n, bits[1]),
        ];
        let lines = asked[0] * of_line[0] + asked[1] * of_line[1];
        let received = bytes(m, bits[0]) * of_line[0] + bytes(n, bits[1]) * of_line[1];
        let matrix = |rows: usize, bits: usize| rows as f64 * extents.k as f64 * bits as f64 / 8.0 * groups as f64;
        let whole = [matrix(extents.m, bits[0]), matrix(extents.n, bits[1])];
        let large = whole.map(|bytes| bytes >= 0.5 * whole[0].max(whole[1]));
        let (extent, tile) = ([extents.m, extents.n], [m, n]);
        // Blocks that load an operand's rows for one another are beside one another along the other one.
        let (sharing, others) = ([plan.cluster.n, plan.cluster.m], |i: usize| extent[1 - i].div_ceil(tile[1 - i]));
        let asking = |i: usize| others(i).div_ceil(sharing[i]).max(1);
        let alone = |i: usize| plan.cluster.blocks() > 1 && sharing[i] == 1;
        let twice = |i: usize| whole[i] * (1.0 - 1.0 / asking(i) as f64) * if alone(i) { TWICE.1 } else { TWICE.0 };
        let apart = (0..2).any(|i| large[i] && alone(i) && asking(i) > 1);
        let along_k = [plan.major_a, plan.major_b].map(|major| spec.loader.is_tma() && matches!(major, MajorId::K));
        let beyond = |i: usize| {
            let rows = extent[i].div_ceil(tile[i]) as f64 * tile[i] as f64 - extent[i] as f64;
            groups as f64 * (k * bits[i] / 8).div_ceil(LINE) as f64 * rows * others(i) as f64 / sharing[i] as f64
        };
        let of = |wanted: [bool; 2], part: &dyn Fn(usize) -> f64| (0..2).filter(|&i| wanted[i]).map(part).sum();
        Operands { asked, lines, received, whole, large, twice: of(large, &twice), apart, beyond: of(along_k, &beyond) }
    }

    /// What all blocks ask for, of so many K tiles.
    fn requested(&self, k_tiles: f64) -> f64 {
        self.asked.iter().map(|bytes| k_tiles * bytes).sum()
    }

    /// What they ask for of large operands beyond the first time.
    fn again(&self, k_tiles: f64) -> f64 {
        (0..2).filter(|&i| self.large[i]).map(|i| (k_tiles * self.asked[i] - self.whole[i]).max(0.0)).sum()
    }
}

/// What times that overlap take together: the longest, and the more of the others the less sharply it decides.
fn joined<const N: usize>(times: [f64; N], sharpness: i32) -> f64 {
    times.map(|time| time.powi(sharpness)).iter().sum::<f64>().powf(1.0 / f64::from(sharpness))
}

/// What the busiest cluster's blocks do, one beside the other.
struct Walk {
    /// Pieces of work of all clusters.
    pieces: usize,
    /// K tiles, and tiles that have an epilogue.
    k_tiles: f64,
    tiles: f64,
    /// Cycles to put parts of tiles together through workspace, and the bytes that all blocks move for that.
    split: f64,
    moved: f64,
    /// Whether blocks are at different places of K.
    scattered: bool,
}

impl Walk {
    /// Of kernels whose tiles have so many K tiles for each block.
    fn of(model: &Model<'_>, space: &TileSpace, at_once: usize, k_tiles: usize) -> Walk {
        let tiles = space.total();
        let moved = model.partial_bytes() / PARTIAL_BYTES;
        let waves = |pieces: usize| pieces.div_ceil(at_once).max(1) as f64;
        let whole = Walk {
            pieces: tiles,
            k_tiles: waves(tiles) * k_tiles as f64,
            tiles: waves(tiles),
            split: 0.0,
            moved: 0.0,
            scattered: false,
        };
        let blocks = (model.plan.cluster.m * model.plan.cluster.n) as f64;
        let bytes = |parts: usize| blocks * 2.0 * parts as f64 * model.partial_bytes();
        match model.spec.scheduler {
            scheduler @ (SchedulerId::SPLIT_K | SchedulerId::SPLIT_K_SERIAL) if space.splits > 1 => {
                let parts = space.splits.min(space.tiles.k.max(1));
                let pieces = tiles.saturating_mul(parts);
                let split = match scheduler {
                    // A block loads and stores the sum in its turn.
                    SchedulerId::SPLIT_K_SERIAL => parts as f64 * (2.0 * moved + EXCHANGE),
                    // All store what others add.
                    _ if model.plan.shares > 1 => {
                        let stored = model.partial_bytes() * (1.0 - 1.0 / parts as f64) / SHARES_STORED;
                        let loaded = model.partial_bytes() * parts as f64 / model.plan.shares as f64 / SHARES_LOADED;
                        let exchanges = SHARES_EXCHANGE + (waves(pieces) - 1.0) * NEXT_PART;
                        waves(pieces) * (stored + loaded) + exchanges
                    }
                    // All store, the last to arrive loads all.
                    _ => {
                        let exchanges = EXCHANGE + (waves(pieces) - 1.0) * NEXT_PART;
                        moved * waves(pieces) + waves(tiles) * parts as f64 * (moved + PART_CYCLES) + exchanges
                    }
                };
                let k_tiles = waves(pieces) * k_tiles.div_ceil(parts) as f64;
                Walk { pieces, k_tiles, split, moved: bytes(pieces), ..whole }
            }
            SchedulerId::STREAM_K => {
                let d = decompose(space);
                if d.units == 0 {
                    return whole;
                }
                let unit = d.split_tiles as f64 * k_tiles as f64 / d.units as f64;
                // A unit begins in the middle of one tile and ends in that of another.
                let visited = d.split_tiles as f64 / d.units as f64 + 1.0;
                let others = if d.whole_tiles > 0 { waves(d.whole_tiles) } else { 0.0 };
                let exchange = 2.0 * moved + CHAINED.0;
                Walk {
                    pieces: d.units + d.whole_tiles,
                    k_tiles: unit.ceil() + others * k_tiles as f64,
                    tiles: visited + others,
                    split: exchange + d.units.div_ceil(d.split_tiles) as f64 * CHAINED.1 * exchange,
                    moved: bytes(d.units + d.split_tiles),
                    scattered: true,
                }
            }
            _ => whole,
        }
    }
}

/// Cycles in which a K tile is requested: by threads that copy it or, where TMA brings it, by one, of an operand along K a box each
/// line, of one along M or N a box for as many of these.
fn requested(model: &Model<'_>, shares: bool, apart: bool) -> f64 {
    if !model.spec.loader.is_tma() {
        let widths = model.plan.widths;
        let rate = if widths.a.min(widths.b) < CP_ASYNC_ALIGNMENT { COPIED.1 } else { COPIED.0 };
        return model.k_tile_bytes() / rate;
    }
    let Mnk { m, n, k } = model.plan.tile;
    let boxes = |major, mn: usize, bits: usize| {
        let contiguous = if matches!(major, MajorId::K) { k } else { mn };
        (contiguous * bits / 8).div_ceil(LINE)
    };
    let all = boxes(model.plan.major_a, m, model.spec.a.bits()) + boxes(model.plan.major_b, n, model.spec.b.bits());
    let several = if shares { MULTICAST.0 + if apart { MULTICAST.1 } else { 0.0 } } else { 0.0 };
    ISSUE.0 + (all - 1) as f64 * ISSUE.1 + several
}

/// Cycles of one warp group's K tile, if it makes each sum by itself, adds it to its accumulators and only then begins the
/// next; `busy` are those of the instructions of all. 0 where sums are not promoted.
fn promoted(model: &Model<'_>, busy: f64) -> f64 {
    let (resources, Mnk { m, n, .. }) = (&model.plan.resources, model.plan.tile);
    if resources.partial_columns == 0 {
        return 0.0;
    }
    let groups = resources.warp_groups(model.spec);
    let sums = (m / ROWS / groups * (n / resources.partial_columns) * (model.plan.tile.k / PROMOTION)) as f64;
    let added = (m * n * (model.plan.tile.k / PROMOTION)) as f64 / ADDED;
    let alone = (busy + added) / groups as f64 + sums * DRAIN;
    alone.max(busy) + PROMOTED.0 + sums * PROMOTED.1
}

/// What power makes of the time of products in a kernel of as many seconds.
fn growth(seconds: f64) -> f64 {
    (1.0 + POWER.1 * (seconds / POWER.0).log10()).max(LEAST_POWER)
}

#[cfg(test)]
mod tests {
    use crate::auto::{OperandFacts, predict, resolve, resolve_choice};
    use crate::tune::PlanChoice;
    use warpwright_arch::{ArchId, DeviceInfo};
    use warpwright_numeric::Dtype;
    use warpwright_spec::{AccumulationId, GemmDesc, KernelPlan, Mnk, Problem, Repacks, ScheduleId, SchedulerId};

    fn planned(desc: &GemmDesc, (m, n, k): (usize, usize, usize)) -> (KernelPlan, f64) {
        let (device, problem) = (DeviceInfo::h200(), Problem::dense(m, n, k));
        let plan = resolve(&desc.spec().unwrap(), &device, &problem, &OperandFacts::K_MAJOR).unwrap();
        let seconds = predict(&plan, &device, &problem).seconds;
        (plan, seconds * 1e6)
    }

    fn desc(element: Dtype) -> GemmDesc {
        let acc = if element == Dtype::I8 { Dtype::I32 } else { Dtype::F32 };
        let d = if element == Dtype::E4m3 { Dtype::Bf16 } else { GemmDesc::new(ArchId::SM90, element, acc).d };
        GemmDesc { d, ..GemmDesc::new(ArchId::SM90, element, acc) }
    }

    /// Medians of races of few kernels on one H200, in µs.
    #[test]
    fn times_of_an_h200_are_reproduced() {
        use ScheduleId as S;
        let (small, large, wide) = ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048));
        let fast = GemmDesc { accumulation: AccumulationId::FAST_ACCUM, ..desc(Dtype::E4m3) };
        let (bf16, tf32, i8, promoted) = (desc(Dtype::Bf16), desc(Dtype::Tf32), desc(Dtype::I8), desc(Dtype::E4m3));
        for (desc, problem, schedule, tile, measured) in [
            (&bf16, small, S::COOPERATIVE, (128, 256, 64), 175.4),
            (&bf16, small, S::PINGPONG, (128, 192, 64), 192.7),
            (&bf16, large, S::PINGPONG, (128, 192, 64), 1521.0),
            (&bf16, large, S::COOPERATIVE, (128, 256, 64), 1564.1),
            (&tf32, small, S::COOPERATIVE, (128, 256, 32), 331.1),
            (&i8, small, S::PINGPONG, (128, 128, 128), 93.6),
            (&i8, large, S::PINGPONG, (128, 192, 128), 771.1),
            (&fast, small, S::COOPERATIVE, (128, 256, 128), 95.0),
            (&fast, large, S::PINGPONG, (128, 192, 128), 794.3),
            (&fast, wide, S::PINGPONG, (128, 192, 128), 87.4),
            (&promoted, small, S::COOPERATIVE, (128, 256, 128), 100.2),
            (&promoted, small, S::PINGPONG, (128, 128, 128), 141.9),
            (&promoted, wide, S::COOPERATIVE, (128, 256, 128), 94.9),
            (&promoted, large, S::COOPERATIVE, (128, 192, 128), 772.3),
        ] {
            let tile = Mnk::new(tile.0, tile.1, tile.2);
            let cluster = Some(Mnk::new(1, 1, 1));
            let (_, predicted) = planned(&GemmDesc { schedule, tile: Some(tile), cluster, ..*desc }, problem);
            let ratio = predicted / measured;
            assert!(
                (0.85..1.15).contains(&ratio),
                "{schedule} {tile} of {problem:?}: {predicted:.1}, measured {measured}"
            );
        }
    }

    /// Medians of races of plans with one cause each that others of the same problem lack, in µs.
    #[test]
    fn causes_are_priced() {
        use ScheduleId as S;
        use SchedulerId as K;
        let choice = |schedule, scheduler, transposed, tile, cluster, splits| {
            let [tile, cluster] = [tile, cluster].map(|(m, n, k)| Mnk { m, n, k });
            PlanChoice { schedule, loader: None, scheduler, transposed, tile, cluster, splits, repacks: Repacks::NONE }
        };
        let (one, pair) = ((1, 1, 1), (2, 1, 1));
        let fast = GemmDesc { accumulation: AccumulationId::FAST_ACCUM, ..desc(Dtype::E4m3) };
        for (desc, problem, choice, measured) in [
            // Rows beyond the matrix.
            (
                &desc(Dtype::Bf16),
                (40, 3072, 3072),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (128, 32, 128), one, 1),
                24.7,
            ),
            (
                &desc(Dtype::Bf16),
                (40, 3072, 3072),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (64, 32, 128), one, 1),
                12.8,
            ),
            (
                &desc(Dtype::Bf16),
                (40, 3072, 3072),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, true, (64, 48, 128), one, 1),
                11.5,
            ),
            // The larger operand asked for once, twice, and twice by different clusters.
            (
                &desc(Dtype::Bf16),
                (256, 6144, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (128, 96, 64), pair, 1),
                23.7,
            ),
            (
                &desc(Dtype::Bf16),
                (256, 6144, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (128, 96, 64), one, 1),
                27.1,
            ),
            (
                &desc(Dtype::Bf16),
                (256, 6144, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (128, 96, 64), (1, 2, 1), 1),
                29.4,
            ),
            // The larger operand for two blocks, and for each.
            (
                &desc(Dtype::Bf16),
                (128, 4096, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, true, (64, 64, 128), (1, 2, 1), 1),
                16.2,
            ),
            (
                &desc(Dtype::Bf16),
                (128, 4096, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, true, (64, 64, 128), one, 1),
                18.5,
            ),
            // A last wave of few blocks, and of many.
            (
                &desc(Dtype::Bf16),
                (64, 24576, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (64, 160, 64), one, 1),
                67.7,
            ),
            (
                &desc(Dtype::Bf16),
                (64, 24576, 4096),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (64, 96, 64), one, 1),
                55.0,
            ),
            // Parts of K in one wave and in two.
            (
                &desc(Dtype::Bf16),
                (64, 4096, 4096),
                choice(S::WARP_SPECIALIZED, K::SPLIT_K, false, (64, 64, 128), one, 2),
                16.0,
            ),
            (
                &desc(Dtype::Bf16),
                (64, 4096, 4096),
                choice(S::WARP_SPECIALIZED, K::SPLIT_K, false, (64, 32, 128), one, 2),
                19.4,
            ),
            // Parts of K in a cluster.
            (
                &fast,
                (64, 576, 7168),
                choice(S::WARP_SPECIALIZED, K::PERSISTENT, false, (64, 32, 256), (1, 1, 4), 1),
                7.9,
            ),
            (&fast, (64, 576, 7168), choice(S::WARP_SPECIALIZED, K::SPLIT_K, false, (64, 32, 256), one, 4), 8.8),
        ] {
            let ((m, n, k), device) = (problem, DeviceInfo::h200());
            let problem = Problem::dense(m, n, k);
            let spec = desc.spec().unwrap();
            let plan = resolve_choice(&spec, &device, &problem, &OperandFacts::K_MAJOR, &choice).unwrap();
            let predicted = predict(&plan, &device, &problem).seconds * 1e6;
            let ratio = predicted / measured;
            assert!((0.9..1.1).contains(&ratio), "{choice} of {m}x{n}x{k}: {predicted:.1}, measured {measured}");
        }
    }

    /// What was fastest, by 3 to 15 %, of problems for which other plans were chosen before.
    #[test]
    fn the_fastest_are_chosen() {
        let (plan, _) = planned(&desc(Dtype::Bf16), (256, 6144, 4096));
        assert!(plan.cluster == Mnk::new(2, 1, 1) && plan.tile == Mnk::new(128, 96, 64), "{plan:?}");
        let (plan, _) = planned(&desc(Dtype::Bf16), (1024, 1280, 8192));
        assert!(plan.splits == 2 && plan.tile == Mnk::new(128, 160, 64), "{plan:?}");
        let (plan, _) = planned(&desc(Dtype::Bf16), (1024, 32768, 512));
        let narrow = plan.tile.n < 192 && plan.resources.accumulators.subtile_n >= 32;
        assert!(plan.spec.schedule == ScheduleId::PINGPONG && narrow, "{plan:?}");
        let (plan, _) = planned(&desc(Dtype::I8), (64, 576, 7168));
        assert_eq!(plan.cluster, Mnk::new(1, 1, 4), "{plan:?}");
    }

    /// Plans that make many narrow sums were chosen before promotion was priced: 2 to 4 times as slow as these.
    #[test]
    fn promoted_sums_are_wide() {
        for problem in
            [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048), (4096, 2112, 7168), (4096, 24576, 1536)]
        {
            let (plan, _) = planned(&desc(Dtype::E4m3), problem);
            let parts = plan.tile.n / plan.resources.partial_columns;
            assert!(parts <= 2 && plan.spec.schedule != ScheduleId::PINGPONG, "{problem:?}: {plan:?}");
        }
    }

    /// Of a square that is one wave no cluster pays, and tiles are as many as there are SMs.
    #[test]
    fn small_problems_have_no_clusters() {
        for size in [512, 768, 1024, 1536] {
            let (plan, _) = planned(&desc(Dtype::Bf16), (size, size, size));
            assert_eq!(plan.cluster, Mnk::new(1, 1, 1), "{size}");
            let tiles = size.div_ceil(plan.tile.m) * size.div_ceil(plan.tile.n);
            assert!((64..=132).contains(&tiles) && plan.swizzle == 1, "{size}: {plan:?}");
        }
    }
}
