//! What a tensor core computes, bit for bit as an H200 does (measured; other architectures may differ).
//!
//! One step takes C and all K products at once. A product's exponent is the sum of its factors' exponents. Every addend is
//! cut, toward zero, to a multiple of 2^(E−F), with E the largest exponent among C and the products that are not zero; the
//! cut addends are summed exactly, and the sum is cut to R fraction bits of its own. All of it is done in f64, whose sums
//! and products are exact here.

use super::operand::{NO_EXPONENT, Operand};
use super::vectors;
use crate::decode::Half;
use warpwright_numeric::f16;

/// Widths of the adder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Adder {
    /// Fraction bits to which addends are aligned.
    pub aligned: i32,
    /// Fraction bits of an f32 result.
    pub kept: u32,
}

/// 16-bit floats and tf32.
pub(crate) const WIDE: Adder = Adder { aligned: 25, kept: 23 };
/// fp8 on Hopper's `wgmma`.
pub(crate) const NARROW: Adder = Adder { aligned: 13, kept: 13 };

/// NaN as tensor cores make it.
pub(crate) const NAN: f32 = f32::from_bits(0x7FFF_FFFF);

/// How the exact sum of the cut addends becomes a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Result {
    /// Cut to f32.
    Single,
    /// Rounded once to f16, ties to even.
    Half,
}

/// `c = a · b + c` of an m × k matrix, a k × n matrix and an m × n matrix, all row by row.
pub(crate) fn multiply(a: &Operand, b: &Operand, shape: [usize; 3], c: &mut [f32], adder: Adder, result: Result) {
    run(a, b, shape, c, adder, result);
}

vectors! {
    fn run(a: &Operand, b: &Operand, shape: [usize; 3], c: &mut [f32], adder: Adder, result: Result) = choose
}

#[inline(always)]
fn choose(a: &Operand, b: &Operand, [m, n, k]: [usize; 3], c: &mut [f32], adder: Adder, result: Result) {
    let (mut fraction, mut max) = (0u32, 0u32);
    for x in c.iter() {
        fraction |= u32::from(x.trunc() != *x);
        max = max.max(x.to_bits() & 0x7FFF_FFFF);
    }
    let max = f32::from_bits(max);
    if a.special || b.special || !max.is_finite() {
        return scalar(a, b, [m, n, k], c, adder, result);
    }
    if let (Some(x), Some(y)) = (a.integral, b.integral)
        && result == Result::Single
        && fraction == 0
        // Integers below 2^R are never cut, whatever else is added.
        && x * y * k as f32 + max < (1 << adder.kept) as f32
    {
        return integers(a, b, [m, n, k], c);
    }
    // All products lie well inside f32, and their cut sum inside 32 bits.
    if a.reach.max(b.reach) <= NEAR && (k as u64) << (adder.aligned + 2) <= 1 << 31 {
        return near(a, b, [m, n, k], c, adder, result);
    }
    general(a, b, [m, n, k], c, adder, result);
}

/// Exponents of operands whose products and units of alignment are normal f32.
const NEAR: i32 = 30;

/// Sums that stay exact in f32, in any order.
#[inline(always)]
fn integers(a: &Operand, b: &Operand, [_, n, k]: [usize; 3], c: &mut [f32]) {
    for (xs, row) in a.values.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (j, out) in row.chunks_exact_mut(WIDTH).enumerate() {
            let mut sum = [0f32; WIDTH];
            for (x, ys) in xs.iter().zip(b.values.chunks_exact(n)) {
                let y = &ys[j * WIDTH..][..WIDTH];
                for w in 0..WIDTH {
                    sum[w] += x * y[w];
                }
            }
            for w in 0..WIDTH {
                // −0 results become +0.
                out[w] += sum[w] + 0.0;
            }
        }
    }
}

/// Outputs that are computed together.
const WIDTH: usize = 8;

/// The largest exponent of each output's addends: C and the products of a row of A with the columns `bs` yields step by step.
#[inline(always)]
fn top_exponents<'a>(c: &[f32], a: &[i32], bs: impl Iterator<Item = &'a [i32]>) -> [i32; WIDTH] {
    let mut top: [i32; WIDTH] = core::array::from_fn(|w| exponent(c[w]));
    for (e, f) in a.iter().zip(bs) {
        for w in 0..WIDTH {
            let sum = e + f[w];
            top[w] = top[w].max(sum);
        }
    }
    top
}

/// As [`general`], of operands whose exponents are at most [`NEAR`]: in f32, and sums in 32-bit integers.
#[inline(always)]
fn near(a: &Operand, b: &Operand, [m, n, k]: [usize; 3], c: &mut [f32], adder: Adder, result: Result) {
    for i in 0..m {
        let (xs, es) = (&a.values[i * k..][..k], &a.exponents[i * k..][..k]);
        for j in (0..n).step_by(WIDTH) {
            let row = &mut c[i * n + j..][..WIDTH];
            let top = top_exponents(row, es, b.exponents.chunks_exact(n).map(|fs| &fs[j..][..WIDTH]));
            let e = top.map(|e| if e < -1000 { 0 } else { e });
            // Without a product, C alone has a say, and it may be smaller than any product.
            let unit = e.map(|e| f32::from_bits(((adder.aligned - e.max(-2 * NEAR) + 127) as u32) << 23));
            let mut sum = [0i32; WIDTH];
            for (x, ys) in xs.iter().zip(b.values.chunks_exact(n)) {
                let y = &ys[j..][..WIDTH];
                for w in 0..WIDTH {
                    // SAFETY: operands are finite, and a product is below four times 2^E, which `unit` makes 2^F: at most
                    // 2^27, as the caller has checked.
                    sum[w] += unsafe { (x * y[w] * unit[w]).to_int_unchecked::<i32>() };
                }
            }
            let mut whole = [0f64; WIDTH];
            for w in 0..WIDTH {
                let c = (f64::from(row[w]) * power(adder.aligned - e[w])).trunc();
                whole[w] = (f64::from(sum[w]) + c) * power(e[w] - adder.aligned);
            }
            finish_all(&whole, row, adder, result);
        }
    }
}

#[inline(always)]
fn general(a: &Operand, b: &Operand, [m, n, k]: [usize; 3], c: &mut [f32], adder: Adder, result: Result) {
    for i in 0..m {
        let (xs, es) = (&a.values[i * k..][..k], &a.exponents[i * k..][..k]);
        for j in (0..n).step_by(WIDTH) {
            let row = &mut c[i * n + j..][..WIDTH];
            let top = top_exponents(row, es, b.exponents.chunks_exact(n).map(|fs| &fs[j..][..WIDTH]));
            let mut unit = [0f64; WIDTH];
            let mut sum = [0f64; WIDTH];
            for w in 0..WIDTH {
                // Zero operands give exponents far below; any unit serves then.
                let e = if top[w] < -1000 { 0 } else { top[w] };
                unit[w] = power(adder.aligned - e);
                sum[w] = (f64::from(row[w]) * unit[w]).trunc();
            }
            for (x, ys) in xs.iter().zip(b.values.chunks_exact(n)) {
                let (x, y) = (f64::from(*x), &ys[j..][..WIDTH]);
                for w in 0..WIDTH {
                    sum[w] += (x * f64::from(y[w]) * unit[w]).trunc();
                }
            }
            let whole = core::array::from_fn(|w| sum[w] / unit[w]);
            finish_all(&whole, row, adder, result);
        }
    }
}

/// 2^e, for exponents whose power is a normal f64.
#[inline(always)]
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// The exponent that an accumulator is aligned by.
#[inline(always)]
fn exponent(c: f32) -> i32 {
    let field = (c.to_bits() >> 23 & 255) as i32;
    if c == 0.0 { NO_EXPONENT } else { field.max(1) - 127 }
}

/// Exact sums as results.
#[inline(always)]
fn finish_all(sums: &[f64; WIDTH], out: &mut [f32], adder: Adder, result: Result) {
    if result == Result::Half {
        for (out, x) in out.iter_mut().zip(sums) {
            *out = f16::from_bits(f16::narrow(*x)).to_f32() + 0.0;
        }
        return;
    }
    for (out, x) in out.iter_mut().zip(sums) {
        let cut = f64::from_bits(x.to_bits() & !0 << (52 - adder.kept)) as f32;
        // Subnormal: a multiple of 2^-149.
        let tiny = ((x * power(149)).trunc() * power(-149)) as f32 + 0.0;
        *out = if x.abs() >= f64::from(f32::MIN_POSITIVE) { cut } else { tiny };
    }
}

/// As [`general`], with infinities and NaN among the operands.
fn scalar(a: &Operand, b: &Operand, [m, n, k]: [usize; 3], c: &mut [f32], adder: Adder, result: Result) {
    for j in 0..n {
        // One column, repeated to the width that is computed together.
        let values = (0..k).flat_map(|l| [b.values[l * n + j]; WIDTH]).collect();
        let exponents = (0..k).flat_map(|l| [b.exponents[l * n + j]; WIDTH]).collect();
        let y = Operand { values, exponents, ..Operand::default() };
        for i in 0..m {
            let products = (0..k).map(|l| f64::from(a.values[i * k + l]) * f64::from(b.values[l * n + j]));
            let plain = products.fold(f64::from(c[i * n + j]), |sum, x| match (sum.is_finite(), x.is_finite()) {
                // Finite addends cannot change what is not finite.
                (false, true) => sum,
                (true, true) => 0.0,
                _ => sum + x,
            });
            let out = &mut c[i * n + j];
            if !plain.is_finite() {
                *out = if plain.is_nan() { NAN } else { plain as f32 };
                continue;
            }
            let mut row = [*out; WIDTH];
            general(&a.rows(k, i, 1), &y, [1, WIDTH, k], &mut row, adder, result);
            *out = row[0];
        }
    }
}

/// `c = a · b + c` of integers; sums wrap, or are clamped once to 32 bits.
pub(crate) fn multiply_integers(a: &[i32], b: &[i32], [m, n, k]: [usize; 3], c: &mut [i32], saturate: bool) {
    for i in 0..m {
        for j in 0..n {
            let products = (0..k).map(|l| i64::from(a[i * k + l]) * i64::from(b[l * n + j]));
            let sum = products.sum::<i64>() + i64::from(c[i * n + j]);
            c[i * n + j] =
                if saturate { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32 } else { sum as i32 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwright_numeric::{Dtype, e4m3, f16};

    fn operand(values: &[f32], dtype: Dtype) -> Operand {
        let bits = values.iter().map(|x| match dtype {
            Dtype::F16 => u32::from(f16::from_f32(*x).to_bits()),
            Dtype::Bf16 => x.to_bits() >> 16,
            Dtype::E4m3 => u32::from(e4m3::from_f32(*x).to_bits()),
            _ => x.to_bits(),
        });
        let mut out = Operand::default();
        out.decode(&bits.collect::<Vec<_>>(), dtype);
        out
    }

    /// One output: the dot product of `a` and `b` plus `c`.
    fn dot(a: &[f32], b: &[f32], c: f32, dtype: Dtype, adder: Adder, result: Result) -> f32 {
        let k = a.len();
        let wide: Vec<f32> = b.iter().flat_map(|x| [*x; WIDTH]).collect();
        let mut out = [c; WIDTH];
        multiply(&operand(a, dtype), &operand(&wide, dtype), [1, WIDTH, k], &mut out, adder, result);
        assert!(out.iter().all(|x| x.to_bits() == out[0].to_bits()));
        out[0]
    }

    #[test]
    fn addends_are_cut_below_the_largest() {
        let one = |c: f32| dot(&[1.0; 16], &[1.0; 16], c, Dtype::Bf16, WIDE, Result::Single);
        assert_eq!(one(0.0), 16.0);
        // 2^25 keeps ones (F = 25), which R = 23 then cuts: 16 = 2^4 survives a unit of 4.
        assert_eq!(one(2f32.powi(25)), 2f32.powi(25) + 16.0);
        assert_eq!(one(2f32.powi(26)), 2f32.powi(26));
        // A product's exponent is the sum of its factors': 1.75 · 1.75 counts as 0.
        let mut a = [0.0; 16];
        (a[0], a[1]) = (1.75, 2f32.powi(-25));
        let b = [1.75, 1.0].into_iter().chain([0.0; 14]).collect::<Vec<_>>();
        let cut = dot(&a, &b, -3.0625, Dtype::Bf16, WIDE, Result::Single);
        assert_eq!(cut, 0.0, "C has exponent 1, so the unit is 2^-24");
    }

    #[test]
    fn fp8_keeps_fourteen_bits() {
        let ones = |c: f32| dot(&[1.0; 32], &[1.0; 32], c, Dtype::E4m3, NARROW, Result::Single);
        assert_eq!(ones(2f32.powi(13)), 2f32.powi(13) + 32.0);
        assert_eq!(ones(2f32.powi(14)), 2f32.powi(14));
        let c = 1.0 + 2f32.powi(-14);
        assert_eq!(dot(&[0.0; 32], &[0.0; 32], c, Dtype::E4m3, NARROW, Result::Single), 1.0);
    }

    #[test]
    fn specials_and_zeros() {
        let inf = f32::INFINITY;
        let run = |a: &[f32], b: &[f32], c| dot(a, b, c, Dtype::Tf32, WIDE, Result::Single);
        let zeros = [0.0; 8];
        assert_eq!(run(&zeros, &zeros, -0.0).to_bits(), 0);
        assert_eq!(run(&[inf; 8], &zeros, 0.0).to_bits(), 0x7FFF_FFFF);
        assert_eq!(run(&zeros, &zeros, -inf), -inf);
        let big = 2f32.powi(127);
        assert_eq!(run(&[big, -big, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[1.0; 8], big), big);
        // Eight times 2^-146, a subnormal.
        assert_eq!(run(&[2f32.powi(-100); 8], &[2f32.powi(-46); 8], 0.0).to_bits(), 64);
    }

    #[test]
    fn half_accumulators_round_once() {
        let x = 1.0 + 2f32.powi(-10);
        // 1 + 2^-11 ties to even in f16, where two roundings would have cut it.
        let a: Vec<f32> = core::iter::once(1.0).chain([0.0; 15]).collect();
        let b: Vec<f32> = core::iter::once(2f32.powi(-11)).chain([0.0; 15]).collect();
        assert_eq!(dot(&a, &b, 1.0, Dtype::F16, WIDE, Result::Half), 1.0);
        assert_eq!(dot(&a, &b, x, Dtype::F16, WIDE, Result::Half), 1.0 + 2f32.powi(-9));
        assert_eq!(dot(&[256.0; 16], &[256.0; 16], 0.0, Dtype::F16, WIDE, Result::Half), f32::INFINITY);
    }

    #[test]
    fn the_shortcut_for_integers_agrees() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 24) % 17) as f32 - 8.0
        };
        let a: Vec<f32> = (0..16 * 16).map(|_| next()).collect();
        let b: Vec<f32> = (0..16 * 8).map(|_| next()).collect();
        let (a, b) = (operand(&a, Dtype::F16), operand(&b, Dtype::F16));
        let mut fast: Vec<f32> = (0..128).map(|_| next()).collect();
        let mut slow = fast.clone();
        integers(&a, &b, [16, 8, 16], &mut fast);
        general(&a, &b, [16, 8, 16], &mut slow, WIDE, Result::Single);
        assert_eq!(fast, slow);
    }

    #[test]
    fn sums_in_32_bits_agree_with_the_general_ones() {
        let mut state = 5u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for (dtype, adder, k) in
            [(Dtype::F16, WIDE, 16), (Dtype::Bf16, WIDE, 16), (Dtype::Tf32, WIDE, 8), (Dtype::E4m3, NARROW, 32)]
        {
            for spread in [1, 4, 14] {
                // Zeros, the largest fractions, and exponents around 0.
                let mut value = || {
                    let e = (next() % (2 * spread + 1)) as i32 - spread as i32;
                    let x = (1.0 + [0.0, 0.999, next() as f32 / u32::MAX as f32][next() as usize % 3]) * 2f32.powi(e);
                    [x, -x, x, 0.0][next() as usize % 4]
                };
                let a: Vec<f32> = (0..16 * k).map(|_| value()).collect();
                let b: Vec<f32> = (0..8 * k).map(|_| value()).collect();
                let c: Vec<f32> = (0..128).map(|i| value() * 2f32.powi([0, 30, -30, 120, -120][i % 5])).collect();
                let (a, b) = (operand(&a, dtype), operand(&b, dtype));
                for result in [Result::Single, Result::Half] {
                    let (mut fast, mut slow) = (c.clone(), c.clone());
                    near(&a, &b, [16, 8, k], &mut fast, adder, result);
                    general(&a, &b, [16, 8, k], &mut slow, adder, result);
                    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&fast), bits(&slow), "{dtype:?} {spread} {result:?}");
                }
            }
        }
    }

    #[test]
    fn integer_sums_wrap_or_clamp() {
        let mut c = [i32::MAX; 8];
        multiply_integers(&[1], &[1; 8], [1, 8, 1], &mut c, false);
        assert_eq!(c, [i32::MIN; 8]);
        let mut c = [i32::MAX; 8];
        multiply_integers(&[1], &[1; 8], [1, 8, 1], &mut c, true);
        assert_eq!(c, [i32::MAX; 8]);
    }
}
