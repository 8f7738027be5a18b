//! Logic, shifts, bit fields and byte permutation.

use super::args::{Args, Decoded, Ty, compute};
use crate::ir::Op;

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    let opcode = a.instruction.opcode;
    if !matches!(
        opcode,
        "and"
            | "or"
            | "xor"
            | "not"
            | "cnot"
            | "shl"
            | "shr"
            | "shf"
            | "lop3"
            | "prmt"
            | "bfe"
            | "bfi"
            | "bfind"
            | "brev"
            | "clz"
            | "popc"
            | "szext"
            | "bmsk"
            | "fns"
    ) {
        return Ok(None);
    }
    let ty = a.ty()?;
    let bits = ty.bits();
    Ok(Some(match (opcode, bits) {
        ("and" | "or" | "xor", 1) => {
            let (to, x, y) = (a.pred(0)?, a.pred_src(1)?, a.pred_src(2)?);
            let apply: fn(u32, u32) -> u32 = match opcode {
                "and" => |x, y| x & y,
                "or" => |x, y| x | y,
                _ => |x, y| x ^ y,
            };
            compute(move |r, mask| r.set(to, mask, apply(x.mask(r), y.mask(r))))
        }
        ("not", 1) => {
            let (to, x) = (a.pred(0)?, a.pred_src(1)?);
            compute(move |r, mask| r.set(to, mask, !x.mask(r)))
        }
        ("and", 64) => a.binary(|x: u64, y: u64| x & y)?,
        ("or", 64) => a.binary(|x: u64, y: u64| x | y)?,
        ("xor", 64) => a.binary(|x: u64, y: u64| x ^ y)?,
        ("not", 64) => a.unary(|x: u64| !x)?,
        ("and", 32) => a.binary(|x: u32, y: u32| x & y)?,
        ("or", 32) => a.binary(|x: u32, y: u32| x | y)?,
        ("xor", 32) => a.binary(|x: u32, y: u32| x ^ y)?,
        ("not", 32) => a.unary(|x: u32| !x)?,
        ("and", 16) => a.binary(|x: u16, y: u16| x & y)?,
        ("or", 16) => a.binary(|x: u16, y: u16| x | y)?,
        ("xor", 16) => a.binary(|x: u16, y: u16| x ^ y)?,
        ("not", 16) => a.unary(|x: u16| !x)?,
        ("cnot", 16) => a.unary(|x: u16| u16::from(x == 0))?,
        ("cnot", 32) => a.unary(|x: u32| u32::from(x == 0))?,
        ("cnot", 64) => a.unary(|x: u64| u64::from(x == 0))?,
        // Shift amounts beyond the width shift everything out.
        ("shl", 16) => a.binary(|x: u16, n: u32| if n > 15 { 0 } else { x << n })?,
        ("shl", 32) => a.binary(|x: u32, n: u32| if n > 31 { 0 } else { x << n })?,
        ("shl", 64) => a.binary(|x: u64, n: u32| if n > 63 { 0 } else { x << n })?,
        ("shr", 16) if ty == Ty::S16 => a.binary(|x: i16, n: u32| x >> n.min(15))?,
        ("shr", 32) if ty == Ty::S32 => a.binary(|x: i32, n: u32| x >> n.min(31))?,
        ("shr", 64) if ty == Ty::S64 => a.binary(|x: i64, n: u32| x >> n.min(63))?,
        ("shr", 16) => a.binary(|x: u16, n: u32| if n > 15 { 0 } else { x >> n })?,
        ("shr", 32) => a.binary(|x: u32, n: u32| if n > 31 { 0 } else { x >> n })?,
        ("shr", 64) => a.binary(|x: u64, n: u32| if n > 63 { 0 } else { x >> n })?,
        ("shf", 32) => {
            let (left, clamp) = (a.has("l"), a.has("clamp"));
            a.ternary(move |low: u32, high: u32, n: u32| {
                let n = if clamp { n.min(32) } else { n & 31 };
                let wide = u64::from(high) << 32 | u64::from(low);
                if left { (wide << n >> 32) as u32 } else { (wide >> n) as u32 }
            })?
        }
        ("lop3", 32) => {
            let table = a.constant(4)? as u32;
            // Each bit of the table that is set contributes the minterm of its index.
            a.ternary(move |x: u32, y: u32, z: u32| {
                (0..8).filter(|i| table >> i & 1 != 0).fold(0, |out, i| {
                    let term = |v: u32, bit: u32| if i >> bit & 1 != 0 { v } else { !v };
                    out | term(x, 2) & term(y, 1) & term(z, 0)
                })
            })?
        }
        ("prmt", 32) => permute(a)?,
        ("bfe", 32) if ty == Ty::S32 => {
            a.ternary(|x: u32, at: u32, n: u32| extract(x.into(), at, n, 32, true) as u32)?
        }
        ("bfe", 64) if ty == Ty::S64 => a.ternary(|x: u64, at: u32, n: u32| extract(x, at, n, 64, true))?,
        ("bfe", 32) => a.ternary(|x: u32, at: u32, n: u32| extract(x.into(), at, n, 32, false) as u32)?,
        ("bfe", 64) => a.ternary(|x: u64, at: u32, n: u32| extract(x, at, n, 64, false))?,
        ("bfi", 32 | 64) => {
            let (to, from, into, at, n) = (a.reg_of(0, bits)?, a.src(1)?, a.src(2)?, a.src(3)?, a.src(4)?);
            compute(move |r, mask| {
                let (from, into) = (r.read_wide(from), r.read_wide(into));
                let (at, n) = (r.read::<u32>(at), r.read::<u32>(n));
                let out = core::array::from_fn(|l| {
                    let (at, n) = (field_operand(at[l], bits), field_operand(n[l], bits));
                    let field = if n >= 64 { u64::MAX } else { (1 << n) - 1 };
                    let field = field.checked_shl(at).unwrap_or(0);
                    into[l] & !field | from[l].checked_shl(at).unwrap_or(0) & field
                });
                r.write_wide(to, mask, &out);
            })
        }
        ("bfind", _) => {
            let shift_amount = a.has("shiftamt");
            let find = move |x: u64, bits: u32| match (x.checked_ilog2(), shift_amount) {
                (None, _) => u32::MAX,
                (Some(at), false) => at,
                (Some(at), true) => bits - 1 - at,
            };
            match ty {
                Ty::U32 => a.unary(move |x: u32| find(x.into(), 32))?,
                Ty::S32 => a.unary(move |x: i32| find((if x < 0 { !x } else { x } as u32).into(), 32))?,
                Ty::U64 => a.unary(move |x: u64| find(x, 64))?,
                Ty::S64 => a.unary(move |x: i64| find(if x < 0 { !x } else { x } as u64, 64))?,
                _ => return Ok(None),
            }
        }
        ("brev", 32) => a.unary(u32::reverse_bits)?,
        ("brev", 64) => a.unary(u64::reverse_bits)?,
        ("clz", 32) => a.unary(u32::leading_zeros)?,
        ("clz", 64) => a.unary(u64::leading_zeros)?,
        ("popc", 32) => a.unary(u32::count_ones)?,
        ("popc", 64) => a.unary(u64::count_ones)?,
        ("bmsk", 32) => {
            let clamp = a.has("clamp");
            a.binary(move |at: u32, n: u32| {
                let (at, n) = if clamp { (at.min(32), n.min(32)) } else { (at & 31, n & 31) };
                ((((1u64 << n) - 1) << at) & u64::from(u32::MAX)) as u32
            })?
        }
        _ => return Ok(None),
    }))
}

/// Position and length of a field: the 32-bit instructions read 8 bits, the 64-bit routines all.
fn field_operand(value: u32, bits: u32) -> u32 {
    if bits == 32 { value & 255 } else { value }
}

fn extract(x: u64, at: u32, n: u32, bits: u32, signed: bool) -> u64 {
    let (at, n) = (field_operand(at, bits), field_operand(n, bits));
    let sign = match (n, at.saturating_add(n).min(bits)) {
        (0, _) => 0,
        (_, end) => x >> (end - 1).min(63) & 1,
    };
    let field = if n >= 64 { u64::MAX } else { (1u64 << n) - 1 };
    let value = x.checked_shr(at).unwrap_or(0) & field;
    if !signed || sign == 0 {
        return value;
    }
    // The sign fills what the field does not reach, and what it reaches beyond the register.
    let width = n.min(bits.saturating_sub(at));
    if width >= 64 { value } else { value | !0 << width }
}

fn permute(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let mode = a.find(|s| (s != "b32").then_some(s)).unwrap_or("");
    let selector: fn(u32) -> u32 = match mode {
        "" => |s| s,
        "f4e" => |s| [0x3210, 0x4321, 0x5432, 0x6543][s as usize & 3],
        "b4e" => |s| [0x5670, 0x6701, 0x7012, 0x0123][s as usize & 3],
        "rc8" => |s| 0x1111 * (s & 3),
        "ecl" => |s| [0x3210, 0x3211, 0x3222, 0x3333][s as usize & 3],
        "ecr" => |s| [0x0000, 0x1110, 0x2210, 0x3210][s as usize & 3],
        "rc16" => |s| if s & 1 == 0 { 0x1010 } else { 0x3232 },
        _ => return Err(a.unsupported("")),
    };
    a.ternary(move |x: u32, y: u32, s: u32| {
        let (bytes, s) = (u64::from(y) << 32 | u64::from(x), selector(s));
        (0..4).fold(0, |out, i| {
            let pick = s >> (4 * i);
            let byte = (bytes >> (8 * (pick & 7))) as u8;
            let byte = if pick & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
            out | u32::from(byte) << (8 * i)
        })
    })
}
