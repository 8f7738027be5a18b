//! Clusters: distributed shared memory, remote barriers, multicast; and registers that warps trade.

#[path = "common/ptx.rs"]
mod ptx;

use ptx::{INIT, kernel, setup, wait};
use warpwright_emulator::{Completion, FaultKind, Launch, TensorElement, TensorMapSpec};

const NO_MAP: [u8; 128] = [0; 128];

fn cluster(blocks: u32, size: u32, threads: u32) -> Launch {
    Launch { cluster: Some([size, 1, 1]), ..Launch::linear(blocks, threads, 4096) }
}

const SYNC: &str = "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n";

#[test]
fn ranks_windows_and_peers() {
    // Every block puts its rank into its own memory and reads its neighbour's.
    let body = format!(
        "    mov.u32 %r10, %cluster_ctarank;
    mov.u32 %r11, %cluster_nctarank;
    @%p0 st.shared.b32 [%r1], %r10;
{SYNC}    add.u32 %r12, %r10, 1;
    rem.u32 %r12, %r12, %r11;
    mapa.shared::cluster.u32 %r13, %r1, %r12;
    ld.shared::cluster.b32 %r14, [%r13];
    shr.u32 %r15, %r1, 24;
    mad.lo.u32 %r16, %r15, 256, %r14;
    mov.u32 %r17, %ctaid.x;
    mul.wide.u32 %rd5, %r17, 4;
    add.u64 %rd5, %rd5, %rd2;
    @%p0 st.global.b32 [%rd5], %r16;
{SYNC}"
    );
    for (blocks, size) in [(4, 2), (6, 3), (8, 8)] {
        let mut setup = setup(1, Completion::Seeded, &[0; 16], 4 * blocks as usize);
        setup.run(&kernel(&body), &NO_MAP, cluster(blocks, size, 64)).unwrap_or_else(|f| panic!("{f}"));
        let words: Vec<u32> = setup
            .output(4 * blocks as usize)
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
            .collect();
        let expected: Vec<u32> = (0..blocks).map(|b| b % size * 256 + (b % size + 1) % size).collect();
        assert_eq!(words, expected);
    }
    let faults = |body: &str| {
        let text = kernel(body);
        (0..20)
            .find_map(|seed| setup(seed, Completion::Seeded, &[0; 16], 64).run(&text, &NO_MAP, cluster(4, 2, 64)).err())
            .unwrap_or_else(|| panic!("nothing reported"))
    };
    // Without the first barrier the neighbour may not have written, without the last it may be gone.
    let first = faults(&body.replacen(SYNC, "", 1));
    assert!(matches!(first.kind, FaultKind::Race | FaultKind::Uninitialised), "{first}");
    let at = body.rfind(SYNC).unwrap();
    let last = faults(&body[..at]);
    assert_eq!(last.kind, FaultKind::OutOfBounds, "{last}");
    assert!(last.message.contains("exited"));
    let relaxed = faults(&body.replacen("arrive.aligned", "arrive.relaxed.aligned", 1));
    assert_eq!(relaxed.kind, FaultKind::Race, "{relaxed}");
}

#[test]
fn clusters_of_every_size_but_not_of_parts() {
    let run = |blocks, size| {
        setup(0, Completion::Seeded, &[0; 16], 64)
            .run(&kernel(SYNC), &NO_MAP, cluster(blocks, size, 64))
            .map_err(|f| f.kind)
    };
    for size in 1..=16 {
        assert!(run(2 * size, size).is_ok(), "{size}");
    }
    assert_eq!(run(17, 17).err(), Some(FaultKind::Launch));
    assert_eq!(run(3, 2).err(), Some(FaultKind::Launch));
}

#[test]
fn multicast_reaches_the_blocks_of_its_mask() {
    // Rank 0 loads for ranks 0 and 2 of four; ranks 1 and 3 get neither data nor signal.
    let body = format!(
        "{INIT}    mov.u32 %r10, %cluster_ctarank;
    and.b32 %r11, %r10, 1;
    setp.eq.u32 %p2, %r11, 0;
    and.pred %p3, %p2, %p0;
    @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
{SYNC}    setp.eq.u32 %p4, %r10, 0;
    and.pred %p4, %p4, %p0;
    mov.u16 %h0, 5;
    @%p4 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd0, {{0}}], [%r2], %h0;
    @!%p2 bra REST;
{}    shl.b32 %r12, %r0, 2;
    add.u32 %r13, %r12, %r1;
    ld.shared.b32 %r14, [%r13];
    mad.lo.u32 %r15, %r10, 512, %r12;
    cvt.u64.u32 %rd5, %r15;
    add.u64 %rd5, %rd5, %rd2;
    st.global.b32 [%rd5], %r14;
REST:
{SYNC}",
        wait("W", 0, "0")
    );
    let input: Vec<u8> = (0..512).map(|i| (i * 3) as u8).collect();
    for seed in 0..8 {
        let mut setup = setup(seed, Completion::Seeded, &input, 4 * 512);
        let map = TensorMapSpec::new(TensorElement::U32, setup.input, &[128], &[], &[128]).encode().unwrap();
        setup.run(&kernel(&body), &map, cluster(4, 4, 128)).unwrap_or_else(|f| panic!("{f}"));
        let out = setup.output(4 * 512);
        assert_eq!(out[..512], input);
        assert_eq!(out[1024..1536], input);
        assert!(out[512..1024].iter().all(|b| *b == 0xFF), "not a target: nothing was written");
    }
}

#[test]
fn remote_arrivals_complete_a_phase() {
    // Rank 0 waits for one arrival of every block.
    let body = format!(
        "    @%p0 mbarrier.init.shared::cta.b64 [%r2], 2;
    @%p0 fence.mbarrier_init.release.cluster;
{SYNC}    mov.u32 %r10, %cluster_ctarank;
    mov.u32 %r12, 0;
    mapa.shared::cluster.u32 %r11, %r2, %r12;
    mapa.shared::cluster.u32 %r13, %r1, %r12;
    shl.b32 %r14, %r10, 2;
    add.u32 %r13, %r13, %r14;
    @%p0 st.shared::cluster.b32 [%r13], %r10;
    @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];
    setp.ne.u32 %p2, %r10, 0;
    @%p2 bra REST;
{}    ld.shared.v2.b32 {{%r15, %r16}}, [%r1];
    @%p0 st.global.v2.b32 [%rd2], {{%r15, %r16}};
REST:
{SYNC}",
        wait("W", 0, "0")
    );
    for seed in 0..8 {
        let mut setup = setup(seed, Completion::Seeded, &[0; 16], 8);
        setup.run(&kernel(&body), &NO_MAP, cluster(2, 2, 64)).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(setup.output(8), [0, 0, 0, 0, 1, 0, 0, 0]);
    }
    let text = kernel(&body.replace("[%r2], 2;", "[%r2], 3;"));
    let fault = setup(0, Completion::Seeded, &[0; 16], 8).run(&text, &NO_MAP, cluster(2, 2, 64)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
    assert!(fault.message.contains("1 of 3 arrivals"), "{fault}");
    let text = kernel(&body.replace("[%r2], 2;", "[%r2], 1;"));
    let seeds = (0..20)
        .filter_map(|seed| setup(seed, Completion::Seeded, &[0; 16], 8).run(&text, &NO_MAP, cluster(2, 2, 64)).err());
    assert!(seeds.into_iter().any(|f| f.kind == FaultKind::Race || f.kind == FaultKind::Uninitialised));
}

#[test]
fn registers_are_traded_within_the_launchs_pool() {
    // As an H200 with 384 threads (168 registers each) did it.
    let pool = |threads: u32, less: u32, more: u32| {
        let body = format!(
            "    shr.u32 %r10, %r0, 7;
    setp.eq.u32 %p1, %r10, 0;
    @%p1 bra LESS;
    setmaxnreg.inc.sync.aligned.u32 {more};
    bra.uni REST;
LESS: setmaxnreg.dec.sync.aligned.u32 {less};
REST:"
        );
        setup(3, Completion::Seeded, &[0; 16], 16)
            .run(&kernel(&body), &NO_MAP, Launch::linear(1, threads, 0))
            .map_err(|f| f.kind)
    };
    let run = |less, more| pool(384, less, more);
    for (less, more) in [(40, 232), (24, 240), (56, 224)] {
        assert!(run(less, more).is_ok(), "{less} {more}");
    }
    for (less, more) in [(24, 248), (40, 240), (168, 176)] {
        assert_eq!(run(less, more).err(), Some(FaultKind::Deadlock), "{less} {more}");
    }
    // 512 threads have 128 each at launch.
    for (less, more) in [(32, 160), (24, 160), (56, 152)] {
        assert!(pool(512, less, more).is_ok(), "{less} {more}");
    }
    assert_eq!(pool(512, 24, 168).err(), Some(FaultKind::Deadlock));
}

#[test]
fn asynchronous_stores_complete_on_the_peers_barrier() {
    // Rank 1 sends 16 bytes and adds to a word of rank 0, which expects both.
    let body = format!(
        "    @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
    @%p0 fence.mbarrier_init.release.cluster;
    @%p0 st.shared.b32 [%r1+16], 30;
{SYNC}    @!%p0 bra REST;
    mov.u32 %r10, %cluster_ctarank;
    mov.u32 %r12, 0;
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra RECEIVE;
    mapa.shared::cluster.u32 %r11, %r2, %r12;
    mapa.shared::cluster.u32 %r13, %r1, %r12;
    mov.u32 %r14, 7;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r13], {{%r14, %r12, %r10, %r14}}, [%r11];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r13+16], %r14, [%r11];
    bra REST;
RECEIVE: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 20;
{}    ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r1];
    st.global.v4.b32 [%rd2], {{%r20, %r21, %r22, %r23}};
    ld.shared.b32 %r24, [%r1+16];
    st.global.b32 [%rd2+16], %r24;
REST:
{SYNC}",
        wait("W", 0, "0")
    );
    for seed in 0..8 {
        let mut setup = setup(seed, Completion::Seeded, &[0; 16], 20);
        setup.run(&kernel(&body), &NO_MAP, cluster(2, 2, 32)).unwrap_or_else(|f| panic!("{f}"));
        let words: Vec<u8> = setup.output(20).into_iter().step_by(4).collect();
        assert_eq!(words, [7, 0, 1, 7, 37]);
    }
    let kinds = |body: &str| {
        let text = kernel(body);
        (0..20)
            .find_map(|seed| setup(seed, Completion::Seeded, &[0; 16], 20).run(&text, &NO_MAP, cluster(2, 2, 32)).err())
    };
    let early = kinds(&body.replace(&wait("W", 0, "0"), "")).expect("a report");
    assert!(matches!(early.kind, FaultKind::AsyncOwned | FaultKind::Race | FaultKind::Uninitialised), "{early}");
}

#[test]
fn a_signal_goes_to_the_block_that_gets_the_data() {
    // Rank 0 loads into itself and names rank 1's mbarrier: its own, at the same offset, is told, as on an H200.
    let body = format!(
        "{INIT}    mov.u32 %r10, %cluster_ctarank;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
{SYNC}    setp.ne.u32 %p2, %r10, 0;
    @%p2 bra REST;
    mov.u32 %r12, 1;
    mapa.shared::cluster.u32 %r11, %r2, %r12;
    @%p0 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0, {{0}}], [%r11];
{}    ld.shared.b32 %r13, [%r1+4];
    @%p0 st.global.b32 [%rd2], %r13;
REST:
    mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r2], 0;
    selp.u32 %r14, 1, 0, %p3;
    mul.wide.u32 %rd5, %r10, 4; add.u64 %rd5, %rd5, %rd2;
    @%p0 st.global.b32 [%rd5+8], %r14;
{SYNC}",
        wait("W", 0, "0")
    );
    let input: Vec<u8> = (0..512).map(|i| (i * 7) as u8).collect();
    for seed in 0..4 {
        let mut setup = setup(seed, Completion::Seeded, &input, 16);
        let map = TensorMapSpec::new(TensorElement::U32, setup.input, &[128], &[], &[128]).encode().unwrap();
        setup.run(&kernel(&body), &map, cluster(2, 2, 64)).unwrap_or_else(|f| panic!("{f}"));
        let out = setup.output(16);
        assert_eq!(out[..4], input[4..8]);
        assert_eq!(out[8..], [1, 0, 0, 0, 0, 0, 0, 0], "rank 0 was told, rank 1 was not");
    }
}

#[test]
fn shared_memory_up_to_what_a_block_may_have() {
    let launch = |bytes| Launch { shared_bytes: bytes, ..Launch::linear(1, 32, 0) };
    let text = kernel("").replace("    .shared .align 8 .b8 bars[64];\n", "").replace("    mov.u32 %r2, bars;\n", "");
    let run = |bytes| setup(0, Completion::Seeded, &[0; 16], 16).run(&text, &NO_MAP, launch(bytes)).map_err(|f| f.kind);
    assert!(run(232_448).is_ok());
    assert_eq!(run(232_449).err(), Some(FaultKind::Launch));
}
