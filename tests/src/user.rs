//! User-defined epilogue functions that the table uses.

/// A function of one argument that an epilogue may name.
#[derive(Clone, Copy, Debug)]
pub struct UserFunction {
    /// Its name in the notation.
    pub name: &'static str,
    /// What it is.
    pub exact: fn(f64) -> f64,
    /// What a device computes.
    pub single: fn(f32) -> f32,
    /// The same as a CUDA expression in `x`.
    pub cuda: &'static str,
    /// Largest |f′|: by how much an error of the argument grows.
    pub slope: f64,
    /// Rounding errors of its own, in units of the result's half ulp.
    pub roundings: f64,
}

/// `x / (1 + |x|)`.
pub const SOFTSIGN: UserFunction = UserFunction {
    name: "user_softsign",
    exact: |x| x / (1.0 + x.abs()),
    single: |x| x / (1.0 + x.abs()),
    cuda: "x / (1.0f + fabsf(x))",
    slope: 1.0,
    roundings: 2.0,
};

/// All of them.
pub const ALL: [UserFunction; 1] = [SOFTSIGN];
