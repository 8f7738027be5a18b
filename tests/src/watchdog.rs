//! Ends a program in which something hangs, and says what: a kernel that never ends keeps its process waiting, without a word.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Looks after what is [watched](Watchdog::watch).
#[derive(Debug, Default)]
pub struct Watchdog {
    running: Mutex<BTreeMap<u64, Running>>,
}

#[derive(Debug)]
struct Running {
    label: String,
    began: Instant,
    limit: Duration,
}

/// While this lives, something runs.
#[derive(Debug)]
pub struct Watch {
    watchdog: Arc<Watchdog>,
    number: u64,
}

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(100);

impl Watchdog {
    /// A watchdog that, once, hands what ran beyond its limit to `hangs`, a line each; its thread ends with it.
    pub fn start(hangs: impl FnOnce(Vec<String>) + Send + 'static) -> Arc<Watchdog> {
        let watchdog = Arc::new(Watchdog::default());
        let watched = Arc::downgrade(&watchdog);
        std::thread::spawn(move || {
            if let Some(hanging) = wait(&watched) {
                hangs(hanging);
            }
        });
        watchdog
    }

    /// From now on something runs that must end within `limit`.
    pub fn watch(self: &Arc<Self>, label: String, limit: Duration) -> Watch {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let number = running.last_key_value().map_or(0, |(last, _)| last + 1);
        running.insert(number, Running { label, began: Instant::now(), limit });
        Watch { watchdog: self.clone(), number }
    }

    fn hanging(&self) -> Vec<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let late = running.values().filter(|one| one.began.elapsed() > one.limit);
        late.map(|one| format!("{} has not ended within {} s", one.label, one.limit.as_secs_f64())).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watchdog.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// Until something hangs; `None` once nobody can watch anything any more.
fn wait(watchdog: &Weak<Watchdog>) -> Option<Vec<String>> {
    loop {
        let hanging = watchdog.upgrade()?.hanging();
        if !hanging.is_empty() {
            return Some(hanging);
        }
        std::thread::sleep(PERIOD);
    }
}

/// The program's, with the limit of one launch.
static OF_PROGRAM: OnceLock<(Arc<Watchdog>, Duration)> = OnceLock::new();

/// Has this program watch its launches, each of which must end within `limit`. The first call counts.
pub fn watch_launches(limit: Duration, hangs: impl FnOnce(Vec<String>) + Send + 'static) {
    OF_PROGRAM.get_or_init(|| (Watchdog::start(hangs), limit));
}

/// A launch, or `times` of them, in a program that watches its launches; nothing in others.
pub fn launches(times: u32, label: impl FnOnce() -> String) -> Option<Watch> {
    let (watchdog, limit) = OF_PROGRAM.get()?;
    Some(watchdog.watch(label(), *limit * times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    #[test]
    fn what_hangs_is_named_and_what_ends_is_not() {
        let (hangs, heard) = channel();
        let watchdog = Watchdog::start(move |what| hangs.send(what).unwrap());
        let short = Duration::from_millis(300);
        drop(watchdog.watch("what ended".into(), short));
        let _long = watchdog.watch("what may take longer".into(), Duration::from_secs(3600));
        assert_eq!(heard.recv_timeout(3 * short), Err(RecvTimeoutError::Timeout));
        let _hanging = watchdog.watch("a row".into(), short);
        let told = heard.recv_timeout(Duration::from_secs(60));
        assert_eq!(told, Ok(vec!["a row has not ended within 0.3 s".to_owned()]));
    }

    #[test]
    fn a_watchdog_without_anything_to_watch_ends() {
        let (hangs, heard) = channel::<()>();
        drop(Watchdog::start(move |_| hangs.send(()).unwrap()));
        assert_eq!(heard.recv_timeout(Duration::from_secs(60)), Err(RecvTimeoutError::Disconnected));
    }
}
