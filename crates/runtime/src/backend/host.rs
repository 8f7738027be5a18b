//! The CPU.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use warpwright_arch::DeviceInfo;

use super::{Backend, BackendExecutable, BackendGraph, BackendMark, BackendStream, Buffer};
use crate::{HostContext, Invocation, KernelInfo, LoadError, MemoryError, Program, RunError, Space, StreamError};

/// Work runs in line, when it is submitted; every tag runs.
#[derive(Debug)]
pub(crate) struct HostBackend {
    info: DeviceInfo,
}

impl HostBackend {
    pub(crate) fn new() -> HostBackend {
        HostBackend { info: DeviceInfo::host() }
    }
}

impl Backend for HostBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn space(&self) -> Space {
        Space::Host
    }

    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Box::new(HostStream { handle: NEXT.fetch_add(1, Ordering::Relaxed) }))
    }

    fn synchronize(&self) -> Result<(), StreamError> {
        Ok(())
    }

    fn load(&self, _: &Program) -> Result<Box<dyn BackendExecutable>, LoadError> {
        Ok(Box::new(HostExecutable { info: self.info.clone() }))
    }
}

#[derive(Debug)]
struct HostExecutable {
    info: DeviceInfo,
}

impl BackendExecutable for HostExecutable {
    fn kernels(&self) -> &[KernelInfo] {
        &[]
    }

    unsafe fn run(&self, _: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        invocation.host.run(&HostContext::new(&self.info)).map_err(RunError::Host)
    }
}

#[derive(Debug)]
struct HostStream {
    handle: u64,
}

struct HostMark(Instant);

impl BackendMark for HostMark {
    fn seconds_since(&self, earlier: &dyn BackendMark) -> Result<f64, StreamError> {
        match (earlier as &dyn Any).downcast_ref::<HostMark>() {
            Some(earlier) => Ok(self.0.saturating_duration_since(earlier.0).as_secs_f64()),
            None => Err(StreamError::NotSupported {
                device: "the CPU".into(),
                operation: "timing from another device's mark",
            }),
        }
    }
}

impl BackendStream for HostStream {
    fn handle(&self) -> u64 {
        self.handle
    }

    fn synchronize(&self) -> Result<(), StreamError> {
        Ok(())
    }

    fn wait_for(&self, _: &dyn BackendStream) -> Result<(), StreamError> {
        Ok(())
    }

    fn is_capturing(&self) -> Result<bool, StreamError> {
        Ok(false)
    }

    fn mark(&self) -> Result<Box<dyn BackendMark>, StreamError> {
        Ok(Box::new(HostMark(Instant::now())))
    }

    fn begin_capture(&self) -> Result<(), StreamError> {
        Err(StreamError::NotSupported { device: "the CPU".into(), operation: "graph capture" })
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError> {
        Err(StreamError::NotSupported { device: "the CPU".into(), operation: "graph capture" })
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        Ok(Box::new(HostBuffer::zeroed(bytes)?))
    }

    unsafe fn copy_from_host(&self, dst: u64, src: &[u8]) -> Result<(), MemoryError> {
        let dst = ptr::with_exposed_provenance_mut(dst as usize);
        // SAFETY: the caller vouches for `dst`; `src` is borrowed, so the two are apart.
        unsafe { ptr::copy_nonoverlapping(src.as_ptr(), dst, src.len()) };
        Ok(())
    }

    unsafe fn copy_to_host(&self, src: u64, dst: &mut [u8]) -> Result<(), MemoryError> {
        let src = ptr::with_exposed_provenance(src as usize);
        // SAFETY: the caller vouches for `src`; `dst` is borrowed, so the two are apart.
        unsafe { ptr::copy_nonoverlapping(src, dst.as_mut_ptr(), dst.len()) };
        Ok(())
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: usize) -> Result<(), MemoryError> {
        let (dst, src) =
            (ptr::with_exposed_provenance_mut::<u8>(dst as usize), ptr::with_exposed_provenance(src as usize));
        // SAFETY: the caller vouches for both.
        unsafe { ptr::copy_nonoverlapping(src, dst, bytes) };
        Ok(())
    }

    unsafe fn fill(&self, dst: u64, byte: u8, bytes: usize) -> Result<(), MemoryError> {
        // SAFETY: the caller vouches for `dst`.
        unsafe { ptr::write_bytes(ptr::with_exposed_provenance_mut::<u8>(dst as usize), byte, bytes) };
        Ok(())
    }
}

/// Zeroed host memory at a multiple of 256 bytes.
#[derive(Debug)]
pub(crate) struct HostBuffer {
    start: NonNull<u8>,
    bytes: usize,
}

impl HostBuffer {
    const ALIGNMENT: usize = 256;

    pub(crate) fn zeroed(bytes: usize) -> Result<HostBuffer, MemoryError> {
        let out_of_memory = MemoryError::OutOfMemory { space: Space::Host, bytes };
        let layout = Layout::from_size_align(bytes.max(1), Self::ALIGNMENT).map_err(|_| out_of_memory.clone())?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(out_of_memory)?;
        start.as_ptr().expose_provenance();
        Ok(HostBuffer { start, bytes })
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the bytes are initialised, owned, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: the layout that `zeroed` allocated with.
        unsafe { dealloc(self.start.as_ptr(), Layout::from_size_align_unchecked(self.bytes.max(1), Self::ALIGNMENT)) };
    }
}

// SAFETY: it owns its bytes, like a `Box<[u8]>`.
unsafe impl Send for HostBuffer {}
// SAFETY: as above; a shared reference only reads the address and size.
unsafe impl Sync for HostBuffer {}

// SAFETY: the bytes are allocated in `zeroed`, freed on drop, and owned.
unsafe impl Buffer for HostBuffer {
    fn space(&self) -> Space {
        Space::Host
    }

    fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
