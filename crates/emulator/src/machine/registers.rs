//! A warp's register file: one row of 32 lanes per 32 bits of a register.

use crate::ptx::ast::Reg;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
const ROW: usize = LANES / 2;

/// Registers of one warp. Predicates are masks with one bit per lane.
#[derive(Clone, Default)]
pub(crate) struct Registers {
    rows: Vec<u64>,
    pub predicates: Vec<u32>,
}

/// A source operand: a register or a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Src {
    Reg(Reg),
    Imm(u64),
}

/// Where a predicate operand comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum PredSrc {
    Reg { index: u32, negated: bool },
    Const(bool),
}

impl PredSrc {
    pub fn mask(self, registers: &Registers) -> u32 {
        match self {
            PredSrc::Reg { index, negated } => registers.predicates[index as usize] ^ if negated { !0 } else { 0 },
            PredSrc::Const(value) => {
                if value {
                    !0
                } else {
                    0
                }
            }
        }
    }
}

/// A value that a lane of a register holds.
pub(crate) trait Lane: Copy + Default + 'static {
    fn from_bits(bits: u64) -> Self;
    fn read(registers: &Registers, row: usize) -> [Self; LANES];
    fn write(registers: &mut Registers, row: usize, mask: u32, values: &[Self; LANES]);
}

macro_rules! lane {
    ($word:ty, $half:expr; $($t:ty: $from:expr, $to:expr;)+) => { $(
        impl Lane for $t {
            #[inline(always)]
            fn from_bits(bits: u64) -> $t { ($from)(bits as $word) }
            #[inline]
            fn read(registers: &Registers, row: usize) -> [$t; LANES] {
                let words: &[$word] = bytemuck::cast_slice(&registers.rows[row * ROW..row * ROW + $half]);
                core::array::from_fn(|l| ($from)(words[l]))
            }
            #[inline]
            fn write(registers: &mut Registers, row: usize, mask: u32, values: &[$t; LANES]) {
                let words: &mut [$word] = bytemuck::cast_slice_mut(&mut registers.rows[row * ROW..row * ROW + $half]);
                if mask == !0 {
                    for l in 0..LANES { words[l] = ($to)(values[l]); }
                } else {
                    for l in 0..LANES {
                        let new = ($to)(values[l]);
                        words[l] = if mask >> l & 1 != 0 { new } else { words[l] };
                    }
                }
            }
        }
    )+ };
}
lane! { u32, ROW;
    u32: |x: u32| x, |x: u32| x;
    i32: |x: u32| x as i32, |x: i32| x as u32;
    u16: |x: u32| x as u16, |x: u16| u32::from(x);
    i16: |x: u32| x as i16, |x: i16| u32::from(x as u16);
    u8: |x: u32| x as u8, |x: u8| u32::from(x);
    i8: |x: u32| x as i8, |x: i8| u32::from(x as u8);
    f32: f32::from_bits, f32::to_bits;
}
lane! { u64, 2 * ROW;
    u64: |x: u64| x, |x: u64| x;
    i64: |x: u64| x as i64, |x: i64| x as u64;
    f64: f64::from_bits, f64::to_bits;
}

impl Registers {
    /// A file of `rows` rows and `predicates` predicates, all zero.
    pub fn new(rows: u32, predicates: u32) -> Registers {
        Registers { rows: vec![0; rows as usize * ROW], predicates: vec![0; predicates as usize] }
    }

    #[inline]
    pub fn read<T: Lane>(&self, src: Src) -> [T; LANES] {
        match src {
            Src::Reg(reg) => T::read(self, reg.row as usize),
            Src::Imm(bits) => [T::from_bits(bits); LANES],
        }
    }

    #[inline]
    pub fn write<T: Lane>(&mut self, dst: Reg, mask: u32, values: &[T; LANES]) {
        T::write(self, dst.row as usize, mask, values);
    }

    /// The lanes of a register of any width up to 64 bits, zero-extended.
    pub fn read_wide(&self, src: Src) -> [u64; LANES] {
        match src {
            Src::Imm(bits) => [bits; LANES],
            Src::Reg(reg) if reg.width.rows() > 1 => u64::read(self, reg.row as usize),
            Src::Reg(reg) => u32::read(self, reg.row as usize).map(u64::from),
        }
    }

    /// Writes the low bits of `values` into a register of any width up to 64 bits.
    pub fn write_wide(&mut self, dst: Reg, mask: u32, values: &[u64; LANES]) {
        if dst.width.rows() > 1 {
            u64::write(self, dst.row as usize, mask, values);
        } else {
            let keep = !0 >> (32 - dst.width.bits().min(32));
            u32::write(self, dst.row as usize, mask, &values.map(|v| v as u32 & keep));
        }
    }

    /// Sets a predicate in the lanes of `mask`.
    #[inline]
    pub fn set(&mut self, predicate: u32, mask: u32, value: u32) {
        let p = &mut self.predicates[predicate as usize];
        *p = *p & !mask | value & mask;
    }

    /// Writes one lane of a register of any width up to 64 bits.
    #[inline]
    pub fn set_lane(&mut self, dst: Reg, lane: usize, value: u64) {
        let row = dst.row as usize * ROW;
        if dst.width.rows() > 1 {
            self.rows[row + lane] = value;
        } else {
            let keep = !0 >> (32 - dst.width.bits().min(32));
            bytemuck::cast_slice_mut::<u64, u32>(&mut self.rows[row..row + ROW])[lane] = value as u32 & keep;
        }
    }

    /// The words of one row.
    #[inline]
    pub fn row(&self, row: u32) -> &[u32; LANES] {
        let words: &[u64; ROW] = &self.rows.as_chunks().0[row as usize];
        bytemuck::cast_ref(words)
    }

    /// The lanes of a register of 64 bits that starts at a row.
    #[inline]
    pub fn doubles(&self, row: u32) -> &[f64; LANES] {
        let at = row as usize * ROW;
        let words: &[u64; LANES] = self.rows[at..].first_chunk().unwrap_or_else(|| unreachable!("two rows follow"));
        bytemuck::cast_ref(words)
    }

    /// The words of one row, to be written.
    #[inline]
    pub fn row_mut(&mut self, row: u32) -> &mut [u32; LANES] {
        let words: &mut [u64; ROW] = &mut self.rows.as_chunks_mut().0[row as usize];
        bytemuck::cast_mut(words)
    }

    /// The value that all lanes of `mask` agree on, if they do.
    pub fn uniform(&self, src: Src, mask: u32) -> Option<u64> {
        let lanes = self.read_wide(src);
        let first = lanes[mask.trailing_zeros().min(31) as usize];
        (0..LANES).all(|l| mask >> l & 1 == 0 || lanes[l] == first).then_some(first)
    }
}
