//! The packed form of elements: how they lie in a device's memory.

use std::borrow::Cow;

use crate::{Dtype, Element};

/// Bytes that are too few for the elements asked of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{count} elements of {dtype} take {needed} bytes but there are {found}: give all of them or ask for fewer elements"
)]
#[non_exhaustive]
pub struct UnpackError {
    /// The elements' type.
    pub dtype: Dtype,
    /// How many elements were asked for.
    pub count: usize,
    /// How many bytes those take.
    pub needed: usize,
    /// How many bytes were given.
    pub found: usize,
}

/// Elements as a device reads them: dense and little-endian, the first in the lowest bits, the last byte filled up with zeros.
///
/// Types of whole bytes are packed already and are borrowed.
pub fn packed<T: Element>(elements: &[T]) -> Cow<'_, [u8]> {
    let bytes = bytemuck::cast_slice::<T, u8>(elements);
    let bits = T::DTYPE.bits();
    if bits >= 8 {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(T::DTYPE.packed_bytes(elements.len()));
    let mask = (1 << bits) - 1;
    let (mut pending, mut held) = (0u32, 0);
    for byte in bytes {
        pending |= (u32::from(*byte) & mask) << held;
        held += bits;
        if held >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(pending as u8);
    }
    Cow::Owned(out)
}

/// [`packed`] elements in a vector of their own.
pub fn pack<T: Element>(elements: &[T]) -> Vec<u8> {
    packed(elements).into_owned()
}

/// The first `count` elements of packed `bytes`.
///
/// # Errors
/// If there are fewer bytes than those elements take. More are fine: buffers are often padded.
pub fn unpack<T: Element>(bytes: &[u8], count: usize) -> Result<Vec<T>, UnpackError> {
    let needed = T::DTYPE.packed_bytes(count);
    let Some(bytes) = bytes.get(..needed) else {
        return Err(UnpackError { dtype: T::DTYPE, count, needed, found: bytes.len() });
    };
    let mut elements = vec![T::zeroed(); count];
    let out = bytemuck::cast_slice_mut::<T, u8>(&mut elements);
    let bits = T::DTYPE.bits();
    if bits >= 8 {
        out.copy_from_slice(bytes);
        return Ok(elements);
    }
    let mask = (1 << bits) - 1;
    let mut bytes = bytes.iter();
    let (mut pending, mut held) = (0u32, 0);
    for element in out {
        if held < bits {
            pending |= u32::from(*bytes.next().unwrap_or(&0)) << held;
            held += 8;
        }
        *element = (pending & mask) as u8;
        pending >>= bits;
        held -= bits;
    }
    Ok(elements)
}

/// Where element `index` lies: its first byte, how many bytes it touches, and its lowest bit in the first one.
fn place(bits: usize, index: usize) -> (usize, usize, usize) {
    let (byte, bit) = (index / 8 * bits + index % 8 * bits / 8, index % 8 * bits % 8);
    (byte, (bit + bits).div_ceil(8), bit)
}

/// The bits of element `index` of packed elements of `bits` bits.
pub(crate) fn get_bits(bytes: &[u8], bits: usize, index: usize) -> u64 {
    let (byte, len, shift) = place(bits, index);
    let mut word = [0; 8];
    word[..len].copy_from_slice(&bytes[byte..byte + len]);
    u64::from_le_bytes(word) >> shift & u64::MAX >> (64 - bits)
}

/// Replaces the bits of element `index` of packed elements of `bits` bits.
pub(crate) fn set_bits(bytes: &mut [u8], bits: usize, index: usize, value: u64) {
    let (byte, len, shift) = place(bits, index);
    let target = &mut bytes[byte..byte + len];
    let mut word = [0; 8];
    word[..len].copy_from_slice(target);
    let mask = u64::MAX >> (64 - bits) << shift;
    let word = u64::from_le_bytes(word) & !mask | value << shift & mask;
    target.copy_from_slice(&word.to_le_bytes()[..len]);
}
