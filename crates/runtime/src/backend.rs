//! What a device must be able to do.

pub(crate) mod cuda;
pub mod emulator;
pub(crate) mod host;
mod rules;

use std::any::Any;
use std::fmt::Debug;

use warpwright_arch::DeviceInfo;

use crate::{
    Invocation, KernelInfo, LoadError, MemoryError, Program, RunError, Space, StreamError, TensorMapFault,
    TensorMapSpec,
};

/// A kind of device. The CPU, CUDA and the [`emulator`] of a GPU are three; others are given to
/// [`Device::from_backend`](crate::Device::from_backend).
///
/// The contract, with that of the traits below:
/// - Work submitted to one stream runs in the order of submission; streams are unordered unless
///   [`wait_for`](BackendStream::wait_for) orders them. Running work at once, in line, satisfies this.
/// - Running a program never waits for work; copies from and to the host may. Faults of work may be reported by any later
///   call.
/// - Streams, buffers and executables keep what they need of the backend alive, and are used from any thread.
/// - Errors are typed; nothing panics on what a caller passes.
/// - Memory is the backend's own [`Space`]; a backend whose memory the CPU reads says [`Space::Host`], and tensors of the
///   host can then be its operands.
pub trait Backend: Send + Sync + Debug {
    /// The device as a plain value, queried once.
    fn info(&self) -> &DeviceInfo;

    /// Whose memory its kernels read.
    fn space(&self) -> Space;

    /// A new stream.
    ///
    /// # Errors
    /// [`StreamError`].
    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError>;

    /// Waits for all work on all streams.
    ///
    /// # Errors
    /// [`StreamError`].
    fn synchronize(&self) -> Result<(), StreamError>;

    /// The 128 bytes that a kernel takes for a tensor map, at a multiple of 64. Nothing is read of the tensor.
    ///
    /// # Errors
    /// [`TensorMapFault`]; [`TensorMapFault::NotSupported`] where there are none, which is what backends that do not say
    /// otherwise do.
    fn encode_tensor_map(&self, _: &TensorMapSpec) -> Result<[u8; 128], TensorMapFault> {
        Err(TensorMapFault::NotSupported { device: self.info().name.clone() })
    }

    /// Writes another address, a multiple of 16, into a map that [`encode_tensor_map`](Self::encode_tensor_map) made: then it
    /// is what encoding with that address would have made. False, the map as it was, where that is not known to be so.
    fn move_tensor_map(&self, _: &mut [u8; 128], _: u64) -> bool {
        false
    }

    /// Compiles and loads a program: everything that can be refused before a launch is refused here.
    ///
    /// # Errors
    /// [`LoadError`].
    fn load(&self, program: &Program) -> Result<Box<dyn BackendExecutable>, LoadError>;

    /// What only an emulated device has.
    fn emulated(&self) -> Option<&emulator::Emulated> {
        None
    }
}

/// A queue of work.
pub trait BackendStream: Any + Send + Sync + Debug {
    /// What tells it from every other stream of the device, also from those that are gone.
    fn handle(&self) -> u64;

    /// Waits for all work submitted so far.
    ///
    /// # Errors
    /// [`StreamError`].
    fn synchronize(&self) -> Result<(), StreamError>;

    /// Orders later work here after `other`'s work so far. `other` belongs to the same device.
    ///
    /// # Errors
    /// [`StreamError`].
    fn wait_for(&self, other: &dyn BackendStream) -> Result<(), StreamError>;

    /// Whether work is being recorded.
    ///
    /// # Errors
    /// [`StreamError`].
    fn is_capturing(&self) -> Result<bool, StreamError>;

    /// Starts to record.
    ///
    /// # Errors
    /// [`StreamError::NotSupported`] where there are no graphs.
    fn begin_capture(&self) -> Result<(), StreamError>;

    /// Ends the recording, also after errors in it.
    ///
    /// # Errors
    /// [`StreamError`].
    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError>;

    /// A mark in the stream's order whose time can be told later.
    ///
    /// # Errors
    /// [`StreamError::NotSupported`] where work is not timed, which is what backends that do not say otherwise do.
    fn mark(&self) -> Result<Box<dyn BackendMark>, StreamError> {
        Err(StreamError::NotSupported { device: "this device".into(), operation: "timing" })
    }

    /// Memory of any contents, at a multiple of 256 bytes, usable by work submitted to this stream from now on, and freed in
    /// its order when dropped. Refused while the stream is captured; memory that is dropped meanwhile stays, since the graph
    /// may use it.
    ///
    /// # Errors
    /// [`MemoryError`].
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError>;

    /// How much a workspace takes that has to grow to `needed` bytes.
    fn workspace_bytes(&self, needed: usize) -> usize {
        needed.checked_next_power_of_two().unwrap_or(needed).max(4096)
    }

    /// Copies host memory to the device's; `src` may be reused when this returns. Refused while the stream is captured.
    ///
    /// # Safety
    /// `dst` starts `src.len()` bytes of the device's memory, and nobody else uses them until the copy is done.
    ///
    /// # Errors
    /// [`MemoryError`].
    unsafe fn copy_from_host(&self, dst: u64, src: &[u8]) -> Result<(), MemoryError>;

    /// Copies the device's memory to the host's, after the work submitted so far, and waits for it. Refused while the stream
    /// is captured.
    ///
    /// # Safety
    /// `src` starts `dst.len()` bytes of the device's memory.
    ///
    /// # Errors
    /// [`MemoryError`].
    unsafe fn copy_to_host(&self, src: u64, dst: &mut [u8]) -> Result<(), MemoryError>;

    /// Copies within the device's memory.
    ///
    /// # Safety
    /// Both addresses start `bytes` bytes of the device's memory, apart from each other, and nobody else writes them until
    /// the copy is done.
    ///
    /// # Errors
    /// [`MemoryError`].
    unsafe fn copy(&self, dst: u64, src: u64, bytes: usize) -> Result<(), MemoryError>;

    /// Sets bytes of the device's memory.
    ///
    /// # Safety
    /// `dst` starts `bytes` bytes of the device's memory, and nobody else uses them until they are set.
    ///
    /// # Errors
    /// [`MemoryError`].
    unsafe fn fill(&self, dst: u64, byte: u8, bytes: usize) -> Result<(), MemoryError>;
}

/// Owned memory of a device.
///
/// # Safety
/// The bytes are valid memory of `space` from construction to drop, and belong to this value alone.
pub unsafe trait Buffer: Any + Send + Sync + Debug {
    /// Whose memory it is.
    fn space(&self) -> Space;

    /// Where it starts.
    fn address(&self) -> u64;

    /// How large it is.
    fn bytes(&self) -> usize;
}

/// A moment in a stream's order.
pub trait BackendMark: Any + Send + Sync {
    /// Waits for the work before this mark and says how many seconds lie between an earlier mark of the same backend and it.
    ///
    /// # Errors
    /// [`StreamError`].
    fn seconds_since(&self, earlier: &dyn BackendMark) -> Result<f64, StreamError>;
}

/// Recorded work.
pub trait BackendGraph: Send + Sync {
    /// Submits it. Calls from several threads are put in order.
    ///
    /// # Errors
    /// [`StreamError`].
    fn launch(&self, stream: &dyn BackendStream) -> Result<(), StreamError>;
}

/// A loaded program.
pub trait BackendExecutable: Send + Sync + Debug {
    /// Its kernels, in the order of the launches; empty where there are none.
    fn kernels(&self) -> &[KernelInfo];

    /// Submits one run. See [`Executable::run`](crate::Executable::run), which has checked that the stream belongs to the
    /// device.
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// [`RunError`].
    unsafe fn run(&self, stream: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError>;
}
