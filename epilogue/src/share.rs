//! Sharing: a value that is computed once and used many times.

use crate::{Args, Expr, Fusion, IntoExpr, NodeOn};
use warpwright_arch::Arch;
use warpwright_spec::Node;

/// A shared value, inside the scope that binds its number.
#[derive(Clone, Copy, Debug)]
pub struct Var<const ID: u8>;
/// Binds `V` under a number for `B`.
#[derive(Clone, Copy, Debug)]
pub struct Let<const ID: u8, V, B>(V, B);

impl<const ID: u8> Fusion for Var<ID> {
    const NODE: &'static Node = &Node::Shared(ID);
    type Shape = Var<ID>;
    fn bind<'a>(self, _: &mut Args<'a>)
    where
        Self: 'a,
    {
    }
}
impl<Ar: Arch, const ID: u8> NodeOn<Ar> for Var<ID> {}

impl<const ID: u8, V: Fusion, B: Fusion> Fusion for Let<ID, V, B> {
    const NODE: &'static Node = &Node::Bind(ID, V::NODE, B::NODE);
    type Shape = Let<ID, V::Shape, B::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        self.0.bind(args);
        self.1.bind(args);
    }
}
impl<Ar: Arch, const ID: u8, V: NodeOn<Ar>, B: NodeOn<Ar>> NodeOn<Ar> for Let<ID, V, B> {}

/// Computes `e` once and lets `body` use it many times: `share(acc() + row(&bias), |z| z * sigmoid(z))`.
///
/// Using an *expression* twice duplicates it, arguments and all. A shared scalar or operand is a value like any other: the
/// zero rule looks at direct operands only.
pub fn share<V, B: Fusion>(
    e: impl IntoExpr<Node = V>,
    body: impl FnOnce(Expr<Var<0>>) -> Expr<B>,
) -> Expr<Let<0, V, B>> {
    Expr(Let(e.into_node(), body(Expr(Var)).0))
}
/// [`share`] inside [`share`] needs a number of its own, from 1 to 7: `share_as::<1, _, _>(..)`.
pub fn share_as<const ID: u8, V, B: Fusion>(
    e: impl IntoExpr<Node = V>,
    body: impl FnOnce(Expr<Var<ID>>) -> Expr<B>,
) -> Expr<Let<ID, V, B>> {
    Expr(Let(e.into_node(), body(Expr(Var)).0))
}
