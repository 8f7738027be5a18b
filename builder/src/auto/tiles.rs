//! Which tiles a plan chooses among.

use warpwright_spec::{InstructionId, Mnk, ScheduleId, Spec};

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

/// Largest tile of a kernel that loads an operand element by element: its copies go through registers, so that many small
/// blocks hide their latency where one large block would spill.
const DIRECT: usize = 64 * 64;

/// The tiles that a plan of this spec may choose, if it may choose; `narrowest` is its narrowest copy in bytes.
pub fn tiles(spec: &Spec, narrowest: usize) -> Vec<Mnk> {
    let (table, widest) = match spec.instruction {
        InstructionId::WGMMA | InstructionId::TCGEN05 => (WARP_GROUP, 128),
        _ => (MMA_SYNC, 256),
    };
    // The same bytes along K whatever the element: one row of shared memory.
    let k = |k: usize| (k * 16 / spec.a.bits().max(spec.b.bits())).max(256 / spec.a.bits());
    table
        .iter()
        .filter(|t| narrowest >= 4 || t.0 * t.1 <= DIRECT)
        .filter(|t| t.0 <= widest || !matches!(spec.schedule, ScheduleId::PINGPONG))
        .map(|&(m, n, depth)| Mnk { m, n, k: k(depth) })
        .collect()
}
