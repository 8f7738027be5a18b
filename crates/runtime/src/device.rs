//! Devices.

use std::fmt;
use std::sync::{Arc, OnceLock};

use warpwright_arch::{Arch, DeviceInfo};

use crate::backend::cuda::CudaBackend;
use crate::backend::emulator::{Emulated, EmulatorOptions};
use crate::backend::host::HostBackend;
use crate::backend::{Backend, BackendStream};
use crate::stream::Queue;
use crate::{DeviceError, Executable, LoadError, Program, Space, Stream, StreamError, TensorMapFault, TensorMapSpec};

/// Something that programs run on. Cheap to clone.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Box<dyn Backend>,
    default_queue: OnceLock<Arc<Queue>>,
}

impl Device {
    /// The CPU: host programs on rayon's threads, host memory.
    pub fn host() -> Device {
        static HOST: OnceLock<Device> = OnceLock::new();
        HOST.get_or_init(|| Device::from_backend(HostBackend::new())).clone()
    }

    /// The CUDA device with this ordinal, in its primary context, which it shares with every other library in the process.
    /// Once made, a device lives until the process ends.
    ///
    /// # Errors
    /// [`DeviceError`]: without a driver, without NVRTC, without that device; it says what to install.
    pub fn cuda(ordinal: usize) -> Result<Device, DeviceError> {
        CudaBackend::device(ordinal)
    }

    /// An emulated GPU of this architecture: kernels run from their PTX on the CPU, with every rule checked. Each call makes
    /// a device with memory of its own. [`EmulatorOptions`] chooses a seed, fewer checks or another device; at run time, the
    /// tag is a value there.
    ///
    /// ```
    /// use warpwright_arch::Sm80;
    /// use warpwright_runtime::{Device, DeviceError, Tensor};
    ///
    /// let device = match Device::emulator::<Sm80>() {
    ///     Ok(device) => device,
    ///     // The message says what to install.
    ///     Err(DeviceError::NoNvrtc(missing)) => return println!("{missing}"),
    ///     Err(other) => panic!("{other}"),
    /// };
    /// assert_eq!(device.name(), "NVIDIA A100-SXM4-80GB (emulated)");
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::NoNvrtc`] without NVRTC, which compiles kernels to PTX; it says what to install.
    pub fn emulator<A: Arch>() -> Result<Device, DeviceError> {
        EmulatorOptions::of_tag(A::ID).device()
    }

    /// Every device that could be used here: CUDA devices in the order of their ordinals, and the CPU. What cannot be used
    /// is an error that says why. Emulated devices are made by name alone.
    pub fn all() -> Vec<Result<Device, DeviceError>> {
        let cuda = match CudaBackend::count() {
            Ok(count) => (0..count).map(Device::cuda).collect(),
            Err(error) => vec![Err(error)],
        };
        cuda.into_iter().chain([Ok(Device::host())]).collect()
    }

    /// A device on a backend of the caller's; see [`Backend`]'s contract.
    pub fn from_backend(backend: impl Backend + 'static) -> Device {
        Device { inner: Arc::new(Inner { backend: Box::new(backend), default_queue: OnceLock::new() }) }
    }

    /// The 128 bytes that a kernel of this device takes for a tensor map, at a multiple of 64 bytes of its parameters. The
    /// tensor itself is not looked at.
    ///
    /// # Errors
    /// [`TensorMapFault`].
    pub fn encode_tensor_map(&self, map: &TensorMapSpec) -> Result<[u8; 128], TensorMapFault> {
        self.backend().encode_tensor_map(map)
    }

    /// Writes another address into a tensor map that this device encoded; false where that takes encoding it anew.
    pub fn move_tensor_map(&self, map: &mut [u8; 128], address: u64) -> bool {
        self.backend().move_tensor_map(map, address)
    }

    /// What plans need to know of it.
    pub fn info(&self) -> &DeviceInfo {
        self.backend().info()
    }

    /// The product's name.
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Whose memory its kernels read.
    pub fn space(&self) -> Space {
        self.backend().space()
    }

    /// Whether this is the CPU.
    pub fn is_host(&self) -> bool {
        self.info().is_host()
    }

    /// What only an emulated device has: its options, and profiles of its launches. `None` for others.
    pub fn emulated(&self) -> Option<&Emulated> {
        self.backend().emulated()
    }

    /// One stream that everyone who asks shares. It can be captured; on CUDA it is not the legacy null stream and does not
    /// wait for it.
    ///
    /// # Errors
    /// [`StreamError::Driver`].
    pub fn default_stream(&self) -> Result<Stream, StreamError> {
        if let Some(queue) = self.inner.default_queue.get() {
            return Ok(Stream::new(self.clone(), queue.clone()));
        }
        let fresh = Arc::new(Queue::new(self.backend().open_stream()?));
        Ok(Stream::new(self.clone(), self.inner.default_queue.get_or_init(|| fresh).clone()))
    }

    /// A stream of one's own, unordered with others.
    ///
    /// # Errors
    /// [`StreamError::Driver`].
    pub fn new_stream(&self) -> Result<Stream, StreamError> {
        Ok(self.wrap_stream(self.backend().open_stream()?))
    }

    /// Waits for all work on all of the device's streams.
    ///
    /// # Errors
    /// [`StreamError::Driver`], also for faults of work submitted earlier.
    pub fn synchronize(&self) -> Result<(), StreamError> {
        self.backend().synchronize()
    }

    /// Compiles a program, or finds it in the cache, and loads it.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(&self, program: &Program) -> Result<Executable, LoadError> {
        let loaded = self.backend().load(program)?;
        Ok(Executable::new(self.clone(), program, loaded))
    }

    pub(crate) fn wrap_stream(&self, stream: Box<dyn BackendStream>) -> Stream {
        Stream::new(self.clone(), Arc::new(Queue::new(stream)))
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.inner.backend
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {})", self.space(), self.name())
    }
}
