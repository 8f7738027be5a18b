//! Device memory.

use std::any::Any;

use cudarc::driver::{CudaSlice, DevicePtr};

use crate::Space;
use crate::backend::Buffer;

/// Device memory, freed in the order of the stream that it was made on.
#[derive(Debug)]
pub(crate) struct CudaBuffer {
    slice: CudaSlice<u8>,
    address: u64,
}

impl CudaBuffer {
    pub(crate) fn new(slice: CudaSlice<u8>) -> CudaBuffer {
        let stream = slice.stream().clone();
        let (address, _) = slice.device_ptr(&stream);
        CudaBuffer { address, slice }
    }

    /// Takes over a slice of any type.
    pub(crate) fn from_slice<T>(slice: CudaSlice<T>) -> CudaBuffer {
        let (stream, bytes) = (slice.stream().clone(), slice.num_bytes());
        let address = slice.leak();
        // SAFETY: the allocation was just given up by its owner, and has that many bytes, which are valid as `u8`.
        CudaBuffer::new(unsafe { stream.upgrade_device_ptr::<u8>(address, bytes) })
    }

    /// The buffer if it is one of CUDA's, or back what it is.
    pub(crate) fn from_buffer(buffer: Box<dyn Buffer>) -> Result<CudaBuffer, Box<dyn Buffer>> {
        if (&*buffer as &dyn Any).is::<CudaBuffer>() {
            let any: Box<dyn Any> = buffer;
            return any
                .downcast::<CudaBuffer>()
                .map(|cuda| *cuda)
                .map_err(|_| unreachable!("its type was just checked"));
        }
        Err(buffer)
    }

    /// The whole memory as elements of another type.
    pub(crate) fn into_slice<T: cudarc::driver::DeviceRepr>(self) -> CudaSlice<T> {
        let (stream, len) = (self.slice.stream().clone(), self.slice.num_bytes() / size_of::<T>());
        let address = self.slice.leak();
        // SAFETY: as in `from_slice`; device memory has no invalid elements until it is read as `T`, and element types allow
        // all bit patterns.
        unsafe { stream.upgrade_device_ptr::<T>(address, len) }
    }
}

// SAFETY: the slice owns the allocation and frees it on drop, in stream order.
unsafe impl Buffer for CudaBuffer {
    fn space(&self) -> Space {
        Space::Cuda(self.slice.ordinal())
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        self.slice.num_bytes()
    }
}
