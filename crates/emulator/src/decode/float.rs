//! f32 and f64 arithmetic. Without `.ftz` subnormals are kept; results that are NaN are the hardware's NaN.

use super::args::{Args, Decoded, Ty};
use super::exact;
use super::rounding::{Rounding, canonical, flush, propagate, saturate, sum_to_odd, to_f32};
use crate::ir::Op;

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    match a.types().last() {
        Some(Ty::F32) => single(a),
        Some(Ty::F64) => double(a),
        _ => Ok(None),
    }
}

/// What surrounds an f32 operation: flushing of its operands and result, and clamping to [0, 1].
#[derive(Clone, Copy)]
struct Frame {
    flushes: bool,
    saturates: bool,
}

impl Frame {
    #[inline(always)]
    fn before(self, x: f32) -> f32 {
        if self.flushes { flush(x) } else { x }
    }

    #[inline(always)]
    fn after(self, x: f32) -> f32 {
        let x = if self.flushes { flush(canonical(x)) } else { canonical(x) };
        if self.saturates { saturate(x) } else { x }
    }
}

fn single(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    let frame = Frame { flushes: a.has("ftz"), saturates: a.has("sat") };
    let plain = !frame.flushes && !frame.saturates;
    let rounding = Rounding::of(a);
    let nearest = rounding == Rounding::NearestEven;
    macro_rules! one {
        ($f:expr) => {{
            let f = $f;
            a.unary(move |x: f32| frame.after(f(frame.before(x))))?
        }};
    }
    macro_rules! two {
        ($f:expr) => {{
            let f = $f;
            if plain {
                a.binary(move |x: f32, y: f32| canonical(f(x, y)))?
            } else {
                a.binary(move |x: f32, y: f32| frame.after(f(frame.before(x), frame.before(y))))?
            }
        }};
    }
    Ok(Some(match a.instruction.opcode {
        "add" if nearest => two!(|x: f32, y: f32| x + y),
        "sub" if nearest => two!(|x: f32, y: f32| x - y),
        "mul" if nearest => two!(|x: f32, y: f32| x * y),
        "add" => two!(move |x: f32, y: f32| sum(x.into(), y.into(), rounding)),
        "sub" => two!(move |x: f32, y: f32| sum(x.into(), f64::from(-y), rounding)),
        "mul" => two!(move |x: f32, y: f32| to_f32(f64::from(x) * f64::from(y), rounding)),
        "fma" | "mad" if nearest && plain => a.ternary(|x: f32, y: f32, z: f32| canonical(x.mul_add(y, z)))?,
        "fma" | "mad" => a.ternary(move |x: f32, y: f32, z: f32| {
            let product = f64::from(frame.before(x)) * f64::from(frame.before(y));
            frame.after(sum(product, frame.before(z).into(), rounding))
        })?,
        // Approximate ones are the exact ones.
        "div" if nearest => two!(|x: f32, y: f32| x / y),
        "div" => two!(move |x: f32, y: f32| to_f32(exact::quotient_to_odd(x.into(), y.into()), rounding)),
        "rcp" if nearest => one!(|x: f32| 1.0 / x),
        "rcp" => one!(move |x: f32| to_f32(exact::quotient_to_odd(1.0, x.into()), rounding)),
        "sqrt" if nearest => one!(f32::sqrt),
        "sqrt" => one!(move |x: f32| to_f32(exact::root_to_odd(x.into()), rounding)),
        "rsqrt" => one!(|x: f32| (1.0 / f64::from(x).sqrt()) as f32),
        "ex2" => one!(|x: f32| f64::from(x).exp2() as f32),
        "lg2" => one!(|x: f32| f64::from(x).log2() as f32),
        "sin" => one!(|x: f32| f64::from(x).sin() as f32),
        "cos" => one!(|x: f32| f64::from(x).cos() as f32),
        "tanh" => one!(|x: f32| f64::from(x).tanh() as f32),
        "abs" => one!(f32::abs),
        "neg" => one!(|x: f32| -x),
        "copysign" => a.binary(|sign: f32, x: f32| x.copysign(sign))?,
        opcode @ ("min" | "max") => {
            let (least, keeps_nan) = (opcode == "min", a.has("NaN"));
            let signs = a.has("xorsign");
            let magnitude = a.has("abs");
            if a.count() == 4 {
                return Err(a.unsupported("three operands"));
            }
            two!(move |x: f32, y: f32| {
                let (p, q) = if magnitude { (x.abs(), y.abs()) } else { (x, y) };
                let picked = select(p, q, least, keeps_nan);
                if signs && !picked.is_nan() {
                    f32::from_bits(picked.to_bits() | (x.to_bits() ^ y.to_bits()) & 1 << 31)
                } else {
                    picked
                }
            })
        }
        _ => return Ok(None),
    }))
}

/// `x + y`, of f32 or exact products of them. A sum of opposite numbers is −0 when rounded down.
fn sum(x: f64, y: f64, rounding: Rounding) -> f32 {
    let sum = sum_to_odd(x, y);
    let cancels = sum == 0.0 && x.is_sign_negative() != y.is_sign_negative();
    to_f32(if cancels { exact::zero(rounding) } else { sum }, rounding)
}

/// The smaller or larger of two floats: −0 < +0, and NaN loses unless it is kept.
#[inline(always)]
pub(crate) fn select(x: f32, y: f32, least: bool, keeps_nan: bool) -> f32 {
    if x.is_nan() || y.is_nan() {
        return match (keeps_nan, x.is_nan()) {
            (true, _) => f32::NAN,
            (false, true) => y,
            (false, false) => x,
        };
    }
    let before = x < y || (x == y && x.is_sign_negative());
    if before == least { x } else { y }
}

/// An approximate function of the upper half of an f64, subnormals being zeros.
fn upper(a: &mut Args<'_, '_, '_>, f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Decoded<Op> {
    let flush = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    a.unary(move |bits: u64| {
        let y = flush(f(flush(f64::from_bits(bits & !0 << 32))));
        if y.is_nan() { 0x7FFF_FFFF_0000_0000 } else { y.to_bits() }
    })
}

fn double(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    let rounding = Rounding::of(a);
    let nearest = rounding == Rounding::NearestEven;
    Ok(Some(match a.instruction.opcode {
        "add" if nearest => a.binary(|x: f64, y: f64| propagate(x + y, &[x, y]))?,
        "sub" if nearest => a.binary(|x: f64, y: f64| propagate(x - y, &[x, y]))?,
        "mul" if nearest => a.binary(|x: f64, y: f64| propagate(x * y, &[x, y]))?,
        "fma" | "mad" if nearest => a.ternary(|x: f64, y: f64, z: f64| propagate(x.mul_add(y, z), &[z, x, y]))?,
        "div" if nearest => a.binary(|x: f64, y: f64| propagate(x / y, &[x, y]))?,
        "rcp" if a.has("approx") => upper(a, |x| 1.0 / x)?,
        "rcp" if nearest => a.unary(|x: f64| propagate(1.0 / x, &[x]))?,
        "sqrt" if nearest => a.unary(|x: f64| propagate(x.sqrt(), &[x]))?,
        "add" => a.binary(move |x: f64, y: f64| exact::add(x, y, rounding))?,
        "sub" => a.binary(
            move |x: f64, y: f64| {
                if y.is_nan() { propagate(y, &[x, y]) } else { exact::add(x, -y, rounding) }
            },
        )?,
        "mul" => a.binary(move |x: f64, y: f64| exact::multiply(x, y, rounding))?,
        "fma" | "mad" => a.ternary(move |x: f64, y: f64, z: f64| exact::fma(x, y, z, rounding))?,
        "div" => a.binary(move |x: f64, y: f64| exact::divide(x, y, rounding))?,
        "rcp" => a.unary(move |x: f64| exact::divide(1.0, x, rounding))?,
        "sqrt" => a.unary(move |x: f64| exact::root(x, rounding))?,
        "rsqrt" if a.has("ftz") => upper(a, |x| 1.0 / x.sqrt())?,
        "rsqrt" => a.unary(|x: f64| propagate(1.0 / x.sqrt(), &[x]))?,
        "abs" => a.unary(|x: f64| if x.is_nan() { propagate(x, &[x]) } else { x.abs() })?,
        "neg" => a.unary(|x: f64| if x.is_nan() { propagate(x, &[x]) } else { -x })?,
        "copysign" => a.binary(|sign: f64, x: f64| x.copysign(sign))?,
        "min" => a.binary(|x: f64, y: f64| if x.is_nan() || y < x { y } else { x })?,
        "max" => a.binary(|x: f64, y: f64| if x.is_nan() || y > x { y } else { x })?,
        _ => return Ok(None),
    }))
}
