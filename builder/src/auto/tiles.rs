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

/// Tiles of wgmma and tcgen05 kernels: what performance work will widen; until then the usual ones.
const WARP_GROUP: &[(usize, usize, usize)] = &[(128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 64, 64)];

/// Tiles of fused multiply-adds, as above: K is short because its steps are unrolled.
const SIMT: &[(usize, usize, usize)] = &[
    (256, 128, 32),
    (128, 256, 32),
    (128, 128, 32),
    (64, 128, 32),
    (128, 64, 32),
    (64, 64, 32),
    (32, 64, 32),
    (64, 32, 32),
    (16, 64, 32),
];

/// Largest tile of a kernel that loads an operand element by element: its copies go through registers, so that many small
/// blocks hide their latency where one large block would spill.
const DIRECT: usize = 64 * 64;

/// Registers of a thread for accumulators and for chunks that wait in registers, beyond which addresses and fragments spill:
/// with chunks of 16 bytes, and with narrower ones, which take more addresses and predicates.
const HELD: [usize; 2] = [168, 128];

/// Whether a tile's registers suffice.
fn fits(spec: &Spec, tile: Mnk, narrowest: usize) -> bool {
    if narrowest < 4 && tile.m * tile.n > DIRECT {
        return false;
    }
    let (warps_m, warps_n) = mma_warps(spec, tile);
    let held = match spec.loader {
        LoaderId::GLOBAL_TO_REGISTER => (tile.m + tile.n) * tile.k * spec.a.bits() / 32,
        // Columns of shared memory that arrive along K: four times as many copies as of 16 bytes.
        _ if matches!(spec.instruction, InstructionId::SIMT) && narrowest < 8 => 48 * 32 * warps_m * warps_n,
        // Rounding takes registers where it is not one instruction.
        _ if spec.a == Dtype::Tf32 && narrowest < 8 => 48 * 32 * warps_m * warps_n,
        _ => return true,
    };
    let accumulators = tile.m * tile.n * spec.acc.bits() / 32;
    (accumulators + held) / (32 * warps_m * warps_n).max(1) <= HELD[usize::from(narrowest < 16)]
}

/// The tiles that a plan of this spec may choose, if it may choose; `narrowest` is its narrowest copy in bytes.
pub fn tiles(spec: &Spec, narrowest: usize) -> Vec<Mnk> {
    let (table, widest) = match spec.instruction {
        InstructionId::WGMMA | InstructionId::TCGEN05 => (WARP_GROUP, 128),
        InstructionId::SIMT => (SIMT, 128),
        _ => (MMA_SYNC, 256),
    };
    // The same bytes along K whatever the element: one row of shared memory.
    let k = |k: usize| (k * 16 / spec.a.bits().max(spec.b.bits())).max(256 / spec.a.bits());
    table
        .iter()
        .filter(|t| t.0 <= widest || !matches!(spec.schedule, ScheduleId::PINGPONG))
        .map(|&(m, n, depth)| Mnk { m, n, k: k(depth) })
        .filter(|&tile| fits(spec, tile, narrowest))
        .collect()
}
