//! CuTe's algorithms over tensors, on the host.

use core::ops::{Add, Mul};

use super::{Read, Tensor, TensorError, Write};

fn same_size(operation: &'static str, left: i64, right: i64) -> Result<(), TensorError> {
    if left == right { Ok(()) } else { Err(TensorError::Sizes { operation, left, right }) }
}

/// `destination(i) = source(i)` for every linear coordinate.
///
/// # Errors
/// [`TensorError::Sizes`], [`TensorError::Bounds`]; elements before the missing one are then written.
pub fn copy<S, D>(source: &Tensor<S>, destination: &mut Tensor<D>) -> Result<(), TensorError>
where
    S: Read,
    D: Write<Element = S::Element>,
{
    copy_if(|_| true, source, destination)
}

/// As [`copy`], for the linear coordinates of which `predicate` holds. The others are neither read nor written.
///
/// # Errors
/// As [`copy`].
pub fn copy_if<S, D>(
    predicate: impl Fn(i64) -> bool,
    source: &Tensor<S>,
    destination: &mut Tensor<D>,
) -> Result<(), TensorError>
where
    S: Read,
    D: Write<Element = S::Element>,
{
    same_size("copy", source.size(), destination.size())?;
    (0..source.size()).filter(|i| predicate(*i)).try_for_each(|i| destination.write(i, source.read(i)?))
}

/// Every element becomes `value`.
///
/// # Errors
/// [`TensorError::Bounds`].
pub fn fill<D: Write>(tensor: &mut Tensor<D>, value: D::Element) -> Result<(), TensorError> {
    (0..tensor.size()).try_for_each(|i| tensor.write(i, value))
}

/// Every element becomes the default value, which is zero for numbers.
///
/// # Errors
/// [`TensorError::Bounds`].
pub fn clear<D: Write<Element: Default>>(tensor: &mut Tensor<D>) -> Result<(), TensorError> {
    fill(tensor, D::Element::default())
}

/// `y = alpha x + beta y`; with `beta` zero, `y` is not read, so that what it held (a NaN, say) does not matter.
///
/// # Errors
/// [`TensorError::Sizes`], [`TensorError::Bounds`].
pub fn axpby<X, Y>(alpha: Y::Element, x: &Tensor<X>, beta: Y::Element, y: &mut Tensor<Y>) -> Result<(), TensorError>
where
    X: Read<Element: Into<Y::Element>>,
    Y: Write,
    Y::Element: Mul<Output = Y::Element> + Add<Output = Y::Element> + PartialEq + Default,
{
    same_size("axpby", x.size(), y.size())?;
    let keeps = beta != Y::Element::default();
    for i in 0..x.size() {
        let scaled = alpha * x.read(i)?.into();
        let value = if keeps { scaled + beta * y.read(i)? } else { scaled };
        y.write(i, value)?;
    }
    Ok(())
}

/// `c(m,n) += Σₖ a(m,k) · b(n,k)` for matrices, in the order of k; for vectors `a(m)` and `b(n)`, the outer product. The
/// modes may be nested as they like.
///
/// # Errors
/// [`TensorError::ShapeMismatch`], [`TensorError::Sizes`], [`TensorError::Bounds`].
pub fn gemm<A, B, C>(a: &Tensor<A>, b: &Tensor<B>, c: &mut Tensor<C>) -> Result<(), TensorError>
where
    A: Read<Element: Into<C::Element>>,
    B: Read<Element: Into<C::Element>>,
    C: Write,
    C::Element: Mul<Output = C::Element> + Add<Output = C::Element>,
{
    let extent = |layout: &crate::Layout, mode: usize| {
        if mode < layout.rank() { layout.mode(mode).size().value() } else { 1 }
    };
    let (la, lb, lc) = (a.layout().layout, b.layout().layout, c.layout().layout);
    if la.rank() > 2 || lb.rank() > 2 || lc.rank() != 2 {
        return Err(TensorError::ShapeMismatch { operation: "gemm", needed: "a(m,k), b(n,k) and c(m,n)" });
    }
    let (m, n, k) = (extent(&la, 0), extent(&lb, 0), extent(&la, 1));
    same_size("gemm, in k", k, extent(&lb, 1))?;
    same_size("gemm, in m", m, extent(&lc, 0))?;
    same_size("gemm, in n", n, extent(&lc, 1))?;
    for j in 0..n {
        for i in 0..m {
            let mut sum = c.read(i + m * j)?;
            for l in 0..k {
                sum = sum + a.read(i + m * l)?.into() * b.read(j + n * l)?.into();
            }
            c.write(i + m * j, sum)?;
        }
    }
    Ok(())
}
