//! Integer products on tensor cores.

use super::fragment::{Lanes, place, to_rows};
use super::operand::Side;
use super::vectors::{self, Vector, each};
use warpwright_numeric::Dtype;

/// Sign- or zero-extends what registers hold into rows of A, of which there are 8 · `groups`, or of B. Returns K.
#[inline(always)]
pub(crate) fn extend<V: Vector>(
    registers: &[&Lanes],
    dtype: Dtype,
    side: Side,
    groups: usize,
    out: &mut [i32],
) -> usize {
    let per = 32 / dtype.bits();
    let k = 4 * per * registers.len() / groups;
    for (r, words) in registers.iter().enumerate() {
        for element in 0..per {
            let words = each!(vectors::load::<V>(words), w => w.shift_right((dtype.bits() * element) as u32));
            let values = match dtype {
                Dtype::I8 => each!(words, w => w.shl::<24>().sra::<24>()),
                Dtype::U8 => each!(words, w => w.and(V::splat(0xFF))),
                Dtype::I4 => each!(words, w => w.shl::<28>().sra::<28>()),
                _ => each!(words, w => w.and(V::splat(0xF))),
            };
            let (row, column) = place(r, element, per, groups);
            match side {
                Side::A => to_rows(values, bytemuck::cast_slice_mut(&mut out[row * k + column..]), k),
                Side::B => {
                    let to = &mut out.as_chunks_mut::<32>().0[column / 4];
                    vectors::store(V::transpose(values), bytemuck::cast_mut(to));
                }
            }
        }
    }
    k
}

/// `c = a · b + c` of rows of `k` and 8 columns; sums wrap, or are clamped once to 32 bits.
#[inline(always)]
pub(crate) fn multiply(a: &[i32], b: &[i32], k: usize, c: &mut [[i32; 8]], saturate: bool) {
    for (xs, row) in a.chunks_exact(k).zip(c) {
        let mut sum = [0i32; 8];
        for (x, y) in xs.iter().zip(b.as_chunks::<8>().0) {
            for w in 0..8 {
                // Products of 8-bit numbers: 64 of them stay far below 2^31.
                sum[w] += x * y[w];
            }
        }
        for w in 0..8 {
            row[w] = if saturate { row[w].saturating_add(sum[w]) } else { row[w].wrapping_add(sum[w]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_wrap_or_clamp() {
        for (saturate, found) in [(false, i32::MIN), (true, i32::MAX)] {
            let mut c = [[i32::MAX; 8]];
            multiply(&[1, 0], &[1; 16], 2, &mut c, saturate);
            assert_eq!(c, [[found; 8]]);
        }
    }

    #[test]
    fn elements_are_extended() {
        let mut out = [0; 8 * 32];
        for (dtype, word, k, expected) in [
            (Dtype::I8, 0x80_7F_FF_01u32, 16, vec![1, -1, 127, -128]),
            (Dtype::U8, 0x80_7F_FF_01, 16, vec![1, 255, 127, 128]),
            (Dtype::I4, 0x8765_4321, 32, vec![1, 2, 3, 4, 5, 6, 7, -8]),
            (Dtype::U4, 0x8765_4321, 32, vec![1, 2, 3, 4, 5, 6, 7, 8]),
        ] {
            assert_eq!(extend::<[u32; 8]>(&[&[word; 32]], dtype, Side::A, 1, &mut out), k);
            let row: Vec<i32> = out[..k].iter().copied().step_by(4).collect();
            assert_eq!(row, expected, "{dtype:?}");
            assert_eq!(extend::<[u32; 8]>(&[&[word; 32]], dtype, Side::B, 1, &mut out), k);
            let column: Vec<i32> = out[..8 * k].iter().copied().step_by(32).collect();
            assert_eq!(column, expected, "{dtype:?}");
        }
    }
}
