//! `mma.sync`.

use super::{Executed, Flow};
use crate::ir::Mma;
use crate::machine::registers::Registers;
use crate::machine::run::{At, Run};
use crate::ptx::ast::Reg;
use crate::tensor::double::{self, Doubles};
use crate::tensor::tile::{self, Operands};
use warpwright_numeric::Dtype;

impl Run<'_> {
    pub(super) fn mma(&mut self, at: At, op: &Mma) -> Executed {
        self.report.tensor_products += u64::from(op.products);
        let registers = &mut self.clusters[at.cluster].warps[at.warp].registers;
        if op.kind.accumulator == Dtype::F64 {
            doubles(registers, &mut self.operands.doubles, op);
        } else {
            words(registers, &mut self.operands, op);
        }
        Ok(Flow::Next)
    }
}

/// The registers of an operand; there are at most `N`.
fn rows<'r, T, const N: usize>(regs: &[Reg], none: &'r T, row: impl Fn(u32) -> &'r T) -> [&'r T; N] {
    core::array::from_fn(|i| regs.get(i).map_or(none, |reg| row(reg.row)))
}

fn words(registers: &mut Registers, operands: &mut Operands, op: &Mma) {
    let none = &[0; 32];
    let a: [_; 4] = rows(&op.a, none, |row| registers.row(row));
    let b: [_; 2] = rows(&op.b, none, |row| registers.row(row));
    let mut c: [_; 4] = core::array::from_fn(|i| op.c.get(i).map_or(*none, |src| registers.read(*src)));
    tile::load_a(operands, op.kind, &a[..op.a.len()]);
    tile::multiply(operands, op.kind, &b[..op.b.len()], &mut c[..op.c.len()]);
    for (lanes, reg) in c.iter().zip(&op.d) {
        *registers.row_mut(reg.row) = *lanes;
    }
}

fn doubles(registers: &mut Registers, operands: &mut Doubles, op: &Mma) {
    let none = &[0.0; 32];
    let a: [_; 8] = rows(&op.a, none, |row| registers.doubles(row));
    let b: [_; 4] = rows(&op.b, none, |row| registers.doubles(row));
    double::load(operands, &a[..op.a.len()], &b[..op.b.len()], op.kind.groups);
    for (half, (from, to)) in op.c.chunks_exact(2).zip(op.d.chunks_exact(2)).enumerate() {
        let mut c = [registers.read(from[0]), registers.read(from[1])];
        double::multiply(operands, half, &mut c);
        registers.write(to[0], !0, &c[0]);
        registers.write(to[1], !0, &c[1]);
    }
}
