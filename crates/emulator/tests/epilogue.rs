//! What a Hopper epilogue is made of: accumulators through `stmatrix` to shared memory, bulk stores and reductions from there,
//! C through `cp.async` that an mbarrier counts; each with its faults.

#[path = "common/ptx.rs"]
mod ptx;

use ptx::{Setup, kernel, setup, wait};
use warpwright_emulator::{Completion, Fault, FaultKind, Launch, TensorElement, TensorMapSpec};

const FENCE: &str = "    fence.proxy.async.shared::cta;\n";
const MEET: &str = "    bar.sync 0;\n";
const DONE: &str = "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n";

/// Four warps write 128 rows of 8 numbers, each its own place, with `stmatrix` of `count` matrices.
fn matrices(count: usize, transposed: bool) -> String {
    // Row and column of a lane's lower half in a matrix, and what is added for the upper.
    let (first, next) = match transposed {
        false => ("shr.u32 %r13, %r10, 2; shl.b32 %r13, %r13, 3; and.b32 %r14, %r10, 3; shl.b32 %r14, %r14, 1;", 1),
        true => ("and.b32 %r13, %r10, 3; shl.b32 %r13, %r13, 4; shr.u32 %r14, %r10, 2;", 8),
    };
    let mut text = format!(
        "    and.b32 %r10, %r0, 31; shr.u32 %r11, %r0, 5;
    {first} add.u32 %r12, %r13, %r14; mad.lo.u32 %r12, %r11, 256, %r12;
    shl.b32 %r15, %r10, 4; mad.lo.u32 %r15, %r11, 512, %r15; add.u32 %r15, %r15, %r1;
    setp.ge.u32 %p1, %r10, {};
",
        8 * count
    );
    for i in 0..4 {
        text += &format!(
            "    add.u32 %r16, %r12, {}; add.u32 %r17, %r16, {next}; shl.b32 %r17, %r17, 16; or.b32 %r{}, %r16, %r17;\n",
            64 * i,
            20 + i
        );
    }
    for i in 0..4 / count {
        let registers = (0..count).map(|j| format!("%r{}", 20 + i * count + j)).collect::<Vec<_>>().join(", ");
        // Lanes without a row may hold anything.
        text += &format!(
            "    add.u32 %r18, %r15, {}; selp.b32 %r18, 0xFFFFFFF0, %r18, %p1;
    stmatrix.sync.aligned.m8n8.x{count}{}.shared.b16 [%r18], {{{registers}}};\n",
            128 * count * i,
            if transposed { ".trans" } else { "" }
        );
    }
    text
}

/// Thread 0's `rest` after all warps' matrices.
fn epilogue(fence: &str, meet: &str, rest: &str) -> String {
    kernel(&format!("{}{fence}{meet}    @!%p0 bra END;\n{rest}END:\n", matrices(4, false)))
}

fn run(text: &str, map: &dyn Fn(u64) -> TensorMapSpec, seed: u64) -> Result<Setup, Fault> {
    let mut setup = setup(seed, Completion::Seeded, &[0; 2048], 2048);
    let map = map(setup.input).encode().expect("a legal map");
    setup.run(text, &map, Launch::linear(1, 128, 8192)).map(|_| setup)
}

fn planes(address: u64) -> TensorMapSpec {
    TensorMapSpec::new(TensorElement::U16, address, &[8, 128], &[16], &[8, 128])
}

/// The fault that 20 seeds show.
fn fault(text: &str, map: &dyn Fn(u64) -> TensorMapSpec) -> FaultKind {
    (0..20).find_map(|seed| run(text, map, seed).err()).map(|f| f.kind).unwrap_or_else(|| panic!("nothing:\n{text}"))
}

const STORE: &str = "    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {0, 0}], [%r1];\n";

fn numbers(n: u16) -> Vec<u8> {
    (0..n).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn matrices_go_where_they_belong() {
    for (count, transposed) in [1, 2, 4].into_iter().flat_map(|c| [(c, false), (c, true)]) {
        let text =
            kernel(&format!("{}{FENCE}{MEET}    @!%p0 bra END;\n{STORE}{DONE}END:\n", matrices(count, transposed)));
        for seed in 0..4 {
            let mut setup = run(&text, &planes, seed).unwrap_or_else(|f| panic!("{f}"));
            assert!(setup.machine.read(setup.input, 2048).unwrap() == numbers(1024), "x{count} {transposed}");
        }
    }
}

#[test]
fn boxes_of_three_dimensions() {
    // The halves of the rows in two planes, the second of which is cut off behind 40 rows.
    let map = |a| TensorMapSpec::new(TensorElement::U16, a, &[8, 40, 2], &[16, 1024], &[8, 64, 2]);
    let store = "    cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd0, {0, 0, 0}], [%r1];\n";
    for seed in 0..4 {
        let mut setup =
            run(&epilogue(FENCE, MEET, &format!("{store}{DONE}")), &map, seed).unwrap_or_else(|f| panic!("{f}"));
        let found = setup.machine.read(setup.input, 2048).unwrap();
        let mut expected = numbers(1024);
        for plane in 0..2 {
            expected[plane * 1024 + 640..][..384].fill(0);
        }
        assert!(found == expected);
    }
}

#[test]
fn reductions_of_tiles_and_of_bytes() {
    // Words of two numbers, which have no carry.
    let words = |a| TensorMapSpec::new(TensorElement::U32, a, &[4, 128], &[16], &[4, 128]);
    let reduce = STORE.replace("cp.async", "cp.reduce.async").replace("shared::cta.", "shared::cta.add.");
    let bytes = "    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 2048;\n";
    for seed in 0..4 {
        let text = epilogue(FENCE, MEET, &format!("{reduce}{bytes}{DONE}"));
        let mut setup = run(&text, &words, seed).unwrap_or_else(|f| panic!("{f}"));
        let expected: Vec<u8> = (0..1024u16).flat_map(|x| (2 * x).to_le_bytes()).collect();
        assert!(setup.machine.read(setup.input, 2048).unwrap() == expected);
    }
    for (text, kind) in [
        (epilogue("", MEET, &format!("{bytes}{DONE}")), FaultKind::MissingProxyFence),
        (epilogue(FENCE, MEET, &format!("{}{DONE}", bytes.replace("2048", "2040"))), FaultKind::Misaligned),
        (epilogue(FENCE, MEET, bytes), FaultKind::Unbalanced),
    ] {
        assert_eq!(fault(&text, &planes), kind);
    }
}

#[test]
fn planted_faults_between_matrices_and_stores() {
    let rest = format!("{STORE}{DONE}");
    let good = epilogue(FENCE, MEET, &rest);
    assert!((0..20).all(|seed| run(&good, &planes, seed).is_ok()));
    assert_eq!(fault(&epilogue("", MEET, &rest), &planes), FaultKind::MissingProxyFence);
    // A fence of other memory.
    let other = FENCE.replace("shared::cta", "global");
    assert_eq!(fault(&epilogue(&other, MEET, &rest), &planes), FaultKind::MissingProxyFence);
    let all = FENCE.replace(".shared::cta", "");
    assert!((0..20).all(|seed| run(&epilogue(&all, MEET, &rest), &planes, seed).is_ok()));
    let unmet = fault(&epilogue(FENCE, "", &rest), &planes);
    assert!(matches!(unmet, FaultKind::Race | FaultKind::Uninitialised | FaultKind::MissingProxyFence), "{unmet:?}");
    // The next tile's matrices over one that the store still reads.
    let again = "    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r15], {%r20, %r21, %r22, %r23};\n    bar.sync 0;\n";
    let next = |wait: &str| {
        kernel(&format!(
            "{}{FENCE}{MEET}    @!%p0 bra NEXT;\n{STORE}    cp.async.bulk.commit_group;\n{wait}NEXT: bar.sync 0;\n{again}    @%p0 cp.async.bulk.wait_group 0;\n",
            matrices(4, false)
        ))
    };
    let waits = next("    cp.async.bulk.wait_group.read 0;\n");
    assert!((0..20).all(|seed| run(&waits, &planes, seed).is_ok()));
    assert_eq!(fault(&next(""), &planes), FaultKind::AsyncOwned);
    let one_left = next("    cp.async.bulk.wait_group.read 1;\n");
    assert_eq!(fault(&one_left, &planes), FaultKind::AsyncOwned);
    // Rows of matrices lie at multiples of 16 bytes inside shared memory.
    let stored = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r18]";
    let moved = |by: &str| good.replace(stored, &format!("add.u32 %r18, %r18, {by}; {stored}"));
    assert_eq!(fault(&moved("8"), &planes), FaultKind::Misaligned);
    assert_eq!(fault(&moved("65536"), &planes), FaultKind::OutOfBounds);
}

/// Warp 0 copies 512 bytes, which an mbarrier counts; warp 1 waits and gives them out.
fn counted(arrive: &str, count: u32, wait: &str) -> String {
    kernel(&format!(
        "    @%p0 mbarrier.init.shared::cta.b64 [%r2], {count};
    bar.sync 0;
    and.b32 %r10, %r0, 31; shl.b32 %r10, %r10, 4; add.u32 %r11, %r10, %r1;
    cvt.u64.u32 %rd5, %r10; add.u64 %rd6, %rd5, %rd1; add.u64 %rd7, %rd5, %rd2;
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra CONSUME;
    cp.async.cg.shared.global [%r11], [%rd6], 16;
    {arrive}
    bra END;
CONSUME:
{wait}    ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r11];
    st.global.v4.b32 [%rd7], {{%r20, %r21, %r22, %r23}};
END:
"
    ))
}

#[test]
fn copies_that_an_mbarrier_counts() {
    const ARRIVE: &str = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];";
    let input: Vec<u8> = (0..512).map(|i| (i * 5 + i / 256) as u8).collect();
    let run = |text: &str, seed| {
        let mut setup = setup(seed, Completion::Seeded, &input, 512);
        setup.run(text, &[0; 128], Launch::linear(1, 64, 1024)).map(|_| setup.output(512))
    };
    let waits = wait("W", 0, "0");
    for seed in 0..20 {
        assert!(run(&counted(ARRIVE, 32, &waits), seed).unwrap_or_else(|f| panic!("{f}")) == input);
    }
    let fault = |text: &str| (0..20).find_map(|s| run(text, s).err()).unwrap_or_else(|| panic!("nothing:\n{text}"));
    let early = fault(&counted(ARRIVE, 32, ""));
    let kinds = [FaultKind::AsyncOwned, FaultKind::Race, FaultKind::Uninitialised];
    assert!(kinds.contains(&early.kind), "{early}");
    let phase = fault(&counted(ARRIVE, 32, &wait("W", 0, "1")));
    assert!(kinds.contains(&phase.kind) || phase.kind == FaultKind::Deadlock, "{phase}");
    // Arrivals that the count did not foresee, that it did and that never come, and that cancel themselves.
    for (arrive, count, words) in [
        (ARRIVE, 33, "1 of 33 arrivals"),
        ("", 32, "32 of 32 arrivals"),
        ("cp.async.mbarrier.arrive.shared::cta.b64 [%r2];", 32, "32 of 32 arrivals"),
    ] {
        let hangs = fault(&counted(arrive, count, &waits));
        assert!(hangs.kind == FaultKind::Deadlock && hangs.message.contains(words), "{hangs}");
    }
    // The phase ends before the last lane's copy.
    let few = fault(&counted(ARRIVE, 31, &waits));
    assert!(kinds.contains(&few.kind) || few.kind == FaultKind::Mbarrier, "{few}");
}

#[test]
fn timers_and_dependent_launches() {
    let body = "    griddepcontrol.wait;
    mov.u64 %rd5, %globaltimer; mov.u32 %r10, %globaltimer_lo; mov.u64 %rd6, %clock64;
    mov.u64 %rd7, %globaltimer; sub.u64 %rd7, %rd7, %rd5; mov.u64 %rd8, %clock64; sub.u64 %rd8, %rd8, %rd6;
    griddepcontrol.launch_dependents;
    @%p0 st.global.v2.b64 [%rd2], {%rd7, %rd8};\n";
    let mut setup = setup(0, Completion::Seeded, &[0; 16], 16);
    setup.run(&kernel(body), &[0; 128], Launch::linear(1, 32, 0)).unwrap_or_else(|f| panic!("{f}"));
    let out = setup.output(16);
    let passed = |at: usize| u64::from_le_bytes(out[at..at + 8].try_into().unwrap());
    assert!(passed(0) > 0 && passed(8) > 0 && passed(0) < 1000, "time passes, and does not jump");
}
