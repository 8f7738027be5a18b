//! Faults planted in the hand-written pipeline: each is reported within 20 seeds, at the lines and threads that make it.

#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "common/planted.rs"]
mod planted;
#[path = "common/ptx.rs"]
mod ptx;

use pipeline::{Change, SAME, run, text};
use planted::{Report, check, report};
use warpwright_emulator::FaultKind::*;
use warpwright_emulator::{Completion, Site, TensorSwizzle};

const LOAD_A: &str = "complete_tx::bytes [%r9], [%rd0";
const LOAD_B: &str = "complete_tx::bytes [%r10], [%rd1";
const EXPECT: &str = "mbarrier.arrive.expect_tx";
const EMPTY: &str = "EMPTY: mbarrier.try_wait";
const FULL: &str = "FULL: mbarrier.try_wait";
const MULTIPLY: &str = "wgmma.mma_async";
const RELEASE: &str = "@%p5 mbarrier.arrive";
const SPILL: &str = "st.shared.v2.f32 [%r20+0]";
const STORE: &str = "bulk_group [%rd2, {%r12, %r12}], [%r22]";

/// The producer is thread 128, the consumers lie below it, and thread 0 stores.
fn runs(line: &str, thread: u32) -> bool {
    let text = text();
    let at = |part: &str| text.find(part).unwrap_or(usize::MAX);
    match text.find(line) {
        Some(place) if place < at("CONSUMER:") && place > at("PRODUCE:") => thread == 128,
        Some(place) if place > at("@%p0 bra END;") => thread == 0,
        _ => thread <= 128,
    }
}

fn may(site: &Site) -> bool {
    let instruction = site.text.trim_start_matches('@');
    let known = [LOAD_A, LOAD_B, EXPECT, STORE, MULTIPLY, SPILL];
    site.block == [0, 0, 0]
        && site.thread[1..] == [0, 0]
        && known.iter().filter(|line| instruction.contains(**line)).all(|line| runs(line, site.thread[0]))
}

/// Plants a fault in the text and one in the maps.
fn planted(from: &str, to: &str, change: Change, reports: &[Report]) {
    let whole = text();
    assert_eq!(whole.matches(from).count(), 1, "`{from}` is one place");
    let broken = whole.replace(from, to);
    check(&broken, |seed| run(&broken, seed, Completion::Seeded, change).map(|_| ()), reports, may);
}

/// The consumers' read meets the load of A or of B.
const READ_TOO_EARLY: [Report; 6] = [
    report(AsyncOwned, MULTIPLY, LOAD_A),
    report(AsyncOwned, MULTIPLY, LOAD_B),
    report(Race, MULTIPLY, LOAD_A),
    report(Race, MULTIPLY, LOAD_B),
    report(Uninitialised, MULTIPLY, ""),
    // Stages that nobody waits for are released before they are filled.
    report(Mbarrier, RELEASE, ""),
];

/// Warps wait for phases that never come, or that came too often.
const STUCK: [Report; 2] = [report(Deadlock, FULL, ""), report(Deadlock, EMPTY, "")];

/// The producer's loads meet the consumers' read.
const WRITTEN_TOO_EARLY: [Report; 3] =
    [report(AsyncOwned, LOAD_A, MULTIPLY), report(Race, LOAD_A, MULTIPLY), report(Race, LOAD_B, MULTIPLY)];

#[test]
fn waits_left_out() {
    planted("@!%p3 bra FULL;", "", SAME, &[&READ_TOO_EARLY[..], &WRITTEN_TOO_EARLY].concat());
    planted(
        "@!%p3 bra EMPTY;",
        "",
        SAME,
        &[
            report(Mbarrier, EXPECT, ""),
            report(Race, LOAD_A, LOAD_A),
            report(AsyncOwned, LOAD_A, LOAD_A),
            WRITTEN_TOO_EARLY[0],
            WRITTEN_TOO_EARLY[1],
        ],
    );
    planted("wgmma.wait_group.sync.aligned 0;", "", SAME, &WRITTEN_TOO_EARLY);
    planted("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", SAME, &WRITTEN_TOO_EARLY);
    planted("cp.async.bulk.wait_group.read 0;", "", SAME, &[report(Unbalanced, STORE, "")]);
}

#[test]
fn fences_left_out() {
    planted("wgmma.fence.sync.aligned;", "", SAME, &[report(RegisterInFlight, MULTIPLY, "")]);
    planted("fence.proxy.async.shared::cta;", "", SAME, &[report(MissingProxyFence, STORE, SPILL)]);
}

#[test]
fn commits_left_out() {
    planted("wgmma.commit_group.sync.aligned;", "", SAME, &WRITTEN_TOO_EARLY);
    planted("cp.async.bulk.commit_group;", "", SAME, &[report(Unbalanced, STORE, "")]);
}

/// Nobody goes on: every waiting warp is named with its line and what its mbarrier lacks. Returns the message.
fn hangs(from: &str, to: &str, change: Change, waits: &[(&str, &str)]) {
    let whole = text();
    assert_eq!(whole.matches(from).count(), 1, "`{from}` is one place");
    let broken = whole.replace(from, to);
    let line = |part: &str| broken.lines().position(|l| l.contains(part)).map_or(0, |n| n + 1);
    for seed in 0..20 {
        let fault = run(&broken, seed, Completion::Seeded, change).expect_err("it hangs");
        assert_eq!(fault.kind, Deadlock, "{fault}");
        for (at, lacks) in waits {
            let found =
                fault.message.lines().any(|l| l.contains(&format!("at PTX line {}: ", line(at))) && l.contains(lacks));
            assert!(found, "no wait at {at} with {lacks}:\n{fault}");
        }
    }
}

#[test]
fn arrivals_left_out_and_miscounted() {
    let starved = (FULL, "1 of 1 arrivals and 0 transaction bytes pending");
    hangs(&format!("{RELEASE}.shared::cta.b64 _, [%r7+16];"), "", SAME, &[(EMPTY, "4 of 4 arrivals"), starved]);
    hangs("[%r2+16], 4;", "[%r2+16], 5;", SAME, &[(EMPTY, "1 of 5 arrivals"), starved]);
    hangs(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 16384;",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r7], 16384;",
        SAME,
        &[(FULL, "1 of 1 arrivals")],
    );
    // Three arrivals of four release a stage that the fourth warp still reads.
    planted("[%r2+16], 4;", "[%r2+16], 3;", SAME, &[&READ_TOO_EARLY[..], &WRITTEN_TOO_EARLY, &STUCK].concat());
}

#[test]
fn wrong_byte_counts() {
    hangs("_, [%r7], 16384;", "_, [%r7], 16400;", SAME, &[(FULL, "16 transaction bytes pending")]);
    // Half the bytes let the consumers go when one box has landed, and the next phase has too many.
    let all = [&READ_TOO_EARLY[..], &WRITTEN_TOO_EARLY, &STUCK, &[report(Mbarrier, EXPECT, "")]].concat();
    planted("_, [%r7], 16384;", "_, [%r7], 8192;", SAME, &all);
}

#[test]
fn wrong_phases() {
    hangs("xor.b32 %r6, %r5, 1;", "mov.u32 %r6, %r5;", SAME, &[(EMPTY, "4 of 4 arrivals")]);
    planted("[%r7], %r5;", "[%r7], 0;", SAME, &[&READ_TOO_EARLY[..], &WRITTEN_TOO_EARLY, &STUCK].concat());
    // The producer waits for the barrier that it fills itself.
    let all = [&READ_TOO_EARLY[..], &WRITTEN_TOO_EARLY, &STUCK].concat();
    planted("add.u32 %r8, %r7, 16;", "mov.u32 %r8, %r7;", SAME, &all);
}

#[test]
fn wrong_places() {
    let overwritten =
        [report(AsyncOwned, LOAD_A, LOAD_B), report(Race, LOAD_A, LOAD_B), WRITTEN_TOO_EARLY[0], WRITTEN_TOO_EARLY[1]];
    planted(
        "shl.b32 %r9, %r4, 14;\n    add.u32 %r9, %r9, %r1;\n    add.u32 %r10",
        "shl.b32 %r9, %r4, 13;\n    add.u32 %r9, %r9, %r1;\n    add.u32 %r10",
        SAME,
        &overwritten,
    );
    let both = [report(AsyncOwned, LOAD_B, LOAD_A), report(Race, LOAD_B, LOAD_A)];
    planted("add.u32 %r10, %r9, 8192;", "add.u32 %r10, %r9, 4096;", SAME, &both);
    let same = "complete_tx::bytes [%r9], [%rd1";
    let both = [report(AsyncOwned, same, LOAD_A), report(Race, same, LOAD_A)];
    planted("[%r10], [%rd1", "[%r9], [%rd1", SAME, &both);
}

#[test]
fn wrong_descriptors() {
    // Groups of 8 rows further apart than they are, nearer, and with another swizzle.
    planted(
        "0x4000004000010000",
        "0x4000024000010000",
        SAME,
        &[&READ_TOO_EARLY[..], &[report(OutOfBounds, MULTIPLY, "")]].concat(),
    );
    planted("0x4000004000010000", "0x4000002000010000", SAME, &[report(Descriptor, MULTIPLY, "")]);
    let swizzle = [report(Descriptor, MULTIPLY, LOAD_A), report(Descriptor, MULTIPLY, LOAD_B)];
    planted("0x4000004000010000", "0x8000004000010000", SAME, &swizzle);
    planted("0x4000004000010000", "0x4002004000010000", SAME, &swizzle);
}

#[test]
fn wrong_tensor_maps() {
    let swizzle = [report(Descriptor, MULTIPLY, LOAD_A)];
    planted("mov.u32 %r3, 0;", "mov.u32 %r3, 0;", |maps| maps[0].swizzle = TensorSwizzle::None, &swizzle);
    let pending = [(FULL, "4096 transaction bytes pending")];
    hangs("mov.u32 %r3, 0;", "mov.u32 %r3, 0;", |maps| maps[1].box_dims[1] = 32, &pending);
    let stride = [report(OutOfBounds, LOAD_B, "")];
    planted("mov.u32 %r3, 0;", "mov.u32 %r3, 0;", |maps| maps[1].strides[0] += 16, &stride);
}

#[test]
fn barriers_left_out() {
    planted("bar.sync 1, 128;", "", SAME, &[report(Race, STORE, SPILL), report(Uninitialised, STORE, "")]);
    planted("bar.sync 0;", "", SAME, &[report(Mbarrier, FULL, ""), report(Mbarrier, EMPTY, "")]);
}

#[test]
fn a_producer_that_leaves_early() {
    let whole = "setp.lt.u32 %p4, %r3, 6;\n    @%p4 bra PRODUCE;";
    let early = "setp.lt.u32 %p4, %r3, 5;\n    @%p4 bra PRODUCE;";
    hangs(whole, early, SAME, &[(FULL, "1 of 1 arrivals and 0 transaction bytes pending")]);
}
