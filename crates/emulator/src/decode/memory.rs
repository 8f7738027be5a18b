//! `ld`, `st`, `atom`, `red`.

use super::args::{Args, Decoded, Ty};
use super::canonical;
use super::float::select;
use super::half::Half;
use super::rounding::{flush, propagate, sum_to_odd};
use crate::error::ParseReason;
use crate::ir::{Apply, Atomic, Load, Op, Space, Store};
use crate::machine::registers::Src;
use warpwright_numeric::{bf16, f16};

/// A vector access has 1, 2, 4 or 8 elements, and at most 64 bytes.
fn vector(count: usize, bytes: u32) -> Decoded<()> {
    if matches!(count, 1 | 2 | 4 | 8) && count as u32 * bytes <= 64 {
        return Ok(());
    }
    Err(ParseReason::Operands(format!("an access of {count} elements of {bytes} bytes")))
}

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    Ok(Some(match a.instruction.opcode {
        "ld" | "ldu" => {
            let ty = a.ty()?;
            let (space, address) = place(a, 1)?;
            vector(a.targets(0)?.len(), ty.bits() / 8)?;
            Op::Load(Load {
                space,
                order: a.order(),
                address,
                bytes: ty.bits() / 8,
                signed: ty.is_signed(),
                to: a.targets(0)?.into(),
            })
        }
        "st" if a.has("async") || a.has("bulk") => return Ok(None),
        "st" => {
            let bytes = a.ty()?.bits() / 8;
            let (space, address) = place(a, 0)?;
            let from = a.sources(1)?;
            vector(from.len(), bytes)?;
            if bytes > 8 {
                return Err(a.unsupported("stores of 128-bit registers"));
            }
            Op::Store(Store { space, order: a.order(), address, bytes, from })
        }
        "red" if a.has("async") => return Ok(None),
        "atom" => atomic(a, 1, true)?,
        "red" => atomic(a, 0, false)?,
        _ => return Ok(None),
    }))
}

/// The address in brackets and its space: the one that the instruction names, or else that of the named variable.
fn place(a: &mut Args<'_, '_, '_>, index: usize) -> Decoded<(Space, crate::ir::Address)> {
    let (address, named) = a.address_space(index)?;
    let space = a.space();
    Ok((if space == Space::Generic { named.unwrap_or(space) } else { space }, address))
}

/// Combines the two halves of a pair.
macro_rules! halves {
    ($one:expr) => {
        |x, y, _| {
            let one = $one;
            u64::from(one(x as u16, y as u16)) | u64::from(one((x >> 16) as u16, (y >> 16) as u16)) << 16
        }
    };
}

fn half_add(x: u16, y: u16) -> u16 {
    f16::narrow(f16::from_bits(x).to_f64() + f16::from_bits(y).to_f64())
}

fn brain_add(x: u16, y: u16) -> u16 {
    bf16::narrow(sum_to_odd(bf16::from_bits(x).to_f64(), bf16::from_bits(y).to_f64()))
}

/// f32 addition in global memory: subnormals count and come out as zeros.
pub(crate) fn add_flushed(x: u64, y: u64, _: u64) -> u64 {
    let (x, y) = (flush(f32::from_bits(x as u32)), flush(f32::from_bits(y as u32)));
    u64::from(flush(canonical(x + y)).to_bits())
}

/// f64 addition in global memory: NaN stays as it is.
fn add_double(x: u64, y: u64, _: u64) -> u64 {
    let (old, operand) = (f64::from_bits(x), f64::from_bits(y));
    match (operand.is_nan(), old.is_nan()) {
        (true, _) => y,
        (false, true) => x,
        (false, false) => propagate(old + operand, &[]).to_bits(),
    }
}

/// As [`apply`], for atomics that the memory system makes of global memory.
pub(crate) fn apply_global(operation: &str, ty: Ty) -> Option<Apply> {
    match (operation, ty) {
        ("add", Ty::F64) => Some(add_double),
        _ => apply(operation, ty),
    }
}

/// The smaller or larger of two 16-bit floats.
fn pick<H: Half>(x: u16, y: u16, least: bool) -> u16 {
    H::narrow(select(H::widen(x), H::widen(y), least, false).into())
}

/// What an operation makes of (old value, operand, second operand).
pub(crate) fn apply(operation: &str, ty: Ty) -> Option<Apply> {
    let f: Apply = match (operation, ty) {
        ("add", Ty::U32 | Ty::S32 | Ty::B32) => |x, y, _| u64::from((x as u32).wrapping_add(y as u32)),
        ("add", Ty::U64 | Ty::S64 | Ty::B64) => |x, y, _| x.wrapping_add(y),
        ("add", Ty::F32) => {
            |x, y, _| u64::from(canonical(f32::from_bits(x as u32) + f32::from_bits(y as u32)).to_bits())
        }
        ("add", Ty::F64) => |x, y, _| {
            let (x, y) = (f64::from_bits(x), f64::from_bits(y));
            propagate(x + y, &[y, x]).to_bits()
        },
        ("add", Ty::F16) => |x, y, _| u64::from(half_add(x as u16, y as u16)),
        ("add", Ty::Bf16) => |x, y, _| u64::from(brain_add(x as u16, y as u16)),
        ("add", Ty::F16x2) => halves!(half_add),
        ("add", Ty::Bf16x2) => halves!(brain_add),
        ("min", Ty::U32) => |x, y, _| u64::from((x as u32).min(y as u32)),
        ("max", Ty::U32) => |x, y, _| u64::from((x as u32).max(y as u32)),
        ("min", Ty::S32) => |x, y, _| u64::from((x as i32).min(y as i32) as u32),
        ("max", Ty::S32) => |x, y, _| u64::from((x as i32).max(y as i32) as u32),
        ("min", Ty::U64) => |x, y, _| x.min(y),
        ("max", Ty::U64) => |x, y, _| x.max(y),
        ("min", Ty::S64) => |x, y, _| (x as i64).min(y as i64) as u64,
        ("max", Ty::S64) => |x, y, _| (x as i64).max(y as i64) as u64,
        ("min", Ty::F16) => |x, y, _| u64::from(pick::<f16>(x as u16, y as u16, true)),
        ("max", Ty::F16) => |x, y, _| u64::from(pick::<f16>(x as u16, y as u16, false)),
        ("min", Ty::Bf16) => |x, y, _| u64::from(pick::<bf16>(x as u16, y as u16, true)),
        ("max", Ty::Bf16) => |x, y, _| u64::from(pick::<bf16>(x as u16, y as u16, false)),
        ("inc", Ty::U32) => |x, y, _| if x as u32 >= y as u32 { 0 } else { x + 1 },
        ("dec", Ty::U32) => |x, y, _| if x as u32 == 0 || x as u32 > y as u32 { y } else { x - 1 },
        ("and", _) => |x, y, _| x & y,
        ("or", _) => |x, y, _| x | y,
        ("xor", _) => |x, y, _| x ^ y,
        ("exch", _) => |_, y, _| y,
        ("cas", _) => |x, y, z| if x == y { z } else { x },
        _ => return None,
    };
    Some(f)
}

fn atomic(a: &mut Args<'_, '_, '_>, at: usize, returns: bool) -> Decoded<Op> {
    let ty = a.ty()?;
    let operations = ["add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"];
    let Some(operation) = operations.into_iter().find(|o| a.has(o)) else { return Err(a.unsupported("")) };
    let apply = apply(operation, ty).ok_or_else(|| a.unsupported(""))?;
    let (space, address) = place(a, at)?;
    let operands = a.sources(at + 1)?;
    vector(operands.len(), ty.bits() / 8)?;
    let mut order = a.order();
    order.strong = true;
    Ok(Op::Atomic(Box::new(Atomic {
        space,
        order,
        address,
        bytes: ty.bits() / 8,
        to: if returns { a.targets(0)?.into() } else { Box::default() },
        operands,
        swap: if operation == "cas" { a.src(at + 2)? } else { Src::Imm(0) },
        apply,
        apply_global: match (operation, ty) {
            ("add", Ty::F32) => add_flushed,
            _ => apply_global(operation, ty).unwrap_or(apply),
        },
    })))
}
