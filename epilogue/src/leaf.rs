//! Leaves: the accumulator, what D held, scalars, vectors and matrices.

use crate::{Arg, Args, Expr, Fusion, NodeOn};
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_numeric::Element;
use warpwright_runtime::AsView;
use warpwright_spec::{Node, ScalarKind};

/// The accumulator.
#[derive(Clone, Copy, Debug)]
pub struct Acc;
/// What D held before.
#[derive(Clone, Copy, Debug)]
pub struct Previous;
/// A number of the host.
#[derive(Clone, Copy, Debug)]
pub struct Scalar(pub(crate) f64);
/// A number of the type: the bits of an f64. [`constant!`](crate::constant) makes one.
#[derive(Clone, Copy, Debug)]
pub struct Constant<const BITS: u64>;
/// The element's row in D.
#[derive(Clone, Copy, Debug)]
pub struct RowIndex;
/// The element's column in D.
#[derive(Clone, Copy, Debug)]
pub struct ColumnIndex;
/// A matrix of bits.
#[derive(Clone, Copy, Debug)]
pub struct Mask<'a>(Arg<'a>);

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a, T>(Arg<'a>, PhantomData<T>);
    )+ };
}
views! {
    /// A scalar in memory, read when the kernel runs.
    ScalarPointer
    /// Scalars in memory, one for each batch entry or group.
    PerBatch
    /// C, M x N.
    Source
    /// An M x N operand.
    TileOf
    /// A vector along N.
    Row
    /// A vector along M.
    Column
}

macro_rules! leaf {
    ($([$($g:tt)*] $ty:ty, $shape:ty, $node:expr, |$s:ident| $arg:expr;)+) => { $(
        impl<$($g)*> Fusion for $ty {
            const NODE: &'static Node = &$node;
            type Shape = $shape;
            fn bind<'a>(self, args: &mut Args<'a>) where Self: 'a {
                let $s = self;
                args.extend($arg);
            }
        }
        impl<$($g)* Ar: Arch> NodeOn<Ar> for $ty {}
    )+ };
}
leaf! {
    [] Acc, Acc, Node::LoadAcc, |_s| None;
    [] Previous, Previous, Node::LoadPrevious, |_s| None;
    [] RowIndex, RowIndex, Node::LoadRowIndex, |_s| None;
    [] ColumnIndex, ColumnIndex, Node::LoadColumnIndex, |_s| None;
    ['v,] Mask<'v>, Mask<'static>, Node::LoadMask, |s| [s.0];
    [] Scalar, Scalar, Node::LoadScalar(ScalarKind::Host), |s| [Arg::Number(s.0)];
    ['v, T: ScalarElement,] ScalarPointer<'v, T>, ScalarPointer<'static, T>, Node::LoadScalar(ScalarKind::Pointer), |s| [s.0];
    ['v, T: ScalarElement,] PerBatch<'v, T>, PerBatch<'static, T>, Node::LoadScalar(ScalarKind::PerBatch), |s| [s.0];
    ['v, T: Element,] Source<'v, T>, Source<'static, T>, Node::LoadSource(T::DTYPE), |s| [s.0];
    ['v, T: Element,] TileOf<'v, T>, TileOf<'static, T>, Node::LoadTile(T::DTYPE), |s| [s.0];
    ['v, T: Element,] Row<'v, T>, Row<'static, T>, Node::LoadRow(T::DTYPE), |s| [s.0];
    ['v, T: Element,] Column<'v, T>, Column<'static, T>, Node::LoadColumn(T::DTYPE), |s| [s.0];
}

impl<const BITS: u64> Fusion for Constant<BITS> {
    const NODE: &'static Node = &Node::Constant(BITS);
    type Shape = Constant<BITS>;
    fn bind<'a>(self, _: &mut Args<'a>)
    where
        Self: 'a,
    {
    }
}
impl<Ar: Arch, const BITS: u64> NodeOn<Ar> for Constant<BITS> {}

/// What a scalar in memory may be: the type in which the epilogue computes, `f32`, or `f64` in an f64 GEMM.
#[diagnostic::on_unimplemented(
    message = "a scalar in memory cannot be of `{Self}`",
    label = "expected `f32`, or `f64` in an f64 GEMM",
    note = "a number that the host knows may be any `f32`, `f64` or `i32`: write it without `scalar(..)`"
)]
pub trait ScalarElement: Element {}
impl ScalarElement for f32 {}
impl ScalarElement for f64 {}

/// The accumulator: what the product of A and B is before the epilogue. With K = 0 it is zero.
pub fn acc() -> Expr<Acc> {
    Expr(Acc)
}
/// The row of D that an element is in, counted from 0, as a number: exact below 2^24 in f32.
pub fn row_index() -> Expr<RowIndex> {
    Expr(RowIndex)
}
/// The column of D that an element is in, counted from 0, as a number: exact below 2^24 in f32.
pub fn column_index() -> Expr<ColumnIndex> {
    Expr(ColumnIndex)
}
/// A bit for each element of D, as 0 or 1: what a ReLU kept, for its backward pass.
///
/// Bits are packed 8 to a byte along the direction in which D is contiguous, the element of lowest index in the lowest bit; each line
/// begins with a byte. The view is one of bytes: (batch, M, N / 8 rounded up) for a row-major D, (batch, M / 8 rounded up, N) for a
/// column-major one, contiguous along the packed direction. One matrix serves a whole batch.
pub fn mask<V: AsView<u8> + ?Sized>(bits: &V) -> Expr<Mask<'_>> {
    Expr(Mask(Arg::of(bits)))
}
/// A number that is part of the epilogue's type, and hence of the kernel's text, where the compiler may use it: `constant!(0.5)`. A
/// number without it is an argument, which can change from call to call.
#[macro_export]
macro_rules! constant {
    ($x:expr) => {
        $crate::constant_of::<{ f64::to_bits($x) }>()
    };
}
/// What [`constant!`](crate::constant) expands to: the number of these bits.
pub fn constant_of<const BITS: u64>() -> Expr<Constant<BITS>> {
    Expr(Constant)
}
pub(crate) fn optional_row<'v, T: Element, V: AsView<T> + ?Sized>(v: Option<&'v V>) -> Row<'v, T> {
    Row(Arg::of_option(v), PhantomData)
}
pub(crate) fn optional_column<'v, T: Element, V: AsView<T> + ?Sized>(v: Option<&'v V>) -> Column<'v, T> {
    Column(Arg::of_option(v), PhantomData)
}
pub(crate) fn optional_tile<'v, T: Element, V: AsView<T> + ?Sized>(t: Option<&'v V>) -> TileOf<'v, T> {
    TileOf(Arg::of_option(t), PhantomData)
}
/// What D held before the GEMM: `acc() + beta * previous()` accumulates in place.
pub fn previous() -> Expr<Previous> {
    Expr(Previous)
}
/// C, the M x N matrix that a GEMM reads beside A and B. One matrix serves a whole batch.
pub fn source<T: Element, V: AsView<T> + ?Sized>(c: &V) -> Expr<Source<'_, T>> {
    Expr(Source(Arg::of(c), PhantomData))
}
/// An M x N matrix. One matrix serves a whole batch.
pub fn tile<T: Element, V: AsView<T> + ?Sized>(t: &V) -> Expr<TileOf<'_, T>> {
    Expr(TileOf(Arg::of(t), PhantomData))
}
/// N values, the same in every row: a bias. In a batch, a (batch, 1, N) view has a row for each entry.
pub fn row<T: Element, V: AsView<T> + ?Sized>(v: &V) -> Expr<Row<'_, T>> {
    Expr(Row(Arg::of(v), PhantomData))
}
/// M values, the same in every column. In a batch, a (batch, M, 1) view has a column for each entry.
pub fn column<T: Element, V: AsView<T> + ?Sized>(v: &V) -> Expr<Column<'_, T>> {
    Expr(Column(Arg::of(v), PhantomData))
}
/// One number in memory (on the device, for a GEMM on a GPU), read when the kernel runs: a captured graph sees it change.
pub fn scalar<T: ScalarElement, V: AsView<T> + ?Sized>(x: &V) -> Expr<ScalarPointer<'_, T>> {
    Expr(ScalarPointer(Arg::of(x), PhantomData))
}
/// Numbers in memory, one for each batch entry or group.
pub fn per_batch<T: ScalarElement, V: AsView<T> + ?Sized>(v: &V) -> Expr<PerBatch<'_, T>> {
    Expr(PerBatch(Arg::of(v), PhantomData))
}
