//! f16 and bf16 arithmetic, single and packed. Every operation is exact in a wider type and rounded once.

use super::args::{Args, Decoded, Ty};
use super::float::select;
use super::rounding::{flush_half, saturate64, sum_to_odd, to_odd};
use crate::ir::Op;
use warpwright_numeric::{bf16, f16};

/// A 16-bit float.
pub(crate) trait Half: Copy + 'static {
    fn widen(bits: u16) -> f32;
    /// Rounds to nearest even.
    fn narrow(x: f64) -> u16;
}

/// Both formats write NaN as all ones but the sign.
const NAN: u16 = 0x7FFF;

impl Half for f16 {
    fn widen(bits: u16) -> f32 {
        f16::from_bits(bits).to_f32()
    }
    fn narrow(x: f64) -> u16 {
        if x.is_nan() { NAN } else { f16::from_f32(to_odd(x)).to_bits() }
    }
}

impl Half for bf16 {
    fn widen(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
    fn narrow(x: f64) -> u16 {
        if x.is_nan() { NAN } else { bf16::from_f32(to_odd(x)).to_bits() }
    }
}

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    match a.types().last() {
        Some(Ty::F16 | Ty::F16x2) => arithmetic::<f16>(a),
        Some(Ty::Bf16 | Ty::Bf16x2) => arithmetic::<bf16>(a),
        _ => Ok(None),
    }
}

fn arithmetic<H: Half>(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    let packed = a.ty()?.bits() == 32;
    let flushes = a.has("ftz");
    let (saturates, relu, keeps_nan) = (a.has("sat"), a.has("relu"), a.has("NaN"));
    let opcode = a.instruction.opcode;
    let widen = move |bits: u16| flush_half(H::widen(bits), flushes);
    let finish = move |x: f64| {
        let x = if saturates { saturate64(x) } else { x };
        let bits = H::narrow(x);
        let bits = if flushes && H::widen(bits).abs() < 2f32.powi(-14) { bits & 0x8000 } else { bits };
        // What is negative becomes +0, −0 too.
        if relu && bits & 0x8000 != 0 { 0 } else { bits }
    };
    let (magnitude, signs) = (a.has("abs"), a.has("xorsign"));
    macro_rules! map {
        ($n:ident, $($x:ident),+ => $f:expr) => {{
            let f = $f;
            if packed {
                a.$n(move |$($x: u32),+| {
                    u32::from(f($($x as u16),+)) | u32::from(f($(($x >> 16) as u16),+)) << 16
                })?
            } else {
                a.$n(move |$($x: u16),+| f($($x),+))?
            }
        }};
    }
    Ok(Some(match opcode {
        "add" => map!(binary, x, y => move |x, y| finish(f64::from(widen(x)) + f64::from(widen(y)))),
        "sub" => map!(binary, x, y => move |x, y| finish(f64::from(widen(x)) - f64::from(widen(y)))),
        "mul" => map!(binary, x, y => move |x, y| finish(f64::from(widen(x)) * f64::from(widen(y)))),
        "fma" => map!(ternary, x, y, z => move |x, y, z| {
            finish(sum_to_odd(f64::from(widen(x)) * f64::from(widen(y)), widen(z).into()))
        }),
        "neg" => map!(unary, x => move |x| finish(f64::from(-widen(x)))),
        "abs" => map!(unary, x => move |x| finish(f64::from(widen(x).abs()))),
        "min" | "max" => {
            let least = opcode == "min";
            map!(binary, x, y => move |x, y| {
                let (p, q) = (widen(x), widen(y));
                let (p, q) = if magnitude { (p.abs(), q.abs()) } else { (p, q) };
                let bits = finish(select(p, q, least, keeps_nan).into());
                if signs && bits != NAN { bits & 0x7FFF | (x ^ y) & 0x8000 } else { bits }
            })
        }
        "ex2" => map!(unary, x => move |x| finish(f64::from(widen(x)).exp2())),
        "tanh" => map!(unary, x => move |x| finish(f64::from(widen(x)).tanh())),
        _ => return Ok(None),
    }))
}
