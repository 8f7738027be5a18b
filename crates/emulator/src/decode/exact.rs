//! f64 arithmetic rounded in any direction: results as integers of 128 bits, with a last bit that stands for all below it.

use super::rounding::{Rounding, propagate};

/// ± `bits` · 2^`exponent`, the lowest bit set if anything lies below it.
#[derive(Clone, Copy)]
struct Exact {
    negative: bool,
    bits: u128,
    exponent: i32,
}

impl Exact {
    fn of(x: f64) -> Exact {
        let (field, fraction) = ((x.to_bits() >> 52 & 0x7FF) as i32, x.to_bits() & ((1 << 52) - 1));
        let bits = if field == 0 { fraction } else { fraction | 1 << 52 };
        Exact { negative: x.is_sign_negative(), bits: bits.into(), exponent: field.max(1) - 1075 }
    }

    fn product(self, other: Exact) -> Exact {
        Exact {
            negative: self.negative != other.negative,
            bits: self.bits * other.bits,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The same number with its leading bit at bit 126.
    fn raised(self) -> Exact {
        let up = self.bits.leading_zeros() as i32 - 1;
        Exact { bits: self.bits << up, exponent: self.exponent - up, ..self }
    }

    /// Neither number is zero.
    fn sum(self, other: Exact) -> Exact {
        let (x, y) = (self.raised(), other.raised());
        let (x, y) = if (x.exponent, x.bits) >= (y.exponent, y.bits) { (x, y) } else { (y, x) };
        let down = (x.exponent - y.exponent) as u32;
        let kept = y.bits.checked_shr(down).unwrap_or(0);
        let lost = kept.checked_shl(down) != Some(y.bits);
        let bits = if x.negative == y.negative {
            // One place is needed for the carry, which the raised numbers leave.
            (x.bits + kept) | u128::from(lost)
        } else {
            // What was lost makes the difference a little smaller.
            (x.bits - kept - u128::from(lost)) | u128::from(lost)
        };
        Exact { negative: x.negative, bits, exponent: x.exponent }
    }

    /// The divisor is not zero.
    fn quotient(self, other: Exact) -> Exact {
        let (x, y) = (self.raised(), other.bits >> other.bits.trailing_zeros());
        let bits = x.bits / y;
        let exact = bits * y == x.bits;
        Exact {
            negative: self.negative != other.negative,
            bits: bits << 1 | u128::from(!exact),
            exponent: x.exponent - other.exponent - other.bits.trailing_zeros() as i32 - 1,
        }
    }

    fn root(self) -> Exact {
        let x = self.raised();
        // An even exponent, which costs a bit.
        let (bits, exponent) = if x.exponent % 2 == 0 { (x.bits, x.exponent) } else { (x.bits >> 1, x.exponent + 1) };
        let root = bits.isqrt();
        Exact { negative: false, bits: root << 1 | u128::from(root * root != bits), exponent: exponent / 2 - 1 }
    }

    fn round(self, rounding: Rounding) -> f64 {
        let sign = u64::from(self.negative) << 63;
        if self.bits == 0 {
            return f64::from_bits(sign);
        }
        let top = self.exponent + 127 - self.bits.leading_zeros() as i32;
        // The unit of the last place, that of subnormals at least.
        let down = top.max(-1022) - 52 - self.exponent;
        let (kept, rest, half) = match down {
            ..=0 => (self.bits << -down, 0, 1),
            1..=127 => (self.bits >> down, self.bits & ((1 << down) - 1), 1 << (down - 1)),
            _ => (0, 1, 2),
        };
        let up = match rounding {
            Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
            Rounding::NearestAway => rest >= half && rest != 0,
            Rounding::Zero => false,
            Rounding::Down => self.negative && rest != 0,
            Rounding::Up => !self.negative && rest != 0,
        };
        // A carry moves into the exponent by itself; so does the leading bit of a normal number.
        let field = (top.max(-1022) + 1022) as u64;
        let magnitude = (field << 52).saturating_add(kept as u64 + u64::from(up));
        const INFINITY: u64 = 0x7FF << 52;
        if magnitude < INFINITY {
            return f64::from_bits(sign | magnitude);
        }
        let outward = match rounding {
            Rounding::Zero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
            Rounding::NearestEven | Rounding::NearestAway => true,
        };
        f64::from_bits(sign | if outward { INFINITY } else { INFINITY - 1 })
    }
}

/// `x + y`.
pub(crate) fn add(x: f64, y: f64, rounding: Rounding) -> f64 {
    if x.is_nan() || y.is_nan() { propagate(x + y, &[x, y]) } else { fma(x, 1.0, y, rounding) }
}

/// An integer of 64 bits and a sign.
pub(crate) fn integer(x: i128, rounding: Rounding) -> f64 {
    Exact { negative: x < 0, bits: x.unsigned_abs(), exponent: 0 }.round(rounding)
}

/// The same with its last bit set if it is inexact: rounding this once more, to fewer bits, equals rounding the integer.
pub(crate) fn integer_to_odd(x: i128) -> f64 {
    let cut = integer(x, Rounding::Zero);
    if cut as i128 == x { cut } else { f64::from_bits(cut.to_bits() | 1) }
}

/// `x / y` of numbers of 24 bits, its last bit set if it is inexact.
pub(crate) fn quotient_to_odd(x: f64, y: f64) -> f64 {
    let cut = divide(x, y, Rounding::Zero);
    if !cut.is_finite() || y.is_infinite() || cut.mul_add(y, -x) == 0.0 {
        cut
    } else {
        f64::from_bits(cut.to_bits() | 1)
    }
}

/// The square root of a number of 24 bits, its last bit set if it is inexact.
pub(crate) fn root_to_odd(x: f64) -> f64 {
    let cut = root(x, Rounding::Zero);
    if !cut.is_finite() || cut.mul_add(cut, -x) == 0.0 { cut } else { f64::from_bits(cut.to_bits() | 1) }
}

/// `x · y`.
pub(crate) fn multiply(x: f64, y: f64, rounding: Rounding) -> f64 {
    let plain = x * y;
    if !x.is_finite() || !y.is_finite() {
        propagate(plain, &[x, y])
    } else {
        Exact::of(x).product(Exact::of(y)).round(rounding)
    }
}

/// `x · y + z`.
pub(crate) fn fma(x: f64, y: f64, z: f64, rounding: Rounding) -> f64 {
    if !(x.is_finite() && y.is_finite() && z.is_finite()) {
        return propagate(x.mul_add(y, z), &[z, x, y]);
    }
    let (product, addend) = (Exact::of(x).product(Exact::of(y)), Exact::of(z));
    match (product.bits, addend.bits) {
        (0, 0) if product.negative == addend.negative => z,
        (0, 0) => zero(rounding),
        (0, _) => z,
        (_, 0) => product.round(rounding),
        _ => match product.sum(addend) {
            Exact { bits: 0, .. } => zero(rounding),
            sum => sum.round(rounding),
        },
    }
}

/// What a sum of opposite numbers is.
pub(crate) fn zero(rounding: Rounding) -> f64 {
    if rounding == Rounding::Down { -0.0 } else { 0.0 }
}

/// `x / y`.
pub(crate) fn divide(x: f64, y: f64, rounding: Rounding) -> f64 {
    if !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return propagate(x / y, &[x, y]);
    }
    Exact::of(x).quotient(Exact::of(y)).round(rounding)
}

/// The square root of `x`.
pub(crate) fn root(x: f64, rounding: Rounding) -> f64 {
    if !x.is_finite() || x <= 0.0 { propagate(x.sqrt(), &[x]) } else { Exact::of(x).root().round(rounding) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every kind, also such that cancel and that underflow.
    fn numbers() -> Vec<f64> {
        let mut state = 7u64;
        let mut out =
            vec![0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 1.5, 1.0 + f64::EPSILON];
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let near =
                (state & 0x800F_FFFF_FFFF_FFFF) | (0x3FE0_0000_0000_0000 + (state << 20 & 0x0030_0000_0000_0000));
            out.extend([f64::from_bits(state), f64::from_bits(near)].into_iter().filter(|x| x.is_finite()));
        }
        out
    }

    #[test]
    fn to_nearest_it_agrees_with_the_processor() {
        let (all, nearest) = (numbers(), Rounding::NearestEven);
        for &x in &all {
            assert_eq!(root(x, nearest).to_bits(), propagate(x.sqrt(), &[x]).to_bits(), "root of {x:e}");
            for &y in &all {
                assert_eq!(add(x, y, nearest).to_bits(), (x + y).to_bits(), "{x:e} + {y:e}");
                assert_eq!(multiply(x, y, nearest).to_bits(), (x * y).to_bits(), "{x:e} * {y:e}");
                assert_eq!(divide(x, y, nearest).to_bits(), propagate(x / y, &[x, y]).to_bits(), "{x:e} / {y:e}");
                for &z in all.iter().step_by(7) {
                    assert_eq!(fma(x, y, z, nearest).to_bits(), x.mul_add(y, z).to_bits(), "{x:e} * {y:e} + {z:e}");
                }
            }
        }
    }

    #[test]
    fn directions_bracket_the_value() {
        let third = divide(1.0, 3.0, Rounding::Down);
        assert_eq!(divide(1.0, 3.0, Rounding::Up), third.next_up());
        assert_eq!(divide(-1.0, 3.0, Rounding::Zero), -third);
        assert_eq!(add(1.0, 2f64.powi(-200), Rounding::Up), 1f64.next_up());
        assert_eq!(add(1.0, -(2f64.powi(-200)), Rounding::Zero), 1f64.next_down());
        assert_eq!(add(1.0, -1.0, Rounding::Down).to_bits(), (-0.0f64).to_bits());
        assert_eq!(multiply(f64::MAX, 2.0, Rounding::Zero), f64::MAX);
        assert_eq!(multiply(f64::MAX, -2.0, Rounding::Down), f64::NEG_INFINITY);
        assert_eq!(multiply(f64::from_bits(1), 0.25, Rounding::Up), f64::from_bits(1));
        assert_eq!(root(2.0, Rounding::Up), root(2.0, Rounding::Down).next_up());
    }
}
