//! Operands that TMA cannot address: a launch before the kernel's own copies them into workspace, in lines that begin at
//! multiples of 128 bytes. Its translation unit is the same for all plans.

use super::params::{Member, OperandArg, member, structure, total};
use std::fmt::Write;
use warpwright_runtime::{LaunchCall, LaunchTemplate, WorkspacePtr};
use warpwright_schedulers::WorkspaceRegions;
use warpwright_spec::{KernelPlan, MajorId, Problem};

/// What lines of a copy begin at multiples of, in bytes: TMA asks for 16, and L2 gives two lines of 128 for one that begins elsewhere.
const LINE: usize = 128;
/// Bytes that a thread copies at a time.
const CHUNK: usize = 16;
/// Threads of a block.
const THREADS: u32 = 256;
/// Chunks that a thread requests before it stores the first.
const AT_ONCE: u32 = 4;
/// Blocks of an operand at most, for each block of the kernel that is resident at once: they share an SM's threads.
const BLOCKS: usize = 8;

/// The name of the kernel.
const ENTRY: &str = "ww_repack";

/// An operand and its copy. Distances are in bytes; `step_…` is how far a grid's threads reach.
const OPERAND: [Member; 15] = [
    member("const unsigned char*", "source", 8),
    member("unsigned char*", "target", 8),
    member("unsigned long long", "source_line", 8),
    member("unsigned long long", "source_entry", 8),
    member("unsigned long long", "target_line", 8),
    member("unsigned long long", "target_entry", 8),
    member("unsigned long long", "end", 8),
    member("unsigned", "chunks", 4),
    member("unsigned", "lines", 4),
    member("unsigned", "entries", 4),
    member("unsigned", "blocks", 4),
    member("unsigned", "step_chunks", 4),
    member("unsigned", "step_lines", 4),
    member("unsigned", "step_entries", 4),
    member("unsigned", "reserved", 4),
];

/// Of both operands, in the kernel's order.
const PARAMS: [Member; 2] = [member("RepackArg", "a", total(&OPERAND)), member("RepackArg", "b", total(&OPERAND))];

/// Bytes of the parameters.
const BYTES: usize = total(&PARAMS);

/// The translation unit.
pub fn source() -> String {
    let mut text = format!("// {ENTRY}: operands into lines that TMA can address\n");
    text += "using Accumulator = float;\nusing Compute = float;\n";
    text += include_str!("../ptx.cuh");
    text += include_str!("../numeric.cuh");
    text += include_str!("../straddling.cuh");
    let _ = writeln!(text, "constexpr unsigned repack_threads = {THREADS}, repack_at_once = {AT_ONCE};");
    structure(&mut text, "RepackArg", &OPERAND);
    structure(&mut text, "RepackParams", &PARAMS);
    text += include_str!("../repack.cuh");
    let _ = write!(
        text,
        "extern \"C\" __global__ void __launch_bounds__(repack_threads) {ENTRY}(const __grid_constant__ RepackParams params) {{\n\
         \x20   ptx::wait_for_grids_before();\n\
         \x20   ptx::let_grid_behind_begin();\n\
         \x20   const bool first = blockIdx.x < params.a.blocks;\n\
         \x20   repack(first ? params.a : params.b, first ? blockIdx.x : blockIdx.x - params.a.blocks);\n\
         }}\n"
    );
    text
}

/// The launch.
pub(super) fn template() -> LaunchTemplate {
    LaunchTemplate {
        entry: ENTRY.into(),
        source: source(),
        options: Vec::new(),
        block: [THREADS, 1, 1],
        cluster: [1, 1, 1],
        shared_bytes: 0,
        params_bytes: BYTES,
        pdl: false,
    }
}

/// An operand that is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copied {
    bits: usize,
    /// Bytes of what is contiguous.
    line: usize,
    lines: usize,
    /// Of a batch that has as many matrices: operands of which one stands for all need less.
    entries: usize,
}

impl Copied {
    /// An operand of these extents, M or N and K.
    fn new(major: MajorId, [mn, k]: [usize; 2], bits: usize, entries: usize) -> Copied {
        let (along, lines) = if matches!(major, MajorId::K) { (k, mn) } else { (mn, k) };
        Copied { bits, line: along.saturating_mul(bits).div_ceil(8), lines, entries }
    }

    /// Bytes from a line of the copy to the next.
    fn pitch(&self) -> usize {
        up(self.line, LINE)
    }

    fn entry(&self) -> usize {
        self.pitch().saturating_mul(self.lines)
    }

    fn bytes(&self) -> usize {
        up(self.entry().saturating_mul(self.entries), WorkspaceRegions::ALIGN)
    }
}

/// The copies of a plan's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Copies([Option<Copied>; 2]);

impl Copies {
    pub(super) fn of(plan: &KernelPlan, problem: &Problem) -> Copies {
        let (user, spec) = (problem.bound(), plan.kernel_spec());
        let extents = if plan.transposed { user.swapped() } else { user };
        let copied = |is: bool, major: MajorId, mn: usize, bits: usize| {
            is.then(|| Copied::new(major, [mn, extents.k], bits, problem.groups()))
        };
        Copies([
            copied(plan.repacks.a, plan.major_a, extents.m, spec.a.bits()),
            copied(plan.repacks.b, plan.major_b, extents.n, spec.b.bits()),
        ])
    }

    /// Of the workspace. Sizes saturate; no allocation of that size succeeds.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().flatten().map(Copied::bytes).fold(0, usize::saturating_add)
    }

    /// Where each begins: they are the last of this memory, which is aligned.
    fn places(&self, memory: WorkspacePtr) -> [u64; 2] {
        let first = memory.bytes.saturating_sub(self.bytes()) / WorkspaceRegions::ALIGN * WorkspaceRegions::ALIGN;
        let first = memory.address + first as u64;
        [first, first + self.0[0].map_or(0, |copied| copied.bytes()) as u64]
    }
}

/// Bytes of workspace that hold a copy of an operand of these extents, M or N and K, in each entry of a batch.
pub fn copy_bytes(major: MajorId, extents: [usize; 2], bits: usize, entries: usize) -> usize {
    Copied::new(major, extents, bits, entries).bytes()
}

/// Bytes of workspace that hold copies of a problem's operands, in a launch of this plan.
pub fn repacked_bytes(plan: &KernelPlan, problem: &Problem) -> usize {
    Copies::of(plan, problem).bytes()
}

/// The launch of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RepackCall {
    grid: u32,
    params: [u8; BYTES],
}

impl RepackCall {
    /// The launch that copies operands into the last of `memory`, if there are any to copy; they are then replaced by their copies.
    /// `resident` blocks of the kernel are on the device at once. What is not `read` need not be there, and is not copied.
    pub(super) fn of(
        plan: &KernelPlan,
        problem: &Problem,
        operands: &mut [OperandArg; 2],
        memory: WorkspacePtr,
        resident: usize,
        read: bool,
    ) -> Option<RepackCall> {
        if !plan.repacks.any() {
            return None;
        }
        let copies = Copies::of(plan, problem);
        let mut call = RepackCall { grid: 0, params: [0; BYTES] };
        let sides = copies.0.iter().zip(copies.places(memory)).zip(operands);
        for (((copied, target), operand), to) in sides.zip(call.params.chunks_exact_mut(total(&OPERAND))) {
            if let Some(copied) = copied {
                call.grid += copied.pack(to, operand, target, resident, read);
            }
        }
        Some(call)
    }

    pub(super) fn launch(&self) -> LaunchCall<'_> {
        LaunchCall { grid: [self.grid, 1, 1], params: &self.params }
    }
}

impl Copied {
    /// Packs the parameters of one operand, which becomes its copy at `target`; its blocks.
    fn pack(&self, to: &mut [u8], operand: &mut OperandArg, target: u64, resident: usize, read: bool) -> u32 {
        // Layouts whose bytes cannot be counted were refused.
        let distance = |elements: i64| (elements as u64).saturating_mul(self.bits as u64) / 8;
        let (line, entry) = (distance(operand.leading), distance(operand.stride_batch));
        let entries = if !read {
            0
        } else if operand.stride_batch == 0 {
            1
        } else {
            self.entries
        };
        let last = |count: usize, distance: u64| (count.max(1) as u64 - 1).saturating_mul(distance);
        let end = operand.pointer.saturating_add(last(self.lines, line)).saturating_add(last(entries, entry));
        let (chunks, lines) = (self.line.div_ceil(CHUNK).max(1), self.lines.max(1));
        let all = chunks.saturating_mul(lines).saturating_mul(entries);
        let most = BLOCKS.saturating_mul(resident).min(1 << 16);
        let blocks = all.div_ceil((THREADS * AT_ONCE) as usize).clamp(1, most.max(1));
        let step = blocks * THREADS as usize;
        let mut at = 0;
        let mut put = |x: &[u8]| {
            to[at..at + x.len()].copy_from_slice(x);
            at += x.len();
        };
        let (pitch, copied) = (self.pitch() as u64, self.entry() as u64);
        for x in [operand.pointer, target, line, entry, pitch, copied, end.saturating_add(self.line as u64)] {
            put(&x.to_le_bytes());
        }
        let steps = [step % chunks, step / chunks % lines, step / chunks / lines];
        for x in [chunks, lines, entries, blocks].into_iter().chain(steps) {
            put(&(x as u32).to_le_bytes());
        }
        let elements = |bytes: u64| (bytes.saturating_mul(8) / self.bits as u64) as i64;
        let stride_batch = if operand.stride_batch == 0 { 0 } else { elements(copied) };
        *operand = OperandArg { pointer: target, leading: elements(pitch), stride_batch };
        blocks as u32
    }
}

const fn up(bytes: usize, to: usize) -> usize {
    bytes.saturating_add(to - 1) / to * to
}
