//! The description of one operand: its shared-memory layout, who copies what into it, and what each lane loads from it.

use super::LowerError;
use super::config::{Tile, indented, int, plain};
use super::orbits::Orbits;
use std::fmt::Write;
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::lower::index_function;
use warpwright_layout::smem::{Major, atom, widest_swizzle};
use warpwright_layout::{
    ComposedLayout, IntTuple, Layout, LayoutError, Operand, TiledCopy, TiledMma, int_tuple, layout,
};
use warpwright_spec::{KernelPlan, MajorId};

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

/// An operand's tile, (mn, k), in elements.
struct Description {
    name: &'static str,
    element: &'static str,
    bits: usize,
    mn: usize,
    k: usize,
    major: Major,
    shared: ComposedLayout,
    /// Elements of the contiguous mode that lie in one swizzled row.
    row: usize,
    offset: usize,
    width: usize,
    whole: bool,
    threads: usize,
    warps: usize,
    side: Side,
}

impl Description {
    fn new(plan: &KernelPlan, tile: &Tile, side: Side) -> Result<Description, LayoutError> {
        let spec = plan.kernel_spec();
        let (name, dtype, mn, major, width, whole, warps, buffer) = match side {
            Side::First => ("OperandA", spec.a, tile.m, plan.major_a, plan.widths.a, plan.whole_a, tile.warps_m, "a"),
            Side::Second => ("OperandB", spec.b, tile.n, plan.major_b, plan.widths.b, plan.whole_b, tile.warps_n, "b"),
        };
        let (major, contiguous) = match major {
            MajorId::K => (Major::K, tile.k),
            MajorId::MN => (Major::Mn, mn),
        };
        let bits = dtype.bits();
        let swizzle = widest_swizzle(contiguous as u32, bits as u32);
        // The contiguous mode's blocks come last, so that a block is one run of whole rows.
        let order = if major == Major::K { int_tuple!((1, 2)) } else { int_tuple!((2, 1)) };
        let shape = IntTuple::flat(&[int(mn), int(tile.k)])?;
        Ok(Description {
            name,
            element: dtype.name(),
            bits,
            mn,
            k: tile.k,
            major,
            shared: atom(major, swizzle, bits as u32)?.tile_to_shape(&shape, Some(&order))?,
            row: swizzle.row_bytes() as usize * 8 / bits,
            offset: plan.resources.buffer(buffer).map_or(0, |b| b.offset),
            width,
            whole,
            threads: tile.threads,
            warps,
            side,
        })
    }

    fn at(&self, mn: i64, k: i64) -> i64 {
        self.shared.eval_at(&[mn, k])
    }

    fn write(&self, text: &mut String) -> Result<(), LayoutError> {
        let contiguous = self.major == Major::Mn;
        let stage_bytes = (self.mn * self.k * self.bits / 8).next_multiple_of(1024);
        let _ = write!(
            text,
            "struct {} {{\n    using Element = {};\n    static constexpr unsigned tile_k = {};\n    \
             static constexpr bool mn_contiguous = {contiguous};\n    \
             static constexpr unsigned stage_bytes = {stage_bytes}, shared = {};\n",
            self.name, self.element, self.k, self.offset
        );
        indented(text, 1, &index_function("offset", &self.shared, &["mn", "k"])?.to_string());
        self.copy(text)?;
        self.load(text)?;
        *text += "};\n";
        Ok(())
    }

    /// Global to shared memory: passes of the block over the tile, each thread one chunk a pass.
    fn copy(&self, text: &mut String) -> Result<(), LayoutError> {
        // Below 4 bytes cp.async does not reach: elements go through registers, and a thread stores 16 bytes of them.
        let direct = self.width < 4;
        let chunk = if direct { 128 } else { 8 * self.width } / self.bits;
        let (contiguous, rows) = if self.major == Major::K { (self.k, self.mn) } else { (self.mn, self.k) };
        let chunks = self.row / chunk;
        let mut rows_a_pass = 1;
        while rows.is_multiple_of(2 * rows_a_pass) && 2 * rows_a_pass * chunks <= self.threads {
            rows_a_pass *= 2;
        }
        let atom = if direct { CopyAtom::universal(128)? } else { CopyAtom::cp_async(self.width as u32)? };
        let (threads, values) = match self.major {
            Major::K => (plain(&[rows_a_pass, chunks], &[chunks, 1])?, plain(&[1, chunk], &[0, 1])?),
            Major::Mn => (plain(&[chunks, rows_a_pass], &[1, chunks])?, plain(&[chunk, 1], &[1, 0])?),
        };
        let pass = TiledCopy::new(atom, self.bits as u32, &threads, &values)?;
        let [mn, k] = pass.src_coordinates()?;
        let (first_mn, first_k) = (mn.mode(0), k.mode(0));
        // The tile is the pass repeated: down the rows, then along them.
        let passes = [rows / rows_a_pass, contiguous / self.row];
        let down = plain(&passes, &[rows_a_pass, 0])?;
        let along = plain(&passes, &[0, self.row])?;
        let (step_mn, step_k) = if self.major == Major::K { (down, along) } else { (along, down) };
        let count = passes[0] * passes[1];
        let orbits = Orbits::new(count, pass.threads() as usize, |pass, thread| {
            let (pass, thread) = (pass as i64, thread as i64);
            self.at(first_mn.eval(thread) + step_mn.eval(pass), first_k.eval(thread) + step_k.eval(pass))
        });
        let _ = write!(
            text,
            "    struct Copy {{\n        static constexpr bool direct = {direct}, whole = {};\n        \
             static constexpr unsigned chunk = {chunk}, count = {count}, threads = {}, bases = {};\n",
            self.whole && !direct,
            pass.threads(),
            orbits.representatives.len()
        );
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

    /// Shared memory to registers: ldmatrix.x4, each a 16 x 16 block of the warp's rows and a K block.
    fn load(&self, text: &mut String) -> Result<(), LayoutError> {
        let (rows, blocks) = (self.mn / self.warps, self.k / 16);
        let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32])?, &layout!((1, 1, 1)))?
            .with_permutation(1, &layout!((8, 2):(1, 8)))?;
        let side = if self.side == Side::First { Operand::A } else { Operand::B };
        let copy = TiledCopy::for_mma(CopyAtom::ldmatrix(4, self.major == Major::Mn)?, 16, &mma, side)?;
        let [mn, k] = copy.src_coordinates()?;
        let (mn, k): (Layout, Layout) = (mn.mode(0), k.mode(0));
        let count = rows / 16;
        let orbits = Orbits::new(count * blocks, 32 * self.warps, |access, thread| {
            let (fragment, block) = ((access / blocks) as i64, (access % blocks) as i64);
            let (warp, lane) = ((thread / 32) as i64, (thread % 32) as i64);
            self.at(warp * rows as i64 + mn.eval(lane) + 16 * fragment, k.eval(lane) + 16 * block)
        });
        let _ = write!(
            text,
            "    struct Load {{\n        static constexpr int count = {count}, bases = {};\n",
            orbits.representatives.len()
        );
        indented(text, 2, &index_function("mn", &mn.into(), &["lane"])?.to_string());
        indented(text, 2, &index_function("k", &k.into(), &["lane"])?.to_string());
        let first = |f: fn(usize, usize) -> usize| {
            orbits.representatives.iter().map(|&a| 16 * f(a, blocks)).collect::<Vec<_>>()
        };
        table(text, "unsigned", "representative_mn", &["base"], &first(|a, blocks| a / blocks));
        table(text, "unsigned", "representative_k", &["base"], &first(|a, blocks| a % blocks));
        let arguments = ["fragment", "block"];
        matrix(text, "unsigned", "base", &arguments, blocks, &orbits.base);
        matrix(text, "int", "delta", &arguments, blocks, &orbits.delta);
        *text += "    };\n";
        Ok(())
    }
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
fn matrix<T: std::fmt::Display + PartialEq>(
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
