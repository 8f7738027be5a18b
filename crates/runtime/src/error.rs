//! One error type per public operation. A message names the value, the rule and the remedy.

use std::path::PathBuf;

use warpwright_arch::ArchMismatch;
use warpwright_emulator::{Fault, TensorMapError};
use warpwright_numeric::Dtype;

use crate::nvrtc::{CompileError, NvrtcMissing, saved};
use crate::{Space, Strided};

/// A call into the CUDA driver that failed, with the driver's own words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{call} failed: {name}, {text}")]
#[non_exhaustive]
pub struct DriverFault {
    /// The call.
    pub call: &'static str,
    /// `CUresult`, as a number.
    pub code: u32,
    /// `CUresult`, by name.
    pub name: String,
    /// The driver's description.
    pub text: String,
}

/// A device that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no CUDA driver.
    #[error("there is no CUDA driver here ({library} cannot be loaded): install the NVIDIA driver, or use the CPU")]
    NoDriver {
        /// The library that was looked for.
        library: &'static str,
    },
    /// The driver is too old for the calls that launches need.
    #[error("the CUDA driver is of CUDA {}.{} and {}.{} is needed: install a newer NVIDIA driver", found / 1000, found % 1000 / 10, needed / 1000, needed % 1000 / 10)]
    DriverTooOld {
        /// The driver's CUDA version, 1000 · major + 10 · minor.
        found: u32,
        /// The version needed.
        needed: u32,
    },
    /// The driver found no GPU.
    #[error("the CUDA driver finds no GPU: check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or use the CPU")]
    NoDevice,
    /// The ordinal is too large.
    #[error("there is no CUDA device {ordinal}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// NVRTC, which compiles kernels, is missing.
    #[error(transparent)]
    NoNvrtc(#[from] NvrtcMissing),
    /// A device that the emulator does not model.
    #[error(
        "{device} cannot be emulated: give a GPU whose capability is that of a tag, such as a preset of `DeviceInfo`"
    )]
    NotEmulated {
        /// Its name.
        device: String,
    },
    /// CUDA's per-thread default stream.
    #[error(
        "the per-thread default stream is another stream in every thread, and a `Stream` is shared between threads: wrap one \
         made with `new_stream`"
    )]
    PerThreadStream,
    /// The driver refused.
    #[error("CUDA device {ordinal} cannot be used: {fault}")]
    Driver {
        /// The device.
        ordinal: usize,
        /// The driver's words.
        fault: DriverFault,
    },
}

/// A failed operation on a stream.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The device has no such operation.
    #[error("{device} has no {operation}")]
    NotSupported {
        /// The device's name.
        device: String,
        /// The operation.
        operation: &'static str,
    },
    /// Two streams of different devices.
    #[error("the streams belong to {left} and {right}: only streams of one device can be ordered or share a graph")]
    WrongDevice {
        /// Where one stream is.
        left: Space,
        /// Where the other is.
        right: Space,
    },
    /// The operation is not allowed while the stream is captured.
    #[error("{operation} while the stream is being captured: do it before the capture begins")]
    Capturing {
        /// The operation.
        operation: &'static str,
    },
    /// Nothing was captured.
    #[error("the capture recorded no work: submit at least one launch to the stream inside it")]
    EmptyCapture,
    /// The driver refused.
    #[error(transparent)]
    Driver(#[from] DriverFault),
}

/// A failed capture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError<E: std::error::Error + 'static> {
    /// The work that was to be captured failed to submit.
    #[error("the work to capture failed: {0}")]
    Body(#[source] E),
    /// The capture itself failed.
    #[error("the capture failed: {0}")]
    Stream(#[source] StreamError),
}

/// A tensor map that a device does not encode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapFault {
    /// What every encoder refuses.
    #[error(transparent)]
    Rule(#[from] TensorMapError),
    /// The device has no tensor maps.
    #[error("{device} has no tensor maps: they are read by TMA, which begins with sm_90")]
    NotSupported {
        /// The device.
        device: String,
    },
    /// The driver refused.
    #[error(transparent)]
    Driver(#[from] DriverFault),
}

/// Memory that could not be had or copied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// There is not enough.
    #[error("{space} has no {bytes} bytes free: use smaller operands, or free some tensors first")]
    OutOfMemory {
        /// Where it was asked for.
        space: Space,
        /// How much.
        bytes: usize,
    },
    /// An address that is no memory of the device.
    #[error(
        "{bytes} bytes at {address:#x} do not lie in one allocation of {space}: pass the address of a live tensor of it"
    )]
    Outside {
        /// The device.
        space: Space,
        /// The first byte asked for.
        address: u64,
        /// How many.
        bytes: usize,
    },
    /// Allocations and copies with the host don't go into graphs.
    #[error("{operation} while the stream is being captured: do it before the capture begins")]
    Capturing {
        /// The operation.
        operation: &'static str,
    },
    /// The driver refused.
    #[error(transparent)]
    Driver(#[from] DriverFault),
}

/// A tensor or view that cannot be made, read or moved.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The memory is too small for the extents.
    #[error("{given} elements do not hold {batch} × {rows} × {cols}, which reaches over {needed}: give {needed}, or smaller extents or strides", batch = .extents[0], rows = .extents[1], cols = .extents[2])]
    TooShort {
        /// Elements there are.
        given: usize,
        /// Elements that the extents and strides reach over.
        needed: usize,
        /// Batch, rows, columns.
        extents: [usize; 3],
    },
    /// More bytes than an address space has.
    #[error("{batch} × {rows} × {cols} elements of {dtype} with strides {strides:?} reach over more than 2^63 bytes, which no memory has: give smaller extents or strides", batch = .extents[0], rows = .extents[1], cols = .extents[2])]
    TooLarge {
        /// Batch, rows, columns.
        extents: [usize; 3],
        /// Strides of batch, rows, columns, in elements.
        strides: [i64; 3],
        /// The element type.
        dtype: Dtype,
    },
    /// Rows that overlap.
    #[error(
        "a leading dimension of {given} is below the {needed} elements of one {line}: it is the distance between two of them"
    )]
    LeadingDimension {
        /// The leading dimension given.
        given: usize,
        /// The least possible.
        needed: usize,
        /// `row` or `column`.
        line: &'static str,
    },
    /// A negative stride.
    #[error("stride {stride} is negative: strides are counted in elements from 0 up")]
    NegativeStride {
        /// The stride.
        stride: i64,
    },
    /// Elements to write that share memory.
    #[error(
        "elements of {extents:?} with strides {strides:?} share memory, so they can only be read: a tensor to write needs distinct places"
    )]
    Overlapping {
        /// Batch, rows, columns.
        extents: [usize; 3],
        /// Strides of batch, rows, columns, in elements.
        strides: [i64; 3],
    },
    /// A copy between tensors of different layouts.
    #[error("the source has extents {:?} with strides {:?} and this tensor has {:?} with {:?}: copy between equal layouts", given.extents, given.strides, expected.extents, expected.strides)]
    Layout {
        /// The source's.
        given: Strided,
        /// This tensor's.
        expected: Strided,
    },
    /// An index or range beyond the extents.
    #[error("{what} {index} is beyond the extent {extent}")]
    OutOfBounds {
        /// What is indexed.
        what: &'static str,
        /// The index.
        index: usize,
        /// The extent.
        extent: usize,
    },
    /// A view that starts inside a byte.
    #[error(
        "a view of {dtype} cannot start at element {element}, which lies inside a byte: start at a multiple of {unit}"
    )]
    InsideByte {
        /// The element type.
        dtype: Dtype,
        /// Where it would start.
        element: usize,
        /// Elements between two starts of a byte.
        unit: usize,
    },
    /// A slice of a type that tensors pack.
    #[error(
        "a slice holds each {dtype} in a byte of its own and kernels read them packed: make a `Tensor` of it, which packs them"
    )]
    NotPacked {
        /// The element type.
        dtype: Dtype,
    },
    /// Elements of another type.
    #[error("the elements are {found}, not {expected}")]
    WrongType {
        /// What they are.
        found: Dtype,
        /// What was asked for.
        expected: Dtype,
    },
    /// Memory that the host cannot read.
    #[error("the elements are in the memory of {space}: bring them to the host with `to_host`")]
    NotOnHost {
        /// Where they are.
        space: Space,
    },
    /// A stream of another device.
    #[error(
        "the elements are in the memory of {space} and the stream belongs to {stream}: use a stream of {space}, or copy through the host"
    )]
    WrongDevice {
        /// Where the elements are.
        space: Space,
        /// Where the stream is.
        stream: Space,
    },
    /// Memory could not be had or copied.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A program that cannot be loaded.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The tag's instructions are not this device's.
    #[error("`{program}` cannot run on {device}: {mismatch}")]
    Arch {
        /// The program.
        program: String,
        /// The device's name.
        device: String,
        /// Which tag, which device, which remedy.
        mismatch: ArchMismatch,
    },
    /// NVRTC refused the source.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The compiled module lacks the kernel.
    #[error("`{program}` has no kernel `{entry}`: the source must define it as extern \"C\" __global__")]
    MissingEntry {
        /// The program.
        program: String,
        /// The kernel.
        entry: String,
    },
    /// The emulator does not model an instruction of the kernel.
    #[error("`{program}` cannot be emulated: PTX line {line}: {reason}\n    {text}")]
    Ptx {
        /// The program.
        program: String,
        /// The line of the PTX, from 1.
        line: u32,
        /// The instruction.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The launch can never succeed on this device.
    #[error("kernel `{entry}` asks for {value} {what}, and {device} allows {limit}")]
    Limit {
        /// The kernel.
        entry: String,
        /// What is asked for.
        what: &'static str,
        /// How much.
        value: u64,
        /// The device's limit.
        limit: u64,
        /// The device's name.
        device: String,
    },
    /// The driver refused.
    #[error("`{program}` cannot be loaded: {fault}")]
    Driver {
        /// The program.
        program: String,
        /// The driver's words.
        fault: DriverFault,
    },
}

/// A run that was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Not one call per launch.
    #[error("`{program}` has {expected} launches and {given} calls were given: give one call per launch")]
    LaunchCount {
        /// The program.
        program: String,
        /// Calls given.
        given: usize,
        /// Launches the program has.
        expected: usize,
    },
    /// A parameter block of another size.
    #[error("kernel `{entry}` takes {expected} bytes of parameters and {given} were given")]
    ParameterSize {
        /// The kernel.
        entry: String,
        /// Bytes given.
        given: usize,
        /// Bytes the kernel takes.
        expected: usize,
    },
    /// A grid that cannot be launched.
    #[error("kernel `{entry}` cannot be launched with the grid {grid:?}: {rule}")]
    Grid {
        /// The kernel.
        entry: String,
        /// The grid.
        grid: [u32; 3],
        /// The rule it breaks.
        rule: String,
    },
    /// A stream of another device.
    #[error("the program is loaded on {program} and the stream belongs to {stream}: use a stream of {program}")]
    WrongDevice {
        /// Where the program is loaded.
        program: Space,
        /// Where the stream is.
        stream: Space,
    },
    /// The host program failed.
    #[error("the host program failed: {0}")]
    Host(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel broke a rule on an emulated device. Its outputs are as far as it came.
    #[error("kernel `{entry}`, emulated with seed {seed}{}: {fault}", saved(.source_path))]
    Fault {
        /// The kernel.
        entry: String,
        /// The device's seed, which reproduces the run.
        seed: u64,
        /// Where the source was saved, whose lines the fault names; `None` if no directory is writable.
        source_path: Option<PathBuf>,
        /// Which rule, where, and against what.
        fault: Box<Fault>,
    },
    /// The driver refused the launch.
    #[error("kernel `{entry}` was not launched: {fault}")]
    Launch {
        /// The kernel.
        entry: String,
        /// The driver's words.
        fault: DriverFault,
    },
}

/// Workspace that could not be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// Growing would allocate, which a capture cannot hold.
    #[error(
        "the stream is being captured and its workspace has {have} of {needed} bytes: prepare the problem on this stream before the capture begins"
    )]
    Capturing {
        /// Bytes needed.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
    /// A workspace of the caller's that does not do.
    #[error(
        "the workspace at {address:#x} has {given} bytes and {needed} bytes at a multiple of {alignment} are needed: ask the plan for its workspace size"
    )]
    TooSmall {
        /// The workspace's address.
        address: u64,
        /// Bytes given.
        given: usize,
        /// Bytes needed.
        needed: usize,
        /// The alignment needed.
        alignment: usize,
    },
    /// A workspace of the caller's at no address, or beyond the last one.
    #[error("the workspace at {address:#x} of {given} bytes is no memory: allocate it on the stream's device")]
    Nowhere {
        /// The workspace's address.
        address: u64,
        /// Bytes given.
        given: usize,
    },
    /// A workspace of the caller's that lies over something else of the call.
    #[error(
        "the {needed} bytes of workspace at {address:#x} overlap {operand} in memory: give the workspace memory of its own"
    )]
    Shared {
        /// The workspace's address.
        address: u64,
        /// Bytes that the call takes of it.
        needed: usize,
        /// What it overlaps.
        operand: String,
    },
    /// A stream of another device.
    #[error("the program is loaded on {program} and the stream belongs to {stream}: use a stream of {program}")]
    WrongDevice {
        /// Where the program is loaded.
        program: Space,
        /// Where the stream is.
        stream: Space,
    },
    /// Memory could not be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}
