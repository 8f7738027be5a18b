//! `cp.async`, `mbarrier`, bulk copies.

use super::args::{Args, Decoded};
use crate::error::ParseReason;
use crate::ir::{
    Bulk, BulkDirection, BulkReduce, BulkRemote, CopyAsync, CopyValid, Mbarrier, MbarrierOp, Op, StoreAsync,
    TensorMapField, TensorMapReplace, WaitPhase,
};
use crate::machine::registers::Src;
use crate::ptx::ast::{Operand, Reg, Width};
use crate::tensor_map::can_replace;

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    match a.instruction.opcode {
        "mbarrier" => mbarrier(a).map(Some),
        "cp" if a.has("mbarrier") => {
            let op = MbarrierOp::CopyArrive { counted: a.has("noinc") };
            let address = a.address(0)?;
            Ok(Some(Op::Mbarrier(Box::new(Mbarrier { op, address, release: true, acquire: false }))))
        }
        "cp" if a.has("bulk") => bulk(a).map(Some),
        "st" | "red" if a.has("async") => store(a).map(Some),
        "tensormap" => tensor_map(a).map(Some),
        "cp" if a.has("commit_group") => Ok(Some(Op::CopyCommit)),
        "cp" if a.has("wait_all") => Ok(Some(Op::CopyWait(None))),
        "cp" if a.has("wait_group") => Ok(Some(Op::CopyWait(Some(a.constant(0)? as u32)))),
        "cp" if a.has("async") && !a.has("reduce") => copy(a).map(Some),
        _ => Ok(None),
    }
}

fn copy(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let (to, from, bytes) = (a.address(0)?, a.address(1)?, a.constant(2)? as u32);
    let legal = if a.has("cg") { bytes == 16 } else { matches!(bytes, 4 | 8 | 16) };
    if !legal {
        return Err(ParseReason::Operands(format!("{bytes} bytes: .ca copies 4, 8 or 16, .cg copies 16")));
    }
    // A 64-bit last operand is a cache policy.
    let policy = usize::from(a.has("L2::cache_hint"));
    let valid = if a.count() - policy <= 3 {
        CopyValid::All
    } else if matches!(a.operand(3)?, Operand::Register(Reg { width: Width::Pred, .. }) | Operand::Not(_)) {
        CopyValid::Ignore(a.pred_src(3)?)
    } else {
        CopyValid::Bytes(a.src(3)?)
    };
    Ok(Op::CopyAsync(Box::new(CopyAsync { to, from, bytes, valid })))
}

fn store(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let ty = a.ty()?;
    let from = a.sources(1)?;
    if !a.has("shared::cluster") || !matches!(ty.bits(), 32 | 64) || !matches!(from.len(), 1 | 2 | 4) {
        return Err(a.unsupported(""));
    }
    let reduce = if a.instruction.opcode == "red" {
        let operation = ["add", "min", "max", "inc", "dec", "and", "or", "xor"].into_iter().find(|o| a.has(o));
        Some(operation.and_then(|o| super::atomic_apply(o, ty)).ok_or_else(|| a.unsupported(""))?)
    } else {
        None
    };
    let (address, barrier) = (a.address(0)?, a.address(2)?);
    Ok(Op::StoreAsync(Box::new(StoreAsync { address, barrier, bytes: ty.bits() / 8, from, reduce })))
}

fn tensor_map(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    if a.has("cp_fenceproxy") {
        return Ok(Op::TensorMapCopy { to: a.address(0)?, from: a.address(1)? });
    }
    // An ordinal stands between address and value where a field has several.
    let ordinal = if a.count() == 3 { a.constant(1)? as usize } else { 0 };
    let field = match a.suffix(2) {
        "global_address" => TensorMapField::Address,
        "rank" => TensorMapField::Rank,
        "global_dim" => TensorMapField::Dim(ordinal),
        "global_stride" => TensorMapField::Stride(ordinal),
        "box_dim" => TensorMapField::BoxDim(ordinal),
        "element_stride" => TensorMapField::ElementStride(ordinal),
        "interleave_layout" => TensorMapField::Interleave,
        "elemtype" => TensorMapField::Element,
        "swizzle_mode" => TensorMapField::Swizzle,
        "fill_mode" => TensorMapField::Fill,
        _ => return Err(a.unsupported("")),
    };
    if ordinal > if matches!(field, TensorMapField::Stride(_)) { 3 } else { 4 } {
        return Err(ParseReason::Operands(format!("a tensor map has no field {field:?}")));
    }
    let (address, space, value) = (a.address(0)?, a.space(), a.src(a.count() - 1)?);
    if let Src::Imm(value) = value
        && !can_replace(field, value)
    {
        return Err(ParseReason::Operands(format!("{field:?} of a tensor map cannot become {value}")));
    }
    Ok(Op::TensorMapReplace(Box::new(TensorMapReplace { space, address, field, value })))
}

fn mbarrier(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let relaxed = a.has("relaxed");
    let result = |a: &Args<'_, '_, '_>| match a.operand(0)? {
        Operand::Register(reg) if reg.width == Width::Double => Ok(Some(*reg)),
        Operand::Sink => Ok(None),
        _ => Err(ParseReason::Operands("the state is a 64-bit register or `_`".into())),
    };
    let optional = |a: &mut Args<'_, '_, '_>, index: usize| {
        if index < a.count() { a.src(index) } else { Ok(Src::Imm(1)) }
    };
    let (op, at) = match a.suffix(0) {
        "init" => (MbarrierOp::Init { count: a.src(1)? }, 0),
        "inval" => (MbarrierOp::Inval, 0),
        "arrive" | "arrive_drop" => {
            let drop = a.has("arrive_drop");
            // Without a destination operand the address comes first.
            let at = usize::from(!matches!(a.operand(0)?, Operand::Memory(_)));
            let state = if at == 1 { result(a)? } else { None };
            if a.has("expect_tx") {
                let expect = Some(a.src(at + 1)?);
                (MbarrierOp::Arrive { state, count: Src::Imm(1), expect, drop }, at)
            } else {
                (MbarrierOp::Arrive { state, count: optional(a, at + 1)?, expect: None, drop }, at)
            }
        }
        "expect_tx" => (MbarrierOp::ExpectTx { bytes: a.src(1)? }, 0),
        "complete_tx" => (MbarrierOp::CompleteTx { bytes: a.src(1)? }, 0),
        kind @ ("test_wait" | "try_wait") => {
            let done = a.pred(0)?;
            let phase = a.src(2)?;
            let phase = if a.has("parity") { WaitPhase::Parity(phase) } else { WaitPhase::State(phase) };
            (MbarrierOp::Wait { done, phase, blocking: kind == "try_wait" }, 1)
        }
        "pending_count" => {
            // A state token holds 2^20 less the pending count in bits 43 to 62.
            let (to, state) = (a.reg(0)?, a.src(1)?);
            return Ok(super::args::compute(move |r, mask| {
                let counts = r.read::<u64>(state).map(|s| (1 << 20) - (s >> 43 & 0xF_FFFF));
                r.write_wide(to, mask, &counts);
            }));
        }
        _ => return Err(a.unsupported("")),
    };
    let address = a.address(at)?;
    Ok(Op::Mbarrier(Box::new(Mbarrier { op, address, release: !relaxed, acquire: !relaxed })))
}

/// The reduction that a bulk copy makes, if it is one; `own_type` if no tensor map says of what elements.
fn reduction(a: &Args<'_, '_, '_>, own_type: bool) -> Decoded<Option<BulkReduce>> {
    if !a.has("reduce") {
        return Ok(None);
    }
    let names = ["add", "min", "max", "and", "or", "xor", "inc", "dec"];
    let operation = names.into_iter().find(|name| a.has(name)).ok_or_else(|| a.unsupported(""))?;
    let own = if own_type {
        let ty = a.ty()?;
        let apply = super::apply_global(operation, ty).ok_or_else(|| a.unsupported(""))?;
        Some((apply, (ty.bits() / 8) as u8))
    } else {
        None
    };
    Ok(Some(BulkReduce { operation, own }))
}

fn bulk(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    if a.has("commit_group") {
        return Ok(Op::BulkCommit);
    }
    if a.has("wait_group") {
        return Ok(Op::BulkWait { pending: a.constant(0)? as u32, read: a.has("read") });
    }
    if a.has("im2col") || a.has("tile::gather4") || a.has("tile::scatter4") || a.has("cp_mask") {
        return Err(a.unsupported(""));
    }
    let tensor = |a: &mut Args<'_, '_, '_>, index: usize| -> Decoded<BulkRemote> {
        let coordinates = a.memory(index)?.coordinates.clone();
        let coordinates = coordinates.iter().map(|c| a.value(c)).collect::<Decoded<Box<[Src]>>>()?;
        let rank = ["1d", "2d", "3d", "4d", "5d"].iter().position(|d| a.has(d)).map_or(0, |d| d + 1);
        if coordinates.len() != rank {
            return Err(ParseReason::Operands(format!("{rank} coordinates are wanted")));
        }
        Ok(BulkRemote::Tensor { map: a.address(index)?, coordinates })
    };
    let is_tensor = a.has("tensor");
    let spaces = a.all(|s| matches!(s, "global" | "shared::cta" | "shared::cluster").then_some(s));
    if a.has("prefetch") {
        return Ok(Op::Nop);
    }
    let op = match spaces.as_slice() {
        ["shared::cluster" | "shared::cta", "global"] => {
            let (remote, at) = if is_tensor {
                (tensor(a, 1)?, 2)
            } else {
                (BulkRemote::Bytes { address: a.address(1)?, size: a.src(2)? }, 3)
            };
            let barrier = a.address(at)?;
            let multicast = if a.has("multicast::cluster") { Some(a.src(at + 1)?) } else { None };
            Bulk { shared: a.address(0)?, remote, direction: BulkDirection::Load { barrier, multicast, reduce: None } }
        }
        ["shared::cluster", "shared::cta"] => {
            let remote = BulkRemote::Peer { address: a.address(0)?, size: a.src(2)? };
            let reduce = reduction(a, true)?;
            let direction = BulkDirection::Load { barrier: a.address(3)?, multicast: None, reduce };
            Bulk { shared: a.address(1)?, remote, direction }
        }
        ["global", "shared::cta"] => {
            let reduce = reduction(a, !is_tensor)?;
            let (remote, shared) = if is_tensor {
                (tensor(a, 0)?, a.address(1)?)
            } else {
                (BulkRemote::Bytes { address: a.address(0)?, size: a.src(2)? }, a.address(1)?)
            };
            Bulk { shared, remote, direction: BulkDirection::Store { reduce } }
        }
        _ => return Err(a.unsupported("")),
    };
    Ok(Op::Bulk(Box::new(op)))
}
