//! An output that TMA stores: how a warp's slab of it lies in shared memory, the boxes that it is, and what else of the
//! epilogue passes through it.

use super::config::{SLAB_ROWS, Tile, indented, int, plain};
use super::maps::BoxShape;
use super::operand::table;
use std::fmt::Write;
use warpwright_epilogue::{LeafKind, LineValues, Op, Place, Program, SideStore};
use warpwright_layout::lower::index_function;
use warpwright_layout::smem::{Major, SmemSwizzle, atom, widest_swizzle};
use warpwright_layout::tma::TensorMap;
use warpwright_layout::{ComposedLayout, IntTuple, LayoutError};
use warpwright_numeric::Dtype;
use warpwright_spec::{Axes, BlockRun, BlockScales, InstructionId, KernelPlan, LineStep, ResourcePlan, Sink};

/// Instructions of a thread's elements up to which an epilogue's text is repeated for every subtile: what the one copy of it costs
/// beside, moving three quarters of the accumulators to where it expects them, is instructions under which products are slower
/// too. On an H200, 4096x4096x512 by Pingpong, gelu_tanh then costs 30 % in place of 38 and silu 26 in place of 35; NVRTC takes
/// a quarter longer (`benches/results/h200_sm90_warp_specialized.md`).
const CHEAP: usize = 3000;

/// Warps that share a slab where D is contiguous along the kernel's rows. A warp has 16 of them, and an H200's TMA takes longer for a byte
/// of rows below 64 (`builder/src/auto/warp_groups.rs`).
const WARPS_ALONG_ROWS: usize = 4;

/// How D is staged.
pub(crate) struct BulkOutput {
    dtype: Dtype,
    /// Whether D is contiguous along the kernel's rows.
    along_rows: bool,
    /// Warps that share a slab.
    warps: usize,
    swizzle: SmemSwizzle,
    /// (row, column) of a slab to elements.
    slab: ComposedLayout,
    /// Where boxes begin in a slab: row and column.
    boxes: Vec<[i64; 2]>,
    /// Of a box, contiguous first.
    box_extents: [u32; 2],
    slabs: usize,
    bytes: usize,
    source: Option<Place>,
    aux: Option<(usize, Dtype)>,
    cheap: bool,
}

impl BulkOutput {
    /// That of a plan; `None` where fragments are no wgmma's, TMA cannot address D, or the epilogue reads matrices that cannot
    /// pass through D's slabs.
    ///
    /// # Errors
    /// A slab that has no layout.
    pub(crate) fn of(plan: &KernelPlan, program: &Program) -> Result<Option<BulkOutput>, LayoutError> {
        let tile = Tile::of(plan);
        let Tile { slab_columns: columns, warps_m, .. } = tile;
        let dtype = plan.spec.d;
        let bits = dtype.bits();
        let fragments = plan.spec.mainloop.is_none() && plan.spec.instruction == InstructionId::WGMMA;
        let along_rows = plan.along_rows();
        let warps = if along_rows { WARPS_ALONG_ROWS } else { 1 };
        let rows = SLAB_ROWS * warps;
        let contiguous = if along_rows { rows } else { columns };
        let whole = (contiguous * bits).is_multiple_of(128);
        if !fragments || !whole || bits < 8 || plan.widths.d < 16 || lines(program) {
            return Ok(None);
        }
        let bytes = rows * columns * bits / 8;
        let staging = plan.resources.buffer("staging").map_or(0, |b| b.bytes);
        let slabs = (staging / (warps_m / warps) / bytes).min(ResourcePlan::MAX_SLABS);
        let lies_as_d = plan.order_c == plan.order_d() && plan.widths.c >= 16;
        let aux = program.stores().iter().find_map(|store| match store.sink {
            // D keeps two slabs.
            Sink::Matrix(t) if t.bits() == bits && lies_as_d && slabs >= 4 => Some((store.argument, t)),
            _ => None,
        });
        let slabs = if aux.is_some() { slabs / 2 } else { slabs };
        // Pairs lie across such a matrix: outside of the slabs they would be stored an element at a time.
        let matrix =
            |store: &SideStore| matches!(store.sink, Sink::Matrix(_)) && aux.map(|a| a.0) != Some(store.argument);
        if along_rows && program.stores().iter().any(matrix) {
            return Ok(None);
        }
        // What may be absent is no load that can be waited for.
        if program.leaves().iter().any(|leaf| leaf.optional && matches!(leaf.kind, LeafKind::Tile(_))) {
            return Ok(None);
        }
        let source = match matrices(program)[..] {
            [] => None,
            [(place, element)] => {
                let readable = place == Place::Previous || lies_as_d;
                if !readable || element.bits() != bits || slabs < 2 {
                    return Ok(None);
                }
                Some(place)
            }
            _ => return Ok(None),
        };
        if program.passes() > 0 && !in_registers(plan, program, columns, source.is_some()) {
            return Ok(None);
        }
        let swizzle = widest_swizzle(contiguous as u32, bits as u32);
        let shape = IntTuple::flat(&[int(rows), int(columns)])?;
        // Boxes are as long across the contiguous direction as the slab; they do not depend on the tensor's extents.
        let pitch = contiguous.next_multiple_of(128);
        let (major, order, strides) =
            if along_rows { (Major::Mn, [2, 1], [1, pitch]) } else { (Major::K, [1, 2], [pitch, 1]) };
        let order = IntTuple::flat(&order.map(int))?;
        let slab = atom(major, swizzle, bits as u32)?.tile_to_shape(&shape, Some(&order))?;
        let map = TensorMap::of(&plain(&[rows, columns], &strides)?, &slab, bits as u32)?;
        let coordinates = (0..map.boxes()).filter_map(|number| map.coordinates(number));
        let boxes = coordinates.map(|at| if along_rows { [at[0], at[1]] } else { [at[1], at[0]] }).collect();
        Ok(Some(BulkOutput {
            dtype,
            along_rows,
            warps,
            swizzle,
            slab,
            boxes,
            box_extents: [map.box_extents()[0], map.box_extents()[1]],
            slabs,
            bytes,
            source,
            aux,
            cheap: cost(program) * tile.accumulators() <= CHEAP,
        }))
    }

    /// What the epilogue reads through the slabs.
    pub(crate) fn source(&self) -> Option<Place> {
        self.source
    }

    /// The argument of the matrix beside D that TMA stores too.
    pub(crate) fn aux(&self) -> Option<usize> {
        self.aux.map(|(argument, _)| argument)
    }

    /// The box of its tensor map.
    pub(super) fn aux_box_shape(&self) -> Option<(usize, BoxShape)> {
        let (argument, dtype) = self.aux?;
        Some((argument, self.box_of(dtype)))
    }

    pub(super) fn box_shape(&self) -> BoxShape {
        self.box_of(self.dtype)
    }

    fn box_of(&self, dtype: Dtype) -> BoxShape {
        BoxShape::new(BoxShape::element(dtype), self.swizzle, self.box_extents, self.along_rows)
    }

    /// Writes the rest of `namespace cfg`, and `struct Output`; `Params` stands before it.
    pub(crate) fn write(&self, text: &mut String, plan: &KernelPlan) -> Result<(), LayoutError> {
        let bytes = self.box_extents.iter().product::<u32>() as usize * self.dtype.bits() / 8;
        let _ = write!(
            text,
            "namespace cfg {{\n\
             constexpr unsigned slabs = {}, slab_warps = {}, slab_barrier = {}, source_barriers_offset = {};\n\
             constexpr bool has_source = {}, has_aux = {}, unroll_subtiles = {};\n\
             }}\n\
             struct Output {{\n    using Aux = {};\n    static constexpr unsigned boxes = {}, box_bytes = {bytes};\n",
            self.slabs,
            self.warps,
            plan.resources.warp_group_barriers(),
            plan.resources.buffer("source_barriers").map_or(0, |b| b.offset),
            self.source.is_some(),
            self.aux.is_some(),
            self.cheap,
            self.aux.map_or(self.dtype, |(_, t)| t).name(),
            self.boxes.len(),
        );
        indented(text, 1, &index_function("at", &self.slab, &["row", "column"])?.to_string());
        let of = |f: &dyn Fn(&[i64; 2]) -> i64| self.boxes.iter().map(f).collect::<Vec<_>>();
        table(text, "unsigned", "box_row", &["box"], &of(&|b| b[0]));
        table(text, "unsigned", "box_column", &["box"], &of(&|b| b[1]));
        table(text, "unsigned", "box_offset", &["box"], &of(&|b| self.slab.layout.eval_at(b)));
        let map = if self.aux.is_some() { "map_aux" } else { "map_d" };
        let _ = writeln!(
            text,
            "    static __device__ __forceinline__ const ptx::TensorMap& aux_map(const Params& p) {{ return p.{map}; }}"
        );
        if let Some(place) = self.source {
            let map = if place == Place::Previous { "map_d" } else { "map_c" };
            let _ = writeln!(
                text,
                "    static __device__ __forceinline__ const ptx::TensorMap& source_map(const Params& p) {{ return p.{map}; }}"
            );
        }
        *text += "};\n";
        Ok(())
    }

    /// Bytes of a slab.
    pub(crate) fn slab_bytes(&self) -> usize {
        self.bytes
    }
}

/// About how many instructions an epilogue takes for an element. One that asks how many elements there are has its text twice, the
/// second time with a question for each.
fn cost(program: &Program) -> usize {
    let cost = |op: &Op| match op {
        Op::Apply(function, _) => function.cost,
        // A factor's product and conversion, and the pass that finds it.
        Op::Line(_) => 8,
        _ => 1,
    };
    let steps: usize = program.steps().iter().map(|step| cost(&step.op)).sum();
    let reduces = program.stores().iter().filter(|s| matches!(s.sink, Sink::Reduce(_))).count();
    if reduces > 0 { 2 * steps + 4 * reduces } else { steps }
}

/// Whether an epilogue reduces along M or N alone, through slabs of its accumulators.
fn lines(program: &Program) -> bool {
    program.stores().iter().any(|s| matches!(s.sink, Sink::Reduce(r) if r.axes != Axes::All))
}

/// Whether what an epilogue's lines become together is in the registers of a warp's lanes: blocks of one step, along the kernel's columns.
/// What several subtiles share is seen ahead, which matrices that are staged are not.
fn in_registers(plan: &KernelPlan, program: &Program, columns: usize, staged: bool) -> bool {
    let [LineValues { step: LineStep::Quantize(BlockScales { block, run, .. }), .. }] = program.lines() else {
        return false;
    };
    let block = usize::from(*block);
    let along = (*run == BlockRun::AlongRows) != plan.transposed;
    along && !staged && (columns.is_multiple_of(block) || block.is_multiple_of(columns))
}

/// The matrices that an epilogue reads, with their elements.
fn matrices(program: &Program) -> Vec<(Place, Dtype)> {
    let leaves = program.leaves().iter().enumerate().filter(|(_, leaf)| !leaf.unread);
    let mut found: Vec<_> = leaves
        .filter_map(|(i, leaf)| match leaf.kind {
            LeafKind::Source(t) | LeafKind::Tile(t) => Some((Place::Argument(i), t)),
            _ => None,
        })
        .collect();
    if !program.reads_previous().never() {
        found.push((Place::Previous, program.output()));
    }
    found
}
