//! CUDA streams and graphs.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaEvent, CudaStream, result, sys};

use super::fault::{fault, memory_error};
use super::memory::CudaBuffer;
use crate::backend::{BackendGraph, BackendMark, BackendStream, Buffer};
use crate::{MemoryError, Space, StreamError};

#[derive(Debug)]
pub(crate) struct CudaQueue {
    stream: Arc<CudaStream>,
    /// The driver's number for the stream, which is never used again for another.
    id: u64,
}

/// The CUDA stream that a backend's stream is.
pub(super) fn of(stream: &dyn BackendStream) -> Option<&CudaQueue> {
    (stream as &dyn Any).downcast_ref()
}

impl CudaQueue {
    pub(super) fn new(stream: Arc<CudaStream>) -> Result<CudaQueue, crate::DriverFault> {
        super::make_current(&stream)?;
        let mut id = 0;
        // SAFETY: the stream lives and the number is written to.
        unsafe { sys::cuStreamGetId(stream.cu_stream(), &mut id) }
            .result()
            .map_err(|error| fault("cuStreamGetId", error))?;
        Ok(CudaQueue { stream, id })
    }

    pub(super) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    fn space(&self) -> Space {
        Space::Cuda(self.stream.context().ordinal())
    }

    fn bind(&self) -> Result<(), crate::DriverFault> {
        super::make_current(&self.stream)
    }

    /// Refuses what a graph cannot hold.
    fn check_not_capturing(&self, operation: &'static str) -> Result<(), MemoryError> {
        match self.status()? {
            sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(()),
            _ => Err(MemoryError::Capturing { operation }),
        }
    }

    fn status(&self) -> Result<sys::CUstreamCaptureStatus, crate::DriverFault> {
        self.stream.capture_status().map_err(|error| fault("cuStreamIsCapturing", error))
    }
}

impl BackendStream for CudaQueue {
    fn handle(&self) -> u64 {
        self.id
    }

    fn synchronize(&self) -> Result<(), StreamError> {
        self.stream.synchronize().map_err(|error| fault("cuStreamSynchronize", error).into())
    }

    fn wait_for(&self, other: &dyn BackendStream) -> Result<(), StreamError> {
        let Some(other) = of(other) else {
            return Err(StreamError::NotSupported {
                device: self.space().to_string(),
                operation: "wait for such a stream",
            });
        };
        Ok(self.stream.join(&other.stream).map_err(|error| fault("cuStreamWaitEvent", error))?)
    }

    fn is_capturing(&self) -> Result<bool, StreamError> {
        Ok(self.status()? != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    fn begin_capture(&self) -> Result<(), StreamError> {
        if self.is_capturing()? {
            return Err(StreamError::Capturing { operation: "a capture cannot begin" });
        }
        // Other threads go on as they are: only this thread is kept from calls that a capture forbids.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).map_err(|error| fault("cuStreamBeginCapture", error).into())
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError> {
        self.bind()?;
        // SAFETY: the stream lives.
        let graph = unsafe { result::stream::end_capture(self.stream.cu_stream()) }
            .map_err(|error| fault("cuStreamEndCapture", error))?;
        if graph.is_null() {
            return Err(StreamError::EmptyCapture);
        }
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph is valid; once instantiated it is no longer needed.
        let instantiated = unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0) }.result();
        // SAFETY: the graph is valid and destroyed once.
        let destroyed = unsafe { result::graph::destroy(graph) };
        instantiated.and(destroyed).map_err(|error| fault("cuGraphInstantiateWithFlags", error))?;
        Ok(Box::new(CudaGraph { exec: Mutex::new(Exec(exec)), stream: self.stream.clone() }))
    }

    fn mark(&self) -> Result<Box<dyn BackendMark>, StreamError> {
        let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let event = self.stream.record_event(timed).map_err(|error| fault("cuEventRecord", error))?;
        Ok(Box::new(CudaMark(event)))
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        self.check_not_capturing("memory cannot be allocated")?;
        // SAFETY: the memory is bytes of any contents, as the trait says.
        let slice = unsafe { self.stream.alloc::<u8>(bytes.max(1)) }
            .map_err(|error| memory_error("cuMemAllocAsync", error, self.space(), bytes))?;
        Ok(Box::new(CudaBuffer::from_slice(slice)))
    }

    unsafe fn copy_from_host(&self, dst: u64, src: &[u8]) -> Result<(), MemoryError> {
        self.check_not_capturing("host memory cannot be copied")?;
        self.bind()?;
        // SAFETY: the caller vouches for `dst`. The driver has read pageable memory when the call returns; page-locked memory
        // it may not have, so its copy is waited for.
        unsafe { result::memcpy_htod_async(dst, src, self.stream.cu_stream()) }
            .map_err(|error| fault("cuMemcpyHtoDAsync", error))?;
        Ok(self.stream.synchronize().map_err(|error| fault("cuStreamSynchronize", error))?)
    }

    unsafe fn copy_to_host(&self, src: u64, dst: &mut [u8]) -> Result<(), MemoryError> {
        self.check_not_capturing("host memory cannot be copied")?;
        self.bind()?;
        // SAFETY: the caller vouches for `src`; `dst` is borrowed until the wait below is over.
        unsafe { result::memcpy_dtoh_async(dst, src, self.stream.cu_stream()) }
            .map_err(|error| fault("cuMemcpyDtoHAsync", error))?;
        Ok(self.stream.synchronize().map_err(|error| fault("cuStreamSynchronize", error))?)
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: usize) -> Result<(), MemoryError> {
        self.bind()?;
        // SAFETY: the caller vouches for both.
        unsafe { result::memcpy_dtod_async(dst, src, bytes, self.stream.cu_stream()) }
            .map_err(|error| fault("cuMemcpyDtoDAsync", error).into())
    }

    unsafe fn fill(&self, dst: u64, byte: u8, bytes: usize) -> Result<(), MemoryError> {
        self.bind()?;
        // SAFETY: the caller vouches for `dst`.
        unsafe { result::memset_d8_async(dst, byte, bytes, self.stream.cu_stream()) }
            .map_err(|error| fault("cuMemsetD8Async", error).into())
    }
}

struct Exec(sys::CUgraphExec);

// SAFETY: the driver's graphs may be used from any thread, one at a time, which the mutex around this sees to.
unsafe impl Send for Exec {}

struct CudaGraph {
    exec: Mutex<Exec>,
    /// Keeps the context alive.
    stream: Arc<CudaStream>,
}

/// An event that was recorded with its time.
struct CudaMark(CudaEvent);

impl BackendMark for CudaMark {
    fn seconds_since(&self, earlier: &dyn BackendMark) -> Result<f64, StreamError> {
        let Some(earlier) = (earlier as &dyn Any).downcast_ref::<CudaMark>() else {
            let (device, operation) = ("a CUDA stream".into(), "timing from another device's mark");
            return Err(StreamError::NotSupported { device, operation });
        };
        let milliseconds = earlier.0.elapsed_ms(&self.0).map_err(|error| fault("cuEventElapsedTime", error))?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

impl BackendGraph for CudaGraph {
    fn launch(&self, stream: &dyn BackendStream) -> Result<(), StreamError> {
        let Some(queue) = of(stream) else {
            return Err(StreamError::NotSupported {
                device: "this stream".into(),
                operation: "launch of a CUDA graph",
            });
        };
        queue.bind()?;
        let exec = self.exec.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the executable graph and the stream live.
        Ok(unsafe { result::graph::launch(exec.0, queue.stream.cu_stream()) }
            .map_err(|error| fault("cuGraphLaunch", error))?)
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        let exec = self.exec.get_mut().unwrap_or_else(PoisonError::into_inner);
        let context = self.stream.context();
        context.record_err(context.bind_to_thread());
        // SAFETY: it is destroyed once; launches in flight are completed by the driver first.
        context.record_err(unsafe { result::graph::exec_destroy(exec.0) });
    }
}
