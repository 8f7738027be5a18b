//! Where reductions keep partial results while a kernel runs.

use crate::{FieldKind, ParamBlock};
use warpwright_spec::{Axes, Reduction};

/// How a kernel cuts D for its reductions: in tiles and subtiles, in its own terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SubtileGrid {
    /// Batch entries.
    pub entries: usize,
    /// Rows and columns of D, in the kernel's terms.
    pub extents: [usize; 2],
    /// Rows and columns of a tile.
    pub tile: [usize; 2],
    /// Warps that have parts of a tile.
    pub tile_warps: usize,
    /// Rows and columns of a subtile.
    pub subtile: [usize; 2],
    /// Whether the kernel's rows are the user's columns.
    pub transposed: bool,
}

/// A reduction's partial results, of 8 bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct PartialResults {
    /// Bytes from the start of their kind: of those that are zero before and after a run, or of the others.
    pub offset: usize,
    /// How many bytes they are.
    pub bytes: usize,
    /// Values that remain; of a reduction of both M and N, tiles along the kernel's columns.
    pub length: usize,
    /// Blocks that are put together for one value; of a reduction of both, the warps of the tiles along the kernel's rows.
    pub blocks: usize,
    /// Whether they are put together by atomic operations, in memory that is zero before and after.
    pub atomic: bool,
}

impl ParamBlock {
    /// Whether there are reductions.
    pub fn reduces(&self) -> bool {
        self.fields().iter().any(|f| matches!(f.kind, FieldKind::Reduction(_)))
    }

    /// The partial results of each reduction, with its argument's number. Sizes saturate: no allocation of that size succeeds.
    pub fn partial_results(&self, grid: SubtileGrid) -> impl Iterator<Item = (usize, PartialResults)> + '_ {
        let mut ends = [0usize; 2];
        self.fields().iter().enumerate().filter_map(move |(argument, field)| {
            let FieldKind::Reduction(reduction) = field.kind else { return None };
            let [blocks, length] = grid.blocks(reduction);
            let count = match (reduction.atomic, reduction.axes) {
                (true, Axes::All) => 1,
                (true, _) => length,
                (false, _) => blocks.saturating_mul(length),
            };
            let bytes = count.saturating_mul(grid.entries).saturating_mul(8);
            let end = &mut ends[usize::from(!reduction.atomic)];
            let offset = *end;
            *end = end.saturating_add(bytes);
            Some((argument, PartialResults { offset, bytes, length, blocks, atomic: reduction.atomic }))
        })
    }

    /// Bytes of all partial results: of those that are zero before and after a run, and of the others.
    pub fn partial_bytes(&self, grid: SubtileGrid) -> [usize; 2] {
        let mut bytes = [0; 2];
        for (_, at) in self.partial_results(grid) {
            bytes[usize::from(!at.atomic)] = at.offset.saturating_add(at.bytes);
        }
        bytes
    }
}

impl SubtileGrid {
    /// Blocks that are put together, and values that remain, as in [`PartialResults`].
    fn blocks(self, reduction: Reduction) -> [usize; 2] {
        let [rows, columns] = self.extents;
        let pieces = |of: [usize; 2]| [0, 1].map(|i| self.extents[i].div_ceil(of[i].max(1)));
        let (tiles, blocks) = (pieces(self.tile), pieces(self.subtile));
        match (reduction.axes, self.transposed) {
            (Axes::All, _) => [tiles[0].saturating_mul(self.tile_warps), tiles[1]],
            (Axes::Rows, false) | (Axes::Columns, true) => [blocks[0], columns],
            (Axes::Columns, false) | (Axes::Rows, true) => [blocks[1], rows],
        }
    }
}

/// What a kernel is told of a reduction's partial results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct ReductionParams {
    /// Where they are.
    pub partials: u64,
    /// As in [`PartialResults`].
    pub length: u32,
    /// As in [`PartialResults`].
    pub blocks: u32,
    /// Batch entries.
    pub entries: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Amax, Atomic, Fusion, IntoExpr, Sum, acc, amax, reduce_columns, reduce_rows};

    #[test]
    fn partial_results_lie_side_by_side() {
        let (mut r, mut c, mut s) = ([0.0f32], [0.0f32], [0.0f32]);
        fn node<E: IntoExpr>(_: E) -> &'static warpwright_spec::Node {
            E::Node::NODE
        }
        let e = reduce_columns::<Atomic<Amax>, _, _>(&mut c, amax(&mut s, acc()));
        let block = ParamBlock::of(node(reduce_rows::<Sum, _, _>(&mut r, e))).unwrap();
        let grid = SubtileGrid {
            entries: 3,
            extents: [33, 100],
            tile: [32, 128],
            tile_warps: 4,
            subtile: [16, 64],
            transposed: false,
        };
        let at: Vec<_> = block.partial_results(grid).map(|(i, at)| (i, at.offset, at.length, at.blocks)).collect();
        assert_eq!(at, [(0, 0, 100, 3), (1, 0, 33, 2), (2, 3 * 300 * 8, 1, 8)]);
        assert_eq!(block.partial_bytes(grid), [3 * 33 * 8, 3 * 300 * 8 + 3 * 8 * 8]);
        // The kernel's rows are the user's columns.
        let turned = SubtileGrid { transposed: true, ..grid };
        let at: Vec<_> = block.partial_results(turned).map(|(_, at)| (at.length, at.blocks)).collect();
        assert_eq!(at, [(33, 2), (100, 3), (1, 8)]);
    }
}
