//! Borrowed matrices with an element type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use warpwright_numeric::Element;

use super::{Tensor, is_packed};
use crate::view::byte_unit;
use crate::{RawView, RawViewMut, Space, Stream, Strided, TensorError};

/// A borrowed batch of matrices, in host memory or a device's. See [`RawView`] for what the borrow says.
#[derive(Clone, Copy)]
pub struct TensorView<'a, T: Element> {
    raw: RawView<'a>,
    element: PhantomData<T>,
}

/// A borrowed batch of matrices to be written.
pub struct TensorViewMut<'a, T: Element> {
    raw: RawViewMut<'a>,
    element: PhantomData<T>,
}

macro_rules! shared_methods {
    ($view:ident, $raw:ident, $self:ident, $receiver:ty) => {
        /// A view of `bytes` bytes at `address`.
        ///
        /// # Safety
        /// As the untyped view's `new`.
        pub unsafe fn from_parts(address: u64, bytes: usize, space: Space, layout: Strided) -> Self {
            // SAFETY: the caller's promise.
            $view { raw: unsafe { $raw::new(address, bytes, space, T::DTYPE, layout) }, element: PhantomData }
        }

        /// Rows of each matrix.
        pub fn rows(&self) -> usize {
            self.raw.extents()[1]
        }

        /// Columns of each matrix.
        pub fn cols(&self) -> usize {
            self.raw.extents()[2]
        }

        /// Matrices.
        pub fn batch(&self) -> usize {
            self.raw.extents()[0]
        }

        /// Extents and strides.
        pub fn layout(&self) -> Strided {
            self.raw.layout()
        }

        /// Whose memory it is.
        pub fn space(&self) -> Space {
            self.raw.space()
        }

        /// Rows and columns exchanged: the same memory, read the other way.
        pub fn transposed($self: $receiver) -> Self {
            $view { raw: $self.raw.transposed(), element: PhantomData }
        }

        /// Some rows of each matrix.
        ///
        /// # Errors
        /// [`TensorError::OutOfBounds`], or [`TensorError::InsideByte`] where the first would start inside a byte.
        pub fn sub_rows($self: $receiver, rows: Range<usize>) -> Result<Self, TensorError> {
            $self.cut(1, "row", rows)
        }

        /// Some columns of each matrix.
        ///
        /// # Errors
        /// [`TensorError::OutOfBounds`], or [`TensorError::InsideByte`] where the first would start inside a byte.
        pub fn sub_cols($self: $receiver, cols: Range<usize>) -> Result<Self, TensorError> {
            $self.cut(2, "column", cols)
        }

        /// Some matrices of the batch.
        ///
        /// # Errors
        /// [`TensorError::OutOfBounds`], or [`TensorError::InsideByte`] where the first would start inside a byte.
        pub fn sub_batch($self: $receiver, entries: Range<usize>) -> Result<Self, TensorError> {
            $self.cut(0, "batch entry", entries)
        }

        fn cut($self: $receiver, dim: usize, what: &'static str, range: Range<usize>) -> Result<Self, TensorError> {
            let mut layout = $self.raw.layout();
            let extent = layout.extents[dim];
            if range.start > range.end || range.end > extent {
                return Err(TensorError::OutOfBounds { what, index: range.start.max(range.end), extent });
            }
            layout.extents[dim] = range.len();
            // An empty view keeps its address: a start beyond the last element might lie outside of the memory.
            let offset = if layout.is_empty() { 0 } else { range.start * layout.strides[dim] as usize };
            let unit = byte_unit(T::DTYPE);
            if !offset.is_multiple_of(unit) {
                return Err(TensorError::InsideByte { dtype: T::DTYPE, element: offset, unit });
            }
            // SAFETY: the elements of the cut are some of this view's, and the first starts a byte.
            Ok($view { raw: unsafe { $self.raw.reshaped(offset, layout) }, element: PhantomData })
        }
    };
}

impl<'a, T: Element> TensorView<'a, T> {
    shared_methods!(TensorView, RawView, self, Self);

    /// The same without its element type.
    pub fn raw(&self) -> RawView<'a> {
        self.raw
    }

    /// A view that is known to hold this type only at run time.
    ///
    /// # Errors
    /// [`TensorError::WrongType`].
    pub fn from_raw(raw: RawView<'a>) -> Result<TensorView<'a, T>, TensorError> {
        if raw.dtype() != T::DTYPE {
            return Err(TensorError::WrongType { found: raw.dtype(), expected: T::DTYPE });
        }
        Ok(TensorView { raw, element: PhantomData })
    }

    /// A row-major matrix over a slice.
    ///
    /// # Errors
    /// [`TensorError::TooShort`], or [`TensorError::NotPacked`] for types below a byte.
    pub fn from_slice(rows: usize, cols: usize, elements: &'a [T]) -> Result<TensorView<'a, T>, TensorError> {
        TensorView::from_slice_in(Strided::dense(rows, cols, crate::Order::RowMajor), elements)
    }

    /// A batch of any layout over a slice.
    ///
    /// # Errors
    /// As [`from_slice`](TensorView::from_slice).
    pub fn from_slice_in(layout: Strided, elements: &'a [T]) -> Result<TensorView<'a, T>, TensorError> {
        check_slice::<T>(layout, elements.len())?;
        let address = elements.as_ptr().expose_provenance() as u64;
        // SAFETY: the slice is borrowed for `'a`, and the layout was checked to fit.
        Ok(unsafe { TensorView::from_parts(address, size_of_val(elements), Space::Host, layout) })
    }

    /// Element (m, n) of the first matrix.
    ///
    /// # Errors
    /// [`TensorError::OutOfBounds`], or [`TensorError::NotOnHost`] for a device's memory.
    pub fn get(&self, m: usize, n: usize) -> Result<T, TensorError> {
        self.get_in(0, m, n)
    }

    /// Element (m, n) of matrix b.
    ///
    /// # Errors
    /// As [`get`](TensorView::get).
    pub fn get_in(&self, b: usize, m: usize, n: usize) -> Result<T, TensorError> {
        check_host(self.space())?;
        self.layout().check_index(b, m, n)?;
        Ok(self.at(b, m, n))
    }

    /// An element of host memory whose index was checked.
    fn at(&self, b: usize, m: usize, n: usize) -> T {
        if !is_packed::<T>() {
            return T::from_f64(self.raw.decode_at(b, m, n));
        }
        let element =
            ptr::with_exposed_provenance::<T>(self.raw.address() as usize).wrapping_add(self.layout().offset(b, m, n));
        // SAFETY: the index is in bounds, so the element lies in the view; its type allows all bit patterns.
        unsafe { element.read_unaligned() }
    }

    /// Every element of host memory, by batch entry, row and column.
    ///
    /// # Errors
    /// [`TensorError::NotOnHost`].
    pub fn to_vec(&self) -> Result<Vec<T>, TensorError> {
        check_host(self.space())?;
        let [batch, rows, cols] = self.layout().extents;
        let mut elements = Vec::with_capacity(self.layout().len());
        for b in 0..batch {
            for m in 0..rows {
                elements.extend((0..cols).map(|n| self.at(b, m, n)));
            }
        }
        Ok(elements)
    }

    /// The same matrix `batch` times, without copies.
    ///
    /// # Errors
    /// [`TensorError::OutOfBounds`] unless this is a batch of one.
    pub fn repeated(self, batch: usize) -> Result<TensorView<'a, T>, TensorError> {
        if self.batch() != 1 {
            return Err(TensorError::OutOfBounds { what: "repeated batch of", index: self.batch(), extent: 1 });
        }
        let mut layout = self.layout();
        (layout.extents[0], layout.strides[0]) = (batch, 0);
        // SAFETY: a stride of 0 reaches no further than the one matrix.
        Ok(TensorView { raw: unsafe { self.raw.reshaped(0, layout) }, element: PhantomData })
    }

    /// As [`Tensor::to_device`]; only the memory between the first and the last element is copied.
    ///
    /// # Errors
    /// As there.
    pub fn to_device(&self, stream: &Stream) -> Result<Tensor<T>, TensorError> {
        let copy = Tensor::allocate(stream, self.layout())?;
        let bytes = self.span_bytes()?;
        if bytes == 0 {
            return Ok(copy);
        }
        let queue = stream.queue().backend();
        match self.raw.host_bytes() {
            // SAFETY: the destination is fresh memory of the stream's device, of the same layout and so of the same size.
            Some(host) => unsafe { queue.copy_from_host(copy.view().raw().address(), &host[..bytes])? },
            None => {
                check_stream(self.space(), stream)?;
                // SAFETY: as above; the source is borrowed until the copy is submitted, and freed in stream order.
                unsafe { queue.copy(copy.view().raw().address(), self.raw.address(), bytes)? };
            }
        }
        Ok(copy)
    }

    /// As [`Tensor::to_host`]; only the memory between the first and the last element is copied.
    ///
    /// # Errors
    /// As there.
    pub fn to_host(&self, stream: &Stream) -> Result<Tensor<T>, TensorError> {
        let bytes = self.span_bytes()?;
        let mut buffer = crate::backend::host::HostBuffer::zeroed(bytes)?;
        match self.raw.host_bytes() {
            Some(host) => buffer.as_mut_slice().copy_from_slice(&host[..bytes]),
            None => {
                check_stream(self.space(), stream)?;
                if bytes > 0 {
                    // SAFETY: the view's bytes are valid device memory, and the copy is waited for.
                    unsafe { stream.queue().backend().copy_to_host(self.raw.address(), buffer.as_mut_slice())? };
                }
            }
        }
        Ok(Tensor { memory: super::Memory::Buffer(Box::new(buffer)), layout: self.layout() })
    }

    fn span_bytes(&self) -> Result<usize, TensorError> {
        Ok(T::DTYPE.packed_bytes(self.layout().span(T::DTYPE)?))
    }
}

impl<'a, T: Element> TensorViewMut<'a, T> {
    shared_methods!(TensorViewMut, RawViewMut, self, Self);

    /// The same without its element type.
    pub fn raw(&mut self) -> RawViewMut<'_> {
        self.raw
    }

    /// The same without its element type, for as long as the borrow lasts.
    pub fn into_raw(self) -> RawViewMut<'a> {
        self.raw
    }

    /// A view that is known to hold this type only at run time.
    ///
    /// # Errors
    /// [`TensorError::WrongType`].
    ///
    /// # Safety
    /// As [`TensorViewMut`] writes safely, `raw` must not be used by others while the result is.
    pub unsafe fn from_raw(raw: RawViewMut<'a>) -> Result<TensorViewMut<'a, T>, TensorError> {
        if raw.dtype() != T::DTYPE {
            return Err(TensorError::WrongType { found: raw.dtype(), expected: T::DTYPE });
        }
        check_injective(raw.layout())?;
        Ok(TensorViewMut { raw, element: PhantomData })
    }

    /// A row-major matrix over a slice.
    ///
    /// # Errors
    /// As [`TensorView::from_slice`].
    pub fn from_slice(rows: usize, cols: usize, elements: &'a mut [T]) -> Result<TensorViewMut<'a, T>, TensorError> {
        TensorViewMut::from_slice_in(Strided::dense(rows, cols, crate::Order::RowMajor), elements)
    }

    /// A batch of any layout over a slice.
    ///
    /// # Errors
    /// As [`TensorView::from_slice`], and [`TensorError::Overlapping`].
    pub fn from_slice_in(layout: Strided, elements: &'a mut [T]) -> Result<TensorViewMut<'a, T>, TensorError> {
        check_slice::<T>(layout, elements.len())?;
        check_injective(layout)?;
        let address = elements.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the slice is exclusively borrowed for `'a`, and the layout was checked to fit.
        Ok(unsafe { TensorViewMut::from_parts(address, size_of_val(elements), Space::Host, layout) })
    }

    /// The same view for a shorter time.
    pub fn reborrow(&mut self) -> TensorViewMut<'_, T> {
        TensorViewMut { raw: self.raw, element: PhantomData }
    }

    /// The same memory to be read.
    pub fn as_view(&self) -> TensorView<'_, T> {
        // SAFETY: the result borrows `self`, so nothing safe writes through it meanwhile.
        TensorView { raw: unsafe { self.raw.as_raw_view() }, element: PhantomData }
    }

    /// Element (m, n) of the first matrix.
    ///
    /// # Errors
    /// As [`TensorView::get`].
    pub fn get(&self, m: usize, n: usize) -> Result<T, TensorError> {
        self.as_view().get(m, n)
    }

    /// Sets element (m, n) of the first matrix.
    ///
    /// # Errors
    /// As [`TensorView::get`].
    pub fn set(&mut self, m: usize, n: usize, value: T) -> Result<(), TensorError> {
        self.set_in(0, m, n, value)
    }

    /// Sets element (m, n) of matrix b.
    ///
    /// # Errors
    /// As [`TensorView::get`].
    pub fn set_in(&mut self, b: usize, m: usize, n: usize, value: T) -> Result<(), TensorError> {
        check_host(self.space())?;
        self.layout().check_index(b, m, n)?;
        self.put(b, m, n, value);
        Ok(())
    }

    /// Sets an element of host memory whose index is in bounds.
    pub(super) fn put(&mut self, b: usize, m: usize, n: usize, value: T) {
        if !is_packed::<T>() {
            // SAFETY: the exclusive borrow keeps others off the bytes.
            unsafe { self.raw.encode_at(b, m, n, value.to_f64()) };
            return;
        }
        let offset = self.layout().offset(b, m, n);
        let element = ptr::with_exposed_provenance_mut::<T>(self.raw.address() as usize).wrapping_add(offset);
        // SAFETY: the index is in bounds, so the element lies in the view, which is exclusively borrowed.
        unsafe { element.write_unaligned(value) };
    }
}

pub(super) fn check_host(space: Space) -> Result<(), TensorError> {
    if space == Space::Host { Ok(()) } else { Err(TensorError::NotOnHost { space }) }
}

pub(super) fn check_stream(space: Space, stream: &Stream) -> Result<(), TensorError> {
    let of_stream = stream.device().space();
    if space == of_stream { Ok(()) } else { Err(TensorError::WrongDevice { space, stream: of_stream }) }
}

pub(super) fn check_injective(layout: Strided) -> Result<(), TensorError> {
    if layout.is_injective() || layout.is_empty() {
        return Ok(());
    }
    Err(TensorError::Overlapping { extents: layout.extents, strides: layout.strides })
}

fn check_slice<T: Element>(layout: Strided, given: usize) -> Result<(), TensorError> {
    if !is_packed::<T>() {
        return Err(TensorError::NotPacked { dtype: T::DTYPE });
    }
    check_fits::<T>(layout, given)
}

pub(super) fn check_fits<T: Element>(layout: Strided, given: usize) -> Result<(), TensorError> {
    let needed = layout.span(T::DTYPE)?;
    if given < needed {
        return Err(TensorError::TooShort { given, needed, extents: layout.extents });
    }
    Ok(())
}

pub(super) fn describe(f: &mut fmt::Formatter<'_>, what: &str, raw: &RawView<'_>) -> fmt::Result {
    let [batch, rows, cols] = raw.extents();
    write!(f, "{what}<{}>(", raw.dtype())?;
    if batch != 1 {
        write!(f, "{batch} × ")?;
    }
    write!(f, "{rows} × {cols}, strides {:?}, {})", raw.strides(), raw.space())
}

impl<T: Element> fmt::Debug for TensorView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "TensorView", &self.raw)
    }
}

impl<T: Element> fmt::Debug for TensorViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "TensorViewMut", &self.as_view().raw)
    }
}
