//! One step of a warp's tensor core: rows of A times 8 columns of B, from registers to registers.

use super::double::Doubles;
use super::fragment::{Lanes, pairs, unpair};
use super::integer;
use super::model::{self, NARROW, Result, Tile, WIDE};
use super::operand::{Operand, Part, Side, f16, to_f16};
use super::vectors::{self, Vector, each, vectors};
use warpwright_numeric::Dtype;

/// What is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    pub a: Dtype,
    pub b: Dtype,
    /// `F32`, `F16` or `I32`.
    pub accumulator: Dtype,
    /// Groups of 8 rows: 2, of integers also 1.
    pub groups: usize,
    /// `wgmma` multiplies fp8 as such; `mma.sync` makes two chained f16 steps of it, from zero, and adds their sum to C. The
    /// bytes of each register take turns: the first step multiplies k = 0, 1, 4, 5, …, the second the others.
    pub native: bool,
    /// Integer sums are clamped.
    pub saturate: bool,
    /// A's values change their sign.
    pub negate: bool,
}

impl Kind {
    fn is_chained(self) -> bool {
        self.a.bits() == 8 && !self.native
    }
}

/// Decoded operands, kept to spare allocations.
pub(crate) struct Operands {
    a: [Operand; 2],
    b: Operand,
    integer_a: [i32; 16 * 64],
    integer_b: [i32; 8 * 64],
    pub doubles: Doubles,
}

impl Default for Operands {
    fn default() -> Operands {
        Operands {
            a: Default::default(),
            b: Operand::default(),
            integer_a: [0; 16 * 64],
            integer_b: [0; 8 * 64],
            doubles: Doubles::default(),
        }
    }
}

vectors! {
    /// Decodes the registers of A, for any number of [`multiply`]s.
    pub(crate) fn load_a(operands: &mut Operands, kind: Kind, a: &[&Lanes]) = decode_a
}

vectors! {
    /// Adds the product of A and the B in registers to the accumulators in registers.
    pub(crate) fn multiply(operands: &mut Operands, kind: Kind, b: &[&Lanes], c: &mut [Lanes]) = any
}

#[inline(always)]
fn decode_a<V: Vector>(operands: &mut Operands, kind: Kind, a: &[&Lanes]) {
    if kind.accumulator == Dtype::I32 {
        integer::extend::<V>(a, kind.a, Side::A, kind.groups, &mut operands.integer_a);
    } else if kind.is_chained() {
        for (half, x) in operands.a.iter_mut().enumerate() {
            x.decode::<V>(a, kind.a, Side::A, Part::Half(half));
        }
    } else {
        let [x, _] = &mut operands.a;
        x.decode::<V>(a, kind.a, Side::A, Part::All);
        if kind.negate {
            x.negate();
        }
    }
}

#[inline(always)]
fn any<V: Vector>(operands: &mut Operands, kind: Kind, b: &[&Lanes], c: &mut [Lanes]) {
    let mut rows = [V::splat(0); 16];
    let halves = rows.as_chunks_mut::<8>().0;
    if kind.accumulator == Dtype::F16 {
        for (words, half) in c.iter().zip(halves) {
            let words = vectors::load::<V>(words);
            *half = pairs(each!(words, w => f16(w.and(V::splat(0xFFFF)))), each!(words, w => f16(w.shr::<16>())));
        }
    } else {
        for (two, half) in c.as_chunks::<2>().0.iter().zip(halves) {
            *half = pairs(vectors::load(&two[0]), vectors::load(&two[1]));
        }
    }
    let mut tile = [[0; 8]; 16];
    for (row, words) in rows.iter().zip(&mut tile) {
        row.store(words);
    }
    if kind.accumulator == Dtype::I32 {
        let k = integer::extend::<V>(b, kind.b, Side::B, 1, &mut operands.integer_b);
        let (a, b) = (&operands.integer_a[..8 * kind.groups * k], &operands.integer_b);
        integer::multiply(a, b, k, bytemuck::cast_slice_mut(&mut tile), kind.saturate);
    } else {
        floats::<V>(operands, kind, b, bytemuck::cast_mut(&mut tile));
    }
    for (row, words) in rows.iter_mut().zip(&tile) {
        *row = V::load(words);
    }
    let halves = rows.as_chunks::<8>().0;
    if kind.accumulator == Dtype::F16 {
        for (words, half) in c.iter_mut().zip(halves) {
            let [even, odd] = unpair(*half);
            let (mut low, high) = (each!(even, x => to_f16(x)), each!(odd, x => to_f16(x)));
            for (x, y) in low.iter_mut().zip(&high) {
                *x = x.or(y.shl::<16>());
            }
            vectors::store(low, words);
        }
    } else {
        for (two, half) in c.as_chunks_mut::<2>().0.iter_mut().zip(halves) {
            let [even, odd] = unpair(*half);
            vectors::store(even, &mut two[0]);
            vectors::store(odd, &mut two[1]);
        }
    }
}

#[inline(always)]
fn floats<V: Vector>(operands: &mut Operands, kind: Kind, b: &[&Lanes], c: &mut Tile) {
    let Operands { a, b: y, .. } = operands;
    let result = if kind.accumulator == Dtype::F16 { Result::Half } else { Result::Single };
    if !kind.is_chained() {
        y.decode::<V>(b, kind.b, Side::B, Part::All);
        let adder = if kind.a.bits() == 8 { NARROW } else { WIDE };
        return model::multiply::<V>(&a[0], y, c, adder, result);
    }
    let mut sum = [[0.0; 8]; 16];
    for (half, x) in a.iter().enumerate() {
        y.decode::<V>(b, kind.b, Side::B, Part::Half(half));
        model::multiply::<V>(x, y, &mut sum, WIDE, result);
    }
    for (row, sum) in c.iter_mut().zip(&sum) {
        let whole = V::fload(row).fadd(V::fload(sum));
        let nan = whole.and(V::splat(0x7FFF_FFFF)).greater(V::splat(0x7F80_0000));
        let rounded = match result {
            // f32 has more than twice the bits of f16: rounding twice is rounding once.
            Result::Half => f16(to_f16(whole)),
            Result::Single => whole,
        };
        V::choose(nan, V::fsplat(model::NAN), rounded).fstore(row);
    }
}
