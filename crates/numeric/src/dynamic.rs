//! Reading and writing elements whose type is known at run time only.

use crate::pack::{get_bits, set_bits};
use crate::{Dtype, Element, bf16, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4, tf32, u4};

impl Dtype {
    /// The value of an element's bits, which are the low [`bits`](Dtype::bits) ones; exact.
    pub fn decode_bits(self, bits: u64) -> f64 {
        match self {
            Dtype::F64 => f64::from_bits(bits),
            Dtype::F32 => f32::from_bits(bits as u32).to_f64(),
            Dtype::Tf32 => tf32::from_bits(bits as u32).to_f64(),
            Dtype::F16 => Element::to_f64(f16::from_bits(bits as u16)),
            Dtype::Bf16 => Element::to_f64(bf16::from_bits(bits as u16)),
            Dtype::E4m3 => e4m3::from_bits(bits as u8).to_f64(),
            Dtype::E5m2 => e5m2::from_bits(bits as u8).to_f64(),
            Dtype::I32 => (bits as i32).to_f64(),
            Dtype::I8 => (bits as i8).to_f64(),
            Dtype::U8 => (bits as u8).to_f64(),
            Dtype::I4 => i4::from_bits(bits as u8).to_f64(),
            Dtype::U4 => u4::from_bits(bits as u8).to_f64(),
            Dtype::E2m1 => e2m1::from_bits(bits as u8).to_f64(),
            Dtype::E3m2 => e3m2::from_bits(bits as u8).to_f64(),
            Dtype::E2m3 => e2m3::from_bits(bits as u8).to_f64(),
            Dtype::E8m0 => e8m0::from_bits(bits as u8).to_f64(),
        }
    }

    /// The bits of the element nearest to `x`, by the rules of [`Element::from_f64`].
    pub fn encode_bits(self, x: f64) -> u64 {
        match self {
            Dtype::F64 => x.to_bits(),
            Dtype::F32 => u64::from((x as f32).to_bits()),
            Dtype::Tf32 => u64::from(tf32::from_f64(x).to_bits()),
            Dtype::F16 => u64::from(<f16 as Element>::from_f64(x).to_bits()),
            Dtype::Bf16 => u64::from(<bf16 as Element>::from_f64(x).to_bits()),
            Dtype::E4m3 => u64::from(e4m3::from_f64(x).to_bits()),
            Dtype::E5m2 => u64::from(e5m2::from_f64(x).to_bits()),
            Dtype::I32 => u64::from(i32::from_f64(x) as u32),
            Dtype::I8 => u64::from(i8::from_f64(x) as u8),
            Dtype::U8 => u64::from(u8::from_f64(x)),
            Dtype::I4 => u64::from(i4::from_f64(x).to_bits()),
            Dtype::U4 => u64::from(u4::from_f64(x).to_bits()),
            Dtype::E2m1 => u64::from(e2m1::from_f64(x).to_bits()),
            Dtype::E3m2 => u64::from(e3m2::from_f64(x).to_bits()),
            Dtype::E2m3 => u64::from(e2m3::from_f64(x).to_bits()),
            Dtype::E8m0 => u64::from(e8m0::from_f64(x).to_bits()),
        }
    }

    /// The value of element `index` of packed elements; exact.
    ///
    /// # Panics
    /// If `bytes` does not hold that element.
    pub fn decode(self, bytes: &[u8], index: usize) -> f64 {
        self.decode_bits(get_bits(bytes, self.bits(), index))
    }

    /// Writes the value nearest to `x` as element `index` of packed elements, by the rules of [`Element::from_f64`].
    /// Its neighbours, also those in the same byte, stay.
    ///
    /// # Panics
    /// If `bytes` does not hold that element.
    pub fn encode(self, bytes: &mut [u8], index: usize, x: f64) {
        set_bits(bytes, self.bits(), index, self.encode_bits(x));
    }
}
