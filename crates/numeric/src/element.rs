//! Element types as Rust types.

use half::slice::HalfFloatSliceExt;

use crate::{Dtype, Format, Overflow, bf16, f16};

/// An element type of a matrix.
///
/// The set is closed: each type stands for one [`Dtype`], and kernels exist for those. On the host a value takes whole bytes,
/// also where a device packs several into one; see [`pack`](crate::pack()).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of a matrix",
    label = "not an element type",
    note = "element types are f64, f32, tf32, f16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1, e8m0, i32, i8, u8, i4 and u4",
    note = "`f16` must be imported from this crate: the compiler's own `f16` is another, unstable type"
)]
pub trait Element: bytemuck::Pod + Default + Send + Sync + core::fmt::Debug + PartialEq + 'static {
    /// The same type as a value.
    const DTYPE: Dtype;
    /// What a GEMM with operands of this type stores when nobody says otherwise.
    type Output: Element;

    /// The value; exact for every type.
    fn to_f64(self) -> f64;
    /// The nearest value, ties to even; integers, fp8, fp6 and fp4 saturate, wider floats overflow to infinity.
    fn from_f64(x: f64) -> Self;
    /// The value; exact but for `f64` and large `i32`, which round to nearest, ties to even.
    fn to_f32(self) -> f32;
    /// As [`from_f64`](Element::from_f64).
    fn from_f32(x: f32) -> Self;

    /// Converts all of `src` into `dst`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn to_f32_slice(src: &[Self], dst: &mut [f32]) {
        assert_eq!(src.len(), dst.len(), "source and destination of a conversion differ in length");
        for (d, s) in dst.iter_mut().zip(src) {
            *d = s.to_f32();
        }
    }

    /// Converts all of `src` into `dst`, as [`from_f32`](Element::from_f32) does.
    ///
    /// # Panics
    /// If the lengths differ.
    fn from_f32_slice(src: &[f32], dst: &mut [Self]) {
        assert_eq!(src.len(), dst.len(), "source and destination of a conversion differ in length");
        for (d, s) in dst.iter_mut().zip(src) {
            *d = Self::from_f32(*s);
        }
    }
}

/// All of `src` as `f32`.
pub fn to_f32_vec<T: Element>(src: &[T]) -> Vec<f32> {
    let mut dst = vec![0.0; src.len()];
    T::to_f32_slice(src, &mut dst);
    dst
}

/// All of `src` converted to `T`.
pub fn from_f32_vec<T: Element>(src: &[f32]) -> Vec<T> {
    let mut dst = vec![T::default(); src.len()];
    T::from_f32_slice(src, &mut dst);
    dst
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
    type Output = f64;
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline]
    fn to_f32(self) -> f32 {
        self as f32
    }
    #[inline]
    fn from_f32(x: f32) -> f64 {
        f64::from(x)
    }
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    type Output = f32;
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline]
    fn to_f32(self) -> f32 {
        self
    }
    #[inline]
    fn from_f32(x: f32) -> f32 {
        x
    }
    fn to_f32_slice(src: &[f32], dst: &mut [f32]) {
        dst.copy_from_slice(src);
    }
    fn from_f32_slice(src: &[f32], dst: &mut [f32]) {
        dst.copy_from_slice(src);
    }
}

macro_rules! half {
    ($($name:ident: $format:ident, $dtype:ident;)+) => { $(
        impl Element for $name {
            const DTYPE: Dtype = Dtype::$dtype;
            type Output = $name;
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }
            // Not the type's own `from_f64`: that one rounds twice, or looks at the high half of `x` only.
            #[inline]
            fn from_f64(x: f64) -> $name {
                $name::from_bits(Format::$format.encode(x, Overflow::NonFinite) as u16)
            }
            #[inline]
            fn to_f32(self) -> f32 {
                self.to_f32()
            }
            #[inline]
            fn from_f32(x: f32) -> $name {
                $name::from_f32(x)
            }
            fn to_f32_slice(src: &[$name], dst: &mut [f32]) {
                src.convert_to_f32_slice(dst);
            }
            fn from_f32_slice(src: &[f32], dst: &mut [$name]) {
                dst.convert_from_f32_slice(src);
            }
        }
    )+ };
}
half! {
    f16: F16, F16;
    bf16: BF16, Bf16;
}

macro_rules! integers {
    ($($name:ident: $dtype:ident;)+) => { $(
        impl Element for $name {
            const DTYPE: Dtype = Dtype::$dtype;
            type Output = i32;
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            // `as` saturates and makes NaN 0.
            #[inline]
            fn from_f64(x: f64) -> $name {
                x.round_ties_even() as $name
            }
            #[inline]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline]
            fn from_f32(x: f32) -> $name {
                x.round_ties_even() as $name
            }
        }
    )+ };
}
integers! {
    i32: I32;
    i8: I8;
    u8: U8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_16_bit_floats_round_once() {
        // 1 + 2⁻¹¹ is the tie between 1 and the next f16; through f32 the tail is lost and the tie goes down.
        let tail = 2f64.powi(-40);
        assert_eq!(Element::to_f64(<f16 as Element>::from_f64(1.0 + 2f64.powi(-11) + tail)), 1.0 + 2f64.powi(-10));
        assert_eq!(Element::to_f64(<bf16 as Element>::from_f64(1.0 + 2f64.powi(-8) + tail)), 1.0 + 2f64.powi(-7));
        assert_eq!(<f16 as Element>::from_f64(65519.99).to_bits(), 0x7bff);
        assert_eq!(<f16 as Element>::from_f64(65520.0), f16::INFINITY);
        assert_eq!(<bf16 as Element>::from_f64(-1e39), bf16::NEG_INFINITY);
        assert!(<f16 as Element>::from_f64(f64::NAN).is_nan() && <bf16 as Element>::from_f64(f64::NAN).is_nan());
    }

    #[test]
    fn the_16_bit_floats_agree_on_every_path() {
        let mut inputs: Vec<f32> = (0..300_000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).collect();
        inputs.extend((0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()));
        inputs.extend((0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32()));
        fn check<T: Element>(inputs: &[f32]) {
            let narrow = from_f32_vec::<T>(inputs);
            let wide = to_f32_vec(&narrow);
            for ((x, y), z) in inputs.iter().zip(narrow).zip(wide) {
                if x.is_nan() {
                    assert!(z.is_nan());
                    continue;
                }
                for other in [T::from_f32(*x), T::from_f64(f64::from(*x))] {
                    assert_eq!(bytemuck::bytes_of(&y), bytemuck::bytes_of(&other), "{x:e}");
                }
                assert_eq!((f64::from(z), y.to_f32().to_bits()), (y.to_f64(), z.to_bits()), "{x:e}");
            }
        }
        check::<f16>(&inputs);
        check::<bf16>(&inputs);
    }

    #[test]
    fn integers_saturate_and_round_to_even() {
        for (x, a, b, c) in [
            (2.5, 2, 2, 2),
            (-3.5, -4, -4, 0),
            (127.5, 128, 127, 128),
            (1e30, i32::MAX, 127, 255),
            (f64::NEG_INFINITY, i32::MIN, -128, 0),
            (f64::NAN, 0, 0, 0),
        ] {
            assert_eq!((i32::from_f64(x), i8::from_f64(x), u8::from_f64(x)), (a, b, c), "{x}");
            assert_eq!((i32::from_f32(x as f32), i8::from_f32(x as f32), u8::from_f32(x as f32)), (a, b, c), "{x}");
        }
        assert_eq!(i32::from_f64(2147483646.5), 2147483646);
        assert_eq!(i32::MAX.to_f64(), 2147483647.0);
    }

    #[test]
    fn wide_floats() {
        assert_eq!(<f32 as Element>::from_f64(1e39), f32::INFINITY);
        assert_eq!(<f64 as Element>::to_f32(1.0 + 2f64.powi(-30)), 1.0);
        assert_eq!(to_f32_vec(&[1.5f32, -2.0]), [1.5, -2.0]);
        assert_eq!(from_f32_vec::<f64>(&[1.5]), [1.5]);
    }
}
