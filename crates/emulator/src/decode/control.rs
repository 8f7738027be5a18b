//! Branches, barriers, fences, hints.

use super::args::{Args, Decoded, compute};
use super::label;
use crate::check::clock::Memory;
use crate::error::ParseReason;
use crate::ir::{Answer, Barrier, BarrierKind, Fence, Op, ReduceMode, Space};
use crate::machine::registers::Src;
use crate::ptx::ast::Operand;

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    Ok(Some(match a.instruction.opcode {
        "bra" => Op::Branch { target: label(a.operand(0)?).ok_or_else(|| a.unsupported("no label"))? },
        "brx" => {
            let Operand::Symbol(table) = *a.operand(1)? else { return Err(a.unsupported("")) };
            Op::BranchTable { index: a.src(0)?, targets: a.decoder.table(table)?.into() }
        }
        "ret" | "exit" => Op::Exit,
        "trap" | "brkpt" => Op::Trap,
        "nanosleep" => Op::Sleep,
        "bar" if a.has("warp") => Op::WarpSync { members: a.src(0)? },
        "bar" | "barrier" if a.has("cluster") => {
            if a.has("arrive") {
                Op::ClusterArrive { release: !a.has("relaxed") }
            } else {
                Op::ClusterWait { acquire: true }
            }
        }
        "bar" | "barrier" => {
            let aligned = a.instruction.opcode == "bar" || a.has("aligned");
            let plain = |a: &mut Args<'_, '_, '_>, kind| -> Decoded<Op> {
                let id = if a.count() > 0 { a.src(0)? } else { Src::Imm(0) };
                let threads = if a.count() > 1 { Some(a.src(1)?) } else { None };
                Ok(Op::Barrier(Barrier { kind, id, threads, aligned }))
            };
            if a.has("red") {
                let mode = match () {
                    () if a.has("popc") => ReduceMode::Count,
                    () if a.has("and") => ReduceMode::And,
                    () => ReduceMode::Or,
                };
                let to = if mode == ReduceMode::Count { Answer::Reg(a.reg(0)?) } else { Answer::Pred(a.pred(0)?) };
                let (id, value) = (a.src(1)?, a.pred_src(a.count() - 1)?);
                let threads = if a.count() == 4 { Some(a.src(2)?) } else { None };
                Op::Barrier(Barrier { kind: BarrierKind::Reduce { to, value, mode }, id, threads, aligned })
            } else if a.has("arrive") {
                plain(a, BarrierKind::Arrive)?
            } else {
                plain(a, BarrierKind::Sync)?
            }
        }
        "membar" => Op::Fence(Fence::Memory),
        "fence" if a.has("mbarrier_init") => Op::Fence(Fence::MbarrierInit),
        "fence" if a.has("proxy") => {
            let (asynchronous, map) = (a.has("async") || a.has("async::generic"), a.has("tensormap::generic"));
            let memory = match a.space() {
                Space::Shared => Some(Memory::Shared),
                Space::Global => Some(Memory::Global),
                _ => None,
            };
            match (asynchronous, map) {
                (true, _) => Op::Fence(Fence::Proxy(memory)),
                (_, true) => Op::Fence(Fence::TensorMap),
                _ => Op::Fence(Fence::Memory),
            }
        }
        "fence" => Op::Fence(Fence::Memory),
        // Hints, and dependencies on other grids, which have always finished before a launch starts.
        "griddepcontrol" | "pmevent" | "prefetch" | "prefetchu" | "discard" | "applypriority" => Op::Nop,
        "createpolicy" => {
            let to = a.reg(0)?;
            compute(move |r, mask| r.write_wide(to, mask, &[0; 32]))
        }
        "setmaxnreg" => {
            let count = a.constant(0)?;
            if count % 8 != 0 || !(24..=256).contains(&count) {
                return Err(ParseReason::Operands(format!(
                    "{count} registers: a multiple of 8 in 24 to 256 is wanted"
                )));
            }
            Op::MaxRegisters { count: count as u32, increase: a.has("inc") }
        }
        _ => return Ok(None),
    }))
}
