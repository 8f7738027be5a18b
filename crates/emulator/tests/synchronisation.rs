//! Blocks and grids: barriers, atomics, flags in memory, and what is wrong with them.

use warpwright_arch::ArchId;
use warpwright_emulator::{Config, Fault, FaultKind, Launch, Machine, Module, Report};

/// Runs `body` with `out` words of zeroed memory at `%out`; `%t` is the thread, `%b` the block, 4 KiB of shared memory at `%s`.
fn run(body: &str, launch: Launch, seed: u64, out: usize) -> Result<(Vec<u32>, Report), Fault> {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 out)
{{
    .shared .align 16 .b8 memory[4096];
    .local .align 8 .b8 stack[64];
    .reg .pred %p, %q; .reg .b32 %t, %b, %s, %x, %y, %z; .reg .b64 %out, %at, %w;
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %s, memory;
    ld.param.u64 %out, [out];
    shl.b32 %x, %t, 2;
    add.u32 %z, %x, %s;
    cvt.u64.u32 %at, %x;
    add.u64 %at, %at, %out;
    {body}
    ret;
}}"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Config { seed, profile: true, patience: 1 << 16, ..Config::new(ArchId::SM90) });
    let output = machine.upload(&vec![0; 4 * out]).unwrap();
    let report = machine.launch(&module.kernels()[0], &launch, &output.to_le_bytes())?;
    let bytes = machine.read(output, 4 * out).expect("the output is allocated");
    Ok((bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), report))
}

fn threads(n: u32) -> Launch {
    Launch::linear(1, n, 0)
}

fn good(body: &str, launch: Launch, out: usize) -> Vec<u32> {
    let first = run(body, launch, 0, out).unwrap_or_else(|f| panic!("{f}")).0;
    for seed in 1..8 {
        assert_eq!(run(body, launch, seed, out).unwrap_or_else(|f| panic!("{f}")).0, first);
    }
    first
}

fn kind(body: &str, launch: Launch) -> Option<FaultKind> {
    (0..20).find_map(|seed| run(body, launch, seed, 256).err()).map(|f| f.kind)
}

#[test]
fn named_barriers_pair_producers_and_consumers() {
    // Warps 0 and 1 write and arrive; warps 2 and 3 wait and read what the other half wrote.
    let body = "setp.ge.u32 %p, %t, 64; @%p bra READ;
        st.shared.b32 [%z], %t; bar.arrive 3, 128; bra END;
        READ: bar.sync 3, 128; ld.shared.b32 %y, [%z+-256]; st.global.b32 [%at], %y; END:";
    let out = good(body, threads(128), 128);
    assert_eq!(out[64..], (0..64).collect::<Vec<u32>>());
    assert_eq!(kind(&body.replace("bar.sync 3, 128;", ""), threads(128)).map(|k| k != FaultKind::Deadlock), Some(true));
    assert_eq!(kind(&body.replace("bar.arrive 3, 128;", ""), threads(128)), Some(FaultKind::Deadlock));
    assert_eq!(kind(&body.replace("sync 3, 128", "sync 3, 96"), threads(128)), Some(FaultKind::Barrier));
    assert_eq!(kind(&body.replace("3, 128", "3, 100"), threads(128)), Some(FaultKind::Barrier));
    assert_eq!(
        kind(&body.replace("arrive 3, 128;", "arrive 3, 128; bar.arrive 3, 128;"), threads(128)),
        Some(FaultKind::Barrier)
    );
    assert_eq!(kind("bar.arrive 5, 64;", threads(96)), Some(FaultKind::Unbalanced));
}

#[test]
fn barriers_reduce() {
    let body =
        "setp.lt.u32 %p, %t, 40; bar.red.popc.u32 %x, 0, %p; bar.red.and.pred %q, 0, %p; selp.u32 %y, 100, 0, %q;
        bar.red.or.pred %q, 0, %p; @%q add.u32 %y, %y, 1000; add.u32 %x, %x, %y; st.global.b32 [%at], %x;";
    assert_eq!(good(body, threads(96), 96), [1040; 96]);
}

#[test]
fn a_block_that_ends_in_the_middle_of_a_warp() {
    let body = "st.shared.b32 [%z], %t; bar.sync 0; setp.eq.u32 %p, %t, 36; mov.u32 %y, 36; @!%p sub.u32 %y, 35, %t;
        max.s32 %y, %y, 0; shl.b32 %y, %y, 2; add.u32 %y, %y, %s; ld.shared.b32 %x, [%y]; st.global.b32 [%at], %x;";
    let out = good(body, threads(37), 37);
    assert_eq!((out[0], out[35], out[36]), (35, 0, 36));
}

#[test]
fn races_are_found_with_both_sides() {
    let body = "st.shared.b32 [%z], %t; xor.b32 %x, %t, 32; shl.b32 %x, %x, 2; add.u32 %x, %x, %s; bar.sync 0; ld.shared.b32 %y, [%x];
        st.global.b32 [%at], %y;";
    assert_eq!(good(body, threads(64), 64)[0], 32);
    let fault =
        (0..20).find_map(|seed| run(&body.replace("bar.sync 0;", ""), threads(64), seed, 64).err()).expect("a report");
    assert!(matches!(fault.kind, FaultKind::Race | FaultKind::Uninitialised), "{fault}");
    // Two warps write one word of global memory.
    let clash =
        "and.b32 %x, %t, 31; cvt.u64.u32 %w, %x; shl.b64 %w, %w, 2; add.u64 %w, %w, %out; st.global.b32 [%w], %t;";
    let fault = run(clash, threads(64), 0, 64).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Race);
    let (site, other) = (fault.site.expect("a site"), fault.other.expect("another"));
    assert_eq!(site.thread[0] % 32, other.thread[0] % 32);
    assert_ne!(site.thread, other.thread);
    // Two blocks, too.
    let blocks = Launch::linear(2, 32, 0);
    assert_eq!(kind("st.global.b32 [%at], %b;", blocks), Some(FaultKind::Race));
    assert_eq!(kind("red.global.add.u32 [%at], %b;", blocks), None);
    assert_eq!(kind("red.global.add.u32 [%at], %b; ld.global.b32 %x, [%at];", blocks), Some(FaultKind::Race));
}

#[test]
fn atomics_add_up() {
    let body = "atom.global.add.u32 %x, [%out], 1; red.shared.add.u32 [%s], 1;";
    let zeroed = format!(
        "setp.eq.u32 %p, %t, 0; @%p st.shared.b32 [%s], 0; bar.sync 0; {body} bar.sync 0; ld.shared.b32 %y, [%s]; @%p red.global.max.u32 [%out+4], %y; @%p atom.global.cas.b32 %x, [%out+8], 0, 5; @%p atom.global.exch.b32 %x, [%out+12], 9;"
    );
    assert_eq!(good(&zeroed, Launch::linear(3, 96, 0), 4), [288, 96, 5, 9]);
    let floats = "mov.b32 %x, 0f3F800000; red.global.add.f32 [%out], %x; mov.b32 %y, 0x3C003C00; red.global.add.noftz.f16x2 [%out+4], %y; red.global.inc.u32 [%out+8], 6;";
    assert_eq!(good(floats, threads(32), 3), [32f32.to_bits(), 0x5000_5000, 32 % 7]);
}

/// Block 0 writes a value and raises a flag, block 1 waits for it and copies the value.
fn message(write: &str, read: &str) -> String {
    format!(
        "setp.ne.u32 %p, %t, 0; @%p bra END; setp.eq.u32 %p, %b, 1; @%p bra READ;
         mov.u32 %x, 42; st.global.b32 [%out], %x; {write} bra END;
         READ: {read} setp.eq.u32 %q, %y, 0; @%q bra READ; FENCE ld.global.b32 %x, [%out]; st.global.b32 [%out+8], %x; END:"
    )
}

#[test]
fn flags_in_memory_order_what_they_should() {
    let two = Launch::linear(2, 32, 0);
    let pairs = [
        ("st.release.gpu.global.b32 [%out+4], 1;", "ld.acquire.gpu.global.b32 %y, [%out+4];", ""),
        (
            "membar.gl; st.relaxed.gpu.global.b32 [%out+4], 1;",
            "ld.relaxed.gpu.global.b32 %y, [%out+4];",
            "fence.acq_rel.gpu;",
        ),
        (
            "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%out+4], 1;",
            "ld.volatile.global.b32 %y, [%out+4];",
            "membar.gl;",
        ),
        ("atom.acq_rel.gpu.global.add.u32 %x, [%out+4], 1;", "atom.acq_rel.gpu.global.or.b32 %y, [%out+4], 0;", ""),
    ];
    for (write, read, fence) in pairs {
        let body = message(write, read).replace("FENCE", fence);
        assert_eq!(good(&body, two, 3), [42, 1, 42], "{write} {read}");
    }
    let relaxed = message("st.relaxed.gpu.global.b32 [%out+4], 1;", "ld.acquire.gpu.global.b32 %y, [%out+4];")
        .replace("FENCE", "");
    assert_eq!(kind(&relaxed, two), Some(FaultKind::Race));
    let unfenced = message("st.release.gpu.global.b32 [%out+4], 1;", "ld.relaxed.gpu.global.b32 %y, [%out+4];")
        .replace("FENCE", "");
    assert_eq!(kind(&unfenced, two), Some(FaultKind::Race));
    // A flag that nobody raises.
    let hanging = message("", "ld.acquire.gpu.global.b32 %y, [%out+4];").replace("FENCE", "");
    let fault = run(&hanging, two, 1, 8).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.message.contains("spin") && fault.message.contains("block [1, 0, 0]"), "{fault}");
}

#[test]
fn addresses_are_checked() {
    assert_eq!(kind("st.global.b32 [%out+1020], %t;", threads(1)), None);
    assert_eq!(kind("st.global.b32 [%out+1024], %t;", threads(1)), Some(FaultKind::OutOfBounds));
    assert_eq!(kind("ld.global.b32 %x, [%out+2];", threads(1)), Some(FaultKind::Misaligned));
    assert_eq!(kind("ld.shared.b32 %x, [%s+8];", threads(1)), Some(FaultKind::Uninitialised));
    assert_eq!(kind("st.shared.b32 [%s+4096], %x;", threads(1)), Some(FaultKind::OutOfBounds));
    assert_eq!(kind("mov.u32 %s, 0; st.shared.b32 [%s], %x;", threads(1)), Some(FaultKind::OutOfBounds));
    assert_eq!(kind("mov.u64 %w, 0; ld.b32 %x, [%w];", threads(1)), Some(FaultKind::OutOfBounds));
    assert_eq!(kind("trap;", threads(1)), Some(FaultKind::Trap));
    assert_eq!(kind("", threads(2048)), Some(FaultKind::Launch));
}

#[test]
fn generic_addresses_reach_every_window() {
    let body = "cvt.u64.u32 %w, %z; cvta.shared.u64 %w, %w; st.b32 [%w], %t; isspacep.shared %p, %w; @!%p trap; isspacep.global %p, %w; @%p trap;
        ld.shared.b32 %x, [%z]; mov.u64 %w, stack; cvta.local.u64 %w, %w; st.b32 [%w+8], %x; ld.local.b32 %y, [stack+8];
        mov.b64 %w, out; cvta.param.u64 %w, %w; ld.u64 %w, [%w]; sub.u64 %w, %w, %out; cvt.u32.u64 %x, %w; add.u32 %y, %y, %x; st.global.b32 [%at], %y;";
    assert_eq!(good(body, threads(64), 64), (0..64).collect::<Vec<u32>>());
}

#[test]
fn bank_conflicts_are_counted() {
    let conflicts = |shift: u32| {
        let body = format!("shl.b32 %x, %t, {shift}; add.u32 %x, %x, %s; st.shared.b32 [%x], %t;");
        run(&body, threads(32), 0, 1).unwrap().1
    };
    assert_eq!((conflicts(2).shared_wavefronts, conflicts(2).bank_conflicts), (1, 0));
    assert_eq!((conflicts(3).shared_wavefronts, conflicts(3).bank_conflicts), (2, 1));
    assert_eq!(conflicts(7).bank_conflicts, 31);
    // Wide accesses go in parts of the warp.
    let wide = "shl.b32 %x, %t, 4; add.u32 %x, %x, %s; st.shared.v4.b32 [%x], {%t, %t, %t, %t};";
    let report = run(wide, threads(32), 0, 1).unwrap().1;
    assert_eq!((report.shared_wavefronts, report.bank_conflicts, report.shared_written_bytes), (4, 0, 512));
}

#[test]
fn a_seed_reproduces_a_run() {
    let body = "atom.global.add.u32 %x, [%out], 1; st.global.b32 [%at+4], %x;";
    let order = |seed| run(body, threads(128), seed, 129).unwrap().0;
    assert_eq!(order(3), order(3));
    assert!((0..8).any(|seed| order(seed) != order(3)), "seeds differ in who comes first");
}
