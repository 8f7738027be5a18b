//! Shared-memory bank conflicts.

use crate::{ComposedLayout, Layout, LayoutError};

/// Banks of shared memory; each serves one 4-byte word a wavefront.
const BANKS: usize = 32;
const LANES: usize = 32;

fn refused<T>(rule: &'static str, value: i64) -> Result<T, LayoutError> {
    Err(LayoutError::Access { rule, value })
}

/// The wavefronts that one warp access takes: lane `i` reads or writes `bytes` bytes (1, 2, 4, 8 or 16, aligned) at shared
/// byte address `addresses[i]`. Narrower accesses count as one word.
///
/// A warp is served in groups of lanes that together move 128 bytes: 32, 16 or 8 lanes. Each group takes as many
/// wavefronts as the busiest bank has different words; lanes that want the same word share it. Without conflicts an
/// access takes one wavefront a group.
///
/// # Errors
/// [`LayoutError::Access`] for more lanes than a warp has, another width, and an address that is not aligned to it.
pub fn wavefronts(addresses: &[u64], bytes: u32) -> Result<u32, LayoutError> {
    if addresses.len() > LANES {
        return refused("a warp has at most 32 lanes", i64::try_from(addresses.len()).unwrap_or(i64::MAX));
    }
    if !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
        return refused("a lane moves 1, 2, 4, 8 or 16 bytes", bytes.into());
    }
    if let Some(&address) = addresses.iter().find(|a| *a % u64::from(bytes) != 0) {
        return refused("addresses are multiples of the lane's bytes", i64::try_from(address).unwrap_or(i64::MAX));
    }
    let words = bytes.div_ceil(4).max(1) as usize;
    let group = BANKS / words;
    let counts = addresses.chunks(group).map(|lanes| {
        let mut wanted: [Vec<u64>; BANKS] = Default::default();
        for &address in lanes {
            for word in (address / 4)..(address / 4 + words as u64) {
                let bank = &mut wanted[(word % BANKS as u64) as usize];
                if !bank.contains(&word) {
                    bank.push(word);
                }
            }
        }
        wanted.iter().map(Vec::len).max().unwrap_or(0) as u32
    });
    Ok(counts.sum())
}

impl ComposedLayout {
    /// The wavefronts of a warp access to elements of `element_bits` laid out by `self`: `access` takes a lane to the
    /// linear coordinate of the first element that it moves, and each lane moves `bytes` contiguous bytes. The layout must
    /// start at a multiple of 128 bytes.
    ///
    /// ```
    /// use warpwright_layout::smem::{Major, SmemSwizzle, atom};
    /// use warpwright_layout::{ComposedLayout, layout};
    /// // Eight rows of a 64-wide bf16 tile at one column, as ldmatrix reads a matrix.
    /// const ROWS: warpwright_layout::Layout = layout!(8:1);
    /// let plain: ComposedLayout = layout!((8, 64):(64, 1)).into();
    /// let swizzled = atom(Major::K, SmemSwizzle::B128, 16)?;
    /// assert_eq!((plain.wavefronts(16, &ROWS, 16)?, swizzled.wavefronts(16, &ROWS, 16)?), (8, 1));
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// As [`wavefronts`]; [`LayoutError::Access`] for elements of 0 or more than 128 bits and for an offset that no shared
    /// memory has, [`LayoutError::Overflow`] for a coordinate far beyond the layout.
    pub fn wavefronts(&self, element_bits: u32, access: &Layout, bytes: u32) -> Result<u32, LayoutError> {
        if element_bits == 0 || element_bits > 128 {
            return refused("elements have 1 to 128 bits", element_bits.into());
        }
        let lanes = access.size().value();
        if lanes > LANES as i64 {
            return refused("a warp has at most 32 lanes", lanes);
        }
        let addresses = (0..lanes).map(|lane| {
            let offset = self.try_eval(access.eval(lane))?;
            match u64::try_from(offset).ok().and_then(|at| at.checked_mul(element_bits.into())) {
                Some(bit) if bit % 8 == 0 => Ok(bit / 8),
                Some(_) => {
                    refused("a lane's first element begins at a whole byte, as the elements' width has it", offset)
                }
                None => refused("offsets are those of shared memory", offset),
            }
        });
        wavefronts(&addresses.collect::<Result<Vec<_>, _>>()?, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_broadcasts() {
        let each = |stride: u64| (0..32).map(|lane| lane * stride).collect::<Vec<_>>();
        assert_eq!(wavefronts(&each(4), 4), Ok(1));
        assert_eq!(wavefronts(&each(2), 2), Ok(1));
        assert_eq!(wavefronts(&each(8), 4), Ok(2));
        assert_eq!(wavefronts(&each(128), 4), Ok(32));
        assert_eq!(wavefronts(&[0; 32], 4), Ok(1));
        assert_eq!(wavefronts(&each(16), 16), Ok(4));
        assert_eq!(wavefronts(&each(32), 16), Ok(8));
        assert_eq!(wavefronts(&[], 4), Ok(0));
    }

    #[test]
    fn what_no_warp_does() {
        let value = |refused| match refused {
            Err(LayoutError::Access { value, .. }) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value(wavefronts(&[0; 33], 4)), 33);
        assert_eq!(value(wavefronts(&[0; 32], 0)), 0);
        assert_eq!(value(wavefronts(&[0; 32], 12)), 12);
        assert_eq!(value(wavefronts(&[0, 4], 16)), 4);
        let tile: ComposedLayout = crate::layout!((8, 64):(64, 1)).into();
        assert_eq!(value(tile.wavefronts(16, &crate::layout!((1i64 << 40)), 4)), 1 << 40);
        assert_eq!(value(tile.wavefronts(16, &crate::layout!(2: (-1)), 4)), -64);
        assert_eq!(value(tile.wavefronts(128, &crate::layout!(2: (1i64 << 60)), 4)), 1 << 57);
        for bits in [0, 129, u32::MAX] {
            assert_eq!(value(tile.wavefronts(bits, &crate::layout!(8:1), 4)), bits.into());
        }
        // The second element of 4 bits is in the middle of a byte; two of them are not.
        assert_eq!(value(tile.wavefronts(4, &crate::layout!(8:8), 1)), 1);
        assert_eq!(tile.wavefronts(4, &crate::layout!(8:16), 1), Ok(1));
        let steep: ComposedLayout = crate::layout!((8, 64):(64, (1i64 << 50))).into();
        let far = steep.wavefronts(16, &crate::layout!(2: (1i64 << 60)), 16);
        assert!(matches!(far, Err(LayoutError::Overflow { .. })), "{far:?}");
    }
}
