//! `wgmma` of every type, with A in shared memory and in registers, in every layout, swizzle and width.

use super::Micro;
use super::data::Noise;
use super::kernel::{fill, frame, list, micro};
use super::mma::word;

/// Bytes of a swizzle's rows by the descriptor's code for it.
const SPANS: [u32; 4] = [16, 128, 64, 32];

pub(super) fn all() -> Vec<Micro> {
    let mut out = Vec::new();
    for (d, a, b) in TYPES {
        let saturations: &[&str] = if d == "s32" { &["", ".satfinite"] } else { &[""] };
        for saturate in saturations {
            for registers in [false, true] {
                out.push(numerics(d, a, b, saturate, registers));
            }
        }
    }
    for (d, a, b) in [
        ("f32", "bf16", "bf16"),
        ("f16", "f16", "f16"),
        ("f32", "tf32", "tf32"),
        ("f32", "e4m3", "e5m2"),
        ("f16", "e5m2", "e4m3"),
        ("s32", "s8", "u8"),
    ] {
        let all: Vec<u32> = (8..=256).step_by(8).filter(|n| d != "s32" || n % 16 == 0 || matches!(n, 8 | 24)).collect();
        for registers in [false, true] {
            out.extend(all.chunks(WIDTHS).map(|ns| widths(d, a, b, registers, ns)));
        }
    }
    for element in ["bf16", "f16"] {
        for majors in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            out.push(swizzles(element, majors));
        }
    }
    for (d, element) in [("f32", "tf32"), ("f32", "e4m3"), ("s32", "s8")] {
        out.push(k_major(d, element));
    }
    out.push(steps());
    out.push(bases());
    for element in ["bf16", "f16", "tf32", "e4m3"] {
        for in_registers in [false, true] {
            out.push(operands(element, in_registers));
        }
    }
    out.push(groups());
    out
}

const TYPES: [(&str, &str, &str); 16] = [
    ("f32", "f16", "f16"),
    ("f16", "f16", "f16"),
    ("f32", "bf16", "bf16"),
    ("f32", "tf32", "tf32"),
    ("f32", "e4m3", "e4m3"),
    ("f32", "e4m3", "e5m2"),
    ("f32", "e5m2", "e4m3"),
    ("f32", "e5m2", "e5m2"),
    ("f16", "e4m3", "e4m3"),
    ("f16", "e4m3", "e5m2"),
    ("f16", "e5m2", "e4m3"),
    ("f16", "e5m2", "e5m2"),
    ("s32", "s8", "s8"),
    ("s32", "s8", "u8"),
    ("s32", "u8", "s8"),
    ("s32", "u8", "u8"),
];

/// Elements of K in an instruction: 32 bytes.
fn depth(element: &str) -> u32 {
    match element {
        "f16" | "bf16" => 16,
        "tf32" => 8,
        _ => 32,
    }
}

/// Registers of D.
fn accumulators(n: u32, d: &str) -> u32 {
    if d == "f16" { n / 4 } else { n / 2 }
}

/// The kind of D's registers and their type.
fn register(d: &str) -> (&'static str, &'static str) {
    if d == "f32" { ("f", "f32") } else { ("r", "b32") }
}

/// Makes a matrix descriptor in `%x{to}` of shared memory at `%tile + at`.
fn descriptor(to: u32, at: u32, leading: u32, stride: u32, swizzle: u32, base: u32) -> String {
    let fields =
        u64::from(leading >> 4) << 16 | u64::from(stride >> 4) << 32 | u64::from(base) << 49 | u64::from(swizzle) << 62;
    format!(
        "    add.u32 %r200, %tile, {at}; and.b32 %r200, %r200, 0x3FFFF; shr.u32 %r200, %r200, 4; cvt.u64.u32 %x{to}, %r200; or.b64 %x{to}, %x{to}, {fields:#018X};\n"
    )
}

/// What comes before and after a multiplication.
const FENCE: &str = "    wgmma.fence.sync.aligned;\n";
const DONE: &str = "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n";

/// The operands behind the descriptors: whether D is added to, signs, transpositions.
fn tail(element: &str, in_registers: bool, scale: &str, signs: (i32, i32), transposed: (u32, u32)) -> String {
    match (element, in_registers) {
        ("s8" | "u8", _) => scale.to_owned(),
        ("f16" | "bf16", false) => {
            format!("{scale}, {}, {}, {}, {}", signs.0, signs.1, transposed.0, transposed.1)
        }
        ("f16" | "bf16", true) => format!("{scale}, {}, {}, {}", signs.0, signs.1, transposed.1),
        _ => format!("{scale}, {}, {}", signs.0, signs.1),
    }
}

/// Mixes `count` accumulators into one word and stores it for each thread.
fn digest(d: &str, count: u32, offset: u32) -> String {
    let (kind, _) = register(d);
    let mut out = String::from("    mov.u32 %r201, 0;\n");
    for i in 0..count {
        let source = if kind == "f" { format!("mov.b32 %r202, %f{i};") } else { format!("mov.b32 %r202, %r{i};") };
        out += &format!("    {source} mad.lo.u32 %r201, %r201, 0x9E3779B1, %r202;\n");
    }
    out += &format!("    st.global.b32 [%x50+{offset}], %r201;\n");
    out
}

/// The words of a tile of one type, of one kind of data.
fn words(element: &str, kind: u32, bytes: u32, noise: &mut Noise) -> Vec<u8> {
    (0..bytes / 8).flat_map(|_| word(element, kind, noise).to_le_bytes()).collect()
}

/// Loads thread's share of C into D's registers from `%x51`.
fn load(d: &str, count: u32) -> String {
    let (kind, ty) = register(d);
    (0..count).map(|i| format!("    ld.global.{ty} %{kind}{i}, [%x51+{}];\n", 4 * i)).collect()
}

/// Each block has its own kind of data; N is 16.
fn numerics(d: &str, a: &str, b: &str, saturate: &str, in_registers: bool) -> Micro {
    const N: u32 = 16;
    const BLOCKS: u32 = 6;
    let place = if in_registers { "registers" } else { "shared" };
    let name = format!("wgmma{saturate} {d} {a} {b} A in {place}");
    let k = depth(a);
    let count = accumulators(N, d);
    let (kind, ty) = register(d);
    let (a_bytes, b_bytes, c_bytes) = (2048, 512, 128 * 4 * count);
    let share = a_bytes + b_bytes + c_bytes;
    let mut body = format!("    mul.wide.u32 %x49, %cta, {share}; add.u64 %in, %in, %x49;\n");
    body += &fill("FILL", 0, 0, a_bytes + b_bytes, 128);
    body += &format!(
        "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x51, %t, {}, %in; add.u64 %x51, %x51, {};\n",
        4 * count,
        a_bytes + b_bytes
    );
    body += &load(d, count);
    body += "    mad.wide.u32 %x52, %t, 16, %in; ld.global.v4.b32 {%r220, %r221, %r222, %r223}, [%x52];\n";
    body += &descriptor(1, 0, 128, 256, 0, 0);
    body += &descriptor(2, a_bytes, 128, 256, 0, 0);
    let source = if in_registers { list("r", 220, 4) } else { "%x1".to_owned() };
    body += &format!(
        "{FENCE}    wgmma.mma_async.sync.aligned.m64n{N}k{k}{saturate}.{d}.{a}.{b} {}, {source}, %x2, {};\n{DONE}",
        list(kind, 0, count),
        tail(a, in_registers, "1", (1, 1), (0, 0))
    )
    .replace(&format!("{saturate}.{d}.{a}.{b}"), &format!(".{d}.{a}.{b}{saturate}"));
    body += &format!("    mad.lo.u32 %r203, %cta, 128, %t; mad.wide.u32 %x50, %r203, {}, %out;\n", 4 * count);
    for i in 0..count {
        body += &format!("    st.global.{ty} [%x50+{}], %{kind}{i};\n", 4 * i);
    }
    let mut noise = Noise::of(&name);
    let mut input = Vec::new();
    for block in 0..BLOCKS {
        // Kinds 0 to 2 differ by their spread; 4 to 7 hold the corners.
        let kind = [1, 2, 3, 4, 5, 7][block as usize];
        input.extend(words(a, kind, a_bytes, &mut noise));
        input.extend(words(b, kind, b_bytes, &mut noise));
        input.extend(words(d, kind, c_bytes, &mut noise));
    }
    let mut micro = micro(&name, frame(&body), 128, 4096, input, (BLOCKS * 128 * 4 * count) as usize);
    micro.blocks = BLOCKS;
    micro
}

/// Widths in one kernel: more take the assembler seconds.
const WIDTHS: usize = 4;

/// Some N: a digest of D for each thread after each, D going on from one to the next.
fn widths(d: &str, a: &str, b: &str, in_registers: bool, ns: &[u32]) -> Micro {
    let place = if in_registers { "registers" } else { "shared" };
    let name = format!("wgmma widths {ns:?} {d} {a} {b} A in {place}");
    let k = depth(a);
    let (kind, ty) = register(d);
    let mut body = fill("FILL", 0, 0, 2048 + 8192, 128);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x50, %t, 4, %out;\n";
    body += "    mad.wide.u32 %x52, %t, 16, %in; ld.global.v4.b32 {%r220, %r221, %r222, %r223}, [%x52];\n";
    for i in 0..accumulators(ns.iter().copied().max().unwrap_or(8), d) {
        body += &format!("    mov.{ty} %{kind}{i}, {};\n", if ty == "f32" { "0f00000000" } else { "0" });
    }
    body += &descriptor(1, 0, 128, 256, 0, 0);
    body += &descriptor(2, 2048, 128, 256, 0, 0);
    let source = if in_registers { list("r", 220, 4) } else { "%x1".to_owned() };
    let mut offset = 0;
    for &n in ns {
        body += &format!(
            "{FENCE}    wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b} {}, {source}, %x2, {};\n{DONE}",
            list(kind, 0, accumulators(n, d)),
            tail(a, in_registers, "1", (1, 1), (0, 0))
        );
        body += &digest(d, accumulators(n, d), offset);
        offset += 512;
    }
    let mut noise = Noise::of(&name);
    let mut input = words(a, 1, 2048, &mut noise);
    input.extend(words(b, 1, 8192, &mut noise));
    micro(&name, frame(&body), 128, 12 << 10, input, offset as usize)
}

/// Where the bytes of a 16-bit operand of 64 × 16 lie: stride between K (or MN) neighbours, stride between the others.
fn strides(mn_major: bool, swizzle: u32, padded: bool) -> (u32, u32) {
    let span = SPANS[swizzle as usize];
    let pad = if padded { 128 } else { 0 };
    match (mn_major, swizzle) {
        // Core matrices one after the other along K, then along M or N.
        (false, 0) => (128 + pad, 256 + 4 * pad),
        // The first is ignored.
        (false, _) => (16, 8 * span + 8 * pad),
        (true, 0) => (1024 + 8 * pad, 128 + pad),
        (true, _) => (16 * span + 16 * pad, 8 * span + 8 * pad),
    }
}

/// One major of A and of B in every swizzle, dense and padded.
fn swizzles(element: &str, (a_major, b_major): (u32, u32)) -> Micro {
    let name = format!("wgmma swizzles {element}, majors {a_major} {b_major}");
    let mut body = fill("FILL", 0, 0, 32 << 10, 128);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x50, %t, 4, %out;\n";
    let mut offset = 0;
    for a_swizzle in 0..4 {
        for b_swizzle in 0..4 {
            let padded = (a_swizzle + b_swizzle + a_major) % 2 == 1;
            let (la, sa) = strides(a_major == 1, a_swizzle, padded);
            let (lb, sb) = strides(b_major == 1, b_swizzle, !padded);
            body += &descriptor(1, 0, la, sa, a_swizzle, 0);
            body += &descriptor(2, 16 << 10, lb, sb, b_swizzle, 0);
            body += &format!(
                "{FENCE}    wgmma.mma_async.sync.aligned.m64n64k16.f32.{element}.{element} {}, %x1, %x2, {};\n{DONE}",
                list("f", 0, 32),
                tail(element, false, "0", (1, 1), (a_major, b_major))
            );
            body += &digest("f32", 32, offset);
            offset += 512;
        }
    }
    let mut noise = Noise::of(&name);
    let input = words(element, 1, 32 << 10, &mut noise);
    micro(&name, frame(&body), 128, 32 << 10, input, offset as usize)
}

/// The types that are K-major only, in every swizzle.
fn k_major(d: &str, element: &str) -> Micro {
    let name = format!("wgmma swizzles {element}");
    let mut body = fill("FILL", 0, 0, 32 << 10, 128);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x50, %t, 4, %out;\n";
    let (kind, ty) = register(d);
    for i in 0..32 {
        body += &format!("    mov.{ty} %{kind}{i}, {};\n", if ty == "f32" { "0f00000000" } else { "0" });
    }
    let mut offset = 0;
    for a_swizzle in 0..4 {
        for b_swizzle in 0..4 {
            let (la, sa) = strides(false, a_swizzle, b_swizzle % 2 == 1);
            let (lb, sb) = strides(false, b_swizzle, a_swizzle % 2 == 1);
            body += &descriptor(1, 0, la, sa, a_swizzle, 0);
            body += &descriptor(2, 16 << 10, lb, sb, b_swizzle, 0);
            body += &format!(
                "{FENCE}    wgmma.mma_async.sync.aligned.m64n64k{}.{d}.{element}.{element} {}, %x1, %x2, {};\n{DONE}",
                depth(element),
                list(kind, 0, 32),
                tail(element, false, "0", (1, 1), (0, 0))
            );
            body += &digest(d, 32, offset);
            offset += 512;
        }
    }
    let mut noise = Noise::of(&name);
    let input = words(element, 1, 32 << 10, &mut noise);
    micro(&name, frame(&body), 128, 32 << 10, input, offset as usize)
}

/// A kernel that multiplies once for each pair of descriptors of 64 × 16 A and 16 × 16 B, bf16.
fn tiles(name: &str, list_of_a: &[String]) -> Micro {
    let mut body = fill("FILL", 0, 0, 40 << 10, 128);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x50, %t, 4, %out;\n";
    body += &descriptor(2, 32 << 10, 128, 256, 0, 0);
    let mut offset = 0;
    for a in list_of_a {
        body += &format!(
            "{a}{FENCE}    wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {}, %x1, %x2, 0, 1, 1, 0, 0;\n{DONE}{}",
            list("f", 0, 8),
            digest("f32", 8, offset)
        );
        offset += 512;
    }
    let mut noise = Noise::of(name);
    let input = words("bf16", 1, 40 << 10, &mut noise);
    micro(name, frame(&body), 128, 40 << 10, input, offset as usize)
}

/// Steps along K within a swizzle's atom, tiles off the pattern's period, leading offsets that are ignored, starts at multiples
/// of 16 without a swizzle.
fn steps() -> Micro {
    let mut list = Vec::new();
    for swizzle in 1..4 {
        let span = SPANS[swizzle as usize];
        list.extend((0..span / 32).map(|step| descriptor(1, 32 * step, 16, 8 * span, swizzle, 0)));
        list.extend((1..span / 16).map(|line| descriptor(1, 128 * line, 16, 8 * span, swizzle, 0)));
        list.push(descriptor(1, 0, 0x3FF0, 8 * span, swizzle, 0));
    }
    list.extend([16, 48, 112, 144, 1008].map(|start| descriptor(1, start, 1152, 128, 0, 0)));
    tiles("wgmma steps", &list)
}

/// Base offsets, at tiles on and off the pattern's period.
fn bases() -> Micro {
    let mut list = Vec::new();
    for swizzle in 1..4 {
        let span = SPANS[swizzle as usize];
        for line in 1..span / 16 {
            list.push(descriptor(1, 128 * line, 16, 8 * span, swizzle, line));
            list.push(descriptor(1, 0, 16, 8 * span, swizzle, line));
        }
    }
    tiles("wgmma base offsets", &list)
}

/// Signs of A and B, D added to or not by constant and by predicate; B transposed if it is f16.
fn operands(element: &str, in_registers: bool) -> Micro {
    let place = if in_registers { "registers" } else { "shared" };
    let name = format!("wgmma operands {element} A in {place}");
    let mut body = fill("FILL", 0, 0, 8 << 10, 128);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x50, %t, 4, %out;\n";
    body += "    mad.wide.u32 %x52, %t, 16, %in; ld.global.v4.b32 {%r220, %r221, %r222, %r223}, [%x52];\n";
    body += "    ld.global.b32 %r210, [%in]; setp.eq.u32 %p1, %r210, %r210; setp.ne.u32 %p2, %r210, %r210;\n";
    for i in 0..8 {
        body += &format!("    mov.f32 %f{i}, 0f3F800000;\n");
    }
    body += &descriptor(1, 0, 128, 256, 0, 0);
    body += &descriptor(2, 4096, 128, 256, 0, 0);
    let source = if in_registers { "{%r220, %r221, %r222, %r223}" } else { "%x1" };
    let mut offset = 0;
    for scale in ["1", "0", "%p1", "%p2"] {
        for signs in [(1, 1), (-1, 1), (1, -1), (-1, -1)] {
            body += &format!(
                "{FENCE}    wgmma.mma_async.sync.aligned.m64n16k{}.f32.{element}.{element} {}, {source}, %x2, {};\n{DONE}",
                depth(element),
                list("f", 0, 8),
                tail(element, in_registers, scale, signs, (0, u32::from(element == "f16")))
            );
            body += &digest("f32", 8, offset);
            offset += 512;
        }
    }
    let mut noise = Noise::of(&name);
    let input = words(element, 0, 8 << 10, &mut noise);
    micro(&name, frame(&body), 128, 8 << 10, input, offset as usize)
}

/// Two accumulators, two groups, waited for one after the other; two warpgroups.
fn groups() -> Micro {
    let mut body = fill("FILL", 0, 0, 16 << 10, 256);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mad.wide.u32 %x50, %t, 4, %out;\n";
    for i in 0..16 {
        body += &format!("    mov.f32 %f{i}, 0f00000000;\n");
    }
    // Each warpgroup has its own A.
    body += "    shr.u32 %r210, %t, 7; shl.b32 %r210, %r210, 12; add.u32 %tile, %tile, %r210;\n";
    body += &descriptor(1, 0, 128, 256, 0, 0);
    body += &descriptor(3, 2048, 128, 256, 0, 0);
    body += "    sub.u32 %tile, %tile, %r210;\n";
    body += &descriptor(2, 12 << 10, 128, 256, 0, 0);
    let one = |first: u32, a: u32| {
        format!(
            "    wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {}, %x{a}, %x2, 1, 1, 1, 0, 0;\n",
            list("f", first, 8)
        )
    };
    body += FENCE;
    body += &one(0, 1);
    body += &one(0, 3);
    body += "    wgmma.commit_group.sync.aligned;\n";
    body += &one(8, 3);
    body += "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 1;\n";
    body += &digest("f32", 8, 0);
    body += "    wgmma.wait_group.sync.aligned 0;\n";
    body += &digest("f32", 16, 1024);
    let mut noise = Noise::of("wgmma groups");
    let input = words("bf16", 0, 16 << 10, &mut noise);
    micro("wgmma groups", frame(&body), 256, 16 << 10, input, 2048)
}
