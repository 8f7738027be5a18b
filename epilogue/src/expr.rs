//! What an epilogue expression is, as a type and as a value.

use crate::{Args, Scalar};
use warpwright_arch::Arch;
use warpwright_spec::Node;

/// An epilogue expression. It exists so that operators and `Copy` have one place to live.
#[derive(Clone, Copy, Debug)]
#[must_use = "an expression does nothing until `.epilogue(..)` receives it"]
pub struct Expr<N>(pub N);

/// A node type: it reifies to a [`Node`], and its value flattens into arguments in the order of [`Node`]'s leaves.
///
/// A crate may add node types of its own as long as they reify to the nodes that exist; a new function is one line of
/// [`epilogue_fn!`](crate::epilogue_fn).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an epilogue node",
    note = "see `Fusion`: a node says what it reifies to and binds its arguments in that order"
)]
pub trait Fusion {
    /// The tree.
    const NODE: &'static Node;
    /// The same fusion with its borrows forgotten: what a kernel is compiled from and what a struct can name.
    type Shape: Fusion + 'static;
    /// Appends the arguments, left to right.
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a;
}

/// A node that the epilogue of `Ar` can execute.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an epilogue node of `{Ar}`",
    label = "not available in this epilogue"
)]
pub trait NodeOn<Ar: Arch>: Fusion {}

/// What may stand as an operand: an expression or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an epilogue expression",
    label = "expected an expression or a number",
    note = "wrap operands: `row(&v)` (along N), `column(&v)` (along M), `tile(&t)` or `source(&c)` (M x N), `scalar(&x)` (by pointer), `acc()`; a coefficient is an `f32`, `f64` or `i32`"
)]
pub trait IntoExpr {
    /// Its node type.
    type Node: Fusion;
    /// Its node.
    fn into_node(self) -> Self::Node;
}

impl<N: Fusion> IntoExpr for Expr<N> {
    type Node = N;
    fn into_node(self) -> N {
        self.0
    }
}

macro_rules! numbers {
    ($($number:ty)+) => { $(
        impl IntoExpr for $number {
            type Node = Scalar;
            fn into_node(self) -> Scalar {
                Scalar(f64::from(self))
            }
        }
    )+ };
}
numbers! { f32 f64 i32 }
