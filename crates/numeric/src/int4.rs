//! The 4-bit integers, one to a byte until they are packed.

use crate::{Dtype, Element};

/// A signed 4-bit integer, -8 to 7.
///
/// One value to a byte, two's complement in its low four bits; [`pack`](crate::pack()) makes pairs.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct i4(u8);

/// An unsigned 4-bit integer, 0 to 15.
///
/// One value to a byte, in its low four bits; [`pack`](crate::pack()) makes pairs.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct u4(u8);

impl i4 {
    /// The value.
    #[inline]
    pub const fn get(self) -> i8 {
        (self.0 << 4) as i8 >> 4
    }
}

impl u4 {
    /// The value.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0 & 0xf
    }
}

macro_rules! int4 {
    ($($name:ident in $wide:ident: $min:literal to $max:literal, $dtype:ident;)+) => { $(
        impl $name {
            /// The smallest value.
            pub const MIN: $name = $name::new($min);
            /// The largest value.
            pub const MAX: $name = $name::new($max);

            /// The value nearest to `x`: saturates.
            #[allow(unused_comparisons, reason = "an unsigned type has nothing below its smallest value")]
            #[inline]
            pub const fn new(x: $wide) -> $name {
                let x = if x < $min { $min } else if x > $max { $max } else { x };
                $name::from_bits(x as u8)
            }

            /// The value with these bits; the high four are dropped.
            #[inline]
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits & 0xf)
            }

            /// The value's bits, in the low four bits of the byte.
            #[inline]
            pub const fn to_bits(self) -> u8 {
                self.0 & 0xf
            }

            /// The nearest integer, ties to even; saturates, and NaN becomes 0.
            #[inline]
            pub const fn from_f64(x: f64) -> $name {
                $name::new(x.round_ties_even() as $wide)
            }
        }

        // SAFETY: `repr(transparent)` over an integer, and zero is one of its values.
        unsafe impl bytemuck::Zeroable for $name {}
        // SAFETY: `repr(transparent)` over an integer: no padding, and every bit pattern is read as some value.
        unsafe impl bytemuck::Pod for $name {}

        impl Element for $name {
            const DTYPE: Dtype = Dtype::$dtype;
            type Output = i32;
            #[inline]
            fn to_f64(self) -> f64 {
                self.get() as f64
            }
            #[inline]
            fn from_f64(x: f64) -> $name {
                $name::from_f64(x)
            }
            #[inline]
            fn to_f32(self) -> f32 {
                self.get() as f32
            }
            #[inline]
            fn from_f32(x: f32) -> $name {
                $name::from_f64(x as f64)
            }
        }

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &$name) -> bool {
                self.get() == other.get()
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &$name) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &$name) -> core::cmp::Ordering {
                self.get().cmp(&other.get())
            }
        }

        impl core::hash::Hash for $name {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                self.get().hash(state);
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.get(), f)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.get(), f)
            }
        }

        impl From<$name> for $wide {
            #[inline]
            fn from(x: $name) -> $wide {
                x.get()
            }
        }

        impl From<$name> for i32 {
            #[inline]
            fn from(x: $name) -> i32 {
                i32::from(x.get())
            }
        }
    )+ };
}
int4! {
    i4 in i8: -8 to 7, I4;
    u4 in u8: 0 to 15, U4;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_values_each() {
        for bits in 0..16u8 {
            let signed = if bits < 8 { bits as i8 } else { bits as i8 - 16 };
            assert_eq!(i4::from_bits(bits).get(), signed);
            assert_eq!((i4::new(signed).to_bits(), u4::new(bits).to_bits()), (bits, bits));
            assert_eq!((i4::from_bits(bits | 0xf0), u4::from_bits(bits | 0xf0)), (i4::new(signed), u4::new(bits)));
        }
        assert!(i4::MIN < i4::MAX && u4::MIN < u4::MAX);
    }

    #[test]
    fn conversion_saturates_and_rounds_to_even() {
        let cases = [
            (2.5, 2, 2),
            (3.5, 4, 4),
            (-0.5, 0, 0),
            (-1.5, -2, 0),
            (7.5, 7, 8),
            (1e30, 7, 15),
            (f32::NEG_INFINITY, -8, 0),
            (f32::NAN, 0, 0),
        ];
        for (x, signed, unsigned) in cases {
            assert_eq!(i32::from(<i4 as Element>::from_f32(x)), signed, "{x}");
            assert_eq!(i32::from(<u4 as Element>::from_f32(x)), unsigned, "{x}");
        }
        assert_eq!((i4::new(-100).get(), i4::new(100).get(), u4::new(200).get()), (-8, 7, 15));
    }
}
