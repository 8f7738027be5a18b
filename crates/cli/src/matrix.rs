//! Tensors of which the element type is known at run time only.

use crate::files::Matrices;
use warpwright::{Dtype, Element, RawView, RawViewMut, Stream, Strided, Tensor, TensorError};
use warpwright::{bf16, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4, tf32, u4};

/// A tensor of any element.
pub trait Matrix {
    /// To be read.
    fn raw(&self) -> RawView<'_>;
    /// To be written.
    fn raw_mut(&mut self) -> Result<RawViewMut<'_>, TensorError>;
    /// A copy on the stream's device.
    fn to_device(&self, stream: &Stream) -> Result<Box<dyn Matrix>, TensorError>;
    /// A copy on the host, when the stream's work is done.
    fn to_host(&self, stream: &Stream) -> Result<Box<dyn Matrix>, TensorError>;
}

impl<T: Element> Matrix for Tensor<T> {
    fn raw(&self) -> RawView<'_> {
        self.view().raw()
    }
    fn raw_mut(&mut self) -> Result<RawViewMut<'_>, TensorError> {
        Ok(self.view_mut()?.into_raw())
    }
    fn to_device(&self, stream: &Stream) -> Result<Box<dyn Matrix>, TensorError> {
        Ok(Box::new(Tensor::to_device(self, stream)?))
    }
    fn to_host(&self, stream: &Stream) -> Result<Box<dyn Matrix>, TensorError> {
        Ok(Box::new(Tensor::to_host(self, stream)?))
    }
}

/// Calls a generic function with the type that a [`Dtype`] stands for.
macro_rules! with_element {
    ($dtype:expr, $f:ident($($arg:expr),*)) => {
        match $dtype {
            Dtype::F64 => $f::<f64>($($arg),*),
            Dtype::F32 => $f::<f32>($($arg),*),
            Dtype::Tf32 => $f::<tf32>($($arg),*),
            Dtype::F16 => $f::<f16>($($arg),*),
            Dtype::Bf16 => $f::<bf16>($($arg),*),
            Dtype::E4m3 => $f::<e4m3>($($arg),*),
            Dtype::E5m2 => $f::<e5m2>($($arg),*),
            Dtype::I32 => $f::<i32>($($arg),*),
            Dtype::I8 => $f::<i8>($($arg),*),
            Dtype::U8 => $f::<u8>($($arg),*),
            Dtype::I4 => $f::<i4>($($arg),*),
            Dtype::U4 => $f::<u4>($($arg),*),
            Dtype::E2m1 => $f::<e2m1>($($arg),*),
            Dtype::E3m2 => $f::<e3m2>($($arg),*),
            Dtype::E2m3 => $f::<e2m3>($($arg),*),
            Dtype::E8m0 => $f::<e8m0>($($arg),*),
        }
    };
}

/// A tensor on the host over packed elements.
pub fn from_packed(dtype: Dtype, layout: Strided, bytes: &[u8]) -> anyhow::Result<Box<dyn Matrix>> {
    fn typed<T: Element>(layout: Strided, bytes: &[u8]) -> anyhow::Result<Box<dyn Matrix>> {
        let elements = warpwright::numeric::unpack::<T>(bytes, layout.span(T::DTYPE)?)?;
        Ok(Box::new(Tensor::from_vec_in(layout, elements)?))
    }
    with_element!(dtype, typed(layout, bytes))
}

/// A tensor of zeros on the stream's device.
pub fn zeros_on(dtype: Dtype, layout: Strided, stream: &Stream) -> Result<Box<dyn Matrix>, TensorError> {
    fn typed<T: Element>(layout: Strided, stream: &Stream) -> Result<Box<dyn Matrix>, TensorError> {
        Ok(Box::new(Tensor::<T>::zeros_on(stream, layout)?))
    }
    with_element!(dtype, typed(layout, stream))
}

/// Matrices of a file, on the host.
pub fn on_host(matrices: &Matrices) -> anyhow::Result<Box<dyn Matrix>> {
    from_packed(matrices.dtype, matrices.layout(), &matrices.bytes)
}
