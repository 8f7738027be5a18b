//! Streams and graphs.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{BackendGraph, BackendMark, BackendStream, Buffer};
use crate::executable::Loaded;
use crate::{CaptureError, Device, MemoryError, StreamError, WorkspacePtr};

/// A queue of work on a device: what is submitted to it runs in that order. Cheap to clone, and shared between threads.
#[derive(Clone)]
pub struct Stream {
    device: Device,
    queue: Arc<Queue>,
}

impl Stream {
    pub(crate) fn new(device: Device, queue: Arc<Queue>) -> Stream {
        Stream { device, queue }
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What tells it from the device's other streams. Two wraps of one CUDA stream have the same.
    pub fn id(&self) -> u64 {
        self.queue.backend.handle()
    }

    /// Waits until all work submitted so far is done.
    ///
    /// # Errors
    /// [`StreamError::Driver`], also for faults of work submitted earlier.
    pub fn synchronize(&self) -> Result<(), StreamError> {
        self.queue.backend.synchronize()
    }

    /// Makes work submitted here from now on wait for what `other` has been given so far. The CPU does not wait.
    ///
    /// # Errors
    /// [`StreamError::WrongDevice`], [`StreamError::Driver`].
    pub fn wait_for(&self, other: &Stream) -> Result<(), StreamError> {
        let (left, right) = (self.device.space(), other.device.space());
        if left != right {
            return Err(StreamError::WrongDevice { left, right });
        }
        if self.id() == other.id() { Ok(()) } else { self.queue.backend.wait_for(other.queue.backend()) }
    }

    /// Whether work submitted now is recorded into a graph rather than run.
    ///
    /// # Errors
    /// [`StreamError::Driver`].
    pub fn is_capturing(&self) -> Result<bool, StreamError> {
        self.queue.backend.is_capturing()
    }

    /// Records the work that `submit` submits to this stream into a graph, without running it.
    ///
    /// Inside, nothing may allocate, copy from or to the host, or wait; an unprepared plan is a typed error. Programs that
    /// run inside stay loaded as long as the graph lives. The tensors that they use must be kept by the caller.
    ///
    /// # Errors
    /// [`CaptureError::Body`] if `submit` fails, after the capture was ended; [`CaptureError::Stream`] otherwise, also on
    /// devices without graphs.
    pub fn capture<E: std::error::Error + 'static>(
        &self,
        submit: impl FnOnce(&Stream) -> Result<(), E>,
    ) -> Result<Graph, CaptureError<E>> {
        let retained = self.queue.begin_capture().map_err(CaptureError::Stream)?;
        let submitted = submit(self);
        let ended = self.queue.backend.end_capture();
        let programs = retained.finish();
        submitted.map_err(CaptureError::Body)?;
        let backend = ended.map_err(CaptureError::Stream)?;
        Ok(Graph { backend, origin: self.clone(), _programs: programs })
    }

    /// Marks this point of the stream's order, so that the time between two marks can be told.
    ///
    /// # Errors
    /// [`StreamError::NotSupported`] where work is not timed; the driver's.
    pub fn mark(&self) -> Result<Mark, StreamError> {
        Ok(Mark { mark: self.queue.backend.mark()? })
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x} of {:?})", self.id(), self.device)
    }
}

/// A point in a stream's order.
pub struct Mark {
    mark: Box<dyn BackendMark>,
}

impl Mark {
    /// Waits for the work before this mark, and says how many seconds passed on the device since an earlier one.
    ///
    /// # Errors
    /// [`StreamError::NotSupported`] for a mark of another device; the driver's.
    pub fn seconds_since(&self, earlier: &Mark) -> Result<f64, StreamError> {
        self.mark.seconds_since(earlier.mark.as_ref())
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mark")
    }
}

/// Recorded work, to be run again and again. What it reads and writes are the addresses that it was recorded with.
pub struct Graph {
    backend: Box<dyn BackendGraph>,
    origin: Stream,
    _programs: Vec<Arc<Loaded>>,
}

impl Graph {
    /// Submits the recorded work to a stream of the same device.
    ///
    /// The work uses the workspaces of the stream that it was recorded on. On any other stream it therefore waits for that
    /// stream, which then waits for it.
    ///
    /// # Errors
    /// [`StreamError::WrongDevice`], [`StreamError::Driver`].
    pub fn launch(&self, stream: &Stream) -> Result<(), StreamError> {
        stream.wait_for(&self.origin)?;
        self.backend.launch(stream.queue.backend())?;
        self.origin.wait_for(stream)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph(recorded on {:?})", self.origin)
    }
}

/// A backend's stream with what the runtime keeps per stream. Its locks are the stream's own.
pub(crate) struct Queue {
    backend: Box<dyn BackendStream>,
    /// By executable, and whether it is the one that is zero between runs.
    workspaces: Mutex<HashMap<(u64, bool), WorkspacePtr>>,
    /// Whether `captured` collects, so that a run outside a capture takes no lock for it.
    is_captured: AtomicBool,
    captured: Mutex<Vec<Arc<Loaded>>>,
}

impl Queue {
    pub(crate) fn new(backend: Box<dyn BackendStream>) -> Queue {
        Queue { backend, workspaces: Mutex::default(), is_captured: AtomicBool::new(false), captured: Mutex::default() }
    }

    pub(crate) fn backend(&self) -> &dyn BackendStream {
        &*self.backend
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>, MemoryError> {
        self.backend.allocate(bytes)
    }

    pub(crate) fn workspace_of(&self, executable: (u64, bool)) -> Option<WorkspacePtr> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).get(&executable).copied()
    }

    pub(crate) fn remember_workspace(&self, executable: (u64, bool), workspace: WorkspacePtr) {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).insert(executable, workspace);
    }

    /// Keeps a program loaded for the graph that is being recorded, if one is.
    pub(crate) fn retain_in_capture(&self, program: &Arc<Loaded>) {
        if self.is_captured.load(Ordering::Acquire) {
            self.captured.lock().unwrap_or_else(PoisonError::into_inner).push(program.clone());
        }
    }

    fn begin_capture(&self) -> Result<Collecting<'_>, StreamError> {
        self.backend.begin_capture()?;
        self.is_captured.store(true, Ordering::Release);
        Ok(Collecting(self))
    }
}

/// Ends the collecting of programs however the capture ends.
struct Collecting<'a>(&'a Queue);

impl Collecting<'_> {
    fn finish(self) -> Vec<Arc<Loaded>> {
        self.0.is_captured.store(false, Ordering::Release);
        std::mem::take(&mut *self.0.captured.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        self.0.is_captured.store(false, Ordering::Release);
    }
}
