//! A device from outside: the backend trait can be implemented, and what the runtime does around captures can be seen.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use warpwright_arch::{ArchId, DeviceInfo};
use warpwright_runtime::backend::{Backend, BackendExecutable, BackendGraph, BackendStream, Buffer};
use warpwright_runtime::{
    CaptureError, Device, HostContext, HostProgram, Invocation, KernelInfo, LaunchCall, LoadError, MemoryError,
    Program, RunError, Space, StreamError, TensorError, WorkspaceError, WorkspaceLayout, WorkspacePtr,
};

/// Counts launches in memory of ordinal 7, and records them while it is captured.
#[derive(Debug)]
struct Counting {
    info: DeviceInfo,
    launched: Arc<AtomicUsize>,
    loaded: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct CountingStream {
    handle: u64,
    captured: Mutex<Option<usize>>,
    launched: Arc<AtomicUsize>,
    waited: AtomicBool,
}

struct CountingGraph(usize, Arc<AtomicUsize>);

#[derive(Debug)]
struct CountingExecutable(Vec<KernelInfo>, Arc<AtomicUsize>);

#[derive(Debug)]
struct Memory(Box<[u64]>);

// SAFETY: it owns its memory.
unsafe impl Buffer for Memory {
    fn space(&self) -> Space {
        Space::Cuda(7)
    }

    fn address(&self) -> u64 {
        (self.0.as_ptr() as u64).next_multiple_of(256)
    }

    fn bytes(&self) -> usize {
        8 * self.0.len() - 256
    }
}

impl Backend for Counting {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn space(&self) -> Space {
        Space::Cuda(7)
    }

    fn open_stream(&self) -> Result<Box<dyn BackendStream>, StreamError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Box::new(CountingStream {
            handle: NEXT.fetch_add(1, Ordering::Relaxed),
            captured: Mutex::new(None),
            launched: self.launched.clone(),
            waited: AtomicBool::new(false),
        }))
    }

    fn synchronize(&self) -> Result<(), StreamError> {
        Ok(())
    }

    fn load(&self, program: &Program) -> Result<Box<dyn BackendExecutable>, LoadError> {
        self.loaded.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(CountingExecutable(vec![KernelInfo::new(program.name.clone())], self.loaded.clone())))
    }
}

impl Drop for CountingExecutable {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

impl BackendExecutable for CountingExecutable {
    fn kernels(&self) -> &[KernelInfo] {
        &self.0
    }

    unsafe fn run(&self, stream: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        let stream: &CountingStream = (stream as &dyn std::any::Any).downcast_ref().unwrap();
        match &mut *stream.captured.lock().unwrap() {
            Some(recorded) => *recorded += invocation.launches.len(),
            None => drop(stream.launched.fetch_add(invocation.launches.len(), Ordering::Relaxed)),
        }
        Ok(())
    }
}

impl BackendGraph for CountingGraph {
    fn launch(&self, _: &dyn BackendStream) -> Result<(), StreamError> {
        self.1.fetch_add(self.0, Ordering::Relaxed);
        Ok(())
    }
}

impl BackendStream for CountingStream {
    fn handle(&self) -> u64 {
        self.handle
    }

    fn synchronize(&self) -> Result<(), StreamError> {
        Ok(())
    }

    fn wait_for(&self, _: &dyn BackendStream) -> Result<(), StreamError> {
        self.waited.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn is_capturing(&self) -> Result<bool, StreamError> {
        Ok(self.captured.lock().unwrap().is_some())
    }

    fn begin_capture(&self) -> Result<(), StreamError> {
        *self.captured.lock().unwrap() = Some(0);
        Ok(())
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, StreamError> {
        let recorded = self.captured.lock().unwrap().take().unwrap();
        Ok(Box::new(CountingGraph(recorded, self.launched.clone())))
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        if bytes > 1 << 20 {
            return Err(MemoryError::OutOfMemory { space: Space::Cuda(7), bytes });
        }
        Ok(Box::new(Memory(vec![0; bytes.div_ceil(8) + 32].into())))
    }

    unsafe fn copy_from_host(&self, _: u64, _: &[u8]) -> Result<(), MemoryError> {
        Ok(())
    }

    unsafe fn copy_to_host(&self, _: u64, dst: &mut [u8]) -> Result<(), MemoryError> {
        dst.fill(0x3f);
        Ok(())
    }

    unsafe fn copy(&self, _: u64, _: u64, _: usize) -> Result<(), MemoryError> {
        Ok(())
    }

    unsafe fn fill(&self, _: u64, _: u8, _: usize) -> Result<(), MemoryError> {
        Ok(())
    }
}

struct Nothing;

impl HostProgram for Nothing {
    fn run(&self, _: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        unreachable!("this device launches kernels")
    }
}

#[derive(Debug)]
struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stop")
    }
}

impl std::error::Error for Stop {}

fn device() -> (Device, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (launched, loaded) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let backend = Counting { info: DeviceInfo::h200(), launched: launched.clone(), loaded: loaded.clone() };
    (Device::from_backend(backend), launched, loaded)
}

fn program() -> Program {
    let workspace = WorkspaceLayout { bytes: 64, alignment: 64 };
    Program { name: "p".into(), tag: ArchId::SM90, launches: Vec::new(), workspace }
}

const CALLS: Invocation<'static> = Invocation {
    launches: &[LaunchCall { grid: [1, 1, 1], params: &[] }, LaunchCall { grid: [2, 1, 1], params: &[] }],
    host: &Nothing,
};

#[test]
fn a_capture_records_and_a_graph_keeps_its_programs_loaded() {
    let (device, launched, loaded) = device();
    let (stream, other) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let executable = device.load(&program()).unwrap();
    // SAFETY: this device reads no parameters.
    unsafe { executable.run(&stream, &CALLS) }.unwrap();
    assert_eq!(launched.load(Ordering::Relaxed), 2);
    // SAFETY: as above.
    let graph = stream.capture(|stream| unsafe { executable.run(stream, &CALLS) }).unwrap();
    assert_eq!(launched.load(Ordering::Relaxed), 2, "a capture runs nothing");
    drop(executable);
    assert_eq!(loaded.load(Ordering::Relaxed), 1, "the graph keeps it");
    graph.launch(&stream).unwrap();
    graph.launch(&other).unwrap();
    assert_eq!(launched.load(Ordering::Relaxed), 6);
    drop(graph);
    assert_eq!(loaded.load(Ordering::Relaxed), 0);
}

#[test]
fn a_failed_capture_ends_and_the_stream_goes_on() {
    let (device, launched, _) = device();
    let stream = device.new_stream().unwrap();
    let executable = device.load(&program()).unwrap();
    let failed = stream.capture(|_| Err(Stop)).map(drop).unwrap_err();
    assert!(matches!(failed, CaptureError::Body(Stop)), "{failed}");
    assert!(!stream.is_capturing().unwrap());
    // SAFETY: this device reads no parameters.
    unsafe { executable.run(&stream, &CALLS) }.unwrap();
    assert_eq!(launched.load(Ordering::Relaxed), 2);
}

#[test]
fn a_workspace_grows_outside_of_captures_only() {
    let (device, ..) = device();
    let stream = device.new_stream().unwrap();
    let executable = device.load(&program()).unwrap();
    let cold = stream.capture(|stream| executable.workspace(stream, 64).map(drop)).map(drop).unwrap_err();
    let CaptureError::Body(WorkspaceError::Capturing { needed: 64, have: 0 }) = cold else { panic!("{cold}") };
    let warm = executable.workspace(&stream, 64).unwrap();
    let inside = |bytes| {
        let mut found = Ok(WorkspacePtr::default());
        stream
            .capture(|stream| {
                found = executable.workspace(stream, bytes);
                Ok::<(), Stop>(())
            })
            .unwrap();
        found
    };
    assert_eq!(inside(64), Ok(warm));
    assert!(matches!(inside(1 << 16), Err(WorkspaceError::Capturing { needed: 65_536, have: 4096 })));
    let failed = executable.workspace(&stream, 1 << 21).unwrap_err();
    assert!(matches!(failed, WorkspaceError::Memory(MemoryError::OutOfMemory { .. })), "{failed}");
    assert_eq!(executable.workspace(&stream, 64), Ok(warm));
}

#[test]
fn devices_do_not_mix() {
    let (device, ..) = device();
    let stream = device.new_stream().unwrap();
    let host = Device::host().new_stream().unwrap();
    let executable = device.load(&program()).unwrap();
    // SAFETY: nothing is launched.
    let error = unsafe { executable.run(&host, &CALLS) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program is loaded on cuda:7 and the stream belongs to the host: use a stream of cuda:7"
    );
    assert!(matches!(executable.workspace(&host, 1), Err(WorkspaceError::WrongDevice { .. })));
    assert!(matches!(host.wait_for(&stream), Err(StreamError::WrongDevice { .. })));

    let there = warpwright_runtime::Tensor::full(2, 2, 1.0f32).unwrap().to_device(&stream).unwrap();
    assert_eq!(there.space(), Space::Cuda(7));
    assert_eq!(there.get(0, 0), Err(TensorError::NotOnHost { space: Space::Cuda(7) }));
    assert!(there.view().raw().host_bytes().is_none());
    assert!(matches!(there.to_host(&host), Err(TensorError::WrongDevice { .. })));
    let back = there.to_host(&stream).unwrap();
    assert_eq!(back.to_vec().unwrap(), [f32::from_bits(0x3f3f3f3f); 4]);
}
