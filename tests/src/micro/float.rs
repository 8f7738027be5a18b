//! Floating-point arithmetic in every format, rounding and saturation; approximate functions.

use super::data::{BF16, F16, F32, F64, Layout, Noise};
use super::scalar::{Instruction, exact, kernels, operands};
use super::{Accuracy, Format, Micro};

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

pub(super) fn all() -> Vec<Micro> {
    let mut out = Vec::new();
    let mut noise = Noise::of("float");
    let any = |format: Layout, noise: &mut Noise| related(format, noise);
    out.extend(kernels("f32 arithmetic", &single(), &any(F32, &mut noise)));
    out.extend(kernels("f32 comparison", &comparisons("f32", "%fa", "%fb"), &any(F32, &mut noise)));
    out.extend(kernels("f64 arithmetic", &double(), &any(F64, &mut noise)));
    out.extend(kernels("f64 comparison", &comparisons("f64", "%da", "%db"), &any(F64, &mut noise)));
    out.extend(kernels("f32 approximate", &approximate(), &tame(F32, &mut noise)));
    out.extend(kernels("f64 approximate", &approximate64(), &tame(F64, &mut noise)));
    for (name, format, layout) in [("f16", Format::F16, F16), ("bf16", Format::Bf16, BF16)] {
        out.extend(kernels(&format!("{name} arithmetic"), &half(name), &pairs(&any(layout, &mut noise), &mut noise)));
        out.extend(kernels(&format!("{name} approximate"), &half_approximate(name, format), &tame(layout, &mut noise)));
    }
    out
}

/// Operands of which one in four is a near negative of another, so that sums cancel.
fn related(format: Layout, noise: &mut Noise) -> Vec<[u64; 3]> {
    let mut rows = operands(|| format.any(noise));
    let sign = 1u64 << (format.exponent + format.fraction);
    for row in rows.iter_mut().step_by(4) {
        row[1] = row[0] ^ sign ^ noise.below(4);
    }
    for row in rows.iter_mut().skip(1).step_by(8) {
        row[2] = row[0] ^ noise.below(16);
    }
    rows
}

/// The 16-bit numbers of the rows in both halves of a word, the other half of another row.
fn pairs(rows: &[[u64; 3]], noise: &mut Noise) -> Vec<[u64; 3]> {
    let other = |noise: &mut Noise| rows[noise.below(rows.len() as u64) as usize];
    rows.iter().map(|row| (*row, other(noise))).map(|(x, y)| core::array::from_fn(|i| x[i] | y[i] << 16)).collect()
}

/// Numbers where approximate functions have a stated accuracy, both halves of a word alike; and corners.
fn tame(format: Layout, noise: &mut Noise) -> Vec<[u64; 3]> {
    let mut rows = operands(|| {
        let bits = if noise.below(6) == 0 { format.corner(noise) } else { format.near_one(noise, 2) };
        if format.exponent + format.fraction == 15 { bits | bits << 16 } else { bits }
    });
    // Wide ranges of magnitude for what takes them: the third operand.
    for row in rows.iter_mut().filter(|_| format.fraction == 23) {
        row[2] = format.near_one(noise, 100);
    }
    rows
}

fn single() -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    for rounding in ROUNDINGS {
        for ftz in ["", ".ftz"] {
            for sat in ["", ".sat"] {
                for op in ["add", "sub", "mul"] {
                    add(format!("{op}.{rounding}{ftz}{sat}.f32 %fo, %fa, %fb;"));
                }
                add(format!("fma.{rounding}{ftz}{sat}.f32 %fo, %fa, %fb, %fc;"));
            }
            add(format!("div.{rounding}{ftz}.f32 %fo, %fa, %fb;"));
            add(format!("rcp.{rounding}{ftz}.f32 %fo, %fa;"));
            add(format!("sqrt.{rounding}{ftz}.f32 %fo, %fa;"));
        }
    }
    for ftz in ["", ".ftz"] {
        add(format!("abs{ftz}.f32 %fo, %fa;"));
        add(format!("neg{ftz}.f32 %fo, %fa;"));
        for op in ["min", "max"] {
            for nan in ["", ".NaN"] {
                for sign in ["", ".xorsign.abs"] {
                    add(format!("{op}{ftz}{nan}{sign}.f32 %fo, %fa, %fb;"));
                }
            }
        }
    }
    add("copysign.f32 %fo, %fa, %fb;".into());
    add("selp.f32 %fo, %fa, %fb, %pa;".into());
    for ftz in ["", ".ftz"] {
        add(format!("slct{ftz}.f32.f32 %fo, %fa, %fb, %fc;"));
        add(format!("slct{ftz}.u32.f32 %o, %a, %b, %fc;"));
    }
    list
}

fn comparisons(ty: &str, a: &str, b: &str) -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    let flushes: &[&str] = if ty == "f32" { &["", ".ftz"] } else { &[""] };
    for ftz in flushes {
        for test in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
            add(format!("setp.{test}{ftz}.{ty} %po, {a}, {b};"));
        }
        add(format!("set.lt{ftz}.u32.{ty} %o, {a}, {b};"));
        add(format!("set.geu{ftz}.f32.{ty} %fo, {a}, {b};"));
        add(format!("setp.gt.or{ftz}.{ty} %pi|%po, {a}, {b}, !%pa;"));
    }
    for test in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        add(format!("testp.{test}.{ty} %po, {a};"));
    }
    list
}

fn double() -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    for rounding in ROUNDINGS {
        for op in ["add", "sub", "mul", "div"] {
            add(format!("{op}.{rounding}.f64 %do, %da, %db;"));
        }
        add(format!("fma.{rounding}.f64 %do, %da, %db, %dc;"));
        add(format!("rcp.{rounding}.f64 %do, %da;"));
        add(format!("sqrt.{rounding}.f64 %do, %da;"));
    }
    for op in ["min", "max", "copysign"] {
        add(format!("{op}.f64 %do, %da, %db;"));
    }
    add("abs.f64 %do, %da;".into());
    add("neg.f64 %do, %da;".into());
    add("selp.f64 %do, %da, %db, %pa;".into());
    list
}

fn near(text: impl Into<String>, format: Format, relative: f64, absolute: f64) -> Instruction {
    Instruction { text: text.into(), accuracy: Accuracy::Near { format, relative, absolute } }
}

/// Powers of two that the PTX manual states as errors.
fn two(exponent: f64) -> f64 {
    exponent.exp2()
}

fn approximate() -> Vec<Instruction> {
    let mut list = Vec::new();
    // Results that flush to zero here or there differ by the smallest normal number at most.
    let tiny = f64::from(f32::MIN_POSITIVE);
    for ftz in ["", ".ftz"] {
        let mut add = |text: String, relative, absolute: f64| {
            list.push(near(text, Format::F32, relative, absolute.max(if ftz.is_empty() { 0.0 } else { tiny })));
        };
        add(format!("div.approx{ftz}.f32 %fo, %fa, %fb;"), two(-22.0), 0.0);
        add(format!("div.full{ftz}.f32 %fo, %fa, %fb;"), two(-22.0), 0.0);
        add(format!("rcp.approx{ftz}.f32 %fo, %fa;"), two(-23.0), 0.0);
        add(format!("rcp.approx{ftz}.f32 %fo, %fc;"), two(-23.0), 0.0);
        add(format!("sqrt.approx{ftz}.f32 %fo, %fa;"), two(-22.0), 0.0);
        add(format!("sqrt.approx{ftz}.f32 %fo, %fc;"), two(-22.0), 0.0);
        add(format!("rsqrt.approx{ftz}.f32 %fo, %fa;"), two(-22.9), 0.0);
        add(format!("rsqrt.approx{ftz}.f32 %fo, %fc;"), two(-22.9), 0.0);
        add(format!("ex2.approx{ftz}.f32 %fo, %fa;"), two(-22.0), 0.0);
        add(format!("lg2.approx{ftz}.f32 %fo, %fa;"), two(-22.0), two(-22.0));
        add(format!("lg2.approx{ftz}.f32 %fo, %fc;"), two(-22.0), two(-22.0));
        for function in ["sin", "cos"] {
            list.push(Instruction { text: format!("{function}.approx{ftz}.f32 %fo, %fa;"), accuracy: Accuracy::Angle });
        }
    }
    list.push(near("tanh.approx.f32 %fo, %fa;", Format::F32, two(-11.0), 0.0));
    list
}

fn approximate64() -> Vec<Instruction> {
    vec![
        near("rcp.approx.ftz.f64 %do, %da;", Format::F64, two(-20.0), 0.0),
        near("rsqrt.approx.f64 %do, %da;", Format::F64, two(-20.0), 0.0),
        near("rsqrt.approx.ftz.f64 %do, %da;", Format::F64, two(-20.0), 0.0),
    ]
}

fn half(name: &str) -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    let f16 = name == "f16";
    for (ty, [d, a, b, c]) in
        [(name.to_owned(), ["%ho", "%ha", "%hb", "%hc"]), (format!("{name}x2"), ["%o", "%a", "%b", "%c"])]
    {
        let frames: &[&str] = if f16 { &["", ".ftz", ".sat", ".ftz.sat"] } else { &[""] };
        for op in ["add", "sub", "mul"] {
            for frame in frames {
                for rounding in ["", ".rn"] {
                    add(format!("{op}{rounding}{frame}.{ty} {d}, {a}, {b};"));
                }
            }
        }
        let frames: &[&str] =
            if f16 { &["", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"] } else { &["", ".relu"] };
        for frame in frames {
            add(format!("fma.rn{frame}.{ty} {d}, {a}, {b}, {c};"));
        }
        let flushes: &[&str] = if f16 { &["", ".ftz"] } else { &[""] };
        for ftz in flushes {
            add(format!("neg{ftz}.{ty} {d}, {a};"));
            add(format!("abs{ftz}.{ty} {d}, {a};"));
            for op in ["min", "max"] {
                for nan in ["", ".NaN"] {
                    for sign in ["", ".xorsign.abs"] {
                        add(format!("{op}{ftz}{nan}{sign}.{ty} {d}, {a}, {b};"));
                    }
                }
            }
        }
    }
    for test in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
        add(format!("setp.{test}.{name} %po, %ha, %hb;"));
        if f16 {
            add(format!("setp.{test}.ftz.{name} %po, %ha, %hb;"));
        }
    }
    list
}

fn half_approximate(name: &str, format: Format) -> Vec<Instruction> {
    let mut list = Vec::new();
    let (ex2, tanh, ftz) = match format {
        Format::F16 => (two(-9.9), two(-10.987), ""),
        _ => (two(-7.0), two(-8.0), ".ftz"),
    };
    for (ty, d, a) in [(name.to_owned(), "%ho", "%ha"), (format!("{name}x2"), "%o", "%a")] {
        list.push(near(format!("ex2.approx{ftz}.{ty} {d}, {a};"), format, ex2, 0.0));
        list.push(near(format!("tanh.approx.{ty} {d}, {a};"), format, 0.0, tanh));
    }
    list
}
