//! Elementary functions.

use super::{MATH, Narrow, function};
use warpwright_spec::Accuracy;

function! {
    /// `x * y + z`, rounded once. Exact. Cost 1.
    fma Fma |x, y, z| = x.mul_add(y, z), "math::fma(x, y, z)" with [MATH] costs 1;
    /// The magnitude. Exact. Cost 1 at most.
    abs Abs |x| = x.abs(), "math::abs(x)" with [MATH] costs 1;
    /// `x * x`. Exact. Cost 1.
    square Square |x| = x * x, "x * x";
    /// `1 / x`, to 1.2e-7 of the result; subnormals count as zeros. `1 / x` itself is rounded correctly, at ten times the cost.
    /// Cost 0 + 1.
    reciprocal Reciprocal |x| ~ 1.0 / x, "math::reciprocal(x)" with [MATH] costs 1 within Accuracy::relative(2.4e-7);
    /// The square root. Exact. Cost about 8 + 1.
    sqrt Sqrt |x| = x.sqrt(), "math::sqrt(x)" with [MATH];
    /// `1 / sqrt(x)`, to 1.3e-7 of the result; subnormals count as zeros. Cost 0 + 1.
    rsqrt Rsqrt |x| ~ 1.0 / x.sqrt(), "math::rsqrt(x)" with [MATH] costs 1 within Accuracy::relative(2.4e-7);
    /// `e^x`, to 2.4e-7 of the result. Cost about 8 + 1.
    exp Exp |x| ~ x.exp(), "math::exp(x)" with [MATH] within Accuracy::relative(3e-7);
    /// The natural logarithm, to 1.2e-7 of the result. Cost about 20.
    log Log |x| ~ x.ln(), "math::log(x)" with [MATH] within Accuracy::relative(2.4e-7);
    /// `x + sin(a x)^2 / a`, to 1e-6 of the result and of `x`; the product `a x` is rounded before its sine is taken. Cost about 40:
    /// the sine of any argument, with a division.
    snake Snake |x, a| = {
        let s = (a * x).wide().sin();
        if x.is_infinite() { x } else { Narrow::of(x.wide() + s * s / a.wide()) }
    }, "math::snake(x, y)" with [MATH, SNAKE] within Accuracy { of_result: 1e-6, of_first: 1e-6, absolute: 0.0 };
}

/// Infinities have their limits.
const SNAKE: &str = "namespace math {
template <class T>
__device__ __forceinline__ T snake(T x, T a) {
    const T s = sin(a * x);
    return x - x == T(0) || x != x ? x + s * s / a : x;
}
}
";
