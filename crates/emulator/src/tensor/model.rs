//! What a tensor core computes, bit for bit as an H200 does (measured; other architectures may differ).
//!
//! One step takes C and all K products at once. A product's exponent is the sum of its factors' exponents. Every addend is
//! cut, toward zero, to a multiple of 2^(E−F), with E the largest exponent among C and the products that are not zero; the
//! cut addends are summed exactly, and the sum is cut to R fraction bits of its own. All of it is done in f64, whose sums
//! and products are exact here.

use super::operand::{self, NO_EXPONENT, Operand, is_whole, to_f16};
use super::vectors::{Vector, vectors};
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

/// Outputs that are computed together: a row.
const WIDTH: usize = 8;

/// 16 rows of accumulators.
pub(crate) type Tile = [[f32; WIDTH]; 16];

/// `c = a · b + c` of 16 rows of A and 8 columns of B.
#[inline(always)]
pub(crate) fn multiply<V: Vector>(a: &Operand, b: &Operand, c: &mut Tile, adder: Adder, result: Result) {
    match a.k {
        4 => choose::<V, 4>(a, b, c, adder, result),
        8 => choose::<V, 8>(a, b, c, adder, result),
        16 => choose::<V, 16>(a, b, c, adder, result),
        _ => choose::<V, 32>(a, b, c, adder, result),
    }
}

#[inline(always)]
fn choose<V: Vector, const K: usize>(a: &Operand, b: &Operand, c: &mut Tile, adder: Adder, result: Result) {
    let (mut whole, mut max) = (V::splat(!0), V::splat(0));
    for row in c.iter() {
        let magnitude = V::fload(row).and(V::splat(0x7FFF_FFFF));
        whole = whole.and(is_whole(magnitude));
        max = max.max(magnitude);
    }
    let max = f32::from_bits(max.words().into_iter().fold(0, u32::max));
    if a.special || b.special || !max.is_finite() {
        return scalar(a, b, c, adder, result);
    }
    if let (Some(x), Some(y)) = (a.integral, b.integral)
        && result == Result::Single
        && !whole.xor(V::splat(!0)).is_any_negative()
        // Integers below 2^R are never cut, whatever else is added.
        && x * y * K as f32 + max < (1 << adder.kept) as f32
    {
        return integers::<V, K>(a, b, c);
    }
    // All products lie well inside f32, and their cut sum inside 32 bits.
    if a.reach.max(b.reach) <= NEAR && (K as u64) << (adder.aligned + 2) <= 1 << 31 {
        return near::<V, K>(a, b, c, adder, result);
    }
    general(a, b, c, adder, result);
}

/// Exponents of operands whose products, and the units that those are aligned to, are normal f32.
const NEAR: i32 = 50;

/// An operand's rows of `N`: of A its K, of B its columns.
#[inline(always)]
fn rows<const N: usize, T>(all: &[T]) -> &[[T; N]] {
    all.as_chunks::<N>().0
}

/// The same of `M` rows.
#[inline(always)]
fn matrix<const M: usize, const N: usize, T>(all: &[T]) -> Option<&[[T; N]; M]> {
    rows::<N, T>(all).as_array()
}

/// Sums that stay exact in f32, in any order.
#[inline(always)]
fn integers<V: Vector, const K: usize>(a: &Operand, b: &Operand, c: &mut Tile) {
    let (Some(xs), Some(ys)) = (matrix::<16, K, _>(&a.values), matrix::<K, WIDTH, _>(&b.values)) else { return };
    for (xs, row) in xs.iter().zip(c) {
        let mut sum = V::splat(0);
        for (x, y) in xs.iter().zip(ys) {
            sum = sum.fadd(V::fsplat(*x).fmul(V::fload(y)));
        }
        // −0 results become +0.
        V::fload(row).fadd(sum.fadd(V::splat(0))).fstore(row);
    }
}

/// As [`general`], of operands whose exponents are at most [`NEAR`]: in f32 and 32-bit integers. What does not fit them goes
/// the general way.
#[inline(always)]
fn near<V: Vector, const K: usize>(a: &Operand, b: &Operand, c: &mut Tile, adder: Adder, result: Result) {
    let (Some(xs), Some(ys)) = (matrix::<16, K, _>(&a.values), matrix::<K, WIDTH, _>(&b.values)) else { return };
    let (Some(es), Some(fs)) = (matrix::<16, K, _>(&a.exponents), matrix::<K, WIDTH, _>(&b.exponents)) else { return };
    let aligned = V::of(adder.aligned);
    for ((xs, es), row) in xs.iter().zip(es).zip(c) {
        let own = V::fload(row);
        let mut top = exponents(own);
        for (e, f) in es.iter().zip(fs) {
            top = top.max(V::of(*e).add(V::load(bytemuck::cast_ref(f))));
        }
        // Without any addend any unit serves.
        top = V::choose(V::of(NO_EXPONENT / 2).greater(top), V::splat(0), top);
        let e = top.max(V::of(-2 * NEAR));
        let unit = power32(aligned.sub(e));
        // A product is below four times 2^E, which `unit` makes 2^F: at most 2^27, as the caller has checked.
        let mut sum = V::splat(0);
        for (x, y) in xs.iter().zip(ys) {
            sum = sum.add(V::fsplat(*x).fmul(V::fload(y)).fmul(unit).fcut());
        }
        // C is below 2^(E+1), thus below 2^26 here.
        let own = own.fmul(unit).fcut();
        let total = sum.add(own);
        // The sum of all wraps, or C alone has a say and is smaller than any product.
        let odd = sum.xor(total).and(own.xor(total)).or(top.sub(e));
        if odd.is_any_negative() {
            general_row(xs, es, b, row, adder, result);
            continue;
        }
        let half = result == Result::Half;
        let out = finish(total, half, adder).fmul(power32(e.sub(aligned)));
        if half { operand::f16(to_f16(out)).fadd(V::splat(0)) } else { out }.fstore(row);
    }
}

/// The exponents that accumulators are aligned by.
#[inline(always)]
fn exponents<V: Vector>(c: V) -> V {
    let magnitude = c.and(V::splat(0x7FFF_FFFF));
    let exponent = magnitude.shr::<23>().max(V::splat(1)).sub(V::splat(127));
    V::choose(magnitude.equal(V::splat(0)), V::of(NO_EXPONENT), exponent)
}

/// 2^e, for exponents whose power is a normal f32.
#[inline(always)]
fn power32<V: Vector>(e: V) -> V {
    e.add(V::splat(127)).shl::<23>()
}

/// The largest f32 below 2^31.
const LARGEST: f32 = 2_147_483_520.0;

/// 32-bit sums as f32: cut to R bits of fraction, or, where they are to be rounded again, with the last bit set if inexact.
#[inline(always)]
fn finish<V: Vector>(total: V, odd: bool, adder: Adder) -> V {
    let magnitude = total.abs();
    // What would become 2^31 is cut to the largest f32 below, but the magnitude 2^31 itself, which is taken for −2^31.
    let nearest = magnitude.to_float().fmin(V::fsplat(LARGEST));
    let error = magnitude.sub(nearest.fcut());
    let cut = nearest.add(error.sra::<31>());
    let bits = if odd {
        cut.or(V::choose(error.equal(V::splat(0)), V::splat(0), V::splat(1)))
    } else {
        cut.and(V::splat(!0 << (23 - adder.kept)))
    };
    bits.or(total.and(V::splat(1 << 31)))
}

/// As [`near`], for any finite operands, in f64.
fn general(a: &Operand, b: &Operand, c: &mut Tile, adder: Adder, result: Result) {
    let k = a.k;
    for ((xs, es), row) in a.values.chunks_exact(k).zip(a.exponents.chunks_exact(k)).zip(c) {
        general_row(xs, es, b, row, adder, result);
    }
}

vectors! {
    fn general_row(xs: &[f32], es: &[i32], b: &Operand, row: &mut [f32; WIDTH], adder: Adder, result: Result) = doubles
}

#[inline(always)]
fn doubles<V: Vector>(xs: &[f32], es: &[i32], b: &Operand, row: &mut [f32; WIDTH], adder: Adder, result: Result) {
    let mut top = [0; WIDTH];
    exponents(V::fload(row)).store(bytemuck::cast_mut(&mut top));
    for (e, f) in es.iter().zip(rows::<WIDTH, _>(&b.exponents)) {
        for w in 0..WIDTH {
            top[w] = top[w].max(e + f[w]);
        }
    }
    // Without any addend any unit serves.
    let top = top.map(|e| if e < NO_EXPONENT / 2 { 0 } else { e });
    let unit = top.map(|e| power(adder.aligned - e));
    let mut sum: [f64; WIDTH] = core::array::from_fn(|w| (f64::from(row[w]) * unit[w]).trunc());
    for (x, y) in xs.iter().zip(rows::<WIDTH, _>(&b.values)) {
        for w in 0..WIDTH {
            sum[w] += (f64::from(*x) * f64::from(y[w]) * unit[w]).trunc();
        }
    }
    let whole = core::array::from_fn(|w| sum[w] / unit[w]);
    finish_all(&whole, row, adder, result);
}

/// 2^e, for exponents whose power is a normal f64.
#[inline(always)]
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
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
fn scalar(a: &Operand, b: &Operand, c: &mut Tile, adder: Adder, result: Result) {
    let k = a.k;
    for ((xs, es), row) in a.values.chunks_exact(k).zip(a.exponents.chunks_exact(k)).zip(c) {
        let before = *row;
        // Right where all addends are finite: columns know nothing of each other.
        general_row(xs, es, b, row, adder, result);
        for w in 0..WIDTH {
            let products = xs.iter().zip(rows::<WIDTH, _>(&b.values)).map(|(x, y)| f64::from(*x) * f64::from(y[w]));
            let plain = products.fold(f64::from(before[w]), |sum, x| match (sum.is_finite(), x.is_finite()) {
                // Finite addends cannot change what is not finite.
                (false, true) => sum,
                (true, true) => 0.0,
                _ => sum + x,
            });
            if !plain.is_finite() {
                row[w] = if plain.is_nan() { NAN } else { plain as f32 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::operand::{Side, tests};
    use super::*;
    use warpwright_numeric::{Dtype, e4m3, f16};

    fn operand(values: &[f32], dtype: Dtype, side: Side) -> Operand {
        let bits = values.iter().map(|x| match dtype {
            Dtype::F16 => u32::from(f16::from_f32(*x).to_bits()),
            Dtype::Bf16 => x.to_bits() >> 16,
            Dtype::E4m3 => u32::from(e4m3::from_f32(*x).to_bits()),
            _ => x.to_bits(),
        });
        tests::operand(&bits.collect::<Vec<_>>(), dtype, side)
    }

    /// One output: the dot product of `a` and `b` plus `c`.
    fn dot(a: &[f32], b: &[f32], c: f32, dtype: Dtype, adder: Adder, result: Result) -> f32 {
        let wide: Vec<f32> = b.iter().flat_map(|x| [*x; WIDTH]).collect();
        let mut out = [[c; WIDTH]; 16];
        let (a, b) = (operand(&a.repeat(16), dtype, Side::A), operand(&wide, dtype, Side::B));
        multiply::<[u32; 8]>(&a, &b, &mut out, adder, result);
        assert!(out.as_flattened().iter().all(|x| x.to_bits() == out[0][0].to_bits()));
        out[0][0]
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

    fn generator(seed: u64) -> impl FnMut() -> u32 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        }
    }

    #[test]
    fn the_shortcut_for_integers_agrees() {
        let mut next = generator(1);
        let mut value = || (next() % 17) as f32 - 8.0;
        let a: Vec<f32> = (0..16 * 16).map(|_| value()).collect();
        let b: Vec<f32> = (0..16 * 8).map(|_| value()).collect();
        let (a, b) = (operand(&a, Dtype::F16, Side::A), operand(&b, Dtype::F16, Side::B));
        let mut fast = core::array::from_fn(|_| core::array::from_fn(|_| value()));
        let mut slow = fast;
        integers::<[u32; 8], 16>(&a, &b, &mut fast);
        general(&a, &b, &mut slow, WIDE, Result::Single);
        assert_eq!(fast, slow);
    }

    /// Of elements whose exponents reach to `reach`.
    fn agree<const K: usize>(dtype: Dtype, adder: Adder, reach: u32) {
        let mut next = generator(5);
        for spread in [0, 1, 4, 14, 45].into_iter().filter(|s| *s <= reach) {
            // Zeros, the largest fractions, and exponents around 0; sums of one sign, which fill 32 bits, and of both.
            for signs in [1, 2] {
                let mut value = || {
                    let e = (next() % (2 * spread + 1)) as i32 - spread as i32;
                    let fraction = [0.0, 0.999, next() as f32 / u32::MAX as f32][next() as usize % 3];
                    let x = (1.0 + fraction) * 2f32.powi(e);
                    if next().is_multiple_of(8) { 0.0 } else { [x, -x][next() as usize % signs] }
                };
                let a: Vec<f32> = (0..16 * K).map(|_| value()).collect();
                let b: Vec<f32> = (0..8 * K).map(|_| value()).collect();
                let scales = [0, 3, 30, -30, 80, -120];
                let c: Tile =
                    core::array::from_fn(|i| core::array::from_fn(|j| value() * 2f32.powi(scales[(8 * i + j) % 6])));
                let (mut a, b) = (operand(&a, dtype, Side::A), operand(&b, dtype, Side::B));
                // Rows without a product, in which C may be tiny.
                a.values[..2 * K].fill(0.0);
                a.exponents[..2 * K].fill(NO_EXPONENT);
                for result in [Result::Single, Result::Half] {
                    let (mut fast, mut slow) = (c, c);
                    near::<[u32; 8], K>(&a, &b, &mut fast, adder, result);
                    general(&a, &b, &mut slow, adder, result);
                    let bits = |x: Tile| x.map(|row| row.map(f32::to_bits));
                    assert_eq!(bits(fast), bits(slow), "{dtype:?} {spread} {signs} {result:?}");
                }
            }
        }
    }

    #[test]
    fn sums_in_32_bits_agree_with_the_general_ones() {
        agree::<16>(Dtype::F16, WIDE, 14);
        agree::<8>(Dtype::F16, WIDE, 14);
        agree::<16>(Dtype::Bf16, WIDE, 45);
        agree::<8>(Dtype::Tf32, WIDE, 45);
        agree::<4>(Dtype::Tf32, WIDE, 45);
        agree::<32>(Dtype::E4m3, NARROW, 7);
    }

    #[test]
    fn sums_of_32_bits_are_cut_and_marked() {
        // 24 bits are kept; what is lost shows in the last of them, where it is asked for.
        let edges = [
            0,
            1,
            -1,
            1 << 24,
            (1 << 24) + 1,
            -(1 << 24) - 3,
            (1 << 30) + 63,
            i32::MAX,
            i32::MAX - 128,
            i32::MIN,
            i32::MIN + 1,
        ];
        for total in edges {
            let magnitude = total.unsigned_abs();
            let drop = 8u32.saturating_sub(magnitude.leading_zeros());
            let (cut, lost) = (magnitude >> drop << drop, magnitude & ((1 << drop) - 1) != 0);
            let expected = cut as f32 * if total < 0 { -1.0 } else { 1.0 };
            let of = |odd| finish([total as u32; 8], odd, WIDE)[0];
            assert_eq!(of(false), expected.to_bits(), "{total}");
            assert_eq!(of(true), expected.to_bits() | u32::from(lost), "{total}");
        }
        assert_eq!(finish([(1 << 14) + 1; 8], false, NARROW), [2f32.powi(14).to_bits(); 8]);
    }
}
