//! The library itself as a [`Runner`], on any of its devices.
//!
//! Operands go to the device as whole byte buffers on 256-byte boundaries, so that alignments, paddings and guards are
//! there what the row says.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use warpwright::epilogue::parse::{Argument, Functions, NameKind, expression_with};
use warpwright::runtime::{RawView, RawViewMut, Strided};
use warpwright::spec::{Function, HostFn, Node, ScalarKind};
use warpwright::{
    AccumulationId, AnyGemm, Arg, Args, BuildError, CallArgs, Device, GemmDesc, KernelPlan, Mnk, PlanError, RunError,
    Stream, Tensor,
};
use warpwright_numeric::Dtype;

use crate::case::{Case, DeviceKind, ErrorKind};
use crate::operand::Operand;
use crate::prepare::Prepared;
use crate::runner::{Outcome, Runner};
use crate::{user, watchdog};

/// Runs rows on a device of the library.
#[derive(Debug)]
pub struct Library {
    device: Device,
    stream: Stream,
    launched: Mutex<Vec<KernelPlan>>,
}

/// A refusal: its kind and its text.
type Refusal = (ErrorKind, String);

impl Library {
    /// On this device, with a stream of its own.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device) -> Result<Library, warpwright::runtime::StreamError> {
        Ok(Library { stream: device.new_stream()?, device: device.clone(), launched: Mutex::default() })
    }

    /// Plans of the programs that were loaded.
    pub fn launched(&self) -> Vec<KernelPlan> {
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn attempt(&self, case: &Prepared, d: &mut Memory) -> Result<(String, Option<AccumulationId>), Refusal> {
        let _watched = watchdog::launches(1, || format!("the row {}", case.case.name));
        let (node, arguments) = epilogue(case)?;
        let desc = describe(&case.case, node)?;
        let mut gemm = AnyGemm::new(&desc, &self.device).map_err(|e| (build_kind(&e), e.to_string()))?;
        if let Some(parts) = case.case.plan.splits {
            gemm = gemm.splits(parts);
        }
        if let Some(repacks) = case.case.plan.repacks {
            gemm = gemm.repacks(repacks);
        }
        let (a, b) = (self.upload(&case.a), self.upload(&case.b));
        let c = case.c.as_ref().map(|c| self.upload(c));
        let bound: Vec<_> = case.bindings.iter().map(|b| (b.name.as_str(), self.upload(&b.operand))).collect();
        let mut args = Args::default();
        for argument in &arguments {
            args.push(match argument {
                Argument::Absent => Arg::Absent,
                Argument::Number(x) => Arg::Number(*x),
                Argument::Unnamed => return Err((ErrorKind::NotSupported, "an argument has no name".into())),
                Argument::Named(name) => match (case.case.scalars.get(name), name.as_str()) {
                    (Some(&x), _) => Arg::Number(x),
                    (None, "c") => match &c {
                        Some(c) => Arg::Read(c.view()),
                        None => Arg::Read(null_view(&case.case, self.device.space())),
                    },
                    (None, name) => match bound.iter().find(|(n, _)| *n == name) {
                        Some((_, memory)) => Arg::Read(memory.view()),
                        None => return Err((ErrorKind::InvalidProblem, format!("`{name}` is not bound"))),
                    },
                },
            });
        }
        let call = CallArgs { epilogue: args, ..CallArgs::default() };
        gemm.run_raw(&self.stream, a.view(), b.view(), d.view_mut(), call)
            .map_err(|e| (run_kind(&e), e.to_string()))?;
        self.stream.synchronize().map_err(|e| (ErrorKind::Driver, e.to_string()))?;
        let compiled = gemm.compiled();
        // The name that the driver knows, where there is a driver.
        let name = compiled.last().map_or_else(String::new, |(plan, executable)| {
            let name = plan.name();
            let kernel = executable.kernels().iter().find(|kernel| kernel.entry == name);
            kernel.or(executable.kernels().first()).map_or(name, |kernel| kernel.entry.clone())
        });
        // The CPU's sums are whole.
        let on_gpu = compiled.last().filter(|_| !self.device.is_host());
        let narrow = on_gpu.and_then(|(plan, _)| plan.spec.narrow_sums());
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).extend(compiled.into_iter().map(|(plan, _)| plan));
        Ok((name, narrow))
    }

    fn upload(&self, operand: &Operand) -> Memory {
        Memory::new(&self.device, &self.stream, operand)
    }
}

impl Runner for Library {
    fn run(&self, case: &Prepared) -> Outcome {
        let kind = if self.device.is_host() { DeviceKind::Host } else { DeviceKind::Cuda };
        if !case.case.runs_on(kind) {
            return Outcome::Skipped { why: format!("only on {:?}", case.case.only) };
        }
        let mut d = self.upload(&case.d);
        let outcome = self.attempt(case, &mut d);
        let d = d.bytes(&self.stream);
        match outcome {
            Ok((kernel, narrow)) => Outcome::Done { d, kernel, narrow },
            Err((kind, text)) => Outcome::Failed { kind, text, d },
        }
    }
}

/// A copy of an operand's whole buffer in the memory of a device.
struct Memory {
    bytes: Tensor<u8>,
    /// Bytes in front of the buffer, up to its boundary.
    lead: usize,
    layout: Strided,
    dtype: Dtype,
    base: usize,
    span: usize,
}

impl Memory {
    fn new(device: &Device, stream: &Stream, operand: &Operand) -> Memory {
        const BOUNDARY: usize = crate::operand::GUARD;
        let l = &operand.layout;
        let layout = Strided {
            extents: [l.batch, l.rows, l.columns],
            strides: [l.batch_stride, l.row_stride(), l.column_stride()].map(|s| s as i64),
        };
        let (bytes, lead) = if device.is_host() {
            let mut padded = vec![0u8; operand.bytes.len() + BOUNDARY];
            let lead = padded.as_ptr().align_offset(BOUNDARY);
            padded[lead..lead + operand.bytes.len()].copy_from_slice(&operand.bytes);
            (Tensor::from_vec(1, padded.len(), padded), lead)
        } else {
            // Device allocations start on 256-byte boundaries.
            let host = Tensor::from_vec(1, operand.bytes.len(), operand.bytes.to_vec());
            (host.and_then(|t| t.to_device(stream)), 0)
        };
        let bytes = bytes.unwrap_or_else(|e| panic!("a case's operand cannot be copied: {e}"));
        Memory { bytes, lead, layout, dtype: l.dtype, base: l.base, span: l.span() * l.size() }
    }

    fn address(&self) -> u64 {
        self.bytes.view().raw().address() + (self.lead + self.base) as u64
    }

    fn view(&self) -> RawView<'_> {
        // SAFETY: the span lies inside the allocation that `self` holds.
        unsafe { RawView::new(self.address(), self.span, self.bytes.space(), self.dtype, self.layout) }
    }

    fn view_mut(&mut self) -> RawViewMut<'_> {
        // SAFETY: as in `view`, and `self` is borrowed mutably.
        unsafe { RawViewMut::new(self.address(), self.span, self.bytes.space(), self.dtype, self.layout) }
    }

    /// The buffer as it is now.
    fn bytes(&self, stream: &Stream) -> Vec<u8> {
        let host = self.bytes.to_host(stream).and_then(|t| t.to_vec());
        let mut bytes = host.unwrap_or_else(|e| panic!("D cannot be copied back: {e}"));
        bytes.drain(..self.lead);
        bytes.truncate(self.base + self.span + crate::operand::GUARD);
        bytes
    }
}

/// The distinct generated sources of a plan's launches with the names of their kernels; none if it has no device code.
pub fn sources(plan: &KernelPlan) -> Vec<(String, String)> {
    let launches = warpwright::kernels::lower::program(plan).map_or(Vec::new(), |program| program.launches);
    let mut sources: Vec<(String, String)> = Vec::new();
    for launch in launches {
        if sources.iter().all(|(_, known)| *known != launch.source) {
            sources.push((launch.entry, launch.source));
        }
    }
    sources
}

/// The hash by which a generated source is listed once it passed on a GPU.
pub fn text_hash(source: &str) -> String {
    blake3::hash(source.as_bytes()).to_hex()[..32].to_owned()
}

/// C where a row has none: a null pointer of the right extents.
fn null_view(case: &Case, space: warpwright::Space) -> RawView<'static> {
    let layout = Strided::dense(case.m, case.n, warpwright::Order::RowMajor);
    // SAFETY: a null view of no bytes: whoever would read it must refuse it first.
    unsafe { RawView::new(0, 0, space, case.c_type(), layout) }
}

/// The epilogue's tree, through the library's own reader of the notation.
fn epilogue(case: &Prepared) -> Result<(&'static Node, Vec<Argument>), Refusal> {
    let mut names = BTreeMap::new();
    for name in case.case.scalars.keys() {
        names.insert(name.clone(), NameKind::Scalar(ScalarKind::Host));
    }
    for binding in &case.bindings {
        names.insert(binding.name.clone(), NameKind::Operand(binding.operand.layout.dtype));
    }
    names.insert("c".into(), NameKind::Operand(case.case.c_type()));
    let functions = user::ALL.iter().fold(Functions::built_in(), |known, f| {
        known.with(Function::exact(f.name, f.cuda, HostFn::Unary(f.single, f.exact)))
    });
    let parsed = expression_with(&case.case.epilogue, &names, &functions)
        .map_err(|e| (ErrorKind::InvalidProblem, e.to_string()))?;
    Ok((parsed.node, parsed.arguments))
}

fn describe(case: &Case, epilogue: &'static Node) -> Result<GemmDesc, Refusal> {
    let unknown = |what: &str, name: &str| (ErrorKind::NotSupported, format!("`{name}` is no {what}"));
    let plan = &case.plan;
    if let Some(name) = plan.arch.as_ref().filter(|name| warpwright::ArchId::from_name(name).is_none()) {
        return Err(unknown("architecture", name));
    }
    let arch = tag(case);
    let mut desc = GemmDesc::new(arch, case.a_type(), case.acc_type());
    desc.b = case.b_type();
    desc.d = case.d_type();
    desc.epilogue = epilogue;
    desc.tile = plan.tile.map(|[m, n, k]| Mnk { m, n, k });
    desc.cluster = match plan.cluster.as_deref() {
        None => None,
        Some(&[m, n]) => Some(Mnk { m, n, k: 1 }),
        Some(&[m, n, k]) => Some(Mnk { m, n, k }),
        Some(other) => return Err(unknown("cluster", &format!("{other:?}"))),
    };
    desc.stages = plan.stages;
    desc.swap_ab = plan.transposed;
    if let Some(name) = &plan.schedule {
        desc.schedule = warpwright::ScheduleId::from_name(name).ok_or_else(|| unknown("schedule", name))?;
    }
    if let Some(name) = &plan.staging {
        desc.staging = warpwright::StagingId::from_name(name).ok_or_else(|| unknown("staging", name))?;
    }
    if let Some(name) = &plan.loader {
        let plain: String = name.chars().filter(|c| *c != '_').collect();
        let found = warpwright::spec::LoaderId::from_name(&plain);
        desc.loader = Some(found.ok_or_else(|| unknown("loader", name))?);
    }
    if plan.fast_accumulation {
        desc.accumulation = AccumulationId::FAST_ACCUM;
    }
    if let Some(name) = &plan.scheduler {
        let plain: String = name.chars().filter(|c| *c != '_').collect();
        desc.scheduler = warpwright::SchedulerId::from_name(&plain).ok_or_else(|| unknown("scheduler", name))?;
    }
    Ok(desc)
}

/// The tag of a row's kernels: its plan's, or else `Sm80` or the oldest after it that multiplies the row's types.
pub fn tag(case: &Case) -> warpwright::ArchId {
    use warpwright::spec::{InstructionId, multiplies};
    let fits = |arch: &warpwright::ArchId| {
        multiplies(*arch, InstructionId::AUTO, case.a_type(), case.b_type(), case.acc_type()).is_some()
    };
    let named = case.plan.arch.as_deref().and_then(warpwright::ArchId::from_name);
    let tags = warpwright::ArchId::ALL.iter().copied().filter(|a| *a >= warpwright::ArchId::SM80);
    named.or_else(|| tags.into_iter().find(|a| fits(a))).unwrap_or(warpwright::ArchId::SM80)
}

fn plan_kind(e: &PlanError) -> ErrorKind {
    match e {
        PlanError::ArchMismatch(_) => ErrorKind::ArchMismatch,
        PlanError::Order { .. } => ErrorKind::InvalidProblem,
        _ => ErrorKind::NotSupported,
    }
}

fn build_kind(e: &BuildError) -> ErrorKind {
    use warpwright::runtime::LoadError;
    match e {
        BuildError::Plan(e) => plan_kind(e),
        BuildError::Load(LoadError::Compile(_)) => ErrorKind::CompileFailed,
        BuildError::Load(_) | BuildError::Device(_) => ErrorKind::Driver,
        _ => ErrorKind::NotSupported,
    }
}

fn run_kind(e: &RunError) -> ErrorKind {
    match e {
        RunError::Build(e) => build_kind(e),
        RunError::Misaligned { .. } | RunError::InsideElement { .. } => ErrorKind::MisalignedOperand,
        RunError::Launch(_) | RunError::Stream(_) => ErrorKind::Driver,
        RunError::Memory(_) => ErrorKind::OutOfMemory,
        RunError::Workspace(_) => ErrorKind::WorkspaceTooSmall,
        _ => ErrorKind::InvalidProblem,
    }
}
