//! The library's functions: each with its host bodies, its device text, its accuracy and what it costs.
//!
//! Exact ones use the same IEEE 754 operations on both sides and agree bit for bit. The others are the true value, rounded once, on
//! the host, and within a stated distance of it on the device: so many units of the result, or of the first argument.
//! A NaN argument gives NaN; infinities give limits.
//!
//! *Cost* counts machine instructions for an element of an f32 epilogue on `Sm90`, those of the special function unit (a
//! quarter of the others' rate at most) after the plus sign.
//!
//! Adding one: a line of `function!` in the file of its theme, with its device text there or in the `.cuh` beside it.

mod activation;
mod arithmetic;
mod derivative;
mod gelu;

pub use activation::*;
pub use arithmetic::*;
pub use derivative::*;
pub use gelu::*;

use warpwright_spec::Function;

/// Primitives, overloaded for `float` and `double`.
const MATH: &str = include_str!("math.cuh");
/// The logistic function's family, behind [`MATH`].
const LOGISTIC: &str = include_str!("logistic.cuh");
/// GELU's family, behind [`LOGISTIC`].
const GELU: &str = include_str!("gelu.cuh");

/// A compute type beside f64, for bodies of which only the last step rounds to it.
trait Narrow: Copy {
    fn wide(self) -> f64;
    fn of(x: f64) -> Self;
}
impl Narrow for f32 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn of(x: f64) -> f32 {
        x as f32
    }
}
impl Narrow for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn of(x: f64) -> f64 {
        x
    }
}

/// All of them.
pub fn all() -> impl Iterator<Item = Function> {
    [crate::RELU, crate::NEG]
        .into_iter()
        .chain(activation::ALL)
        .chain(arithmetic::ALL)
        .chain(derivative::ALL)
        .chain(gelu::ALL)
}

/// Defines functions. `=` one body serves f32 and f64 alike, operation by operation; `~` the body is for f64, and f32 rounds
/// its value once. `with` names the text that the device's expression calls,
/// `costs` its instructions where they are fewer than usual for one that calls others, `within` its accuracy if it is not exact.
macro_rules! function {
    ($($(#[$doc:meta])* $name:ident $tag:ident |$($x:ident),+| $kind:tt $host:expr, $cuda:literal $(with [$($needs:ident),+])? $(costs $cost:literal)? $(within $accuracy:expr)?;)+) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`] as a type.")]
            #[derive(Clone, Copy, Debug)]
            pub struct $tag;
            impl $crate::EpilogueFunction for $tag {
                const FUNCTION: warpwright_spec::Function = warpwright_spec::Function {
                    name: stringify!($name),
                    cuda: $cuda,
                    needs: &[$($($needs),+)?],
                    host: $crate::functions::function!(@host $kind [$($x)+] $host),
                    accuracy: $crate::functions::function!(@accuracy $($accuracy)?),
                    cost: $crate::functions::function!(@cost $cuda [$($($needs)+)?] $($cost)?),
                };
            }
            $crate::functions::function!(@call $(#[$doc])* $name $tag [$($x)+]);
        )+
        /// The functions of this file.
        pub(super) const ALL: [warpwright_spec::Function; [$(stringify!($name)),+].len()] =
            [$(<$tag as $crate::EpilogueFunction>::FUNCTION),+];
    };
    (@cost $cuda:literal [$($needs:ident)*] $cost:literal) => { $cost };
    (@cost $cuda:literal [] ) => { warpwright_spec::Function::operators($cuda) };
    // What calls others is rarely short.
    (@cost $cuda:literal [$($needs:ident)+]) => { 10 };
    (@accuracy) => { warpwright_spec::Accuracy::EXACT };
    (@accuracy $accuracy:expr) => { $accuracy };
    (@host = [$x:ident] $host:expr) => { warpwright_spec::HostFn::Unary(|$x: f32| $host, |$x: f64| $host) };
    (@host = [$x:ident $y:ident] $host:expr) => {
        warpwright_spec::HostFn::Binary(|$x: f32, $y: f32| $host, |$x: f64, $y: f64| $host)
    };
    (@host = [$x:ident $y:ident $z:ident] $host:expr) => {
        warpwright_spec::HostFn::Ternary(|$x: f32, $y: f32, $z: f32| $host, |$x: f64, $y: f64, $z: f64| $host)
    };
    (@host ~ [$x:ident] $host:expr) => {
        warpwright_spec::HostFn::Unary(
            |$x: f32| {
                let $x = f64::from($x);
                ($host) as f32
            },
            |$x: f64| $host,
        )
    };
    (@host ~ [$x:ident $y:ident] $host:expr) => {
        warpwright_spec::HostFn::Binary(
            |$x: f32, $y: f32| {
                let ($x, $y) = (f64::from($x), f64::from($y));
                ($host) as f32
            },
            |$x: f64, $y: f64| $host,
        )
    };
    (@call $(#[$doc:meta])* $name:ident $tag:ident [$x:ident]) => {
        $(#[$doc])*
        pub fn $name<E>($x: impl $crate::IntoExpr<Node = E>) -> $crate::Expr<$crate::Apply<$tag, E>> {
            $crate::apply($tag, $x)
        }
    };
    (@call $(#[$doc:meta])* $name:ident $tag:ident [$x:ident $y:ident]) => {
        $(#[$doc])*
        pub fn $name<A, B>(
            $x: impl $crate::IntoExpr<Node = A>,
            $y: impl $crate::IntoExpr<Node = B>,
        ) -> $crate::Expr<$crate::Apply2<$tag, A, B>> {
            $crate::apply2($tag, $x, $y)
        }
    };
    (@call $(#[$doc:meta])* $name:ident $tag:ident [$x:ident $y:ident $z:ident]) => {
        $(#[$doc])*
        pub fn $name<A, B, C>(
            $x: impl $crate::IntoExpr<Node = A>,
            $y: impl $crate::IntoExpr<Node = B>,
            $z: impl $crate::IntoExpr<Node = C>,
        ) -> $crate::Expr<$crate::Apply3<$tag, A, B, C>> {
            $crate::apply3($tag, $x, $y, $z)
        }
    };
}
use function;

#[cfg(test)]
mod tests;
