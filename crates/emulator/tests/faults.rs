//! Faults planted in the Sm80 kernel: each is reported within 20 seeds, at the line that shows it.

mod common;

use common::{BF16, config};
use std::ops::RangeInclusive;
use warpwright_emulator::FaultKind::*;
use warpwright_emulator::{Checks, Completion, Config, Fault, FaultKind, Module};

/// The lines of the kernel's text that contain `what`.
fn lines(what: &str) -> Vec<usize> {
    BF16.text.lines().enumerate().filter(|(_, line)| line.contains(what)).map(|(i, _)| i).collect()
}

/// The kernel's text with one line replaced.
fn replaced(line: usize, by: &str) -> String {
    BF16.text.lines().enumerate().map(|(i, old)| if i == line { by } else { old }).collect::<Vec<_>>().join("\n")
}

/// Lines of the kernel: the copies before the loop and in it, the reads that follow each wait, and the epilogue.
const FIRST_COPIES: RangeInclusive<u32> = 294..=342;
const COPIES: RangeInclusive<u32> = 546..=593;
const FIRST_READS: RangeInclusive<u32> = 394..=431;
const SECOND_READS: RangeInclusive<u32> = 515..=531;
const NEXT_READS: RangeInclusive<u32> = 659..=673;
const SPILLS: RangeInclusive<u32> = 836..=983;
const GATHERS: RangeInclusive<u32> = 1017..=1028;

/// Where a report lies, and the access that it conflicts with.
struct Place {
    kind: FaultKind,
    site: RangeInclusive<u32>,
    other: Option<RangeInclusive<u32>>,
}

fn place(kind: FaultKind, site: RangeInclusive<u32>, other: RangeInclusive<u32>) -> Place {
    Place { kind, site, other: Some(other) }
}

/// Runs 20 seeds of a broken text, on a problem; something must be reported, and whatever is must lie in one of `places`, at
/// its CUDA source line too.
fn planted(text: &str, problem: [usize; 3], places: &[Place]) {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let faults: Vec<Fault> = (0..20).filter_map(|seed| BF16.run(&module, config(seed), problem, 1).err()).collect();
    assert!(!faults.is_empty(), "20 seeds report nothing");
    for fault in faults {
        let site = fault.site.as_ref().expect("a thread");
        let fits = |place: &Place| {
            let other = match (&fault.other, &place.other) {
                (Some(found), Some(lines)) => lines.contains(&found.line) && found.thread[0] < 128,
                (None, None) => true,
                _ => false,
            };
            fault.kind == place.kind && place.site.contains(&site.line) && other
        };
        assert!(places.iter().any(fits), "{:?}: {fault}", fault.kind);
        assert!(
            site.thread[0] < 128 && site.source.as_ref().is_some_and(|s| s.starts_with("sm80_bf16.cu:")),
            "{fault}"
        );
        // Two accesses of one thread never conflict but with its own copies.
        if let Some(other) = &fault.other {
            assert!(other.thread != site.thread || fault.kind == AsyncOwned, "{fault}");
        }
    }
}

const PROBLEM: [usize; 3] = [64, 64, 224];

#[test]
fn waits_left_out() {
    let waits = lines("cp.async.wait_group 1");
    assert_eq!(waits.len(), 2, "one before the loop, one in it");
    let before = [place(AsyncOwned, FIRST_READS, FIRST_COPIES)];
    let within = [
        place(AsyncOwned, SECOND_READS, FIRST_COPIES),
        place(AsyncOwned, NEXT_READS, FIRST_COPIES),
        place(AsyncOwned, NEXT_READS, COPIES),
        place(AsyncOwned, SECOND_READS, COPIES),
    ];
    for by in ["", "cp.async.wait_group 2;"] {
        planted(&replaced(waits[0], by), PROBLEM, &before);
        planted(&replaced(waits[1], by), PROBLEM, &within);
    }
    // The groups behind the last tile are empty and nothing is overwritten, but no wait covers the last copies.
    let last = [Place { kind: Unbalanced, site: COPIES, other: None }];
    planted(&replaced(lines("cp.async.wait_group 0")[0], ""), PROBLEM, &last);
}

#[test]
fn barriers_left_out() {
    // Before the loop, in it, behind it; the last one stands between two tiles of a block.
    let barriers = lines("bar.sync \t0");
    assert_eq!(barriers.len(), 4);
    let before = [
        place(AsyncOwned, FIRST_READS, FIRST_COPIES),
        place(Race, FIRST_READS, FIRST_COPIES),
        Place { kind: Uninitialised, site: FIRST_READS, other: None },
    ];
    planted(&replaced(barriers[0], ""), PROBLEM, &before);
    let within = [
        place(AsyncOwned, SECOND_READS, FIRST_COPIES),
        place(AsyncOwned, NEXT_READS, FIRST_COPIES),
        place(AsyncOwned, NEXT_READS, COPIES),
        place(Race, NEXT_READS, FIRST_COPIES),
        place(Race, NEXT_READS, COPIES),
        place(Race, COPIES, FIRST_READS),
        place(Race, COPIES, SECOND_READS),
        place(Race, COPIES, NEXT_READS),
        Place { kind: Uninitialised, site: NEXT_READS, other: None },
    ];
    planted(&replaced(barriers[1], ""), PROBLEM, &within);
    // Behind the loop, the epilogue overwrites what other warps may still read.
    let behind = [
        place(Race, SPILLS, FIRST_READS),
        place(Race, SPILLS, SECOND_READS),
        place(Race, SPILLS, NEXT_READS),
        place(Race, SPILLS, COPIES),
        place(Race, SECOND_READS, SPILLS),
        place(Race, NEXT_READS, SPILLS),
    ];
    planted(&replaced(barriers[2], ""), PROBLEM, &behind);
    // The next tile's copies come while another warp gathers this one's results.
    let between = [place(Race, FIRST_COPIES, GATHERS), place(Race, FIRST_COPIES, SPILLS)];
    planted(&replaced(barriers[3], ""), [128, 64, 96], &between);
}

#[test]
fn commits_left_out() {
    let commits = lines("cp.async.commit_group");
    assert_eq!(commits.len(), 2);
    let first = [place(AsyncOwned, FIRST_READS, FIRST_COPIES)];
    planted(&replaced(commits[0], ""), PROBLEM, &first);
    let second = [
        place(AsyncOwned, SECOND_READS, FIRST_COPIES),
        place(AsyncOwned, NEXT_READS, FIRST_COPIES),
        place(AsyncOwned, NEXT_READS, COPIES),
        Place { kind: Unbalanced, site: COPIES, other: None },
    ];
    planted(&replaced(commits[1], ""), PROBLEM, &second);
}

#[test]
fn warp_barriers_left_out() {
    let barriers = lines("bar.warp.sync");
    assert_eq!(barriers.len(), 2);
    // The next pass overwrites what this one has yet to gather.
    planted(&replaced(barriers[0], ""), PROBLEM, &[place(Race, SPILLS, GATHERS)]);
    planted(&replaced(barriers[1], ""), PROBLEM, &[place(Race, GATHERS, SPILLS)]);
}

#[test]
fn a_stage_too_few() {
    // The ring's last stage, after which the index wraps, one too early: the stage that is read is overwritten.
    // With three stages of 4096 bytes an index wraps behind byte 8192; the broken ones wrap behind the stage before.
    let wraps = lines(", 8192;");
    let overwritten = [
        place(Race, COPIES, FIRST_READS),
        place(Race, COPIES, SECOND_READS),
        place(Race, COPIES, NEXT_READS),
        place(AsyncOwned, COPIES, COPIES),
        place(AsyncOwned, COPIES, FIRST_COPIES),
        place(Race, NEXT_READS, COPIES),
        place(AsyncOwned, NEXT_READS, COPIES),
        place(AsyncOwned, SECOND_READS, COPIES),
        place(Race, SECOND_READS, COPIES),
        // An index that misses its own end runs out of shared memory.
        Place { kind: OutOfBounds, site: COPIES, other: None },
    ];
    for wrap in &wraps[wraps.len() - 2..] {
        let line = BF16.text.lines().nth(*wrap).unwrap();
        planted(&replaced(*wrap, &line.replace("8192", "4096")), PROBLEM, &overwritten);
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
    let outside = |site| Place { kind: OutOfBounds, site, other: None };
    planted(&text, [64, 64, 72], &[outside(FIRST_COPIES), outside(COPIES)]);
}

#[test]
fn a_barrier_in_divergent_code() {
    let barrier = lines("bar.sync \t0")[0];
    let text =
        replaced(barrier, "{ .reg .pred q; .reg .b32 t; mov.u32 t, %tid.x; setp.ne.u32 q, t, 5; @q bar.sync 0; }");
    let module = Module::parse(&text).unwrap();
    for seed in 0..20 {
        let fault = BF16.run(&module, config(seed), PROBLEM, 1).err().expect("a report");
        assert!(matches!(fault.kind, Divergence | Deadlock), "{fault}");
        let line = barrier as u32 + 1;
        let names = |l: &str| l.contains("warp 0 lanes 0xffffffdf") && l.contains(&format!("at PTX line {line}: "));
        assert!(fault.message.lines().any(names), "{fault}");
    }
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
