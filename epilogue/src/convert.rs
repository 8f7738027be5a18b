//! Rounding to an element type in the middle of an expression.

use crate::{Args, Expr, Fusion, IntoExpr, NodeOn};
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_numeric::Element;
use warpwright_spec::Node;

/// A value rounded to the element type `T`.
#[derive(Clone, Copy, Debug)]
pub struct Convert<T, E>(E, PhantomData<T>);
impl<T: Element, E: Fusion> Fusion for Convert<T, E> {
    const NODE: &'static Node = &Node::Convert(T::DTYPE, E::NODE);
    type Shape = Convert<T, E::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        self.0.bind(args);
    }
}
impl<Ar: Arch, T: Element, E: NodeOn<Ar>> NodeOn<Ar> for Convert<T, E> {}

/// Rounds to `T` as an output of that type would be (to nearest even; fp8, fp6, fp4 and integers saturate) and goes on in
/// the compute type: `convert::<f16, _>(acc()) + row(&bias)` is what two kernels with an f16 matrix in between compute.
pub fn convert<T: Element, E>(e: impl IntoExpr<Node = E>) -> Expr<Convert<T, E>> {
    Expr(Convert(e.into_node(), PhantomData))
}
