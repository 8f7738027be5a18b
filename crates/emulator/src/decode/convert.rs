//! `cvt`.

use super::args::{Args, Decoded, Ty, compute};
use super::exact;
use super::half::Half;
use super::rounding::{Rounding, flush, overflow, quantise, saturate64, to_f32};
use crate::ir::Op;
use crate::machine::registers::LANES;
use warpwright_numeric::{Dtype, bf16, e4m3, e5m2, f16};

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    if a.instruction.opcode != "cvt" {
        return Ok(None);
    }
    if a.has("pack") {
        return Err(a.unsupported(""));
    }
    let is_format = |s: &str| Ty::named(s).is_some() || small(s).is_some() || s == "tf32";
    let formats = a.all(|s| is_format(s).then_some(s));
    let &[to, from] = formats.as_slice() else { return Err(a.unsupported("")) };
    if to == "tf32" {
        return tensor_float(a).map(Some);
    }
    if let (Some(to), 3) = (pair(to), a.count()) {
        return pack(a, to).map(Some);
    }
    if let (Some(to), Some(from)) = (pair(to), pair(from)) {
        return repack(a, to, from).map(Some);
    }
    match (Ty::named(to), Ty::named(from)) {
        (Some(to), Some(from)) => scalar(a, to, from).map(Some),
        _ => Err(a.unsupported("")),
    }
}

fn small(name: &str) -> Option<Dtype> {
    match name {
        "e4m3x2" => Some(Dtype::E4m3),
        "e5m2x2" => Some(Dtype::E5m2),
        _ => None,
    }
}

/// The element of a pair format.
fn pair(name: &str) -> Option<Dtype> {
    match name {
        "f16x2" => Some(Dtype::F16),
        "bf16x2" => Some(Dtype::Bf16),
        _ => small(name),
    }
}

/// A value of a small float, from a wider one.
fn narrow(x: f64, to: Dtype, rounding: Rounding, saturates: bool) -> u64 {
    let (precision, min_exponent, nan) = match to {
        Dtype::F16 => (11, -14, 0x7FFF),
        Dtype::Bf16 => (8, -126, 0x7FFF),
        // fp8 conversions always round to nearest and saturate.
        Dtype::E4m3 => {
            return u64::from(if x.is_nan() { 0x7F } else { e4m3::from_f64(x.clamp(-448.0, 448.0)).to_bits() });
        }
        _ => return u64::from(if x.is_nan() { 0x7F } else { e5m2::from_f64(x.clamp(-57344.0, 57344.0)).to_bits() }),
    };
    if x.is_nan() {
        return nan;
    }
    let max = to.max_finite();
    let x = overflow(quantise(x, precision, min_exponent, rounding), max, rounding);
    let x = if saturates { x.clamp(-max, max) } else { x };
    u64::from(if to == Dtype::F16 { f16::narrow(x) } else { bf16::narrow(x) })
}

fn widen(bits: u64, from: Dtype) -> f64 {
    match from {
        Dtype::F16 => f16::from_bits(bits as u16).to_f64(),
        Dtype::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Dtype::E4m3 => e4m3::from_bits(bits as u8).to_f64(),
        _ => e5m2::from_bits(bits as u8).to_f64(),
    }
}

/// `cvt.f16x2.f32 d, high, low` and its like.
fn pack(a: &mut Args<'_, '_, '_>, to: Dtype) -> Decoded<Op> {
    let (d, high, low) = (a.reg(0)?, a.src(1)?, a.src(2)?);
    let (rounding, relu, saturates) = (Rounding::of(a), a.has("relu"), a.has("satfinite"));
    let bits = to.bits() as u32;
    let one = move |x: f32| {
        if relu && x.is_sign_negative() && !x.is_nan() { 0 } else { narrow(f64::from(x), to, rounding, saturates) }
    };
    if rounding == Rounding::NearestEven && !relu && !saturates && bits == 16 {
        let one = move |x: f32| match to {
            _ if x.is_nan() => 0x7FFF,
            Dtype::F16 => f16::from_f32(x).to_bits(),
            _ => bf16::from_f32(x).to_bits(),
        };
        return a.binary(move |high: f32, low: f32| u32::from(one(high)) << 16 | u32::from(one(low)));
    }
    Ok(compute(move |r, mask| {
        let (high, low) = (r.read::<f32>(high), r.read::<f32>(low));
        r.write_wide(d, mask, &core::array::from_fn(|l| one(high[l]) << bits | one(low[l])));
    }))
}

/// Between pair formats.
fn repack(a: &mut Args<'_, '_, '_>, to: Dtype, from: Dtype) -> Decoded<Op> {
    let (d, x) = (a.reg(0)?, a.src(1)?);
    let (rounding, relu, saturates) = (Rounding::of(a), a.has("relu"), a.has("satfinite"));
    let (wide, out) = (from.bits() as u32, to.bits() as u32);
    let keep = (1u64 << wide) - 1;
    let one = move |bits: u64| {
        let x = widen(bits, from);
        if relu && x.is_sign_negative() && !x.is_nan() { 0 } else { narrow(x, to, rounding, saturates) }
    };
    Ok(compute(move |r, mask| {
        let x = r.read_wide(x).map(|x| one(x >> wide & keep) << out | one(x & keep));
        r.write_wide(d, mask, &x);
    }))
}

fn tensor_float(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let (rounding, saturates, relu) = (Rounding::of(a), a.has("satfinite"), a.has("relu"));
    a.unary(move |x: f32| {
        if x.is_nan() {
            // Rounding away from zero works on the bits as they are; so does its saturation, which takes one place off.
            let cut = x.to_bits() & !0x1FFF;
            return match (rounding, saturates) {
                (Rounding::NearestAway, true) => cut - 0x2000,
                (Rounding::NearestAway, false) => cut,
                _ => 0x7FFF_E000,
            };
        }
        let max = f64::from(f32::from_bits(0x7F7F_E000));
        let y = overflow(quantise(x.into(), 11, -126, rounding), max, rounding);
        let y = if saturates { y.clamp(-max, max) } else { y };
        if relu && y.is_sign_negative() { 0 } else { (y as f32).to_bits() }
    })
}

/// An integer range as a pair of bounds.
fn bounds(ty: Ty) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
}

/// What a conversion makes of NaN.
fn nan(bits: u64, to: Ty, from: Ty, saturates: bool, flushes: bool) -> u64 {
    if !is_float(to) {
        // From f64, and to 64 bits, the least signed number; otherwise 0.
        let least = from == Ty::F64 || to.bits() == 64;
        let least = u64::from(least) << (to.bits() - 1);
        return if to.is_signed() { least.wrapping_neg() } else { least };
    }
    if saturates {
        return 0;
    }
    let fraction = |ty: Ty| match ty {
        Ty::F16 => 10,
        Ty::Bf16 => 7,
        Ty::F32 => 23,
        _ => 52,
    };
    let sign = bits >> (from.bits() - 1) & 1;
    let payload = bits << (64 - fraction(from)) >> (64 - fraction(to));
    let kept = sign << (to.bits() - 1)
        | (u64::MAX << fraction(to) & (u64::MAX >> (65 - to.bits())))
        | payload
        | 1 << (fraction(to) - 1);
    match (to, from) {
        (Ty::F64, Ty::F32) if flushes => 0x7FFF_FFFF_E000_0000,
        (Ty::F32, Ty::Bf16) => bits << 16,
        (Ty::F64, _) | (_, Ty::F64) => kept,
        (Ty::F32, _) => 0x7FFF_FFFF,
        _ => 0x7FFF,
    }
}

fn scalar(a: &mut Args<'_, '_, '_>, to: Ty, from: Ty) -> Decoded<Op> {
    let (d, x) = (a.reg(0)?, a.src(1)?);
    let (sat, ftz, relu, satfinite) = (a.has("sat"), a.has("ftz"), a.has("relu"), a.has("satfinite"));
    let (rounding, integral) = (Rounding::of(a), Rounding::integral(a));
    let shift = 64 - from.bits();
    let signed = from.is_signed();
    let extend =
        move |bits: u64| if signed { (bits << shift) as i64 >> shift } else { (bits << shift >> shift) as i64 };
    let (register, keep) = (d.width.bits(), u64::MAX >> (64 - to.bits()));
    // A register wider than the type is sign- or zero-extended.
    let fit = move |v: u64| if to.is_signed() && register > to.bits() { v } else { v & keep };
    let value = move |bits: u64| -> f64 {
        match from {
            Ty::F16 => f16::from_bits(bits as u16).to_f64(),
            Ty::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
            // Only f32 results and operands of wider ones are flushed.
            Ty::F32 if ftz && to.bits() != 16 => f64::from(flush(f32::from_bits(bits as u32))),
            Ty::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    };
    let encode = move |x: f64| -> u64 {
        let x = if relu && x.is_sign_negative() { 0.0 } else { x };
        let x = if sat { saturate64(x) } else { x };
        match to {
            Ty::F32 => {
                let y = to_f32(x, rounding);
                u64::from(if ftz { flush(y) } else { y }.to_bits())
            }
            Ty::F16 | Ty::Bf16 => narrow(x, if to == Ty::F16 { Dtype::F16 } else { Dtype::Bf16 }, rounding, satfinite),
            _ => x.to_bits(),
        }
    };
    let is_nan = move |bits: u64| match from {
        Ty::F16 => bits & 0x7FFF > 0x7C00,
        Ty::Bf16 => bits & 0x7FFF > 0x7F80,
        Ty::F32 => bits & 0x7FFF_FFFF > 0x7F80_0000,
        _ => bits & !(1 << 63) > 0x7FF << 52,
    };
    let convert: Box<dyn Fn(u64) -> u64 + Send + Sync> = match (is_float(to), is_float(from)) {
        (false, false) if to.bits() <= 64 => {
            let (low, high) = bounds(to);
            Box::new(move |bits| {
                let v = extend(bits);
                if sat {
                    let wide = if signed { i128::from(v) } else { i128::from(v as u64) };
                    return wide.clamp(low, high) as u64;
                }
                // Truncated to the type, then extended by its sign.
                let cut = 64 - to.bits();
                if to.is_signed() { (v << cut >> cut) as u64 } else { (v as u64) << cut >> cut }
            })
        }
        (false, true) => {
            let (low, high) = bounds(to);
            let rounding = integral.unwrap_or(Rounding::Zero);
            Box::new(move |bits| {
                if is_nan(bits) {
                    return nan(bits, to, from, sat, ftz);
                }
                (rounding.apply(value(bits)) as i128).clamp(low, high) as u64
            })
        }
        (true, false) => Box::new(move |bits| {
            let v = extend(bits);
            let wide = if signed { i128::from(v) } else { i128::from(v as u64) };
            match to {
                Ty::F64 => encode(exact::integer(wide, rounding)),
                _ => encode(exact::integer_to_odd(wide)),
            }
        }),
        (true, true) => Box::new(move |bits| {
            if is_nan(bits) {
                return nan(bits, to, from, sat, ftz);
            }
            let x = value(bits);
            encode(match integral {
                Some(rounding) => rounding.apply(x),
                None => x,
            })
        }),
        _ => return Err(a.unsupported("")),
    };
    match (to, from) {
        // The conversions that kernels make often, without a call for each lane.
        (Ty::U64 | Ty::S64, Ty::U32) if !sat => return a.unary(|x: u32| u64::from(x)),
        (Ty::U64 | Ty::S64, Ty::S32) if !sat => return a.unary(|x: i32| i64::from(x)),
        (Ty::F32, Ty::F16) if !sat => {
            return a.unary(|x: u16| super::canonical(f16::from_bits(x).to_f32()));
        }
        _ => {}
    }
    Ok(compute(move |r, mask| {
        let x = r.read_wide(x);
        let out: [u64; LANES] = core::array::from_fn(|l| if mask >> l & 1 != 0 { fit(convert(x[l])) } else { 0 });
        r.write_wide(d, mask, &out);
    }))
}
