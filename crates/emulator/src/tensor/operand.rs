//! Matrix operands as the model wants them: exact values, and exponents as the hardware aligns by them.

use super::fragment::{Lanes, place, to_rows};
use super::vectors::{self, Vector, each};
use warpwright_numeric::Dtype;

/// Exponent of a zero: below every other.
pub(crate) const NO_EXPONENT: i32 = -1_000_000;

/// Decoded elements: of A 16 rows of `k`, of B `k` rows of 8.
#[derive(Clone, Default)]
pub(crate) struct Operand {
    pub k: usize,
    /// Every element type that is not f64 fits f32.
    pub values: Vec<f32>,
    /// Exponents of the values' encodings: subnormals have the smallest normal one, zeros [`NO_EXPONENT`].
    pub exponents: Vec<i32>,
    /// An infinity or NaN is among the values.
    pub special: bool,
    /// The largest magnitude, if all values are integers.
    pub integral: Option<f32>,
    /// The largest magnitude of an exponent.
    pub reach: i32,
}

/// Which elements of the registers are decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    All,
    /// 8-bit elements as f16: the first two bytes of each word, or the others.
    Half(usize),
}

/// Which operand it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    A,
    B,
}

impl Operand {
    /// Decodes what registers hold. tf32's low 13 bits are ignored.
    #[inline(always)]
    pub fn decode<V: Vector>(&mut self, registers: &[&Lanes], dtype: Dtype, side: Side, part: Part) {
        let elements = match part {
            Part::All => 0..32 / dtype.bits(),
            Part::Half(half) => 2 * half..2 * half + 2,
        };
        // As f16 an e4m3 is never subnormal.
        let smallest = if dtype == Dtype::E4m3 && part == Part::All { -6 } else { -14 };
        match dtype {
            Dtype::F16 => self.fill::<V, F16>(registers, elements, side, -14),
            Dtype::Bf16 => self.fill::<V, Bf16>(registers, elements, side, -126),
            Dtype::E4m3 => self.fill::<V, E4m3>(registers, elements, side, smallest),
            Dtype::E5m2 => self.fill::<V, E5m2>(registers, elements, side, -14),
            _ => self.fill::<V, Tf32>(registers, elements, side, -126),
        }
    }

    /// Elements of a type, those numbered `elements` of each word.
    #[inline(always)]
    fn fill<V: Vector, E: Widen>(
        &mut self,
        registers: &[&Lanes],
        elements: core::ops::Range<usize>,
        side: Side,
        smallest: i32,
    ) {
        let per = elements.len();
        let groups = if side == Side::A { 2 } else { 1 };
        let len = 32 * per * registers.len();
        self.k = 4 * per * registers.len() / groups;
        self.values.resize(len, 0.0);
        self.exponents.resize(len, 0);
        let mut found = Found::new();
        for (r, words) in registers.iter().enumerate() {
            let words = vectors::load::<V>(words);
            for (i, element) in elements.clone().enumerate() {
                let keep = V::splat((u64::MAX >> (64 - E::BITS)) as u32);
                let values = each!(words, w => E::widen(w.shift_right((element * E::BITS) as u32).and(keep)));
                let exponents = each!(values, x => found.look_at(x, smallest));
                let (row, column) = place(r, i, per, groups);
                match side {
                    Side::A => {
                        let at = row * self.k + column;
                        to_rows(values, bytemuck::cast_slice_mut(&mut self.values[at..]), self.k);
                        to_rows(exponents, bytemuck::cast_slice_mut(&mut self.exponents[at..]), self.k);
                    }
                    Side::B => {
                        let (values, exponents) = (V::transpose(values), V::transpose(exponents));
                        let to = &mut self.values.as_chunks_mut::<32>().0[column / 4];
                        vectors::store(values, bytemuck::cast_mut(to));
                        let to = &mut self.exponents.as_chunks_mut::<32>().0[column / 4];
                        vectors::store(exponents, bytemuck::cast_mut(to));
                    }
                }
            }
        }
        found.summarise(self);
    }

    /// The same with every value negated.
    pub fn negate(&mut self) {
        self.values.iter_mut().for_each(|x| *x = -*x);
    }
}

/// f16 bits as f32, without branches: the fields are moved and the bias is corrected by a power of two.
#[inline(always)]
pub(crate) fn f16<V: Vector>(bits: V) -> V {
    let x = bits.and(V::splat(0x7FFF)).shl::<13>().fmul(V::splat(0x7780_0000));
    let largest = V::splat(0x7C00);
    let special = bits.and(largest).equal(largest).and(V::splat(0x7F80_0000));
    x.or(special).or(bits.and(V::splat(0x8000)).shl::<16>())
}

/// f32 as f16 bits, to nearest even, NaN as tensor cores make it.
#[inline(always)]
pub(crate) fn to_f16<V: Vector>(x: V) -> V {
    let magnitude = x.and(V::splat(0x7FFF_FFFF));
    let even = magnitude.shr::<13>().and(V::splat(1));
    let normal = magnitude.sub(V::splat(0x3800_0000 - 0xFFF)).add(even).shr::<13>();
    // The sum's last place is that of f16's subnormals.
    let subnormal = magnitude.fadd(V::fsplat(0.5)).sub(V::fsplat(0.5));
    let finite = V::choose(V::splat(0x3880_0000).greater(magnitude), subnormal, normal);
    let rounded = V::choose(magnitude.greater(V::splat(0x477F_FFFF)), V::splat(0x7C00), finite);
    let signed = rounded.or(x.shr::<16>().and(V::splat(0x8000)));
    V::choose(magnitude.greater(V::splat(0x7F80_0000)), V::splat(0x7FFF), signed)
}

/// An element type's bits as f32. Types, because functions that are passed on would not be compiled for the processor's
/// vectors.
trait Widen {
    const BITS: usize;
    fn widen<V: Vector>(bits: V) -> V;
}

struct F16;
struct Bf16;
struct E4m3;
struct E5m2;
struct Tf32;

impl Widen for F16 {
    const BITS: usize = 16;
    #[inline(always)]
    fn widen<V: Vector>(bits: V) -> V {
        f16(bits)
    }
}

impl Widen for Bf16 {
    const BITS: usize = 16;
    #[inline(always)]
    fn widen<V: Vector>(bits: V) -> V {
        bits.shl::<16>()
    }
}

impl Widen for E4m3 {
    const BITS: usize = 8;
    #[inline(always)]
    fn widen<V: Vector>(bits: V) -> V {
        let magnitude = bits.and(V::splat(0x7F));
        let x = magnitude.shl::<20>().fmul(V::splat(0x7B80_0000));
        let special = magnitude.equal(V::splat(0x7F)).and(V::splat(0x7FFF_FFFF));
        x.or(special).or(bits.and(V::splat(0x80)).shl::<24>())
    }
}

impl Widen for E5m2 {
    const BITS: usize = 8;
    #[inline(always)]
    fn widen<V: Vector>(bits: V) -> V {
        f16(bits.shl::<8>())
    }
}

impl Widen for Tf32 {
    const BITS: usize = 32;
    #[inline(always)]
    fn widen<V: Vector>(bits: V) -> V {
        bits.and(V::splat(!0x1FFF))
    }
}

/// Whether floats are integers, by all ones; those of 2^31 and more may be said to be none.
#[inline(always)]
pub(crate) fn is_whole<V: Vector>(magnitude: V) -> V {
    magnitude.fcut().to_float().equal(magnitude)
}

/// What the values have in common, of each of eight columns.
struct Found<V> {
    whole: V,
    /// The largest magnitude, and the smallest but zero.
    largest: V,
    smallest: V,
}

impl<V: Vector> Found<V> {
    #[inline(always)]
    fn new() -> Found<V> {
        Found { whole: V::splat(!0), largest: V::splat(0), smallest: V::of(i32::MAX) }
    }

    /// Notes values; gives back their exponents, none of them below `smallest`.
    #[inline(always)]
    fn look_at(&mut self, x: V, smallest: i32) -> V {
        let magnitude = x.and(V::splat(0x7FFF_FFFF));
        let zero = magnitude.equal(V::splat(0));
        self.whole = self.whole.and(is_whole(magnitude));
        self.largest = self.largest.max(magnitude);
        self.smallest = self.smallest.min(V::choose(zero, V::of(i32::MAX), magnitude));
        let exponent = magnitude.shr::<23>().sub(V::splat(127)).max(V::of(smallest));
        V::choose(zero, V::of(NO_EXPONENT), exponent)
    }

    #[inline(always)]
    fn summarise(&self, operand: &mut Operand) {
        let largest = self.largest.words().into_iter().fold(0, u32::max);
        let smallest = self.smallest.words().into_iter().fold(u32::MAX, u32::min);
        let reach = |magnitude: u32| ((magnitude >> 23) as i32 - 127).abs();
        operand.special = largest >= 0x7F80_0000;
        let whole = !self.whole.xor(V::splat(!0)).is_any_negative();
        operand.integral = (whole && !operand.special).then_some(f32::from_bits(largest));
        operand.reach = if largest == 0 { 0 } else { reach(largest).max(reach(smallest)) };
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use warpwright_numeric::{bf16, e4m3, e5m2, f16 as half};

    /// An operand of elements in the order in which operands keep them, for which registers are made up. `k` is a multiple
    /// of 4.
    pub(crate) fn operand(bits: &[u32], dtype: Dtype, side: Side) -> Operand {
        let per = 32 / dtype.bits();
        let k = bits.len() / if side == Side::A { 16 } else { 8 };
        let groups = if side == Side::A { 2 } else { 1 };
        let mut registers = vec![[0; 32]; bits.len() / 32 / per];
        for (r, words) in registers.iter_mut().enumerate() {
            for (i, l) in (0..per).flat_map(|i| (0..32).map(move |l| (i, l))) {
                let (row, column) = place(r, i, per, groups);
                let at = match side {
                    Side::A => (row + l / 4) * k + column + l % 4,
                    Side::B => (column + l % 4) * 8 + l / 4,
                };
                words[l] |= bits[at] << (i * dtype.bits());
            }
        }
        let mut out = Operand::default();
        out.decode::<[u32; 8]>(&registers.iter().collect::<Vec<_>>(), dtype, side, Part::All);
        assert_eq!(out.k, k);
        out
    }

    #[test]
    fn every_encoding_is_decoded_exactly() {
        let check = |dtype: Dtype, count: u32, widen: fn(u32) -> f32| {
            let bits: Vec<u32> = (0..count).collect();
            for side in [Side::A, Side::B] {
                for bits in bits.chunks(256) {
                    let operand = operand(bits, dtype, side);
                    for (b, x) in bits.iter().zip(&operand.values) {
                        let y = widen(*b);
                        assert!(x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(), "{dtype:?} {b:#x}: {x} {y}");
                    }
                }
            }
        };
        check(Dtype::F16, 1 << 16, |b| half::from_bits(b as u16).to_f32());
        check(Dtype::Bf16, 1 << 16, |b| bf16::from_bits(b as u16).to_f32());
        check(Dtype::E4m3, 256, |b| e4m3::from_bits(b as u8).to_f32());
        check(Dtype::E5m2, 256, |b| e5m2::from_bits(b as u8).to_f32());
    }

    #[test]
    fn halves_of_words_are_f16() {
        // Bytes 2 and 3 of each word: 2^-9, a subnormal of e4m3, and 448.
        let mut out = Operand::default();
        out.decode::<[u32; 8]>(&[&[0x7E01_3838; 32]], Dtype::E4m3, Side::B, Part::Half(1));
        assert_eq!((out.k, out.values[0], out.values[32]), (8, 2f32.powi(-9), 448.0));
        assert_eq!((out.exponents[0], out.exponents[32]), (-9, 8));
    }

    #[test]
    fn exponents_of_subnormals_and_zeros() {
        let of = |bits: [u32; 4]| operand(&bits.repeat(16), Dtype::F16, Side::A);
        assert_eq!(of([0, 1, 0x3C00, 0x3FFF]).exponents[..4], [NO_EXPONENT, -14, 0, 0]);
        assert_eq!(of([0x3C00, 0xC000, 0, 0]).integral, Some(2.0));
        assert_eq!(of([0x3C00, 0xC000, 0, 0]).reach, 1);
        assert_eq!(of([0x3C00, 0x0400, 0, 0]).reach, 14);
        assert!(of([0x7C00, 0, 0, 0]).special && of([0x7C00, 0, 0, 0]).integral.is_none());
        assert_eq!(of([0; 4]).reach, 0);
    }

    #[test]
    fn f16_is_rounded_to_nearest_even() {
        let to = |x: f32| to_f16([x.to_bits(); 8])[0];
        let from = |bits: u32| f32::from_bits(f16([bits; 8])[0]);
        // Every f16, and what lies on and beside the middle between it and the next.
        for bits in (0..0x7C00u32).flat_map(|b| [b, b | 0x8000]) {
            let x = from(bits);
            assert_eq!(to(x), bits);
            let next = from(bits + 1);
            let middle = if next.is_finite() { (x + next) / 2.0 } else { x * (65520.0 / 65504.0) };
            for y in [middle.next_down(), middle, middle.next_up()] {
                assert_eq!(to(y), u32::from(half::from_f32(y).to_bits()), "{y:e}");
            }
        }
        for x in [f32::MAX, f32::INFINITY, -65520.0, f32::from_bits(1), -1e-30] {
            assert_eq!(to(x), u32::from(half::from_f32(x).to_bits()), "{x:e}");
        }
        assert_eq!(to(-f32::NAN), 0x7FFF);
    }
}
