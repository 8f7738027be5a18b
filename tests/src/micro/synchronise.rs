//! `cp.async`, mbarriers, named barriers, register pools, dependent launches, fences.

use super::Micro;
use super::data::Noise;
use super::kernel::{dump, fill, frame, frame_with, micro, wait};

pub(super) fn all() -> Vec<Micro> {
    let mut noise = Noise::of("synchronise");
    vec![
        copies(&mut noise),
        copy_groups(&mut noise),
        copy_arrivals(&mut noise),
        counting(),
        transactions(),
        parities(),
        dropping(),
        no_complete(),
        named(&mut noise),
        registers(&mut noise),
        dependent(&mut noise),
        fences(&mut noise),
        policies(&mut noise),
    ]
}

/// Every size, cache and source size of `cp.async`, a predicate that ignores the source, a null source of no bytes.
fn copies(noise: &mut Noise) -> Micro {
    let mut body = fill("GROUND", 0, 0, 8192, 32);
    body += "    bar.warp.sync -1;\n    mad.wide.u32 %x1, %t, 16, %in; shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %tile; min.u32 %r2, %t, 16;\n";
    body += "    and.b32 %r3, %t, 1; setp.ne.u32 %p1, %r3, 0; mov.u64 %x2, 16; createpolicy.fractional.L2::evict_first.b64 %x3, 1.0;\n";
    let lines = [
        "cp.async.ca.shared.global [AT], [%x1], 4;",
        "cp.async.ca.shared.global [AT], [%x1], 8;",
        "cp.async.ca.shared.global [AT], [%x1], 16;",
        "cp.async.cg.shared.global [AT], [%x1], 16;",
        "cp.async.cg.shared.global [AT], [%x1], 16, %r2;",
        "min.u32 %r4, %t, 8; cp.async.ca.shared.global [AT], [%x1], 8, %r4;",
        "min.u32 %r4, %t, 4; cp.async.ca.shared.global [AT], [%x1], 4, %r4;",
        "cp.async.cg.shared.global [AT], [%x1], 16, 0;",
        "cp.async.cg.shared.global [AT], [%x2], 16, 0;",
        "cp.async.cg.shared.global [AT], [%x1], 16, %p1;",
        "cp.async.ca.shared.global [AT], [%x1], 8, !%p1;",
        "cp.async.cg.shared.global.L2::128B [AT], [%x1], 16;",
        "cp.async.ca.shared.global.L2::64B [AT], [%x1], 16, %r2;",
        "cp.async.cg.shared.global.L2::cache_hint [AT], [%x1], 16, %x3;",
        "cp.async.cg.shared.global.L2::cache_hint.L2::256B [AT], [%x1], 16, %r2, %x3;",
    ];
    for (i, line) in lines.iter().enumerate() {
        body += &format!("    {}\n", line.replace("AT", &format!("%r1+{}", 512 * i)));
    }
    body += "    cp.async.wait_all;\n    bar.warp.sync -1;\n";
    body += &dump("DUMP", 0, 0, 8192, 32);
    micro("cp.async", frame(&body), 32, 8192, noise.bytes(8192), 8192)
}

/// Groups that are waited for one after the other, empty ones among them.
fn copy_groups(noise: &mut Noise) -> Micro {
    let mut body = String::from(
        "    mad.wide.u32 %x1, %t, 16, %in; shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %tile; mad.wide.u32 %x2, %t, 16, %out;\n",
    );
    for i in 0..4 {
        body += &format!(
            "    cp.async.cg.shared.global [%r1+{}], [%x1+{}], 16;\n    cp.async.commit_group;\n",
            512 * i,
            512 * i
        );
    }
    body += "    cp.async.commit_group;\n";
    for (i, pending) in [4, 3, 2, 1].into_iter().enumerate() {
        body += &format!(
            "    cp.async.wait_group {pending};\n    ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r1+{}]; st.global.v4.b32 [%x2+{}], {{%r4, %r5, %r6, %r7}};\n",
            512 * i,
            512 * i
        );
    }
    micro("cp.async groups", frame(&body), 32, 2048, noise.bytes(2048), 2048)
}

/// `cp.async.mbarrier.arrive`, counted and not.
fn copy_arrivals(noise: &mut Noise) -> Micro {
    let mut body = String::from(
        "    @%p0 mbarrier.init.shared::cta.b64 [%tile], 32;
    @%p0 mbarrier.init.shared::cta.b64 [%tile+8], 32;
    bar.warp.sync -1;
    mad.wide.u32 %x1, %t, 16, %in; shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %tile; mad.wide.u32 %x2, %t, 16, %out;
    cp.async.cg.shared.global [%r1+1024], [%x1], 16;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%tile];
    cp.async.cg.shared.global [%r1+2048], [%x1+512], 16;
    cp.async.mbarrier.arrive.shared.b64 [%tile+8];
",
    );
    body += &wait("FIRST", "%tile", "0");
    body += "    ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1+1024]; st.global.v4.b32 [%x2], {%r4, %r5, %r6, %r7};
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%tile+8], 0; selp.u32 %r8, 1, 0, %p1; st.global.b32 [%x2+1024], %r8;
    bar.warp.sync -1;
    mbarrier.arrive.shared::cta.b64 _, [%tile+8];
";
    body += &wait("SECOND", "%tile+8", "0");
    body +=
        "    ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1+2048]; st.global.v4.b32 [%x2+512], {%r4, %r5, %r6, %r7};\n";
    micro("cp.async.mbarrier.arrive", frame(&body), 32, 4096, noise.bytes(1024), 2048)
}

/// Notes whether the phases of parity 0 and 1 of the mbarrier at `%tile` are over.
fn note(offset: &mut usize) -> String {
    let at = *offset;
    *offset += 8;
    format!(
        "    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%tile], 0; selp.u32 %r8, 1, 0, %p1; st.global.b32 [%out+{at}], %r8;
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%tile], 1; selp.u32 %r8, 1, 0, %p1; st.global.b32 [%out+{}], %r8;\n",
        at + 4
    )
}

/// Runs `steps` in one thread with a note after each.
fn steps(name: &str, steps: &[&str]) -> Micro {
    let (mut body, mut offset) = (String::from("    @!%p0 bra END;\n"), 0);
    for step in steps {
        body += &format!("    {step}\n{}", note(&mut offset));
    }
    body += "END:\n";
    micro(name, frame(&body), 32, 1024, Vec::new(), offset)
}

/// Arrivals by ones and more, state tokens and what they tell of the pending count.
fn counting() -> Micro {
    let mut micro = steps(
        "mbarrier arrivals",
        &[
            "mbarrier.init.shared::cta.b64 [%tile], 5;",
            "mbarrier.arrive.shared::cta.b64 %x1, [%tile]; mbarrier.pending_count.b64 %r1, %x1; st.global.b32 [%out+1024], %r1;",
            "mbarrier.arrive.shared::cta.b64 %x2, [%tile], 3; mbarrier.pending_count.b64 %r1, %x2; st.global.b32 [%out+1028], %r1; mbarrier.test_wait.shared::cta.b64 %p2, [%tile], %x1; selp.u32 %r2, 1, 0, %p2; st.global.b32 [%out+1032], %r2;",
            "mbarrier.arrive.release.cta.shared::cta.b64 %x3, [%tile]; mbarrier.test_wait.acquire.cta.shared::cta.b64 %p2, [%tile], %x1; selp.u32 %r2, 1, 0, %p2; st.global.b32 [%out+1036], %r2;",
            "mbarrier.arrive.shared::cta.b64 _, [%tile], 5; mbarrier.try_wait.shared::cta.b64 %p2, [%tile], %x3; selp.u32 %r2, 1, 0, %p2; st.global.b32 [%out+1040], %r2;",
            "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%tile], 4;",
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%tile];",
            "mbarrier.inval.shared::cta.b64 [%tile]; mbarrier.init.shared::cta.b64 [%tile], 1048575;",
            "mbarrier.arrive.shared::cta.b64 _, [%tile], 1048575;",
        ],
    );
    micro.output.resize(1048, 0xEE);
    micro
}

/// Transaction bytes before, between and after arrivals, to the ends of their range.
fn transactions() -> Micro {
    steps(
        "mbarrier transactions",
        &[
            "mbarrier.init.shared::cta.b64 [%tile], 1;",
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], 16384;",
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 8192;",
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 8192;",
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 100;",
            "mbarrier.arrive.shared::cta.b64 _, [%tile];",
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%tile], 100;",
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%tile], 1048575;",
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 1048575;",
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 1048575;",
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%tile], 1048575;",
            "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%tile], 64;",
            "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%tile], 64;",
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 128;",
        ],
    )
}

/// Parities of a fresh barrier and through some phases.
fn parities() -> Micro {
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [%tile];";
    let hint = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%tile], 0, 1000;";
    steps("mbarrier parities", &["mbarrier.init.shared::cta.b64 [%tile], 1;", arrive, hint, arrive, arrive, arrive])
}

/// Later phases need one arrival less.
fn dropping() -> Micro {
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [%tile];";
    steps(
        "mbarrier arrive_drop",
        &[
            "mbarrier.init.shared::cta.b64 [%tile], 3;",
            "mbarrier.arrive_drop.shared::cta.b64 _, [%tile];",
            "mbarrier.arrive.shared::cta.b64 _, [%tile], 2;",
            arrive,
            arrive,
            "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [%tile], 1;",
            arrive,
            arrive,
            "mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%tile], 16;",
        ],
    )
}

/// Arrivals that must not complete the phase.
fn no_complete() -> Micro {
    let mut micro = steps(
        "mbarrier noComplete",
        &[
            "mbarrier.init.shared::cta.b64 [%tile], 6;",
            "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %x1, [%tile], 2; mbarrier.pending_count.b64 %r1, %x1; st.global.b32 [%out+512], %r1;",
            "mbarrier.arrive.noComplete.shared::cta.b64 %x2, [%tile], 3; mbarrier.pending_count.b64 %r1, %x2; st.global.b32 [%out+516], %r1;",
            "mbarrier.arrive.shared::cta.b64 %x3, [%tile]; mbarrier.pending_count.b64 %r1, %x3; st.global.b32 [%out+520], %r1;",
            "mbarrier.arrive_drop.noComplete.shared::cta.b64 %x3, [%tile], 2;",
            "mbarrier.arrive.shared::cta.b64 _, [%tile], 4;",
        ],
    );
    micro.output.resize(528, 0xEE);
    micro
}

/// Producers that arrive, consumers that wait; barriers of a part of the block; reductions over them.
fn named(noise: &mut Noise) -> Micro {
    let body = "    mad.wide.u32 %x1, %t, 4, %in; ld.global.b32 %r1, [%x1]; shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %tile;
    mad.wide.u32 %x2, %t, 4, %out;
    setp.lt.u32 %p1, %t, 64;
    @%p1 bra PRODUCE;
    bar.sync 1, 128;
    ld.shared.b32 %r3, [%r2+-256];
    add.u32 %r4, %r3, %r1;
    setp.gt.s32 %p2, %r4, 0;
    bar.red.popc.u32 %r5, 2, 64, %p2;
    barrier.red.and.pred %p3, 5, 64, %p2;
    barrier.red.or.pred %p4, 5, 64, %p2;
    selp.u32 %r6, 1, 0, %p3; selp.u32 %r7, 2, 0, %p4; add.u32 %r6, %r6, %r7; add.u32 %r5, %r5, %r6; add.u32 %r4, %r4, %r5;
    bra END;
PRODUCE:
    st.shared.b32 [%r2], %r1;
    bar.arrive 1, 128;
    mov.u32 %r9, 3;
    barrier.sync %r9, 64;
    barrier.sync.aligned 4, 64;
    barrier.cta.sync.aligned 4, 64;
    mov.u32 %r4, %r1;
END:
    bar.sync 0;
    barrier.cta.red.popc.aligned.u32 %r8, 0, %p1;
    add.u32 %r4, %r4, %r8;
    st.global.b32 [%x2], %r4;
";
    micro("named barriers", frame(body), 128, 1024, noise.bytes(512), 512)
}

/// One warpgroup gives registers up, the other takes them.
fn registers(noise: &mut Noise) -> Micro {
    let body = "    mad.wide.u32 %x1, %t, 4, %in; ld.global.b32 %r1, [%x1]; mad.wide.u32 %x2, %t, 4, %out;
    setp.lt.u32 %p1, %t, 128;
    @%p1 bra LESS;
    setmaxnreg.inc.sync.aligned.u32 160;
    mul.lo.u32 %r1, %r1, 3;
    bra END;
LESS:
    setmaxnreg.dec.sync.aligned.u32 40;
    mul.lo.u32 %r1, %r1, 5;
END:
    st.global.b32 [%x2], %r1;
";
    micro("setmaxnreg", frame_with("\n.maxntid 256, 1, 1\n.minnctapersm 1", body), 256, 0, noise.bytes(1024), 1024)
}

fn dependent(noise: &mut Noise) -> Micro {
    let body = "    griddepcontrol.wait;
    mad.wide.u32 %x1, %t, 4, %in; ld.global.b32 %r1, [%x1]; mad.wide.u32 %x2, %t, 4, %out;
    griddepcontrol.launch_dependents;
    prefetch.global.L2 [%x1]; prefetch.tensormap [%map];
    nanosleep.u32 20;
    st.global.b32 [%x2], %r1;
";
    micro("griddepcontrol", frame(body), 64, 0, noise.bytes(256), 256)
}

/// Every fence between writes and reads of two warps.
fn fences(noise: &mut Noise) -> Micro {
    let mut body = String::from(
        "    mad.wide.u32 %x1, %t, 4, %in; ld.global.b32 %r1, [%x1]; shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %tile; xor.b32 %r3, %r2, 128; mad.wide.u32 %x2, %t, 4, %out;\n",
    );
    for fence in [
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "fence.sc.cta",
        "fence.acq_rel.cta",
        "fence.acq_rel.gpu",
        "fence.acq_rel.sys",
        "fence.acq_rel.cluster",
        "fence.proxy.async",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.shared::cluster",
        "fence.proxy.async.global",
        "fence.proxy.alias",
        "fence.mbarrier_init.release.cluster",
        "fence.proxy.tensormap::generic.release.gpu",
    ] {
        body += &format!(
            "    st.shared.b32 [%r2], %r1; {fence}; bar.sync 0; ld.shared.b32 %r4, [%r3]; mad.lo.u32 %r1, %r1, 5, %r4; bar.sync 0;\n"
        );
    }
    body += "    st.global.b32 [%x2], %r1;\n";
    micro("fences", frame(&body), 64, 1024, noise.bytes(256), 256)
}

/// Cache policies change no value.
fn policies(noise: &mut Noise) -> Micro {
    let mut body = String::from("    mad.wide.u32 %x1, %t, 4, %in; mad.wide.u32 %x2, %t, 4, %out;\n");
    for (i, policy) in [
        "createpolicy.fractional.L2::evict_first.b64 %x3, 1.0;",
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %x3, 0.5;",
        "createpolicy.fractional.L2::evict_normal.b64 %x3, 1.0;",
        "mov.b64 %x3, 0x12F0000000000000;",
    ]
    .iter()
    .enumerate()
    {
        body += &format!(
            "    {policy} ld.global.L2::cache_hint.b32 %r1, [%x1+{}], %x3; st.global.L2::cache_hint.b32 [%x2+{}], %r1, %x3;\n",
            256 * i,
            256 * i
        );
    }
    micro("cache policies", frame(&body), 64, 0, noise.bytes(1024), 1024)
}
