//! Entries in a directory.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::entry::{self, HEADER_BYTES, Key};

/// What files that are being written are called at first.
const TEMPORARY_PREFIX: &str = ".writing-";

/// A file that is still being written after this long was left by a process that died.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A use is noted at most this often, in the file's modification time (access times are often not kept).
const USE_NOTED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Disk {
    directory: PathBuf,
    limit: u64,
}

impl Disk {
    pub(super) fn new(directory: PathBuf, limit: u64) -> Disk {
        Disk { directory, limit }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The payload under a key, if a whole entry is there.
    pub(super) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.directory.join(key.file_name())).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() < HEADER_BYTES as u64 {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
        file.read_to_end(&mut bytes).ok()?;
        let payload = entry::payload(key, &bytes)?.len();
        let now = SystemTime::now();
        if metadata.modified().is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > USE_NOTED)) {
            // A directory that cannot be written still serves what it has.
            let _ = file.set_modified(now);
        }
        bytes.drain(..bytes.len() - payload);
        Some(bytes)
    }

    /// Publishes an entry whole and brings the directory below its limit.
    pub(super) fn write(&self, key: &Key, payload: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        publish(&self.directory, &key.file_name(), &[&entry::header(key, payload), payload])?;
        self.evict(&key.file_name());
        Ok(())
    }

    /// Removes what was used longest ago until the limit holds, but never `newest`. Other processes may do the same at the
    /// same time, so a file that is gone is no error.
    fn evict(&self, newest: &str) {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for found in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let Ok(metadata) = found.metadata() else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let name = found.file_name();
            let age = now.duration_since(used).unwrap_or_default();
            if name.to_string_lossy().starts_with(TEMPORARY_PREFIX) && age > ABANDONED {
                let _ = fs::remove_file(found.path());
            } else if metadata.is_file() && is_ours(&name.to_string_lossy()) {
                files.push((used, metadata.len(), found.path(), name == newest));
            }
        }
        let mut total: u64 = files.iter().map(|(_, bytes, ..)| bytes).sum();
        files.sort();
        for (_, bytes, path, is_newest) in files {
            if total <= self.limit {
                break;
            }
            if !is_newest {
                let _ = fs::remove_file(path);
                total -= bytes;
            }
        }
    }
}

/// Whether the cache wrote a file of this name; others in its directory are not counted and not removed.
fn is_ours(name: &str) -> bool {
    // A kernel's stem, and 16 digits of its source's hash.
    let hashed = |rest: &str| {
        let hash = rest.strip_suffix(".cu").and_then(|rest| rest.rsplit_once('-')).map(|(_, hash)| hash);
        hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    // Saved sources were called `refused` once.
    let saved = name.strip_prefix("source-").or_else(|| name.strip_prefix("refused-"));
    name.ends_with(".wwk") || saved.is_some_and(hashed)
}

/// Writes a file so that it appears under its name whole or not at all.
pub(super) fn publish(directory: &Path, name: &str, parts: &[&[u8]]) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(directory)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.as_file().sync_all()?;
    let path = directory.join(name);
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn files_of_others_are_not_the_caches() {
        for ours in ["0123456789abcdef.wwk", "source-ww_gemv-0123456789abcdef.cu", "refused-ww-0123456789abcdef.cu"] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in
            ["source-of-truth.txt", "source-control.md", "source-k.cu", "source-k-0123.cu", "refused-k.cu", "notes"]
        {
            assert!(!is_ours(other), "{other}");
        }
    }
}
