//! Faults planted in the Sm80 kernel: each is reported within 20 seeds, at the line that shows it.

mod common;

use common::{BF16, config};
use warpwright_emulator::{Checks, Completion, Config, Fault, FaultKind, Module};

/// The lines of the kernel's text that contain `what`.
fn lines(what: &str) -> Vec<usize> {
    BF16.text.lines().enumerate().filter(|(_, line)| line.contains(what)).map(|(i, _)| i).collect()
}

/// The kernel's text with one line replaced.
fn replaced(line: usize, by: &str) -> String {
    BF16.text.lines().enumerate().map(|(i, old)| if i == line { by } else { old }).collect::<Vec<_>>().join("\n")
}

/// The first fault that 20 seeds find.
fn reported(text: &str) -> Fault {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    (0..20)
        .find_map(|seed| BF16.run(&module, config(seed), [64, 64, 224], 1).err())
        .unwrap_or_else(|| panic!("20 seeds report nothing"))
}

#[test]
fn a_wait_left_out() {
    let waits = lines("cp.async.wait_group 1");
    assert_eq!(waits.len(), 2, "one before the loop, one in it");
    for wait in waits {
        let fault = reported(&replaced(wait, ""));
        assert_eq!(fault.kind, FaultKind::AsyncOwned, "{fault}");
        assert!(fault.site.as_ref().is_some_and(|s| s.text.starts_with("ldmatrix")), "{fault}");
        assert!(fault.other.as_ref().is_some_and(|s| s.text.starts_with("cp.async")), "{fault}");
        assert!(fault.site.is_some_and(|s| s.source.is_some_and(|s| s.starts_with("sm80_bf16.cu:"))));
    }
}

#[test]
fn a_wait_for_too_few_groups() {
    for wait in lines("cp.async.wait_group 1") {
        let fault = reported(&replaced(wait, "cp.async.wait_group 2;"));
        assert_eq!(fault.kind, FaultKind::AsyncOwned, "{fault}");
    }
}

#[test]
fn a_barrier_left_out() {
    // Before the loop, in it, behind it; the last one stands between two tiles of a block.
    let barriers = lines("bar.sync \t0");
    assert_eq!(barriers.len(), 4);
    for barrier in &barriers[..2] {
        let fault = reported(&replaced(*barrier, ""));
        let kinds = [FaultKind::Race, FaultKind::AsyncOwned, FaultKind::Uninitialised];
        assert!(kinds.contains(&fault.kind), "{fault}");
    }
    // Behind the loop, the epilogue overwrites what other warps may still read.
    let fault = reported(&replaced(barriers[2], ""));
    assert_eq!(fault.kind, FaultKind::Race, "{fault}");
    assert!(fault.site.is_some_and(|s| s.text.starts_with("st.shared")));
}

#[test]
fn a_barrier_left_out_between_tiles() {
    let barriers = lines("bar.sync \t0");
    let module = Module::parse(&replaced(barriers[3], "")).unwrap();
    let fault = (0..20).find_map(|seed| BF16.run(&module, config(seed), [128, 64, 96], 1).err()).expect("a report");
    assert_eq!(fault.kind, FaultKind::Race, "{fault}");
    assert!(fault.site.is_some_and(|s| s.text.starts_with("cp.async")), "the next tile's copies come too early");
}

#[test]
fn a_commit_left_out() {
    let commits = lines("cp.async.commit_group");
    assert_eq!(commits.len(), 2);
    for commit in commits {
        let fault = reported(&replaced(commit, ""));
        assert!(matches!(fault.kind, FaultKind::AsyncOwned | FaultKind::Unbalanced), "{fault}");
    }
}

#[test]
fn a_final_wait_left_out() {
    // The groups behind the last tile are empty and nothing is overwritten, but no wait covers the last copies.
    let fault = reported(&replaced(lines("cp.async.wait_group 0")[0], ""));
    assert_eq!(fault.kind, FaultKind::Unbalanced, "{fault}");
}

#[test]
fn a_warp_barrier_left_out() {
    for barrier in lines("bar.warp.sync") {
        let fault = reported(&replaced(barrier, ""));
        assert_eq!(fault.kind, FaultKind::Race, "{fault}");
    }
}

#[test]
fn a_stage_too_few() {
    // The ring's last stage, after which the index wraps, one too early: the stage that is read is overwritten.
    // With three stages of 4096 bytes an index wraps behind byte 8192; the broken ones wrap behind the stage before.
    let wraps = lines(", 8192;");
    for wrap in &wraps[wraps.len() - 2..] {
        let line = BF16.text.lines().nth(*wrap).unwrap();
        let fault = reported(&replaced(*wrap, &line.replace("8192", "4096")));
        let kinds = [FaultKind::Race, FaultKind::AsyncOwned, FaultKind::OutOfBounds];
        assert!(kinds.contains(&fault.kind), "{fault}");
    }
}

#[test]
fn a_copy_that_is_out_of_bounds() {
    // Without the size operand the tail of the last row is read from behind the matrix.
    let copies = lines("cp.async.cg.shared.global");
    let text = copies.iter().fold(BF16.text.to_owned(), |text, at| {
        let line = BF16.text.lines().nth(*at).unwrap();
        text.replace(line, &format!("{};", line.rsplit_once(',').unwrap().0))
    });
    let module = Module::parse(&text).unwrap();
    let fault = BF16.run(&module, config(0), [64, 64, 72], 1).err().expect("a report");
    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
}

#[test]
fn a_barrier_in_divergent_code() {
    let barrier = lines("bar.sync \t0")[0];
    let text =
        replaced(barrier, "{ .reg .pred q; .reg .b32 t; mov.u32 t, %tid.x; setp.ne.u32 q, t, 5; @q bar.sync 0; }");
    let fault = reported(&text);
    assert!(matches!(fault.kind, FaultKind::Divergence | FaultKind::Deadlock), "{fault}");
    assert!(fault.message.contains("lanes"), "{fault}");
}

/// Whether the kernel's result is wrong with every check off.
fn is_wrong(text: &str, completion: Completion) -> bool {
    let module = Module::parse(text).unwrap();
    (0..4).any(|seed| {
        let config = Config { checks: Checks::NONE, completion, ..config(seed) };
        let outcome = BF16.run(&module, config, [64, 64, 224], 1).unwrap();
        outcome.found != outcome.expected
    })
}

/// Without checks, faults only show where the moment of completion makes them.
#[test]
fn moments_of_completion_show_different_faults() {
    let wait = replaced(lines("cp.async.wait_group 1")[1], "");
    assert!(!is_wrong(&wait, Completion::Early));
    assert!(is_wrong(&wait, Completion::Late));
}
