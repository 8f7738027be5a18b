//! Rounding as the hardware does it, in every direction and to every format.

use super::args::Args;

/// How a result that does not fit is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    NearestEven,
    NearestAway,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// The rounding to a float that the suffixes name; to nearest even if none.
    pub fn of(args: &Args<'_, '_, '_>) -> Rounding {
        for (name, rounding) in
            [("rna", Rounding::NearestAway), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)]
        {
            if args.has(name) {
                return rounding;
            }
        }
        Rounding::NearestEven
    }

    /// The rounding to an integer that the suffixes name.
    pub fn integral(args: &Args<'_, '_, '_>) -> Option<Rounding> {
        [("rni", Rounding::NearestEven), ("rzi", Rounding::Zero), ("rmi", Rounding::Down), ("rpi", Rounding::Up)]
            .into_iter()
            .find_map(|(name, rounding)| args.has(name).then_some(rounding))
    }

    /// `x` rounded to an integer.
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Rounding::NearestEven => x.round_ties_even(),
            Rounding::NearestAway => x.round(),
            Rounding::Zero => x.trunc(),
            Rounding::Down => x.floor(),
            Rounding::Up => x.ceil(),
        }
    }
}

/// NaN as the hardware makes it; anything else unchanged.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    // In integers: LLVM takes a choice between a NaN and `x`, made among floats, for `x` itself.
    let nan = u32::from(x.to_bits() & !SIGN > INFINITY);
    f32::from_bits((x.to_bits() | nan.wrapping_neg()) & !(nan << 31))
}

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7F80_0000;

/// The NaN that f64 arithmetic makes of its operands: the first that is one, made quiet, or else the hardware's own.
/// `result` is what the processor makes of them.
#[inline(always)]
pub(crate) fn propagate(result: f64, operands: &[f64]) -> f64 {
    if result.is_nan() { nan64(operands) } else { result }
}

#[cold]
#[inline(never)]
fn nan64(operands: &[f64]) -> f64 {
    const OWN: u64 = 0xFFF8_0000_0000_0000;
    let first = operands.iter().find(|x| x.is_nan());
    // Out of the optimiser's sight, for which one NaN is as good as another.
    f64::from_bits(core::hint::black_box(first.map_or(OWN, |x| x.to_bits() | 1 << 51)))
}

/// Zero of the same sign in place of a subnormal f16.
#[inline(always)]
pub(crate) fn flush_half(x: f32, flushes: bool) -> f32 {
    if flushes && x.abs() < 2f32.powi(-14) { 0f32.copysign(x) } else { x }
}

/// Zero of the same sign in place of a subnormal.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// Clamped to [0, 1], NaN becoming 0.
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) + 0.0 }
}

/// As [`saturate`], of f64.
#[inline(always)]
pub(crate) fn saturate64(x: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) + 0.0 }
}

/// `a + b`, its last bit set if it is inexact: rounding this once more, to at most 51 bits, equals rounding the exact sum.
#[inline]
pub(crate) fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let rest = sum - a;
    let error = (a - (sum - rest)) + (b - rest);
    if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 != 0 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}

/// `x` as f32, its last bit set if it is inexact: rounding this once more, to 16 bits, equals rounding `x`.
#[inline(always)]
pub(crate) fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || !near.is_finite() {
        return near;
    }
    let cut = near.to_bits() - u32::from(f64::from(near).abs() > x.abs());
    f32::from_bits(cut | 1)
}

/// `x` rounded to a float with `precision` significant bits, whose smallest normal number is 2^`min_exponent`. Overflow is
/// the caller's.
pub(crate) fn quantise(x: f64, precision: i32, min_exponent: i32, rounding: Rounding) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = ((x.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(min_exponent);
    let unit = exponent - (precision - 1);
    // Powers of two beyond f64's range are reached in two steps.
    let scale = |x: f64, e: i32| x * 2f64.powi(e / 2) * 2f64.powi(e - e / 2);
    scale(rounding.apply(scale(x, -unit)), unit)
}

/// `x` as f32.
pub(crate) fn to_f32(x: f64, rounding: Rounding) -> f32 {
    if rounding == Rounding::NearestEven {
        return x as f32;
    }
    overflow(quantise(x, 24, -126, rounding), f64::from(f32::MAX), rounding) as f32
}

/// `x`, or what a value beyond the largest finite one becomes.
pub(crate) fn overflow(x: f64, max: f64, rounding: Rounding) -> f64 {
    let keeps = match rounding {
        Rounding::Zero => true,
        Rounding::Down => x > 0.0,
        Rounding::Up => x < 0.0,
        Rounding::NearestEven | Rounding::NearestAway => false,
    };
    if x.abs() <= max || x.is_nan() || x.is_infinite() {
        x
    } else if keeps {
        max.copysign(x)
    } else {
        f64::INFINITY.copysign(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_rounding_brackets_the_value() {
        let x = 1.0 + 2f64.powi(-30);
        assert_eq!(to_f32(x, Rounding::Zero), 1.0);
        assert_eq!(to_f32(x, Rounding::Up), 1.0f32.next_up());
        assert_eq!(to_f32(-x, Rounding::Down), (-1.0f32).next_down());
        assert_eq!(to_f32(1e300, Rounding::Zero), f32::MAX);
        assert_eq!(to_f32(1e300, Rounding::Up), f32::INFINITY);
        assert_eq!(to_f32(2f64.powi(-149) * 1.5, Rounding::Zero), f32::from_bits(1));
    }

    #[test]
    fn a_sum_that_ties_is_broken_by_what_it_lost() {
        // 1 + 2^-24 lies between two f32; the 2^-80 decides, which a sum rounded to f64 no longer knows.
        let tie = 1.0 + 2f64.powi(-24);
        assert_eq!((tie + 2f64.powi(-80)) as f32, 1.0);
        assert_eq!(sum_to_odd(tie, 2f64.powi(-80)) as f32, 1.0f32.next_up());
        assert_eq!(sum_to_odd(tie, -(2f64.powi(-80))) as f32, 1.0);
    }
}
