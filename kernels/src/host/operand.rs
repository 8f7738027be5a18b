//! One operand of one group in host memory, and reading runs of it in the type that multiplies.

use super::microkernel::Value;
use warpwright_numeric::{Dtype, Element, bf16, f16, tf32};

/// A matrix operand as the kernel walks it: lines along the tile mode (M of A, N of B), elements along K.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// The first byte of element (0, 0) of the whole view.
    pub base: *const u8,
    /// The element's type.
    pub dtype: Dtype,
    /// Elements from `base` to the group's (0, 0).
    pub first: usize,
    /// Elements between lines.
    pub line_stride: usize,
    /// Elements between steps of K.
    pub k_stride: usize,
}

// SAFETY: the memory is only read, and whoever makes a `Lines` vouches that it outlives the call.
unsafe impl Send for Lines {}
// SAFETY: as above.
unsafe impl Sync for Lines {}

impl Lines {
    /// The element at a line and step of K, widened.
    ///
    /// # Safety
    /// It lies within the operand's extents.
    pub unsafe fn at<V: Widened>(&self, line: usize, k: usize) -> V {
        let mut out = [V::default()];
        let index = self.first + line * self.line_stride + k * self.k_stride;
        // SAFETY: the caller vouched for the element.
        unsafe { V::read(self.base, self.dtype, index, 1, &mut out) };
        out[0]
    }
}

/// A type that operands are widened to before they are multiplied.
pub trait Widened: Value {
    /// Reads `out.len()` elements from index `first` on, `stride` apart.
    ///
    /// # Safety
    /// `base` starts an array of elements of `dtype`, packed if they are smaller than a byte, that reaches over those indices
    /// and is not written meanwhile.
    unsafe fn read(base: *const u8, dtype: Dtype, first: usize, stride: usize, out: &mut [Self]);
}

/// Reads elements of whole bytes.
///
/// # Safety
/// As [`Widened::read`], with `T` the type of `dtype`.
unsafe fn read_elements<T: Element, V>(
    base: *const u8,
    first: usize,
    stride: usize,
    out: &mut [V],
    all: impl Fn(&[T], &mut [V]),
    one: impl Fn(T) -> V,
) {
    let at = base.cast::<T>().wrapping_add(first);
    if stride == 1 && at.is_aligned() {
        // SAFETY: the caller vouched for the elements; the pointer is aligned.
        let elements = unsafe { core::slice::from_raw_parts(at, out.len()) };
        return all(elements, out);
    }
    for (i, o) in out.iter_mut().enumerate() {
        // SAFETY: the caller vouched for each element.
        *o = one(unsafe { at.wrapping_add(i * stride).read_unaligned() });
    }
}

/// Reads elements of at most 8 bits through a table of their values.
///
/// # Safety
/// As [`Widened::read`].
unsafe fn read_small<V: Copy>(
    base: *const u8,
    bits: usize,
    first: usize,
    stride: usize,
    out: &mut [V],
    table: &[V; 256],
) {
    if bits == 8 {
        // SAFETY: the caller vouched for the elements.
        return unsafe {
            read_elements::<u8, V>(
                base,
                first,
                stride,
                out,
                |x, o| x.iter().zip(o).for_each(|(x, o)| *o = table[usize::from(*x)]),
                |x| table[usize::from(x)],
            )
        };
    }
    for (i, o) in out.iter_mut().enumerate() {
        let bit = (first + i * stride) * bits;
        // SAFETY: the element's lowest bit is in this byte, which the caller vouched for.
        let mut word = u32::from(unsafe { *base.wrapping_add(bit / 8) });
        if bit % 8 + bits > 8 {
            // SAFETY: the element goes on in the next byte, so that is the caller's too.
            word |= u32::from(unsafe { *base.wrapping_add(bit / 8 + 1) }) << 8;
        }
        *o = table[(word >> (bit % 8) & ((1 << bits) - 1)) as usize];
    }
}

/// The values of all bit patterns of a type of at most 8 bits.
fn tables<V: Copy + Default>(convert: impl Fn(f64) -> V) -> Vec<[V; 256]> {
    Dtype::ALL
        .iter()
        .map(|d| {
            let mut table = [V::default(); 256];
            if d.bits() <= 8 {
                (0..1u64 << d.bits()).for_each(|code| table[code as usize] = convert(d.decode_bits(code)));
            }
            table
        })
        .collect()
}

fn table_of<V>(tables: &[[V; 256]], dtype: Dtype) -> &[V; 256] {
    &tables[Dtype::ALL.iter().position(|d| *d == dtype).unwrap_or(0)]
}

impl Widened for f32 {
    unsafe fn read(base: *const u8, dtype: Dtype, first: usize, stride: usize, out: &mut [f32]) {
        use std::sync::OnceLock;
        static TABLES: OnceLock<Vec<[f32; 256]>> = OnceLock::new();
        // SAFETY: the caller vouched for the elements, and each arm reads the type that `dtype` names.
        unsafe {
            match dtype {
                Dtype::F32 => read_elements(base, first, stride, out, f32::to_f32_slice, f32::to_f32),
                Dtype::Tf32 => read_elements(base, first, stride, out, round_all, round),
                Dtype::F16 => read_elements(base, first, stride, out, f16::to_f32_slice, Element::to_f32),
                Dtype::Bf16 => read_elements(base, first, stride, out, bf16::to_f32_slice, Element::to_f32),
                Dtype::F64 => read_elements(base, first, stride, out, f64::to_f32_slice, f64::to_f32),
                Dtype::I32 => read_elements(base, first, stride, out, i32::to_f32_slice, i32::to_f32),
                _ => {
                    let tables = TABLES.get_or_init(|| tables(|x| x as f32));
                    read_small(base, dtype.bits(), first, stride, out, table_of(tables, dtype));
                }
            }
        }
    }
}

/// Tensor cores ignore the low mantissa bits of a tf32 operand; memory may hold any f32, which counts as rounded.
fn round(x: tf32) -> f32 {
    tf32::from_f32(x.to_f32()).to_f32()
}

fn round_all(x: &[tf32], out: &mut [f32]) {
    x.iter().zip(out).for_each(|(x, o)| *o = round(*x));
}

impl Widened for f64 {
    unsafe fn read(base: *const u8, dtype: Dtype, first: usize, stride: usize, out: &mut [f64]) {
        // SAFETY: as above; `multiplies` pairs f64 accumulators with f64 operands alone, others are widened exactly.
        unsafe {
            match dtype {
                Dtype::F64 => read_elements(base, first, stride, out, |x, o| o.copy_from_slice(x), |x: f64| x),
                _ => {
                    let mut narrow = vec![0.0f32; out.len()];
                    f32::read(base, dtype, first, stride, &mut narrow);
                    out.iter_mut().zip(narrow).for_each(|(o, x)| *o = f64::from(x));
                }
            }
        }
    }
}

impl Widened for i32 {
    unsafe fn read(base: *const u8, dtype: Dtype, first: usize, stride: usize, out: &mut [i32]) {
        use std::sync::OnceLock;
        static TABLES: OnceLock<Vec<[i32; 256]>> = OnceLock::new();
        // SAFETY: as above.
        unsafe {
            match dtype {
                Dtype::I32 => read_elements(base, first, stride, out, |x, o| o.copy_from_slice(x), |x: i32| x),
                _ => {
                    let tables = TABLES.get_or_init(|| tables(|x| x as i32));
                    read_small(base, dtype.bits(), first, stride, out, table_of(tables, dtype));
                }
            }
        }
    }
}
