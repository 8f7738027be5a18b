//! Activations, but for GELU and what the crate's root defines.

use super::{LOGISTIC, MATH, function};
use warpwright_spec::Accuracy;

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn swish(x: f64) -> f64 {
    if x < -1024.0 { -0.0 } else { x / (1.0 + (-x).exp()) }
}

function! {
    /// `x` where it is positive, else `slope * x`. Exact. Cost 3.
    leaky_relu LeakyRelu |x, slope| = if x < 0.0 { slope * x } else { x }, "x < 0 ? y * x : x";
    /// `x` between two bounds: `low` below it, `high` above. Exact. Cost 4.
    clamp Clamp |x, low, high| = if x < low { low } else if x > high { high } else { x }, "x < y ? y : x > z ? z : x";
    /// `x` where it exceeds the threshold, else another value. Exact. Cost 2.
    threshold Threshold |x, limit, value| = if x <= limit { value } else { x }, "x <= y ? z : x";
    /// `1 / (1 + e^-x)`, to 6e-6 of the result (3e-7 near 0). Cost 2 + 2.
    sigmoid Sigmoid |x| ~ logistic(x), "math::sigmoid(x)" with [MATH, LOGISTIC] costs 4 within LOGISTIC_ACCURACY;
    /// `x * sigmoid(x)`, also called swish, to 6e-6 of the result (3e-7 near 0). Cost 4 + 2.
    silu Silu |x| ~ swish(x), "math::silu(x)" with [MATH, LOGISTIC] costs 6 within LOGISTIC_ACCURACY;
    /// The hyperbolic tangent, to 5e-7 of the result. Cost about 12 + 2, and [`tanh_fast`] is there.
    tanh Tanh |x| ~ x.tanh(), "math::tanh(x)" with [MATH] within Accuracy::relative(5e-7);
    /// The hyperbolic tangent to 5.5e-4 of the result, which f16 and bf16 hardly show. Cost 0 + 1.
    tanh_fast TanhFast |x| ~ x.tanh(), "math::tanh_approx(x)" with [MATH] costs 1 within Accuracy::relative(5.5e-4);
    /// The logistic function by [`tanh_fast`], to 2.8e-4. Cost 2 + 1.
    sigmoid_fast SigmoidFast |x| ~ logistic(x), "math::sigmoid_fast(x)" with [MATH, LOGISTIC] costs 3 within Accuracy { of_result: 0.0, of_first: 0.0, absolute: 2.8e-4 };
    /// [`silu`] by [`tanh_fast`], to 2.8e-4 of `x`, so that far below 0 no digits are left. Cost 3 + 1.
    silu_fast SiluFast |x| ~ swish(x), "math::silu_fast(x)" with [MATH, LOGISTIC] costs 4 within Accuracy::of_first(2.8e-4);
    /// `x * clamp(x + 3, 0, 6) / 6`. Exact. Cost 7.
    hardswish HardSwish |x| = if x <= -3.0 { 0.0 } else if x >= 3.0 { x } else { x * (x + 3.0) * (1.0 / 6.0) },
        "x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) * static_cast<decltype(x)>(1.0 / 6)";
    /// `log(1 + e^x)`, to 6e-6 of the result. Cost 11 + 1.
    softplus Softplus |x| ~ (if x < 0.0 { 0.0 } else { x }) + (-x.abs()).exp().ln_1p(), "math::softplus(x)" with [MATH, LOGISTIC] within LOGISTIC_ACCURACY;
}

/// The exponent's rounding at its largest, 88 * 2^-24, and that of the special functions.
const LOGISTIC_ACCURACY: Accuracy = Accuracy::relative(6e-6);
