//! What is loaded on a device: kernels as text, and the meaning of the same on the CPU.

use warpwright_arch::{ArchId, DeviceInfo};

/// A list of kernel launches that together do one thing. It is what a plan lowers to.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// A name for messages and files.
    pub name: String,
    /// Which instructions the kernels use; it decides on which devices they run and for what they are compiled.
    pub tag: ArchId,
    /// The launches, in order.
    pub launches: Vec<LaunchTemplate>,
    /// The workspace that one run needs; no bytes where the run's problem decides how many.
    pub workspace: WorkspaceLayout,
}

/// One kernel and what is fixed about its launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchTemplate {
    /// The kernel's name: `extern "C" __global__`, with one parameter, a struct passed by value.
    pub entry: String,
    /// CUDA C++, self-contained: NVRTC has no headers. Or PTX, which begins with `.version` and which the driver assembles.
    /// Launches with equal source and options share one module.
    pub source: String,
    /// NVRTC options besides [`DEFAULT_OPTIONS`](crate::nvrtc::DEFAULT_OPTIONS) and the target.
    pub options: Vec<String>,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; `[1, 1, 1]` launches without clusters. The grid must be a multiple of it.
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// Size of the parameter struct, in bytes.
    pub params_bytes: usize,
    /// Programmatic dependent launch: the kernel may start before its predecessor on the stream has ended, and waits for it
    /// itself (`griddepcontrol.wait`).
    pub pdl: bool,
}

/// Memory that a run uses and leaves; its contents before and after mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WorkspaceLayout {
    /// Its size.
    pub bytes: usize,
    /// What its address must be a multiple of, a power of two.
    pub alignment: usize,
}

/// One launch of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchCall<'a> {
    /// Blocks, in x, y and z.
    pub grid: [u32; 3],
    /// The parameter struct, byte by byte.
    pub params: &'a [u8],
}

/// One run of a program, for whichever backend it is loaded on.
#[derive(Clone, Copy)]
pub struct Invocation<'a> {
    /// One call per launch of the program; read by backends that launch kernels.
    pub launches: &'a [LaunchCall<'a>],
    /// The same work for the CPU.
    pub host: &'a dyn HostProgram,
}

/// What a program means, computed by the CPU: the same tiles, order of summation, splits and epilogue.
pub trait HostProgram: Sync {
    /// Does the work of one run and returns when it is done. It may use rayon's threads.
    ///
    /// # Errors
    /// Its own, boxed into [`RunError::Host`](crate::RunError::Host).
    fn run(&self, cx: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// What a host program may ask of its surroundings.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HostContext<'a> {
    /// The device that it runs on.
    pub info: &'a DeviceInfo,
}

impl<'a> HostContext<'a> {
    /// The surroundings on a device.
    pub fn new(info: &'a DeviceInfo) -> HostContext<'a> {
        HostContext { info }
    }
}
