//! The kernel shell on the CPU.

use super::call::HostCall;
use super::mainloop;
use crate::contract::{
    AccumulatorHandOver, Arguments, CanImplementError, DynMainloop, MainloopWorker, Subtile, Which, accumulator_bytes,
    can_implement, check_space,
};
use rayon::Scope;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use warpwright_arch::DeviceInfo;
use warpwright_epilogue::host::{Accumulators, Along, Evaluator, Partials, Region, Scratch, Segment, TileIndex};
use warpwright_epilogue::{BindError, OutputShape, Program};
use warpwright_runtime::{HostContext, HostProgram, RawViewMut, Space, Strided};
use warpwright_schedulers::{
    Fixup, Fragment, Slots, TileScheduler, TileSpace, WorkspaceRegions, in_parts, of_spec, turnstile,
};
use warpwright_spec::{Flag, KernelPlan, Mnk, Problem, Violation, Work};

/// What keeps a call from being executed on the CPU.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The kernel cannot execute this problem.
    #[error(transparent)]
    CanImplement(#[from] CanImplementError),
    /// The epilogue's tree is not legal.
    #[error(transparent)]
    Epilogue(#[from] Violation),
    /// The epilogue's arguments do not fit its tree.
    #[error(transparent)]
    Arguments(#[from] BindError),
    /// Too little workspace, or none of that size to be had.
    #[error(
        "splitting this problem along K takes {needed} bytes of workspace aligned to 4, but there are {given}: give more, or split less"
    )]
    Workspace {
        /// Bytes needed.
        needed: usize,
        /// Bytes given, or that can be had.
        given: usize,
    },
    /// No memory for reductions.
    #[error(
        "there is no memory for the partial results of a {m} x {n} matrix's reductions: use larger tiles, or reduce part by part"
    )]
    Reductions {
        /// M.
        m: usize,
        /// N.
        n: usize,
    },
}

/// One call of a kernel on the CPU: the scheduler's works on rayon's threads, the mainloop's host semantics for each, fix-up, and
/// the epilogue subtile by subtile.
///
/// Blocks are started in the order of their numbers by as many threads as rayon has, so a block that waits for a lower one never
/// waits for ever.
#[derive(Clone, Copy, Debug)]
pub struct GemmHost<'a> {
    plan: &'a KernelPlan,
    problem: &'a Problem,
    arguments: Arguments<'a>,
    mainloop: &'static dyn DynMainloop,
    scheduler: &'static dyn TileScheduler,
}

impl<'a> GemmHost<'a> {
    /// A call, checked as far as the host can.
    ///
    /// # Safety
    /// While it runs, nobody else uses D's elements. Addresses in arrays of bases and in a scheduler's flags name memory of the
    /// host that is valid for the extents and strides given with them.
    ///
    /// # Errors
    /// What [`can_implement`] says.
    pub unsafe fn new(
        plan: &'a KernelPlan,
        device: &DeviceInfo,
        problem: &'a Problem,
        arguments: Arguments<'a>,
    ) -> Result<GemmHost<'a>, CanImplementError> {
        check_space(&arguments, Space::Host)?;
        can_implement(plan, device, problem, &arguments)?;
        let mainloop = mainloop(&plan.spec).ok_or(CanImplementError::Extension { what: "mainloop" })?;
        let scheduler = of_spec(&plan.spec).ok_or(CanImplementError::Extension { what: "tile scheduler" })?;
        Ok(GemmHost { plan, problem, arguments, mainloop, scheduler })
    }

    /// The workspace that a run in waves of `wave` blocks takes.
    pub fn workspace(&self, wave: usize) -> WorkspaceRegions {
        let space = TileSpace::new(self.plan, self.problem, wave);
        self.scheduler.host_workspace(&space, accumulator_bytes(self.plan))
    }

    /// Computes D in waves of `wave` blocks, on as many threads as rayon has.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn execute(&self, wave: usize) -> Result<(), HostError> {
        let regions = self.workspace(wave);
        let mut memory = Vec::new();
        let with_slack = regions.bytes.saturating_add(if regions.bytes > 0 { WorkspaceRegions::ALIGN } else { 0 });
        memory.try_reserve_exact(with_slack).map_err(|_| HostError::Workspace { needed: regions.bytes, given: 0 })?;
        memory.resize(with_slack, 0u8);
        let at = memory.as_ptr().align_offset(WorkspaceRegions::ALIGN).min(memory.len());
        self.execute_in(wave, &mut memory[at..])
    }

    /// As [`execute`](Self::execute), in the caller's workspace, whose old contents do not matter.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn execute_in(&self, wave: usize, workspace: &mut [u8]) -> Result<(), HostError> {
        let spec = &self.plan.spec;
        let program = Program::of(spec.epilogue, spec.acc, spec.d)?;
        let bound = program.bind(self.arguments.epilogue, OutputShape::of(self.problem), Space::Host)?;
        if self.problem.is_empty() {
            return Ok(());
        }
        let regions = self.workspace(wave);
        let given = workspace.len();
        let slots = regions.attach(workspace).ok_or(HostError::Workspace { needed: regions.bytes, given })?;
        // SAFETY: each element of D is written by one work alone, after its former value was read.
        let previous = unsafe { self.arguments.d.as_raw_view() };
        let output = OutputShape::of(self.problem);
        let tiles = tiles(self.plan, output);
        let partials =
            Partials::new(&program, output, tiles).ok_or(HostError::Reductions { m: output.m, n: output.n })?;
        let call = HostCall::new(self.plan, self.problem, self.arguments, wave);
        let host = self.mainloop.host(&call);
        let run = Run {
            call: &call,
            arguments: &self.arguments,
            scheduler: self.scheduler,
            evaluator: Evaluator::new(&program, &bound, Some(previous)),
            partials: &partials,
            slots: &slots,
            next: AtomicUsize::new(0),
        };
        let blocks = self.scheduler.blocks(call.space());
        let threads = rayon::current_num_threads().min(blocks);
        if threads <= 1 {
            run.thread(blocks, &mut *host.worker());
        } else {
            rayon::in_place_scope(|scope: &Scope<'_>| {
                for _ in 1..threads {
                    scope.spawn(|_| run.thread(blocks, &mut *host.worker()));
                }
                run.thread(blocks, &mut *host.worker());
            });
        }
        // SAFETY: all threads are done, and `can_implement` saw that outputs overlap nothing else.
        unsafe { run.evaluator.finish(&partials) };
        Ok(())
    }
}

impl HostProgram for GemmHost<'_> {
    fn run(&self, cx: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.execute(cx.info.sms as usize)?)
    }
}

/// Tiles along the user's M and N.
fn tiles(plan: &KernelPlan, output: OutputShape) -> [usize; 2] {
    let Mnk { m, n, .. } = plan.user_tile();
    [output.m.div_ceil(m.max(1)), output.n.div_ceil(n.max(1))]
}

struct Run<'r> {
    call: &'r HostCall<'r>,
    arguments: &'r Arguments<'r>,
    scheduler: &'static dyn TileScheduler,
    evaluator: Evaluator<'r>,
    partials: &'r Partials,
    slots: &'r Slots<'r>,
    /// The next block to start.
    next: AtomicUsize,
}

/// Lets waiting threads give up when this one unwinds.
struct Abandon<'r>(&'r Slots<'r>);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

impl Run<'_> {
    /// Does blocks until none is left.
    fn thread(&self, blocks: usize, worker: &mut dyn MainloopWorker) {
        let _abandon = Abandon(self.slots);
        let mut scratch = Scratch::new();
        loop {
            let block = self.next.fetch_add(1, Ordering::Relaxed);
            if block >= blocks {
                return;
            }
            for work in self.scheduler.works(self.call.space(), self.call.groups(), block).filter(|w| w.valid) {
                self.work(&work, worker, &mut scratch);
            }
        }
    }

    fn work(&self, work: &Work, worker: &mut dyn MainloopWorker, scratch: &mut Scratch) {
        if let Some(flag) = work.wait {
            self.wait(flag);
        }
        if self.evaluator.uses_accumulator(work.group) {
            let accumulators = self.sum(work, worker);
            if let Some(fixup) =
                (!work.whole).then(|| self.slots.get(self.scheduler.slot(self.call.space(), work))).flatten()
            {
                self.scheduler.fixup(work, accumulators, &fixup);
            }
            self.finish(work, accumulators, scratch);
        } else if work.last {
            // The operands must not be read: the epilogue sees zeros, once.
            self.finish(work, worker.accumulate(&Work { k_count: 0, ..*work }), scratch);
        }
        if let Some(flag) = work.signal {
            self.word(flag).fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A work's products. Where blocks of a cluster have parts of it, these are added in their order.
    fn sum<'w>(&self, work: &Work, worker: &'w mut dyn MainloopWorker) -> &'w mut dyn AccumulatorHandOver {
        let plan = self.call.plan();
        let mut parts: Vec<Work> = in_parts(*work, plan.cluster.k).collect();
        let Some(last) = parts.pop().filter(|last| !last.whole) else { return worker.accumulate(work) };
        let mut partials = vec![0u8; accumulator_bytes(plan)];
        let (flag, partials, abandoned) = (AtomicU32::new(0), Mutex::new(&mut partials[..]), AtomicBool::new(false));
        let fixup = Fixup { flag: &flag, partials: &partials, abandoned: &abandoned };
        for part in &parts {
            turnstile(part, worker.accumulate(part), &fixup);
        }
        let accumulators = worker.accumulate(&last);
        turnstile(&last, accumulators, &fixup);
        accumulators
    }

    /// Hands the subtiles to the epilogue, if this work has the whole sum, and gives them back.
    fn finish(&self, work: &Work, accumulators: &mut dyn AccumulatorHandOver, scratch: &mut Scratch) {
        if work.last && self.evaluator.passes() > 0 {
            self.measure(work, accumulators, scratch);
        }
        for i in 0..accumulators.subtiles() {
            if work.last {
                let place = accumulators.place(i);
                let fragment = accumulators.subtile(i);
                self.epilogue(work, place, &fragment, scratch);
            }
            accumulators.release(i);
        }
    }

    /// Shows all of a tile to the epilogue, whose values depend on their neighbours.
    fn measure(&self, work: &Work, accumulators: &mut dyn AccumulatorHandOver, scratch: &mut Scratch) {
        let plan = self.call.plan();
        let extents = self.call.extents(work.group);
        let (m, n) = (work.tile_m * plan.tile.m, work.tile_n * plan.tile.n);
        let rows = plan.tile.m.min(extents.m.saturating_sub(m));
        let columns = plan.tile.n.min(extents.n.saturating_sub(n));
        let region = if plan.transposed {
            Region { batch: work.group, m: n, n: m, rows: columns, columns: rows }
        } else {
            Region { batch: work.group, m, n, rows, columns }
        };
        self.evaluator.begin(region, scratch);
        for pass in 0..self.evaluator.passes() {
            for i in 0..accumulators.subtiles() {
                let place = accumulators.place(i);
                let fragment = accumulators.subtile(i);
                self.segments(work, place, &fragment, |at, acc| self.evaluator.measure(pass, at, acc, scratch));
            }
            // SAFETY: blocks are within tiles, and one work alone stores a tile's.
            unsafe { self.evaluator.settle(pass, scratch) };
        }
    }

    /// Evaluates and stores the rows of a subtile that exist.
    fn epilogue(&self, work: &Work, at: Subtile, fragment: &Fragment<'_>, scratch: &mut Scratch) {
        let plan = self.call.plan();
        let d = self.output(work.group);
        let tile = if plan.transposed {
            TileIndex { m: work.tile_n, n: work.tile_m }
        } else {
            TileIndex { m: work.tile_m, n: work.tile_n }
        };
        self.segments(work, at, fragment, |segment, acc| {
            let values = self.evaluator.evaluate(segment, acc, scratch);
            // SAFETY: one work alone stores these elements.
            unsafe { values.write(&d, Segment { batch: 0, ..segment }) };
            // SAFETY: as of D; tiles are multiples of eight rows and columns, so that no byte of a mask is shared.
            unsafe { self.evaluator.store(segment, tile, acc, scratch, self.partials) };
        });
    }

    /// The rows of a subtile that exist.
    fn segments(
        &self,
        work: &Work,
        at: Subtile,
        fragment: &Fragment<'_>,
        mut f: impl FnMut(Segment, Accumulators<'_>),
    ) {
        let plan = self.call.plan();
        let extents = self.call.extents(work.group);
        let (m, n) = (work.tile_m * plan.tile.m + at.m, work.tile_n * plan.tile.n + at.n);
        let rows = at.rows.min(extents.m.saturating_sub(m));
        let columns = at.columns.min(extents.n.saturating_sub(n));
        if columns == 0 {
            return;
        }
        for i in 0..rows {
            let row = i * at.columns..i * at.columns + columns;
            let acc = match fragment {
                Fragment::F32(x) => Accumulators::F32(&x[row]),
                Fragment::F64(x) => Accumulators::F64(&x[row]),
                Fragment::I32(x) => Accumulators::I32(&x[row]),
            };
            let segment = if plan.transposed {
                Segment { batch: work.group, m: n, n: m + i, along: Along::M }
            } else {
                Segment { batch: work.group, m: m + i, n, along: Along::N }
            };
            f(segment, acc);
        }
    }

    /// A group's D, by itself.
    fn output(&self, group: usize) -> RawViewMut<'_> {
        let extents = self.call.groups().extents(group);
        let (address, [by_row, by_column], first) = self.call.groups().place(Which::D, group);
        let dtype = self.arguments.d.dtype();
        let layout = Strided { extents: [1, extents.m, extents.n], strides: [0, by_row as i64, by_column as i64] };
        let bytes = |elements: usize| dtype.packed_bytes(elements);
        let span = extents.m.saturating_sub(1) * by_row + extents.n.saturating_sub(1) * by_column + 1;
        // SAFETY: the group lies within D, as was checked when the call was made, or its address was vouched for.
        unsafe { RawViewMut::new(address + bytes(first) as u64, bytes(span), Space::Host, dtype, layout) }
    }

    fn word(&self, flag: Flag) -> &AtomicU32 {
        // SAFETY: whoever made the call vouched for the addresses of flags.
        unsafe { AtomicU32::from_ptr(core::ptr::with_exposed_provenance_mut(flag.address as usize)) }
    }

    fn wait(&self, flag: Flag) {
        while self.word(flag).load(Ordering::Acquire) < flag.value && !self.slots.abandoned() {
            std::thread::yield_now();
        }
    }
}
