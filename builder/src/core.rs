//! A kernel below its types: a spec on a device with its plans. One copy of this code serves every kernel.

use crate::auto::{self, Decided, OperandFacts, PlanError};
use crate::error::{BuildError, RunError};
use crate::infer::{Call, infer};
use crate::launch;
use crate::plans::{Key, Plans, Prepared};
use crate::repeat::Repeat;
use crate::tune::{PlanChoice, Tuning};
use std::fmt;
use std::sync::Arc;
use warpwright_epilogue::Bound;
use warpwright_kernels::lower::{DeviceCall, RepeatedCall};
use warpwright_kernels::{Arguments, GemmHost, can_implement, lower};
use warpwright_runtime::{
    Device, Executable, Invocation, Program, RawView, Stream, WorkspaceError, WorkspaceLayout, WorkspacePtr,
};
use warpwright_schedulers::WorkspaceRegions;
use warpwright_spec::{Extents, KernelPlan, Problem, RasterOrder, ScheduleId, SchedulerId, Spec, check};

/// A spec on a device. Cheap to clone; clones share their plans.
#[derive(Clone)]
pub(crate) struct Core {
    spec: Spec,
    epilogue: warpwright_epilogue::Program,
    device: Device,
    plans: Arc<Plans>,
    /// How tiles are walked, if the caller decided it.
    walk: Option<(RasterOrder, usize)>,
    /// Parts that K is cut into, if the caller decided it.
    splits: Option<usize>,
    /// Whether operands that TMA cannot address are copied first, if the caller decided it.
    repacks: Option<bool>,
    /// What the plan decides, if the caller decided all of it.
    choice: Option<PlanChoice>,
    /// Winners of races to ask first.
    tuning: Option<Arc<Tuning>>,
    /// Whether launches are programmatic.
    programmatic: bool,
}

/// A problem that stands for all when a kernel is built before its first problem is known.
const TYPICAL: usize = 4096;
/// Its columns, if a tile has to hold a row.
const TYPICAL_ROW: usize = 64;

impl Core {
    /// Checks the spec, and that the device can execute it; compiles it if every slot is fixed.
    pub(crate) fn new(spec: &Spec, device: &Device) -> Result<Core, BuildError> {
        check(spec)?;
        let epilogue = warpwright_epilogue::Program::of(spec.epilogue, spec.acc, spec.d)?;
        let core = Core {
            spec: *spec,
            epilogue,
            device: device.clone(),
            plans: Arc::new(Plans::new()),
            walk: None,
            splits: None,
            repacks: None,
            choice: None,
            // An emulated device has no time to race for.
            tuning: device.emulated().is_none().then(Tuning::global),
            programmatic: false,
        };
        // Rows of which the largest values are looked for are a tile's.
        let tile_n = spec.tile.map_or(TYPICAL_ROW, |tile| tile.n);
        let n = if spec.epilogue.keeps_rows() { tile_n } else { TYPICAL };
        let typical = Problem::dense(TYPICAL, n, TYPICAL);
        let plan = core.resolve(&typical, &core.usual_facts(&typical))?;
        let fixed = spec.tile.is_some()
            && spec.cluster.is_some()
            && spec.stages.is_some()
            && !matches!(spec.schedule, ScheduleId::AUTO)
            && !matches!(spec.scheduler, SchedulerId::AUTO);
        if fixed {
            core.load(&plan)?;
        }
        Ok(core)
    }

    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn explain(&self, problem: &Problem) -> Result<String, PlanError> {
        let facts = self.usual_facts(problem);
        let mut text = auto::explain(&self.resolve(problem, &facts)?, self.device.info(), problem);
        if self.tuned(problem, &facts).is_some() {
            text.push_str(Tuning::NOTE);
        }
        Ok(text)
    }

    pub(crate) fn plan(&self, problem: &Problem) -> Result<KernelPlan, PlanError> {
        self.resolve(problem, &self.usual_facts(problem))
    }

    pub(crate) fn plan_of_call(&self, given: &Arguments<'_>) -> Result<KernelPlan, RunError> {
        let mut bound = self.epilogue.unbound();
        let Call { problem, facts, .. } = infer(&self.spec, &self.epilogue, self.device.space(), given, &mut bound)?;
        Ok(self.resolve(&problem, &facts)?)
    }

    pub(crate) fn prepare(&self, problem: &Problem) -> Result<usize, BuildError> {
        let problem = dense_if_single(problem.clone());
        let facts = self.usual_facts(&problem);
        Ok(self.make(&problem, &facts)?.workspace.bytes)
    }

    pub(crate) fn prepare_on(&self, stream: &Stream, problem: &Problem) -> Result<usize, RunError> {
        self.check_stream(stream)?;
        let problem = dense_if_single(problem.clone());
        let prepared = self.make(&problem, &self.usual_facts(&problem))?;
        launch::place(stream, &prepared.executable, &prepared.workspace, None)?;
        Ok(prepared.workspace.bytes)
    }

    fn check_stream(&self, stream: &Stream) -> Result<(), RunError> {
        let (given, expected) = (stream.device().space(), self.device.space());
        if given == expected { Ok(()) } else { Err(RunError::WrongStream { given, expected }) }
    }

    pub(crate) fn run(
        &self,
        stream: &Stream,
        given: &Arguments<'_>,
        workspace: Option<WorkspacePtr>,
    ) -> Result<(), RunError> {
        self.check_stream(stream)?;
        if workspace.is_none()
            && let Some((prepared, repeat)) = self.plans.repeated(&self.spec, self.device.space(), given)
        {
            let mut call = RepeatedCall::default();
            if repeat.call(&mut call, &self.device, &self.epilogue, given)? {
                return launch::again(stream, &prepared.executable, &call);
            }
        }
        let mut bound = self.epilogue.unbound();
        let call = infer(&self.spec, &self.epilogue, self.device.space(), given, &mut bound)?;
        let Call { problem, facts, arguments } = &call;
        if problem.is_empty() {
            return Ok(());
        }
        let made;
        let prepared = match Key::of(problem, facts).and_then(|key| self.plans.find(&key)) {
            Some(prepared) => prepared,
            None if stream.is_capturing()? => return Err(RunError::Unprepared),
            None => {
                made = self.make(problem, facts)?;
                &made
            }
        };
        let Prepared { plan, executable, workspace: regions, .. } = prepared;
        let needed = WorkspaceLayout { bytes: regions.bytes, alignment: WorkspaceRegions::ALIGN };
        workspace.map(|given| given.check(needed)).transpose()?;
        if self.device.is_host() {
            // SAFETY: the views borrow their memory until this call returns, D exclusively, and the host's work is done then;
            // addresses in arrays of bases are the caller's own promise, made when the array became an operand.
            let host = unsafe { GemmHost::new(plan, self.device.info(), problem, *arguments) }?;
            // SAFETY: nothing is launched.
            return Ok(unsafe { executable.run(stream, &Invocation { launches: &[], host: &host }) }?);
        }
        can_implement(plan, self.device.info(), problem, arguments)?;
        if let Some(workspace) = workspace {
            apart(WorkspacePtr { bytes: regions.bytes, ..workspace }, arguments, &bound)?;
        }
        let mut launched = DeviceCall::default();
        launch::launch(stream, prepared, problem, arguments, &bound, workspace, &mut launched)?;
        // What takes workspace takes the stream's.
        if regions.bytes == 0
            && prepared.repeat.get().is_none()
            && let Some(repeat) = Repeat::of(&self.epilogue, given, &launched)
        {
            // A second thread's call is as good as the first's.
            let _ = prepared.repeat.set(repeat);
        }
        Ok(())
    }

    /// Plans a problem, compiles what is missing, and remembers both.
    fn make(&self, problem: &Problem, facts: &OperandFacts) -> Result<Prepared, BuildError> {
        let plan = self.resolve(problem, facts)?;
        let executable = self.load(&plan)?;
        let (resident, workspace, maps) = if self.device.is_host() {
            // The CPU takes what it needs for the time of a run.
            (0, WorkspaceRegions::default(), lower::TensorMaps::default())
        } else {
            let resident = launch::resident(&plan, &executable);
            let maps = lower::TensorMaps::of(&plan, &self.epilogue).map_err(lower::LowerError::from)?;
            (resident, lower::workspace(&plan, problem, resident), maps)
        };
        let prepared =
            Prepared { plan, executable, maps, encoded: Arc::default(), repeat: Arc::default(), resident, workspace };
        if let Some(key) = Key::of(problem, facts) {
            self.plans.remember(key, &prepared);
        }
        Ok(prepared)
    }

    fn resolve(&self, problem: &Problem, facts: &OperandFacts) -> Result<KernelPlan, PlanError> {
        let mut plan = match (self.choice, self.tuned(problem, facts)) {
            (Some(choice), _) => auto::resolve_choice(&self.spec, self.device.info(), problem, facts, &choice)?,
            (None, Some(plan)) => plan,
            _ => {
                let decided = Decided { parts: self.splits, repacks: self.repacks };
                auto::resolve_decided(&self.spec, self.device.info(), problem, facts, &decided)?
            }
        };
        if let Some((raster, swizzle)) = self.walk {
            (plan.raster, plan.swizzle) = (raster, swizzle);
        }
        Ok(plan)
    }

    /// What won a race, where the caller decided nothing.
    fn tuned(&self, problem: &Problem, facts: &OperandFacts) -> Option<KernelPlan> {
        let undecided = self.choice.is_none() && self.splits.is_none() && self.repacks.is_none();
        let tuning = self.tuning.as_ref().filter(|_| undecided)?;
        tuning.plan(&self.spec, self.device.info(), problem, facts)
    }

    fn load(&self, plan: &KernelPlan) -> Result<Executable, BuildError> {
        self.plans.load(plan, || {
            let program = if self.device.is_host() {
                // The CPU runs the plan itself.
                let (name, tag) = (plan.name(), plan.spec.arch);
                Program { name, tag, launches: Vec::new(), workspace: WorkspaceLayout::default() }
            } else {
                let mut program = lower::program(plan)?;
                program.launches.iter_mut().for_each(|launch| launch.pdl |= self.programmatic);
                program
            };
            Ok(self.device.load(&program)?)
        })
    }

    /// Everything that was compiled so far.
    pub(crate) fn compiled(&self) -> Vec<(KernelPlan, Executable)> {
        self.plans.compiled()
    }

    /// The same kernel with its tiles walked in this order, whatever the plan would choose.
    pub(crate) fn rasterized(mut self, raster: RasterOrder, swizzle: usize) -> Core {
        self.walk = Some((raster, swizzle.max(1).next_power_of_two()));
        self.plans = Arc::new(self.plans.without_problems());
        self
    }

    /// The same kernel with K cut into as many parts, whatever the plan would choose.
    pub(crate) fn splits(mut self, parts: usize) -> Core {
        self.splits = Some(parts.max(1));
        self.plans = Arc::new(self.plans.without_problems());
        self
    }

    /// The same kernel, which copies what TMA cannot address first, or never does, whatever the plan would choose.
    pub(crate) fn repacks(mut self, repacks: bool) -> Core {
        self.repacks = Some(repacks);
        self.plans = Arc::new(self.plans.without_problems());
        self
    }

    /// The same kernel by that plan, whatever else there is.
    pub(crate) fn chosen(mut self, choice: PlanChoice) -> Core {
        self.choice = Some(choice);
        self.plans = Arc::new(self.plans.without_problems());
        self
    }

    /// The same kernel, which asks these winners first, or nobody.
    pub(crate) fn tuned_by(mut self, tuning: Option<Arc<Tuning>>) -> Core {
        self.tuning = tuning;
        self.plans = Arc::new(self.plans.without_problems());
        self
    }

    /// The same kernel, launched so that it begins while what is before it in its stream still ends.
    pub(crate) fn programmatic(mut self) -> Core {
        self.programmatic = self.device.info().capability.is_some_and(|c| c.major >= 9);
        self.plans = Arc::new(Plans::new());
        self
    }

    fn usual_facts(&self, problem: &Problem) -> OperandFacts {
        OperandFacts::usual(&self.spec, &self.epilogue, problem)
    }
}

/// Whether the caller's workspace is apart from everything that the call reads and writes.
fn apart(workspace: WorkspacePtr, arguments: &Arguments<'_>, bound: &Bound<'_>) -> Result<(), WorkspaceError> {
    let WorkspacePtr { address, bytes: needed } = workspace;
    let check = |name: &dyn Fn() -> String, view: RawView<'_>| {
        let bytes = view.needed_bytes();
        let before = view.address().saturating_add(bytes as u64) <= address;
        let behind = address.saturating_add(needed as u64) <= view.address();
        if needed == 0 || bytes == 0 || before || behind {
            return Ok(());
        }
        Err(WorkspaceError::Shared { address, needed, operand: name() })
    };
    if bound.may_read_accumulator() {
        check(&|| "A".into(), arguments.a)?;
        check(&|| "B".into(), arguments.b)?;
        for (name, view) in arguments.extra {
            check(&|| (*name).into(), *view)?;
        }
    }
    // SAFETY: only its extents and address are looked at.
    check(&|| "D".into(), unsafe { arguments.d.as_raw_view() })?;
    for i in 0..bound.block().fields().len() {
        // SAFETY: as above.
        let view = bound.view(i).or(bound.output(i).map(|view| unsafe { view.as_raw_view() }));
        view.map_or(Ok(()), |view| check(&|| format!("epilogue argument {i}"), view))?;
    }
    Ok(())
}

/// A batch of one is planned as the one product that it is.
fn dense_if_single(mut problem: Problem) -> Problem {
    if let Extents::Batched { mnk, batch: 1 } = problem.extents {
        problem.extents = Extents::Dense(mnk);
    }
    problem
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("spec", &self.spec).field("device", &self.device).finish_non_exhaustive()
    }
}
