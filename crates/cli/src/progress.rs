//! How far long work has come, on a terminal's standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Counts steps; shows their share while it lives, if the work takes longer than a moment.
pub struct Progress {
    done: Arc<AtomicUsize>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Between two updates, and before the first.
const MOMENT: Duration = Duration::from_millis(500);

impl Progress {
    /// Of `total` steps of `what`. Nothing is shown unless standard error is a terminal.
    pub fn new(what: &'static str, total: usize) -> Progress {
        let done = Arc::new(AtomicUsize::new(0));
        if total == 0 || !io::stderr().is_terminal() {
            return Progress { done, shown: None };
        }
        let (stop, stopped) = mpsc::channel();
        let counted = done.clone();
        let thread = thread::spawn(move || {
            let mut wrote = false;
            while stopped.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                let share = 100.0 * counted.load(Ordering::Relaxed) as f64 / total as f64;
                wrote |= write!(io::stderr(), "\r{what}: {share:.0} %").is_ok();
            }
            if wrote {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        Progress { done, shown: Some((stop, thread)) }
    }

    /// One step more.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// So many steps in all.
    pub fn reach(&self, done: usize) {
        self.done.store(done, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            // A thread that panicked has nothing more to show.
            let _ = thread.join();
        }
    }
}
