//! From a plan and a call to launches on a GPU.

use crate::error::RunError;
use crate::plans::Prepared;
use warpwright_arch::DeviceInfo;
use warpwright_epilogue::Bound;
use warpwright_kernels::lower::{DeviceCall, DeviceSide, DeviceWorkspace, RepeatedCall};
use warpwright_kernels::{Arguments, lower};
use warpwright_runtime::{Executable, HostContext, HostProgram, Invocation, Stream, WorkspaceError, WorkspacePtr};
use warpwright_schedulers::WorkspaceRegions;
use warpwright_spec::{KernelPlan, Problem};

/// Launches a planned call, which is made in `call`, in the caller's workspace if there is one. Its operands and workspace were
/// checked, and its problem is not empty.
pub(crate) fn launch(
    stream: &Stream,
    Prepared { plan, executable, maps, encoded, resident, workspace, .. }: &Prepared,
    problem: &Problem,
    arguments: &Arguments<'_>,
    epilogue: &Bound<'_>,
    given: Option<WorkspacePtr>,
    call: &mut DeviceCall,
) -> Result<(), RunError> {
    let mut at = DeviceWorkspace::default();
    let mut side = DeviceSide { resident: *resident, maps, workspace: at };
    lower::call(call, plan, problem, arguments, epilogue, side)?;
    // What is refused is refused before the workspace is touched.
    if workspace.bytes > 0 {
        at = place(stream, executable, workspace, given)?;
        side.workspace = at;
        lower::call(call, plan, problem, arguments, epilogue, side)?;
    }
    let device = executable.device();
    call.encode_maps(encoded, |map| device.encode_tensor_map(map), |map, at| device.move_tensor_map(map, at))?;
    let mut launches = [call.launch(); 3];
    let all = [call.repack(), Some(call.launch()), call.finish()].into_iter().flatten();
    let count = launches.iter_mut().zip(all).map(|(to, launch)| *to = launch).count();
    let invocation = Invocation { launches: &launches[..count], host: &NoHostProgram };
    // SAFETY: the parameters are those of the plan that was lowered; `infer` and `can_implement` checked that every operand is
    // in this device's memory with the extents that they state, and the views borrow that memory until the work is submitted.
    let submitted = unsafe { executable.run(stream, &invocation) };
    if submitted.is_err() && given.is_none() {
        // The kernel may have ended before its flags were zero again.
        // SAFETY: flags of this kernel and stream alone. A stream that cannot even be cleared fails its next call too.
        let _ = unsafe { at.flags.clear(stream) };
    }
    Ok(submitted?)
}

/// Launches a call like one that was launched.
pub(crate) fn again(stream: &Stream, executable: &Executable, call: &RepeatedCall) -> Result<(), RunError> {
    let invocation = Invocation { launches: &[call.launch()], host: &NoHostProgram };
    // SAFETY: as in `launch`, since `Repeat::is_like` found everything as it was there but for addresses.
    Ok(unsafe { executable.run(stream, &invocation) }?)
}

/// Where a launch's flags and partial sums are: in the caller's workspace, whose flags are cleared first, or in slots of this
/// kernel and stream, whose flags every launch leaves zero.
pub(crate) fn place(
    stream: &Stream,
    executable: &Executable,
    regions: &WorkspaceRegions,
    given: Option<WorkspacePtr>,
) -> Result<DeviceWorkspace, WorkspaceError> {
    if regions.bytes == 0 {
        return Ok(DeviceWorkspace::default());
    }
    let partial_bytes = regions.bytes - regions.partials_offset;
    let Some(given) = given else {
        let flags = executable.zeroed_workspace(stream, regions.flags_bytes)?;
        return Ok(DeviceWorkspace { flags, partials: executable.workspace(stream, partial_bytes)? });
    };
    let part = |offset: usize, bytes| WorkspacePtr { address: given.address + offset as u64, bytes };
    let flags = part(0, regions.flags_bytes);
    // SAFETY: the caller lends the workspace to this call.
    unsafe { flags.clear(stream) }?;
    Ok(DeviceWorkspace { flags, partials: part(regions.partials_offset, partial_bytes) })
}

/// Blocks that the device keeps at once: as the driver counts them for this kernel, or else as its resources say.
pub(crate) fn resident(plan: &KernelPlan, executable: &Executable) -> usize {
    let info: &DeviceInfo = executable.device().info();
    // Other launches of the program surround it.
    let name = plan.name();
    let kernel = executable.kernels().iter().find(|kernel| kernel.entry == name);
    let known = kernel.map_or(0, |kernel| kernel.blocks_per_sm);
    let r = &plan.resources;
    let counted = || info.blocks_per_sm(r.threads as u32, r.registers as u32, r.shared_bytes as u32);
    let per_sm = if known > 0 { known } else { counted() };
    let blocks = info.sms.max(1) as usize * per_sm.max(1) as usize;
    // Clusters do not fit everywhere: the driver counts those too.
    let clusters = kernel.map_or(0, |kernel| kernel.max_active_clusters) as usize;
    let in_cluster = plan.cluster.blocks();
    if in_cluster > 1 && clusters > 0 { clusters * in_cluster } else { blocks }
}

/// What stands for the host program in a launch, where nothing runs it.
struct NoHostProgram;

impl HostProgram for NoHostProgram {
    fn run(&self, _: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("a program for a GPU was run on the CPU".into())
    }
}
