//! Matrices and batches of matrices in memory.

mod as_view;
mod cuda;
mod typed;

pub use as_view::{AsView, AsViewMut};
pub use typed::{TensorView, TensorViewMut};

use std::fmt;

use warpwright_numeric::{Dtype, Element, packed};

use crate::backend::Buffer;
use crate::backend::host::HostBuffer;
use crate::{Order, Space, Stream, Strided, TensorError};

/// An owned batch of matrices, in host memory or a device's. One matrix is a batch of one.
///
/// Elements below a byte are packed, the first in the lowest bits. Host memory starts at a multiple of 256 bytes, except
/// where it is the caller's own vector ([`from_vec`](Tensor::from_vec)).
pub struct Tensor<T: Element> {
    memory: Memory<T>,
    layout: Strided,
}

enum Memory<T> {
    /// The caller's vector. Its elements take whole bytes.
    Vec(Vec<T>),
    Buffer(Box<dyn Buffer>),
}

impl<T: Element> Tensor<T> {
    /// A row-major matrix in host memory, element by element.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] or out of memory.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> T) -> Result<Tensor<T>, TensorError> {
        Tensor::from_fn_in(Strided::dense(rows, cols, Order::RowMajor), |_, m, n| f(m, n))
    }

    /// A batch in host memory with any layout, element (b, m, n) by element. Gaps between rows are zero.
    ///
    /// # Errors
    /// [`TensorError`] if the layout's elements share memory or are too many.
    pub fn from_fn_in(layout: Strided, mut f: impl FnMut(usize, usize, usize) -> T) -> Result<Tensor<T>, TensorError> {
        let mut tensor = Tensor::zeros_in(layout)?;
        let mut view = tensor.view_mut()?;
        let [batch, rows, cols] = layout.extents;
        for b in 0..batch {
            for m in 0..rows {
                for n in 0..cols {
                    view.put(b, m, n, f(b, m, n));
                }
            }
        }
        Ok(tensor)
    }

    /// A row-major matrix over the vector's own memory; types below a byte are packed into memory of the tensor's.
    ///
    /// # Errors
    /// [`TensorError::TooShort`] unless the vector has `rows * cols` elements or more.
    pub fn from_vec(rows: usize, cols: usize, elements: Vec<T>) -> Result<Tensor<T>, TensorError> {
        Tensor::from_vec_in(Strided::dense(rows, cols, Order::RowMajor), elements)
    }

    /// A batch of any layout over the vector's own memory, as [`from_vec`](Tensor::from_vec).
    ///
    /// # Errors
    /// [`TensorError::TooShort`] unless the vector holds what the layout reaches over.
    pub fn from_vec_in(layout: Strided, elements: Vec<T>) -> Result<Tensor<T>, TensorError> {
        let needed = layout.span(T::DTYPE)?;
        if elements.len() < needed {
            return Err(TensorError::TooShort { given: elements.len(), needed, extents: layout.extents });
        }
        if is_packed::<T>() {
            return Ok(Tensor { memory: Memory::Vec(elements), layout });
        }
        let mut buffer = HostBuffer::zeroed(T::DTYPE.packed_bytes(elements.len()))?;
        buffer.as_mut_slice().copy_from_slice(&packed(&elements));
        Ok(Tensor { memory: Memory::Buffer(Box::new(buffer)), layout })
    }

    /// A row-major matrix of zero bits in host memory.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] or out of memory.
    pub fn zeros(rows: usize, cols: usize) -> Result<Tensor<T>, TensorError> {
        Tensor::zeros_in(Strided::dense(rows, cols, Order::RowMajor))
    }

    /// A column-major matrix of zero bits in host memory.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] or out of memory.
    pub fn column_major(rows: usize, cols: usize) -> Result<Tensor<T>, TensorError> {
        Tensor::zeros_in(Strided::dense(rows, cols, Order::ColumnMajor))
    }

    /// A batch of any layout, of zero bits, in host memory.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`], [`TensorError::NegativeStride`] or out of memory.
    pub fn zeros_in(layout: Strided) -> Result<Tensor<T>, TensorError> {
        let bytes = T::DTYPE.packed_bytes(layout.span(T::DTYPE)?);
        Ok(Tensor { memory: Memory::Buffer(Box::new(HostBuffer::zeroed(bytes)?)), layout })
    }

    /// A row-major matrix of equal elements in host memory.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] or out of memory.
    pub fn full(rows: usize, cols: usize, value: T) -> Result<Tensor<T>, TensorError> {
        Tensor::from_fn(rows, cols, |_, _| value)
    }

    /// A batch of zero bits in the memory of the stream's device, zeroed in the stream's order.
    ///
    /// # Errors
    /// [`TensorError`]; while the stream is captured, [`MemoryError::Capturing`](crate::MemoryError::Capturing).
    pub fn zeros_on(stream: &Stream, layout: Strided) -> Result<Tensor<T>, TensorError> {
        let mut tensor = Tensor::allocate(stream, layout)?;
        tensor.fill_bytes(stream, 0)?;
        Ok(tensor)
    }

    fn allocate(stream: &Stream, layout: Strided) -> Result<Tensor<T>, TensorError> {
        let bytes = T::DTYPE.packed_bytes(layout.span(T::DTYPE)?);
        Ok(Tensor { memory: Memory::Buffer(stream.queue().allocate(bytes)?), layout })
    }

    /// Sets every byte, those between rows too, in the stream's order: to poison an output, say.
    ///
    /// # Errors
    /// [`TensorError::WrongDevice`] or the driver's.
    pub fn fill_bytes(&mut self, stream: &Stream, byte: u8) -> Result<(), TensorError> {
        self.check_stream(stream)?;
        if self.bytes() > 0 {
            // SAFETY: the bytes are this tensor's own, and `&mut self` keeps others off until the fill is submitted; later
            // work is ordered behind it by the stream.
            unsafe { stream.queue().backend().fill(self.address(), byte, self.bytes())? };
        }
        Ok(())
    }

    /// Rows of each matrix.
    pub fn rows(&self) -> usize {
        self.layout.extents[1]
    }

    /// Columns of each matrix.
    pub fn cols(&self) -> usize {
        self.layout.extents[2]
    }

    /// Matrices.
    pub fn batch(&self) -> usize {
        self.layout.extents[0]
    }

    /// Extents and strides.
    pub fn layout(&self) -> Strided {
        self.layout
    }

    /// The elements' type as a value.
    pub fn dtype(&self) -> Dtype {
        T::DTYPE
    }

    /// Whose memory it is.
    pub fn space(&self) -> Space {
        match &self.memory {
            Memory::Vec(_) => Space::Host,
            Memory::Buffer(buffer) => buffer.space(),
        }
    }

    /// The memory's size in bytes, gaps between rows included.
    pub fn bytes(&self) -> usize {
        match &self.memory {
            Memory::Vec(elements) => size_of_val(&elements[..]),
            Memory::Buffer(buffer) => buffer.bytes(),
        }
    }

    fn address(&self) -> u64 {
        match &self.memory {
            Memory::Vec(elements) => elements.as_ptr().expose_provenance() as u64,
            Memory::Buffer(buffer) => buffer.address(),
        }
    }

    /// The whole tensor, to be read.
    pub fn view(&self) -> TensorView<'_, T> {
        // SAFETY: the memory is this tensor's, borrowed with it, and the constructors made the layout fit.
        unsafe { TensorView::from_parts(self.address(), self.bytes(), self.space(), self.layout) }
    }

    /// The whole tensor, to be written.
    ///
    /// # Errors
    /// [`TensorError::Overlapping`] if elements share memory.
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        typed::check_injective(self.layout)?;
        let address = match &mut self.memory {
            Memory::Vec(elements) => elements.as_mut_ptr().expose_provenance() as u64,
            Memory::Buffer(buffer) => buffer.address(),
        };
        // SAFETY: as in `view`; the borrow is exclusive.
        Ok(unsafe { TensorViewMut::from_parts(address, self.bytes(), self.space(), self.layout) })
    }

    /// Element (m, n) of the first matrix.
    ///
    /// # Errors
    /// [`TensorError::OutOfBounds`], or [`TensorError::NotOnHost`] for a device's memory.
    pub fn get(&self, m: usize, n: usize) -> Result<T, TensorError> {
        self.view().get(m, n)
    }

    /// Sets element (m, n) of the first matrix.
    ///
    /// # Errors
    /// As [`get`](Tensor::get).
    pub fn set(&mut self, m: usize, n: usize, value: T) -> Result<(), TensorError> {
        self.view_mut()?.set(m, n, value)
    }

    /// A copy in the memory of the stream's device, with the same layout, made in the stream's order.
    ///
    /// # Errors
    /// [`TensorError::WrongDevice`] from one device to another; out of memory; while the stream is captured,
    /// [`MemoryError::Capturing`](crate::MemoryError::Capturing).
    pub fn to_device(&self, stream: &Stream) -> Result<Tensor<T>, TensorError> {
        self.view().to_device(stream)
    }

    /// Copies a tensor of the same layout into this one's memory, in the stream's order: the addresses that a recorded graph
    /// holds get new values. Bytes between rows are copied too. To host memory, it waits.
    ///
    /// # Errors
    /// [`TensorError::Layout`] unless the layouts are equal; [`TensorError::WrongDevice`], or the driver's.
    pub fn copy_from(&mut self, stream: &Stream, source: &Tensor<T>) -> Result<(), TensorError> {
        if self.layout != source.layout {
            return Err(TensorError::Layout { given: source.layout, expected: self.layout });
        }
        let bytes = T::DTYPE.packed_bytes(self.layout.span(T::DTYPE)?);
        if bytes == 0 {
            return Ok(());
        }
        let queue = stream.queue().backend();
        let (from, to) = (source.view().raw(), self.address());
        match (from.host_bytes(), self.space()) {
            (None, Space::Host) => {
                source.check_stream(stream)?;
                // SAFETY: this tensor's own bytes, borrowed mutably, and the copy is waited for.
                let target = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes) };
                // SAFETY: the source's bytes are valid device memory.
                unsafe { queue.copy_to_host(from.address(), target)? };
            }
            (Some(host), Space::Host) => {
                // SAFETY: as above; two tensors do not overlap.
                unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes) }.copy_from_slice(&host[..bytes]);
            }
            (Some(host), _) => {
                self.check_stream(stream)?;
                // SAFETY: the destination is this tensor's own memory, of the same layout and so of the same size.
                unsafe { queue.copy_from_host(to, &host[..bytes])? };
            }
            (None, _) => {
                self.check_stream(stream)?;
                source.check_stream(stream)?;
                // SAFETY: as above; the source is freed in stream order.
                unsafe { queue.copy(to, from.address(), bytes)? };
            }
        }
        Ok(())
    }

    /// A copy in host memory, with the same layout. It waits for the work submitted to `stream`, which has to be the one that
    /// last wrote this tensor, or to wait for it.
    ///
    /// # Errors
    /// [`TensorError::WrongDevice`], or the driver's, also for faults of work submitted earlier.
    pub fn to_host(&self, stream: &Stream) -> Result<Tensor<T>, TensorError> {
        self.view().to_host(stream)
    }

    /// Every element of host memory, by batch entry, row and column.
    ///
    /// # Errors
    /// [`TensorError::NotOnHost`].
    pub fn to_vec(&self) -> Result<Vec<T>, TensorError> {
        self.view().to_vec()
    }

    fn check_stream(&self, stream: &Stream) -> Result<(), TensorError> {
        typed::check_stream(self.space(), stream)
    }
}

/// Whether a slice of the type lies in memory as kernels read it.
fn is_packed<T: Element>() -> bool {
    T::DTYPE.bits() == 8 * size_of::<T>()
}

impl<T: Element> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        typed::describe(f, "Tensor", &self.view().raw())
    }
}
