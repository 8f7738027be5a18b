//! Launches below the builder: of plans whose text a test changes, and of what is packed already.

use warpwright::epilogue::{OutputShape, Program as Epilogue};
use warpwright::kernels::lower::{DeviceCall, DeviceSide, DeviceWorkspace, TensorMaps, call};
use warpwright::runtime::{HostContext, HostProgram};
use warpwright::spec::{KernelPlan, Problem};
use warpwright::{Arguments, Device};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What stands for the host program of a launch that a GPU, or an emulated one, runs.
pub struct NotOnTheHost;

impl HostProgram for NotOnTheHost {
    fn run(&self, _: &HostContext<'_>) -> Result<()> {
        Err("a program for a GPU was run on the CPU".into())
    }
}

/// The launch of a plan on operands that fit it, with its tensor maps, on a device that keeps `resident` blocks at once.
///
/// # Errors
/// What was refused.
pub fn packed(
    device: &Device,
    plan: &KernelPlan,
    problem: &Problem,
    arguments: &Arguments<'_>,
    resident: usize,
    workspace: DeviceWorkspace,
) -> Result<DeviceCall> {
    let epilogue = Epilogue::of(plan.spec.epilogue, plan.spec.acc, plan.spec.d)?;
    let bound = epilogue.bind(arguments.epilogue, OutputShape::of(problem), arguments.d.space())?;
    let maps = TensorMaps::of(plan, &epilogue)?;
    let mut packed = DeviceCall::default();
    call(&mut packed, plan, problem, arguments, &bound, DeviceSide { resident, maps: &maps, workspace })?;
    packed.encode_maps(&Default::default(), |map| device.encode_tensor_map(map), |_, _| false)?;
    Ok(packed)
}
