//! Element types: what a number is, bit by bit.
//!
//! Every element type that a matrix of Warpwright can have, with exact conversions and the packed form that a device reads.
//! A type is known in two ways that agree by construction: as a Rust type that implements [`Element`], and as a [`Dtype`] value.
//!
//! | type | bits | values | conversion beyond the largest finite value |
//! | --- | --- | --- | --- |
//! | `f64` `f32` [`struct@f16`] [`bf16`] | 64 32 16 16 | IEEE 754 and bfloat16 | infinity |
//! | [`tf32`] | 32 | an `f32` with 10 mantissa bits | infinity |
//! | [`e4m3`] [`e5m2`] | 8 | fp8; `e4m3` has no infinity | ±448, ±57344 |
//! | [`e3m2`] [`e2m3`] [`e2m1`] | 6 6 4 | finite values only | ±28, ±7.5, ±6 |
//! | [`e8m0`] | 8 | a power of two: the scale of a block | NaN |
//! | `i32` `i8` `u8` [`i4`] [`u4`] | 32 8 8 4 4 | integers | the nearest bound |
//!
//! Conversions round to nearest, ties to even, in one step from the `f64` or `f32` that they are given.
//! NaN stays NaN where the type has one, is 0 in integers and the largest finite value in fp6 and fp4, as PTX's `cvt` has it.
//!
//! Packed, elements lie densely, the first one in the lowest bits: two 4-bit elements in a byte, four 6-bit ones in three.
//!
//! ```
//! use warpwright_numeric::{Dtype, Element, e2m1, e4m3, pack, unpack};
//!
//! assert_eq!(e4m3::from_f32(1000.0).to_f32(), 448.0);
//! assert_eq!(e4m3::from_f32(17.0).to_f32(), 16.0);
//!
//! let x = [0.5f32, -6.0, 1.5].map(e2m1::from_f32);
//! let bytes = pack(&x);
//! assert_eq!(bytes, [0xf1, 0x03]);
//! assert_eq!(Dtype::E2m1.decode(&bytes, 1), -6.0);
//! assert_eq!(unpack::<e2m1>(&bytes, 3)?, x);
//! # Ok::<(), warpwright_numeric::UnpackError>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("devices are little-endian and elements are handed to them as they lie in memory");

mod block;
mod dtype;
mod dynamic;
mod element;
mod fp4;
mod fp6;
mod fp8;
mod int4;
mod minifloat;
mod newtype;
mod pack;
mod scale;
mod tensor_float;

pub use block::{block_factor, block_scale, dequantize_block};
pub use dtype::Dtype;
pub use element::{Element, from_f32_vec, to_f32_vec};
pub use fp4::e2m1;
pub use fp6::{e2m3, e3m2};
pub use fp8::{e4m3, e5m2};
pub use half::{bf16, f16};
pub use int4::{i4, u4};
pub use minifloat::{Format, Overflow, Specials};
pub use pack::{UnpackError, pack, packed, unpack};
pub use scale::e8m0;
pub use tensor_float::tf32;
