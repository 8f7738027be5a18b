//! What all small floating-point types have in common, written once.

/// Defines a one-byte floating-point type whose bits are the codes of a [`Format`](crate::Format).
macro_rules! minifloat {
    ($(#[$doc:meta])* $name:ident = $format:ident, $dtype:ident) => {
        $(#[$doc])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            const FORMAT: $crate::Format = $crate::Format::$format;
            const CODES: usize = 1 << Self::FORMAT.bits();

            /// 0.
            pub const ZERO: $name = $name(0);
            /// 1.
            pub const ONE: $name = $name::from_f64(1.0);
            /// The largest finite value.
            pub const MAX: $name = $name(Self::FORMAT.max_code() as u8);
            /// The most negative finite value.
            pub const MIN: $name = $name((Self::FORMAT.max_code() | Self::FORMAT.sign_mask()) as u8);
            /// The smallest positive normal value.
            pub const MIN_POSITIVE: $name = $name(Self::FORMAT.min_normal_code() as u8);
            /// The smallest positive value.
            pub const MIN_POSITIVE_SUBNORMAL: $name = $name(1);
            /// The distance from 1 to the next value above it.
            pub const EPSILON: $name = $name::from_f64(Self::FORMAT.epsilon());

            /// The value with these bits; bits above the type's width are dropped.
            #[inline]
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits & (Self::CODES - 1) as u8)
            }

            /// The value's bits, in the low bits of the byte.
            #[inline]
            pub const fn to_bits(self) -> u8 {
                self.0 & (Self::CODES - 1) as u8
            }

            /// The nearest value, ties to even; saturates to ±[`MAX`](Self::MAX), infinities too.
            #[inline]
            pub const fn from_f64(x: f64) -> $name {
                $name(Self::FORMAT.encode(x, $crate::Overflow::SatFinite) as u8)
            }

            /// The nearest value, ties to even; saturates to ±[`MAX`](Self::MAX), infinities too.
            #[inline]
            pub const fn from_f32(x: f32) -> $name {
                $name(Self::FORMAT.encode_f32(x) as u8)
            }

            /// The value, exactly.
            #[inline]
            pub const fn to_f64(self) -> f64 {
                self.to_f32() as f64
            }

            /// The value, exactly.
            #[inline]
            pub const fn to_f32(self) -> f32 {
                static VALUES: [f32; $name::CODES] = {
                    let mut values = [0.0; $name::CODES];
                    let mut code = 0;
                    while code < $name::CODES {
                        values[code] = $name::FORMAT.decode(code as u32) as f32;
                        code += 1;
                    }
                    values
                };
                VALUES[self.to_bits() as usize]
            }

            /// Whether this is not a number.
            #[inline]
            pub const fn is_nan(self) -> bool {
                Self::FORMAT.is_nan(self.to_bits() as u32)
            }

            /// Whether this is neither infinite nor NaN.
            #[inline]
            pub const fn is_finite(self) -> bool {
                self.to_bits() as u32 & Self::FORMAT.magnitude_mask() <= Self::FORMAT.max_code()
            }

            /// Whether the sign bit is set: also for -0 and some NaNs.
            #[inline]
            pub const fn is_sign_negative(self) -> bool {
                self.to_bits() as u32 & Self::FORMAT.sign_mask() != 0
            }
        }

        impl $crate::Element for $name {
            const DTYPE: $crate::Dtype = $crate::Dtype::$dtype;
            type Output = $crate::bf16;
            #[inline]
            fn to_f64(self) -> f64 {
                self.to_f64()
            }
            #[inline]
            fn from_f64(x: f64) -> $name {
                $name::from_f64(x)
            }
            #[inline]
            fn to_f32(self) -> f32 {
                self.to_f32()
            }
            #[inline]
            fn from_f32(x: f32) -> $name {
                $name::from_f32(x)
            }
        }

        impl ::core::ops::Neg for $name {
            type Output = $name;
            #[inline]
            fn neg(self) -> $name {
                $name(self.0 ^ Self::FORMAT.sign_mask() as u8)
            }
        }

        impl From<$name> for $crate::f16 {
            #[inline]
            fn from(x: $name) -> $crate::f16 {
                $crate::f16::from_f32(x.to_f32())
            }
        }

        impl From<$name> for $crate::bf16 {
            #[inline]
            fn from(x: $name) -> $crate::bf16 {
                $crate::bf16::from_f32(x.to_f32())
            }
        }

        $crate::newtype::float_traits!($name);
    };
}

/// Compares, prints and widens a type by its `to_f32`, and makes it plain data.
macro_rules! float_traits {
    ($name:ident) => {
        // SAFETY: `repr(transparent)` over an integer, and zero is one of its values.
        unsafe impl ::bytemuck::Zeroable for $name {}
        // SAFETY: `repr(transparent)` over an integer: no padding, and every bit pattern is read as some value.
        unsafe impl ::bytemuck::Pod for $name {}

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &$name) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &$name) -> Option<::core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl From<$name> for f32 {
            #[inline]
            fn from(x: $name) -> f32 {
                x.to_f32()
            }
        }

        impl From<$name> for f64 {
            #[inline]
            fn from(x: $name) -> f64 {
                x.to_f64()
            }
        }
    };
}

pub(crate) use {float_traits, minifloat};
