//! A device in host memory whose clock is wound by hand: every kernel takes the time that the test gives it, and what is
//! submitted is written down.

use std::any::Any;
use std::sync::{Arc, Mutex};
use warpwright_arch::DeviceInfo;
use warpwright_runtime::backend::{Backend, BackendExecutable, BackendGraph, BackendMark, BackendStream, Buffer};
use warpwright_runtime::{
    Device, HostContext, Invocation, KernelInfo, LoadError, MemoryError, Program, RunError, Space, StreamError,
};

/// What was submitted.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    Fill(usize),
    Run(String),
    Mark,
}

/// The seconds that a run of a program takes; `None`: it computes nothing, at once.
pub type Takes = fn(&str, usize) -> Option<f64>;

/// Seconds that filling memory takes.
pub const FILLING: f64 = 1000.0;

#[derive(Debug)]
pub struct Clockwork {
    info: DeviceInfo,
    shared: Arc<Shared>,
    times: bool,
}

pub struct Shared {
    clock: Mutex<f64>,
    events: Mutex<Vec<Event>>,
    takes: Takes,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn pass(&self, seconds: f64) {
        *self.clock.lock().unwrap() += seconds;
    }

    /// What was submitted so far.
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

/// A device on which the `n`th run of a program takes `takes(name, n)` seconds.
pub fn device(takes: Takes) -> (Device, Arc<Shared>) {
    made(takes, true)
}

/// A device that does not time.
pub fn untimed() -> Device {
    made(|_, _| Some(1.0), false).0
}

fn made(takes: Takes, times: bool) -> (Device, Arc<Shared>) {
    let shared = Arc::new(Shared { clock: Mutex::new(0.0), events: Mutex::default(), takes });
    let info = DeviceInfo { name: "clockwork".into(), l2_bytes: 1000, ..DeviceInfo::host() };
    (Device::from_backend(Clockwork { info, shared: shared.clone(), times }), shared)
}

impl Backend for Clockwork {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn space(&self) -> Space {
        Space::Host
    }
    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError> {
        Ok(Box::new(Strand { shared: self.shared.clone(), times: self.times }))
    }
    fn synchronize(&self) -> Result<(), StreamError> {
        Ok(())
    }
    fn load(&self, program: &Program) -> Result<Box<dyn BackendExecutable>, LoadError> {
        let (name, info) = (program.name.clone(), self.info.clone());
        Ok(Box::new(Machine { name, info, shared: self.shared.clone(), runs: Mutex::new(0) }))
    }
}

#[derive(Debug)]
struct Machine {
    name: String,
    info: DeviceInfo,
    shared: Arc<Shared>,
    runs: Mutex<usize>,
}

impl BackendExecutable for Machine {
    fn kernels(&self) -> &[KernelInfo] {
        &[]
    }
    unsafe fn run(&self, _: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        self.shared.note(Event::Run(self.name.clone()));
        let mut runs = self.runs.lock().unwrap();
        *runs += 1;
        match (self.shared.takes)(&self.name, *runs) {
            Some(seconds) => {
                self.shared.pass(seconds);
                invocation.host.run(&HostContext::new(&self.info)).map_err(RunError::Host)
            }
            None => Ok(()),
        }
    }
}

struct Moment(f64);

impl BackendMark for Moment {
    fn seconds_since(&self, earlier: &dyn BackendMark) -> Result<f64, StreamError> {
        let earlier: &Moment = (earlier as &dyn Any).downcast_ref().unwrap();
        Ok(self.0 - earlier.0)
    }
}

#[derive(Debug)]
struct Strand {
    shared: Arc<Shared>,
    times: bool,
}

#[derive(Debug)]
struct Memory(Box<[u64]>);

// SAFETY: it owns its memory.
unsafe impl Buffer for Memory {
    fn space(&self) -> Space {
        Space::Host
    }
    fn address(&self) -> u64 {
        (self.0.as_ptr().expose_provenance() as u64).next_multiple_of(256)
    }
    fn bytes(&self) -> usize {
        8 * self.0.len() - 256
    }
}

fn no_graphs<T>() -> Result<T, StreamError> {
    Err(StreamError::NotSupported { device: "clockwork".into(), operation: "graph capture" })
}

impl BackendStream for Strand {
    fn handle(&self) -> u64 {
        1
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
        no_graphs()
    }
    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError> {
        no_graphs()
    }
    fn mark(&self) -> Result<Box<dyn BackendMark>, StreamError> {
        if !self.times {
            return Err(StreamError::NotSupported { device: "clockwork".into(), operation: "timing" });
        }
        self.shared.note(Event::Mark);
        Ok(Box::new(Moment(*self.shared.clock.lock().unwrap())))
    }
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        Ok(Box::new(Memory(vec![0; bytes.div_ceil(8) + 32].into())))
    }
    unsafe fn copy_from_host(&self, dst: u64, src: &[u8]) -> Result<(), MemoryError> {
        // SAFETY: the caller vouches for `dst`.
        unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), place(dst), src.len()) };
        Ok(())
    }
    unsafe fn copy_to_host(&self, src: u64, dst: &mut [u8]) -> Result<(), MemoryError> {
        // SAFETY: the caller vouches for `src`.
        unsafe { std::ptr::copy_nonoverlapping(place(src), dst.as_mut_ptr(), dst.len()) };
        Ok(())
    }
    unsafe fn copy(&self, dst: u64, src: u64, bytes: usize) -> Result<(), MemoryError> {
        // SAFETY: the caller vouches for both.
        unsafe { std::ptr::copy_nonoverlapping(place(src), place(dst), bytes) };
        Ok(())
    }
    unsafe fn fill(&self, dst: u64, byte: u8, bytes: usize) -> Result<(), MemoryError> {
        self.shared.note(Event::Fill(bytes));
        self.shared.pass(FILLING);
        // SAFETY: the caller vouches for `dst`.
        unsafe { std::ptr::write_bytes(place(dst), byte, bytes) };
        Ok(())
    }
}

fn place(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}
