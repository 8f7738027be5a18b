//! Whether a kernel can execute a problem: asked before anything is launched or written.

use super::arguments::{self, Arguments};
use super::groups::needed;
use super::outputs::check_outputs;
use crate::host::mainloop;
use warpwright_arch::DeviceInfo;
use warpwright_numeric::Dtype;
use warpwright_runtime::{RawView, Space, Strided, TensorError};
use warpwright_schedulers::of_spec;
use warpwright_spec::{
    Extents, KernelPlan, Mnk, OperandDecl, Problem, ProblemKind, SchedulerId, Violation, check_lines,
};

/// Why a kernel cannot execute a problem. Nothing was launched and no output touched.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanImplementError {
    /// An operand of another element type than the kernel's.
    #[error("{operand} holds {given}, but the kernel reads {expected}: convert it, or build a kernel for it")]
    Element {
        /// Which operand.
        operand: &'static str,
        /// What the kernel reads.
        expected: Dtype,
        /// What it holds.
        given: Dtype,
    },
    /// An operand whose extents do not fit the problem.
    #[error("{operand} is {} x {} x {} (batch x rows x columns), but the problem needs {rule}: pass an operand of those extents, or state the problem's", given[0], given[1], given[2])]
    Extents {
        /// Which operand.
        operand: &'static str,
        /// Its batch entries, rows and columns.
        given: [usize; 3],
        /// What is needed.
        rule: String,
    },
    /// An operand that is needed and was not given.
    #[error("the operand `{name}` ({rows} x {columns} of {element}) is needed and was not given: pass it by this name")]
    Missing {
        /// Its name.
        name: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
        /// Its element.
        element: Dtype,
    },
    /// Address 0 for an operand that has elements.
    #[error("{operand} has {elements} elements but a null address: pass its memory")]
    Null {
        /// Which operand.
        operand: &'static str,
        /// How many elements it has.
        elements: usize,
    },
    /// Less memory than extents and strides reach over.
    #[error("{operand} reaches over {needed} bytes, but its memory has {given}: pass all of it, or smaller extents")]
    Memory {
        /// Which operand.
        operand: &'static str,
        /// Bytes that extents and strides reach over.
        needed: usize,
        /// Bytes there are.
        given: usize,
    },
    /// An address or stride that is no multiple of what the problem declares, or a declaration that the kernel's copies exceed.
    #[error(
        "{operand} is aligned to {given} bytes, but {needed} are needed: align its address and leading dimension, or declare less alignment and plan again"
    )]
    Misaligned {
        /// Which operand.
        operand: &'static str,
        /// What it has; 0 if a line starts inside a byte.
        given: usize,
        /// What the problem declares or the kernel's copies need.
        needed: usize,
    },
    /// An operand in memory that the kernel cannot read.
    #[error("{operand} is in the memory of {given}, but the kernel runs on {expected}: copy it there")]
    Space {
        /// Which operand.
        operand: &'static str,
        /// Where it is.
        given: Space,
        /// Where the kernel runs.
        expected: Space,
    },
    /// Elements of D that share memory.
    #[error(
        "elements of D share memory (extents {extents:?}, strides {strides:?}): D must have a place for every element, so no stride of 0 and no overlap"
    )]
    Overlapping {
        /// D's batch entries, rows and columns.
        extents: [usize; 3],
        /// D's strides.
        strides: [i64; 3],
    },
    /// D lies over an operand that is read.
    #[error("D overlaps {operand} in memory: give D its own memory, or read its former values with `previous()`")]
    Aliased {
        /// Which operand.
        operand: &'static str,
    },
    /// Offsets that 63 bits cannot hold, or negative strides.
    #[error("{operand}: {source}")]
    Layout {
        /// Which operand.
        operand: &'static str,
        /// What is wrong.
        source: TensorError,
    },
    /// More tiles than can be counted.
    #[error("the problem has more than 2^63 tiles of {tile}: use larger tiles or a smaller problem")]
    TooManyTiles {
        /// The tile.
        tile: Mnk,
    },
    /// A scheduler that cannot walk groups of different extents, or cannot be walked evenly.
    #[error(
        "the {scheduler} tile scheduler cannot execute a {kind:?} problem: its groups may differ, so use `Grouped`"
    )]
    Scheduler {
        /// The scheduler.
        scheduler: SchedulerId,
        /// The problem.
        kind: ProblemKind,
    },
    /// An epilogue that reads what a kind of problem does not have at one place.
    #[error(
        "`previous()` cannot be read in a {kind:?} problem, whose groups' D lie at places of their own: pass C as `source(&c)`"
    )]
    Previous {
        /// The problem.
        kind: ProblemKind,
    },
    /// An epilogue with outputs for groups that may differ.
    #[error(
        "an epilogue stores nothing beside D in a {kind:?} problem, whose groups may differ: multiply the groups one by one, or as a batch"
    )]
    Outputs {
        /// The problem.
        kind: ProblemKind,
    },
    /// An output of the epilogue whose elements share memory.
    #[error(
        "elements of epilogue argument {argument} ({what}) share memory (extents {extents:?}, strides {strides:?}): an output has a place for every element, so no stride of 0 and no overlap"
    )]
    SharedOutput {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Its batch entries, rows and columns.
        extents: [usize; 3],
        /// Its strides.
        strides: [i64; 3],
    },
    /// An output of the epilogue that lies over something else.
    #[error("epilogue argument {argument} ({what}) overlaps {other} in memory: give the output memory of its own")]
    OutputOverlap {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// What it overlaps.
        other: String,
    },
    /// A mask whose bits run the other way than D's lines.
    #[error(
        "epilogue argument {argument} (aux_mask(..)) has {rows} x {columns} bytes, but its bits run along the direction in which D is contiguous: M x ceil(N / 8) bytes for a row-major D, ceil(M / 8) x N for a column-major one"
    )]
    Mask {
        /// Which, from 0.
        argument: usize,
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// A tile that cuts what the epilogue needs whole.
    #[error(transparent)]
    Tile(#[from] Violation),
    /// An output of elements that share bytes with elements of other lines.
    #[error(
        "epilogue argument {argument} ({what}) holds {dtype}, below a byte an element, in strides {strides:?}: let it be contiguous along the direction in which D is, and its lines begin at whole bytes"
    )]
    PackedOutput {
        /// Which, from 0.
        argument: usize,
        /// What it is in the expression.
        what: &'static str,
        /// Its element.
        dtype: Dtype,
        /// Its strides.
        strides: [i64; 3],
    },
    /// Scale factors for accumulators that they cannot be applied to.
    #[error(
        "scale factors are applied to f32 accumulators, but the kernel accumulates in {accumulator}: accumulate in f32, or scale in the epilogue"
    )]
    Scales {
        /// The accumulator.
        accumulator: Dtype,
    },
    /// Groups of a shared operand that begin inside a scale group.
    #[error(
        "a group begins at {start} along {mode}, inside a scale group of {group}: let groups begin at multiples of it"
    )]
    ScaleGroup {
        /// `M` or `K`.
        mode: &'static str,
        /// Where the group begins.
        start: usize,
        /// Elements of a scale group.
        group: usize,
    },
    /// More shared memory than this very device has.
    #[error(
        "the kernel needs {needed} bytes of shared memory, but {device} gives a block {limit}: use fewer stages or a smaller tile"
    )]
    SharedMemory {
        /// Bytes needed.
        needed: usize,
        /// Bytes there are.
        limit: usize,
        /// The device.
        device: String,
    },
    /// An extension that does not hold what this crate looks for.
    #[error(
        "the extension's implementation is no {what}: make it `MainloopImplementation` or the schedulers' `Implementation`"
    )]
    Extension {
        /// `mainloop` or `tile scheduler`.
        what: &'static str,
    },
}

/// Can a kernel execute a problem with these operands? The same answer for the host and for devices, but for the device's own
/// shared memory.
///
/// Extents and addresses that exist only on the device are not inspected: the problem declares their bounds and alignment.
///
/// # Errors
/// The first rule that is broken, with its numbers.
pub fn can_implement(
    plan: &KernelPlan,
    device: &DeviceInfo,
    problem: &Problem,
    arguments: &Arguments<'_>,
) -> Result<(), CanImplementError> {
    let spec = &plan.spec;
    let (needed_bytes, limit) = (plan.resources.shared_bytes, device.smem_optin as usize);
    if device.capability.is_some() && needed_bytes > limit {
        return Err(CanImplementError::SharedMemory { needed: needed_bytes, limit, device: device.name.clone() });
    }
    let mainloop = mainloop(spec).ok_or(CanImplementError::Extension { what: "mainloop" })?;
    of_spec(spec).ok_or(CanImplementError::Extension { what: "tile scheduler" })?;
    let kind = problem.kind();
    let differ = !matches!(kind, ProblemKind::Dense | ProblemKind::Batched | ProblemKind::PointerArray);
    if differ && spec.tile_scheduler.is_none() && !matches!(spec.scheduler, SchedulerId::GROUPED) {
        return Err(CanImplementError::Scheduler { scheduler: spec.scheduler, kind });
    }
    if spec.epilogue.reads_previous() && !matches!(kind, ProblemKind::Dense | ProblemKind::Batched) {
        return Err(CanImplementError::Previous { kind });
    }
    if spec.scales.any() && spec.acc != Dtype::F32 {
        return Err(CanImplementError::Scales { accumulator: spec.acc });
    }
    check_lines(spec.epilogue, plan.user_output_tile(), problem.bound().n)?;
    tiles(plan, problem)?;
    let shapes = Shapes::of(problem);
    let bases = |name: &str| arguments.extra(name).is_some();
    let (a, b, d) = (Seen::from(arguments.a), Seen::from(arguments.b), Seen::written(arguments));
    for (operand, seen, expected, wants, by_base, alignment) in [
        ("A", &a, spec.a, &shapes.a, bases(arguments::BASES_A), problem.alignment.a),
        ("B", &b, spec.b, &shapes.b, bases(arguments::BASES_B), problem.alignment.b),
        ("D", &d, spec.d, &shapes.d, bases(arguments::BASES_D), problem.alignment.d),
    ] {
        if seen.dtype != expected {
            return Err(CanImplementError::Element { operand, expected, given: seen.dtype });
        }
        if by_base {
            continue;
        }
        wants.check(operand, seen)?;
        seen.check_memory(operand)?;
        // With nothing to compute, nobody cares where nothing lies.
        if !problem.is_empty() {
            seen.check_alignment(operand, alignment)?;
        }
    }
    let (first, second) = if plan.transposed {
        (("B", problem.alignment.b), ("A", problem.alignment.a))
    } else {
        (("A", problem.alignment.a), ("B", problem.alignment.b))
    };
    // Copies lie as they should wherever the operands lie.
    let wants = |repacked: bool, width: usize| if repacked { 1 } else { width };
    let (width_a, width_b) = (wants(plan.repacks.a, plan.widths.a), wants(plan.repacks.b, plan.widths.b));
    for ((operand, given), needed) in [(first, width_a), (second, width_b), (("D", problem.alignment.d), plan.widths.d)]
    {
        if given < needed {
            return Err(CanImplementError::Misaligned { operand, given, needed });
        }
    }
    if !injective(&d.layout) {
        return Err(CanImplementError::Overlapping { extents: d.layout.extents, strides: d.layout.strides });
    }
    for (operand, seen) in [("A", &a), ("B", &b)] {
        if d.overlaps(seen) {
            return Err(CanImplementError::Aliased { operand });
        }
    }
    for decl in mainloop.operands(spec).iter().skip(2) {
        check_declared(&decl, problem, arguments)?;
    }
    for (name, rows, columns) in needed(problem, bases).iter() {
        let view =
            arguments.extra(name).ok_or(CanImplementError::Missing { name, rows, columns, element: Dtype::I32 })?;
        let seen = Seen::from(view);
        if seen.dtype != Dtype::I32 {
            return Err(CanImplementError::Element { operand: name, expected: Dtype::I32, given: seen.dtype });
        }
        Shape::exactly([1, rows, columns], "one row a group").check(name, &seen)?;
        seen.check_memory(name)?;
    }
    for (name, view) in arguments.extra {
        if d.overlaps(&Seen::from(*view)) {
            return Err(CanImplementError::Aliased { operand: name });
        }
    }
    check_outputs(plan, problem, arguments)?;
    scale_groups(plan, problem)
}

/// Whether all operands that have elements are in the memory that a kernel reads. The epilogue's are checked when they are bound.
pub(crate) fn check_space(arguments: &Arguments<'_>, expected: Space) -> Result<(), CanImplementError> {
    let (a, b, d) = (&arguments.a, &arguments.b, &arguments.d);
    let own = [("A", a.space(), a.is_empty()), ("B", b.space(), b.is_empty()), ("D", d.space(), d.is_empty())];
    let extra = arguments.extra.iter().map(|(name, v)| (*name, v.space(), v.is_empty()));
    match own.into_iter().chain(extra).find(|(_, given, empty)| *given != expected && !empty) {
        Some((operand, given, _)) => Err(CanImplementError::Space { operand, given, expected }),
        None => Ok(()),
    }
}

/// Whether tiles, batch entries and splits can be counted.
fn tiles(plan: &KernelPlan, problem: &Problem) -> Result<(), CanImplementError> {
    let space = warpwright_schedulers::TileSpace::new(plan, problem, 1);
    // No tile has more parts than K tiles.
    let parts = space.splits.min(space.tiles.k.max(1));
    let products = [space.tiles.n, space.groups, space.tiles.k.max(1), parts];
    let total = products.iter().try_fold(space.tiles.m as u64, |n, &x| n.checked_mul(x as u64));
    match total {
        Some(n) if n < 1 << 63 => Ok(()),
        _ => Err(CanImplementError::TooManyTiles { tile: plan.tile }),
    }
}

/// Groups that lie one behind the other begin where scale groups do.
fn scale_groups(plan: &KernelPlan, problem: &Problem) -> Result<(), CanImplementError> {
    let scales = plan.spec.scales;
    let mut start = 0usize;
    let (mode, per): (_, usize) = match problem.extents {
        Extents::Ragged { .. } => ("M", scales.m),
        Extents::KGrouped { .. } => ("K", scales.k),
        _ => return Ok(()),
    };
    if !scales.any() || per <= 1 {
        return Ok(());
    }
    for mnk in (0..problem.groups()).map_while(|g| problem.group(g)) {
        if !start.is_multiple_of(per) {
            return Err(CanImplementError::ScaleGroup { mode, start, group: per });
        }
        start = start.saturating_add(if mode == "M" { mnk.m } else { mnk.k });
    }
    Ok(())
}

/// An operand that the mainloop declares beside A and B.
fn check_declared(decl: &OperandDecl, problem: &Problem, arguments: &Arguments<'_>) -> Result<(), CanImplementError> {
    let mut bound = problem.bound();
    // Operands that all groups share are as long as all groups together.
    let shared = match problem.extents {
        Extents::Ragged { .. } if decl.granularity.m > 0 => {
            bound.m = arguments.a.extents()[1];
            true
        }
        Extents::KGrouped { .. } => {
            bound.k = arguments.a.extents()[2];
            true
        }
        _ => false,
    };
    let (rows, columns) = decl.granularity.extents(bound);
    let name = decl.name;
    let view =
        arguments.extra(name).ok_or(CanImplementError::Missing { name, rows, columns, element: decl.element })?;
    let seen = Seen::from(view);
    if seen.dtype != decl.element {
        return Err(CanImplementError::Element { operand: name, expected: decl.element, given: seen.dtype });
    }
    let [batch, given_rows, given_columns] = seen.layout.extents;
    let entries = if shared { 1 } else { problem.groups() };
    if (given_rows, given_columns) != (rows, columns) || (batch != 1 && batch != entries) {
        let rule = format!("{rows} x {columns}, once or {entries} times");
        return Err(CanImplementError::Extents { operand: name, given: seen.layout.extents, rule });
    }
    seen.check_memory(name)
}

/// What an operand's extents must be.
struct Shape {
    batch: usize,
    /// Whether one entry may stand for all.
    broadcast: bool,
    rows: usize,
    columns: usize,
    /// Whether more rows or columns are allowed: groups of one operand need not fill it.
    at_least: bool,
    why: &'static str,
}

impl Shape {
    fn exactly([batch, rows, columns]: [usize; 3], why: &'static str) -> Shape {
        Shape { batch, broadcast: false, rows, columns, at_least: false, why }
    }

    fn check(&self, operand: &'static str, seen: &Seen) -> Result<(), CanImplementError> {
        let [batch, rows, columns] = seen.layout.extents;
        let fits = |given: usize, wanted: usize| given == wanted || self.at_least && given > wanted;
        if (batch == self.batch || self.broadcast && batch == 1) && fits(rows, self.rows) && fits(columns, self.columns)
        {
            return Ok(());
        }
        let least = if self.at_least { "at least " } else { "" };
        let rule = format!("{least}{} x {} x {}: {}", self.batch, self.rows, self.columns, self.why);
        Err(CanImplementError::Extents { operand, given: seen.layout.extents, rule })
    }
}

/// The extents of A, B and D by the kind of problem.
struct Shapes {
    a: Shape,
    b: Shape,
    d: Shape,
}

impl Shapes {
    fn of(problem: &Problem) -> Shapes {
        let (groups, Mnk { m, n, k }) = (problem.groups(), problem.bound());
        let plain = |rows, columns, why| Shape::exactly([groups, rows, columns], why);
        let sum =
            |f: fn(Mnk) -> usize| (0..groups).map_while(|g| problem.group(g)).map(f).fold(0, usize::saturating_add);
        let shared = |rows, columns, why| Shape { at_least: true, ..Shape::exactly([1, rows, columns], why) };
        let mut shapes =
            Shapes { a: plain(m, k, "A is M x K"), b: plain(k, n, "B is K x N"), d: plain(m, n, "D is M x N") };
        match &problem.extents {
            Extents::Dense(_) => {}
            Extents::Batched { .. } => (shapes.a.broadcast, shapes.b.broadcast) = (true, true),
            Extents::PointerArray { .. } | Extents::Grouped(_) => {
                (shapes.a.at_least, shapes.b.at_least, shapes.d.at_least) = (true, true, true);
            }
            Extents::Ragged { .. } => {
                let rows = sum(|x| x.m);
                shapes.a = shared(rows, k, "A holds all groups' rows");
                shapes.d = shared(rows, n, "D holds all groups' rows");
            }
            Extents::Masked { capacity, .. } => {
                shapes.a = plain(*capacity, k, "each group has its capacity of rows");
                shapes.d = plain(*capacity, n, "each group has its capacity of rows");
            }
            Extents::KGrouped { .. } => {
                let depth = sum(|x| x.k);
                shapes.a = shared(m, depth, "A holds all groups' columns");
                shapes.b = shared(depth, n, "B holds all groups' rows");
                shapes.d = plain(m, n, "D is M x N a group");
            }
        }
        shapes
    }
}

/// What there is to check about a view.
pub(super) struct Seen {
    address: u64,
    bytes: usize,
    dtype: Dtype,
    layout: Strided,
    alignment: usize,
    space: Space,
    /// Bytes from its first to its last element; `None` where they cannot be counted. Asked for several times in every call.
    spanned: Option<usize>,
}

impl From<RawView<'_>> for Seen {
    fn from(v: RawView<'_>) -> Seen {
        let spanned = spanned(&v.layout(), v.dtype());
        Seen {
            address: v.address(),
            bytes: v.bytes(),
            dtype: v.dtype(),
            layout: v.layout(),
            alignment: spanned.map_or(0, |_| v.alignment()),
            space: v.space(),
            spanned,
        }
    }
}

impl Seen {
    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(super) fn layout(&self) -> &Strided {
        &self.layout
    }

    pub(super) fn written(arguments: &Arguments<'_>) -> Seen {
        let v = &arguments.d;
        let spanned = spanned(&v.layout(), v.dtype());
        Seen {
            address: v.address(),
            bytes: v.bytes(),
            dtype: v.dtype(),
            layout: v.layout(),
            alignment: spanned.map_or(0, |_| v.alignment()),
            space: v.space(),
            spanned,
        }
    }

    fn span(&self, operand: &'static str) -> Result<usize, CanImplementError> {
        let refused = |source| CanImplementError::Layout { operand, source };
        match self.spanned {
            Some(bytes) => Ok(bytes),
            None => self.layout.span(self.dtype).map(|n| self.dtype.packed_bytes(n)).map_err(refused),
        }
    }

    fn check_memory(&self, operand: &'static str) -> Result<(), CanImplementError> {
        let needed = self.span(operand)?;
        if needed > 0 && self.address == 0 {
            return Err(CanImplementError::Null { operand, elements: self.layout.len() });
        }
        if needed > self.bytes {
            return Err(CanImplementError::Memory { operand, needed, given: self.bytes });
        }
        Ok(())
    }

    fn check_alignment(&self, operand: &'static str, needed: usize) -> Result<(), CanImplementError> {
        let given = self.alignment;
        if !self.layout.is_empty() && (given == 0 || !given.is_multiple_of(needed.clamp(1, 128))) {
            return Err(CanImplementError::Misaligned { operand, given, needed });
        }
        Ok(())
    }

    /// Whether two views have a byte in common, as far as the ranges of their addresses tell.
    pub(super) fn overlaps(&self, other: &Seen) -> bool {
        let end = |x: &Seen| x.address.saturating_add(x.span("").unwrap_or(0) as u64);
        self.space == other.space
            && !self.layout.is_empty()
            && !other.layout.is_empty()
            && self.address < end(other)
            && other.address < end(self)
    }
}

fn spanned(layout: &Strided, dtype: Dtype) -> Option<usize> {
    layout.span(dtype).ok().map(|n| dtype.packed_bytes(n))
}

/// Whether every element has a place of its own: [`Strided::is_injective`] without its list, since this runs in every call.
pub(super) fn injective(layout: &Strided) -> bool {
    let [batch, rows, columns] = [0, 1, 2].map(|i| (layout.strides[i], layout.extents[i]));
    // The usual order, from the longest stride on, needs no sorting.
    let mut modes = [columns, rows, batch];
    if !modes.is_sorted() {
        modes.sort_unstable();
    }
    let mut reach = 0i128;
    layout.is_empty()
        || modes.into_iter().filter(|&(_, extent)| extent > 1).all(|(stride, extent)| {
            let apart = i128::from(stride) > reach;
            reach += i128::from(stride) * (extent as i128 - 1);
            apart
        })
}
