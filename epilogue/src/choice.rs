//! One of two values: by a condition, or by whether an operand is there.

use crate::{Args, Column, Expr, Fusion, IntoExpr, NodeOn, Row, TileOf, leaf};
use warpwright_arch::Arch;
use warpwright_numeric::Element;
use warpwright_runtime::AsView;
use warpwright_spec::Node;

/// The second value where the first is not 0, else the third.
#[derive(Clone, Copy, Debug)]
pub struct Selected<C, A, B>(C, A, B);
impl<C: Fusion, A: Fusion, B: Fusion> Fusion for Selected<C, A, B> {
    const NODE: &'static Node = &Node::Select(C::NODE, A::NODE, B::NODE);
    type Shape = Selected<C::Shape, A::Shape, B::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        self.0.bind(args);
        self.1.bind(args);
        self.2.bind(args);
    }
}
impl<Ar: Arch, C: NodeOn<Ar>, A: NodeOn<Ar>, B: NodeOn<Ar>> NodeOn<Ar> for Selected<C, A, B> {}

/// `a` where the condition is not 0 (NaN is not), else `b`: `select(ge(row_index(), column_index()), acc(), constant!(0.0))` keeps the
/// lower triangle. Both values are computed.
pub fn select<C, A, B>(
    condition: impl IntoExpr<Node = C>,
    a: impl IntoExpr<Node = A>,
    b: impl IntoExpr<Node = B>,
) -> Expr<Selected<C, A, B>> {
    Expr(Selected(condition.into_node(), a.into_node(), b.into_node()))
}

/// The value itself: where a fusion wants a function and none is meant.
pub fn identity<E>(e: impl IntoExpr<Node = E>) -> Expr<E> {
    Expr(e.into_node())
}

/// An operand that may be absent, and what then stands for it.
#[derive(Clone, Copy, Debug)]
pub struct Otherwise<L, E>(L, E);
impl<L: Fusion, E: Fusion> Fusion for Otherwise<L, E> {
    const NODE: &'static Node = &Node::Otherwise(L::NODE, E::NODE);
    type Shape = Otherwise<L::Shape, E::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        self.0.bind(args);
        self.1.bind(args);
    }
}
impl<Ar: Arch, L: NodeOn<Ar>, E: NodeOn<Ar>> NodeOn<Ar> for Otherwise<L, E> {}

/// [`row`](crate::row), or another value if there is none: one kernel serves layers with and without a bias. A null pointer is seen
/// when the kernel runs, by a branch that all threads take alike.
pub fn row_or<'v, T: Element, V: AsView<T> + ?Sized, E>(
    v: Option<&'v V>,
    default: impl IntoExpr<Node = E>,
) -> Expr<Otherwise<Row<'v, T>, E>> {
    Expr(Otherwise(leaf::optional_row(v), default.into_node()))
}
/// [`column`](crate::column), or another value if there is none; as [`row_or`].
pub fn column_or<'v, T: Element, V: AsView<T> + ?Sized, E>(
    v: Option<&'v V>,
    default: impl IntoExpr<Node = E>,
) -> Expr<Otherwise<Column<'v, T>, E>> {
    Expr(Otherwise(leaf::optional_column(v), default.into_node()))
}
/// [`tile`](crate::tile), or another value if there is none; as [`row_or`].
pub fn tile_or<'v, T: Element, V: AsView<T> + ?Sized, E>(
    t: Option<&'v V>,
    default: impl IntoExpr<Node = E>,
) -> Expr<Otherwise<TileOf<'v, T>, E>> {
    Expr(Otherwise(leaf::optional_tile(t), default.into_node()))
}
