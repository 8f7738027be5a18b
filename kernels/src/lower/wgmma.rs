//! What the warp-specialised mainloop needs: operands as TMA boxes, or copies, and matrix descriptors, the instruction, the cluster.

use super::LowerError;
use super::config::{Tile, indented, int, number, plain};
use super::instruction;
use super::maps::BoxShape;
use super::operand::{Side, copies, matrix, table};
use super::orbits::Orbits;
use super::shared::in_shared;
use std::fmt::Write;
use warpwright_layout::descriptor::SmemDescriptor;
use warpwright_layout::lower::index_function;
use warpwright_layout::smem::{Major, SmemSwizzle, atom, widest_swizzle};
use warpwright_layout::tma::TensorMap;
use warpwright_layout::{ComposedLayout, IntTuple, LayoutError, Tiler, int_tuple};
use warpwright_numeric::Dtype;
use warpwright_runtime::TensorElement;
use warpwright_spec::{KernelPlan, MajorId, Mnk, PROMOTION, RoleKind};

/// Rows of A that one instruction multiplies.
const ROWS: usize = 64;

/// K of one instruction, in bytes.
const DEPTH_BYTES: usize = 32;

/// An operand's tile in shared memory, and the TMA boxes that fill it.
pub(crate) struct TmaOperand {
    side: Side,
    name: &'static str,
    dtype: Dtype,
    extents: (usize, usize),
    major: Major,
    swizzle: SmemSwizzle,
    /// (mn, k) to elements.
    shared: ComposedLayout,
    offset: usize,
    stage_bytes: usize,
    /// Parts of the tile along mn, each loaded by another block of the cluster.
    slices: usize,
    /// Where a slice's boxes begin in it: mn and k.
    boxes: Vec<[i64; 2]>,
    /// Extents of a box, contiguous first.
    box_extents: [u32; 2],
}

impl TmaOperand {
    pub(crate) fn new(plan: &KernelPlan, side: Side) -> Result<TmaOperand, LayoutError> {
        let spec = plan.kernel_spec();
        let (name, dtype, mn, major, buffer, sharers) = match side {
            Side::First => ("OperandA", spec.a, plan.tile.m, plan.major_a, "a", plan.cluster.n),
            Side::Second => ("OperandB", spec.b, plan.tile.n, plan.major_b, "b", plan.cluster.m),
        };
        let buffer = plan.resources.buffer(buffer);
        let k = plan.tile.k;
        let major = in_shared(major);
        let contiguous = if major == Major::K { k } else { mn };
        let bits = dtype.bits() as u32;
        let swizzle = widest_swizzle(contiguous as u32, bits);
        // A slice is whole atoms, so that it is a run of boxes; what cannot be cut is loaded by every block for itself.
        let grain = if major == Major::K { 8 } else { swizzle.row_bytes() as usize * 8 / bits as usize };
        let slices = if mn.is_multiple_of(sharers * grain) { sharers } else { 1 };
        // The contiguous mode's blocks come last, so that a block is one run of whole rows.
        let order = if major == Major::K { int_tuple!((1, 2)) } else { int_tuple!((2, 1)) };
        let tile = |mn: usize| -> Result<ComposedLayout, LayoutError> {
            atom(major, swizzle, bits)?.tile_to_shape(&IntTuple::flat(&[int(mn), int(k)])?, Some(&order))
        };
        // Boxes do not depend on the tensor's extents.
        let tensor = plain(
            &[mn, k],
            &if major == Major::K { [k.next_multiple_of(128), 1] } else { [1, mn.next_multiple_of(128)] },
        )?;
        let map = TensorMap::of(&tensor, &tile(mn / slices)?, bits)?;
        let boxes = (0..map.boxes())
            .filter_map(|number| map.coordinates(number))
            .map(|at| if major == Major::K { [at[1], at[0]] } else { [at[0], at[1]] })
            .collect();
        Ok(TmaOperand {
            side,
            name,
            dtype,
            extents: (mn, k),
            major,
            swizzle,
            shared: tile(mn)?,
            offset: buffer.map_or(0, |b| b.offset),
            stage_bytes: buffer.map_or(0, |b| b.bytes / plan.resources.stages.max(1)),
            slices,
            boxes,
            box_extents: [map.box_extents()[0], map.box_extents()[1]],
        })
    }

    pub(super) fn box_shape(&self) -> BoxShape {
        let element = match self.dtype {
            // Rounds on the way, where F32 would leave the instruction to truncate.
            Dtype::Tf32 => TensorElement::Tf32,
            other => BoxShape::element(other),
        };
        BoxShape::new(element, self.swizzle, self.box_extents, self.major == Major::Mn)
    }

    /// Bytes from the tile's start to an element. Where a box, a row of instructions or a K block begins, the swizzle moves
    /// nothing.
    fn bytes(&self, mn: i64, k: i64) -> i64 {
        self.shared.layout.eval_at(&[mn, k]) * self.dtype.bits() as i64 / 8
    }

    /// The descriptor of what one instruction reads of this operand, at address 0.
    fn descriptor(&self, mn: usize, k: usize) -> Result<u64, LayoutError> {
        let read = [Tiler::of(mn as i64), Tiler::of(k as i64)];
        let first = self.shared.layout.zipped_divide(&Tiler::ByMode(&read))?.mode(0);
        Ok(SmemDescriptor::of(&first, self.major, self.swizzle, self.dtype.bits() as u32)?.sm90(0))
    }

    /// Writes which boxes fill it.
    fn boxes(&self, text: &mut String) {
        let slice = self.extents.0 / self.slices;
        let _ = write!(
            text,
            "    static constexpr unsigned slices = {}, slice_mn = {slice}, slice_bytes = {};\n    \
             static constexpr unsigned boxes = {}, box_bytes = {};\n",
            self.slices,
            if self.slices > 1 { self.bytes(slice as i64, 0) } else { 0 },
            self.boxes.len(),
            self.box_extents.iter().product::<u32>() as usize * self.dtype.bits() / 8,
        );
        let of = |f: &dyn Fn(i64, i64) -> i64| self.boxes.iter().map(|&[mn, k]| f(mn, k)).collect::<Vec<_>>();
        table(text, "unsigned", "box_mn", &["box"], &of(&|mn, _| mn));
        table(text, "unsigned", "box_k", &["box"], &of(&|_, k| k));
        table(text, "unsigned", "box_offset", &["box"], &of(&|mn, k| self.bytes(mn, k)));
    }

    /// Writes the struct; one instruction reads `read` rows of it.
    fn write(&self, text: &mut String, plan: &KernelPlan, read: usize) -> Result<(), LayoutError> {
        let (mn, k) = self.extents;
        let depth = DEPTH_BYTES * 8 / self.dtype.bits();
        let _ = write!(
            text,
            "struct {} {{\n    using Element = {};\n    static constexpr bool mn_contiguous = {};\n    \
             static constexpr unsigned stage_bytes = {}, shared = {};\n    \
             static constexpr unsigned long long descriptor = {:#x}ull;\n",
            self.name,
            self.dtype.name(),
            self.major == Major::Mn,
            self.stage_bytes,
            self.offset,
            self.descriptor(read, depth)?,
        );
        if plan.spec.loader.is_tma() {
            self.boxes(text);
        } else {
            copies(text, plan, self.side, &self.shared)?;
        }
        let blocks: Vec<_> = (0..k / depth).map(|b| self.bytes(0, (b * depth) as i64)).collect();
        table(text, "unsigned", "block_step", &["k_block"], &blocks);
        let parts: Vec<_> = (0..mn / read).map(|p| self.bytes((p * read) as i64, 0)).collect();
        table(text, "unsigned", "part_step", &["part"], &parts);
        if self.side == Side::First && plan.kernel_spec().first_in_registers() {
            self.fragments(text, plan)?;
        }
        *text += "};\n";
        Ok(())
    }

    /// Writes how a lane finds its part of 64 rows and a K block by ldmatrix: 16 rows of its warp, 32 bytes of K.
    fn fragments(&self, text: &mut String, plan: &KernelPlan) -> Result<(), LayoutError> {
        let bits = self.dtype.bits();
        let (depth, chunk) = (DEPTH_BYTES * 8 / bits, 128 / bits);
        // Matrices 0 and 1 are rows 0 to 7 and 8 to 15 of the first half of K, 2 and 3 of the second. Where rows are contiguous
        // a matrix is stored by steps of K, and transposed on the way.
        let (mn, k) = match self.major {
            Major::K => (plain(&[16, 2], &[1, 0])?, plain(&[16, 2], &[0, chunk])?),
            Major::Mn => (plain(&[8, 2, 2], &[0, 8, 0])?, plain(&[8, 2, 2], &[1, 0, 8])?),
        };
        let tile = Tile::of(plan);
        let rows = tile.warp_group_m.unwrap_or(ROWS);
        let (parts, blocks) = (rows / ROWS, self.extents.1 / depth);
        let groups = self.extents.0 / rows;
        let orbits = Orbits::new(parts * blocks, 128 * groups, |access, thread| {
            let (warp, lane) = (thread / 32, (thread % 32) as i64);
            let row = warp / 4 * rows + warp % 4 * 16 + access / blocks * ROWS;
            self.shared.eval_at(&[mn.eval(lane) + row as i64, k.eval(lane) + (access % blocks * depth) as i64])
        });
        let _ = write!(
            text,
            "    struct Fragments {{\n        static constexpr bool transposed = {};\n        \
             static constexpr unsigned bases = {};\n",
            self.major == Major::Mn,
            orbits.representatives.len()
        );
        let function = |name, layout: &ComposedLayout| index_function(name, layout, &["lane"]);
        indented(text, 2, &function("mn", &mn.into())?.to_string());
        indented(text, 2, &function("k", &k.into())?.to_string());
        let places = orbits.representatives.iter().map(|&access| (access / blocks * ROWS, access % blocks * depth));
        let (of_mn, of_k): (Vec<_>, Vec<_>) = places.unzip();
        table(text, "unsigned", "representative_mn", &["base"], &of_mn);
        table(text, "unsigned", "representative_k", &["base"], &of_k);
        matrix(text, "unsigned", "base", &["part", "block"], blocks, &orbits.base);
        matrix(text, "int", "delta", &["part", "block"], blocks, &orbits.delta);
        *text += "    };\n";
        // What copies describes is described already.
        if plan.spec.loader.is_tma() {
            indented(text, 1, &index_function("offset", &self.shared, &["mn", "k"])?.to_string());
        }
        Ok(())
    }
}

/// Writes the rest of `namespace cfg`, `OperandA`, `OperandB`, `namespace cluster` and `Wgmma`.
pub(crate) fn write(text: &mut String, plan: &KernelPlan, tile: &Tile) -> Result<(), LowerError> {
    let registers = |kind| plan.resources.role(kind).map_or(0, |role| role.registers);
    let (Mnk { m, n, k }, parts) = (plan.cluster, plan.output_parts());
    let columns = plan.resources.partial_columns;
    let _ = write!(
        text,
        "namespace cfg {{\n\
         constexpr unsigned warp_group_m = {};\n\
         constexpr bool pingpong = {}, adds_up = {};\n\
         constexpr unsigned promotion = {};\n\
         constexpr unsigned producer_registers = {}, consumer_registers = {};\n\
         constexpr unsigned barriers_offset = {}, partials_offset = {};\n\
         constexpr unsigned lent_stages = {};\n\
         constexpr bool lends_slabs = {}, lends_sums = {};\n\
         constexpr unsigned cluster_m = {m}, cluster_n = {n}, cluster_k = {k}, output_parts = {parts};\n\
         }}\n",
        tile.warp_group_m.unwrap_or(0),
        tile.pingpong,
        plan.cluster.k > 1 || plan.spec.scheduler.splits() || plan.spec.tile_scheduler.is_some(),
        if columns > 0 { PROMOTION } else { 0 },
        registers(RoleKind::Load),
        registers(RoleKind::Mma),
        plan.resources.buffer("barriers").map_or(0, |b| b.offset),
        plan.resources.buffer("partials").map_or(0, |b| b.offset),
        plan.resources.lent_stages(),
        plan.resources.reuses_stages(),
        plan.resources.sums_reuse_stages(),
    );
    TmaOperand::new(plan, Side::First)?.write(text, plan, ROWS)?;
    let columns = if columns > 0 { columns } else { plan.tile.n };
    TmaOperand::new(plan, Side::Second)?.write(text, plan, columns)?;
    cluster(text, plan.cluster)?;
    multiply(text, plan, columns);
    Ok(())
}

/// Which block of the cluster is where: its rank by row, column and part of K, and back.
fn cluster(text: &mut String, shape: Mnk) -> Result<(), LayoutError> {
    let shape = [shape.m, shape.n, shape.k];
    *text += "namespace cluster {\n";
    for (name, strides, arguments) in [
        ("rank", [1, shape[0], shape[0] * shape[1]], &["row", "column", "part"][..]),
        ("row_of", [1, 0, 0], &["rank"][..]),
        ("column_of", [0, 1, 0], &["rank"][..]),
        ("part_of", [0, 0, 1], &["rank"][..]),
    ] {
        *text += &index_function(name, &plain(&shape, &strides)?.into(), arguments)?.to_string();
    }
    *text += "}\n";
    Ok(())
}

/// `Wgmma::multiply<accumulate>(d, a, b)`: one instruction of `n` columns on a warp's fragments and two matrix descriptors, and
/// `Wgmma::multiply(d, a, b, accumulate)`, which finds out at run time.
/// `Wgmma::finish(d)` waits until all are done: what reads `d` behind it is not moved in front of it.
fn multiply(text: &mut String, plan: &KernelPlan, n: usize) {
    let spec = plan.kernel_spec();
    let depth = DEPTH_BYTES * 8 / spec.a.bits();
    let constraint = instruction::constraint(spec.acc);
    let transposed = |major| i32::from(matches!(major, MajorId::MN));
    let immediates = match spec.acc {
        Dtype::I32 => String::new(),
        _ if spec.a.bits() == 16 => {
            format!(", 1, 1, {}, {}", transposed(plan.major_a), transposed(plan.major_b))
        }
        _ => ", 1, 1".to_owned(),
    };
    // Registers hold A as the instruction wants it, so that there is nothing to transpose.
    let of_registers = match spec.acc {
        Dtype::F32 if spec.a.bits() == 16 => format!(", 1, 1, {}", transposed(plan.major_b)),
        _ => immediates.clone(),
    };
    let count = n / 2;
    let registers = (0..count).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
    let outputs = |kind: char| {
        let one = |i: usize| format!("\"{kind}{constraint}\"(d[{}][{}])", i / 4, i % 4);
        (0..count).map(one).collect::<Vec<_>>().join(", ")
    };
    let (ty, fragments) = (number(spec.acc), n / 8);
    // `accumulate` is a number, or a value of run time. The instruction that surely does not accumulate does not read what it
    // writes: registers that are read would be filled first.
    let asm = |accumulate: &str, in_registers: bool| {
        let words = if in_registers { 4 } else { 1 };
        let (scale, input) = match accumulate {
            "0" | "1" => (accumulate.to_owned(), String::new()),
            value => (format!("%{}", count + words + 1), format!(", \"r\"({value})")),
        };
        let first = match in_registers {
            true => format!("{{%{count}, %{}, %{}, %{}}}", count + 1, count + 2, count + 3),
            false => format!("%{count}"),
        };
        let inputs = match in_registers {
            true => "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])",
            false => "\"l\"(a)",
        };
        let immediates = if in_registers { &of_registers } else { &immediates };
        format!(
            "asm volatile(\"{{\\n\\t.reg .pred p;\\n\\tsetp.ne.b32 p, {scale}, 0;\\n\\t\"\n                \
             \"wgmma.mma_async.sync.aligned.m64n{n}k{depth}.{}.{}.{} {{{registers}}}, {first}, %{}, p{immediates};\\n\\t}}\"\n                \
             : {} : {inputs}, \"l\"(b){input});",
            instruction::name(spec.acc),
            instruction::name(spec.a),
            instruction::name(spec.b),
            count + words,
            outputs(if accumulate == "0" { '=' } else { '+' }),
        )
    };
    let from_registers = match spec.first_in_registers() {
        true => format!(
            "template <bool accumulate>\n    static __device__ __forceinline__ void multiply({ty} (&d)[{fragments}][4], \
             const unsigned (&a)[4], unsigned long long b) {{\n        \
             if constexpr (accumulate) {{\n            {}\n        }} else {{\n            {}\n        }}\n    }}\n    ",
            asm("1", true),
            asm("0", true),
        ),
        false => String::new(),
    };
    let _ = write!(
        text,
        "struct Wgmma {{\n    static constexpr unsigned n = {n}, k = {depth};\n    \
         template <bool accumulate>\n    static __device__ __forceinline__ void multiply({ty} (&d)[{fragments}][4], \
         unsigned long long a, unsigned long long b) {{\n        \
         if constexpr (accumulate) {{\n            {}\n        }} else {{\n            {}\n        }}\n    }}\n    \
         static __device__ __forceinline__ void multiply({ty} (&d)[{fragments}][4], unsigned long long a, unsigned long long b, \
         unsigned accumulate) {{\n        {}\n    }}\n    \
         {from_registers}static __device__ __forceinline__ void finish({ty} (&d)[{fragments}][4]) {{\n        \
         asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : {} :: \"memory\");\n    }}\n}};\n",
        asm("1", false),
        asm("0", false),
        asm("accumulate", false),
        outputs('+'),
    );
}
