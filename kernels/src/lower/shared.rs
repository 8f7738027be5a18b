//! How operands lie in shared memory, and how fragments get from there into registers.

use super::config::plain;
use warpwright_layout::smem::{Major, SmemSwizzle, widest_swizzle};
use warpwright_layout::{ComposedLayout, Layout, LayoutError, Swizzle, layout};
use warpwright_spec::{InstructionId, MajorId, ResourcePlan, Spec};

/// A major of device memory, which operands keep in shared memory.
pub(crate) fn in_shared(major: MajorId) -> Major {
    match major {
        MajorId::K => Major::K,
        MajorId::MN => Major::Mn,
    }
}

/// How a lane gets its part of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fetch {
    /// ldmatrix: rows are K-contiguous, and a word holds neighbours along K whatever their width.
    Rows,
    /// ldmatrix.trans, which transposes 16-bit elements.
    Columns,
    /// ldmatrix.trans moves pairs of 8-bit elements, which a byte permutation then parts: a lane gets neighbouring rows where
    /// the instruction wants rows 8 apart, so the accumulators' coordinates follow.
    BytePairs,
    /// Single elements of 32 or 64 bits, which ldmatrix cannot transpose or not even place.
    Elements,
    /// Vectors along M or N, for fused multiply-adds.
    Vectors,
}

impl Fetch {
    /// How an operand that is contiguous along `major` in device memory is fetched.
    pub(crate) fn of(spec: &Spec, major: Major, bits: usize) -> Fetch {
        match (spec.instruction, major, bits) {
            (InstructionId::SIMT, ..) => Fetch::Vectors,
            (_, _, 64) | (_, Major::Mn, 32) => Fetch::Elements,
            (_, Major::K, _) => Fetch::Rows,
            (_, Major::Mn, 8) => Fetch::BytePairs,
            (_, Major::Mn, _) => Fetch::Columns,
        }
    }
}

/// The layout (mn, k) of one stage, in elements.
///
/// Rows of up to 128 bytes are swizzled so that neither copies nor fetches meet a bank twice: by 16 bytes for ldmatrix,
/// which reads 16 bytes of each of eight rows, by 32 bytes for elements, which are read as 32 bytes of each of four rows.
pub(crate) fn shared(
    fetch: Fetch,
    major: Major,
    bits: usize,
    mn: usize,
    k: usize,
) -> Result<ComposedLayout, LayoutError> {
    if fetch == Fetch::Vectors {
        // Rows along M or N, apart by what lets elements that arrive along K fall on different banks.
        let pitch = ResourcePlan::simt_pitch(mn, bits);
        return Ok(plain(&[mn, k], &[1, pitch])?.into());
    }
    let (contiguous, rows) = if major == Major::K { (k, mn) } else { (mn, k) };
    let widest = widest_swizzle(contiguous as u32, bits as u32);
    let row = widest.row_bytes() as usize * 8 / bits;
    let along = plain(&[row, contiguous / row], &[1, rows * row])?;
    let across = match fetch {
        // The rows that one ldmatrix reads, steps 0 1 4 5 8 9 12 13 of K or those two behind, are neighbours.
        Fetch::BytePairs => plain(&[2, 2, 4, rows / 16], &[row, 8 * row, 2 * row, 16 * row])?,
        _ => plain(&[rows], &[row])?,
    };
    let layout = if major == Major::K { [across, along] } else { [along, across] };
    let bytes = match fetch {
        Fetch::Elements => by_32_bytes(widest)?,
        _ => widest.on_bytes(),
    };
    // From byte addresses to bit addresses to elements.
    Ok(ComposedLayout::new(bytes.downcast(8)?.upcast(bits as i64)?, Layout::concat(&layout)?))
}

/// Spreads four consecutive rows over the four 32-byte groups of the banks.
fn by_32_bytes(rows: SmemSwizzle) -> Result<Swizzle, LayoutError> {
    match rows.row_bytes() {
        128 => Swizzle::new(2, 5, 2),
        64 => Swizzle::new(1, 5, 2),
        _ => Swizzle::new(0, 5, 2),
    }
}

/// Lane → step of K of the row that it names to ldmatrix, of a 16 x 32 block of 8-bit elements: matrix l / 8 holds the
/// steps 4 i, 4 i + 1 or 4 i + 2, 4 i + 3 of 16, so that a lane finds four consecutive ones in two matrices.
pub(crate) fn byte_pair_steps() -> Layout {
    layout!((2, 4, 2, 2):(1, 4, 2, 16))
}

/// (lane, pair) → row and column of a 16 x 16 block of accumulators, in which two m16n8 fragments lie side by side. Pairs
/// 0, 2, 4, 6 (values 2 i and 2 i + 1) are what a lane stores as neighbours along a row.
///
/// `first` and `second` say whether the operand was fetched as byte pairs: then the instruction's rows (columns) g and g + 8
/// are neighbours.
pub(crate) fn accumulators(first: bool, second: bool) -> Result<[Layout; 2], LayoutError> {
    let of =
        |lane: [usize; 2], value: [usize; 3]| Layout::concat(&[plain(&[4, 8], &lane)?, plain(&[2, 2, 2], &value)?]);
    let row = if first { of([0, 2], [0, 1, 0])? } else { of([0, 1], [0, 8, 0])? };
    let column = if second { of([4, 0], [1, 0, 2])? } else { of([2, 0], [1, 0, 8])? };
    Ok([row, column])
}

/// Lane → first row and column of a lane's part of a 16 x 8 `columns` unit of fused multiply-adds: 4 x `columns` each.
///
/// Lanes 2 i and 2 i + 1 share columns, lanes i and i + 2 share rows, so that half a warp's vectors need one access.
pub(crate) fn simt_lanes(columns: usize) -> Result<[Layout; 2], LayoutError> {
    Ok([plain(&[2, 8, 2], &[4, 0, 8])?, plain(&[2, 8, 2], &[0, columns, 0])?])
}

/// Columns of a lane in each unit of fused multiply-adds.
pub(crate) fn simt_columns(warp_n: usize) -> usize {
    if warp_n.is_multiple_of(32) { 4 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the busiest bank is met by 4-byte words at these bytes.
    fn conflicts(bytes: impl Iterator<Item = i64>) -> usize {
        let mut words: Vec<_> = bytes.map(|b| b / 4).collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0; 32];
        words.into_iter().for_each(|word| banks[(word % 32) as usize] += 1);
        banks.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn byte_pairs_are_read_without_conflicts() {
        for mn in [64, 128, 256] {
            let layout = shared(Fetch::BytePairs, Major::Mn, 8, mn, 64).unwrap();
            let steps = byte_pair_steps();
            for (matrix, block) in (0..4).flat_map(|m| [0, 32].map(|b| (m, b))) {
                let rows = (0..8).map(|lane| layout.eval_at(&[16, block + steps.eval(8 * matrix + lane)]));
                let met = conflicts(rows.flat_map(|row| (0..4).map(move |w| row + 4 * w)));
                assert_eq!(met, 1, "{mn}");
            }
        }
    }

    #[test]
    fn elements_are_read_without_conflicts() {
        for (bits, major) in [(32, Major::Mn), (64, Major::Mn), (64, Major::K)] {
            for (mn, k) in [(128, 16), (16, 8), (64, 32), (48, 16)] {
                let layout = shared(Fetch::Elements, major, bits, mn, k).unwrap();
                let words = i64::try_from(bits / 32).unwrap();
                // A warp's access, or each half of it for 64 bits.
                for half in 0..words {
                    let lanes = half * 32 / words..(half + 1) * 32 / words;
                    let bytes = lanes.map(|l| layout.eval_at(&[l / 4, l % 4]) * words * 4);
                    let met = conflicts(bytes.flat_map(|b| (0..words).map(move |w| b + 4 * w)));
                    assert_eq!(met, 1, "{bits} {major:?} {mn}x{k}");
                }
            }
        }
    }

    #[test]
    fn columns_that_arrive_along_k_fall_on_different_banks() {
        let layout = shared(Fetch::Vectors, Major::K, 32, 128, 16).unwrap();
        let lanes = (0..32).map(|l| layout.eval_at(&[l / 8, l % 8]) * 4);
        assert_eq!(conflicts(lanes), 1);
    }

    #[test]
    fn every_layout_gives_each_element_a_place() {
        for (fetch, major, bits) in [
            (Fetch::Rows, Major::K, 8),
            (Fetch::Rows, Major::K, 32),
            (Fetch::Columns, Major::Mn, 16),
            (Fetch::BytePairs, Major::Mn, 8),
            (Fetch::Elements, Major::Mn, 32),
            (Fetch::Elements, Major::K, 64),
        ] {
            for (mn, k) in [(16, 32), (48, 64), (128, 32)] {
                let layout = shared(fetch, major, bits, mn, k).unwrap();
                let places = (0..mn as i64).flat_map(|x| (0..k as i64).map(move |y| (x, y)));
                let mut seen: Vec<_> = places.map(|(x, y)| layout.eval_at(&[x, y])).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..(mn * k) as i64), "{fetch:?} {bits} {mn}x{k}");
            }
        }
    }

    #[test]
    fn accumulators_cover_their_block() {
        for (first, second) in [(false, false), (true, false), (false, true), (true, true)] {
            let [row, column] = accumulators(first, second).unwrap();
            let mut seen: Vec<_> = (0..32)
                .flat_map(|l| (0..8).map(move |v| (l, v)))
                .map(|(l, v)| (row.eval_at(&[l, v]), column.eval_at(&[l, v])))
                .collect();
            // Both values of a pair are neighbours along a row.
            assert!(seen.chunks(2).all(|p| p[0].0 == p[1].0 && p[0].1 + 1 == p[1].1));
            seen.sort_unstable();
            assert!(seen.into_iter().eq((0..16).flat_map(|r| (0..16).map(move |c| (r, c)))));
        }
    }
}
