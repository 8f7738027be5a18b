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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bf16, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4, tf32, u4};
    use proptest::prelude::*;

    #[test]
    fn the_low_nibble_is_the_first_element() {
        assert_eq!(unpack::<i4>(&[0x8f], 2), Ok(vec![i4::new(-1), i4::new(-8)]));
        assert_eq!(unpack::<u4>(&[0x8f], 2), Ok(vec![u4::new(15), u4::new(8)]));
        assert_eq!(pack(&[-1, -8].map(i4::new)), [0x8f]);
        assert_eq!((Dtype::I4.decode(&[0x8f], 0), Dtype::I4.decode(&[0x8f], 1)), (-1.0, -8.0));
    }

    #[test]
    fn an_odd_count_leaves_the_last_high_nibble_zero() {
        let x: Vec<i4> = (0..15).map(|i| i4::new(i - 8)).collect();
        let bytes = pack(&x);
        assert_eq!((bytes.len(), bytes[7]), (8, 0x06));
        assert_eq!(unpack(&bytes, 15), Ok(x));
    }

    #[test]
    fn four_6_bit_elements_fill_three_bytes() {
        // 000001, 000010, 000011, 100000, from the lowest bit up.
        let x = [1, 2, 3, 32].map(e3m2::from_bits);
        assert_eq!(pack(&x), [0b1000_0001, 0b0011_0000, 0b1000_0000]);
        assert_eq!(pack(&x[..2]), [0b1000_0001, 0b0000_0000]);
    }

    #[test]
    fn whole_bytes_are_borrowed_and_little_endian() {
        assert!(matches!(packed(&[1.0f32]), Cow::Borrowed([0, 0, 0x80, 0x3f])));
        assert_eq!(pack(&[f16::ONE, -f16::ONE]), [0, 0x3c, 0, 0xbc]);
    }

    #[test]
    fn too_few_bytes_are_an_error() {
        let error = unpack::<e2m3>(&[0; 2], 3).unwrap_err();
        assert_eq!((error.needed, error.found), (3, 2));
        assert_eq!(
            error.to_string(),
            "3 elements of e2m3 take 3 bytes but there are 2: give all of them or ask for fewer elements"
        );
        assert_eq!(unpack::<u8>(&[1, 2, 3], 2), Ok(vec![1, 2]));
    }

    #[test]
    fn writing_an_element_leaves_its_neighbours() {
        for dtype in [Dtype::E3m2, Dtype::I4, Dtype::F16] {
            for index in 0..9 {
                let mut bytes = vec![0xff; dtype.packed_bytes(9)];
                dtype.encode(&mut bytes, index, 0.0);
                let ones: u32 = bytes.iter().map(|b| b.count_ones()).sum();
                assert_eq!(ones as usize, bytes.len() * 8 - dtype.bits(), "{dtype} {index}");
                assert_eq!(dtype.decode(&bytes, index), 0.0);
            }
        }
    }

    /// Packed elements read the same through `unpack`, through `Dtype::decode` and as `Dtype::encode` would write them.
    fn agree<T: Element>(values: &[f64]) -> Result<(), TestCaseError> {
        let elements: Vec<T> = values.iter().map(|x| T::from_f64(*x)).collect();
        let bytes = pack(&elements);
        prop_assert_eq!(bytes.len(), T::DTYPE.packed_bytes(values.len()));
        prop_assert_eq!(pack(&unpack::<T>(&bytes, values.len()).unwrap()), bytes.clone());
        let mut written = vec![0; bytes.len()];
        for (i, (x, element)) in values.iter().zip(&elements).enumerate() {
            T::DTYPE.encode(&mut written, i, *x);
            let read = T::DTYPE.decode(&bytes, i);
            prop_assert!(read == element.to_f64() || read.is_nan() && element.to_f64().is_nan());
        }
        prop_assert_eq!(written, bytes);
        Ok(())
    }

    proptest! {
        #[test]
        fn all_ways_agree(values in proptest::collection::vec(prop_oneof![-500.0..500.0f64, any::<f64>()], 0..40)) {
            agree::<f64>(&values)?;
            agree::<f32>(&values)?;
            agree::<tf32>(&values)?;
            agree::<f16>(&values)?;
            agree::<bf16>(&values)?;
            agree::<e4m3>(&values)?;
            agree::<e5m2>(&values)?;
            agree::<i32>(&values)?;
            agree::<i8>(&values)?;
            agree::<u8>(&values)?;
            agree::<i4>(&values)?;
            agree::<u4>(&values)?;
            agree::<e2m1>(&values)?;
            agree::<e3m2>(&values)?;
            agree::<e2m3>(&values)?;
            agree::<e8m0>(&values)?;
        }
    }
}
