//! `mma.sync` of every shape and type: registers full of random elements, a warp for each kind of data.

use super::data::{BF16, E4M3, E5M2, F16, F32, F64, Layout, Noise};
use super::kernel::{frame, list, micro};
use super::{Accuracy, Format, Micro, Part};

/// Warps of a kernel: each has its own kind of data.
const WARPS: u32 = 8;

pub(super) fn all() -> Vec<Micro> {
    let mut out = Vec::new();
    for (shape, d) in [("m16n8k8", "f32"), ("m16n8k8", "f16"), ("m16n8k16", "f32"), ("m16n8k16", "f16")] {
        out.push(one(shape, d, "f16", "f16", ""));
    }
    for shape in ["m16n8k8", "m16n8k16"] {
        out.push(one(shape, "f32", "bf16", "bf16", ""));
    }
    for shape in ["m16n8k4", "m16n8k8"] {
        out.push(one(shape, "f32", "tf32", "tf32", ""));
    }
    for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
        for d in ["f32", "f16"] {
            for shape in ["m16n8k16", "m16n8k32"] {
                out.push(one(shape, d, a, b, ""));
            }
        }
    }
    for (x, y, shapes) in
        [("s8", "u8", ["m8n8k16", "m16n8k16", "m16n8k32"]), ("s4", "u4", ["m8n8k32", "m16n8k32", "m16n8k64"])]
    {
        for shape in shapes {
            for (a, b) in [(x, x), (x, y), (y, x), (y, y)] {
                for saturate in ["", ".satfinite"] {
                    out.push(one(shape, "s32", a, b, saturate));
                }
            }
        }
    }
    for shape in ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"] {
        out.push(one(shape, "f64", "f64", "f64", ""));
    }
    out
}

fn bits(element: &str) -> u32 {
    match element {
        "f64" => 64,
        "tf32" | "f32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        _ => 8,
    }
}

/// A 64-bit word of elements of one type, of the kind of data that warp `kind` has.
pub(super) fn word(element: &str, kind: u32, noise: &mut Noise) -> u64 {
    let layout = match element {
        "f16" => F16,
        "bf16" => BF16,
        "e4m3" => E4M3,
        "e5m2" => E5M2,
        "tf32" | "f32" => F32,
        "f64" => F64,
        // Large integers now and then, so that sums saturate.
        "s32" if kind % 2 == 1 => {
            let one = |noise: &mut Noise| {
                u64::from((i32::MAX - noise.below(60_000) as i32) as u32 ^ 0u32.wrapping_sub(noise.below(2) as u32))
            };
            return one(noise) | one(noise) << 32;
        }
        _ => return noise.next(),
    };
    let width = bits(element);
    (0..64 / width).fold(0, |word, i| word | number(layout, kind, noise) << (i * width))
}

fn number(layout: Layout, kind: u32, noise: &mut Noise) -> u64 {
    let reach = (1 << (layout.exponent - 1)) - 2;
    match kind {
        0 => layout.near_one(noise, 1),
        1 => layout.near_one(noise, 3.min(reach)),
        2 => layout.near_one(noise, 6.min(reach)),
        // Sums that cancel: few values, both signs.
        3 => layout.near_one(noise, 0) & !((1 << (layout.fraction - 1)) - 1),
        // Finite numbers of all sizes.
        4 => layout.finite(noise),
        5 if noise.below(3) > 0 => layout.subnormal(noise),
        5 => layout.near_one(noise, reach),
        // An infinity or NaN in a few rows.
        6 if noise.below(24) == 0 => layout.corner(noise),
        6 => layout.near_one(noise, 2.min(reach)),
        _ => layout.any(noise),
    }
}

/// Registers of D, A and B of an instruction.
fn registers(shape: &str, d: &str, a: &str, b: &str) -> [u32; 3] {
    let extents: Vec<u32> = shape.split(['m', 'n', 'k']).filter_map(|s| s.parse().ok()).collect();
    let [m, n, k] = extents[..] else { return [0; 3] };
    let count = |elements: u32, element: &str| (elements * bits(element)).div_ceil(32 * bits(element).max(32));
    [count(m * n, d), count(m * k, a), count(n * k, b)]
}

fn one(shape: &str, d: &str, a: &str, b: &str, saturate: &str) -> Micro {
    let name = format!("mma{saturate} {shape} {d} {a} {b}");
    let [nd, na, nb] = registers(shape, d, a, b);
    let (kind, ty, size) = match d {
        "f64" => ("d", "f64", 8),
        "f32" => ("f", "f32", 4),
        _ => ("r", "b32", 4),
    };
    let (source, st, ss) = if a == "f64" { ("d", "f64", 8) } else { ("r", "b32", 4) };
    // A, B and C of a lane lie behind one another in 64, 32 and 32 bytes.
    let mut body = String::from("    mad.wide.u32 %x1, %t, 128, %in;\n");
    for i in 0..na {
        body += &format!("    ld.global.{st} %{source}{i}, [%x1+{}];\n", ss * i);
    }
    for i in 0..nb {
        body += &format!("    ld.global.{st} %{source}{}, [%x1+{}];\n", 8 + i, 64 + ss * i);
    }
    for i in 0..nd {
        body += &format!("    ld.global.{ty} %{kind}{}, [%x1+{}];\n", 20 + i, 96 + size * i);
    }
    let form = match a {
        "f64" => format!("mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64"),
        _ => format!("mma.sync.aligned.{shape}.row.col{saturate}.{d}.{a}.{b}.{d}"),
    };
    body += &format!(
        "    {form} {}, {}, {}, {};\n    mad.wide.u32 %x2, %t, {}, %out;\n",
        list(kind, 24, nd),
        list(source, 0, na),
        list(source, 8, nb),
        list(kind, 20, nd),
        size * nd
    );
    for i in 0..nd {
        body += &format!("    st.global.{ty} [%x2+{}], %{kind}{};\n", size * i, 24 + i);
    }
    let mut noise = Noise::of(&name);
    let mut input = Vec::new();
    for thread in 0..32 * WARPS {
        // f64 sums are only compared where they stay near one.
        let warp = if a == "f64" { thread / 32 % 3 } else { thread / 32 };
        for (element, words) in [(a, 8), (b, 4), (d, 4)] {
            for _ in 0..words {
                input.extend_from_slice(&word(element, warp, &mut noise).to_le_bytes());
            }
        }
    }
    let len = (32 * WARPS * size * nd) as usize;
    let mut micro = micro(&name, frame(&body), 32 * WARPS, 0, input, len);
    if d == "f64" {
        // Up to 16 products and an addend, none above 2^14, summed in an unspecified order.
        let accuracy = Accuracy::Near { format: Format::F64, relative: 0.0, absolute: 2f64.powi(14 + 5 - 53) };
        micro.parts.push(Part { name: form, offset: 0, len, accuracy });
    }
    micro
}
