//! `mov`, `cvta`, `isspacep`, `mapa`, `getctarank`.

use super::args::{Args, Decoded, Ty, compute, lanes_where};
use crate::ir::{Address, Op, Special};
use crate::machine::address::*;
use crate::machine::registers::LANES;
use crate::ptx::ast::{Operand, Reg, Width};

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    Ok(Some(match a.instruction.opcode {
        "mov" => mov(a)?,
        "cvta" => {
            let window = if a.has("shared") || a.has("shared::cta") || a.has("shared::cluster") {
                SHARED_WINDOW
            } else if a.has("local") {
                LOCAL_WINDOW
            } else if a.has("param") || a.has("param::entry") {
                PARAM_WINDOW
            } else {
                0
            };
            let shift = if a.has("to") { window.wrapping_neg() } else { window };
            let (to, from) = (a.reg(0)?, a.src(1)?);
            compute(move |r, mask| {
                let from = r.read_wide(from).map(|x| x.wrapping_add(shift));
                r.write_wide(to, mask, &from);
            })
        }
        "isspacep" => {
            let (to, from) = (a.pred(0)?, a.src(1)?);
            let window = match a.suffix(0) {
                "shared" | "shared::cta" | "shared::cluster" => Some(SHARED_WINDOW),
                "local" => Some(LOCAL_WINDOW),
                "param" | "param::entry" => Some(PARAM_WINDOW),
                _ => None,
            };
            compute(move |r, mask| {
                let at = r.read_wide(from);
                let inside = lanes_where(|l| match window {
                    Some(window) => within(at[l], window),
                    None => ![SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW].iter().any(|w| within(at[l], *w)),
                });
                r.set(to, mask, inside);
            })
        }
        "mapa" => {
            let (to, from, rank) = (a.reg(0)?, a.src(1)?, a.src(2)?);
            compute(move |r, mask| {
                let (from, rank) = (r.read_wide(from), r.read::<u32>(rank));
                let clear = u64::from(!OFFSET_MASK);
                let at = core::array::from_fn(|l| from[l] & !clear | u64::from(rank[l]) << RANK_SHIFT);
                r.write_wide(to, mask, &at);
            })
        }
        "getctarank" => {
            let (to, from) = (a.reg(0)?, a.src(1)?);
            compute(move |r, mask| {
                let rank = r.read_wide(from).map(|x| x >> RANK_SHIFT & 0xFF);
                r.write_wide(to, mask, &rank);
            })
        }
        _ => return Ok(None),
    }))
}

fn mov(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let ty = a.ty()?;
    if ty == Ty::Pred {
        if let (Operand::Register(to), Operand::Special("%is_explicit_cluster")) = (a.operand(0)?, a.operand(1)?) {
            return Ok(Op::Special { to: *to, what: Special::IsExplicitCluster });
        }
        let (to, from) = (a.pred(0)?, a.pred_src(1)?);
        return Ok(compute(move |r, mask| r.set(to, mask, from.mask(r))));
    }
    let (target, source) = (a.operand(0)?.clone(), a.operand(1)?.clone());
    if let Operand::Vector(parts) = if matches!(target, Operand::Vector(_)) { &target } else { &source }
        && (ty.bits() > 64 || !matches!(parts.len(), 2 | 4 | 8) || !(ty.bits() / parts.len() as u32).is_multiple_of(8))
    {
        return Err(a.unsupported("these parts"));
    }
    match (target, source) {
        (Operand::Vector(parts), _) => {
            let parts = parts.len() as u32;
            let (to, from, bits) = (a.targets(0)?, a.src(1)?, ty.bits() / parts);
            let keep = !0 >> (64 - bits);
            Ok(compute(move |r, mask| {
                let from = r.read_wide(from);
                for (i, to) in to.iter().enumerate() {
                    if let Some(to) = to {
                        r.write_wide(*to, mask, &from.map(|x| x >> (i as u32 * bits) & keep));
                    }
                }
            }))
        }
        (_, Operand::Vector(parts)) => {
            let bits = ty.bits() / parts.len() as u32;
            let (to, from) = (a.reg(0)?, a.sources(1)?);
            let keep = !0 >> (64 - bits);
            Ok(compute(move |r, mask| {
                let mut packed = [0u64; LANES];
                for (i, from) in from.iter().enumerate() {
                    let part = r.read_wide(*from);
                    for l in 0..LANES {
                        packed[l] |= (part[l] & keep) << (i as u32 * bits);
                    }
                }
                r.write_wide(to, mask, &packed);
            }))
        }
        (_, Operand::Special(name)) => {
            let what = super::special::named(name).ok_or_else(|| a.unsupported(name))?;
            Ok(Op::Special { to: a.reg(0)?, what })
        }
        (_, Operand::Symbol(name)) => {
            let (base, _) = a.decoder.symbol(name)?;
            Ok(Op::AddressOf { to: a.reg(0)?, address: Address { base, offset: 0 } })
        }
        (Operand::Register(Reg { width: Width::Double, .. }), _) if ty.bits() == 64 => a.unary(|x: u64| x),
        _ if ty.bits() == 32 => a.unary(|x: u32| x),
        _ if ty.bits() == 16 => a.unary(|x: u16| x),
        _ => Err(a.unsupported("")),
    }
}
