//! Devices, streams, tensors and programs: everything that touches memory or a GPU, and nothing that knows of GEMM.
//!
//! A [`Program`] is a list of kernel launches in CUDA C++. [`Device::load`] makes an [`Executable`] of it: compiled by
//! [`nvrtc`], kept in the [`cache`] on disk. [`Executable::run`] launches it on a [`Stream`], or, on the CPU, runs the
//! [`HostProgram`] that means the same. An [`emulator`] of a GPU runs the kernels themselves. Memory is a [`Tensor`], seen through a [`TensorView`], which launches read as a
//! [`RawView`].
//!
//! # Completion
//!
//! Work on a stream is asynchronous: borrows of operands end when the work is *submitted*, not when it is done. What makes
//! that sound:
//! - a device [`Tensor`] frees its memory in the order of the stream that it was made on, after the work submitted there;
//! - [`Tensor::to_host`] waits for the stream that it is given;
//! - host memory is only used by [`Device::host`], whose work is done when the call returns.
//!
//! A tensor that is used on several streams needs [`Stream::wait_for`] between them, and before it is dropped. A captured
//! [`Graph`] holds addresses: the tensors that it uses must outlive its replays.
//!
//! Nothing here needs CUDA to build or to start: the driver, NVRTC and cuBLASLt are looked up when they are first used, and a machine
//! without them has [`Device::host`].

pub mod backend;
pub mod cache;
pub mod cublaslt;
mod device;
mod error;
mod executable;
pub mod nvrtc;
mod program;
mod shared_library;
mod stream;
mod tensor;
mod view;
mod workspace;

pub use backend::emulator;
pub use device::Device;
pub use error::{
    CaptureError, DeviceError, DriverFault, LoadError, MemoryError, RunError, StreamError, TensorError, TensorMapFault,
    WorkspaceError,
};
pub use executable::{Executable, KernelInfo};
pub use program::{HostContext, HostProgram, Invocation, LaunchCall, LaunchTemplate, Program, WorkspaceLayout};
pub use stream::{Graph, Mark, Stream};
pub use tensor::{AsView, AsViewMut, Tensor, TensorView, TensorViewMut};
pub use view::{Order, RawView, RawViewMut, Space, Strided};
pub use workspace::WorkspacePtr;

/// What a tensor map says, and what an encoder refuses of it.
pub use warpwright_emulator::{TensorElement, TensorFill, TensorMapError, TensorMapSpec, TensorSwizzle};
