//! `mma.sync`.

use super::{Executed, Flow};
use crate::decode::{Half, canonical};
use crate::ir::Mma;
use crate::machine::registers::Registers;
use crate::machine::run::{At, Run};
use crate::ptx::ast::Reg;
use crate::tensor::fragment;
use crate::tensor::model::{self, WIDE};
use crate::tensor::operand::Operand;
use std::cell::RefCell;
use warpwright_numeric::{Dtype, f16};

thread_local! {
    /// Decoded operands and the bits of one, kept to spare allocations.
    static SCRATCH: RefCell<(Operand, Operand, Vec<u32>)> = RefCell::default();
}

/// Puts the bits of every element of a fragment in its place of a matrix.
fn elements(registers: &Registers, regs: &[Reg], bits: usize, places: &[u16], out: &mut [u32]) {
    let (per, keep) = (32 / bits, (u64::MAX >> (64 - bits)) as u32);
    for (reg, places) in regs.iter().zip(places.chunks_exact(32 * per)) {
        for (word, places) in registers.row(reg.row).iter().zip(places.chunks_exact(per)) {
            for (i, place) in places.iter().enumerate() {
                out[*place as usize] = word >> (i * bits) & keep;
            }
        }
    }
}

impl Run<'_> {
    pub(super) fn mma(&mut self, at: At, op: &Mma) -> Executed {
        self.report.tensor_products += u64::from(op.m * op.n * op.k);
        let registers = &mut self.warp(at).registers;
        match op.accumulator {
            Dtype::I32 => integers(registers, op),
            Dtype::F64 => doubles(registers, op),
            _ => floats(registers, op),
        }
        Ok(Flow::Next)
    }
}

fn sizes(op: &Mma) -> [usize; 3] {
    [op.m as usize, op.n as usize, op.k as usize]
}

fn floats(registers: &mut Registers, op: &Mma) {
    let [m, n, k] = sizes(op);
    let half = op.accumulator == Dtype::F16;
    let mut c = vec![0f32; m * n];
    // Lane l holds row l / 4 and columns from 2 (l % 4) on; registers alternate between columns or, of f16, hold two, and go on
    // 8 rows below.
    for (r, src) in op.c.iter().enumerate() {
        let words = registers.read::<u32>(*src);
        let rows = c[if half { r } else { r / 2 } * 8 * n..].chunks_exact_mut(n);
        for (row, words) in rows.zip(words.chunks_exact(4)) {
            for (pair, word) in row.chunks_exact_mut(2).zip(words) {
                if half {
                    pair[0] = f16::from_bits(*word as u16).to_f32();
                    pair[1] = f16::from_bits((word >> 16) as u16).to_f32();
                } else {
                    pair[r % 2] = f32::from_bits(*word);
                }
            }
        }
    }
    SCRATCH.with_borrow_mut(|(a, b, bits)| {
        bits.resize(m * k, 0);
        elements(registers, &op.a_regs, op.a.bits(), &op.a_places, bits);
        a.decode(bits, op.a);
        bits.resize(k * n, 0);
        elements(registers, &op.b_regs, op.b.bits(), &op.b_places, bits);
        b.decode(bits, op.b);
        if op.a.bits() == 8 {
            eight_bit(a, b, [m, n, k], &mut c, half);
        } else {
            let result = if half { model::Result::Half } else { model::Result::Single };
            model::multiply(a, b, [m, n, k], &mut c, WIDE, result);
        }
    });
    let narrow = |x: f32| if x.is_nan() { 0x7FFF } else { u32::from(f16::from_f32(x).to_bits()) };
    for (r, reg) in op.d.iter().enumerate() {
        let rows = c[if half { r } else { r / 2 } * 8 * n..].chunks_exact(n);
        for (row, words) in rows.zip(registers.row_mut(reg.row).chunks_exact_mut(4)) {
            for (pair, word) in row.chunks_exact(2).zip(words) {
                *word = if half { narrow(pair[0]) | narrow(pair[1]) << 16 } else { pair[r % 2].to_bits() };
            }
        }
    }
}

/// fp8 `mma.sync` is made of two chained ones of f16, from zero; their sum is added to C. The bytes of each register take
/// turns: the first multiplies k = 0, 1, 4, 5, …, the second the others.
fn eight_bit(a: &Operand, b: &Operand, [m, n, k]: [usize; 3], c: &mut [f32], half: bool) {
    let result = if half { model::Result::Half } else { model::Result::Single };
    let unpack = |values: Vec<f32>| {
        let bits: Vec<u32> =
            values.into_iter().map(|x| if x.is_nan() { 0x7FFF } else { f16::from_f32(x).to_bits().into() }).collect();
        let mut operand = Operand::default();
        operand.decode(&bits, Dtype::F16);
        operand
    };
    let mut sum = vec![0f32; m * n];
    for part in 0..2 {
        let mine = || (0..k).filter(|l| l % 4 / 2 == part);
        let x = unpack((0..m).flat_map(|i| mine().map(move |l| a.values[i * k + l])).collect());
        let y = unpack(mine().flat_map(|l| b.values[l * n..(l + 1) * n].iter().copied()).collect());
        model::multiply(&x, &y, [m, n, k / 2], &mut sum, WIDE, result);
    }
    for (c, x) in c.iter_mut().zip(sum) {
        *c = match half {
            true => f16::from_bits(f16::narrow(f64::from(*c) + f64::from(x))).to_f32(),
            false => canonical(*c + x),
        };
    }
}

fn integers(registers: &mut Registers, op: &Mma) {
    let [m, n, k] = sizes(op);
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), vec![0; m * n]);
    let value = |bits: u32, dtype: Dtype| {
        let shift = 32 - dtype.bits() as u32;
        if dtype.is_signed() { (bits << shift) as i32 >> shift } else { bits as i32 }
    };
    let mut bits = vec![0; m * k];
    elements(registers, &op.a_regs, op.a.bits(), &op.a_places, &mut bits);
    a.extend(bits.iter().map(|b| value(*b, op.a)));
    bits.resize(k * n, 0);
    elements(registers, &op.b_regs, op.b.bits(), &op.b_places, &mut bits);
    b.extend(bits.iter().map(|x| value(*x, op.b)));
    for (r, src) in op.c.iter().enumerate() {
        for (lane, word) in registers.read::<i32>(*src).into_iter().enumerate() {
            let (row, column) = fragment::accumulator(lane, r);
            c[row * n + column] = word;
        }
    }
    model::multiply_integers(&a, &b, [m, n, k], &mut c, op.saturate);
    for (r, reg) in op.d.iter().enumerate() {
        for (lane, word) in registers.row_mut(reg.row).iter_mut().enumerate() {
            let (row, column) = fragment::accumulator(lane, r);
            *word = c[row * n + column] as u32;
        }
    }
}

/// Registers of A alternate between rows l / 4 and, if there are 16 rows, those 8 below, and step by 4 columns from l % 4 on;
/// those of B step by 4 rows. Products are added in the order of k with one rounding each, which the hardware does not promise.
fn doubles(registers: &mut Registers, op: &Mma) {
    use crate::machine::registers::Src;
    let [m, _, k] = sizes(op);
    let halves = m / 8;
    let (mut a, mut b) = (vec![0f64; m * k], vec![0f64; 8 * k]);
    for (r, reg) in op.a_regs.iter().enumerate() {
        for (lane, x) in registers.read::<f64>(Src::Reg(*reg)).into_iter().enumerate() {
            a[(lane / 4 + r % halves * 8) * k + lane % 4 + r / halves * 4] = x;
        }
    }
    for (r, reg) in op.b_regs.iter().enumerate() {
        for (lane, x) in registers.read::<f64>(Src::Reg(*reg)).into_iter().enumerate() {
            b[lane / 4 * k + lane % 4 + 4 * r] = x;
        }
    }
    for (i, (to, from)) in op.d.iter().zip(&op.c).enumerate() {
        let c = registers.read::<f64>(*from);
        let d: [f64; 32] = core::array::from_fn(|lane| {
            let (row, column) = (lane / 4 + i / 2 * 8, 2 * (lane % 4) + i % 2);
            (0..k).fold(c[lane], |sum, l| a[row * k + l].mul_add(b[column * k + l], sum))
        });
        registers.write(*to, !0, &d);
    }
}
