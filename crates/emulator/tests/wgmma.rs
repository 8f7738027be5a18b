//! wgmma from every layout of shared memory, and its rules.

#[path = "common/ptx.rs"]
mod ptx;

use ptx::{kernel, setup};
use warpwright_emulator::{Completion, FaultKind, Launch, TensorSwizzle};
use warpwright_numeric::{Element, bf16, e4m3, pack};

const SHARED: u32 = 32 << 10;
/// Where A and B lie behind the window's start at 0x400.
const A: u32 = 0x400;
const B: u32 = 0x400 + (16 << 10);

fn matrix(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 + seed * 11 + i / 7) % 11) as f32 - 5.0).collect()
}

/// An operand of 64 rows in shared memory.
#[derive(Clone, Copy)]
struct Layout {
    swizzle: TensorSwizzle,
    /// M or N is contiguous.
    transposed: bool,
}

impl Layout {
    /// Bytes between groups of 8: (leading, stride) byte offsets of the descriptor for 64 (mn) × k elements of 2 bytes.
    fn offsets(self, k: u32) -> (u32, u32) {
        let span = self.swizzle.span();
        match (self.transposed, span) {
            // 8 × 16 byte core matrices, neighbours along k outside: all rows first.
            (false, 0) => (64 * 16, 128),
            (false, _) => (16, 8 * span),
            // The same with roles exchanged: stride between mn chunks, leading between groups of 8 k.
            (true, 0) => (8 * 128, 128),
            // Chunks of one span, each with all k.
            (true, _) => (span * k, 8 * span),
        }
    }

    fn descriptor(self, start: u32, k: u32) -> u64 {
        let (leading, stride) = self.offsets(k);
        let mode = match self.swizzle {
            TensorSwizzle::None => 0,
            TensorSwizzle::B128 => 1u64,
            TensorSwizzle::B64 => 2,
            TensorSwizzle::B32 => 3,
        };
        u64::from(start >> 4) | u64::from(leading >> 4) << 16 | u64::from(stride >> 4) << 32 | mode << 62
    }

    /// Address of element (mn, k), written independently of the emulator's own formula.
    fn address(self, start: u32, mn: u32, k: u32, depth: u32) -> u32 {
        let span = self.swizzle.span();
        match (self.transposed, span) {
            (false, 0) => start + k / 8 * 1024 + mn * 16 + k % 8 * 2,
            (false, _) => self.swizzle.apply(start + mn * span + k * 2),
            (true, 0) => start + k / 8 * 1024 + mn / 8 * 128 + k % 8 * 16 + mn % 8 * 2,
            (true, _) => self.swizzle.apply(start + mn * 2 / span * (span * depth) + k * span + mn * 2 % span),
        }
    }
}

/// Copies the 32 KiB image at `in` to shared memory with plain stores, fences, and runs `body` in one warpgroup; then stores
/// the 32 accumulators `%f0`… of every thread.
fn text(fence: &str, body: &str) -> String {
    let zero: String = (0..32).map(|i| format!("    mov.f32 %f{i}, 0f00000000;\n")).collect();
    let out: String = (0..32).map(|i| format!("    st.global.f32 [%rd10+{}], %f{i};\n", 4 * i)).collect();
    kernel(&format!(
        "    shl.b32 %r10, %r0, 4;
COPY: cvt.u64.u32 %rd5, %r10;
    add.u64 %rd5, %rd5, %rd1;
    ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%rd5];
    add.u32 %r11, %r10, 1024;
    st.shared.v4.b32 [%r11], {{%r20, %r21, %r22, %r23}};
    add.u32 %r10, %r10, 2048;
    setp.lt.u32 %p1, %r10, {SHARED};
    @%p1 bra COPY;
    {fence}
    bar.sync 0;
{zero}{body}
    mul.wide.u32 %rd10, %r0, 128;
    add.u64 %rd10, %rd10, %rd2;
{out}"
    ))
}

const FENCE: &str = "fence.proxy.async.shared::cta;";

fn accumulators() -> String {
    (0..32).map(|i| format!("%f{i}")).collect::<Vec<_>>().join(", ")
}

fn wgmma_bf16(a: u64, b: u64, ta: bool, tb: bool) -> String {
    format!(
        "    wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{}}}, {a}, {b}, 1, 1, 1, {}, {};\n",
        accumulators(),
        u8::from(ta),
        u8::from(tb)
    )
}

const BEGIN: &str = "    wgmma.fence.sync.aligned;\n";
const END: &str = "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n";

fn image(parts: &[(Layout, u32, &[f32], u32)]) -> Vec<u8> {
    let mut out = vec![0u8; SHARED as usize];
    for (layout, start, values, depth) in parts {
        for mn in 0..64 {
            for k in 0..*depth {
                let at = (layout.address(*start, mn, k, *depth) - 0x400) as usize;
                let x = <bf16 as Element>::from_f32(values[(mn * depth + k) as usize]);
                out[at..at + 2].copy_from_slice(&x.to_le_bytes());
            }
        }
    }
    out
}

/// The accumulators as a 64 × 64 matrix.
fn gather(bytes: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; 64 * 64];
    for thread in 0..128 {
        for i in 0..32 {
            let at = (thread * 32 + i) * 4;
            let (warp, lane) = (thread / 32, thread % 32);
            let row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
            let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
            out[row * 64 + column] = f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        }
    }
    out
}

fn product(a: &[f32], b: &[f32], k: usize) -> Vec<f32> {
    (0..64 * 64).map(|i| (0..k).map(|l| a[i / 64 * k + l] * b[i % 64 * k + l]).sum()).collect()
}

#[test]
fn every_layout_of_both_operands() {
    let swizzles = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];
    let layouts: Vec<Layout> = swizzles
        .into_iter()
        .flat_map(|swizzle| [false, true].map(|transposed| Layout { swizzle, transposed }))
        .collect();
    let k = 16;
    let (a, b) = (matrix(64 * k, 1), matrix(64 * k, 2));
    for (n, (x, y)) in layouts.iter().flat_map(|x| layouts.iter().map(move |y| (x, y))).enumerate() {
        let text = text(
            FENCE,
            &format!(
                "{BEGIN}{}{END}",
                wgmma_bf16(x.descriptor(A, 16), y.descriptor(B, 16), x.transposed, y.transposed)
            ),
        );
        let image = image(&[(*x, A, &a, 16), (*y, B, &b, 16)]);
        let mut setup = setup(n as u64, Completion::Seeded, &image, 128 * 128);
        setup.run(&text, &[0; 128], Launch::linear(1, 128, SHARED)).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(gather(&setup.output(128 * 128)), product(&a, &b, k), "{:?} {:?}", x.swizzle, y.swizzle);
    }
}

#[test]
fn distances_that_are_not_used_may_be_anything() {
    // As on an H200: the leading distance of a swizzled operand along K, and of one along M or N that fits one chunk.
    let k_major = Layout { swizzle: TensorSwizzle::B64, transposed: false };
    let mn_major = Layout { swizzle: TensorSwizzle::B128, transposed: true };
    let (a, b) = (matrix(64 * 16, 7), matrix(64 * 16, 8));
    let image = image(&[(k_major, A, &a, 16), (mn_major, B, &b, 16)]);
    for leading in [0u64, 1, 7, 0x3FF] {
        let other = |bits: u64| bits & !(0x3FFF << 16) | leading << 16;
        let mma = wgmma_bf16(other(k_major.descriptor(A, 16)), other(mn_major.descriptor(B, 16)), false, true);
        let mut setup = setup(leading, Completion::Seeded, &image, 128 * 128);
        let text = text(FENCE, &format!("{BEGIN}{mma}{END}"));
        setup.run(&text, &[0; 128], Launch::linear(1, 128, SHARED)).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(gather(&setup.output(128 * 128)), product(&a, &b, 16), "leading {leading}");
    }
}

#[test]
fn steps_along_k_inside_a_swizzle() {
    let layout = Layout { swizzle: TensorSwizzle::B128, transposed: false };
    let (a, b) = (matrix(64 * 64, 3), matrix(64 * 64, 4));
    let step = |start: u32, i: u32| layout.descriptor(start + 32 * i, 64);
    let body: String = (0..4).map(|i| wgmma_bf16(step(A, i), step(B, i), false, false)).collect();
    for completion in [Completion::Early, Completion::Late, Completion::Reordered] {
        let mut setup = setup(9, completion, &image(&[(layout, A, &a, 64), (layout, B, &b, 64)]), 128 * 128);
        let text = text(FENCE, &format!("{BEGIN}{body}{END}"));
        setup.run(&text, &[0; 128], Launch::linear(1, 128, SHARED)).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(gather(&setup.output(128 * 128)), product(&a, &b, 64));
    }
}

#[test]
fn fp8_loses_what_hardware_loses() {
    // 32 products of 1 are lost entirely beside 2^14, and kept beside 2^13.
    let ones = pack(&vec![e4m3::from_f32(1.0); SHARED as usize]);
    for (power, kept) in [(13, true), (14, false)] {
        let c = 2f32.powi(power);
        let set: String = (0..32).map(|i| format!("    mov.f32 %f{i}, 0f{:08X};\n", c.to_bits())).collect();
        let layout = Layout { swizzle: TensorSwizzle::None, transposed: false };
        let body = format!(
            "{set}{BEGIN}    wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {{{}}}, {}, {}, 1, 1, 1;\n{END}",
            accumulators(),
            layout.descriptor(A, 16),
            layout.descriptor(B, 16)
        );
        let mut setup = setup(0, Completion::Seeded, &ones, 128 * 128);
        setup.run(&text(FENCE, &body), &[0; 128], Launch::linear(1, 128, SHARED)).unwrap_or_else(|f| panic!("{f}"));
        let expected = if kept { c + 32.0 } else { c };
        assert!(gather(&setup.output(128 * 128)).iter().all(|x| *x == expected));
    }
}

#[test]
fn planted_faults() {
    let layout = Layout { swizzle: TensorSwizzle::B128, transposed: false };
    let (a, b) = (matrix(64 * 16, 5), matrix(64 * 16, 6));
    let image = image(&[(layout, A, &a, 16), (layout, B, &b, 16)]);
    let mma = wgmma_bf16(layout.descriptor(A, 16), layout.descriptor(B, 16), false, false);
    let kind = |fence: &str, body: &str| {
        let text = text(fence, body);
        let faults = (0..20).find_map(|seed| {
            let mut setup = setup(seed, Completion::Seeded, &image, 128 * 128);
            setup.run(&text, &[0; 128], Launch::linear(1, 128, SHARED)).err()
        });
        faults.map(|f| f.kind)
    };
    let good = format!("{BEGIN}{mma}{END}");
    assert_eq!(kind(FENCE, &good), None);
    assert_eq!(kind("", &good), Some(FaultKind::MissingProxyFence));
    assert_eq!(kind(FENCE, &format!("{mma}{END}")), Some(FaultKind::RegisterInFlight), "no wgmma.fence");
    let no_wait = END.replace("    wgmma.wait_group.sync.aligned 0;\n", "");
    assert_eq!(kind(FENCE, &format!("{BEGIN}{mma}{no_wait}")), Some(FaultKind::RegisterInFlight));
    let loose = END.replace("aligned 0", "aligned 1");
    assert_eq!(kind(FENCE, &format!("{BEGIN}{mma}{loose}")), Some(FaultKind::RegisterInFlight));
    let no_commit = END.replace("    wgmma.commit_group.sync.aligned;\n", "");
    assert_eq!(kind(FENCE, &format!("{BEGIN}{mma}{no_commit}")), Some(FaultKind::RegisterInFlight));
    // An operand is overwritten while the instruction may still read it.
    let overwrite = format!("{BEGIN}{mma}    st.shared.b32 [{B}], %r0;\n{END}");
    assert_eq!(kind(FENCE, &overwrite), Some(FaultKind::AsyncOwned));
    let touched = format!("{BEGIN}    add.f32 %f3, %f3, %f3;\n{mma}{END}");
    assert_eq!(kind(FENCE, &touched), Some(FaultKind::RegisterInFlight));
    // A's registers are the instruction's until it is waited for.
    let registers = format!(
        "    wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{}}}, {{%r40, %r41, %r42, %r43}}, {}, 1, 1, 1, 0;\n",
        accumulators(),
        layout.descriptor(B, 16)
    );
    let zero = "    mov.u32 %r40, 0; mov.u32 %r41, 0; mov.u32 %r42, 0; mov.u32 %r43, 0;\n";
    let next = "    mov.u32 %r41, 1;\n";
    assert_eq!(kind(FENCE, &format!("{zero}{BEGIN}{registers}{END}{next}")), None);
    assert_eq!(kind(FENCE, &format!("{zero}{BEGIN}{registers}{next}{END}")), Some(FaultKind::RegisterInFlight));
    assert_eq!(kind(FENCE, &format!("{BEGIN}{zero}{registers}{END}")), Some(FaultKind::RegisterInFlight));
    // Descriptors that name memory outside, or use bits that do not exist.
    let outside = wgmma_bf16(layout.descriptor(A + (128 << 10), 16), layout.descriptor(B, 16), false, false);
    assert_eq!(kind(FENCE, &format!("{BEGIN}{outside}{END}")), Some(FaultKind::OutOfBounds));
    let offset = wgmma_bf16(layout.descriptor(A, 16) | 1 << 52, layout.descriptor(B, 16), false, false);
    assert_eq!(kind(FENCE, &format!("{BEGIN}{offset}{END}")), Some(FaultKind::Descriptor));
    // Only some lanes.
    let some = format!("{BEGIN}    setp.ne.u32 %p3, %r0, 7;\n    @%p3 {}{END}", mma.trim_start());
    assert!(matches!(kind(FENCE, &some), Some(FaultKind::Divergence | FaultKind::Deadlock)));
}
