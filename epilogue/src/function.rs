//! Functions of one to three values, built in and the user's own.

use crate::{Args, Expr, Fusion, IntoExpr, NodeOn};
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_spec::{Function, HostFn, Node};

/// A function that an epilogue applies to each value. [`epilogue_fn!`](crate::epilogue_fn) makes one.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an epilogue function", note = "`epilogue_fn!` makes one")]
pub trait EpilogueFunction: Copy + 'static {
    /// Its name, its device text and its host bodies.
    const FUNCTION: Function;
}

macro_rules! apply {
    ($(#[$doc:meta])* $node:ident $arity:literal $($e:ident $field:tt, $child:expr;)+ => $children:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $node<F, $($e),+>(PhantomData<F>, $($e),+);
        impl<F: EpilogueFunction, $($e: Fusion),+> Fusion for $node<F, $($e),+> {
            const NODE: &'static Node = {
                assert!(F::FUNCTION.host.arity() == $arity, "an epilogue function was applied to another number of values than it takes");
                &Node::Apply(F::FUNCTION, $children)
            };
            type Shape = $node<F, $($e::Shape),+>;
            fn bind<'a>(self, args: &mut Args<'a>) where Self: 'a {
                $(self.$field.bind(args);)+
            }
        }
        impl<Ar: Arch, F: EpilogueFunction, $($e: NodeOn<Ar>),+> NodeOn<Ar> for $node<F, $($e),+> {}
    };
}
apply! {
    /// A function of one value.
    Apply 1 E 1, E; => [Some(E::NODE), None, None]
}
apply! {
    /// A function of two values.
    Apply2 2 A 1, A; B 2, B; => [Some(A::NODE), Some(B::NODE), None]
}
apply! {
    /// A function of three values.
    Apply3 3 A 1, A; B 2, B; C 3, C; => [Some(A::NODE), Some(B::NODE), Some(C::NODE)]
}

/// Applies a function of one value.
pub fn apply<F: EpilogueFunction, E>(_: F, e: impl IntoExpr<Node = E>) -> Expr<Apply<F, E>> {
    Expr(Apply(PhantomData, e.into_node()))
}
/// Applies a function of two values.
pub fn apply2<F: EpilogueFunction, A, B>(
    _: F,
    a: impl IntoExpr<Node = A>,
    b: impl IntoExpr<Node = B>,
) -> Expr<Apply2<F, A, B>> {
    Expr(Apply2(PhantomData, a.into_node(), b.into_node()))
}
/// Applies a function of three values.
pub fn apply3<F: EpilogueFunction, A, B, C>(
    _: F,
    a: impl IntoExpr<Node = A>,
    b: impl IntoExpr<Node = B>,
    c: impl IntoExpr<Node = C>,
) -> Expr<Apply3<F, A, B, C>> {
    Expr(Apply3(PhantomData, a.into_node(), b.into_node(), c.into_node()))
}

/// Defines a function for epilogues: its name, its type, what the host computes and what the device computes.
///
/// The host's body is compiled twice, for `f32` and `f64`, so its literals carry no suffix. The device's text is one CUDA
/// expression in `x`, `y` and `z`, which are `float` (`double` in an f64 GEMM, for which `fabs` and `exp` are right, and `fabsf` and `expf`
/// are not); it becomes a `__device__` function and is never pasted into another expression. Host and device agree bit for bit if both use operations that IEEE 754 defines,
/// in the same order, which is what is taken for granted, and what [`check_function`](crate::check_function) checks. A device's text
/// that approximates says how far it is off, relative to the result: `within 1e-6` at the end.
///
/// ```
/// use warpwright_epilogue::{acc, epilogue_fn};
///
/// epilogue_fn!(
///     /// x / (1 + |x|)
///     pub softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))"
/// );
/// epilogue_fn!(lerp: Lerp, |a, b, t| a + t * (b - a), "x + z * (y - x)");
/// epilogue_fn!(decay: Decay, |x| (-x).exp(), "exp(-x)", within 3e-7);
///
/// let _ = lerp(softsign(acc()), 1.0, 0.25);
/// ```
#[macro_export]
macro_rules! epilogue_fn {
    ($(#[$m:meta])* $v:vis $name:ident: $tag:ident, |$x:ident| $host:expr, $cuda:expr $(, within $relative:expr)?) => {
        $crate::epilogue_fn!(@type $v $name $tag Unary [$x] $host, $cuda $(, within $relative)?);
        $(#[$m])*
        $v fn $name<E>(e: impl $crate::IntoExpr<Node = E>) -> $crate::Expr<$crate::Apply<$tag, E>> {
            $crate::apply($tag, e)
        }
    };
    ($(#[$m:meta])* $v:vis $name:ident: $tag:ident, |$x:ident, $y:ident| $host:expr, $cuda:expr $(, within $relative:expr)?) => {
        $crate::epilogue_fn!(@type $v $name $tag Binary [$x $y] $host, $cuda $(, within $relative)?);
        $(#[$m])*
        $v fn $name<A, B>(
            a: impl $crate::IntoExpr<Node = A>,
            b: impl $crate::IntoExpr<Node = B>,
        ) -> $crate::Expr<$crate::Apply2<$tag, A, B>> {
            $crate::apply2($tag, a, b)
        }
    };
    ($(#[$m:meta])* $v:vis $name:ident: $tag:ident, |$x:ident, $y:ident, $z:ident| $host:expr, $cuda:expr $(, within $relative:expr)?) => {
        $crate::epilogue_fn!(@type $v $name $tag Ternary [$x $y $z] $host, $cuda $(, within $relative)?);
        $(#[$m])*
        $v fn $name<A, B, C>(
            a: impl $crate::IntoExpr<Node = A>,
            b: impl $crate::IntoExpr<Node = B>,
            c: impl $crate::IntoExpr<Node = C>,
        ) -> $crate::Expr<$crate::Apply3<$tag, A, B, C>> {
            $crate::apply3($tag, a, b, c)
        }
    };
    (@type $v:vis $name:ident $tag:ident $arity:ident [$($x:ident)+] $host:expr, $cuda:expr $(, within $relative:expr)?) => {
        #[doc = concat!("[`", stringify!($name), "`] as a type.")]
        #[derive(Clone, Copy, Debug)]
        $v struct $tag;
        impl $crate::EpilogueFunction for $tag {
            const FUNCTION: $crate::Function = {
                fn single($($x: f32),+) -> f32 {
                    $host
                }
                fn double($($x: f64),+) -> f64 {
                    $host
                }
                $crate::Function::exact(stringify!($name), $cuda, $crate::HostFn::$arity(single, double))
                    $(.within($crate::Accuracy::relative($relative)))?
            };
        }
    };
}

epilogue_fn!(
    /// The value, or 0 where it is negative. NaN stays NaN, -0 stays -0.
    pub relu: Relu, |x| if x < 0.0 { 0.0 } else { x }, "x < 0 ? 0 : x"
);
/// [`relu`] as a value.
pub const RELU: Function = Relu::FUNCTION;
/// Unary minus as a value.
pub const NEG: Function = Function::exact("neg", "-x", HostFn::Unary(|x| -x, |x| -x));
