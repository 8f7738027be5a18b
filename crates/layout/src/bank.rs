//! Shared-memory bank conflicts.

use crate::{ComposedLayout, Layout};

/// Banks of shared memory; each serves one 4-byte word a wavefront.
const BANKS: usize = 32;

/// The wavefronts that one warp access takes: lane `i` reads or writes `bytes` bytes (4, 8 or 16, aligned) at shared byte
/// address `addresses[i]`. Narrower accesses count as one word.
///
/// A warp is served in groups of lanes that together move 128 bytes: 32, 16 or 8 lanes. Each group takes as many
/// wavefronts as the busiest bank has different words; lanes that want the same word share it. Without conflicts an
/// access takes one wavefront a group.
pub fn wavefronts(addresses: &[u64], bytes: u32) -> u32 {
    let words = bytes.div_ceil(4).max(1) as usize;
    let group = (BANKS / words).max(1);
    addresses
        .chunks(group)
        .map(|lanes| {
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
        })
        .sum()
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
    /// assert_eq!((plain.wavefronts(16, &ROWS, 16), swizzled.wavefronts(16, &ROWS, 16)), (8, 1));
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    pub fn wavefronts(&self, element_bits: u32, access: &Layout, bytes: u32) -> u32 {
        let addresses: Vec<u64> = (0..access.size().value())
            .map(|lane| self.eval(access.eval(lane)) as u64 * u64::from(element_bits) / 8)
            .collect();
        wavefronts(&addresses, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_broadcasts() {
        let each = |stride: u64| (0..32).map(|lane| lane * stride).collect::<Vec<_>>();
        assert_eq!(wavefronts(&each(4), 4), 1);
        assert_eq!(wavefronts(&each(8), 4), 2);
        assert_eq!(wavefronts(&each(128), 4), 32);
        assert_eq!(wavefronts(&[0; 32], 4), 1);
        assert_eq!(wavefronts(&each(16), 16), 4);
        assert_eq!(wavefronts(&each(32), 16), 8);
        assert_eq!(wavefronts(&[], 4), 0);
    }
}
