//! A GPU that is not there: it plans, lowers and "launches" as a preset says, with memory on the host and nothing executed.
//! It tells which kernels a device would be given.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpwright::runtime::backend::{Backend, BackendExecutable, BackendGraph, BackendStream, Buffer};
use warpwright::runtime::{
    Invocation, KernelInfo, LoadError, MemoryError, Program, RunError, StreamError, TensorMapFault, TensorMapSpec,
};
use warpwright::{Device, DeviceInfo, Space};

/// A device with these properties that executes nothing.
pub fn stand_in(info: DeviceInfo) -> Device {
    Device::from_backend(StandIn { info, launches: None })
}

/// What was launched on a device that executes nothing: blocks and parameters.
pub type Launches = Arc<Mutex<Vec<([u32; 3], Vec<u8>)>>>;

/// The same, which notes what it is given.
pub fn recording(info: DeviceInfo) -> (Device, Launches) {
    let launches = Launches::default();
    (Device::from_backend(StandIn { info, launches: Some(launches.clone()) }), launches)
}

#[derive(Debug)]
struct StandIn {
    info: DeviceInfo,
    launches: Option<Launches>,
}

impl Backend for StandIn {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn space(&self) -> Space {
        Space::Host
    }
    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Box::new(Queue(NEXT.fetch_add(1, Ordering::Relaxed))))
    }
    fn synchronize(&self) -> Result<(), StreamError> {
        Ok(())
    }
    fn encode_tensor_map(&self, map: &TensorMapSpec) -> Result<[u8; 128], TensorMapFault> {
        Ok(map.encode()?)
    }
    fn move_tensor_map(&self, map: &mut [u8; 128], address: u64) -> bool {
        TensorMapSpec::relocate(map, address);
        true
    }
    fn load(&self, _: &Program) -> Result<Box<dyn BackendExecutable>, LoadError> {
        Ok(Box::new(Loaded(self.launches.clone())))
    }
}

#[derive(Debug)]
struct Loaded(Option<Launches>);

impl BackendExecutable for Loaded {
    fn kernels(&self) -> &[KernelInfo] {
        &[]
    }
    unsafe fn run(&self, _: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        if let Some(launches) = &self.0 {
            let noted = invocation.launches.iter().map(|call| (call.grid, call.params.to_vec()));
            launches.lock().unwrap_or_else(PoisonError::into_inner).extend(noted);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Queue(u64);

impl BackendStream for Queue {
    fn handle(&self) -> u64 {
        self.0
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
        Err(StreamError::NotSupported { device: "a stand-in".into(), operation: "graph capture" })
    }
    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError> {
        Err(StreamError::NotSupported { device: "a stand-in".into(), operation: "graph capture" })
    }
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        Ok(Box::new(Memory(crate::operand::Buffer::new(bytes, 0))))
    }
    unsafe fn copy_from_host(&self, _: u64, _: &[u8]) -> Result<(), MemoryError> {
        Ok(())
    }
    unsafe fn copy_to_host(&self, _: u64, _: &mut [u8]) -> Result<(), MemoryError> {
        Ok(())
    }
    unsafe fn copy(&self, _: u64, _: u64, _: usize) -> Result<(), MemoryError> {
        Ok(())
    }
    unsafe fn fill(&self, _: u64, _: u8, _: usize) -> Result<(), MemoryError> {
        Ok(())
    }
}

#[derive(Debug)]
struct Memory(crate::operand::Buffer);

// SAFETY: the bytes are this value's own and stay where they are.
unsafe impl Buffer for Memory {
    fn space(&self) -> Space {
        Space::Host
    }
    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
    fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// The distinct translation units of the table's rows on a device like this, with a name each, in the order of the rows.
pub fn kernels(cases: &[crate::Case], info: &DeviceInfo) -> Vec<(String, Arc<str>)> {
    use crate::runner::Runner;
    let mut seen = std::collections::HashSet::new();
    let mut kernels = Vec::new();
    let device = stand_in(info.clone());
    let rows =
        cases.iter().filter(|c| c.runs_on(crate::DeviceKind::Cuda) && !matches!(c.expect, crate::Expect::Error { .. }));
    for case in rows {
        let Ok(library) = crate::library::Library::new(&device) else { continue };
        let Ok(prepared) = crate::Prepared::new(case) else { continue };
        library.run(&prepared);
        for plan in library.launched() {
            for (name, source) in crate::library::sources(&plan) {
                if seen.insert(source.clone()) {
                    kernels.push((name, source.into()));
                }
            }
        }
    }
    kernels
}
