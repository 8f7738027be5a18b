//! An emulated GPU: the very kernels that a GPU is given, run on the CPU from their PTX, with every rule checked.
//!
//! [`Device::emulator`](crate::Device::emulator) makes one, [`EmulatorOptions`] one with a seed, checks or properties of the
//! caller's. NVRTC compiles a program to PTX for the device's target, with line information; no GPU and no driver are needed.
//! What a kernel does wrong (an access out of bounds, a race, a missing wait, a deadlock) ends its run with
//! [`RunError::Fault`](crate::RunError::Fault), which names the line, the thread and the access that it conflicts with.
//!
//! The memory is the device's own: every allocation ends where its tensor ends, with a gap behind it, and starts
//! uninitialised. Work runs in line when it is submitted, one launch at a time per device; several devices run at the same
//! time. There are no graphs, and nothing is timed.

mod executable;
mod memory;
mod options;
mod profile;
mod stream;

pub use options::EmulatorOptions;
pub use profile::{Emulated, LaunchProfile};
pub use warpwright_emulator::{Checks, Completion, Fault, FaultKind, Report, Site};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpwright_arch::DeviceInfo;
use warpwright_emulator::Machine;

use super::{Backend, BackendExecutable, BackendStream};
use crate::{Device, DeviceError, LoadError, Program, Space, StreamError, TensorMapFault, TensorMapSpec, nvrtc};
use executable::EmulatedExecutable;
use stream::EmulatedStream;

#[derive(Debug)]
pub(crate) struct EmulatorBackend {
    shared: Arc<Emulated>,
}

impl EmulatorBackend {
    pub(crate) fn device(options: EmulatorOptions) -> Result<Device, DeviceError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let config = options.config()?;
        nvrtc::version()?;
        let space = Space::Emulator(NEXT.fetch_add(1, Ordering::Relaxed));
        let machine = Mutex::new(Machine::new(config));
        let shared = Emulated { options, space, machine, launches: Mutex::default() };
        Ok(Device::from_backend(EmulatorBackend { shared: Arc::new(shared) }))
    }
}

impl Emulated {
    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for EmulatorBackend {
    fn info(&self) -> &DeviceInfo {
        self.shared.options.info()
    }

    fn space(&self) -> Space {
        self.shared.space
    }

    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Box::new(EmulatedStream::new(self.shared.clone(), NEXT.fetch_add(1, Ordering::Relaxed))))
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

    fn load(&self, program: &Program) -> Result<Box<dyn BackendExecutable>, LoadError> {
        Ok(Box::new(EmulatedExecutable::load(&self.shared, program)?))
    }

    fn emulated(&self) -> Option<&Emulated> {
        Some(&self.shared)
    }
}
