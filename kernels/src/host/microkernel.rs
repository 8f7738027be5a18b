//! The innermost product: a few rows of A times a few columns of B, added to accumulators in the order of K.
//!
//! Every accumulator is its own chain of fused multiply-adds, one a step of K, so that a result depends on the order of K
//! alone: not on the tile, the panel or the machine. The same Rust text is compiled twice, with AVX2 and FMA and without;
//! without, [`f32::mul_add`] is exact all the same, only slow.

/// What accumulators are made of.
pub trait Value: Copy + Default + PartialEq + Send + Sync + core::fmt::Debug + 'static {
    /// Columns of a panel of B: two vector registers of 32 bytes.
    const COLUMNS: usize;
    /// `self * b + c`, rounded once; integers wrap.
    fn multiply_add(self, b: Self, c: Self) -> Self;
    /// Adds `k` steps to `rows` x [`COLUMNS`](Value::COLUMNS) accumulators; see [`multiply`].
    fn multiply_panels(rows: usize, k: usize, a: &[Self], b: &[Self], c: &mut [Self], leading: usize);
}

/// Rows of a panel of A. With 16 vector registers, 6 rows of two leave four for operands.
pub const ROWS: usize = 6;

/// Most columns of a panel of B.
pub const MOST_COLUMNS: usize = 16;

/// `c[i * leading + j] += a[l * ROWS + i] * b[l * V::COLUMNS + j]` for `l` in `0..k` in order, `i` below `rows` and `j` below
/// `V::COLUMNS`.
///
/// # Panics
/// If a slice is too short, or `rows` is not 1 to [`ROWS`].
pub fn multiply<V: Value>(rows: usize, k: usize, a: &[V], b: &[V], c: &mut [V], leading: usize) {
    assert!((1..=ROWS).contains(&rows) && leading >= V::COLUMNS && c.len() >= (rows - 1) * leading + V::COLUMNS);
    V::multiply_panels(rows, k, &a[..k * ROWS], &b[..k * V::COLUMNS], c, leading);
}

#[inline(always)]
fn steps<V: Value, const R: usize, const C: usize>(a: &[V], b: &[V], c: &mut [V], leading: usize) {
    let mut sums = [[V::default(); C]; R];
    for (i, row) in sums.iter_mut().enumerate() {
        row.copy_from_slice(&c[i * leading..i * leading + C]);
    }
    for (a, b) in a.as_chunks::<ROWS>().0.iter().zip(b.as_chunks::<C>().0) {
        for (row, a) in sums.iter_mut().zip(a) {
            for (sum, b) in row.iter_mut().zip(b) {
                *sum = a.multiply_add(*b, *sum);
            }
        }
    }
    for (i, row) in sums.iter().enumerate() {
        c[i * leading..i * leading + C].copy_from_slice(row);
    }
}

macro_rules! value {
    ($t:ty, $columns:literal, |$a:ident, $b:ident, $c:ident| $multiply_add:expr) => {
        impl Value for $t {
            const COLUMNS: usize = $columns;
            #[inline(always)]
            fn multiply_add(self, $b: $t, $c: $t) -> $t {
                let $a = self;
                $multiply_add
            }
            fn multiply_panels(rows: usize, _k: usize, a: &[$t], b: &[$t], c: &mut [$t], leading: usize) {
                #[inline(always)]
                fn any_rows(rows: usize, a: &[$t], b: &[$t], c: &mut [$t], leading: usize) {
                    match rows {
                        1 => steps::<$t, 1, $columns>(a, b, c, leading),
                        2 => steps::<$t, 2, $columns>(a, b, c, leading),
                        3 => steps::<$t, 3, $columns>(a, b, c, leading),
                        4 => steps::<$t, 4, $columns>(a, b, c, leading),
                        5 => steps::<$t, 5, $columns>(a, b, c, leading),
                        _ => steps::<$t, 6, $columns>(a, b, c, leading),
                    }
                }
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2(rows: usize, a: &[$t], b: &[$t], c: &mut [$t], leading: usize) {
                        any_rows(rows, a, b, c, leading);
                    }
                    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                        // SAFETY: the features that the function is compiled for were just found.
                        return unsafe { avx2(rows, a, b, c, leading) };
                    }
                }
                any_rows(rows, a, b, c, leading);
            }
        }
    };
}
value!(f32, 16, |a, b, c| a.mul_add(b, c));
value!(f64, 8, |a, b, c| a.mul_add(b, c));
value!(i32, 16, |a, b, c| c.wrapping_add(a.wrapping_mul(b)));

#[cfg(test)]
mod tests {
    use super::*;

    /// Every accumulator is the chain that the module's page promises, bit for bit.
    fn agrees<V: Value>(number: impl Fn(usize) -> V) {
        let (k, leading) = (37, V::COLUMNS + 3);
        let a: Vec<V> = (0..k * ROWS).map(&number).collect();
        let b: Vec<V> = (0..k * V::COLUMNS).map(|i| number(i + 1000)).collect();
        for rows in 1..=ROWS {
            let before: Vec<V> = (0..rows * leading).map(|i| number(i + 77)).collect();
            let mut after = before.clone();
            multiply(rows, k, &a, &b, &mut after, leading);
            for (at, (x, y)) in before.iter().zip(&after).enumerate() {
                let (i, j) = (at / leading, at % leading);
                let chain = |x: &V| (0..k).fold(*x, |c, l| a[l * ROWS + i].multiply_add(b[l * V::COLUMNS + j], c));
                assert_eq!(*y, if j < V::COLUMNS { chain(x) } else { *x });
            }
        }
    }

    #[test]
    fn accumulators_are_chains_in_k_order() {
        let number = |i: usize| ((i.wrapping_mul(0x9e37_79b9) >> 7 & 0xffff) as f64 - 32768.0) / 1000.0;
        agrees::<f32>(|i| number(i) as f32);
        agrees::<f64>(number);
        agrees::<i32>(|i| (number(i) * 1e8) as i32);
    }
}
