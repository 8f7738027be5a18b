//! Panels: operands widened and rearranged as the microkernel reads them.

use super::operand::{Lines, Widened};
use std::sync::OnceLock;

/// Steps of K that are rearranged together, so that both sides stay in the first-level cache.
const BLOCK: usize = 64;

/// Packs `lines` lines from `first` on, over `k` steps from `k_begin`, into panels of `width` lines: element (i, l) goes to
/// `out[i / width * width * k + l * width + i % width]`. Lines that do not exist are zeros.
///
/// # Safety
/// Elements (`first..first + lines`, `k_begin..k_begin + k`) lie in `operand`'s memory.
pub(crate) unsafe fn pack<V: Widened>(
    operand: &Lines,
    (first, lines): (usize, usize),
    (k_begin, k): (usize, usize),
    width: usize,
    out: &mut [V],
) {
    if k == 0 {
        return;
    }
    for (panel, out) in out.chunks_exact_mut(width * k).take(lines.div_ceil(width)).enumerate() {
        let line = first + panel * width;
        let present = width.min(first + lines - line);
        let at =
            |i: usize, l: usize| operand.first + (line + i) * operand.line_stride + (k_begin + l) * operand.k_stride;
        if operand.line_stride == 1 {
            for (l, step) in out.chunks_exact_mut(width).enumerate() {
                let (read, absent) = step.split_at_mut(present);
                // SAFETY: the lines and steps are among those that the caller vouched for.
                unsafe { V::read(operand.base, operand.dtype, at(0, l), 1, read) };
                absent.fill(V::default());
            }
            continue;
        }
        if present < width {
            out.fill(V::default());
        }
        let mut run = [V::default(); 16 * BLOCK];
        for l in (0..k).step_by(BLOCK) {
            let steps = BLOCK.min(k - l);
            for i in 0..present {
                let run = &mut run[i * BLOCK..i * BLOCK + steps];
                // SAFETY: as above.
                unsafe { V::read(operand.base, operand.dtype, at(i, l), operand.k_stride, run) };
            }
            for (s, step) in out[l * width..(l + steps) * width].chunks_exact_mut(width).enumerate() {
                for (i, o) in step[..present].iter_mut().enumerate() {
                    *o = run[i * BLOCK + s];
                }
            }
        }
    }
}

/// A tile's panels of one operand, over a range of K.
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a, V> {
    data: &'a [V],
    width: usize,
    depth: usize,
    skipped: usize,
}

impl<'a, V> Panels<'a, V> {
    /// Panels of `width` lines packed over `depth` steps of K, from step `skipped` on.
    pub(crate) fn new(data: &'a [V], width: usize, depth: usize, skipped: usize) -> Self {
        Panels { data, width, depth, skipped }
    }
    /// The first `k` steps of a panel.
    pub(crate) fn get(&self, panel: usize, k: usize) -> &'a [V] {
        let at = (panel * self.depth + self.skipped) * self.width;
        &self.data[at..at + k * self.width]
    }
}

/// Packed operands that several tiles share: one entry per group and tile along the operand's own mode, over all of K, packed by
/// whoever needs it first.
pub(crate) struct Shared<V> {
    tiles: usize,
    entries: Vec<OnceLock<Box<[V]>>>,
}

impl<V> Shared<V> {
    /// Room for `groups` x `tiles` entries; none are shared if a tile is used once only, or if all together would take more than
    /// `at_most` bytes.
    pub(crate) fn new(groups: usize, tiles: usize, uses: usize, entry: usize, at_most: usize) -> Option<Shared<V>> {
        let entries = groups.checked_mul(tiles)?;
        let bytes = entries.checked_mul(entry)?.checked_mul(size_of::<V>())?;
        let worthwhile = uses > 1 && bytes <= at_most;
        worthwhile.then(|| Shared { tiles, entries: (0..entries).map(|_| OnceLock::new()).collect() })
    }
    /// The entry of a group's tile.
    pub(crate) fn get(&self, group: usize, tile: usize, pack: impl FnOnce() -> Box<[V]>) -> Option<&[V]> {
        Some(self.entries.get(group * self.tiles + tile)?.get_or_init(pack))
    }
}
