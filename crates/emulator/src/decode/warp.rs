//! Instructions in which the lanes of a warp see each other.

use super::args::{Args, Decoded, Ty};
use crate::ir::{Answer, Collective, Op, ShuffleMode, VoteMode};
use crate::machine::registers::Src;
use crate::ptx::ast::{Operand, Reg, Width};

const EVERYONE: Src = Src::Imm(0xFFFF_FFFF);

/// `d|p` or `d`: the register, and the predicate if there is one.
fn pair(a: &Args<'_, '_, '_>) -> Decoded<(Option<Reg>, Option<u32>)> {
    let mut found = (None, None);
    let mut note = |operand: &Operand<'_>| match operand {
        Operand::Register(Reg { row, width: Width::Pred }) => found.1 = Some(*row),
        Operand::Register(reg) => found.0 = Some(*reg),
        _ => {}
    };
    match a.operand(0)? {
        Operand::Pair(x, y) => {
            note(x);
            note(y);
        }
        other => note(other),
    }
    Ok(found)
}

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    let missing = |a: &Args<'_, '_, '_>| a.unsupported("no destination");
    let (members, what) = match a.instruction.opcode {
        "shfl" => {
            let mode = match () {
                () if a.has("up") => ShuffleMode::Up,
                () if a.has("down") => ShuffleMode::Down,
                () if a.has("bfly") => ShuffleMode::Butterfly,
                () => ShuffleMode::Index,
            };
            let (to, valid) = pair(a)?;
            let to = to.ok_or_else(|| missing(a))?;
            let (value, lane, clamp) = (a.src(1)?, a.src(2)?, a.src(3)?);
            let members = if a.has("sync") { a.src(4)? } else { EVERYONE };
            (members, Collective::Shuffle { mode, to, valid, value, lane, clamp })
        }
        "vote" => {
            let mode = match () {
                () if a.has("all") => VoteMode::All,
                () if a.has("any") => VoteMode::Any,
                () if a.has("uni") => VoteMode::Uniform,
                () => VoteMode::Ballot,
            };
            let to = if mode == VoteMode::Ballot { Answer::Reg(a.reg(0)?) } else { Answer::Pred(a.pred(0)?) };
            let value = a.pred_src(1)?;
            (if a.has("sync") { a.src(2)? } else { EVERYONE }, Collective::Vote { mode, to, value })
        }
        "match" => {
            let (to, valid) = pair(a)?;
            let to = to.ok_or_else(|| missing(a))?;
            let (value, members) = (a.src(1)?, a.src(2)?);
            let all = a.has("all");
            (members, if all { Collective::MatchAll { to, valid, value } } else { Collective::MatchAny { to, value } })
        }
        "redux" => {
            let ty = a.ty()?;
            let apply: fn(i64, i64) -> i64 =
                match (a.find(|s| ["add", "min", "max", "and", "or", "xor"].contains(&s).then_some(s)), ty) {
                    (Some("add"), Ty::U32 | Ty::S32) => |x, y| x.wrapping_add(y),
                    (Some("min"), Ty::U32 | Ty::S32) => |x, y| x.min(y),
                    (Some("max"), Ty::U32 | Ty::S32) => |x, y| x.max(y),
                    (Some("and"), Ty::B32) => |x, y| x & y,
                    (Some("or"), Ty::B32) => |x, y| x | y,
                    (Some("xor"), Ty::B32) => |x, y| x ^ y,
                    _ => return Err(a.unsupported("")),
                };
            let (to, value) = (a.reg(0)?, a.src(1)?);
            (a.src(2)?, Collective::Reduce { to, value, signed: ty.is_signed(), apply })
        }
        "elect" => {
            let (to, leader) = pair(a)?;
            (a.src(1)?, Collective::Elect { to, leader: leader.ok_or_else(|| missing(a))? })
        }
        "movmatrix" => (EVERYONE, Collective::MoveMatrix { to: a.reg(0)?, value: a.src(1)? }),
        "activemask" => return Ok(Some(Op::ActiveMask { to: a.reg(0)? })),
        _ => return Ok(None),
    };
    Ok(Some(Op::Collective { members, what }))
}
