//! Matrix operands as the model wants them: exact values, and exponents as the hardware aligns by them.

use warpwright_numeric::{Dtype, e4m3, e5m2, f16};

/// Exponent of a zero: below every other.
pub(crate) const NO_EXPONENT: f32 = -1e6;

/// A dense matrix of decoded elements, row by row.
#[derive(Clone, Default)]
pub(crate) struct Operand {
    pub values: Vec<f64>,
    /// Exponents of the values' encodings: subnormals have the smallest normal one, zeros [`NO_EXPONENT`]. Small integers,
    /// kept as floats so that they are added and compared in vectors.
    pub exponents: Vec<f32>,
    /// An infinity or NaN is among the values.
    pub special: bool,
    /// All values are integers; their largest magnitude.
    pub integral: Option<f64>,
}

impl Operand {
    /// Makes room for `n` elements.
    pub fn reset(&mut self, n: usize) {
        self.values.clear();
        self.values.resize(n, 0.0);
        self.exponents.clear();
        self.exponents.resize(n, NO_EXPONENT);
        self.special = false;
        self.integral = Some(0.0);
    }

    /// Sets element `at`.
    #[inline]
    pub fn set(&mut self, at: usize, (value, exponent): (f64, f32)) {
        self.values[at] = value;
        self.exponents[at] = exponent;
        self.special |= exponent == SPECIAL;
        self.integral = match self.integral {
            Some(max) if value.trunc() == value && exponent != SPECIAL => Some(max.max(value.abs())),
            _ => None,
        };
    }
}

/// Exponent that marks an infinity or NaN.
const SPECIAL: f32 = 1e6;

/// The value and exponent of an element's bits. tf32's low 13 bits are ignored.
#[inline]
pub(crate) fn decode(bits: u32, dtype: Dtype) -> (f64, f32) {
    let (field, max, bias, value) = match dtype {
        Dtype::F16 => (bits >> 10 & 31, 31, 15, f16::from_bits(bits as u16).to_f64()),
        Dtype::Bf16 => (bits >> 7 & 255, 255, 127, f64::from(f32::from_bits(bits << 16))),
        Dtype::E4m3 => {
            let max = if bits & 0x7F == 0x7F { 15 } else { u32::MAX };
            (bits >> 3 & 15, max, 7, e4m3::from_bits(bits as u8).to_f64())
        }
        Dtype::E5m2 => (bits >> 2 & 31, 31, 15, e5m2::from_bits(bits as u8).to_f64()),
        _ => {
            let bits = if dtype == Dtype::Tf32 { bits & !0x1FFF } else { bits };
            (bits >> 23 & 255, 255, 127, f64::from(f32::from_bits(bits)))
        }
    };
    let exponent = if value == 0.0 {
        NO_EXPONENT
    } else if field == max {
        SPECIAL
    } else {
        field.max(1) as f32 - bias as f32
    };
    (value, exponent)
}
