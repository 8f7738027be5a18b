//! The suite does not wait for what hangs: it names it and dies.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_suite_aborts_when_a_row_hangs() {
    let mut suite = Command::new(env!("CARGO_BIN_EXE_gpu-suite"))
        .args(["hang", "--limit", "1"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the suite starts");
    let started = Instant::now();
    while suite.try_wait().expect("it is ours").is_none() {
        if started.elapsed() > Duration::from_secs(60) {
            suite.kill().expect("it is ours");
            panic!("the watchdog slept");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = suite.wait_with_output().expect("it has ended");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("HANGS: a launch that never ends has not ended within 1 s"), "{said}");
}
