//! Segments of operands.

use super::arena::Lane;
use super::lanes::with_element;
use super::{Along, Segment};
use core::ptr;
use warpwright_numeric::{Dtype, Element};
use warpwright_runtime::{RawView, Space};

/// What elements are read into.
pub(super) trait Target: Copy + 'static {
    fn of<T: Element>(x: T) -> Self;
    /// Of an element that is only known as a number: exact for the narrow types that have no whole bytes.
    fn of_number(x: f64) -> Self;
    /// Consecutive elements.
    fn of_slice<T: Element>(from: &[T], to: &mut [Self]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = Self::of(*from);
        }
    }
}
impl Target for f32 {
    fn of<T: Element>(x: T) -> f32 {
        x.to_f32()
    }
    fn of_number(x: f64) -> f32 {
        x as f32
    }
    fn of_slice<T: Element>(from: &[T], to: &mut [f32]) {
        T::to_f32_slice(from, to);
    }
}
impl Target for f64 {
    fn of<T: Element>(x: T) -> f64 {
        x.to_f64()
    }
    fn of_number(x: f64) -> f64 {
        x
    }
}
// Only integer elements are read as integers: f64 holds them exactly.
impl Target for i64 {
    fn of<T: Element>(x: T) -> i64 {
        x.to_f64() as i64
    }
    fn of_number(x: f64) -> i64 {
        x as i64
    }
}

/// Reads the elements of a view under a segment. `strides` are those between batch entries, rows and columns of D; the
/// view's own, but for dimensions that are repeated.
///
/// # Panics
/// If the memory is not the host's, or the segment is not within what the view holds.
pub(super) fn segment<R: Target>(view: &RawView<'_>, strides: [i64; 3], at: Segment, row: &mut [R]) -> Lane<R> {
    let [batch, m, n] = strides;
    let stride = match at.along {
        Along::N => n,
        Along::M => m,
    };
    if row.is_empty() {
        return Lane::Row;
    }
    let count = if stride == 0 { 1 } else { row.len() };
    let first = at.batch as i64 * batch + at.m as i64 * m + at.n as i64 * n;
    let last = first + (count as i64 - 1) * stride;
    let dtype = view.dtype();
    assert!(view.space() == Space::Host, "an operand is in the memory of {}, which the host cannot read", view.space());
    let reach = (last as usize).saturating_add(1).saturating_mul(dtype.bits()).div_ceil(8);
    assert!(first >= 0 && last >= 0 && reach <= view.bytes(), "a segment is not within an operand");
    let (first, stride) = (first as usize, stride as usize);
    if dtype.bits() < 8 {
        return packed(view, dtype, first, stride, row);
    }
    let base = ptr::with_exposed_provenance::<u8>(view.address() as usize);
    with_element!(dtype, T => {
        // Packed types were dealt with above: each of the others takes as many bytes here as in the view.
        let start = base.wrapping_add(first * size_of::<T>()).cast::<T>();
        if stride == 0 {
            // SAFETY: the element lies within the view's bytes, as asserted above.
            return Lane::Splat(R::of(unsafe { start.read_unaligned() }));
        }
        if stride == 1 && start.is_aligned() {
            // SAFETY: all `row.len()` elements lie within the view's bytes, as asserted above; elements are plain data,
            // and nobody writes them while the view, or the segment of the previous D, is borrowed.
            let elements = unsafe { core::slice::from_raw_parts(start, row.len()) };
            R::of_slice(elements, row);
            return Lane::Row;
        }
        for (i, x) in row.iter_mut().enumerate() {
            // SAFETY: the last element lies within the view's bytes, as asserted above, and so do those before it.
            *x = R::of(unsafe { start.wrapping_add(i * stride).read_unaligned() });
        }
        Lane::Row
    })
}

/// Reads the bits of a mask under a segment; strides are in bits.
///
/// # Panics
/// As [`segment`].
pub(super) fn bits<T: Copy>(
    view: &RawView<'_>,
    [batch, m, n]: [i64; 3],
    at: Segment,
    row: &mut [T],
    of: impl Fn(bool) -> T,
) -> Lane<T> {
    let stride = if at.along == Along::N { n } else { m };
    let first = at.batch as i64 * batch + at.m as i64 * m + at.n as i64 * n;
    let last = first + (row.len().max(1) as i64 - 1) * stride;
    assert!(view.space() == Space::Host, "a mask is in the memory of {}, which the host cannot read", view.space());
    assert!(first >= 0 && last >= 0 && (last as usize) / 8 < view.bytes(), "a segment is not within a mask");
    let base = ptr::with_exposed_provenance::<u8>(view.address() as usize);
    for (i, x) in row.iter_mut().enumerate() {
        let bit = (first + i as i64 * stride) as usize;
        // SAFETY: the first and the last bit lie within the view's bytes, as asserted above, and so do those between them.
        let byte = unsafe { base.wrapping_add(bit / 8).read() };
        *x = of(byte >> (bit % 8) & 1 == 1);
    }
    Lane::Row
}

/// Elements that share bytes.
fn packed<R: Target>(view: &RawView<'_>, dtype: Dtype, first: usize, stride: usize, row: &mut [R]) -> Lane<R> {
    // Bits of an element are gathered byte by byte, so that no byte outside of its own is touched.
    let base = ptr::with_exposed_provenance::<u8>(view.address() as usize);
    let decode = |index: usize| {
        let bit = index * dtype.bits();
        let byte = |i: usize| {
            // SAFETY: the bits of element `index` lie within the view's bytes, as `segment` asserted.
            u64::from(unsafe { base.wrapping_add(i).read() })
        };
        let low = byte(bit / 8);
        let crosses = bit % 8 + dtype.bits() > 8;
        let word = if crosses { low | byte(bit / 8 + 1) << 8 } else { low };
        R::of_number(dtype.decode_bits(word >> (bit % 8) & ((1 << dtype.bits()) - 1)))
    };
    if stride == 0 {
        return Lane::Splat(decode(first));
    }
    for (i, x) in row.iter_mut().enumerate() {
        *x = decode(first + i * stride);
    }
    Lane::Row
}
