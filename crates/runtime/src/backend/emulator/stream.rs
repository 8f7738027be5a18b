//! Streams of an emulated device: everything runs in line.

use std::sync::Arc;

use warpwright_emulator::AddressError;

use super::Emulated;
use super::memory::EmulatedBuffer;
use crate::backend::{BackendGraph, BackendStream, Buffer};
use crate::{MemoryError, StreamError};

#[derive(Debug)]
pub(super) struct EmulatedStream {
    device: Arc<Emulated>,
    handle: u64,
}

impl EmulatedStream {
    pub(super) fn new(device: Arc<Emulated>, handle: u64) -> EmulatedStream {
        EmulatedStream { device, handle }
    }

    fn refuse<T>(&self, operation: &'static str) -> Result<T, StreamError> {
        Err(StreamError::NotSupported { device: self.device.options.info().name.clone(), operation })
    }

    fn outside(&self, AddressError { address, len, .. }: AddressError) -> MemoryError {
        MemoryError::Outside { space: self.device.space, address, bytes: len }
    }
}

impl BackendStream for EmulatedStream {
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

    fn begin_capture(&self) -> Result<(), StreamError> {
        self.refuse("graph capture")
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError> {
        self.refuse("graph capture")
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        Ok(Box::new(EmulatedBuffer::new(&self.device, bytes)?))
    }

    fn workspace_bytes(&self, needed: usize) -> usize {
        // Room to grow would hide accesses behind the end.
        needed
    }

    unsafe fn copy_from_host(&self, dst: u64, src: &[u8]) -> Result<(), MemoryError> {
        self.device.lock().write(dst, src).map_err(|error| self.outside(error))
    }

    unsafe fn copy_to_host(&self, src: u64, dst: &mut [u8]) -> Result<(), MemoryError> {
        self.device.lock().read_into(src, dst).map_err(|error| self.outside(error))
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: usize) -> Result<(), MemoryError> {
        self.device.lock().copy(dst, src, bytes).map_err(|error| self.outside(error))
    }

    unsafe fn fill(&self, dst: u64, byte: u8, bytes: usize) -> Result<(), MemoryError> {
        self.device.lock().fill(dst, byte, bytes).map_err(|error| self.outside(error))
    }
}
