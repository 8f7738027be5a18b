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
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(x: f64) -> f64 {
        x
    }
    fn to_f32(self) -> f32 {
        self as f32
    }
    fn from_f32(x: f32) -> f64 {
        f64::from(x)
    }
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    type Output = f32;
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    fn to_f32(self) -> f32 {
        self
    }
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
            fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }
            // Not the type's own `from_f64`: that one rounds twice, or looks at the high half of `x` only.
            fn from_f64(x: f64) -> $name {
                $name::from_bits(Format::$format.encode(x, Overflow::NonFinite) as u16)
            }
            fn to_f32(self) -> f32 {
                self.to_f32()
            }
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
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            // `as` saturates and makes NaN 0.
            fn from_f64(x: f64) -> $name {
                x.round_ties_even() as $name
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
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
