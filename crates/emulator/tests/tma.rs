//! TMA and bulk copies in every form, with the values that an H200 gave.

#[path = "common/ptx.rs"]
mod ptx;

use ptx::{INIT, Setup, dump, kernel, setup, wait};
use warpwright_emulator::{
    Completion, Fault, FaultKind, Launch, Module, ParseReason, TensorElement, TensorFill, TensorMapSpec, TensorSwizzle,
};

const SHARED: u32 = 32 << 10;
const NO_MAP: [u8; 128] = [0; 128];

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + i / 256 * 13) as u8).collect()
}

/// Loads one box to `tile + at` over a ground of 0xCC and returns `len` bytes from `tile` on.
fn load(
    spec: &dyn Fn(u64) -> TensorMapSpec,
    input: &[u8],
    coordinates: &[i32],
    at: u32,
    len: u32,
) -> Result<Vec<u8>, Fault> {
    let rank = coordinates.len();
    let c = coordinates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let expect = spec(0).box_bytes();
    let body = format!(
        "{INIT}    mov.u32 %r10, 0xCCCCCCCC;
    shl.b32 %r11, %r0, 2;
GROUND: add.u32 %r12, %r11, %r1;
    st.shared.b32 [%r12], %r10;
    add.u32 %r11, %r11, 512;
    setp.lt.u32 %p1, %r11, {len};
    @%p1 bra GROUND;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    add.u32 %r3, %r1, {at};
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {expect};
    @%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd0, {{{c}}}], [%r2];
{}{}",
        wait("W", 0, "0"),
        dump(len)
    );
    let mut found = None;
    for (seed, completion) in [(1, Completion::Early), (2, Completion::Late), (3, Completion::Reordered)] {
        let mut setup = setup(seed, completion, input, len as usize);
        let map = spec(setup.input).encode().expect("a legal map");
        setup.run(&kernel(&body), &map, Launch::linear(1, 128, SHARED))?;
        let out = setup.output(len as usize);
        assert!(found.is_none_or(|f| f == out), "every completion gives the same");
        found = Some(out);
    }
    Ok(found.unwrap_or_default())
}

/// What a load should give, element by element.
fn expected(spec: &TensorMapSpec, input: &[u8], coordinates: &[i32], at: u32, len: u32, fill: &[u8]) -> Vec<u8> {
    let es = spec.element.bytes();
    let mut out = vec![0xCC; len as usize];
    let (row_bytes, rank) = (spec.row_bytes(), coordinates.len());
    let pitch = spec.swizzle.span().max(row_bytes);
    let counts: Vec<u32> = (0..rank)
        .map(|d| if d == 0 { spec.box_dims[0] } else { spec.box_dims[d].div_ceil(spec.element_strides[d]) })
        .collect();
    for n in 0..counts.iter().product() {
        let (mut rest, mut row, mut scale) = (n, 0, 1);
        let mut offset = Some(0usize);
        for d in 0..rank {
            let i = rest % counts[d];
            rest /= counts[d];
            if d > 0 {
                row += i * scale;
                scale *= counts[d];
            }
            let x = coordinates[d] + (i * if d == 0 { 1 } else { spec.element_strides[d] }) as i32;
            let stride = if d == 0 { u64::from(es) } else { spec.strides[d - 1] };
            offset = offset.filter(|_| x >= 0 && (x as u64) < spec.dims[d]).map(|o| o + x as usize * stride as usize);
        }
        // `tile` lies at 0x400, a multiple of every swizzle's period.
        let to = spec.swizzle.apply(at + row * pitch + n % counts[0] * es) as usize;
        for b in 0..es as usize {
            out[to + b] = offset.map_or(fill[b % fill.len()], |o| input[o + b]);
        }
    }
    out
}

fn check(spec: &dyn Fn(u64) -> TensorMapSpec, coordinates: &[i32], at: u32) {
    let input = bytes(64 << 10);
    let len = 16 << 10;
    let found = load(spec, &input, coordinates, at, len).unwrap_or_else(|f| panic!("{f}"));
    let fill: &[u8] = if spec(0).fill == TensorFill::Nan { &[0xF7, 0x7F] } else { &[0] };
    assert!(found == expected(&spec(0), &input, coordinates, at, len, fill), "{:?} at {coordinates:?} + {at}", spec(0));
}

#[test]
fn swizzles_by_absolute_address() {
    for (swizzle, inner) in
        [(TensorSwizzle::None, 64), (TensorSwizzle::B32, 16), (TensorSwizzle::B64, 32), (TensorSwizzle::B128, 64)]
    {
        for at in [0, 128, 384, 896] {
            let spec = |a| TensorMapSpec {
                swizzle,
                ..TensorMapSpec::new(TensorElement::Bf16, a, &[128, 64], &[256], &[inner, 24])
            };
            check(&spec, &[16, 3], at);
        }
    }
}

#[test]
fn rows_narrower_than_the_span_are_padded() {
    for (swizzle, inner) in [
        (TensorSwizzle::B32, 8),
        (TensorSwizzle::B64, 8),
        (TensorSwizzle::B64, 24),
        (TensorSwizzle::B128, 8),
        (TensorSwizzle::B128, 56),
    ] {
        let spec =
            |a| TensorMapSpec { swizzle, ..TensorMapSpec::new(TensorElement::F16, a, &[64, 32], &[128], &[inner, 16]) };
        check(&spec, &[0, 1], 0);
    }
    // Without a swizzle rows are packed.
    for inner in [8, 24, 136, 256] {
        check(&|a| TensorMapSpec::new(TensorElement::U16, a, &[512, 16], &[1024], &[inner, 4]), &[16, 0], 0);
    }
}

#[test]
fn elements_outside_are_filled() {
    for c in [[-8, 0], [0, -3], [72, 30], [-16, 37], [200, 0], [0, -100_000], [-64, -8]] {
        check(&|a| TensorMapSpec::new(TensorElement::Bf16, a, &[77, 40], &[160], &[64, 8]), &c, 0);
        let nan = |a| TensorMapSpec {
            fill: TensorFill::Nan,
            ..TensorMapSpec::new(TensorElement::Bf16, a, &[77, 40], &[160], &[64, 8])
        };
        check(&nan, &c, 0);
    }
}

#[test]
fn ranks_strides_and_element_sizes() {
    check(&|a| TensorMapSpec::new(TensorElement::F32, a, &[300], &[], &[256]), &[60], 0);
    check(&|a| TensorMapSpec::new(TensorElement::U8, a, &[100, 9, 7], &[112, 1024], &[32, 3, 4]), &[16, 7, 2], 0);
    let strides = &[64, 512, 2048];
    check(&|a| TensorMapSpec::new(TensorElement::F32, a, &[16, 8, 4, 3], strides, &[8, 3, 2, 2]), &[4, 6, 1, 2], 0);
    let strides = &[32, 128, 512, 2048];
    check(
        &|a| TensorMapSpec::new(TensorElement::F16, a, &[16, 4, 4, 4, 3], strides, &[8, 2, 2, 2, 2]),
        &[8, 1, 3, 0, 1],
        0,
    );
    // A stride of zero repeats a row, one of 16 is a sliding window.
    for stride in [0, 16, 48] {
        check(&|a| TensorMapSpec::new(TensorElement::Bf16, a, &[64, 20], &[stride], &[64, 8]), &[0, 2], 0);
    }
    // The innermost element stride is ignored.
    let strided = |a| TensorMapSpec {
        element_strides: [3, 2].into_iter().collect(),
        ..TensorMapSpec::new(TensorElement::Bf16, a, &[64, 20], &[128], &[32, 7])
    };
    assert_eq!(strided(0).box_bytes(), 32 * 4 * 2);
    check(&strided, &[8, 1], 0);
}

#[test]
fn tf32_maps_round_to_nearest() {
    let values = [1.0 + 2f32.powi(-11), 1.0 + 1.5 * 2f32.powi(-11), f32::from_bits(1 << 9), -3.0];
    let input: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let spec = |a| TensorMapSpec::new(TensorElement::Tf32, a, &[4], &[], &[4]);
    let found = load(&spec, &input, &[0], 0, 512).unwrap();
    let found: Vec<f32> = found[..16].chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect();
    assert_eq!(found, [1.0, 1.0 + 2f32.powi(-10), 0.0, -3.0]);
}

#[test]
fn illegal_instructions_are_reported() {
    let input = bytes(64 << 10);
    let spec = |a| TensorMapSpec::new(TensorElement::Bf16, a, &[64, 32], &[128], &[32, 8]);
    let kind = |c: &[i32], at| load(&spec, &input, c, at, 4096).map_err(|f| f.kind);
    assert_eq!(kind(&[4, 0], 0), Err(FaultKind::Descriptor), "8 bytes off a multiple of 16");
    assert_eq!(kind(&[-4, 0], 0), Err(FaultKind::Descriptor));
    for at in [16, 32, 64, 112] {
        assert_eq!(kind(&[0, 0], at), Err(FaultKind::Misaligned));
    }
}

/// Fills `tile` with its own offsets, then runs `rest` in thread 0.
fn store(fence: &str, rest: &str) -> String {
    kernel(&format!(
        "    shl.b32 %r11, %r0, 2;
FILL: add.u32 %r12, %r11, %r1;
    st.shared.b32 [%r12], %r11;
    add.u32 %r11, %r11, 512;
    setp.lt.u32 %p1, %r11, 4096;
    @%p1 bra FILL;
    {fence}
    bar.sync 0;
    @!%p0 bra END;
{rest}
END:
"
    ))
}

const FENCE: &str = "fence.proxy.async.shared::cta;";
const STORE: &str = "    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {0, 30}], [%r1];\n";
const DONE: &str = "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n";

fn store_spec(address: u64) -> TensorMapSpec {
    TensorMapSpec::new(TensorElement::U32, address, &[40, 32], &[160], &[32, 8])
}

fn run_store(text: &str, seed: u64) -> Result<Setup, Fault> {
    let ground = vec![0xEE; 40 * 32 * 4];
    let mut setup = setup(seed, Completion::Seeded, &ground, 16);
    let map = store_spec(setup.input).encode().unwrap();
    setup.run(text, &map, Launch::linear(1, 128, SHARED)).map(|_| setup)
}

#[test]
fn stores_clip_at_the_upper_edge() {
    for seed in 0..4 {
        let mut setup = run_store(&store(FENCE, &format!("{STORE}{DONE}")), seed).unwrap_or_else(|f| panic!("{f}"));
        let found = setup.machine.read(setup.input, 40 * 32 * 4).unwrap();
        for (i, word) in found.chunks_exact(4).enumerate() {
            let (row, column) = (i / 40, i % 40);
            let inside = row >= 30 && column < 32;
            let value = if inside { ((row - 30) * 128 + column * 4) as u32 } else { 0xEEEE_EEEE };
            assert_eq!(word, value.to_le_bytes(), "row {row} column {column}");
        }
    }
}

#[test]
fn reductions_add_by_elements() {
    let reduce = STORE.replace("cp.async", "cp.reduce.async").replace("shared::cta.tile", "shared::cta.add.tile");
    let mut setup = run_store(&store(FENCE, &format!("{reduce}{reduce}{DONE}")), 2).unwrap_or_else(|f| panic!("{f}"));
    let found = setup.machine.read(setup.input + 31 * 160, 8).unwrap();
    assert_eq!(found[4..], (0xEEEE_EEEEu32 + 2 * 132).to_le_bytes());
}

#[test]
fn planted_faults_in_stores() {
    let kind = |text: &str| {
        (0..20).find_map(|seed| run_store(text, seed).err()).map(|f| f.kind).expect("20 seeds report something")
    };
    assert_eq!(kind(&store("", &format!("{STORE}{DONE}"))), FaultKind::MissingProxyFence);
    assert_eq!(kind(&store(FENCE, STORE)), FaultKind::Unbalanced);
    let uncommitted = DONE.replace("    cp.async.bulk.commit_group;\n", "");
    assert_eq!(kind(&store(FENCE, &format!("{STORE}{uncommitted}"))), FaultKind::Unbalanced);
    // Shared memory is overwritten before the store has read it.
    let early = format!(
        "{STORE}    cp.async.bulk.commit_group;\n    st.shared.b32 [%r1], 1;\n    cp.async.bulk.wait_group.read 0;\n"
    );
    assert_eq!(kind(&store(FENCE, &early)), FaultKind::AsyncOwned);
    let late = format!(
        "{STORE}    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group.read 0;\n    st.shared.b32 [%r1], 1;\n"
    );
    assert!((0..8).all(|seed| run_store(&store(FENCE, &late), seed).is_ok()));
    assert_eq!(kind(&store(FENCE, &format!("{}{DONE}", STORE.replace("{0, 30}", "{0, -1}")))), FaultKind::Descriptor);
    for off in [16, 64] {
        let moved = format!("add.u32 %r1, %r1, {off};{STORE}{DONE}");
        assert_eq!(kind(&store(FENCE, &moved)), FaultKind::Misaligned);
    }
}

#[test]
fn planted_faults_in_loads() {
    let spec = |a| TensorMapSpec::new(TensorElement::U32, a, &[128, 8], &[512], &[128, 8]);
    let whole = format!(
        "{INIT}    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 4096;
    @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0, {{0, 0}}], [%r2];
{}{}",
        wait("W", 0, "0"),
        dump(4096)
    );
    let input = bytes(4096);
    let run = |text: &str, seed| {
        let mut setup = setup(seed, Completion::Seeded, &input, 4096);
        let map = spec(setup.input).encode().unwrap();
        setup.run(&kernel(text), &map, Launch::linear(1, 128, SHARED)).map(|_| setup.output(4096))
    };
    for seed in 0..20 {
        assert_eq!(run(&whole, seed).unwrap_or_else(|f| panic!("{f}")), input);
    }
    let fault = |text: &str| (0..20).find_map(|s| run(text, s).err()).unwrap_or_else(|| panic!("nothing reported"));
    let no_wait = fault(&whole.replace(&wait("W", 0, "0"), ""));
    let early = [FaultKind::AsyncOwned, FaultKind::Race, FaultKind::Uninitialised];
    assert!(early.contains(&no_wait.kind), "{no_wait}");
    let wrong_phase = fault(&whole.replace(&wait("W", 0, "0"), &wait("W", 0, "1")));
    assert!(early.contains(&wrong_phase.kind), "{wrong_phase}");
    for expect in ["4080", "4112"] {
        let count = fault(&whole.replace("[%r2], 4096", &format!("[%r2], {expect}")));
        assert_eq!(count.kind, FaultKind::Deadlock, "{count}");
        assert!(count.message.contains("transaction bytes pending"), "{count}");
    }
    let no_arrive = fault(
        &whole
            .replace("mbarrier.arrive.expect_tx.shared::cta.b64 _,", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64"),
    );
    assert_eq!(no_arrive.kind, FaultKind::Deadlock, "{no_arrive}");
    let no_init = fault(&whole.replace("mbarrier.init.shared::cta.b64 [%r2], 1", "mov.u32 %r3, 1"));
    assert_eq!(no_init.kind, FaultKind::Mbarrier, "{no_init}");
    let two = fault(&whole.replace("[%r2], 1;", "[%r2], 2;"));
    assert_eq!(two.kind, FaultKind::Deadlock, "{two}");
}

#[test]
fn an_mbarrier_is_no_ordinary_memory() {
    // An H200 shows zeros or an old word to loads, atomics and copies.
    for access in [
        "ld.shared.b64 %rd5, [%r2];",
        "ld.shared.b32 %r10, [%r2+4];",
        "st.shared.b32 [%r2], 0;",
        "atom.shared.or.b32 %r10, [%r2], 0;",
        "mov.u64 %rd5, bars; cvta.shared.u64 %rd5, %rd5; ld.u32 %r10, [%rd5];",
    ] {
        let run = |text: &str| {
            let mut setup = setup(0, Completion::Seeded, &[0; 16], 16);
            setup.run(&kernel(text), &NO_MAP, Launch::linear(1, 32, SHARED)).map_err(|f| f.kind)
        };
        assert_eq!(
            run(&format!("{INIT}    @!%p0 bra END;\n    {access}\nEND:")).err(),
            Some(FaultKind::Mbarrier),
            "{access}"
        );
    }
}

#[test]
fn bulk_copies_of_bytes() {
    let body = format!(
        "{INIT}    @!%p0 bra REST;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 48;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 48, [%r2];
{}    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 48;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
REST:",
        wait("W", 0, "0")
    );
    let input = bytes(48);
    for seed in 0..4 {
        let mut setup = setup(seed, Completion::Seeded, &input, 48);
        setup.run(&kernel(&body), &NO_MAP, Launch::linear(1, 128, SHARED)).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(setup.output(48), input);
    }
    let mut setup = setup(0, Completion::Seeded, &input, 48);
    let fault = setup.run(&kernel(&body.replace("[%rd1], 48", "[%rd1], 40")), &NO_MAP, Launch::linear(1, 128, SHARED));
    assert_eq!(fault.unwrap_err().kind, FaultKind::Misaligned);
}

#[test]
fn a_kernel_makes_its_own_tensor_map() {
    // The template names the wrong address, extents, stride and box; a copy of it in shared memory is put right, published
    // to global memory behind the input, and used.
    let body = format!(
        "{INIT}    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra REST;
    shl.b32 %r10, %r0, 2;
    add.u32 %r11, %r10, %r1;
    cvt.u64.u32 %rd5, %r10;
    add.u64 %rd5, %rd5, %rd0;
    ld.b32 %r12, [%rd5];
    st.shared.b32 [%r11], %r12;
    bar.warp.sync -1;
    @!%p0 bra REPLACED;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd1;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 0, 64;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 1, 16;
    mov.u64 %rd6, 256;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, %rd6;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, 8;
REPLACED:
    bar.warp.sync -1;
    add.u64 %rd7, %rd1, 4096;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd7], [%r1], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;
    add.u32 %r3, %r1, 1024;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 2048;
    mov.u32 %r13, 0;
    mov.u32 %r14, 4;
    @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd7, {{%r13, %r14}}], [%r2];
REST:
{}    add.u32 %r1, %r1, 1024;
{}",
        wait("W", 0, "0"),
        dump(2048)
    );
    let input = bytes(4096 + 128);
    for seed in 0..4 {
        let mut setup = setup(seed, Completion::Seeded, &input, 2048);
        let map = TensorMapSpec::new(TensorElement::F32, 0x100, &[8, 8], &[32], &[64, 1]).encode().unwrap();
        setup.run(&kernel(&body), &map, Launch::linear(1, 128, SHARED)).unwrap_or_else(|f| panic!("{f}"));
        assert!(setup.output(2048) == input[4 * 256..12 * 256], "rows 4 to 11");
    }
}

#[test]
fn a_map_takes_no_value_that_its_field_does_not_have() {
    for (field, legal, illegal) in [
        // Swizzles: none, 32, 64 and 128 bytes; 4 is of sm_103a alone.
        ("swizzle_mode", "3", "4"),
        ("elemtype", "12", "13"),
        ("fill_mode", "1", "2"),
        ("interleave_layout", "0", "1"),
        ("rank", "4", "256"),
    ] {
        let parse = |value: &str| {
            Module::parse(&kernel(&format!("    tensormap.replace.tile.{field}.shared::cta.b1024.b32 [%r1], {value};")))
        };
        assert!(parse(legal).is_ok(), "{field} {legal}: {:?}", parse(legal).err());
        let error = parse(illegal).expect_err(field);
        assert!(matches!(error.reason, ParseReason::Operands(_)) && error.to_string().contains(illegal), "{error}");
    }
}

#[test]
fn a_map_in_global_memory_lies_at_a_multiple_of_64() {
    let body = |offset: u32| {
        format!(
            "{INIT}    add.u64 %rd7, %rd1, {offset};
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
    @%p0 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd7, {{0}}], [%r2];
{}{}",
            wait("W", 0, "0"),
            dump(512)
        )
    };
    let run = |offset: u32| {
        let mut setup = setup(1, Completion::Seeded, &bytes(2048), 512);
        let map = TensorMapSpec::new(TensorElement::U32, setup.input + 1024, &[128], &[], &[128]).encode().unwrap();
        setup.machine.write(setup.input + u64::from(offset), &map).unwrap();
        setup.run(&kernel(&body(offset)), &NO_MAP, Launch::linear(1, 128, SHARED)).map(|_| setup.output(512))
    };
    assert_eq!(run(64).unwrap_or_else(|f| panic!("{f}")), bytes(2048)[1024..1536]);
    assert_eq!(run(96).map_err(|f| f.kind), Err(FaultKind::Misaligned));
}
