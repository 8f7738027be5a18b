//! Which lane and register of a warp holds which element of a matrix: one pattern for `mma.sync`, for `wgmma`'s registers and
//! for what `wgmma` reads from shared memory, 16 bytes along K at a time.
//!
//! Lane l's word of an operand lies in row l / 4 of A (of Bᵀ), of whose K it holds 32 bits: those that follow 32 · (l % 4).
//! Registers of A alternate between its groups of 8 rows, then go on along K. In a word the elements are neighbours along K;
//! here they are taken apart, first elements first. Operands keep K in that order, which A and B share and no sum shows.

use super::vectors::{self, Vector};

/// One value a lane.
pub(crate) type Lanes<T = u32> = [T; 32];

/// Puts what the lanes hold of A in rows of `k` elements: row l / 4, column l % 4.
#[inline(always)]
pub(crate) fn to_rows<V: Vector>(lanes: [V; 4], out: &mut [u32], k: usize) {
    let mut words = [0; 32];
    vectors::store(lanes, &mut words);
    for (four, row) in words.as_chunks::<4>().0.iter().zip(out.chunks_mut(k)) {
        row[..4].copy_from_slice(four);
    }
}

/// Where in A the elements of a register go that are the `element`th of their words, of which each holds `per`: the first row,
/// and the first column.
#[inline(always)]
pub(crate) fn place(register: usize, element: usize, per: usize, groups: usize) -> (usize, usize) {
    (8 * (register % groups), 4 * (register / groups * per + element))
}

/// The 8 rows of 8 accumulators of which each lane holds two neighbours: row l / 4, columns from 2 (l % 4) on.
#[inline(always)]
pub(crate) fn pairs<V: Vector>(even: [V; 4], odd: [V; 4]) -> [V; 8] {
    let mut out = [even[0]; 8];
    for i in 0..4 {
        [out[2 * i], out[2 * i + 1]] = V::interleave(even[i], odd[i]);
    }
    out
}

/// The reverse of [`pairs`].
#[inline(always)]
pub(crate) fn unpair<V: Vector>(rows: [V; 8]) -> [[V; 4]; 2] {
    let (mut even, mut odd) = ([rows[0]; 4], [rows[0]; 4]);
    for i in 0..4 {
        [even[i], odd[i]] = V::deinterleave(rows[2 * i], rows[2 * i + 1]);
    }
    [even, odd]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (row, k) of element `element` of register `register` of lane `l` in A of 8 · `groups` rows, as the ISA has it, and where
    /// it goes here.
    fn both(l: usize, register: usize, element: usize, bits: usize, groups: usize) -> [(usize, usize); 2] {
        let per = 32 / bits;
        let mut lanes = [0; 32];
        lanes[l] = 1;
        let lanes = vectors::load::<[u32; 8]>(&lanes);
        let k = 128;
        let mut a = vec![0; 16 * k];
        let (row, column) = place(register, element, per, groups);
        to_rows(lanes, &mut a[row * k + column..], k);
        let at = a.iter().position(|x| *x == 1).unwrap();
        let isa = (l / 4 + 8 * (register % groups), per * (l % 4) + element + 4 * per * (register / groups));
        [isa, (at / k, at % k)]
    }

    #[test]
    fn patterns_of_the_isa() {
        let (g, t) = (3, 2);
        let l = 4 * g + t;
        // m16n8k16, 16 bit: a4, a5 (register 2) = (g, 2t + 8..), a6, a7 = (g + 8, 2t + 8..).
        assert_eq!(both(l, 2, 0, 16, 2), [(g, 2 * t + 8), (g, t + 8)]);
        assert_eq!(both(l, 3, 1, 16, 2), [(g + 8, 2 * t + 9), (g + 8, t + 12)]);
        // m16n8k8 tf32.
        assert_eq!(both(l, 2, 0, 32, 2), [(g, t + 4), (g, t + 4)]);
        // m16n8k32, 8 bit; m16n8k64, 4 bit; m8n8k32.
        assert_eq!(both(l, 3, 2, 8, 2), [(g + 8, 4 * t + 18), (g + 8, t + 24)]);
        assert_eq!(both(l, 2, 5, 4, 2), [(g, 8 * t + 37), (g, t + 52)]);
        assert_eq!(both(l, 0, 5, 4, 1), [(g, 8 * t + 5), (g, t + 20)]);
    }

    #[test]
    fn a_and_b_share_the_order_of_k() {
        // Lane 4g + t holds row g of A and column g of B, and of K what t says.
        let lanes = vectors::load::<[u32; 8]>(&core::array::from_fn(|l| l as u32));
        let mut columns = [0; 32];
        vectors::store(Vector::transpose(lanes), &mut columns);
        let mut rows = [0; 32];
        to_rows(lanes, &mut rows, 4);
        for (g, t) in (0..8).flat_map(|g| (0..4).map(move |t| (g, t))) {
            let lane = (4 * g + t) as u32;
            assert_eq!((columns[8 * t + g], rows[4 * g + t]), (lane, lane));
        }
    }

    #[test]
    fn accumulators_are_pairs_along_a_row() {
        let lanes = |first: u32| vectors::load::<[u32; 8]>(&core::array::from_fn(|l| 2 * l as u32 + first));
        let (even, odd) = (lanes(0), lanes(1));
        let rows = pairs(even, odd);
        // Lane 4g + t holds row g, columns 2t and 2t + 1.
        assert_eq!(rows[3][5], 2 * (4 * 3 + 2) + 1);
        assert_eq!(unpair(rows), [even, odd]);
    }
}
