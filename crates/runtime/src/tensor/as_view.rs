//! What can be an operand.

use warpwright_numeric::Element;

use super::{Tensor, TensorView, TensorViewMut};
use crate::TensorError;

/// Memory that can be read as matrices of `T`: tensors, views, and slices, vectors and arrays, which are one row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of `{T}` elements",
    label = "cannot be read as matrices of `{T}`",
    note = "operands are `Tensor<{T}>`, `TensorView<'_, {T}>`, and, as one row, `[{T}]`, `Vec<{T}>` and `[{T}; N]`"
)]
pub trait AsView<T: Element> {
    /// The elements, borrowed.
    ///
    /// # Errors
    /// [`TensorError::NotPacked`] for slices of types below a byte.
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError>;
}

/// Memory that can be written as matrices of `T`; as [`AsView`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as `{T}` elements",
    label = "cannot be written as matrices of `{T}`",
    note = "what is written is a `Tensor<{T}>`, a `TensorViewMut<'_, {T}>`, or, as one row, `[{T}]`, `Vec<{T}>` or `[{T}; N]`"
)]
pub trait AsViewMut<T: Element> {
    /// The elements, exclusively borrowed.
    ///
    /// # Errors
    /// [`TensorError::NotPacked`] for slices of types below a byte, [`TensorError::Overlapping`] for tensors whose elements
    /// share memory.
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError>;
}

impl<T: Element> AsView<T> for Tensor<T> {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        Ok(self.view())
    }
}

impl<T: Element> AsViewMut<T> for Tensor<T> {
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        self.view_mut()
    }
}

impl<T: Element> AsView<T> for TensorView<'_, T> {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        Ok(*self)
    }
}

impl<T: Element> AsView<T> for TensorViewMut<'_, T> {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        Ok(TensorViewMut::as_view(self))
    }
}

impl<T: Element> AsViewMut<T> for TensorViewMut<'_, T> {
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        Ok(self.reborrow())
    }
}

impl<T: Element> AsView<T> for [T] {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        TensorView::from_slice(1, self.len(), self)
    }
}

impl<T: Element> AsViewMut<T> for [T] {
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        TensorViewMut::from_slice(1, self.len(), self)
    }
}

impl<T: Element> AsView<T> for Vec<T> {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        self.as_slice().as_view()
    }
}

impl<T: Element> AsViewMut<T> for Vec<T> {
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        self.as_mut_slice().as_view_mut()
    }
}

impl<T: Element, const N: usize> AsView<T> for [T; N] {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        self.as_slice().as_view()
    }
}

impl<T: Element, const N: usize> AsViewMut<T> for [T; N] {
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        self.as_mut_slice().as_view_mut()
    }
}

impl<T: Element, V: AsView<T> + ?Sized> AsView<T> for &V {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        (**self).as_view()
    }
}

impl<T: Element, V: AsView<T> + ?Sized> AsView<T> for &mut V {
    fn as_view(&self) -> Result<TensorView<'_, T>, TensorError> {
        (**self).as_view()
    }
}

impl<T: Element, V: AsViewMut<T> + ?Sized> AsViewMut<T> for &mut V {
    fn as_view_mut(&mut self) -> Result<TensorViewMut<'_, T>, TensorError> {
        (**self).as_view_mut()
    }
}
