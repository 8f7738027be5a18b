//! From a plan and a call to launches on a GPU.

use crate::auto::PlanError;
use crate::error::{BuildError, RunError};
use warpwright_arch::DeviceInfo;
use warpwright_kernels::Arguments;
use warpwright_runtime::{Executable, Program, Stream, WorkspaceLayout, WorkspacePtr};
use warpwright_spec::{KernelPlan, Problem};

pub(crate) fn workspace(_: &KernelPlan, _: &DeviceInfo, _: &Problem) -> WorkspaceLayout {
    WorkspaceLayout::default()
}

pub(crate) fn program(plan: &KernelPlan) -> Result<Program, BuildError> {
    let s = &plan.spec;
    Err(PlanError::TypesNotWritten { arch: s.arch, a: s.a, b: s.b, acc: s.acc, d: s.d }.into())
}

pub(crate) fn launch(
    _: &Stream,
    plan: &KernelPlan,
    _: &Executable,
    _: &Problem,
    _: &Arguments<'_>,
    _: Option<WorkspacePtr>,
) -> Result<(), RunError> {
    Err(program(plan).err().map_or(RunError::Unprepared, RunError::from))
}
