//! `ldmatrix`, `stmatrix`, `mma.sync`, `wgmma`.

use super::args::{Args, Decoded};
use crate::error::ParseReason;
use crate::ir::{Collective, Matrix, Mma, Op, Wgmma, WgmmaA};
use crate::machine::registers::Src;
use crate::ptx::ast::Operand;
use crate::tensor::tile::Kind;
use warpwright_numeric::Dtype;

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    match a.instruction.opcode {
        "ldmatrix" | "stmatrix" => matrix(a).map(Some),
        "mma" => mma(a).map(Some),
        "wgmma" => wgmma(a).map(Some),
        _ => Ok(None),
    }
}

fn matrix(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    if !a.has("m8n8") || !a.has("b16") {
        return Err(a.unsupported("only 8 × 8 matrices of b16 are modelled"));
    }
    let store = a.instruction.opcode == "stmatrix";
    let (registers, address) = if store { (1, 0) } else { (0, 1) };
    let registers = a.regs(registers)?;
    let count = [("x1", 1), ("x2", 2), ("x4", 4)].into_iter().find(|(name, _)| a.has(name)).map_or(0, |(_, n)| n);
    if registers.len() != count {
        return Err(ParseReason::Operands(format!("{count} matrices need {count} registers")));
    }
    let address = a.address(address)?;
    Ok(Op::Matrix(Box::new(Matrix { store, transposed: a.has("trans"), registers, address })))
}

/// `m16n8k16`.
fn shape(name: &str) -> Option<[u32; 3]> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

fn element(name: &str) -> Option<Dtype> {
    Some(match name {
        "f16" => Dtype::F16,
        "bf16" => Dtype::Bf16,
        "tf32" => Dtype::Tf32,
        "f32" => Dtype::F32,
        "f64" => Dtype::F64,
        "e4m3" => Dtype::E4m3,
        "e5m2" => Dtype::E5m2,
        "s8" => Dtype::I8,
        "u8" => Dtype::U8,
        "s4" => Dtype::I4,
        "u4" => Dtype::U4,
        "s32" => Dtype::I32,
        _ => return None,
    })
}

fn mma(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let elements: Vec<Dtype> = a.all(element);
    let (Some([m, n, k]), &[d, ea, eb, c]) = (a.find(shape), elements.as_slice()) else {
        return Err(a.unsupported(""));
    };
    use Dtype::*;
    let family = match (ea, eb) {
        (F16, F16) | (Bf16, Bf16) | (Tf32, Tf32) | (F64, F64) => ea,
        (E4m3 | E5m2, E4m3 | E5m2) => E4m3,
        (I8 | U8, I8 | U8) => I8,
        (I4 | U4, I4 | U4) => I4,
        _ => return Err(a.unsupported("")),
    };
    let legal = match (family, [m, n, k]) {
        (F16, [16, 8, 8 | 16]) => matches!(d, F16 | F32),
        (Bf16, [16, 8, 8 | 16]) | (Tf32, [16, 8, 4 | 8]) => d == F32,
        (E4m3, [16, 8, 16 | 32]) => matches!(d, F16 | F32),
        (I8, [8, 8, 16] | [16, 8, 16 | 32]) | (I4, [8, 8, 32] | [16, 8, 32 | 64]) => d == I32,
        (F64, [8, 8, 4] | [16, 8, 4 | 8 | 16]) => d == F64,
        _ => false,
    };
    if !legal || d != c || !a.has("row") || !a.has("col") || a.has("sp") || a.has("block_scale") || a.has("xor") {
        return Err(a.unsupported(""));
    }
    let saturate = a.has("satfinite");
    let (d_regs, a_regs, b_regs) = (a.regs(0)?, a.regs(1)?, a.regs(2)?);
    let c = a.sources(3)?;
    let words = |elements: u32, element: Dtype| (elements * element.bits() as u32).div_ceil(32 * 32) as usize;
    let rows = |r: &[crate::ptx::ast::Reg]| r.iter().map(|r| r.width.rows() as usize).sum::<usize>();
    let wanted = [words(m * n, d), words(m * k, ea), words(n * k, eb)];
    let single = |r: &[crate::ptx::ast::Reg]| d == F64 || r.iter().all(|r| r.width.rows() == 1);
    let fit = [rows(&d_regs), rows(&a_regs), rows(&b_regs)] == wanted && c.len() == d_regs.len();
    if !fit || ![&d_regs, &a_regs, &b_regs].into_iter().all(|r| single(r)) {
        return Err(ParseReason::Operands(format!("D, A and B take {wanted:?} registers of 32 bits")));
    }
    let kind = Kind { a: ea, b: eb, accumulator: d, groups: m as usize / 8, native: false, saturate, negate: false };
    let what = Collective::Mma(Box::new(Mma { products: m * n * k, kind, d: d_regs, a: a_regs, b: b_regs, c }));
    Ok(Op::Collective { members: Src::Imm(0xFFFF_FFFF), what })
}

fn wgmma(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    if a.has("fence") {
        return Ok(Op::WgmmaFence);
    }
    if a.has("commit_group") {
        return Ok(Op::WgmmaCommit);
    }
    if a.has("wait_group") {
        return Ok(Op::WgmmaWait(a.constant(0)? as u32));
    }
    let elements: Vec<Dtype> = a.all(element);
    let (Some([64, n, k]), &[d, ea, eb]) = (a.find(shape), elements.as_slice()) else {
        return Err(a.unsupported(""));
    };
    use Dtype::*;
    let integer = matches!(ea, I8 | U8);
    let legal = match (ea, eb, k) {
        (F16, F16, 16) => matches!(d, F16 | F32),
        (Bf16, Bf16, 16) | (Tf32, Tf32, 8) => d == F32,
        (E4m3 | E5m2, E4m3 | E5m2, 32) => matches!(d, F16 | F32),
        (I8 | U8, I8 | U8, 32) => d == I32,
        _ => false,
    };
    let extents = if integer { n % 16 == 0 || n == 8 || n == 24 } else { n % 8 == 0 };
    if !legal || !extents || !(8..=256).contains(&n) || a.has("sp") {
        return Err(a.unsupported(""));
    }
    let d_regs = a.regs(0)?;
    let wanted = if d == F16 { n / 4 } else { n / 2 } as usize;
    if d_regs.len() != wanted || d_regs.iter().any(|r| r.width.rows() != 1) {
        return Err(ParseReason::Operands(format!("D takes {wanted} registers")));
    }
    let in_registers = matches!(a.operand(1)?, Operand::Vector(_));
    let a_source = if in_registers { WgmmaA::Registers(a.regs(1)?) } else { WgmmaA::Descriptor(a.src(1)?) };
    if let WgmmaA::Registers(regs) = &a_source
        && (regs.len() != 4 || regs.iter().any(|r| r.width.rows() != 1))
    {
        return Err(ParseReason::Operands("A takes 4 registers of 32 bits".into()));
    }
    let b_descriptor = a.src(2)?;
    let scale_d = a.pred_src(3)?;
    let sign = |a: &Args<'_, '_, '_>, index: usize| -> Decoded<bool> {
        match a.constant(index)? as i64 {
            1 => Ok(false),
            -1 => Ok(true),
            other => Err(ParseReason::Operands(format!("scale {other}: 1 or -1 is wanted"))),
        }
    };
    let (negate_a, negate_b) = if integer { (false, false) } else { (sign(a, 4)?, sign(a, 5)?) };
    let sixteen = matches!(ea, F16 | Bf16);
    let (transpose_a, transpose_b) = match (sixteen, in_registers) {
        (false, _) => (false, false),
        (true, true) => (false, a.constant(6)? != 0),
        (true, false) => (a.constant(6)? != 0, a.constant(7)? != 0),
    };
    let kind = Kind {
        a: ea,
        b: eb,
        accumulator: d,
        groups: 2,
        native: true,
        saturate: a.has("satfinite"),
        negate: negate_a != negate_b,
    };
    Ok(Op::Wgmma(Box::new(Wgmma { n, k, kind, d: d_regs, a_source, b_descriptor, scale_d, transpose_a, transpose_b })))
}
