//! Compiled kernels on disk, and in memory where the disk cannot be used.
//!
//! Entries lie in the directory `WARPWRIGHT_CACHE_DIR`, else `$XDG_CACHE_HOME/warpwright`, else `$HOME/.cache/warpwright`, one
//! file each. A file appears under its name whole (it is written beside it, synced and renamed), is checksummed, and one that
//! is torn, truncated or foreign counts as absent and is rewritten; so any number of processes may start cold at once.
//!
//! The directory is kept below `WARPWRIGHT_CACHE_BYTES` (1 GiB unless set): what was used longest ago goes first. Where there
//! is no directory, or it cannot be written, kernels are kept in memory and one warning says so.

mod disk;
mod entry;
mod memory;

pub use entry::Key;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use disk::Disk;
use memory::Memory;

/// The directory's size when nobody says otherwise, in bytes.
pub const DEFAULT_BYTES: u64 = 1 << 30;

/// A cache of compiled kernels, shared between threads.
#[derive(Debug)]
pub struct Cache {
    disk: Option<Disk>,
    memory: Mutex<Memory>,
    warned: AtomicBool,
}

impl Cache {
    /// The process's cache, at the place that the environment names.
    pub fn global() -> &'static Cache {
        static GLOBAL: OnceLock<Cache> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let limit = limit_of(std::env::var("WARPWRIGHT_CACHE_BYTES").ok().as_deref());
            Cache::new(default_directory(), limit)
        })
    }

    /// A cache in a directory, which is created when something is put there, of at most `limit` bytes; without a directory,
    /// in memory.
    pub fn new(directory: Option<PathBuf>, limit: u64) -> Cache {
        let cache = Cache {
            disk: directory.map(|directory| Disk::new(directory, limit)),
            memory: Mutex::default(),
            warned: AtomicBool::new(false),
        };
        if cache.disk.is_none() {
            cache.warn("neither WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME nor HOME names a directory");
        }
        cache
    }

    /// The directory, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        self.disk.as_ref().map(Disk::directory)
    }

    /// What was put under this key.
    pub fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        if let Some(found) = self.lock_memory().get(key) {
            return Some(found);
        }
        let found: Arc<[u8]> = self.disk.as_ref()?.read(key)?.into();
        self.lock_memory().insert(*key, found.clone());
        Some(found)
    }

    /// Puts bytes under a key. That the disk refuses them is warned of once and is no error.
    pub fn put(&self, key: &Key, payload: &[u8]) {
        self.lock_memory().insert(*key, payload.into());
        if let Some(disk) = &self.disk
            && let Err(error) = disk.write(key, payload)
        {
            self.warn(&format!("{} cannot be written ({error})", disk.directory().display()));
        }
    }

    fn warn(&self, problem: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            log::warn!(
                "compiled kernels are kept in memory only, and are compiled anew by the next process: {problem}"
            );
        }
    }

    fn lock_memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The directory of [`Cache::global`], by the environment that there is now; what else is remembered between processes lies there
/// too.
pub fn default_directory() -> Option<PathBuf> {
    directory(|name| std::env::var_os(name))
}

/// The cache's directory by an environment. A relative `XDG_CACHE_HOME` is ignored, as its specification asks.
fn directory(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    path("WARPWRIGHT_CACHE_DIR")
        .or_else(|| path("XDG_CACHE_HOME").filter(|dir| dir.is_absolute()).map(|dir| dir.join("warpwright")))
        .or_else(|| path("HOME").map(|dir| dir.join(".cache").join("warpwright")))
}

fn limit_of(text: Option<&str>) -> u64 {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return DEFAULT_BYTES };
    text.parse().unwrap_or_else(|_| {
        log::warn!("WARPWRIGHT_CACHE_BYTES is `{text}` and must be a whole number of bytes: {DEFAULT_BYTES} is used");
        DEFAULT_BYTES
    })
}

/// Saves a source that did not compile, or whose kernel broke a rule, for its reader: beside the cache, or in the temporary directory.
pub(crate) fn save_source(source: &str, name: &str) -> Option<PathBuf> {
    let stem: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    let hash = blake3::hash(source.as_bytes()).to_hex();
    let file = format!("source-{stem}-{}.cu", &hash[..16]);
    let candidates = [Cache::global().directory().map(Path::to_owned), Some(std::env::temp_dir())];
    candidates.into_iter().flatten().find_map(|dir| {
        std::fs::create_dir_all(&dir).ok()?;
        disk::publish(&dir, &file, &[source.as_bytes()]).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_directory() {
        let of = |vars: &[(&str, &str)]| {
            directory(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("HOME", "")]), None);
        assert_eq!(of(&[("HOME", "/h")]), Some("/h/.cache/warpwright".into()));
        assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), Some("/x/warpwright".into()));
        assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]), Some("/h/.cache/warpwright".into()));
        assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("WARPWRIGHT_CACHE_DIR", "/w")]), Some("/w".into()));
    }

    #[test]
    fn a_limit_that_is_no_number_is_not_used() {
        assert_eq!(limit_of(None), DEFAULT_BYTES);
        assert_eq!(limit_of(Some("")), DEFAULT_BYTES);
        assert_eq!(limit_of(Some("12345")), 12_345);
        assert_eq!(limit_of(Some("NaN")), DEFAULT_BYTES);
        assert_eq!(limit_of(Some("-1")), DEFAULT_BYTES);
    }
}
