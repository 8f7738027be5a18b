//! Matrix operands as the model wants them: exact values, and exponents as the hardware aligns by them.

use super::vectors;
use warpwright_numeric::Dtype;

/// Exponent of a zero: below every other.
pub(crate) const NO_EXPONENT: i32 = -1_000_000;

/// A dense matrix of decoded elements, row by row.
#[derive(Clone, Default)]
pub(crate) struct Operand {
    /// Every element type that is not f64 fits f32.
    pub values: Vec<f32>,
    /// Exponents of the values' encodings: subnormals have the smallest normal one, zeros [`NO_EXPONENT`].
    pub exponents: Vec<i32>,
    /// An infinity or NaN is among the values.
    pub special: bool,
    /// The largest magnitude, if all values are integers.
    pub integral: Option<f32>,
    /// The largest magnitude of an exponent.
    pub reach: i32,
}

impl Operand {
    /// Decodes elements from their bits. tf32's low 13 bits are ignored.
    pub fn decode(&mut self, bits: &[u32], dtype: Dtype) {
        self.values.resize(bits.len(), 0.0);
        self.exponents.resize(bits.len(), 0);
        let (values, exponents) = (&mut self.values[..], &mut self.exponents[..]);
        let found = match dtype {
            Dtype::F16 => convert(bits, values, exponents, -14, f16),
            Dtype::Bf16 => convert(bits, values, exponents, -126, |b| f32::from_bits(b << 16)),
            Dtype::E4m3 => convert(bits, values, exponents, -6, e4m3),
            Dtype::E5m2 => convert(bits, values, exponents, -14, |b| f16(b << 8)),
            Dtype::Tf32 => convert(bits, values, exponents, -126, |b| f32::from_bits(b & !0x1FFF)),
            _ => convert(bits, values, exponents, -126, f32::from_bits),
        };
        self.special = found.special;
        self.reach = found.reach;
        self.integral = (found.integral && !found.special).then_some(found.max);
    }

    /// The same with every value negated.
    pub fn negate(&mut self) {
        self.values.iter_mut().for_each(|x| *x = -*x);
    }

    /// Rows `first` to `first + n` of a matrix with `columns`.
    pub fn rows(&self, columns: usize, first: usize, n: usize) -> Operand {
        let part = first * columns..(first + n) * columns;
        Operand { values: self.values[part.clone()].to_vec(), exponents: self.exponents[part].to_vec(), ..*self }
    }
}

/// f16 bits as f32, without branches: the fields are moved and the bias is corrected by a power of two.
#[inline(always)]
fn f16(bits: u32) -> f32 {
    let x = f32::from_bits((bits & 0x7FFF) << 13) * f32::from_bits(0x7780_0000);
    let special = if bits & 0x7C00 == 0x7C00 { 0x7F80_0000 } else { 0 };
    f32::from_bits(x.to_bits() | special | (bits & 0x8000) << 16)
}

/// e4m3 bits as f32.
#[inline(always)]
fn e4m3(bits: u32) -> f32 {
    let x = f32::from_bits((bits & 0x7F) << 20) * f32::from_bits(0x7B80_0000);
    let special = if bits & 0x7F == 0x7F { 0x7FFF_FFFF } else { 0 };
    f32::from_bits(x.to_bits() | special | (bits & 0x80) << 24)
}

/// What all values have in common.
struct Found {
    special: bool,
    integral: bool,
    max: f32,
    reach: i32,
}

#[inline(always)]
fn convert_all(
    bits: &[u32],
    values: &mut [f32],
    exponents: &mut [i32],
    smallest: i32,
    f: impl Fn(u32) -> f32,
) -> Found {
    // Maxima of integers, which vectors can take in any order.
    let (mut special, mut fraction, mut max, mut reach) = (0u32, 0u32, 0u32, 0u32);
    for ((bits, value), exponent) in bits.iter().zip(values).zip(exponents) {
        let x = f(*bits);
        let magnitude = x.to_bits() & 0x7FFF_FFFF;
        let field = magnitude >> 23;
        let e = (field as i32 - 127).max(smallest);
        *value = x;
        *exponent = if magnitude == 0 { NO_EXPONENT } else { e };
        special |= u32::from(field == 255);
        fraction |= u32::from(x.trunc() != x);
        max = max.max(magnitude);
        reach = reach.max(if magnitude == 0 { 0 } else { e.unsigned_abs() });
    }
    Found { special: special != 0, integral: fraction == 0, max: f32::from_bits(max), reach: reach as i32 }
}

vectors! {
    fn convert(bits: &[u32], values: &mut [f32], exponents: &mut [i32], smallest: i32, f: impl Fn(u32) -> f32) -> Found
    = convert_all
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwright_numeric::{bf16, e4m3, e5m2, f16};

    #[test]
    fn every_encoding_is_decoded_exactly() {
        let check = |dtype: Dtype, count: u32, widen: fn(u32) -> f32| {
            let bits: Vec<u32> = (0..count).collect();
            let mut operand = Operand::default();
            operand.decode(&bits, dtype);
            for (b, x) in bits.iter().zip(&operand.values) {
                let y = widen(*b);
                assert!(x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(), "{dtype:?} {b:#x}: {x} {y}");
            }
            assert!(operand.special && operand.integral.is_none());
        };
        check(Dtype::F16, 1 << 16, |b| f16::from_bits(b as u16).to_f32());
        check(Dtype::Bf16, 1 << 16, |b| bf16::from_bits(b as u16).to_f32());
        check(Dtype::E4m3, 256, |b| e4m3::from_bits(b as u8).to_f32());
        check(Dtype::E5m2, 256, |b| e5m2::from_bits(b as u8).to_f32());
    }

    #[test]
    fn exponents_of_subnormals_and_zeros() {
        let mut operand = Operand::default();
        operand.decode(&[0, 1, 0x3C00, 0x3FFF], Dtype::F16);
        assert_eq!(operand.exponents, [NO_EXPONENT, -14, 0, 0]);
        operand.decode(&[0x3C00, 0xC000], Dtype::F16);
        assert_eq!(operand.integral, Some(2.0));
    }
}
