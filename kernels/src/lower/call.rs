//! From a plan and a call to a launch.

use super::TensorMaps;
use super::config::{SLAB_ROWS, Tile};
use super::maps::{BoxShape, CallMap};
use super::params::{Form, OperandArg, Packed, Values};
use super::repack::{Copies, RepackCall};
use crate::contract::{Arguments, accumulator_bytes};
use std::sync::OnceLock;
use warpwright_epilogue::{Bound, FieldKind, ParamBlock, PartialResults, ReductionParams, SubtileGrid, cuda};
use warpwright_runtime::{LaunchCall, RawView, TensorMapSpec, WorkspacePtr};
use warpwright_schedulers::{Divisor, TileScheduler, TileSpace, WorkspaceRegions, of_spec};
use warpwright_spec::{
    Axes, KernelPlan, MAX_ARGUMENTS, MajorId, Mnk, Order, Problem, RasterOrder, Reduction, ScheduleId, SchedulerId,
    SingleTile,
};

/// Why a call cannot be launched, although the kernel can implement its problem.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// An extent beyond what the kernel counts in 31 bits.
    #[error("{mode} is {given}, but the kernel counts to {at_most}: split the problem along {mode}")]
    Extent {
        /// `M`, `N` or `K`, the user's.
        mode: &'static str,
        /// How long it is.
        given: usize,
        /// The longest that can be.
        at_most: usize,
    },
    /// More blocks than a grid has.
    #[error(
        "the problem takes {blocks} blocks with tiles of {tile}, but a launch has at most {}: use larger tiles, fewer splits, or several calls",
        i32::MAX
    )]
    Tiles {
        /// How many.
        blocks: usize,
        /// The tile.
        tile: Mnk,
    },
}

/// One launch: its grid and parameters. Made without allocating.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceCall {
    grid: u32,
    /// The launch that copies operands into workspace.
    repack: Option<RepackCall>,
    /// Of the launch that ends reductions.
    finish: Option<[u32; 2]>,
    form: Form,
    /// Whether the first operand is B.
    transposed: bool,
    params: Packed,
    /// In the order of the parameters.
    maps: [Option<CallMap>; MAPS],
}

impl Default for DeviceCall {
    fn default() -> DeviceCall {
        DeviceCall {
            grid: 0,
            repack: None,
            finish: None,
            form: Form::default(),
            transposed: false,
            params: Packed::EMPTY,
            maps: [None; MAPS],
        }
    }
}

/// The most tensor maps of a kernel: of A, B, D, C and a matrix beside D.
const MAPS: usize = 5;

/// The tensor maps of one call, for others of its plan and problem, from which they differ by addresses and strides alone.
#[derive(Clone, Debug)]
pub struct EncodedMaps {
    strides: [[i64; 2]; MAPS],
    maps: [[u8; 128]; MAPS],
}

impl DeviceCall {
    /// Encodes its tensor maps, if it has any: `known` are those of the first call of its plan and problem, which are taken
    /// where nothing but addresses has changed, and `moved` writes another address into a map, if it can.
    ///
    /// # Errors
    /// Those of `encode`, which is the device's.
    pub fn encode_maps<E>(
        &mut self,
        known: &OnceLock<EncodedMaps>,
        encode: impl Fn(&TensorMapSpec) -> Result<[u8; 128], E>,
        moved: impl Fn(&mut [u8; 128], u64) -> bool,
    ) -> Result<(), E> {
        let mut encoded = [[0; 128]; MAPS];
        for (i, map) in self.maps.iter().flatten().enumerate() {
            if let Some(EncodedMaps { strides, maps }) = known.get()
                && strides[i] == map.strides()
            {
                encoded[i] = maps[i];
                if moved(&mut encoded[i], map.address()) {
                    self.params.set_map(i, encoded[i]);
                    continue;
                }
            }
            encoded[i] = encode(&map.spec())?;
            self.params.set_map(i, encoded[i]);
        }
        if known.get().is_none() && self.maps.iter().any(Option::is_some) {
            let mut strides = [[0; 2]; MAPS];
            self.maps.iter().flatten().zip(&mut strides).for_each(|(map, to)| *to = map.strides());
            // A second thread's maps are as good as the first's.
            let _ = known.set(EncodedMaps { strides, maps: encoded });
        }
        Ok(())
    }

    /// Makes `to` a call like this one, whose maps are encoded: of the same plan, problem and strides, with other addresses of A, B
    /// and D, and these arguments of an epilogue that reads no matrix and stores nothing beside D. `moved` is that of
    /// [`encode_maps`](Self::encode_maps). False where a map cannot be moved; `to` is then nothing to launch.
    pub fn again(
        &self,
        to: &mut RepeatedCall,
        [a, b, d]: [u64; 3],
        epilogue: Option<&Bound<'_>>,
        moved: impl Fn(&mut [u8; 128], u64) -> bool,
    ) -> bool {
        if self.finish.is_some() || self.repack.is_some() {
            return false;
        }
        let operands = if self.transposed { [b, a] } else { [a, b] };
        to.grid = self.grid;
        self.params.readdress(&mut to.params, self.form, operands, d, epilogue);
        let addresses = [Some(operands[0]), Some(operands[1]), Some(d), None];
        let maps = self.maps.iter().zip(addresses).filter(|(map, _)| map.is_some());
        for (i, (map, address)) in maps.enumerate() {
            let moves = match (address, to.params.map_mut(i)) {
                (Some(address), Some(to)) if !map.as_ref().is_some_and(CallMap::is_empty) => moved(to, address),
                _ => false,
            };
            if !moves {
                return false;
            }
        }
        true
    }

    /// For the runtime.
    pub fn launch(&self) -> LaunchCall<'_> {
        LaunchCall { grid: [self.grid, 1, 1], params: &self.params }
    }

    /// The launch before it that copies operands into workspace, if any are.
    pub fn repack(&self) -> Option<LaunchCall<'_>> {
        self.repack.as_ref().map(RepackCall::launch)
    }

    /// The launch behind it that ends the epilogue's reductions, if there are any.
    pub fn finish(&self) -> Option<LaunchCall<'_>> {
        self.finish.map(|[x, y]| LaunchCall { grid: [x, y, 1], params: &self.params })
    }
}

/// A call [like another](DeviceCall::again).
#[derive(Debug)]
pub struct RepeatedCall {
    grid: u32,
    params: Packed,
}

impl Default for RepeatedCall {
    fn default() -> RepeatedCall {
        RepeatedCall { grid: 0, params: Packed::EMPTY }
    }
}

impl RepeatedCall {
    /// For the runtime.
    pub fn launch(&self) -> LaunchCall<'_> {
        LaunchCall { grid: [self.grid, 1, 1], params: &self.params }
    }
}

/// Where a launch's flags and partial accumulators are: null where [`workspace`] is empty.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DeviceWorkspace {
    /// Zero when the launch begins, and when it has ended.
    pub flags: WorkspacePtr,
    /// Of any contents.
    pub partials: WorkspacePtr,
}

/// The workspace of a launch on a device that keeps `resident` blocks of the kernel at once.
pub fn workspace(plan: &KernelPlan, problem: &Problem, resident: usize) -> WorkspaceRegions {
    let regions = without_copies(plan, problem, resident);
    match Copies::of(plan, problem).bytes() {
        0 => regions,
        copies => {
            WorkspaceRegions { bytes: up(regions.bytes, WorkspaceRegions::ALIGN).saturating_add(copies), ..regions }
        }
    }
}

fn without_copies(plan: &KernelPlan, problem: &Problem, resident: usize) -> WorkspaceRegions {
    let fixup = fixup(plan, &clusters(plan, problem, resident));
    // A tree with too many arguments was refused before.
    let Ok(block) = ParamBlock::of(plan.spec.epilogue) else { return fixup };
    if !block.reduces() {
        return fixup;
    }
    let [flags, partials] = block.partial_bytes(subtiles(plan, problem));
    let behind = BehindFixup::of(&fixup);
    let flags_bytes = if flags == 0 { fixup.flags_bytes } else { behind.flags.saturating_add(flags) };
    let partials_offset = up(flags_bytes, WorkspaceRegions::ALIGN);
    let bytes = partials_offset.saturating_add(behind.partials).saturating_add(partials);
    WorkspaceRegions { flags_bytes, partials_offset, bytes, ..fixup }
}

/// What fix-up takes of it: each of the tiles, or parts of tiles, that a cluster's blocks have has its own.
fn fixup(plan: &KernelPlan, clusters: &TileSpace) -> WorkspaceRegions {
    let scheduler = scheduler(plan);
    let parts = plan.output_parts();
    let slots = scheduler.slots(clusters).saturating_mul(plan.cluster.m * plan.cluster.n * parts);
    WorkspaceRegions::new(slots, scheduler.parts_kept(clusters), accumulator_bytes(plan) / parts)
}

/// A cluster's blocks have neighbouring tiles, and parts of them: to the scheduler they are one.
fn clusters(plan: &KernelPlan, problem: &Problem, resident: usize) -> TileSpace {
    TileSpace::of_clusters(plan, problem, resident / plan.cluster.blocks())
}

/// Where the reductions' part of a workspace begins: bytes behind its flags, and behind its other memory.
struct BehindFixup {
    flags: usize,
    partials: usize,
}

impl BehindFixup {
    fn of(fixup: &WorkspaceRegions) -> BehindFixup {
        let partials = up(fixup.bytes - fixup.partials_offset, WorkspaceRegions::ALIGN);
        BehindFixup { flags: up(fixup.flags_bytes, 8), partials }
    }
}

const fn up(bytes: usize, to: usize) -> usize {
    bytes.saturating_add(to - 1) / to * to
}

/// The tiles and subtiles that a plan's warps visit.
fn subtiles(plan: &KernelPlan, problem: &Problem) -> SubtileGrid {
    let user = problem.bound();
    let extents = if plan.transposed { [user.n, user.m] } else { [user.m, user.n] };
    let tile = Tile::of(plan);
    SubtileGrid {
        entries: problem.groups(),
        extents,
        tile: [tile.m, tile.output_n],
        tile_warps: tile.warps(),
        subtile: [SLAB_ROWS, tile.slab_columns],
        transposed: plan.transposed,
    }
}

/// Blocks of the launch that ends reductions along x: as many as take each value once.
fn finish_blocks(block: &ParamBlock, grid: SubtileGrid) -> u32 {
    let blocks = |(argument, PartialResults { length, atomic, .. }): (usize, PartialResults)| {
        let all = matches!(block.fields()[argument].kind, FieldKind::Reduction(Reduction { axes: Axes::All, .. }));
        let values = if all { 1 } else { length };
        let at_once = cuda::finished_at_once(all, atomic);
        values.saturating_mul(grid.entries).div_ceil(at_once).min(1 << 16) as u32
    };
    block.partial_results(grid).map(blocks).max().unwrap_or(1)
}

/// What is no scheduler of ours was refused when the plan was lowered.
fn scheduler(plan: &KernelPlan) -> &'static dyn TileScheduler {
    of_spec(&plan.spec).unwrap_or(&SingleTile)
}

/// What a launch takes of its device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSide<'a> {
    /// Blocks of the kernel that it keeps at once.
    pub resident: usize,
    /// The plan's.
    pub maps: &'a TensorMaps,
    /// Memory of the sizes that [`workspace`] says.
    pub workspace: DeviceWorkspace,
}

/// Makes `to` the launch of a problem. In place, since it is two
/// kilobytes.
///
/// `epilogue` are the checked arguments of the plan's epilogue. Operands were checked
/// by [`can_implement`](crate::can_implement), and the problem is not empty.
///
/// # Errors
/// [`CallError`].
pub fn call(
    to: &mut DeviceCall,
    plan: &KernelPlan,
    problem: &Problem,
    arguments: &Arguments<'_>,
    epilogue: &Bound<'_>,
    DeviceSide { resident, maps, workspace: at }: DeviceSide<'_>,
) -> Result<(), CallError> {
    let user = problem.bound();
    let tile = plan.tile;
    let longest = tile.m.max(tile.n).max(tile.k) * plan.resources.stages.max(1);
    let at_most = i32::MAX as usize - longest;
    for (mode, given) in [("M", user.m), ("N", user.n), ("K", user.k)] {
        if given > at_most {
            return Err(CallError::Extent { mode, given, at_most });
        }
    }
    let extents = if plan.transposed { user.swapped() } else { user };
    let in_cluster = plan.cluster.blocks();
    let space = clusters(plan, problem, resident);
    let lone = matches!(plan.spec.schedule, ScheduleId::COOPERATIVE | ScheduleId::PINGPONG);
    let space = if lone && plan.spec.scheduler == SchedulerId::PERSISTENT { space.evened() } else { space };
    let scheduler = scheduler(plan);
    let (grid, cut) = (in_cluster * scheduler.blocks(&space), scheduler.cut(&space));
    // Persistent blocks count beyond the last tile by a grid.
    let blocks = grid.max(space.total().saturating_add(space.wave).saturating_mul(in_cluster));
    if blocks > i32::MAX as usize {
        return Err(CallError::Tiles { blocks, tile });
    }
    let along_m = matches!(space.raster, RasterOrder::AlongM);
    let (across, along) = if along_m { (space.tiles.n, space.tiles.m) } else { (space.tiles.m, space.tiles.n) };
    let band = space.swizzle.clamp(1, across.max(1));
    let divisors = [space.tiles.plane(), band * along, band, across % band, space.total()];
    // StreamK cuts the line of all tiles that are split, the others each tile.
    let cut_k_tiles =
        if plan.spec.scheduler == SchedulerId::STREAM_K { cut.split_tiles * space.tiles.k } else { space.tiles.k };
    // Rows of the kernel's operands: A's are its rows, B's its columns.
    let (first, second) = (side(&arguments.a, 1, 2), side(&arguments.b, 2, 1));
    let (first, second) = if plan.transposed { (second, first) } else { (first, second) };
    let [batch, m, n] = arguments.d.strides();
    let mut operands = [first.arg(plan.major_a), second.arg(plan.major_b)];
    to.repack = RepackCall::of(plan, problem, &mut operands, at.partials, resident, epilogue.may_read_accumulator());
    let groups = problem.groups();
    let memory = arguments.d.address();
    let of = |shape: &BoxShape, arg: &OperandArg, rows| CallMap::new(shape, arg, [rows, extents.k, groups], memory);
    let [map_a, map_b] = match &maps.operands {
        Some([a, b]) => [Some(of(a, &operands[0], extents.m)), Some(of(b, &operands[1], extents.n))],
        None => [None, None],
    };
    // A matrix of the kernel's rows and columns that lies as D does. One entry stands for all; what is dropped is never read, but has
    // a map.
    let of = |shape: &BoxShape, (pointer, [batch, m, n]): (u64, [i64; 3])| {
        let leading = if plan.order_d() == Order::Row { m } else { n };
        let arg = OperandArg { pointer, leading, stride_batch: batch };
        CallMap::new(shape, &arg, [extents.m, extents.n, groups], memory)
    };
    let d_strides = [if arguments.d.extents()[0] == 1 { 0 } else { batch }, m, n];
    let output = (arguments.d.address(), d_strides);
    let map_d = maps.output.as_ref().map(|shape| of(shape, output));
    let map_c = maps.source.as_ref().map(|(argument, shape)| of(shape, epilogue.matrix(*argument).unwrap_or(output)));
    let map_aux = maps.aux.as_ref().map(|(argument, shape)| of(shape, epilogue.matrix(*argument).unwrap_or(output)));
    let values = Values {
        operands,
        d: arguments.d.address(),
        d_strides: [m, n, d_strides[0]],
        extents: [extents.m as u32, extents.n as u32, extents.k as u32],
        scheduler: [
            space.total() as u32,
            space.tiles.m as u32,
            space.tiles.n as u32,
            space.tiles.k as u32,
            band as u32,
            u32::from(along_m),
            cut.split_tiles as u32,
            cut.pieces as u32,
        ],
        divisors: divisors.map(|d| Divisor::new(d as u32)),
        part: (cut_k_tiles / cut.pieces.max(1)) as u32,
        workspace: [at.flags.address, at.partials.address],
    };
    to.grid = grid as u32;
    to.form = Form::of(plan, maps);
    to.transposed = plan.transposed;
    to.params = Packed::EMPTY;
    let block = epilogue.block();
    let (mut reductions, mut finish) = ([ReductionParams::default(); MAX_ARGUMENTS], None);
    if block.reduces() {
        let grid = subtiles(plan, problem);
        let behind = BehindFixup::of(&fixup(plan, &space));
        for (argument, at_offset) in block.partial_results(grid) {
            let PartialResults { offset, length, blocks, atomic, .. } = at_offset;
            let base = if atomic {
                at.flags.address + behind.flags as u64
            } else {
                at.partials.address + behind.partials as u64
            };
            reductions[argument] = ReductionParams {
                partials: base + offset as u64,
                length: length as u32,
                blocks: blocks as u32,
                entries: grid.entries as u32,
            };
        }
        let count = block.fields().iter().filter(|f| matches!(f.kind, FieldKind::Reduction(_))).count();
        finish = Some([finish_blocks(block, grid), count as u32]);
    }
    to.finish = finish;
    to.params.fill(to.form, &values, epilogue, |argument| reductions[argument]);
    to.maps = [map_a, map_b, map_d, map_c, map_aux];
    Ok(())
}

/// An operand by its strides along M or N, and along K.
struct Strides {
    pointer: u64,
    batch: i64,
    mn: i64,
    k: i64,
}

fn side(view: &RawView<'_>, mn: usize, k: usize) -> Strides {
    let strides = view.strides();
    // One entry stands for all.
    let batch = if view.extents()[0] == 1 { 0 } else { strides[0] };
    Strides { pointer: view.address(), batch, mn: strides[mn], k: strides[k] }
}

impl Strides {
    fn arg(&self, major: MajorId) -> OperandArg {
        let leading = if matches!(major, MajorId::K) { self.mn } else { self.k };
        OperandArg { pointer: self.pointer, leading, stride_batch: self.batch }
    }
}
