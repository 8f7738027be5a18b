//! Panels: operands widened and rearranged as the microkernel reads them.

use super::operand::{Lines, Widened};
use super::pool::Pool;
use std::sync::OnceLock;

/// Steps of K that are rearranged together, so that both sides stay in the first-level cache.
const BLOCK: usize = 64;

/// Packs `lines` lines from `first` on, over `k` steps from `k_begin`, into panels of `WIDTH` lines: element (i, l) goes to
/// `out[i / WIDTH * WIDTH * k + l * WIDTH + i % WIDTH]`. Lines that do not exist are zeros.
///
/// # Safety
/// Elements (`first..first + lines`, `k_begin..k_begin + k`) lie in `operand`'s memory.
pub(crate) unsafe fn pack<V: Widened, const WIDTH: usize>(
    operand: &Lines,
    (first, lines): (usize, usize),
    (k_begin, k): (usize, usize),
    out: &mut [V],
) {
    if k == 0 || lines == 0 {
        return;
    }
    let at = |i: usize, l: usize| operand.first + (first + i) * operand.line_stride + (k_begin + l) * operand.k_stride;
    if operand.line_stride == 1 {
        // A step of all lines is one run.
        let mut run = vec![V::default(); lines.next_multiple_of(WIDTH)];
        for l in 0..k {
            // SAFETY: the lines and the step are among those that the caller vouched for.
            unsafe { V::read(operand.base, operand.dtype, at(0, l), 1, &mut run[..lines]) };
            for (panel, step) in out.chunks_exact_mut(WIDTH * k).zip(run.as_chunks::<WIDTH>().0) {
                panel[l * WIDTH..][..WIDTH].copy_from_slice(step);
            }
        }
        return;
    }
    for (panel, out) in out.chunks_exact_mut(WIDTH * k).take(lines.div_ceil(WIDTH)).enumerate() {
        let line = panel * WIDTH;
        let mut runs = [[V::default(); BLOCK]; WIDTH];
        for l in (0..k).step_by(BLOCK) {
            let steps = BLOCK.min(k - l);
            for (i, run) in runs.iter_mut().enumerate().take(lines - line) {
                // SAFETY: as above.
                unsafe { V::read(operand.base, operand.dtype, at(line + i, l), operand.k_stride, &mut run[..steps]) };
            }
            for (s, step) in out[l * WIDTH..].as_chunks_mut::<WIDTH>().0.iter_mut().enumerate().take(steps) {
                for (o, run) in step.iter_mut().zip(&runs) {
                    *o = run[s];
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

/// Packed operands that several tiles share: one entry per group and tile along the operand's own mode, over all of K, packed
/// by whoever needs it first.
pub(crate) struct Shared<V: Copy + Default + 'static> {
    tiles: usize,
    entries: Vec<OnceLock<Vec<V>>>,
    pool: &'static Pool<V>,
}

impl<V: Copy + Default> Shared<V> {
    /// Room for `groups` x `tiles` entries of `entry` numbers each. `None` if each would be used once only, or if all together
    /// take more than `at_most` bytes.
    pub(crate) fn new(
        pool: &'static Pool<V>,
        (groups, tiles, uses): (usize, usize, usize),
        entry: usize,
        at_most: usize,
    ) -> Option<Shared<V>> {
        let entries = groups.checked_mul(tiles)?;
        let bytes = entries.checked_mul(entry)?.checked_mul(size_of::<V>())?;
        let worthwhile = uses > 1 && bytes <= at_most;
        worthwhile.then(|| Shared { tiles, entries: (0..entries).map(|_| OnceLock::new()).collect(), pool })
    }

    /// The entry of a group's tile, of `len` numbers. `pack` writes all of them.
    pub(crate) fn get(&self, group: usize, tile: usize, len: usize, pack: impl FnOnce(&mut [V])) -> Option<&[V]> {
        let entry = self.entries.get(group * self.tiles + tile)?;
        Some(entry.get_or_init(|| {
            let mut packed = self.pool.take(len);
            pack(&mut packed);
            packed
        }))
    }
}

impl<V: Copy + Default> Drop for Shared<V> {
    fn drop(&mut self) {
        self.entries.drain(..).filter_map(OnceLock::into_inner).for_each(|v| self.pool.give(v));
    }
}
