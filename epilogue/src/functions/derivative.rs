//! Backward passes: the gradient of a function's value times the function's slope at `z`, what the function was applied to.
//!
//! The gradient is usually `acc()`, `z` a `tile` that the forward pass stored. All are to 6e-6 of the result or 1e-6 of the
//! gradient, whichever is more, but for the exact ones. Where the forward pass kept bits instead of `z`, ReLU's is
//! `select(mask(&bits), acc(), constant!(0.0))`.

use super::{GELU, LOGISTIC, MATH, Narrow, function};
use libm::erfc;
use warpwright_spec::Accuracy;

function! {
    /// The gradient where `z` is positive, else 0. Exact. Cost 4.
    d_relu DRelu |d, z| = if z > 0.0 { d } else if z <= 0.0 { 0.0 } else { z }, "y > 0 ? x : y <= 0 ? 0 : y";
    /// The gradient where `z` is positive, else `slope` times the gradient. Exact. Cost 5.
    d_leaky_relu DLeakyRelu |d, z, slope| = if z > 0.0 { d } else if z <= 0.0 { slope * d } else { z }, "y > 0 ? x : y <= 0 ? z * x : y";
    /// Of [`sigmoid`](super::sigmoid). Cost 5 + 2.
    d_sigmoid DSigmoid |d, z| ~ d * sigmoid_slope(z), "x * math::sigmoid_slope(y)" with [MATH, LOGISTIC] within SLOPE;
    /// Of [`silu`](super::silu). Cost 10 + 2.
    d_silu DSilu |d, z| ~ d * silu_slope(z), "x * math::silu_slope(y)" with [MATH, LOGISTIC] within SLOPE;
    /// Of [`tanh`](super::tanh()). Cost 7 + 2.
    d_tanh DTanh |d, z| ~ d * 4.0 * sigmoid_slope(2.0 * z), "x * (4 * math::sigmoid_slope(2 * y))" with [MATH, LOGISTIC] within SLOPE;
    /// Of [`gelu`](super::gelu). Cost 20 + 2.
    d_gelu DGelu |d, z| ~ {
        let at = z.clamp(-40.0, 40.0);
        d * (0.5 * erfc(-core::f64::consts::FRAC_1_SQRT_2 * at) + at * (-0.5 * at * at).exp() * 0.3989422804014327)
    }, "x * math::gelu_slope(y)" with [MATH, LOGISTIC, GELU] within SLOPE;
    /// Of [`gelu_tanh`](super::gelu_tanh). Cost 16 + 2.
    d_gelu_tanh DGeluTanh |d, z| ~ {
        let at = z.clamp(-40.0, 40.0);
        let v = 1.5957691216057307 * (at + 0.044715 * at * at * at);
        let s = 1.0 / (1.0 + (-v).exp());
        d * (s + at * sigmoid_slope(v) * 1.5957691216057307 * (1.0 + 3.0 * 0.044715 * at * at))
    }, "x * math::gelu_tanh_slope(y)" with [MATH, LOGISTIC, GELU] within SLOPE;
    /// Of [`softplus`](super::softplus). Cost 3 + 2.
    d_softplus DSoftplus |d, z| ~ d / (1.0 + (-z).exp()), "x * math::sigmoid(y)" with [MATH, LOGISTIC] within SLOPE;
    /// Of [`hardswish`](super::hardswish). Exact. Cost 8.
    d_hardswish DHardSwish |d, z| = if z <= -3.0 { 0.0 } else if z >= 3.0 { d } else { d * ((z + z + 3.0) * (1.0 / 6.0)) },
        "y <= -3 ? 0 : y >= 3 ? x : x * ((y + y + 3) * static_cast<decltype(x)>(1.0 / 6))";
    /// Of [`snake`](super::snake) with its `a`: the product `a z` is rounded before its sine is taken. Cost about 40.
    d_snake DSnake |d, z, a| = {
        Narrow::of(d.wide() * (1.0 + ((a + a) * z).wide().sin()))
    }, "x * (1 + math::sin((z + z) * y))" with [MATH] within SLOPE;
}

const SLOPE: Accuracy = Accuracy { of_result: 6e-6, of_first: 1e-6, absolute: 0.0 };

fn sigmoid_slope(z: f64) -> f64 {
    let e = (-z.abs()).exp();
    e / ((1.0 + e) * (1.0 + e))
}

fn silu_slope(z: f64) -> f64 {
    let at = z.clamp(-1024.0, 1024.0);
    1.0 / (1.0 + (-at).exp()) + at * sigmoid_slope(at)
}
