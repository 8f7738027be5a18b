//! Operators of two values, and unary minus.

use crate::{Args, Expr, Fusion, IntoExpr, NEG, NodeOn, Scalar};
use core::ops;
use warpwright_arch::Arch;
use warpwright_spec::{Node, Operator};

macro_rules! binary {
    ($($(#[$doc:meta])* $node:ident $(= $op_trait:ident :: $method:ident)?;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $node<A, B>(A, B);
        impl<A: Fusion, B: Fusion> Fusion for $node<A, B> {
            const NODE: &'static Node = &Node::Combine(Operator::$node, A::NODE, B::NODE);
            type Shape = $node<A::Shape, B::Shape>;
            fn bind<'a>(self, args: &mut Args<'a>) where Self: 'a {
                self.0.bind(args);
                self.1.bind(args);
            }
        }
        impl<Ar: Arch, A: NodeOn<Ar>, B: NodeOn<Ar>> NodeOn<Ar> for $node<A, B> {}
        $(
            impl<A: Fusion, R: IntoExpr> ops::$op_trait<R> for Expr<A> {
                type Output = Expr<$node<A, R::Node>>;
                fn $method(self, r: R) -> Self::Output {
                    Expr($node(self.0, r.into_node()))
                }
            }
            binary!(@number f32 $node $op_trait $method);
            binary!(@number f64 $node $op_trait $method);
            binary!(@number i32 $node $op_trait $method);
        )?
    )+ };
    (@number $number:ident $node:ident $op_trait:ident $method:ident) => {
        impl<B: Fusion> ops::$op_trait<Expr<B>> for $number {
            type Output = Expr<$node<Scalar, B>>;
            fn $method(self, r: Expr<B>) -> Self::Output {
                Expr($node(self.into_node(), r.0))
            }
        }
    };
}
binary! {
    /// `a + b`
    Plus = Add::add;
    /// `a - b`
    Minus = Sub::sub;
    /// `a * b`
    Times = Mul::mul;
    /// `a / b`
    Over = Div::div;
    /// The larger; NaN if either is.
    Maximum;
    /// The smaller; NaN if either is.
    Minimum;
    /// `a < b`: 1 or 0
    IsLess;
    /// `a <= b`: 1 or 0
    IsLessOrEqual;
    /// `a > b`: 1 or 0
    IsGreater;
    /// `a >= b`: 1 or 0
    IsGreaterOrEqual;
    /// `a == b`: 1 or 0
    IsEqual;
    /// `a != b`: 1 or 0
    IsNotEqual;
}

/// `-a`
#[derive(Clone, Copy, Debug)]
pub struct Negate<E>(E);
impl<E: Fusion> Fusion for Negate<E> {
    const NODE: &'static Node = &Node::Apply(NEG, [Some(E::NODE), None, None]);
    type Shape = Negate<E::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        self.0.bind(args);
    }
}
impl<Ar: Arch, E: NodeOn<Ar>> NodeOn<Ar> for Negate<E> {}
impl<E: Fusion> ops::Neg for Expr<E> {
    type Output = Expr<Negate<E>>;
    fn neg(self) -> Self::Output {
        Expr(Negate(self.0))
    }
}

macro_rules! called {
    ($($(#[$doc:meta])* $name:ident $node:ident;)+) => { $(
        $(#[$doc])*
        pub fn $name<A, B>(a: impl IntoExpr<Node = A>, b: impl IntoExpr<Node = B>) -> Expr<$node<A, B>> {
            Expr($node(a.into_node(), b.into_node()))
        }
    )+ };
}
called! {
    /// The larger of two values; NaN if either is.
    max Maximum;
    /// The smaller of two values; NaN if either is.
    min Minimum;
    /// 1 where `a < b`, else 0. With NaN it is 0. Integers are compared exactly.
    lt IsLess;
    /// 1 where `a <= b`, else 0. With NaN it is 0. Integers are compared exactly.
    le IsLessOrEqual;
    /// 1 where `a > b`, else 0. With NaN it is 0. Integers are compared exactly.
    gt IsGreater;
    /// 1 where `a >= b`, else 0. With NaN it is 0. Integers are compared exactly.
    ge IsGreaterOrEqual;
    /// 1 where `a == b`, else 0. With NaN it is 0. Integers are compared exactly.
    eq IsEqual;
    /// 1 where `a != b`, else 0. With NaN it is 1. Integers are compared exactly.
    ne IsNotEqual;
}
