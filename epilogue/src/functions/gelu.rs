//! GELU in its two forms, which differ by up to 4.7e-4 and never stand in for each other.

use super::{GELU, LOGISTIC, MATH, function};
use libm::erfc;
use warpwright_spec::Accuracy;

/// The form with tanh.
fn tanh_form(x: f64) -> f64 {
    if x < -40.0 { -0.0 } else { x / (1.0 + (-1.5957691216057307 * (x + 0.044715 * x * x * x)).exp()) }
}

function! {
    /// `x * P(x)` with the normal distribution `P`, by its error function: to 2.4e-7 of `x`, and below 0, where the value cancels, to
    /// 4e-6 of the result down to -5. Cost 13 + 1.
    gelu Gelu |x| ~ if x < -40.0 { -0.0 } else { 0.5 * x * erfc(-core::f64::consts::FRAC_1_SQRT_2 * x) },
        "math::gelu(x)" with [MATH, LOGISTIC, GELU] within Accuracy::of_first(2.4e-7);
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`: to 2.1e-5, and near 0 to 1.3e-4 of the result, which is less
    /// than f16 resolves. Cost 9 + 1.
    gelu_tanh GeluTanh |x| ~ tanh_form(x),
        "math::gelu_tanh(x)" with [MATH, LOGISTIC, GELU] within Accuracy { of_result: 2.4e-7, of_first: 0.0, absolute: 2.1e-5 };
    /// [`gelu_tanh`] by [`tanh_fast`](super::tanh_fast), to 2.8e-4 of `x`, so that far below 0 no digits are left. Cost 6 + 1.
    gelu_tanh_fast GeluTanhFast |x| ~ tanh_form(x),
        "math::gelu_tanh_fast(x)" with [MATH, LOGISTIC, GELU] costs 7 within Accuracy::of_first(2.8e-4);
}
