//! An epilogue function and an epilogue node from outside.

use warpwright::spec::{Operator, ScalarKind};
use warpwright::{Arch, Arg, Args, EpilogueFunction, Expr, Fusion, IntoExpr, Node, NodeOn, TanhFast, epilogue_fn};

epilogue_fn!(
    /// `(x + sqrt(x^2 + 4)) / 2`: a smooth ReLU of exact operations.
    pub squareplus: Squareplus, |x| (x + (x * x + 4.0).sqrt()) * 0.5, "(x + sqrt(x * x + 4)) * 0.5f"
);

/// `cap * tanh(e / cap)`: logits that stay within a bound.
///
/// A node reifies to nodes that exist, and binds its arguments in the order of their leaves: here the cap, then those of `e`,
/// then the cap again.
#[derive(Clone, Copy, Debug)]
pub struct SoftCap<E>(f64, E);

impl<E: Fusion> Fusion for SoftCap<E> {
    const NODE: &'static Node = &Node::Combine(
        Operator::Times,
        &Node::LoadScalar(ScalarKind::Host),
        &Node::Apply(
            TanhFast::FUNCTION,
            [Some(&Node::Combine(Operator::Over, E::NODE, &Node::LoadScalar(ScalarKind::Host))), None, None],
        ),
    );
    type Shape = SoftCap<E::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        args.push(Arg::Number(self.0));
        self.1.bind(args);
        args.push(Arg::Number(self.0));
    }
}
impl<Ar: Arch, E: NodeOn<Ar>> NodeOn<Ar> for SoftCap<E> {}

/// Keeps a value between `-cap` and `cap`, smoothly.
pub fn soft_cap<E>(cap: f64, e: impl IntoExpr<Node = E>) -> Expr<SoftCap<E>> {
    Expr(SoftCap(cap, e.into_node()))
}
