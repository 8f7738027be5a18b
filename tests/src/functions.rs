//! The library's functions once more, in f64 and by other means where there are any, with how far a device may be off.

/// A function that an epilogue may call.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    /// Its name in the notation.
    pub name: &'static str,
    /// How many values it takes.
    pub arity: usize,
    /// What it is.
    pub exact: fn(&[f64]) -> f64,
    /// How far a device's value may be off: so much of the result, of the first argument, and in itself.
    pub error: [f64; 3],
}

/// f32's unit, and a few operations of it.
const FEW: [f64; 3] = [4e-7, 0.0, 0.0];
const NONE: [f64; 3] = [0.0; 3];
const LOGISTIC: [f64; 3] = [6e-6, 0.0, 1e-36];
const SLOPE: [f64; 3] = [6e-6, 1e-6, 1e-36];

macro_rules! called {
    ($($name:ident($($x:ident),+) = $value:expr, $error:expr;)+) => {
        /// All of them.
        pub const ALL: &[Called] = &[$(Called {
            name: stringify!($name),
            arity: [$(stringify!($x)),+].len(),
            exact: |arguments| {
                let [$($x),+] = *arguments else { return f64::NAN };
                $value
            },
            error: $error,
        }),+];
    };
}

called! {
    leaky_relu(x, slope) = if x < 0.0 { slope * x } else { x }, FEW;
    clamp(x, low, high) = if x < low { low } else if x > high { high } else { x }, NONE;
    threshold(x, limit, value) = if x <= limit { value } else { x }, NONE;
    sigmoid(x) = sigmoid(x), LOGISTIC;
    silu(x) = x * sigmoid(x.max(-700.0)), LOGISTIC;
    tanh(x) = 2.0 * sigmoid(2.0 * x) - 1.0, FEW;
    tanh_fast(x) = 2.0 * sigmoid(2.0 * x) - 1.0, [5.5e-4, 0.0, 0.0];
    sigmoid_fast(x) = sigmoid(x), [0.0, 0.0, 2.8e-4];
    silu_fast(x) = x * sigmoid(x.max(-700.0)), [0.0, 2.8e-4, 1e-36];
    hardswish(x) = x * (x + 3.0).clamp(0.0, 6.0) / 6.0, FEW;
    softplus(x) = x.max(0.0) + (1.0 + (-x.abs()).exp()).ln(), LOGISTIC;
    fma(x, y, z) = x * y + z, [6e-8, 0.0, 0.0];
    abs(x) = x.abs(), NONE;
    square(x) = x * x, [6e-8, 0.0, 0.0];
    reciprocal(x) = 1.0 / x, FEW;
    sqrt(x) = x.sqrt(), [6e-8, 0.0, 0.0];
    rsqrt(x) = 1.0 / x.sqrt(), FEW;
    exp(x) = x.exp(), FEW;
    log(x) = x.ln(), FEW;
    snake(x, a) = x + (1.0 - (2.0 * a * x).cos()) / (2.0 * a), [1e-6, 2e-6, 0.0];
    gelu(x) = x * normal(x), [4e-7, 2.4e-7, 0.0];
    gelu_tanh(x) = x * sigmoid(2.0 * (2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)), [4e-7, 0.0, 2.2e-5];
    gelu_tanh_fast(x) = x * sigmoid(2.0 * (2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)), [0.0, 2.8e-4, 1e-36];
    d_relu(d, z) = if z > 0.0 { d } else { 0.0 }, NONE;
    d_leaky_relu(d, z, slope) = if z > 0.0 { d } else { slope * d }, FEW;
    d_sigmoid(d, z) = d * sigmoid(z) * sigmoid(-z), SLOPE;
    d_silu(d, z) = d * sigmoid(z) * (1.0 + z * sigmoid(-z)), SLOPE;
    d_tanh(d, z) = 4.0 * d * sigmoid(2.0 * z) * sigmoid(-2.0 * z), SLOPE;
    d_softplus(d, z) = d * sigmoid(z), SLOPE;
    d_hardswish(d, z) = d * if z <= -3.0 { 0.0 } else if z >= 3.0 { 1.0 } else { (2.0 * z + 3.0) / 6.0 }, SLOPE;
    d_snake(d, z, a) = d * (1.0 + (2.0 * a * z).sin()), [1e-6, 4e-6, 0.0];
    d_gelu(d, z) = d * (normal(z) + z * (-z * z / 2.0).exp() / (2.0 * core::f64::consts::PI).sqrt()), SLOPE;
    d_gelu_tanh(d, z) = d * {
        let c = 2.0 * (2.0 / core::f64::consts::PI).sqrt();
        let s = sigmoid(c * (z + 0.044715 * z * z * z));
        s + z * s * (1.0 - s) * c * (1.0 + 3.0 * 0.044715 * z * z)
    }, SLOPE;
    lt(x, y) = truth(x < y), NONE;
    le(x, y) = truth(x <= y), NONE;
    gt(x, y) = truth(x > y), NONE;
    ge(x, y) = truth(x >= y), NONE;
    eq(x, y) = truth(x == y), NONE;
    ne(x, y) = truth(x != y), NONE;
    select(c, a, b) = if c != 0.0 { a } else { b }, NONE;
    identity(x) = x, NONE;
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The normal distribution by its series, or by its continued fraction in the tails.
fn normal(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * core::f64::consts::PI).sqrt();
    if x.abs() < 3.0 {
        let (mut term, mut sum) = (x, x);
        for i in 1..60 {
            term *= x * x / (2.0 * f64::from(i) + 1.0);
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let tail = density / (1..200).rev().fold(x.abs(), |below, i| x.abs() + f64::from(i) / below);
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_right() {
        for (x, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (-3.0, 1.349_898_031_630_094_6e-3),
            (-6.0, 9.865_876_450_376_946e-10),
        ] {
            assert!((normal(x) / p - 1.0).abs() < 1e-12, "{x}: {}", normal(x));
        }
    }
}
