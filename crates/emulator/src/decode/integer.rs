//! Integer arithmetic.

use super::args::{Args, Decoded, Ty, compute, lanes_where};
use crate::ir::Op;
use crate::machine::registers::{LANES, Src};

/// Evaluates `$body` with `$t` the Rust type of an integer type, or returns `None` for any other type.
macro_rules! with_int {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty {
            Ty::U16 | Ty::B16 => {
                type $t = u16;
                $body
            }
            Ty::S16 => {
                type $t = i16;
                $body
            }
            Ty::U32 | Ty::B32 => {
                type $t = u32;
                $body
            }
            Ty::S32 => {
                type $t = i32;
                $body
            }
            Ty::U64 | Ty::B64 => {
                type $t = u64;
                $body
            }
            Ty::S64 => {
                type $t = i64;
                $body
            }
            _ => return Ok(None),
        }
    };
}

/// Evaluates `$body` with `$t` and its double-width type `$w`.
macro_rules! with_wide {
    ($ty:expr, $t:ident, $w:ident => $body:expr) => {
        match $ty {
            Ty::U16 => {
                type $t = u16;
                type $w = u32;
                $body
            }
            Ty::S16 => {
                type $t = i16;
                type $w = i32;
                $body
            }
            Ty::U32 => {
                type $t = u32;
                type $w = u64;
                $body
            }
            Ty::S32 => {
                type $t = i32;
                type $w = i64;
                $body
            }
            _ => return Ok(None),
        }
    };
}

/// Evaluates `$body` with `$t` and a type `$w` that holds any product of two `$t`.
macro_rules! with_product {
    ($ty:expr, $t:ident, $w:ident => $body:expr) => {
        match $ty {
            Ty::U64 => { type $t = u64; type $w = u128; $body }
            Ty::S64 => { type $t = i64; type $w = i128; $body }
            ty => with_wide!(ty, $t, $w => $body),
        }
    };
}

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    let opcode = a.instruction.opcode;
    if !matches!(
        opcode,
        "add"
            | "sub"
            | "addc"
            | "subc"
            | "mul"
            | "mad"
            | "madc"
            | "mul24"
            | "mad24"
            | "div"
            | "rem"
            | "abs"
            | "neg"
            | "min"
            | "max"
            | "sad"
            | "dp4a"
            | "dp2a"
    ) {
        return Ok(None);
    }
    if opcode == "dp4a" || opcode == "dp2a" {
        return dot(a).map(Some);
    }
    let ty = a.ty()?;
    let saturate = a.has("sat");
    if opcode.ends_with('c') || a.has("cc") {
        return carry(a, ty);
    }
    Ok(Some(match opcode {
        "add" if saturate && ty == Ty::S32 => a.binary(i32::saturating_add)?,
        "sub" if saturate && ty == Ty::S32 => a.binary(i32::saturating_sub)?,
        "add" => with_int!(ty, T => a.binary(T::wrapping_add)?),
        "sub" => with_int!(ty, T => a.binary(T::wrapping_sub)?),
        "mul" if a.has("lo") => with_int!(ty, T => a.binary(T::wrapping_mul)?),
        "mul" if a.has("wide") => with_wide!(ty, T, W => a.binary(|x: T, y: T| W::from(x) * W::from(y))?),
        "mul" if a.has("hi") => {
            with_product!(ty, T, W => a.binary(|x: T, y: T| ((W::from(x) * W::from(y)) >> T::BITS) as T)?)
        }
        "mad" if a.has("lo") => with_int!(ty, T => a.ternary(|x: T, y: T, z: T| x.wrapping_mul(y).wrapping_add(z))?),
        "mad" if a.has("wide") => {
            with_wide!(ty, T, W => a.ternary(|x: T, y: T, z: W| (W::from(x) * W::from(y)).wrapping_add(z))?)
        }
        "mad" if a.has("hi") => with_product!(ty, T, W => {
            a.ternary(move |x: T, y: T, z: T| {
                let high = ((W::from(x) * W::from(y)) >> T::BITS) as T;
                if saturate { high.saturating_add(z) } else { high.wrapping_add(z) }
            })?
        }),
        "mul24" | "mad24" => twenty_four(a, ty)?,
        // Dividing by zero gives all ones, quotient and remainder, as the hardware's routines do.
        "div" => with_int!(ty, T => a.binary(|x: T, y: T| if y == 0 { !0 } else { x.wrapping_div(y) })?),
        "rem" => with_int!(ty, T => a.binary(|x: T, y: T| if y == 0 { !0 } else { x.wrapping_rem(y) })?),
        "min" => with_int!(ty, T => a.binary(|x: T, y: T| x.min(y))?),
        "max" => with_int!(ty, T => a.binary(|x: T, y: T| x.max(y))?),
        "sad" => with_int!(ty, T => {
            a.ternary(|x: T, y: T, z: T| z.wrapping_add(if x > y { x.wrapping_sub(y) } else { y.wrapping_sub(x) }))?
        }),
        "abs" => match ty {
            Ty::S16 => a.unary(i16::wrapping_abs)?,
            Ty::S32 => a.unary(i32::wrapping_abs)?,
            Ty::S64 => a.unary(i64::wrapping_abs)?,
            _ => return Ok(None),
        },
        "neg" => match ty {
            Ty::S16 => a.unary(i16::wrapping_neg)?,
            Ty::S32 => a.unary(i32::wrapping_neg)?,
            Ty::S64 => a.unary(i64::wrapping_neg)?,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

fn twenty_four(a: &mut Args<'_, '_, '_>, ty: Ty) -> Decoded<Op> {
    let low = |x: u32| i64::from(x & 0xFF_FFFF);
    let signed = |x: u32| i64::from((x << 8) as i32 >> 8);
    let widen = if ty.is_signed() { signed } else { low };
    let shift = if a.has("hi") { 16 } else { 0 };
    if a.instruction.opcode == "mad24" && a.has("sat") {
        a.ternary(move |x: u32, y: u32, z: i32| (((widen(x) * widen(y)) >> shift) as i32).saturating_add(z))
    } else if a.instruction.opcode == "mad24" {
        a.ternary(move |x: u32, y: u32, z: u32| (((widen(x) * widen(y)) >> shift) as u32).wrapping_add(z))
    } else {
        a.binary(move |x: u32, y: u32| ((widen(x) * widen(y)) >> shift) as u32)
    }
}

fn dot(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let types = a.types();
    let (sa, sb) = (types.first().is_some_and(|t| t.is_signed()), types.get(1).is_some_and(|t| t.is_signed()));
    let byte = |x: u32, i: u32, signed: bool| {
        let b = (x >> (8 * i)) as u8;
        if signed { i32::from(b as i8) } else { i32::from(b) }
    };
    if a.instruction.opcode == "dp4a" {
        return a.ternary(move |x: u32, y: u32, z: u32| {
            (0..4).fold(z, |sum, i| sum.wrapping_add((byte(x, i, sa) * byte(y, i, sb)) as u32))
        });
    }
    let high = if a.has("hi") { 2 } else { 0 };
    let half = |x: u32, i: u32, signed: bool| {
        let h = (x >> (16 * i)) as u16;
        if signed { i32::from(h as i16) } else { i32::from(h) }
    };
    a.ternary(move |x: u32, y: u32, z: u32| {
        (0..2).fold(z, |sum, i| sum.wrapping_add(half(x, i, sa).wrapping_mul(byte(y, i + high, sb)) as u32))
    })
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`: wide arithmetic through the carry flag, which is a hidden predicate.
fn carry(a: &mut Args<'_, '_, '_>, ty: Ty) -> Decoded<Option<Op>> {
    let flag = a.decoder.carry();
    let opcode = a.instruction.opcode;
    let (reads, writes, subtract) = (opcode.ends_with('c'), a.has("cc"), opcode.starts_with("sub"));
    let bits = ty.bits();
    if !matches!(ty, Ty::U32 | Ty::S32 | Ty::B32 | Ty::U64 | Ty::S64 | Ty::B64) {
        return Ok(None);
    }
    let to = a.reg_of(0, bits)?;
    let (mut x, mut y) = (a.src(1)?, a.src(2)?);
    let product = opcode.starts_with("mad").then(|| (a.has("hi"), ty.is_signed()));
    let factors = (x, y);
    if product.is_some() {
        x = Src::Imm(0);
        y = a.src(3)?;
    }
    Ok(Some(compute(move |r, mask| {
        let carries = r.predicates[flag as usize];
        let (mut left, right) = (r.read_wide(x), r.read_wide(y));
        if let Some((high, signed)) = product {
            let (p, q) = (r.read_wide(factors.0), r.read_wide(factors.1));
            for l in 0..LANES {
                let wide = match (signed, bits) {
                    (true, 32) => i128::from(p[l] as i32) * i128::from(q[l] as i32),
                    (true, _) => i128::from(p[l] as i64) * i128::from(q[l] as i64),
                    (false, _) => (u128::from(p[l]) * u128::from(q[l])) as i128,
                };
                left[l] = (if high { wide >> bits } else { wide }) as u64;
            }
        }
        let keep = u64::MAX >> (64 - bits);
        let wide = |l: usize| {
            let (x, y) = (u128::from(left[l] & keep), u128::from(right[l] & keep));
            let c = u128::from(reads && carries >> l & 1 != 0);
            // The flag of a subtraction is its borrow.
            if subtract { x.wrapping_sub(y).wrapping_sub(c) } else { x + y + c }
        };
        if writes {
            let out = lanes_where(|l| wide(l) >> bits & 1 != 0);
            r.set(flag, mask, out);
        }
        r.write_wide(to, mask, &core::array::from_fn(|l| wide(l) as u64 & keep));
    })))
}
