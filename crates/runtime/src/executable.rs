//! Loaded programs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::BackendExecutable;
use crate::workspace::Slots;
use crate::{Device, Invocation, Program, RunError, Space, Stream, WorkspaceError, WorkspaceLayout, WorkspacePtr};

/// A program on a device, ready to run. Cheap to clone; `Send` and `Sync`: threads share it, each with its own stream.
#[derive(Clone)]
pub struct Executable {
    inner: Arc<Loaded>,
}

pub(crate) struct Loaded {
    id: u64,
    device: Device,
    name: String,
    workspace: WorkspaceLayout,
    backend: Box<dyn BackendExecutable>,
    /// Of any contents, and zeros.
    slots: [Slots; 2],
}

/// What a device says of a loaded kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelInfo {
    /// The kernel's name.
    pub entry: String,
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread in bytes: spilled registers and arrays that are indexed.
    pub local_bytes: u32,
    /// Static shared memory in bytes.
    pub static_shared_bytes: u32,
    /// Blocks of this launch that fit on one SM.
    pub blocks_per_sm: u32,
    /// Clusters of this launch that are resident at once, as the driver counts them for this very kernel; 0 for a launch
    /// without clusters.
    pub max_active_clusters: u32,
}

impl KernelInfo {
    /// A kernel of this name of which nothing else is known.
    pub fn new(entry: impl Into<String>) -> KernelInfo {
        KernelInfo {
            entry: entry.into(),
            registers: 0,
            local_bytes: 0,
            static_shared_bytes: 0,
            blocks_per_sm: 0,
            max_active_clusters: 0,
        }
    }
}

impl Executable {
    pub(crate) fn new(device: Device, program: &Program, backend: Box<dyn BackendExecutable>) -> Executable {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (name, workspace) = (program.name.clone(), program.workspace);
        Executable { inner: Arc::new(Loaded { id, device, name, workspace, backend, slots: Default::default() }) }
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The device it is loaded on.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// What the device says of its kernels, in the order of the launches; empty on the CPU, which has none.
    pub fn kernels(&self) -> &[KernelInfo] {
        self.inner.backend.kernels()
    }

    /// At least `bytes` bytes of workspace, aligned as the program asks, that belong to this program and this stream alone;
    /// runs on one stream follow one another, so they share it. Asking again is cheap and allocates only to grow.
    ///
    /// The memory lives as long as this executable or a graph that was captured with it.
    ///
    /// # Errors
    /// [`WorkspaceError::Capturing`] if the slot would have to grow while the stream is being captured.
    pub fn workspace(&self, stream: &Stream, bytes: usize) -> Result<WorkspacePtr, WorkspaceError> {
        self.slot(stream, bytes, false)
    }

    /// As [`workspace`](Self::workspace), of other memory, which was zero when it was first given: a run that leaves it zero
    /// finds it so the next time. Whatever a failed run left is [cleared](WorkspacePtr::clear) by whoever noticed.
    ///
    /// # Errors
    /// As there.
    pub fn zeroed_workspace(&self, stream: &Stream, bytes: usize) -> Result<WorkspacePtr, WorkspaceError> {
        self.slot(stream, bytes, true)
    }

    fn slot(&self, stream: &Stream, bytes: usize, zeroed: bool) -> Result<WorkspacePtr, WorkspaceError> {
        self.check_stream(stream, |program, stream| WorkspaceError::WrongDevice { program, stream })?;
        if bytes == 0 {
            return Ok(WorkspacePtr::default());
        }
        let needed = WorkspaceLayout { bytes, alignment: self.inner.workspace.alignment };
        if let Some(known) = stream.queue().workspace_of((self.inner.id, zeroed)).filter(|known| known.bytes >= bytes) {
            return Ok(known);
        }
        let grown = self.inner.slots[usize::from(zeroed)].get(stream, needed, zeroed)?;
        stream.queue().remember_workspace((self.inner.id, zeroed), grown);
        Ok(grown)
    }

    /// Runs the program: launches its kernels on the stream, or, on the CPU, runs the host program to its end.
    ///
    /// It allocates nothing on the device and takes no lock that two streams could contend for. A launch that fails leaves
    /// those before it submitted.
    ///
    /// # Safety
    /// On a device that launches kernels: each `params` is the kernel's parameter struct, and the memory that it names is
    /// valid, with the access that the kernel makes, until the work submitted here has run. Borrows may end sooner where
    /// memory is freed in the stream's order.
    ///
    /// # Errors
    /// [`RunError`].
    pub unsafe fn run(&self, stream: &Stream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        self.check_stream(stream, |program, stream| RunError::WrongDevice { program, stream })?;
        stream.queue().retain_in_capture(&self.inner);
        // SAFETY: the caller's promise.
        unsafe { self.inner.backend.run(stream.queue().backend(), invocation) }
    }

    fn check_stream<E>(&self, stream: &Stream, error: impl FnOnce(Space, Space) -> E) -> Result<(), E> {
        let (program, stream) = (self.device().space(), stream.device().space());
        if program == stream { Ok(()) } else { Err(error(program, stream)) }
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable").field("name", &self.inner.name).field("device", &self.inner.device).finish()
    }
}
