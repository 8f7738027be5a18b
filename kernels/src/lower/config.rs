//! Constants, and the index functions that belong to no operand.

use super::instruction;
use super::shared::{Fetch, accumulators, in_shared, simt_columns, simt_lanes};
use std::fmt::Write;
use warpwright_epilogue::cuda::LineMemory;
use warpwright_layout::lower::index_function;
use warpwright_layout::{ComposedLayout, Int, IntTuple, Layout, LayoutError, Swizzle};
use warpwright_numeric::Dtype;
use warpwright_spec::{InstructionId, KernelPlan, Order, ScheduleId};

/// The tile in the kernel's terms and how warps share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Columns that one block's epilogue has.
    pub output_n: usize,
    pub warps_m: usize,
    pub warps_n: usize,
    pub threads: usize,
    /// Threads that copy operands, the last of the block, where threads do.
    pub copiers: usize,
    /// Rows of a warp group, where warp groups multiply.
    pub warp_group_m: Option<usize>,
    /// Whether every warp group has tiles of its own.
    pub pingpong: bool,
    /// Columns of accumulators that a warp stages at a time.
    pub slab_columns: usize,
    /// Elements of D in one vector.
    pub vector: usize,
    /// Whether lines of D begin anywhere, so that stores are shifted against vectors.
    pub realigned: bool,
}

impl Tile {
    pub(crate) fn of(plan: &KernelPlan) -> Tile {
        let (warps_m, warps_n) = plan.resources.warps;
        let slab_columns = plan.subtile_columns() / warps_n;
        let pingpong = matches!(plan.spec.schedule, ScheduleId::PINGPONG);
        let groups = if pingpong { 1 } else { warps_m / 4 };
        let (vector, realigned) = vector(plan, slab_columns);
        Tile {
            m: plan.tile.m,
            n: plan.tile.n,
            k: plan.tile.k,
            output_n: plan.output_tile().n,
            warps_m,
            warps_n,
            threads: plan.resources.threads,
            copiers: plan.resources.loading_threads(),
            warp_group_m: matches!(plan.spec.instruction, InstructionId::WGMMA).then(|| plan.tile.m / groups),
            pingpong,
            slab_columns,
            vector,
            realigned,
        }
    }

    /// Warps that have parts of one tile.
    pub(crate) fn warps(&self) -> usize {
        if self.pingpong { 4 } else { self.warps_m * self.warps_n }
    }

    /// Accumulators of a thread that the epilogue sees.
    pub(crate) fn accumulators(&self) -> usize {
        self.m * self.output_n / (32 * self.warps())
    }

    fn warp_m(&self) -> usize {
        self.m / self.warps_m
    }

    fn warp_n(&self) -> usize {
        self.n / self.warps_n
    }
}

/// Rows of accumulators that a warp stages at a time: those of one mma.
pub const SLAB_ROWS: usize = 16;

/// Whether lines of D begin anywhere, so that its stores are shifted against the vectors that threads have.
pub fn stores_are_shifted(plan: &KernelPlan) -> bool {
    Tile::of(plan).realigned
}

/// Elements of D in one vector, and whether stores are shifted against vectors. Direct stores have as many as D's alignment allows, up to
/// eight, if the slab's extent along which D is contiguous and the whole slab are whole numbers of them, of a lane's; those below a word
/// are made one by one, but of elements below a byte, of which four are whole bytes. Where they are a quarter or less of what an
/// aligned D has, shifting costs less than the loop's more iterations.
fn vector(plan: &KernelPlan, columns: usize) -> (usize, bool) {
    let along = if plan.along_rows() { SLAB_ROWS } else { columns };
    let fitting = |mut vector: usize| {
        while vector > 1 && !(along.is_multiple_of(vector) && (SLAB_ROWS * columns).is_multiple_of(32 * vector)) {
            vector /= 2;
        }
        vector
    };
    let (allowed, bits) = (plan.vector().min(8), plan.spec.d.bits());
    if bits < 8 {
        return (fitting(if allowed < 8 { 4 } else { 8 }), false);
    }
    let direct = fitting(if allowed * bits < 32 { 1 } else { allowed });
    let aligned = fitting((128 / bits).min(8));
    if 4 * direct <= aligned { (aligned, true) } else { (direct, false) }
}

/// Whether a lane's rows of an operand are neighbours (see [`Fetch::BytePairs`]).
fn byte_pairs(plan: &KernelPlan) -> (bool, bool) {
    let spec = plan.kernel_spec();
    let pairs = |major, bits| {
        spec.instruction == InstructionId::MMA_SYNC && Fetch::of(&spec, in_shared(major), bits) == Fetch::BytePairs
    };
    (pairs(plan.major_a, spec.a.bits()), pairs(plan.major_b, spec.b.bits()))
}

/// The C++ type of a number.
pub(crate) fn number(element: Dtype) -> &'static str {
    match element {
        Dtype::F64 => "double",
        Dtype::I32 => "int",
        _ => "float",
    }
}

/// Where a tile's numbers for its lines are.
pub(crate) fn line_memory(plan: &KernelPlan, tile: &Tile, fragments: bool) -> LineMemory {
    let (offset, bytes) = plan.resources.buffer("lines").map_or((0, 0), |b| (b.offset, b.bytes));
    let tiles = if tile.pingpong { 2 } else { 1 };
    LineMemory {
        tile: [tile.m, tile.output_n],
        transposed: plan.transposed,
        offset,
        bytes: bytes / tiles,
        alternates: tile.pingpong,
        fragments,
    }
}

/// Writes the types that accumulators have and epilogues compute in.
pub(crate) fn numbers(text: &mut String, plan: &KernelPlan) {
    let compute = if plan.spec.acc == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let _ = write!(text, "using Accumulator = {};\nusing Compute = {};\n", number(plan.spec.acc), number(compute));
}

/// Writes `namespace cfg` and the element of D; a slab has `slab_bytes`. Where wgmma's `fragments` are visited, vectors of the epilogue
/// run along the kernel's columns whichever way D lies.
pub(crate) fn write(text: &mut String, plan: &KernelPlan, tile: &Tile, slab_bytes: usize, fragments: bool) {
    let vectors_along_rows = plan.along_rows() && !fragments;
    let Tile { m, n, k, output_n, threads, vector, slab_columns, .. } = *tile;
    let slab = plan.resources.buffer("staging").map_or(0, |b| b.offset);
    let _ = write!(
        text,
        "namespace cfg {{\n\
         constexpr unsigned tile_m = {m}, tile_n = {n}, tile_k = {k};\n\
         constexpr unsigned output_n = {output_n}, shares = {};\n\
         constexpr unsigned warp_m = {}, warp_n = {};\n\
         constexpr unsigned threads = {threads}, stages = {};\n\
         constexpr unsigned copiers = {}, first_copier = {};\n\
         constexpr unsigned slab_rows = {SLAB_ROWS}, slab_columns = {slab_columns};\n\
         constexpr unsigned slab_offset = {slab}, slab_bytes = {};\n\
         constexpr int d_vector = {vector};\n\
         constexpr bool transposed = {}, d_along_rows = {}, d_along_m = {};\n\
         constexpr bool vectors_along_rows = {vectors_along_rows}, vectors_along_m = {};\n\
         constexpr unsigned cluster_size = {};\n\
         }}\n\
         using ElementD = {};\n",
        plan.shares,
        tile.warp_m(),
        tile.warp_n(),
        plan.resources.stages,
        tile.copiers,
        threads - tile.copiers,
        slab_bytes,
        plan.transposed,
        plan.along_rows(),
        plan.order_d() == Order::Column,
        vectors_along_rows != plan.transposed,
        plan.cluster.blocks(),
        plan.spec.d.name(),
    );
    if plan.spec.mainloop.is_none() && plan.spec.instruction == InstructionId::MMA_SYNC {
        instruction::write(text, &plan.kernel_spec());
    }
}

/// Writes `namespace idx`: where warps, lanes and vectors are.
pub(crate) fn indices(text: &mut String, plan: &KernelPlan, tile: &Tile) -> Result<(), LayoutError> {
    let columns = tile.slab_columns;
    let warps = [tile.warps_m, tile.warps_n];
    // The four warps of a warp group have 16 rows each of every wgmma.
    let rows = match tile.warp_group_m {
        Some(_) if tile.pingpong => plain(&[4, tile.warps_m / 4], &[SLAB_ROWS, 0])?,
        Some(rows) => plain(&[4, tile.warps_m / 4], &[SLAB_ROWS, rows])?,
        None => plain(&warps, &[tile.warp_m(), 0])?,
    };
    let simt = plan.spec.mainloop.is_none() && plan.spec.instruction == InstructionId::SIMT;
    let [row, column] = if simt {
        simt_lanes(simt_columns(tile.warp_n()))?
    } else {
        let (first, second) = byte_pairs(plan);
        accumulators(first, second)?
    };
    // Of fused multiply-adds, a lane's values are a block of their own.
    let arguments: &[&str] = if simt { &["lane"] } else { &["lane", "value"] };
    // Neighbouring lanes have neighbouring vectors of D.
    let [vector_row, vector_column] = match plan.along_rows() {
        true => {
            let vectors = [SLAB_ROWS / tile.vector, columns];
            [plain(&vectors, &[tile.vector, 0])?, plain(&vectors, &[0, 1])?]
        }
        false => {
            let vectors = [columns / tile.vector, SLAB_ROWS];
            [plain(&vectors, &[0, 1])?, plain(&vectors, &[tile.vector, 0])?]
        }
    };
    *text += "namespace idx {\n";
    let functions = [
        index_function("warp_row", &rows.into(), &["warp"])?,
        index_function("warp_column", &plain(&warps, &[0, tile.warp_n()])?.into(), &["warp"])?,
        index_function("accumulator_row", &row.into(), arguments)?,
        index_function("accumulator_column", &column.into(), arguments)?,
        index_function("slab", &slab(plan.along_rows(), columns, plan.spec.acc.bits())?, &["row", "column"])?,
        index_function("vector_row", &vector_row.into(), &["vector"])?,
        index_function("vector_column", &vector_column.into(), &["vector"])?,
    ];
    for function in functions {
        *text += &function.to_string();
    }
    *text += "}\n";
    Ok(())
}

/// A warp's staged accumulators. Rows are stored by mma fragments, eight rows of two values at a time, and read as vectors of
/// up to eight: the swizzle moves groups of four values so that neither meets a bank twice when a row has 64 of them. Where
/// vectors run along rows, whose values are then neighbours, single values are stored, which meet no bank twice either.
fn slab(along_rows: bool, columns: usize, bits: usize) -> Result<ComposedLayout, LayoutError> {
    // 16 bytes stay together.
    let unit = if bits == 64 { 1 } else { 2 };
    if along_rows {
        let swizzle = Swizzle::new(2, unit + 1, 4 - unit)?;
        return Ok(ComposedLayout::new(swizzle, plain(&[SLAB_ROWS, columns], &[1, SLAB_ROWS])?));
    }
    Ok(ComposedLayout::new(Swizzle::new(3, unit, 3)?, plain(&[SLAB_ROWS, columns], &[columns, 1])?))
}

pub(crate) fn int(x: usize) -> Int {
    Int::Static(x as i64)
}

/// A flat layout.
pub(crate) fn plain(shape: &[usize], stride: &[usize]) -> Result<Layout, LayoutError> {
    let tuple = |x: &[usize]| IntTuple::flat(&x.iter().map(|&x| int(x)).collect::<Vec<_>>());
    Layout::new(tuple(shape)?, tuple(stride)?)
}

/// Appends lines, indented.
pub(crate) fn indented(text: &mut String, depth: usize, lines: &str) {
    for line in lines.lines() {
        let _ = writeln!(text, "{:1$}{line}", "", 4 * depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the busiest bank is met by accesses of `words` words in a phase of 128 bytes.
    fn conflicts(words: i64, addresses: &[i64]) -> usize {
        let mut banks = [0; 32];
        for &address in addresses {
            for word in address..address + words {
                banks[(word % 32) as usize] += 1;
            }
        }
        banks.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn a_slab_of_64_columns_has_no_bank_conflicts() {
        let slab = slab(false, 64, 32).unwrap();
        // Stores: half a warp at a time, rows lane / 4, columns 2 * (lane % 4).
        for fragment in 0..8 {
            let half: Vec<_> = (0..16).map(|l| slab.eval_at(&[l / 4, 8 * fragment + 2 * (l % 4)])).collect();
            assert_eq!(conflicts(2, &half), 1);
        }
        // Loads of vectors of 8 as two of 4: a quarter warp at a time, eight vectors of a row.
        for row in 0..16 {
            for half in [0, 4] {
                let quarter: Vec<_> = (0..8).map(|l| slab.eval_at(&[row, 8 * l + half])).collect();
                assert_eq!(conflicts(4, &quarter), 1);
            }
        }
    }

    #[test]
    fn stores_along_rows_have_no_bank_conflicts_and_loads_few() {
        for columns in [8, 16, 64] {
            let slab = slab(true, columns, 32).unwrap();
            for fragment in 0..columns as i64 / 8 {
                for (below, beside) in [(0, 0), (0, 1), (8, 0), (8, 1)] {
                    let at = |l: i64| slab.eval_at(&[l / 4 + below, 8 * fragment + 2 * (l % 4) + beside]);
                    assert_eq!(conflicts(1, &(0..32).map(at).collect::<Vec<_>>()), 1);
                }
            }
            for half in [0, 4] {
                let quarter: Vec<_> = (0..8).map(|l| slab.eval_at(&[8 * (l % 2) + half, l / 2])).collect();
                assert_eq!(conflicts(4, &quarter), 2);
            }
        }
    }

    #[test]
    fn a_slab_is_a_permutation() {
        let widths = [8, 16, 32, 48, 64, 80].into_iter().flat_map(|c| [(c, 32), (c, 64)]);
        for (columns, bits, along_rows) in widths.flat_map(|(c, b)| [(c, b, false), (c, b, true)]) {
            let slab = slab(along_rows, columns, bits).unwrap();
            let rows = (0..16).flat_map(|r| (0..columns as i64).map(move |c| (r, c)));
            let mut seen: Vec<_> = rows.map(|(r, c)| slab.eval_at(&[r, c])).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..16 * columns as i64));
        }
    }
}
