//! NVIDIA GPUs, through the CUDA driver.

mod executable;
mod fault;
mod info;
mod memory;
mod stream;
mod tensor_map;

pub(crate) use memory::CudaBuffer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaStream, result, sys};
use warpwright_arch::DeviceInfo;

use super::{Backend, BackendExecutable, BackendStream};
use crate::{
    Device, DeviceError, DriverFault, LoadError, Program, Space, Stream, StreamError, TensorMapFault, TensorMapSpec,
    nvrtc,
};
use executable::CudaExecutable;
use fault::fault;
use stream::CudaQueue;

/// The CUDA version that a driver must have: launches use `cuLaunchKernelEx`, and cudarc panics where a symbol is missing.
const DRIVER_NEEDED: u32 = 12_000;

#[cfg(windows)]
const DRIVER_LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const DRIVER_LIBRARY: &str = "libcuda.so.1";

/// `CU_STREAM_PER_THREAD`.
const PER_THREAD_STREAM: usize = 2;

#[derive(Debug)]
pub(crate) struct CudaBackend {
    context: Arc<CudaContext>,
    info: DeviceInfo,
}

impl CudaBackend {
    /// How many devices the driver has; 0 is an error that says what to check.
    pub(crate) fn count() -> Result<usize, DeviceError> {
        check_driver()?;
        let count = result::device::get_count().map_err(|error| driver(0, fault("cuDeviceGetCount", error)))?;
        match usize::try_from(count) {
            Ok(0) | Err(_) => Err(DeviceError::NoDevice),
            Ok(count) => Ok(count),
        }
    }

    /// The device of a primary context, made once.
    pub(crate) fn device(ordinal: usize) -> Result<Device, DeviceError> {
        static DEVICES: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = devices.get(&ordinal) {
            return Ok(device.clone());
        }
        let count = CudaBackend::count()?;
        if ordinal >= count {
            return Err(DeviceError::NoSuchDevice { ordinal, count });
        }
        nvrtc::version()?;
        let context =
            CudaContext::new(ordinal).map_err(|error| driver(ordinal, fault("cuDevicePrimaryCtxRetain", error)))?;
        // SAFETY: nothing was allocated with this context object yet. Its allocations are ordered by streams alone, which is
        // what captures need and what tensors document.
        unsafe { context.disable_event_tracking() };
        let device = Device::from_backend(CudaBackend::of_context(context)?);
        devices.insert(ordinal, device.clone());
        Ok(device)
    }

    fn of_context(context: Arc<CudaContext>) -> Result<CudaBackend, DeviceError> {
        let info = info::query(&context).map_err(|fault| driver(context.ordinal(), fault))?;
        Ok(CudaBackend { context, info })
    }
}

impl Stream {
    /// A stream of the caller's, with its context's rules about events. It must be kept from work that conflicts with what
    /// is submitted here, as between any two users of one stream.
    ///
    /// Streams of the primary context belong to [`Device::cuda`]; others make a device of their own, which takes a few
    /// milliseconds, so wrap once.
    ///
    /// # Errors
    /// [`DeviceError`], as [`Device::cuda`].
    pub fn from_cuda(stream: Arc<CudaStream>) -> Result<Stream, DeviceError> {
        let context = stream.context();
        if stream.cu_stream() as usize == PER_THREAD_STREAM {
            return Err(DeviceError::PerThreadStream);
        }
        let device = if context.is_primary() {
            Device::cuda(context.ordinal())?
        } else {
            nvrtc::version()?;
            Device::from_backend(CudaBackend::of_context(context.clone())?)
        };
        let queue = CudaQueue::new(stream.clone()).map_err(|fault| driver(context.ordinal(), fault))?;
        Ok(device.wrap_stream(Box::new(queue)))
    }

    /// The CUDA stream, if it is one.
    pub fn cuda(&self) -> Option<&Arc<CudaStream>> {
        stream::of(self.queue().backend()).map(CudaQueue::stream)
    }
}

impl Backend for CudaBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn space(&self) -> Space {
        Space::Cuda(self.context.ordinal())
    }

    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError> {
        let stream = self.context.new_stream().map_err(|error| fault("cuStreamCreate", error))?;
        Ok(Box::new(CudaQueue::new(stream)?))
    }

    fn synchronize(&self) -> Result<(), StreamError> {
        self.context.synchronize().map_err(|error| fault("cuCtxSynchronize", error).into())
    }

    fn encode_tensor_map(&self, map: &TensorMapSpec) -> Result<[u8; 128], TensorMapFault> {
        tensor_map::encode(map)
    }

    fn move_tensor_map(&self, map: &mut [u8; 128], address: u64) -> bool {
        tensor_map::relocate(map, address)
    }

    fn load(&self, program: &Program) -> Result<Box<dyn BackendExecutable>, LoadError> {
        Ok(Box::new(CudaExecutable::load(&self.context, &self.info, program)?))
    }
}

/// Whether there is a driver that launches need, initialised. Asked once; the answer stays.
fn check_driver() -> Result<(), DeviceError> {
    static ANSWER: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    ANSWER
        .get_or_init(|| {
            // SAFETY: the driver library's initialisers have no preconditions. The handle may be closed: cudarc opens its own.
            if unsafe { libloading::Library::new(DRIVER_LIBRARY) }.is_err() {
                return Err(DeviceError::NoDriver { library: DRIVER_LIBRARY });
            }
            let mut version = 0;
            // SAFETY: the driver library is present, and the version is written to.
            unsafe { sys::cuDriverGetVersion(&mut version) }
                .result()
                .map_err(|error| driver(0, fault("cuDriverGetVersion", error)))?;
            let found = version.unsigned_abs();
            if found < DRIVER_NEEDED {
                return Err(DeviceError::DriverTooOld { found, needed: DRIVER_NEEDED });
            }
            result::init().map_err(|error| match error.0 {
                sys::CUresult::CUDA_ERROR_NO_DEVICE => DeviceError::NoDevice,
                _ => driver(0, fault("cuInit", error)),
            })
        })
        .clone()
}

/// Makes a stream's context current in this thread.
pub(crate) fn make_current(stream: &CudaStream) -> Result<(), DriverFault> {
    stream.context().bind_to_thread().map_err(|error| fault("cuCtxSetCurrent", error))
}

fn driver(ordinal: usize, fault: DriverFault) -> DeviceError {
    DeviceError::Driver { ordinal, fault }
}
