//! Which tiles a plan chooses among.

use warpwright_numeric::Dtype;
use warpwright_spec::{InstructionId, LoaderId, Mnk, ScheduleId, Spec, mma_warps};

/// Tiles of mma.sync kernels, in the kernel's terms, for 16-bit elements; K scales with the element's width.
/// Large tiles read less shared memory per product, small ones fill the device when D is small.
const MMA_SYNC: &[(usize, usize, usize)] = &[
    (128, 256, 32),
    (256, 128, 32),
    (128, 256, 64),
    (256, 128, 64),
    (128, 128, 32),
    (128, 128, 64),
    (64, 256, 32),
    (256, 64, 32),
    (64, 128, 64),
    (128, 64, 64),
    (64, 64, 64),
    (32, 128, 64),
    (128, 32, 64),
    (32, 64, 64),
    (64, 32, 64),
    (16, 128, 64),
    (16, 64, 64),
];

/// Tiles of tcgen05 kernels, and of wgmma's on the CPU, where only their order is compared.
const WARP_GROUP: &[(usize, usize, usize)] = &[(128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 64, 64)];

/// Rows of wgmma tiles: those of one to three warp groups, of one or two instructions each.
const fn warp_group_rows(schedule: ScheduleId) -> &'static [usize] {
    match schedule {
        ScheduleId::COOPERATIVE => &[128, THREE_GROUPS.0, 256],
        _ => &[64, 128],
    }
}

/// Steps in columns of wgmma tiles, up to the widest.
const COLUMNS: (usize, usize) = (16, 256);
/// Fewest columns where there are more: below, an instruction takes as long, for A's rows come through shared memory all the
/// same.
const FEWEST_COLUMNS: usize = 32;
/// Steps below that, of which D has no more columns.
const FEW_COLUMNS: usize = 8;
/// Bytes of a line of shared memory in the widest swizzle.
pub const LINE: usize = 128;
/// Rows of tiles of three warp groups, and the most columns of these: their threads have 160 registers, and ptxas spills beyond.
const THREE_GROUPS: (usize, usize) = (192, 144);
/// Accumulators of the largest tiles that are also tried two lines deep: their K tiles are multiplied in less time than they are
/// requested.
const SHALLOW: usize = 64 * 64;

/// Tiles of fused multiply-adds, as above: K is short because its steps are unrolled.
const SIMT: &[(usize, usize, usize)] = &[
    (256, 128, 32),
    (128, 256, 32),
    (128, 128, 16),
    (64, 128, 32),
    (128, 64, 32),
    (64, 64, 32),
    (32, 64, 32),
    (64, 32, 32),
    (16, 64, 32),
];

/// Registers of a thread for accumulators and for chunks that wait in registers, beyond which addresses and fragments spill:
/// with chunks of 16 bytes, and with narrower ones, which take more addresses and predicates.
const HELD: [usize; 2] = [168, 128];

/// Whether a tile's registers suffice.
fn fits(spec: &Spec, tile: Mnk, narrowest: usize) -> bool {
    // Of matrix descriptors no thread holds anything.
    if matches!(spec.instruction, InstructionId::WGMMA | InstructionId::TCGEN05) {
        return true;
    }
    let (warps_m, warps_n) = mma_warps(spec, tile);
    let held = match spec.loader {
        LoaderId::GLOBAL_TO_REGISTER => (tile.m + tile.n) * tile.k * spec.a.bits() / 32,
        // Columns of shared memory that arrive along K: four times as many copies as of 16 bytes.
        _ if matches!(spec.instruction, InstructionId::SIMT) && narrowest < 8 => 48 * 32 * warps_m * warps_n,
        // Chunks that straddle two vectors each, in the registers that hold the accumulators too.
        _ if spec.instruction == InstructionId::MMA_SYNC && narrowest < 4 => 64 * 32 * warps_m * warps_n,
        // Rounding takes registers where it is not one instruction.
        _ if spec.a == Dtype::Tf32 && narrowest < 8 => 48 * 32 * warps_m * warps_n,
        _ => return true,
    };
    let accumulators = tile.m * tile.n * spec.acc.bits() / 32;
    (accumulators + held) / (32 * warps_m * warps_n).max(1) <= HELD[usize::from(narrowest < 16)]
}

/// The tiles that a wgmma kernel on a GPU may choose for a D of `extent` columns, in the kernel's terms. Columns that are contiguous
/// in memory and in shared memory (`along_n`) are whole lines of the swizzle.
pub fn warp_group_tiles(spec: &Spec, along_n: bool, extent: usize) -> Vec<Mnk> {
    let k = LINE * 8 / spec.a.bits();
    let depths = |m: usize, n: usize| [k, 2 * k].into_iter().filter(move |&depth| depth == k || m * n <= SHALLOW);
    let (step, widest) = if along_n { (LINE * 8 / spec.b.bits(), COLUMNS.1) } else { COLUMNS };
    let few = if along_n { FEWEST_COLUMNS } else { extent.clamp(1, FEWEST_COLUMNS).next_multiple_of(FEW_COLUMNS) };
    let few = (few < FEWEST_COLUMNS).then_some(few);
    let columns = few.into_iter().chain((step.max(FEWEST_COLUMNS)..=widest).step_by(step));
    let rows = warp_group_rows(spec.schedule).iter();
    rows.flat_map(|&m| columns.clone().map(move |n| (m, n)))
        .filter(|&(m, n)| m != THREE_GROUPS.0 || n <= THREE_GROUPS.1)
        .flat_map(|(m, n)| depths(m, n).map(move |k| Mnk { m, n, k }))
        .collect()
}

/// The tiles that other plans of this spec may choose, if they may choose; `narrowest` is their narrowest copy in bytes.
pub fn tiles(spec: &Spec, narrowest: usize) -> Vec<Mnk> {
    let (table, widest) = match spec.instruction {
        InstructionId::WGMMA | InstructionId::TCGEN05 => (WARP_GROUP, 128),
        InstructionId::SIMT => (SIMT, 128),
        _ => (MMA_SYNC, 256),
    };
    // The same bytes along K whatever the element, and 6 bits fill a byte: one row of shared memory.
    let [a, b] = [spec.a, spec.b].map(|dtype| dtype.bits().next_power_of_two());
    let k = |k: usize| (k * 16 / a.max(b)).max(256 / a);
    table
        .iter()
        .filter(|t| t.0 <= widest || !matches!(spec.schedule, ScheduleId::PINGPONG))
        .map(|&(m, n, depth)| Mnk { m, n, k: k(depth) })
        .filter(|&tile| fits(spec, tile, narrowest))
        .collect()
}
