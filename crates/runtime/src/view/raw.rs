//! Views without an element type: what parameter blocks and host programs read.

use std::marker::PhantomData;
use std::{ptr, slice};

use warpwright_numeric::Dtype;

use super::{Order, Space, Strided};

/// A borrowed batch of matrices, as plain data: an address, a shape, and whose memory it is.
///
/// The borrow says that the memory lives and is not written by others until the work that reads it is *submitted*. A device
/// tensor frees its memory in stream order, so submitted work stays valid; see the crate's page.
#[derive(Clone, Copy, Debug)]
pub struct RawView<'a> {
    parts: Parts,
    borrow: PhantomData<&'a [u8]>,
}

/// As [`RawView`], to be written.
///
/// It is copied freely, so that parameter blocks and the tasks of a host program can hold it; that is why writing through it
/// is unsafe.
#[derive(Clone, Copy, Debug)]
pub struct RawViewMut<'a> {
    parts: Parts,
    borrow: PhantomData<&'a mut [u8]>,
}

#[derive(Clone, Copy, Debug)]
struct Parts {
    address: u64,
    bytes: usize,
    space: Space,
    dtype: Dtype,
    layout: Strided,
}

macro_rules! shared_methods {
    () => {
        /// A view of `bytes` bytes at `address`.
        ///
        /// # Safety
        /// The bytes are valid memory of `space` for `'a`, not written by others (for a mutable view: not used by others),
        /// and `layout.span(dtype)` elements fit in them.
        pub unsafe fn new(address: u64, bytes: usize, space: Space, dtype: Dtype, layout: Strided) -> Self {
            Self { parts: Parts { address, bytes, space, dtype, layout }, borrow: PhantomData }
        }

        /// The address of element (0, 0, 0). For empty views it may be anything.
        pub fn address(&self) -> u64 {
            self.parts.address
        }

        /// How many bytes may be accessed from the address on.
        pub fn bytes(&self) -> usize {
            self.parts.bytes
        }

        /// Whose memory it is.
        pub fn space(&self) -> Space {
            self.parts.space
        }

        /// The elements' type.
        pub fn dtype(&self) -> Dtype {
            self.parts.dtype
        }

        /// Extents and strides.
        pub fn layout(&self) -> Strided {
            self.parts.layout
        }

        /// Batch entries, rows, columns.
        pub fn extents(&self) -> [usize; 3] {
            self.parts.layout.extents
        }

        /// Elements between neighbours of a batch, of a column, of a row.
        pub fn strides(&self) -> [i64; 3] {
            self.parts.layout.strides
        }

        /// Bytes from the address on that the elements span; the largest number where they cannot be counted.
        pub fn needed_bytes(&self) -> usize {
            let Parts { dtype, layout, .. } = self.parts;
            layout.span(dtype).map_or(usize::MAX, |elements| dtype.packed_bytes(elements))
        }

        /// Whether the address is a multiple of an element's size: devices fault elsewhere, where the CPU reads all the same.
        pub fn begins_at_an_element(&self) -> bool {
            self.parts.address.is_multiple_of((self.parts.dtype.bits() / 8).max(1) as u64)
        }

        /// Whether there are no elements.
        pub fn is_empty(&self) -> bool {
            self.parts.layout.is_empty()
        }

        /// The largest power of two, up to 128, that divides the address and the start of every row (or column, in
        /// column-major order) and of every batch entry, in bytes. 0 if one of them starts inside a byte.
        pub fn alignment_in(&self, order: Order) -> usize {
            self.parts.alignment_in(order)
        }

        /// [`Self::alignment_in`] the order that the elements are in; for a vector, which is in both, the better one.
        pub fn alignment(&self) -> usize {
            self.parts.alignment()
        }

        /// Rows and columns exchanged.
        pub fn transposed(mut self) -> Self {
            self.parts.layout = self.parts.layout.transposed();
            self
        }
    };
}

impl<'a> RawView<'a> {
    shared_methods!();

    /// Element (b, m, n), exactly.
    ///
    /// # Panics
    /// As indexing a slice does: if an index is beyond its extent, or the memory is not the host's.
    pub fn decode_at(&self, b: usize, m: usize, n: usize) -> f64 {
        let (start, len, index) = self.parts.place(b, m, n);
        let at = ptr::with_exposed_provenance::<u8>(self.parts.address as usize).wrapping_add(start);
        // SAFETY: `place` checked that the bytes lie in the view, which `new`'s caller vouched for.
        let bytes = unsafe { slice::from_raw_parts(at, len) };
        self.parts.dtype.decode(bytes, index)
    }

    /// All accessible bytes, if they are the host's.
    pub fn host_bytes(&self) -> Option<&'a [u8]> {
        match self.parts.space {
            Space::Host if self.parts.bytes == 0 => Some(&[]),
            Space::Host => {
                let at = ptr::with_exposed_provenance::<u8>(self.parts.address as usize);
                // SAFETY: `new`'s caller vouched for the bytes.
                Some(unsafe { slice::from_raw_parts(at, self.parts.bytes) })
            }
            Space::Cuda(_) | Space::Emulator(_) => None,
        }
    }

    /// The same memory seen with another shape.
    ///
    /// # Safety
    /// `layout.span` elements starting `offset` elements after the first fit in the accessible bytes, and that element
    /// starts a byte.
    pub(crate) unsafe fn reshaped(mut self, offset: usize, layout: Strided) -> RawView<'a> {
        self.parts = self.parts.moved(offset, layout);
        self
    }
}

impl<'a> RawViewMut<'a> {
    shared_methods!();

    /// Writes the value nearest to `x` as element (b, m, n).
    ///
    /// # Safety
    /// Nobody else uses the bytes that hold the element during the call; elements below a byte share one with neighbours.
    ///
    /// # Panics
    /// As indexing a slice does: if an index is beyond its extent, or the memory is not the host's.
    pub unsafe fn encode_at(&self, b: usize, m: usize, n: usize, x: f64) {
        let (start, len, index) = self.parts.place(b, m, n);
        let at = ptr::with_exposed_provenance_mut::<u8>(self.parts.address as usize).wrapping_add(start);
        // SAFETY: `place` checked that the bytes lie in the view, which `new`'s caller vouched for; the caller of this
        // function vouches that nobody else uses them.
        let bytes = unsafe { slice::from_raw_parts_mut(at, len) };
        self.parts.dtype.encode(bytes, index, x);
    }

    /// The first byte, if it is the host's. Bytes from there on may be used as [`encode_at`](Self::encode_at) allows.
    pub fn host_ptr(&self) -> Option<*mut u8> {
        match self.parts.space {
            Space::Host => Some(ptr::with_exposed_provenance_mut::<u8>(self.parts.address as usize)),
            Space::Cuda(_) | Space::Emulator(_) => None,
        }
    }

    /// The same memory to be read, as an epilogue does that reads D's former value.
    ///
    /// # Safety
    /// Nobody writes an element while it is read through the result.
    pub unsafe fn as_raw_view(&self) -> RawView<'a> {
        RawView { parts: self.parts, borrow: PhantomData }
    }

    /// As [`RawView::reshaped`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn reshaped(mut self, offset: usize, layout: Strided) -> RawViewMut<'a> {
        self.parts = self.parts.moved(offset, layout);
        self
    }
}

/// Elements that together fill whole bytes: those between two starts of a byte.
pub(crate) fn byte_unit(dtype: Dtype) -> usize {
    match dtype.bits() {
        4 => 2,
        6 => 4,
        _ => 1,
    }
}

impl Parts {
    /// Where element (b, m, n) lies: the first byte, the number of bytes that surely hold it, and its index in them.
    fn place(&self, b: usize, m: usize, n: usize) -> (usize, usize, usize) {
        assert!(
            self.space == Space::Host,
            "the elements are in the memory of {}, which the host cannot read",
            self.space
        );
        if let Err(error) = self.layout.check_index(b, m, n) {
            panic!("{error}");
        }
        let element = self.layout.offset(b, m, n);
        let unit = byte_unit(self.dtype);
        let unit_bytes = unit * self.dtype.bits() / 8;
        let start = element / unit * unit_bytes;
        (start, unit_bytes.min(self.bytes - start), element % unit)
    }

    fn alignment_in(&self, order: Order) -> usize {
        self.layout.alignment(self.address, self.dtype, order)
    }

    fn alignment(&self) -> usize {
        let [_, rows, columns] = self.layout.extents;
        let [_, row_stride, column_stride] = self.layout.strides;
        let [by_row, by_column] = [Order::RowMajor, Order::ColumnMajor].map(|order| self.alignment_in(order));
        match (column_stride == 1 || columns <= 1, row_stride == 1 || rows <= 1) {
            (true, true) => by_row.max(by_column),
            (true, false) => by_row,
            (false, true) => by_column,
            (false, false) => by_row.min(by_column),
        }
    }

    fn moved(mut self, offset: usize, layout: Strided) -> Parts {
        let skipped = offset / byte_unit(self.dtype) * (byte_unit(self.dtype) * self.dtype.bits() / 8);
        self.address += skipped as u64;
        self.bytes -= skipped;
        self.layout = layout;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(address: u64, dtype: Dtype, layout: Strided) -> RawView<'static> {
        // SAFETY: the view is never read.
        unsafe { RawView::new(address, 0, Space::Host, dtype, layout) }
    }

    #[test]
    fn alignment_is_that_of_the_base_and_of_every_line() {
        let of = |address, dtype, layout| view(address, dtype, layout).alignment();
        let padded = |leading| Strided::padded(8, 16, Order::RowMajor, leading).unwrap();
        assert_eq!(of(4096, Dtype::F16, padded(64)), 128);
        assert_eq!(of(4096, Dtype::F16, padded(24)), 16);
        assert_eq!(of(4096, Dtype::F16, padded(17)), 2);
        assert_eq!(of(4104, Dtype::F16, padded(64)), 8);
        assert_eq!(of(4097, Dtype::E4m3, padded(64)), 1);
        assert_eq!(of(4096, Dtype::I4, padded(32)), 16);
        assert_eq!(of(4096, Dtype::I4, padded(17)), 0);
        // One row has no line start but its own, and a stride of 0 is no line start.
        assert_eq!(of(4096, Dtype::F32, Strided::dense(1, 3, Order::RowMajor)), 128);
        assert_eq!(of(4096, Dtype::F32, Strided::dense(1, 3, Order::RowMajor).batched(5, 0)), 128);
        assert_eq!(of(4096, Dtype::F32, Strided::dense(1, 3, Order::RowMajor).batched(5, 3)), 4);
        assert_eq!(of(4096, Dtype::F32, padded(64).transposed()), 128);
        // A stride of one element between batch entries counts like any other.
        assert_eq!(of(4096, Dtype::F16, Strided::dense_batch(3, 1, 1, Order::RowMajor)), 2);
        // A row of a column-major matrix: as a row its elements are apart, as columns each starts a line.
        let row = Strided { extents: [1, 1, 9], strides: [0, 16, 1] };
        assert_eq!(view(4096, Dtype::F16, row).alignment_in(Order::RowMajor), 128);
        assert_eq!(view(4096, Dtype::F16, row).alignment_in(Order::ColumnMajor), 2);
    }
}
