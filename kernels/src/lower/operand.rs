//! The description of one operand: its shared-memory layout, who copies what into it, and what each lane loads from it.

use super::LowerError;
use super::config::{Tile, indented, plain};
use super::orbits::Orbits;
use super::shared::{Fetch, byte_pair_steps, in_shared, shared, simt_columns, simt_lanes};
use std::fmt::Write;
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::lower::index_function;
use warpwright_layout::smem::{Major, widest_swizzle};
use warpwright_layout::{ComposedLayout, Layout, LayoutError, Operand, TiledCopy, TiledMma, layout};
use warpwright_spec::{KernelPlan, LoaderId, RoleKind};

/// Which operand of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Its rows are the tile's rows.
    First,
    /// Its rows are the tile's columns.
    Second,
}

/// Writes `struct OperandA` or `struct OperandB`.
pub(crate) fn operand(text: &mut String, plan: &KernelPlan, tile: &Tile, side: Side) -> Result<(), LowerError> {
    let description = Description::new(plan, tile, side)?;
    description.write(text)?;
    Ok(())
}

/// Writes how the threads that load copy an operand into a layout of their own: `tile_k`, `offset`, `Copy`.
pub(super) fn copies(
    text: &mut String,
    plan: &KernelPlan,
    side: Side,
    shared: &ComposedLayout,
) -> Result<(), LayoutError> {
    let description = Description { shared: *shared, ..Description::new(plan, &Tile::of(plan), side)? };
    let _ = writeln!(text, "    static constexpr unsigned tile_k = {};", description.k);
    indented(text, 1, &index_function("offset", shared, &["mn", "k"])?.to_string());
    description.copy(text)
}

/// An operand's tile, (mn, k), in elements.
struct Description {
    name: &'static str,
    element: &'static str,
    bits: usize,
    mn: usize,
    k: usize,
    /// Which mode is contiguous in device memory.
    major: Major,
    fetch: Fetch,
    shared: ComposedLayout,
    offset: usize,
    stage_bytes: usize,
    width: usize,
    whole: bool,
    /// Chunks become columns of shared memory.
    columns: bool,
    /// Copies go through registers rather than cp.async.
    registers: bool,
    threads: usize,
    /// Unaligned chunks that a thread requests at once.
    group: usize,
    warps: usize,
    side: Side,
}

/// Unaligned chunks that a thread has registers for: a role that only loads has few, and other threads hold accumulators.
fn straddling_chunks(plan: &KernelPlan, tile: &Tile) -> usize {
    if let Some(load) = plan.resources.role(RoleKind::Load) {
        return (load.registers.saturating_sub(STRADDLING.0) / STRADDLING.1).max(1);
    }
    // With many accumulators more would spill.
    if tile.m * tile.n / plan.resources.threads.max(1) > 64 { 1 } else { 4 }
}

/// Registers of a thread that loads unaligned chunks: of its own, and for each chunk.
const STRADDLING: (usize, usize) = (44, 11);

impl Description {
    fn new(plan: &KernelPlan, tile: &Tile, side: Side) -> Result<Description, LayoutError> {
        let spec = plan.kernel_spec();
        let (name, dtype, mn, major, width, whole, warps, buffer) = match side {
            Side::First => ("OperandA", spec.a, tile.m, plan.major_a, plan.widths.a, plan.whole_a, tile.warps_m, "a"),
            Side::Second => ("OperandB", spec.b, tile.n, plan.major_b, plan.widths.b, plan.whole_b, tile.warps_n, "b"),
        };
        let buffer = plan.resources.buffer(buffer);
        let major = in_shared(major);
        let bits = dtype.bits();
        let fetch = Fetch::of(&spec, major, bits);
        // A chunk that becomes a column of shared memory is taken apart in registers.
        let columns = fetch == Fetch::Vectors && major == Major::K;
        Ok(Description {
            name,
            element: dtype.name(),
            bits,
            mn,
            k: tile.k,
            major,
            fetch,
            shared: shared(fetch, major, bits, mn, tile.k)?,
            offset: buffer.map_or(0, |b| b.offset),
            stage_bytes: buffer.map_or(0, |b| b.bytes / plan.resources.stages.max(1)),
            width: width.clamp(bits / 8, 16),
            whole,
            columns,
            registers: columns || spec.loader == LoaderId::GLOBAL_TO_REGISTER,
            threads: tile.copiers,
            group: straddling_chunks(plan, tile),
            warps,
            side,
        })
    }

    fn at(&self, mn: i64, k: i64) -> i64 {
        self.shared.eval_at(&[mn, k])
    }

    fn write(&self, text: &mut String) -> Result<(), LayoutError> {
        let _ = write!(
            text,
            "struct {} {{\n    using Element = {};\n    static constexpr unsigned tile_k = {};\n    \
             static constexpr bool mn_contiguous = {};\n    \
             static constexpr unsigned stage_bytes = {}, shared = {};\n",
            self.name,
            self.element,
            self.k,
            self.major == Major::Mn,
            self.stage_bytes,
            self.offset,
        );
        indented(text, 1, &index_function("offset", &self.shared, &["mn", "k"])?.to_string());
        self.copy(text)?;
        self.load(text)?;
        *text += "};\n";
        Ok(())
    }

    /// Global to shared memory: passes of the block over the tile, each thread one chunk a pass.
    fn copy(&self, text: &mut String) -> Result<(), LayoutError> {
        // Below 4 bytes cp.async does not reach: 16 bytes at a time go through registers.
        let direct = self.width < 4;
        let chunk = if direct { 128 } else { 8 * self.width } / self.bits;
        let (contiguous, rows) = if self.major == Major::K { (self.k, self.mn) } else { (self.mn, self.k) };
        let row = match self.fetch {
            // A warp takes 32 bytes of K of each row, whose elements fall on different banks.
            Fetch::Vectors if self.columns => 256 / self.bits,
            Fetch::Vectors if contiguous <= self.threads * chunk => contiguous,
            _ => widest_swizzle(contiguous as u32, self.bits as u32).row_bytes() as usize * 8 / self.bits,
        };
        let chunks = row / chunk;
        let mut rows_a_pass = 1;
        while rows.is_multiple_of(2 * rows_a_pass) && 2 * rows_a_pass * chunks <= self.threads {
            rows_a_pass *= 2;
        }
        let atom = CopyAtom::universal((chunk * self.bits) as u32)?;
        let (threads, values) = match self.major {
            Major::K => (plain(&[rows_a_pass, chunks], &[chunks, 1])?, plain(&[1, chunk], &[0, 1])?),
            Major::Mn => (plain(&[chunks, rows_a_pass], &[1, chunks])?, plain(&[chunk, 1], &[1, 0])?),
        };
        let pass = TiledCopy::new(atom, self.bits as u32, &threads, &values)?;
        let [mn, k] = pass.src_coordinates()?;
        let (first_mn, first_k) = (mn.mode(0), k.mode(0));
        // The tile is the pass repeated: down the rows, then along them.
        let passes = [rows / rows_a_pass, contiguous / row];
        let down = plain(&passes, &[rows_a_pass, 0])?;
        let along = plain(&passes, &[0, row])?;
        let (step_mn, step_k) = if self.major == Major::K { (down, along) } else { (along, down) };
        let count = passes[0] * passes[1];
        let orbits = Orbits::new(count, pass.threads() as usize, |pass, thread| {
            let (pass, thread) = (pass as i64, thread as i64);
            self.at(first_mn.eval(thread) + step_mn.eval(pass), first_k.eval(thread) + step_k.eval(pass))
        });
        let _ = write!(
            text,
            "    struct Copy {{\n        static constexpr bool direct = {direct}, whole = {}, registers = {};\n        \
             static constexpr unsigned chunk = {chunk}, count = {count}, threads = {}, apart = {}, bases = {};\n",
            self.whole && !direct,
            self.registers,
            pass.threads(),
            if self.columns { self.at(0, 1) } else { 1 },
            orbits.representatives.len()
        );
        if direct {
            let _ = writeln!(text, "        static constexpr unsigned group = {};", self.group);
        }
        for (name, layout, argument) in [
            ("mn", first_mn, "thread"),
            ("k", first_k, "thread"),
            ("step_mn", step_mn, "pass"),
            ("step_k", step_k, "pass"),
        ] {
            indented(text, 2, &index_function(name, &layout.into(), &[argument])?.to_string());
        }
        table(text, "unsigned", "representative", &["base"], &orbits.representatives);
        table(text, "unsigned", "base", &["pass"], &orbits.base);
        table(text, "int", "delta", &["pass"], &orbits.delta);
        *text += "    };\n";
        Ok(())
    }

    /// Shared memory to registers: accesses of a warp to its rows and a K block.
    fn load(&self, text: &mut String) -> Result<(), LayoutError> {
        let rows = self.mn / self.warps;
        let Access { mn, k, parts, span, step } = self.access(rows)?;
        let (count, blocks) = (rows / span, self.k / step);
        let place = |access: usize| {
            let (x, y) = parts[access / blocks % parts.len()];
            (access / blocks / parts.len() * span + x, access % blocks * step + y)
        };
        let orbits = Orbits::new(count * parts.len() * blocks, 32 * self.warps, |access, thread| {
            let (warp, lane) = (thread / 32, (thread % 32) as i64);
            let (x, y) = place(access);
            self.at(mn.eval(lane) + (warp * rows + x) as i64, k.eval(lane) + y as i64)
        });
        let _ = write!(
            text,
            "    struct Load {{\n        static constexpr bool matrices = {}, transposed = {}, byte_pairs = {};\n        \
             static constexpr int count = {count}, parts = {}, bases = {};\n",
            matches!(self.fetch, Fetch::Rows | Fetch::Columns | Fetch::BytePairs),
            matches!(self.fetch, Fetch::Columns | Fetch::BytePairs),
            self.fetch == Fetch::BytePairs,
            parts.len(),
            orbits.representatives.len()
        );
        indented(text, 2, &index_function("mn", &mn.into(), &["lane"])?.to_string());
        indented(text, 2, &index_function("k", &k.into(), &["lane"])?.to_string());
        let places: Vec<_> = orbits.representatives.iter().map(|&a| place(a)).collect();
        table(text, "unsigned", "representative_mn", &["base"], &places.iter().map(|p| p.0).collect::<Vec<_>>());
        table(text, "unsigned", "representative_k", &["base"], &places.iter().map(|p| p.1).collect::<Vec<_>>());
        let arguments = ["access", "block"];
        matrix(text, "unsigned", "base", &arguments, blocks, &orbits.base);
        matrix(text, "int", "delta", &arguments, blocks, &orbits.delta);
        *text += "    };\n";
        Ok(())
    }

    /// The accesses of one warp to `rows` rows.
    fn access(&self, rows: usize) -> Result<Access, LayoutError> {
        let first = self.side == Side::First;
        let step = 256 / self.bits;
        let one = vec![(0, 0)];
        Ok(match self.fetch {
            Fetch::Rows | Fetch::Columns => {
                let bits = self.bits as u32;
                let mma = MmaAtom::mma_sync(16, step as i64, [32, bits, bits, 32])?;
                let mma = TiledMma::new(mma, &layout!((1, 1, 1)))?.with_permutation(1, &layout!((8, 2):(1, 8)))?;
                let side = if first { Operand::A } else { Operand::B };
                let matrices = CopyAtom::ldmatrix(4, self.fetch == Fetch::Columns)?;
                let [mn, k] = TiledCopy::for_mma(matrices, bits, &mma, side)?.src_coordinates()?;
                Access { mn: mn.mode(0), k: k.mode(0), parts: one, span: 16, step }
            }
            Fetch::BytePairs => Access { mn: plain(&[32], &[0])?, k: byte_pair_steps(), parts: one, span: 16, step },
            // Lane 4 g + t: row g, step t. A's words go down before they go along K, B's along K before they go down.
            Fetch::Elements => {
                let (mn, k) = (plain(&[4, 8], &[0, 1])?, plain(&[4, 8], &[1, 0])?);
                let parts = match (self.bits, first) {
                    (64, _) => vec![(0, 0), (8, 0)],
                    (_, true) => vec![(0, 0), (8, 0), (0, 4), (8, 4)],
                    (_, false) => vec![(0, 0), (0, 4), (8, 0), (8, 4)],
                };
                Access { mn, k, parts, span: 16, step }
            }
            Fetch::Vectors => {
                let columns = simt_columns(rows);
                let [row, column] = simt_lanes(columns)?;
                let (mn, span) = if first { (row, 16) } else { (column, 8 * columns) };
                Access { mn, k: plain(&[32], &[0])?, parts: one, span, step: 1 }
            }
        })
    }
}

/// How the lanes of a warp reach into a block of `span` rows and `step` steps of K.
struct Access {
    /// Lane → row.
    mn: Layout,
    /// Lane → step of K.
    k: Layout,
    /// Rows and steps from a block's beginning, one an access.
    parts: Vec<(usize, usize)>,
    span: usize,
    step: usize,
}

/// A function that looks a number up.
pub(crate) fn table<T: std::fmt::Display + PartialEq>(
    text: &mut String,
    ty: &str,
    name: &str,
    arguments: &[&str; 1],
    values: &[T],
) {
    lookup(text, ty, name, arguments, arguments[0], values);
}

/// As [`table`], of two arguments, the second of which runs over `columns`.
pub(crate) fn matrix<T: std::fmt::Display + PartialEq>(
    text: &mut String,
    ty: &str,
    name: &str,
    arguments: &[&str; 2],
    columns: usize,
    values: &[T],
) {
    let index = format!("{} * {columns}u + {}", arguments[0], arguments[1]);
    lookup(text, ty, name, arguments, &index, values);
}

fn lookup<T: std::fmt::Display + PartialEq>(
    text: &mut String,
    ty: &str,
    name: &str,
    arguments: &[&str],
    index: &str,
    values: &[T],
) {
    let parameters: Vec<_> = arguments.iter().map(|a| format!("unsigned {a}")).collect();
    let list: Vec<_> = values.iter().map(T::to_string).collect();
    let body = if values.iter().all(|v| *v == values[0]) {
        format!("return {};", list[0])
    } else {
        format!("constexpr {ty} table[] = {{{}}};\n    return table[{index}];", list.join(", "))
    };
    let function = format!("static __device__ constexpr {ty} {name}({}) {{\n    {body}\n}}\n", parameters.join(", "));
    indented(text, 2, &function);
}
