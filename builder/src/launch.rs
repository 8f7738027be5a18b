//! From a plan and a call to launches on a GPU.

use crate::error::RunError;
use crate::plans::Prepared;
use warpwright_arch::DeviceInfo;
use warpwright_epilogue::Program as Epilogue;
use warpwright_kernels::{Arguments, lower};
use warpwright_runtime::{Executable, HostContext, HostProgram, Invocation, Stream};
use warpwright_spec::{KernelPlan, Problem};

/// Launches a planned call. Its operands were checked, and its problem is not empty.
pub(crate) fn launch(
    stream: &Stream,
    Prepared { plan, executable, .. }: &Prepared,
    problem: &Problem,
    arguments: &Arguments<'_>,
    epilogue: &Epilogue,
) -> Result<(), RunError> {
    let call = lower::call(plan, problem, arguments, epilogue, resident(plan, executable))?;
    let invocation = Invocation { launches: &[call.launch()], host: &NoHostProgram };
    // SAFETY: the parameters are those of the plan that was lowered; `infer` and `can_implement` checked that every operand is
    // in this device's memory with the extents that they state, and the views borrow that memory until the work is submitted.
    Ok(unsafe { executable.run(stream, &invocation) }?)
}

/// Blocks that the device keeps at once: as the driver counts them for this kernel, or else as its resources say.
fn resident(plan: &KernelPlan, executable: &Executable) -> usize {
    let info: &DeviceInfo = executable.device().info();
    let known = executable.kernels().first().map_or(0, |kernel| kernel.blocks_per_sm);
    let r = &plan.resources;
    let counted = || info.blocks_per_sm(r.threads as u32, r.registers as u32, r.shared_bytes as u32);
    let per_sm = if known > 0 { known } else { counted() };
    info.sms.max(1) as usize * per_sm.max(1) as usize
}

/// What stands for the host program in a launch, where nothing runs it.
struct NoHostProgram;

impl HostProgram for NoHostProgram {
    fn run(&self, _: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("a program for a GPU was run on the CPU".into())
    }
}
