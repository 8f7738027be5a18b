//! Values into D.

use super::lanes::{Real, with_element};
use super::{Along, Segment, Values};
use core::{ptr, slice};
use warpwright_numeric::Element;
use warpwright_runtime::{RawViewMut, Space};

impl Values<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::F32(x) => x.len(),
            Values::F64(x) => x.len(),
            Values::I32(x) => x.len(),
            Values::I64(x) => x.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i` in f64; exact but for integers beyond 2^53.
    pub fn get(&self, i: usize) -> Option<f64> {
        match self {
            Values::F32(x) => x.get(i).copied().map(f64::from),
            Values::F64(x) => x.get(i).copied(),
            Values::I32(x) => x.get(i).copied().map(f64::from),
            Values::I64(x) => x.get(i).map(|&x| x as f64),
        }
    }

    /// Converts all values to `T`, as D is stored: rounding once, but for integers beyond 2^53.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn convert_into<T: Element>(&self, out: &mut [T]) {
        assert_eq!(self.len(), out.len(), "values and their destination differ in length");
        match self {
            Values::F32(x) => T::from_f32_slice(x, out),
            Values::F64(x) => each(x, out, |x| x.to_element()),
            Values::I32(x) => each(x, out, |x| T::from_f64(f64::from(x))),
            Values::I64(x) => each(x, out, |x| T::from_f64(x as f64)),
        }
    }

    /// Writes the values as a segment of D, converted to its element.
    ///
    /// # Safety
    /// Nobody else uses the bytes that hold the segment's elements during the call; elements below a byte share one with
    /// neighbours.
    ///
    /// # Panics
    /// If the segment is not within D, or D is not in the host's memory.
    pub unsafe fn write(&self, d: &RawViewMut<'_>, at: Segment) {
        let [_, m, n] = d.strides();
        let (stride, end) = match at.along {
            Along::N => (n as usize, [at.batch, at.m, at.n + self.len().saturating_sub(1)]),
            Along::M => (m as usize, [at.batch, at.m + self.len().saturating_sub(1), at.n]),
        };
        if self.is_empty() {
            return;
        }
        assert!(end.iter().zip(d.extents()).all(|(&i, extent)| i < extent), "a segment is not within D");
        assert!(d.space() == Space::Host, "D is in the memory of {}, which the host cannot write", d.space());
        let dtype = d.dtype();
        if dtype.bits() < 8 {
            for i in 0..self.len() {
                let [m, n] = match at.along {
                    Along::N => [at.m, at.n + i],
                    Along::M => [at.m + i, at.n],
                };
                // SAFETY: as this function's caller vouches.
                unsafe { d.encode_at(at.batch, m, n, self.get(i).unwrap_or_default()) };
            }
            return;
        }
        let first = d.layout().offset(at.batch, at.m, at.n);
        let base = ptr::with_exposed_provenance_mut::<u8>(d.address() as usize);
        with_element!(dtype, T => {
            let start = base.wrapping_add(first * size_of::<T>()).cast::<T>();
            if stride == 1 && start.is_aligned() {
                // SAFETY: the segment is within D's extents, so its elements are within D's bytes; the caller vouches that
                // nobody else uses them.
                self.convert_into(unsafe { slice::from_raw_parts_mut(start, self.len()) });
                return;
            }
            let mut chunk = [T::default(); 64];
            let mut done = 0;
            while done < self.len() {
                let now = (self.len() - done).min(chunk.len());
                self.part(done, now).convert_into(&mut chunk[..now]);
                for (i, x) in chunk[..now].iter().enumerate() {
                    // SAFETY: as above, element by element.
                    unsafe { start.wrapping_add((done + i) * stride).write_unaligned(*x) };
                }
                done += now;
            }
        });
    }

    fn part(&self, from: usize, len: usize) -> Values<'_> {
        match self {
            Values::F32(x) => Values::F32(&x[from..from + len]),
            Values::F64(x) => Values::F64(&x[from..from + len]),
            Values::I32(x) => Values::I32(&x[from..from + len]),
            Values::I64(x) => Values::I64(&x[from..from + len]),
        }
    }
}

fn each<S: Copy, T>(from: &[S], to: &mut [T], f: impl Fn(S) -> T) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = f(*from);
    }
}
