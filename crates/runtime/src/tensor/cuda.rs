//! Zero copies from and to cudarc's slices and views.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice};
use warpwright_numeric::Element;

use super::{Memory, Tensor, TensorView, TensorViewMut, typed};
use crate::backend::cuda::CudaBuffer;
use crate::{Space, Strided, TensorError};

impl<T: Element + DeviceRepr> Tensor<T> {
    /// A tensor over the slice's own memory, which it takes over.
    ///
    /// # Errors
    /// [`TensorError::TooShort`] unless the slice holds what the layout reaches over.
    pub fn from_cuda_slice(slice: CudaSlice<T>, layout: Strided) -> Result<Tensor<T>, TensorError> {
        typed::check_fits::<T>(layout, slice.len())?;
        Ok(Tensor { memory: Memory::Buffer(Box::new(CudaBuffer::from_slice(slice))), layout })
    }

    /// The tensor's own memory as a slice; the layout is given up.
    ///
    /// # Errors
    /// The tensor itself, if its memory is not a CUDA device's.
    pub fn into_cuda_slice(self) -> Result<CudaSlice<T>, Tensor<T>> {
        let Tensor { memory, layout } = self;
        let memory = match memory {
            Memory::Buffer(buffer) => match CudaBuffer::from_buffer(buffer) {
                Ok(cuda) => return Ok(cuda.into_slice()),
                Err(other) => Memory::Buffer(other),
            },
            vec => vec,
        };
        Err(Tensor { memory, layout })
    }
}

impl<'a, T: Element + DeviceRepr> TensorView<'a, T> {
    /// A tensor view of a view of cudarc's.
    ///
    /// Where the view's context tracks events, its own stream is made to wait for the last write; use the result on that
    /// stream, or order the streams.
    ///
    /// # Errors
    /// [`TensorError::TooShort`] unless the view holds what the layout reaches over.
    pub fn from_cuda_view(view: &'a CudaView<'_, T>, layout: Strided) -> Result<TensorView<'a, T>, TensorError> {
        typed::check_fits::<T>(layout, view.len())?;
        let stream = view.stream().clone();
        let (address, _) = view.device_ptr(&stream);
        let space = Space::Cuda(stream.context().ordinal());
        // SAFETY: the memory is borrowed for `'a` and holds the layout.
        Ok(unsafe { TensorView::from_parts(address, view.num_bytes(), space, layout) })
    }
}

impl<'a, T: Element + DeviceRepr> TensorViewMut<'a, T> {
    /// A tensor view of a mutable view of cudarc's; as [`TensorView::from_cuda_view`].
    ///
    /// # Errors
    /// As there, and [`TensorError::Overlapping`].
    pub fn from_cuda_view(
        view: &'a mut CudaViewMut<'_, T>,
        layout: Strided,
    ) -> Result<TensorViewMut<'a, T>, TensorError> {
        typed::check_fits::<T>(layout, view.len())?;
        typed::check_injective(layout)?;
        let stream = view.stream().clone();
        let bytes = view.num_bytes();
        let (address, _) = view.device_ptr_mut(&stream);
        let space = Space::Cuda(stream.context().ordinal());
        // SAFETY: the memory is exclusively borrowed for `'a` and holds the layout.
        Ok(unsafe { TensorViewMut::from_parts(address, bytes, space, layout) })
    }
}
