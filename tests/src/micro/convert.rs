//! `cvt` between every pair of formats, in every rounding and saturation.

use super::Micro;
use super::data::{BF16, E4M3, E5M2, F16, F32, F64, Layout, Noise, integer};
use super::scalar::{Instruction, exact, kernels, operands};

pub(super) fn all() -> Vec<Micro> {
    let mut noise = Noise::of("convert");
    let mut out = Vec::new();
    let integers = operands(|| integer(&mut noise));
    out.extend(kernels("cvt integers", &between_integers(), &integers));
    out.extend(kernels("cvt from integers", &from_integers(), &integers));
    for (name, format) in [("f16", F16), ("bf16", BF16), ("f32", F32), ("f64", F64)] {
        let rows = operands(|| floats(format, &mut noise));
        out.extend(kernels(&format!("cvt from {name}"), &from_floats(name), &rows));
    }
    let singles = operands(|| floats(F32, &mut noise));
    out.extend(kernels("cvt pairs of f32", &pack(), &singles));
    let halves = operands(|| floats(F16, &mut noise) | floats(F16, &mut noise) << 16);
    out.extend(kernels("cvt pairs of f16", &repack("f16x2", &["e4m3x2", "e5m2x2"]), &halves));
    for (name, format) in [("e4m3x2", E4M3), ("e5m2x2", E5M2)] {
        let bytes = operands(|| format.any(&mut noise) & 255 | (format.any(&mut noise) & 255) << 8);
        out.extend(kernels(&format!("cvt pairs of {name}"), &repack(name, &["f16x2"]), &bytes));
    }
    out
}

/// Anything, with a share near the ends of the integers and near those of the smaller formats.
fn floats(format: Layout, noise: &mut Noise) -> u64 {
    let ends =
        [0.5, 1.5, 2.5, 127.5, 128.5, 255.5, 32767.5, 65504.0, 65519.0, 65520.0, 65535.5, 2147483647.5, 4294967295.5];
    let far = [9.2e18, 1.9e19, 448.0, 464.0, 465.0, 57344.0, 61440.0, 61441.0, 2.0e-3, 6.1e-5, 6.0e-8, 1.5e-5, 2.9e-8];
    if noise.below(3) > 0 || format.fraction < 10 {
        return if noise.below(4) == 0 { format.near_one(noise, format_reach(format)) } else { format.any(noise) };
    }
    let list: &[f64] = if noise.below(2) == 0 { &ends } else { &far };
    let x = noise.pick(list) * if noise.below(2) == 0 { -1.0 } else { 1.0 };
    let bits = match (format.exponent, format.fraction) {
        (5, _) => u64::from(warpwright_numeric::f16::from_f64(x).to_bits()),
        (8, 7) => u64::from((x as f32).to_bits() >> 16),
        (8, _) => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    };
    bits.wrapping_add(noise.below(3)).wrapping_sub(1) & (!0 >> (63 - format.exponent - format.fraction))
}

/// Exponents around 0 that cover what smaller formats hold.
fn format_reach(format: Layout) -> u64 {
    if format.exponent > 5 { 26 } else { (1 << (format.exponent - 1)) - 2 }
}

/// The register of a type as a destination, and as a source.
fn registers(ty: &str) -> (&'static str, &'static str) {
    match ty {
        "f64" => ("%do", "%da"),
        "f32" => ("%fo", "%fa"),
        "f16" | "bf16" => ("%ho", "%ha"),
        _ if ty.ends_with("64") => ("%oo", "%x"),
        _ if ty.ends_with("16") => ("%ho", "%ha"),
        // 8-bit integers live in wider registers.
        _ => ("%o", "%a"),
    }
}

const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];

/// Whether a value of `from` may not fit `to`: only then is `.sat` legal.
fn saturates(to: &str, from: &str) -> bool {
    let bits = |ty: &str| ty[1..].parse::<u32>().unwrap_or(0);
    match (to.starts_with('s'), from.starts_with('s')) {
        (false, true) => true,
        (true, false) => bits(to) <= bits(from),
        _ => bits(to) < bits(from),
    }
}

fn between_integers() -> Vec<Instruction> {
    let mut list = Vec::new();
    for to in INTEGERS {
        for from in INTEGERS {
            let (d, a) = (registers(to).0, registers(from).1);
            list.push(exact(format!("cvt.{to}.{from} {d}, {a};")));
            if saturates(to, from) {
                list.push(exact(format!("cvt.sat.{to}.{from} {d}, {a};")));
            }
        }
    }
    list
}

fn from_integers() -> Vec<Instruction> {
    let mut list = Vec::new();
    for to in ["f16", "bf16", "f32", "f64"] {
        for from in INTEGERS {
            let (d, a) = (registers(to).0, registers(from).1);
            // No conversion between bf16 and bytes.
            if to == "bf16" && from.ends_with('8') {
                continue;
            }
            for rounding in ["rn", "rz", "rm", "rp"] {
                list.push(exact(format!("cvt.{rounding}.{to}.{from} {d}, {a};")));
            }
            if to != "bf16" {
                list.push(exact(format!("cvt.rn.sat.{to}.{from} {d}, {a};")));
            }
        }
    }
    list
}

fn from_floats(from: &str) -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    let a = registers(from).1;
    for to in INTEGERS {
        if from == "bf16" && to.ends_with('8') {
            continue;
        }
        for rounding in ["rni", "rzi", "rmi", "rpi"] {
            add(format!("cvt.{rounding}.{to}.{from} {}, {a};", registers(to).0));
        }
        if from == "f32" {
            add(format!("cvt.rzi.ftz.{to}.{from} {}, {a};", registers(to).0));
        }
        if from != "bf16" {
            add(format!("cvt.rni.sat.{to}.{from} {}, {a};", registers(to).0));
        }
    }
    // To itself, rounded to an integer.
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        add(format!("cvt.{rounding}.{from}.{from} {}, {a};", registers(from).0));
    }
    let bits = |ty: &str| match ty {
        "f16" | "bf16" => 16,
        "f32" => 32,
        _ => 64,
    };
    for to in ["f16", "bf16", "f32", "f64"] {
        let d = registers(to).0;
        if bits(to) > bits(from) {
            add(format!("cvt.{to}.{from} {d}, {a};"));
            if from == "f32" || to == "f32" && from == "f16" {
                add(format!("cvt.ftz.{to}.{from} {d}, {a};"));
            }
            if from != "bf16" {
                add(format!("cvt.sat.{to}.{from} {d}, {a};"));
            }
        } else if bits(to) < bits(from) || to != from {
            for rounding in ["rn", "rz", "rm", "rp"] {
                add(format!("cvt.{rounding}.{to}.{from} {d}, {a};"));
                if to == "f32" || to == "f16" && from == "f32" {
                    add(format!("cvt.{rounding}.ftz.{to}.{from} {d}, {a};"));
                }
                if to != "bf16" && from != "bf16" {
                    add(format!("cvt.{rounding}.sat.{to}.{from} {d}, {a};"));
                }
            }
            if bits(to) == 16 && from == "f32" {
                for rounding in ["rn", "rz"] {
                    for mode in [".relu", ".satfinite", ".relu.satfinite"] {
                        add(format!("cvt.{rounding}{mode}.{to}.f32 {d}, {a};"));
                    }
                }
            }
        } else if from == to && bits(to) > 16 {
            add(format!("cvt.sat.{to}.{from} {d}, {a};"));
        }
    }
    if from == "f32" {
        for mode in ["rna", "rna.satfinite", "rn", "rz", "rn.relu", "rz.relu"] {
            add(format!("cvt.{mode}.tf32.f32 %o, %fa;"));
        }
    }
    list
}

fn pack() -> Vec<Instruction> {
    let mut list = Vec::new();
    for to in ["f16x2", "bf16x2"] {
        for rounding in ["rn", "rz"] {
            for mode in ["", ".relu", ".satfinite", ".relu.satfinite"] {
                list.push(exact(format!("cvt.{rounding}{mode}.{to}.f32 %o, %fa, %fb;")));
            }
        }
    }
    for to in ["e4m3x2", "e5m2x2"] {
        for mode in ["", ".relu"] {
            list.push(exact(format!("cvt.rn.satfinite{mode}.{to}.f32 %ho, %fa, %fb;")));
        }
    }
    list
}

fn repack(from: &str, tos: &[&str]) -> Vec<Instruction> {
    let mut list = Vec::new();
    for to in tos {
        for mode in ["", ".relu"] {
            list.push(exact(if from == "f16x2" {
                format!("cvt.rn.satfinite{mode}.{to}.{from} %ho, %a;")
            } else {
                format!("cvt.rn{mode}.{to}.{from} %o, %ha;")
            }));
        }
    }
    list
}
