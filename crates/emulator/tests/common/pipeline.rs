//! A warp-specialised GEMM for sm_90a, written by hand: a producer warp feeds a ring of two stages by TMA, a warpgroup
//! multiplies by wgmma, and the result leaves through shared memory by TMA.

#![allow(dead_code, reason = "each test binary uses a part")]

use crate::ptx::setup;
use warpwright_emulator::{Completion, Fault, Launch, Module, TensorElement, TensorMapSpec, TensorSwizzle};
use warpwright_numeric::{Element, bf16, pack};

/// 64 × 64 tile, K tiles of 64, one warpgroup and a producer warp.
pub const STEPS: usize = 6;
const K: usize = 64 * STEPS;
const SHARED: u32 = 2 * 16384 + 16384;

/// Shared memory: stages of A (8 KiB) and B (8 KiB), then D (64 × 64 f32, as two boxes of 32 columns). Barriers: full 0 and 1
/// at +0 and +8, empty 0 and 1 at +16 and +24.
pub fn text() -> String {
    let accumulators = (0..32).map(|i| format!("%f{i}")).collect::<Vec<_>>().join(", ");
    let zero: String = (0..32).map(|i| format!("    mov.f32 %f{i}, 0f00000000;\n")).collect();
    let multiply: String = (0..4)
        .map(|i| {
            format!(
                "    add.s64 %rd12, %rd10, {s};\n    add.s64 %rd13, %rd11, {s};\n    \
                 wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{accumulators}}}, %rd12, %rd13, 1, 1, 1, 0, 0;\n",
                s = 2 * i
            )
        })
        .collect();
    // Row 16 warp + g + 8 (i / 2 % 2), column 8 (i / 4) + 2 t: box column / 32, rows of 128 bytes.
    let store: String = (0..16)
        .map(|i| {
            let (i0, column, row) = (2 * i, 8 * (i / 2), 8 * (i % 2));
            let offset = column / 32 * 8192 + row * 128 + column % 32 * 4;
            format!("    st.shared.v2.f32 [%r20+{offset}], {{%f{i0}, %f{}}};\n", i0 + 1)
        })
        .collect();
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(.param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .align 64 .b8 md[128])
{{
    .shared .align 8 .b8 bars[32];
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<32>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, tile;
    mov.u32 %r2, bars;
    mov.b64 %rd0, ma; cvta.param.u64 %rd0, %rd0;
    mov.b64 %rd1, mb; cvta.param.u64 %rd1, %rd1;
    mov.b64 %rd2, md; cvta.param.u64 %rd2, %rd2;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.init.shared::cta.b64 [%r2+8], 1;
    mbarrier.init.shared::cta.b64 [%r2+16], 4;
    mbarrier.init.shared::cta.b64 [%r2+24], 4;
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
    mov.u32 %r3, 0;
    setp.lt.u32 %p1, %r0, 128;
    @%p1 bra CONSUMER;
    elect.sync _|%p2, 0xFFFFFFFF;
    @!%p2 bra END;
PRODUCE:
    and.b32 %r4, %r3, 1;
    shr.u32 %r5, %r3, 1;
    and.b32 %r5, %r5, 1;
    xor.b32 %r6, %r5, 1;
    shl.b32 %r7, %r4, 3;
    add.u32 %r7, %r7, %r2;
    add.u32 %r8, %r7, 16;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r8], %r6;
    @!%p3 bra EMPTY;
    shl.b32 %r9, %r4, 14;
    add.u32 %r9, %r9, %r1;
    add.u32 %r10, %r9, 8192;
    shl.b32 %r11, %r3, 6;
    mov.u32 %r12, 0;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 16384;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r9], [%rd0, {{%r11, %r12}}], [%r7];
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd1, {{%r11, %r12}}], [%r7];
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p4, %r3, {STEPS};
    @%p4 bra PRODUCE;
    bra END;
CONSUMER:
{zero}CONSUME:
    and.b32 %r4, %r3, 1;
    shr.u32 %r5, %r3, 1;
    and.b32 %r5, %r5, 1;
    shl.b32 %r7, %r4, 3;
    add.u32 %r7, %r7, %r2;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r7], %r5;
    @!%p3 bra FULL;
    shl.b32 %r9, %r4, 14;
    add.u32 %r9, %r9, %r1;
    shr.u32 %r10, %r9, 4;
    cvt.u64.u32 %rd10, %r10;
    or.b64 %rd10, %rd10, 0x4000004000010000;
    add.u64 %rd11, %rd10, 512;
    wgmma.fence.sync.aligned;
{multiply}    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    and.b32 %r11, %r0, 31;
    setp.eq.u32 %p5, %r11, 0;
    @%p5 mbarrier.arrive.shared::cta.b64 _, [%r7+16];
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p4, %r3, {STEPS};
    @%p4 bra CONSUME;
    shr.u32 %r12, %r0, 5;
    shl.b32 %r12, %r12, 11;
    shr.u32 %r13, %r11, 2;
    shl.b32 %r13, %r13, 7;
    and.b32 %r14, %r11, 3;
    shl.b32 %r14, %r14, 3;
    add.u32 %r20, %r1, 32768;
    add.u32 %r21, %r20, 8192;
    mov.u32 %r22, %r20;
    add.u32 %r20, %r20, %r12;
    add.u32 %r20, %r20, %r13;
    add.u32 %r20, %r20, %r14;
{store}    fence.proxy.async.shared::cta;
    bar.sync 1, 128;
    @%p0 bra END;
    mov.u32 %r12, 0;
    mov.u32 %r13, 32;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {{%r12, %r12}}], [%r22];
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {{%r13, %r12}}], [%r21];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
END:
    ret;
}}
"
    )
}

fn values(seed: usize) -> Vec<f32> {
    (0..64 * K).map(|i| ((i * 29 + seed * 17 + i / 61) % 9) as f32 - 4.0).collect()
}

/// Changes to the maps of A, B and D.
pub type Change = fn(&mut [TensorMapSpec; 3]);

pub fn run(text: &str, seed: u64, completion: Completion, change: Change) -> Result<bool, Fault> {
    let (a, b) = (values(1), values(2));
    let bytes = |x: &[f32]| pack(&x.iter().map(|x| <bf16 as Element>::from_f32(*x)).collect::<Vec<_>>());
    let mut setup = setup(seed, completion, &bytes(&a), 64 * 64 * 4);
    let pb = setup.machine.upload(&bytes(&b)).unwrap();
    let operand = |address| TensorMapSpec {
        swizzle: TensorSwizzle::B128,
        ..TensorMapSpec::new(TensorElement::Bf16, address, &[K as u64, 64], &[2 * K as u64], &[64, 64])
    };
    let d = TensorMapSpec::new(TensorElement::F32, setup.output, &[64, 64], &[256], &[32, 64]);
    let mut maps = [operand(setup.input), operand(pb), d];
    change(&mut maps);
    let parameters: Vec<u8> = maps.iter().flat_map(|m| m.encode().expect("a legal map")).collect();
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    setup.machine.launch(&module.kernels()[0], &Launch::linear(1, 160, SHARED), &parameters)?;
    let found: Vec<f32> =
        setup.output(64 * 64 * 4).chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let expected: Vec<f32> =
        (0..64 * 64).map(|i| (0..K).map(|l| a[i / 64 * K + l] * b[i % 64 * K + l]).sum()).collect();
    Ok(found == expected)
}

pub const SAME: Change = |_| {};
