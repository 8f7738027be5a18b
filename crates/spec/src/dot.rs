//! Tiles of dot products: the rows of a matrix times up to eight vectors. Who reads what of them, and what they occupy.

use crate::*;

/// Bytes of the matrix that a thread reads in one step of its tile.
const THREAD_BYTES: usize = 64;
/// The widest access, in bits.
const WIDEST: usize = 128;
/// Most columns of a tile.
const COLUMNS: usize = 8;
/// Fewest and most rows of a tile.
const ROWS: (usize, usize) = (4, 1024);
/// Fewest steps of K, beside an access' bytes of them.
const DEPTH: usize = 4;
/// Fewest and most threads of a block.
const THREADS: (usize, usize) = (32, 512);
/// Registers of a thread beside its sums and what it waits for, of one vector and of several: factors, widened elements, addresses.
const REGISTERS: [usize; 2] = [44, 68];

/// How the threads of a block share one step of a tile, whose matrix lies in one of the majors: as a grid of `rows` x `depth`
/// threads, each of which reads `lines` lines of `run` neighbours. Neighbouring threads are neighbours along the contiguous
/// mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DotThreads {
    /// Elements of a thread along the mode that is contiguous.
    pub run: usize,
    /// Elements of a thread across it.
    pub lines: usize,
    /// Threads along the rows.
    pub rows: usize,
    /// Threads along K.
    pub depth: usize,
}

impl DotThreads {
    /// Those of a tile in the kernel's terms, whose matrix has elements of `bits` bits.
    pub const fn of(tile: Mnk, bits: usize, major: MajorId) -> DotThreads {
        let (mine, widest) = (8 * THREAD_BYTES / bits, WIDEST / bits);
        match major {
            MajorId::K => {
                let lines = mine / widest;
                DotThreads { run: widest, lines, rows: tile.m / lines, depth: tile.k / widest }
            }
            MajorId::MN => {
                let run = if widest < tile.m { widest } else { tile.m };
                let lines = mine / run;
                DotThreads { run, lines, rows: tile.m / run, depth: tile.k / lines }
            }
        }
    }

    /// Rows of which a thread has sums.
    pub const fn rows_of_thread(&self, major: MajorId) -> usize {
        match major {
            MajorId::K => self.lines,
            MajorId::MN => self.run,
        }
    }

    /// Parts of each sum that different warps have.
    pub const fn parts(&self, major: MajorId) -> usize {
        let together = match major {
            MajorId::K => self.depth,
            MajorId::MN if self.rows > 32 => 32 * self.depth,
            MajorId::MN => self.rows * self.depth,
        };
        if together > 32 { together / 32 } else { 1 }
    }
}

/// A tile's longer side first: the matrix' rows, then the vectors.
const fn sides(tile: Mnk) -> (usize, usize) {
    if tile.m < tile.n { (tile.n, tile.m) } else { (tile.m, tile.n) }
}

/// Threads of a block.
const fn threads(s: &Spec, (rows, _): (usize, usize), k: usize) -> usize {
    rows * k * s.a.bits() / (8 * THREAD_BYTES)
}

/// A tile may be in the user's terms, whose shorter side holds the vectors, or in the kernel's.
pub(crate) const fn check_dot_tile(s: &Spec, tile: Mnk) -> Result<(), Violation> {
    let (rows, columns) = sides(tile);
    let threads = threads(s, (rows, columns), tile.k);
    let powers = rows.is_power_of_two() && columns.is_power_of_two() && tile.k.is_power_of_two();
    let legal = powers
        && columns <= COLUMNS
        && rows >= ROWS.0
        && rows <= ROWS.1
        && tile.k >= DEPTH
        && tile.k * s.a.bits() >= WIDEST
        && threads >= THREADS.0
        && threads <= THREADS.1;
    if legal { Ok(()) } else { Err(Violation::GemvTile { tile, bits: s.a.bits(), threads }) }
}

/// Most stages of a ring that are counted automatically.
const MAX_RING: usize = 16;

/// The resource plan of dot products.
pub(crate) const fn dot_plan(s: &Spec, tile: Mnk) -> ResourcePlan {
    let (rows, columns) = sides(tile);
    let multiplying = threads(s, (rows, columns), tile.k);
    // The operands' majors are not known here, so the larger of both.
    let upright = Mnk { m: rows, n: columns, k: tile.k };
    let (k, mn) = (DotThreads::of(upright, s.a.bits(), MajorId::K), DotThreads::of(upright, s.a.bits(), MajorId::MN));
    let parts = [k.parts(MajorId::K), mn.parts(MajorId::MN)];
    let parts = if parts[0] > parts[1] { parts[0] } else { parts[1] };
    let sums = [k.rows_of_thread(MajorId::K), mn.rows_of_thread(MajorId::MN)];
    let sums = (if sums[0] > sums[1] { sums[0] } else { sums[1] }) * columns * s.acc.bits() / 32;
    let sum_bytes = parts * rows * columns * s.acc.bits() / 8;
    let bulk = matches!(s.loader, LoaderId::BULK_ROWS);
    let stage_bytes = if bulk { multiplying * THREAD_BYTES } else { 0 };
    let barriers = if bulk { 16 * MAX_RING } else { 0 };
    let fixed_bytes = sum_bytes.next_multiple_of(16) + barriers;
    let stages = match s.stages {
        Some(n) => n,
        None if bulk => {
            // Two blocks an SM: one multiplies while the other puts its sums together.
            let fit = (shared_limit(s.arch) / 2).saturating_sub(fixed_bytes) / stage_bytes;
            if fit > MAX_RING { MAX_RING } else { fit }
        }
        None => 2,
    };
    let held = if bulk { 1 } else { stages };
    let registers = THREAD_BYTES / 4 * held + sums + REGISTERS[(columns > 1) as usize];
    let ring = stages * stage_bytes;
    let mut buffers = Bounded::new();
    let mut roles = Bounded::new().with(Role { kind: RoleKind::Mma, warps: multiplying / 32, registers: 0 });
    let mut pipelines = Bounded::new();
    if bulk {
        buffers = buffers
            .with(Buffer { name: "a", bytes: ring, align: 128, lifetime: Lifetime::Kernel, offset: 0 })
            .with(Buffer { name: "barriers", bytes: barriers, align: 16, lifetime: Lifetime::Kernel, offset: ring });
        roles = roles.with(Role { kind: RoleKind::Load, warps: 1, registers: 0 });
        pipelines = pipelines.with(Pipeline {
            name: "operands",
            producer: RoleKind::Load,
            consumer: RoleKind::Mma,
            kind: PipelineKind::MbarrierTransactions,
            stages,
            bytes: stage_bytes,
        });
    }
    let offset = ring + barriers;
    buffers = buffers.with(Buffer { name: "sums", bytes: sum_bytes, align: 16, lifetime: Lifetime::Mainloop, offset });
    ResourcePlan {
        buffers,
        roles,
        pipelines,
        accumulators: AccumulatorSource {
            place: Place::Registers(RoleKind::Mma),
            stages: 1,
            subtile_m: tile.m,
            subtile_n: tile.n,
        },
        warps: (multiplying / 32, 1),
        partial_columns: 0,
        stages,
        stage_bytes,
        fixed_bytes,
        shared_bytes: ring + barriers + sum_bytes,
        tmem_columns: 0,
        mbarriers: if bulk { 2 * stages } else { 0 },
        named_barriers: if bulk { 2 } else { 1 },
        threads: multiplying + if bulk { 32 } else { 0 },
        registers: if registers > 255 { 255 } else { registers },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_cover_every_legal_tile_once() {
        for bits in [8, 16, 32, 64] {
            for (rows, depth) in (2..=10).flat_map(|r| (1..=14).map(move |k| (1 << r, 1 << k))) {
                let tile = Mnk { m: rows, n: 1, k: depth };
                let threads = rows * depth * bits / 512;
                if depth < 4 || depth * bits < 128 || !(32..=512).contains(&threads) {
                    continue;
                }
                for major in [MajorId::K, MajorId::MN] {
                    let own = DotThreads::of(tile, bits, major);
                    assert_eq!(own.rows * own.depth, threads, "{tile:?} {bits} {major:?}");
                    let (m, k) = if major == MajorId::K { (own.lines, own.run) } else { (own.run, own.lines) };
                    assert_eq!((m * own.rows, k * own.depth), (rows, depth), "{tile:?} {bits} {major:?}");
                    assert_eq!(own.rows_of_thread(major), m);
                    assert!(own.run * bits <= 128 && own.run.is_power_of_two());
                }
            }
        }
    }
}
