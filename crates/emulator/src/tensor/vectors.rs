//! Eight 32-bit numbers at a time, with the instructions that the processor has: AVX2, or plain Rust that does the same.

/// Eight 32-bit words. Names that begin with `f` take them for floats, the others for integers.
pub(crate) trait Vector: Copy {
    fn load(from: &[u32; 8]) -> Self;
    fn store(self, to: &mut [u32; 8]);
    fn splat(x: u32) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// The larger and the smaller, of signed numbers.
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// The magnitude of signed numbers, 2^31 of −2^31.
    fn abs(self) -> Self;
    fn shl<const N: i32>(self) -> Self;
    fn shr<const N: i32>(self) -> Self;
    fn shift_right(self, by: u32) -> Self;
    /// Shifts right, the sign coming in.
    fn sra<const N: i32>(self) -> Self;
    /// All ones where they are equal, and where signed `self` is larger.
    fn equal(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
    /// `self` where the mask is all ones, `other` where it is zero.
    fn choose(mask: Self, this: Self, other: Self) -> Self;
    /// Whether the highest bit is set anywhere.
    fn is_any_negative(self) -> bool;
    fn fadd(self, other: Self) -> Self;
    fn fmul(self, other: Self) -> Self;
    /// The smaller of numbers that are not NaN.
    fn fmin(self, other: Self) -> Self;
    /// Cut to an integer; any number where 32 bits do not hold it.
    fn fcut(self) -> Self;
    /// Signed integers as floats, rounded to nearest.
    fn to_float(self) -> Self;
    /// Four vectors as an 8 × 4 matrix, transposed to 4 × 8.
    fn transpose(matrix: [Self; 4]) -> [Self; 4];
    /// `x0 y0 x1 y1 …`, and the reverse of it.
    fn interleave(x: Self, y: Self) -> [Self; 2];
    fn deinterleave(x: Self, y: Self) -> [Self; 2];

    #[inline(always)]
    fn of(x: i32) -> Self {
        Self::splat(x as u32)
    }

    #[inline(always)]
    fn fload(from: &[f32; 8]) -> Self {
        Self::load(bytemuck::cast_ref(from))
    }

    #[inline(always)]
    fn fstore(self, to: &mut [f32; 8]) {
        self.store(bytemuck::cast_mut(to));
    }

    #[inline(always)]
    fn fsplat(x: f32) -> Self {
        Self::splat(x.to_bits())
    }

    #[inline(always)]
    fn words(self) -> [u32; 8] {
        let mut out = [0; 8];
        self.store(&mut out);
        out
    }
}

/// An expression of each vector of an array. A closure would not be compiled for the processor's vectors.
macro_rules! each {
    ($vectors:expr, $x:ident => $value:expr) => {{
        let mut vectors = $vectors;
        for v in &mut vectors {
            let $x = *v;
            *v = $value;
        }
        vectors
    }};
}
pub(crate) use each;

/// The words of a register of a warp.
#[inline(always)]
pub(crate) fn load<V: Vector>(lanes: &[u32; 32]) -> [V; 4] {
    let [a, b, c, d]: &[[u32; 8]; 4] = bytemuck::cast_ref(lanes);
    [V::load(a), V::load(b), V::load(c), V::load(d)]
}

/// The reverse of [`load`].
#[inline(always)]
pub(crate) fn store<V: Vector>(vectors: [V; 4], lanes: &mut [u32; 32]) {
    let eights: &mut [[u32; 8]; 4] = bytemuck::cast_mut(lanes);
    for (v, eight) in vectors.iter().zip(eights) {
        v.store(eight);
    }
}

#[inline(always)]
fn map<const N: usize>(f: impl Fn(usize) -> u32) -> [u32; N] {
    core::array::from_fn(f)
}

#[inline(always)]
fn fmap(f: impl Fn(usize) -> f32) -> [u32; 8] {
    map(|i| f(i).to_bits())
}

/// Float `i` of eight.
#[inline(always)]
fn at(x: &[u32; 8], i: usize) -> f32 {
    f32::from_bits(x[i])
}

impl Vector for [u32; 8] {
    #[inline(always)]
    fn load(from: &[u32; 8]) -> Self {
        *from
    }
    #[inline(always)]
    fn store(self, to: &mut [u32; 8]) {
        *to = self;
    }
    #[inline(always)]
    fn splat(x: u32) -> Self {
        [x; 8]
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        map(|i| self[i].wrapping_add(other[i]))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        map(|i| self[i].wrapping_sub(other[i]))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        map(|i| self[i] & other[i])
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        map(|i| self[i] | other[i])
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        map(|i| self[i] ^ other[i])
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        map(|i| (self[i] as i32).max(other[i] as i32) as u32)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        map(|i| (self[i] as i32).min(other[i] as i32) as u32)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        map(|i| (self[i] as i32).unsigned_abs())
    }
    #[inline(always)]
    fn shl<const N: i32>(self) -> Self {
        map(|i| self[i] << N)
    }
    #[inline(always)]
    fn shr<const N: i32>(self) -> Self {
        map(|i| self[i] >> N)
    }
    #[inline(always)]
    fn shift_right(self, by: u32) -> Self {
        map(|i| self[i] >> by)
    }
    #[inline(always)]
    fn sra<const N: i32>(self) -> Self {
        map(|i| (self[i] as i32 >> N) as u32)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self {
        map(|i| if self[i] == other[i] { !0 } else { 0 })
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        map(|i| if self[i] as i32 > other[i] as i32 { !0 } else { 0 })
    }
    #[inline(always)]
    fn choose(mask: Self, this: Self, other: Self) -> Self {
        map(|i| if mask[i] == 0 { other[i] } else { this[i] })
    }
    #[inline(always)]
    fn is_any_negative(self) -> bool {
        self.iter().any(|x| x >> 31 != 0)
    }
    #[inline(always)]
    fn fadd(self, other: Self) -> Self {
        fmap(|i| at(&self, i) + at(&other, i))
    }
    #[inline(always)]
    fn fmul(self, other: Self) -> Self {
        fmap(|i| at(&self, i) * at(&other, i))
    }
    #[inline(always)]
    fn fmin(self, other: Self) -> Self {
        fmap(|i| at(&self, i).min(at(&other, i)))
    }
    #[inline(always)]
    fn fcut(self) -> Self {
        map(|i| at(&self, i) as i32 as u32)
    }
    #[inline(always)]
    fn to_float(self) -> Self {
        fmap(|i| self[i] as i32 as f32)
    }
    #[inline(always)]
    fn transpose(matrix: [Self; 4]) -> [Self; 4] {
        let all: &[u32; 32] = bytemuck::cast_ref(&matrix);
        core::array::from_fn(|t| map(|g| all[4 * g + t]))
    }
    #[inline(always)]
    fn interleave(x: Self, y: Self) -> [Self; 2] {
        let both = |i: usize| if i.is_multiple_of(2) { x[i / 2] } else { y[i / 2] };
        [map(both), map(|i| both(i + 8))]
    }
    #[inline(always)]
    fn deinterleave(x: Self, y: Self) -> [Self; 2] {
        let both = |i: usize| if i < 8 { x[i] } else { y[i - 8] };
        [map(|i| both(2 * i)), map(|i| both(2 * i + 1))]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::Vector;
    use core::arch::x86_64::*;

    /// Exists only in code that runs where there is AVX2, which makes every instruction here safe.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256i);

    /// An instruction on integers, or on floats.
    macro_rules! do_i {
        ($f:ident($($x:expr),*)) => {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { $f($($x.0),*) })
        };
    }
    macro_rules! do_f {
        ($f:ident($($x:expr),*)) => {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_castps_si256($f($(_mm256_castsi256_ps($x.0)),*)) })
        };
    }

    impl Vector for Avx2 {
        #[inline(always)]
        fn load(from: &[u32; 8]) -> Self {
            // SAFETY: the processor has AVX2, and 32 bytes may be read.
            Avx2(unsafe { _mm256_loadu_si256(from.as_ptr().cast()) })
        }
        #[inline(always)]
        fn store(self, to: &mut [u32; 8]) {
            // SAFETY: the processor has AVX2, and 32 bytes may be written.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), self.0) }
        }
        #[inline(always)]
        fn splat(x: u32) -> Self {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_set1_epi32(x as i32) })
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            do_i!(_mm256_add_epi32(self, other))
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            do_i!(_mm256_sub_epi32(self, other))
        }
        #[inline(always)]
        fn and(self, other: Self) -> Self {
            do_i!(_mm256_and_si256(self, other))
        }
        #[inline(always)]
        fn or(self, other: Self) -> Self {
            do_i!(_mm256_or_si256(self, other))
        }
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            do_i!(_mm256_xor_si256(self, other))
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            do_i!(_mm256_max_epi32(self, other))
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            do_i!(_mm256_min_epi32(self, other))
        }
        #[inline(always)]
        fn abs(self) -> Self {
            do_i!(_mm256_abs_epi32(self))
        }
        #[inline(always)]
        fn shl<const N: i32>(self) -> Self {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_slli_epi32::<N>(self.0) })
        }
        #[inline(always)]
        fn shr<const N: i32>(self) -> Self {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_srli_epi32::<N>(self.0) })
        }
        #[inline(always)]
        fn shift_right(self, by: u32) -> Self {
            do_i!(_mm256_srlv_epi32(self, Self::splat(by)))
        }
        #[inline(always)]
        fn sra<const N: i32>(self) -> Self {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_srai_epi32::<N>(self.0) })
        }
        #[inline(always)]
        fn equal(self, other: Self) -> Self {
            do_i!(_mm256_cmpeq_epi32(self, other))
        }
        #[inline(always)]
        fn greater(self, other: Self) -> Self {
            do_i!(_mm256_cmpgt_epi32(self, other))
        }
        #[inline(always)]
        fn choose(mask: Self, this: Self, other: Self) -> Self {
            do_i!(_mm256_blendv_epi8(other, this, mask))
        }
        #[inline(always)]
        fn is_any_negative(self) -> bool {
            // SAFETY: the processor has AVX2.
            unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(self.0)) != 0 }
        }
        #[inline(always)]
        fn fadd(self, other: Self) -> Self {
            do_f!(_mm256_add_ps(self, other))
        }
        #[inline(always)]
        fn fmul(self, other: Self) -> Self {
            do_f!(_mm256_mul_ps(self, other))
        }
        #[inline(always)]
        fn fmin(self, other: Self) -> Self {
            do_f!(_mm256_min_ps(self, other))
        }
        #[inline(always)]
        fn fcut(self) -> Self {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_cvttps_epi32(_mm256_castsi256_ps(self.0)) })
        }
        #[inline(always)]
        fn to_float(self) -> Self {
            // SAFETY: the processor has AVX2.
            Avx2(unsafe { _mm256_castps_si256(_mm256_cvtepi32_ps(self.0)) })
        }
        #[inline(always)]
        fn transpose([w, x, y, z]: [Self; 4]) -> [Self; 4] {
            // SAFETY: the processor has AVX2.
            unsafe {
                // Rows 0 and 4, 1 and 5, 2 and 6, 3 and 7; then 4 × 4 in each half.
                let (a, b) = (_mm256_permute2x128_si256::<0x20>(w.0, y.0), _mm256_permute2x128_si256::<0x31>(w.0, y.0));
                let (c, d) = (_mm256_permute2x128_si256::<0x20>(x.0, z.0), _mm256_permute2x128_si256::<0x31>(x.0, z.0));
                let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
                let (ef, gh) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
                [
                    Avx2(_mm256_unpacklo_epi64(ab, cd)),
                    Avx2(_mm256_unpackhi_epi64(ab, cd)),
                    Avx2(_mm256_unpacklo_epi64(ef, gh)),
                    Avx2(_mm256_unpackhi_epi64(ef, gh)),
                ]
            }
        }
        #[inline(always)]
        fn interleave(x: Self, y: Self) -> [Self; 2] {
            // SAFETY: the processor has AVX2.
            unsafe {
                let (low, high) = (_mm256_unpacklo_epi32(x.0, y.0), _mm256_unpackhi_epi32(x.0, y.0));
                [Avx2(_mm256_permute2x128_si256::<0x20>(low, high)), Avx2(_mm256_permute2x128_si256::<0x31>(low, high))]
            }
        }
        #[inline(always)]
        fn deinterleave(x: Self, y: Self) -> [Self; 2] {
            // SAFETY: the processor has AVX2.
            unsafe {
                let (x, y) = (_mm256_castsi256_ps(x.0), _mm256_castsi256_ps(y.0));
                let order = |v| Avx2(_mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(v)));
                [order(_mm256_shuffle_ps::<0b10_00_10_00>(x, y)), order(_mm256_shuffle_ps::<0b11_01_11_01>(x, y))]
            }
        }
    }
}
#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

/// Declares `fn name(…) = body`: calls `body`, an `#[inline(always)]` function of the kind of vectors, with the best that the
/// processor has.
macro_rules! vectors {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $t:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name($($arg: $t),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $t),*) {
                    $body::<$crate::tensor::vectors::Avx2>($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has AVX2 and FMA, all that the function needs beyond the baseline.
                    return unsafe { wide($($arg),*) };
                }
            }
            $body::<[u32; 8]>($($arg),*)
        }
    };
}
pub(crate) use vectors;

#[cfg(test)]
mod tests {
    use super::*;

    /// What every operation makes of some vectors.
    #[inline(always)]
    fn all<V: Vector>(data: &[[u32; 8]; 4], out: &mut Vec<[u32; 8]>) {
        let [w, x, y, z] = data.each_ref().map(V::load);
        let mut say = |v: V| out.push(v.words());
        for v in [w.add(x), w.sub(x), w.and(x), w.or(x), w.xor(x), w.max(x), w.min(x), w.abs(), V::splat(data[0][3])] {
            say(v);
        }
        for v in [w.shl::<7>(), w.shr::<7>(), w.shift_right(5), w.sra::<7>(), w.equal(x), w.equal(w), w.greater(x)] {
            say(v);
        }
        say(V::choose(w.greater(x), y, z));
        // Finite floats, below 2^31 where they are cut.
        let small = |v: V| v.and(V::splat(0x8FFF_FFFF)).or(V::splat(0x4000_0000));
        let (f, g) = (small(w), small(x));
        for v in [f.fadd(g), f.fmul(V::fsplat(1.5)), f.fmin(g), w.to_float()] {
            say(v);
        }
        say(V::fload(&[0.0, -0.75, 1.5, -7.9, 1e9, -2e9, 2_147_483_520.0, -2_147_483_648.0]).fcut());
        V::transpose([w, x, y, z]).into_iter().for_each(&mut say);
        V::interleave(w, x).into_iter().for_each(&mut say);
        V::deinterleave(w, x).into_iter().for_each(&mut say);
        let mut stored = [0.0; 8];
        f.fstore(&mut stored);
        out.push(stored.map(f32::to_bits));
        out.push([u32::from(w.is_any_negative()), u32::from(w.abs().shr::<1>().is_any_negative()), 0, 0, 0, 0, 0, 0]);
    }

    vectors! {
        fn best(data: &[[u32; 8]; 4], out: &mut Vec<[u32; 8]>) = all
    }

    #[test]
    fn both_kinds_do_the_same() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 | (state >> 11) as u32 & 1 << 31
        };
        for _ in 0..200 {
            let data = core::array::from_fn(|_| {
                core::array::from_fn(|_| [next(), 0, 1 << 31, !0][(next() as usize % 12).saturating_sub(8)])
            });
            let (mut plain, mut best_found) = (Vec::new(), Vec::new());
            all::<[u32; 8]>(&data, &mut plain);
            best(&data, &mut best_found);
            assert_eq!(plain, best_found);
        }
    }

    #[test]
    fn matrices_and_pairs() {
        let matrix: [[u32; 8]; 4] = core::array::from_fn(|i| core::array::from_fn(|j| (8 * i + j) as u32));
        assert_eq!(Vector::transpose(matrix)[1], [1, 5, 9, 13, 17, 21, 25, 29]);
        let [x, y] = Vector::interleave(matrix[0], matrix[1]);
        assert_eq!(y, [4, 12, 5, 13, 6, 14, 7, 15]);
        assert_eq!(Vector::deinterleave(x, y), [matrix[0], matrix[1]]);
    }
}
