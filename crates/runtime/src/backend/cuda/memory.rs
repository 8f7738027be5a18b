//! Device memory.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, sys};

use crate::Space;
use crate::backend::Buffer;

/// Device memory, freed in the order of the stream that it was made on.
#[derive(Debug)]
pub(crate) struct CudaBuffer {
    stream: Arc<CudaStream>,
    address: u64,
    bytes: usize,
    /// Whether the memory is still this buffer's to free.
    is_owned: bool,
}

impl CudaBuffer {
    /// Takes over a slice of any type.
    pub(crate) fn from_slice<T>(slice: CudaSlice<T>) -> CudaBuffer {
        let (stream, bytes) = (slice.stream().clone(), slice.num_bytes());
        CudaBuffer { stream, address: slice.leak(), bytes, is_owned: true }
    }

    /// The buffer if it is one of CUDA's, or back what it is.
    pub(crate) fn from_buffer(buffer: Box<dyn Buffer>) -> Result<Box<CudaBuffer>, Box<dyn Buffer>> {
        if !(&*buffer as &dyn Any).is::<CudaBuffer>() {
            return Err(buffer);
        }
        let any: Box<dyn Any> = buffer;
        Ok(any.downcast().unwrap_or_else(|_| unreachable!("its type was just checked")))
    }

    /// The whole memory as elements of another type.
    pub(crate) fn into_slice<T: DeviceRepr>(mut self) -> CudaSlice<T> {
        self.is_owned = false;
        self.slice()
    }

    /// A slice that owns the memory; `is_owned` must be false or become so.
    fn slice<T>(&self) -> CudaSlice<T> {
        // SAFETY: the allocation has that many bytes and no other owner; element types allow all bit patterns.
        unsafe { self.stream.upgrade_device_ptr(self.address, self.bytes / size_of::<T>()) }
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        if !self.is_owned {
            return;
        }
        let context = self.stream.context();
        context.record_err(context.bind_to_thread());
        let idle = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        if self.stream.capture_status().is_ok_and(|status| status != idle) {
            log::warn!(
                "{} bytes of device memory were dropped while their stream was captured: they are never freed, since the \
                 graph may use them",
                self.bytes
            );
            return;
        }
        drop(self.slice::<u8>());
    }
}

// SAFETY: the buffer owns the allocation and frees it on drop, in stream order.
unsafe impl Buffer for CudaBuffer {
    fn space(&self) -> Space {
        Space::Cuda(self.stream.context().ordinal())
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
