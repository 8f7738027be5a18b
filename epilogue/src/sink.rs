//! Sinks: values that are stored on the side on their way to D, in matrices, as bits, or reduced.

use crate::{Arg, Args, Expr, Fusion, IntoExpr, NodeOn, ScalarElement};
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_numeric::Element;
use warpwright_runtime::AsViewMut;
use warpwright_spec::{Axes, Node, Reducer, Reduction, Sink};

// None of these is `Copy` or `Clone`: they hold what a `&mut` lent.
macro_rules! sinks {
    ($($(#[$doc:meta])* [$($g:tt)*] $name:ident [$($value:tt)*] [$($shape:tt)*] ($($held:ty),*), $sink:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'v, $($g)* E>(E, Arg<'v>, PhantomData<($($held,)*)>);
        impl<'v, $($value)* E: Fusion> Fusion for $name<'v, $($g)* E> {
            const NODE: &'static Node = &Node::Sink($sink, E::NODE);
            type Shape = $name<'static, $($shape)* E::Shape>;
            fn bind<'a>(self, args: &mut Args<'a>) where Self: 'a {
                args.push(self.1);
                self.0.bind(args);
            }
        }
        impl<'v, Ar: Arch, $($value)* E: NodeOn<Ar>> NodeOn<Ar> for $name<'v, $($g)* E> {}
    )+ };
}
sinks! {
    /// A value that is stored in an M x N matrix as well.
    [T,] AuxStore [T: Element,] [T,] (T), Sink::Matrix(T::DTYPE);
    /// A value of which is stored where it is greater than zero.
    [] MaskStore [] [] (), Sink::Mask;
    /// A value that is reduced as well.
    [O, X, T,] Reduce [O: ReduceOperator, X: ReduceAxes, T: ScalarElement,] [O, X, T,] (O, X, T),
        Sink::Reduce(Reduction { operator: O::REDUCER, axes: X::AXES, atomic: O::ATOMIC });
}

/// How values are reduced: [`Sum`], [`Max`], [`Min`], [`Amax`], [`SumOfSquares`], and [`Atomic`] of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reduction",
    note = "reductions are `Sum`, `Max`, `Min`, `Amax` and `SumOfSquares`, and `Atomic<Sum>` and so on"
)]
pub trait ReduceOperator: 'static {
    /// As a value.
    const REDUCER: Reducer;
    /// Whether partial results meet in any order.
    const ATOMIC: bool = false;
}

/// What a reduction reduces away: [`AllRows`], [`AllColumns`] or [`AllElements`].
pub trait ReduceAxes: 'static {
    /// As a value.
    const AXES: Axes;
}

macro_rules! tags {
    ($($(#[$doc:meta])* $tag:ident: $of:ident $value:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $tag;
        tags!(@$of $tag $value);
    )+ };
    (@operator $tag:ident $value:expr) => {
        impl ReduceOperator for $tag {
            const REDUCER: Reducer = $value;
        }
    };
    (@axes $tag:ident $value:expr) => {
        impl ReduceAxes for $tag {
            const AXES: Axes = $value;
        }
    };
}
tags! {
    /// The sum. Each value counts exactly: sums are accumulated in f64, and rounded once.
    Sum: operator Reducer::Sum;
    /// The largest value; NaN if any is. Zeros are +0.
    Max: operator Reducer::Max;
    /// The smallest value; NaN if any is. Zeros are +0.
    Min: operator Reducer::Min;
    /// The largest magnitude; NaN if any is.
    Amax: operator Reducer::Amax;
    /// The sum of squares, accumulated as sums are.
    SumOfSquares: operator Reducer::SumOfSquares;
    /// M is reduced away.
    AllRows: axes Axes::Rows;
    /// N is reduced away.
    AllColumns: axes Axes::Columns;
    /// M and N are.
    AllElements: axes Axes::All;
}

/// A reduction whose partial results are put together by atomic operations, in the order in which they happen to be ready: it
/// takes less workspace, and sums may differ in their last bit from run to run. Maxima and minima are the same either way.
#[derive(Clone, Copy, Debug)]
pub struct Atomic<O>(PhantomData<O>);
impl<O: ReduceOperator> ReduceOperator for Atomic<O> {
    const REDUCER: Reducer = O::REDUCER;
    const ATOMIC: bool = true;
}

/// Passes a value on, and stores it in `m` as well, converted to its element as an output is.
///
/// `m` is M x N, or a batch of as many as D has, in any order and of any strides, whatever D's are; no two of its elements share
/// memory, and it overlaps neither D nor an operand. Any number of outputs may be stored.
///
/// ```
/// use warpwright_epilogue::{acc, aux_store, relu, row};
/// use warpwright_numeric::bf16;
/// use warpwright_runtime::Tensor;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bias = vec![1.0f32; 64];
/// let mut z = Tensor::<bf16>::zeros(32, 64)?;
/// // What the activation's derivative needs is kept.
/// let _ = relu(aux_store(&mut z, acc() + row(&bias)));
/// # Ok(())
/// # }
/// ```
pub fn aux_store<'v, T: Element, E>(
    m: &'v mut (impl AsViewMut<T> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<AuxStore<'v, T, E>> {
    Expr(AuxStore(e.into_node(), Arg::of_mut(m), PhantomData))
}

/// Passes a value on, and stores where it is greater than zero: a bit an element, packed along the direction in which D is
/// contiguous.
///
/// Of a row-major D `bits` is M x ceil(N / 8) bytes, and bit `n % 8` of byte `(m, n / 8)`, counted from the least significant, says
/// whether element `(m, n)` is; of a column-major D it is ceil(M / 8) x N, and bit `m % 8` of byte `(m / 8, n)` does. Bits beyond the
/// last element of a line are zero. NaN is not greater than zero.
pub fn aux_mask<'v, E>(
    bits: &'v mut (impl AsViewMut<u8> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<MaskStore<'v, E>> {
    Expr(MaskStore(e.into_node(), Arg::of_mut(bits), PhantomData))
}

/// Passes a value on, and stores the largest magnitude in `s`, one number: NaN if any value is NaN.
///
/// With one number for each entry of a batch, each is that of its entry; one number for all is that of the whole batch.
pub fn amax<'v, T: ScalarElement, E>(
    s: &'v mut (impl AsViewMut<T> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<Reduce<'v, Amax, AllElements, T, E>> {
    reduce_all::<Amax, T, E>(s, e)
}

/// Passes a value on, and stores in `v` what its rows become together: M is reduced away, and `v[n]` is of all `(m, n)`, so that
/// `row(&v)` reads it back.
///
/// In a batch, a (batch, 1, N) view has a row for each entry; one row is of all entries together. `v` is written whole: what it
/// held does not matter. Results are the same bits in every run of one plan, but of [`Atomic`] sums.
///
/// ```
/// use warpwright_epilogue::{acc, reduce_columns, reduce_rows, Amax, Sum};
///
/// let (mut sums, mut largest) = (vec![0.0f32; 64], vec![0.0f32; 32]);
/// let _ = reduce_columns::<Amax, _, _>(&mut largest, reduce_rows::<Sum, _, _>(&mut sums, acc()));
/// ```
pub fn reduce_rows<'v, O: ReduceOperator, T: ScalarElement, E>(
    v: &'v mut (impl AsViewMut<T> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<Reduce<'v, O, AllRows, T, E>> {
    Expr(Reduce(e.into_node(), Arg::of_mut(v), PhantomData))
}

/// As [`reduce_rows`], of columns: N is reduced away, and `v[m]` is of all `(m, n)`, so that `column(&v)` reads it back.
pub fn reduce_columns<'v, O: ReduceOperator, T: ScalarElement, E>(
    v: &'v mut (impl AsViewMut<T> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<Reduce<'v, O, AllColumns, T, E>> {
    Expr(Reduce(e.into_node(), Arg::of_mut(v), PhantomData))
}

/// As [`reduce_rows`], of all elements: one number, or one for each entry of a batch.
pub fn reduce_all<'v, O: ReduceOperator, T: ScalarElement, E>(
    v: &'v mut (impl AsViewMut<T> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<Reduce<'v, O, AllElements, T, E>> {
    Expr(Reduce(e.into_node(), Arg::of_mut(v), PhantomData))
}
