//! The kernel cache between processes and in places that cannot be used.
//!
//! Children are this test binary, run again with one test named and the variable [`ROLE`] set.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warpwright_runtime::cache::{Cache, Key};

const ROLE: &str = "WARPWRIGHT_TEST_ROLE";
const GO: &str = "WARPWRIGHT_TEST_GO";
const PROCESSES: usize = 16;

/// Stands for machine code: large enough to be torn, and known from its key.
fn payload(name: &str) -> Vec<u8> {
    let mut out = vec![0; 1 << 20];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut out);
    out
}

fn key(name: &str) -> Key {
    Key::of(&[name.as_bytes()])
}

/// What a process does with a kernel: finds it, or makes it and puts it there.
fn find_or_make(cache: &Cache, name: &str) -> Vec<u8> {
    if let Some(found) = cache.get(&key(name)) {
        return found.to_vec();
    }
    let made = payload(name);
    cache.put(&key(name), &made);
    made
}

fn spawn(test: &str, role: &str, env: &[(&str, &Path)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ROLE, role);
    for variable in ["WARPWRIGHT_CACHE_DIR", "WARPWRIGHT_CACHE_BYTES", "XDG_CACHE_HOME", "HOME"] {
        command.env_remove(variable);
    }
    for (name, value) in env {
        command.env(name, value);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn racing_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let go = PathBuf::from(std::env::var_os(GO).unwrap());
    while !go.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(find_or_make(Cache::global(), &role) == payload(&role));
}

#[test]
fn sixteen_processes_start_cold_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache_dir = dir.path().join("not there yet").join("cache");
    for round in ["one key", "sixteen keys"] {
        let go = dir.path().join(round);
        let role = |n: usize| if round == "one key" { "shared".to_owned() } else { format!("own {n}") };
        let env: [(&str, &Path); 2] = [("WARPWRIGHT_CACHE_DIR", &cache_dir), (GO, &go)];
        let children: Vec<Child> = (0..PROCESSES).map(|n| spawn("racing_child", &role(n), &env)).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_every_entry_is_whole(&cache_dir);
                }
            });
            std::fs::write(&go, "").unwrap();
            let results: Vec<_> = children.into_iter().map(Child::wait_with_output).collect();
            done.store(true, Ordering::Relaxed);
            for output in results {
                let output = output.unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
        });
        for n in 0..PROCESSES {
            let fresh = Cache::new(Some(cache_dir.clone()), u64::MAX);
            assert!(fresh.get(&key(&role(n))).as_deref() == Some(&payload(&role(n))[..]), "{round} {n}");
        }
    }
    let names: Vec<_> = names(&cache_dir);
    assert_eq!(names.len(), 1 + PROCESSES, "nothing but entries is left: {names:?}");
}

fn names(dir: &Path) -> Vec<String> {
    let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
    found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Entries are all of one size here, so a partial one shows.
fn assert_every_entry_is_whole(dir: &Path) {
    for name in names(dir).iter().filter(|name| name.ends_with(".wwk")) {
        if let Ok(metadata) = std::fs::metadata(dir.join(name)) {
            assert_eq!(metadata.len(), (80 + (1 << 20)) as u64, "{name}");
        }
    }
}

#[test]
fn damaged_and_foreign_entries_are_rebuilt_and_never_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(format!("{}.wwk", key(name)));
    let fresh = || Cache::new(Some(dir.path().into()), u64::MAX);
    fresh().put(&key("a"), &payload("a"));
    fresh().put(&key("b"), &payload("b"));
    let whole = std::fs::read(path("a")).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut other_format = whole.clone();
    other_format[6] ^= 3;
    let damaged: Vec<Vec<u8>> = vec![
        Vec::new(),
        whole[..79].to_vec(),
        whole[..80].to_vec(),
        whole[..whole.len() / 2].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        [&whole[..], b"more"].concat(),
        flipped,
        other_format,
        std::fs::read(path("b")).unwrap(),
        b"#!/bin/sh\nexit 1\n".repeat(9),
    ];
    for (case, bytes) in damaged.into_iter().enumerate() {
        std::fs::write(path("a"), bytes).unwrap();
        assert!(fresh().get(&key("a")).is_none(), "case {case}");
        assert!(find_or_make(&fresh(), "a") == payload("a"), "case {case}");
        assert_eq!(std::fs::read(path("a")).unwrap(), whole, "case {case} was rebuilt");
    }
    std::fs::remove_file(path("a")).unwrap();
    std::fs::create_dir(path("a")).unwrap();
    assert!(find_or_make(&fresh(), "a") == payload("a"), "a directory in the entry's place");
}

/// Counts warnings, for the child below.
struct Counter;
static WARNINGS: AtomicU64 = AtomicU64::new(0);

impl log::Log for Counter {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() <= log::Level::Warn {
            WARNINGS.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&self) {}
}

#[test]
#[allow(clippy::print_stdout, reason = "the child tells its parent")]
fn placed_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    log::set_logger(&Counter).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    for name in ["first", "second", "first", "third"] {
        assert!(find_or_make(Cache::global(), name) == payload(name));
    }
    for name in ["first", "second", "third"] {
        assert!(Cache::global().get(&key(name)).is_some(), "it is kept in memory at least");
    }
    println!("{role}: WARNINGS={}", WARNINGS.load(Ordering::Relaxed));
}

#[test]
fn a_place_that_cannot_be_used_means_memory_and_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let below = file.join("below");
    let read_only = dir.path().join("read-only");
    std::fs::create_dir(&read_only).unwrap();
    set_mode(&read_only, 0o555);
    let nowhere = Path::new("/proc/nonexistent");
    let good = dir.path().join("good");
    // The superuser writes into read-only directories.
    let warns_when_read_only = usize::from(std::fs::write(read_only.join("probe"), "").is_err());
    type Case<'a> = (&'a str, Vec<(&'a str, &'a Path)>, usize);
    let cases: Vec<Case<'_>> = vec![
        ("no variable", vec![], 1),
        ("HOME is nowhere", vec![("HOME", nowhere)], 1),
        ("HOME is a file", vec![("HOME", &file)], 1),
        ("XDG_CACHE_HOME is nowhere", vec![("XDG_CACHE_HOME", nowhere), ("HOME", &good)], 1),
        ("the directory is a file", vec![("WARPWRIGHT_CACHE_DIR", &file)], 1),
        ("the directory is below a file", vec![("WARPWRIGHT_CACHE_DIR", &below)], 1),
        ("the directory is read-only", vec![("WARPWRIGHT_CACHE_DIR", &read_only)], warns_when_read_only),
        ("all is well", vec![("HOME", &good)], 0),
        ("XDG_CACHE_HOME is relative", vec![("XDG_CACHE_HOME", Path::new("relative")), ("HOME", &good)], 0),
    ];
    for (case, env, warnings) in cases {
        let text = finish(spawn("placed_child", case, &env));
        assert!(text.contains(&format!("{case}: WARNINGS={warnings}\n")), "{text}");
    }
    assert_eq!(names(&good.join(".cache").join("warpwright")).len(), 3);
    set_mode(&read_only, 0o755);
}

#[test]
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn a_full_disk_means_memory_and_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    // A file system of 64 KiB that only the child sees.
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o size=64k tmpfs \"$WARPWRIGHT_CACHE_DIR\" || exit 99; exec \"$@\"";
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "placed_child", "--nocapture", "--test-threads=1"]);
    let output = command.env(ROLE, "full").env("WARPWRIGHT_CACHE_DIR", dir.path()).output();
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("full: WARNINGS=1\n"), "{text}");
        }
        // The child's own failure is 101; anything else is a machine that does not let us mount.
        Ok(output) if output.status.code() == Some(101) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        _ => eprintln!("SKIPPED: no private mounts on this machine"),
    }
}

fn set_mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
}

#[test]
fn a_read_only_directory_still_serves_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    Cache::new(Some(dir.path().into()), u64::MAX).put(&key("a"), &payload("a"));
    set_mode(dir.path(), 0o555);
    assert!(Cache::new(Some(dir.path().into()), u64::MAX).get(&key("a")).is_some());
    set_mode(dir.path(), 0o755);
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    let entry_bytes = 80 + (1 << 20);
    let cache = || Cache::new(Some(dir.path().into()), 3 * entry_bytes);
    let path = |name: &str| dir.path().join(format!("{}.wwk", key(name)));
    let set_age = |path: PathBuf, hours: u64| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600 * hours)).unwrap();
    };
    for (name, hours) in [("a", 5), ("b", 4), ("c", 3)] {
        cache().put(&key(name), &payload(name));
        set_age(path(name), hours);
    }
    // A use makes the oldest the youngest.
    assert!(cache().get(&key("a")).is_some());
    let foreign = dir.path().join("somebody else's");
    std::fs::write(&foreign, vec![0; 1 << 22]).unwrap();
    let abandoned = dir.path().join(".writing-abandoned");
    std::fs::write(&abandoned, "half").unwrap();
    set_age(abandoned.clone(), 2);
    let busy = dir.path().join(".writing-busy");
    std::fs::write(&busy, "half").unwrap();

    cache().put(&key("d"), &payload("d"));
    let left: Vec<&str> = ["a", "b", "c", "d"].into_iter().filter(|name| path(name).exists()).collect();
    assert_eq!(left, ["a", "c", "d"]);
    assert!(foreign.exists() && busy.exists() && !abandoned.exists());

    // An entry larger than the limit is kept until the next one comes.
    let tiny = Cache::new(Some(dir.path().into()), 10);
    tiny.put(&key("e"), &payload("e"));
    assert_eq!(names(dir.path()).iter().filter(|name| name.ends_with(".wwk")).count(), 1);
    assert!(path("e").exists());
}

#[test]
fn a_megabyte_is_read_and_checked_in_time() {
    let dir = tempfile::tempdir().unwrap();
    Cache::new(Some(dir.path().into()), u64::MAX).put(&key("a"), &payload("a"));
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let fresh = Cache::new(Some(dir.path().into()), u64::MAX);
            let started = Instant::now();
            assert!(fresh.get(&key("a")).is_some());
            started.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[4] < Duration::from_millis(10), "{times:?}");
}
