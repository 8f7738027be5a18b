//! Operands as they lie in memory: byte buffers with guards.

use warpwright_numeric::Dtype;

use crate::case::Order;
use crate::pattern::{Pattern, Place};

/// Guard bytes before and behind every operand, and the boundary from which `offset` counts.
pub const GUARD: usize = 256;
/// Fills what lies around an input: NaN in every floating type, -1 in integers.
pub const NAN_BYTE: u8 = 0xFF;
/// Fills what lies around an output.
pub const SENTINEL: u8 = 0xA5;

/// Bytes whose first lies on a [`GUARD`]-byte boundary.
#[derive(Debug)]
pub struct Buffer {
    raw: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// `len` bytes of `fill`.
    pub fn new(len: usize, fill: u8) -> Self {
        let raw = vec![fill; len + GUARD];
        let start = raw.as_ptr().align_offset(GUARD);
        Self { raw, start, len }
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.raw[self.start..self.start + self.len]
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.raw[self.start..self.start + self.len]
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len, 0);
        copy.copy_from_slice(self);
        copy
    }
}

/// How an operand lies in its buffer; strides are in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Element type.
    pub dtype: Dtype,
    /// Rows of one batch entry.
    pub rows: usize,
    /// Columns of one batch entry.
    pub columns: usize,
    /// Batch entries.
    pub batch: usize,
    /// Which mode is contiguous.
    pub order: Order,
    /// Elements between neighbours along the other mode.
    pub leading: usize,
    /// Elements between batch entries; 0 broadcasts.
    pub batch_stride: usize,
    /// Byte of the buffer at which element (0, 0, 0) lies.
    pub base: usize,
}

/// An operand: its layout and all bytes of its buffer, guards included. A runner that copies `bytes` to a 256-byte
/// boundary of its own keeps the alignment that the case asks for.
#[derive(Clone, Debug)]
pub struct Operand {
    /// How it lies in `bytes`.
    pub layout: Layout,
    /// The buffer.
    pub bytes: Buffer,
}

impl Layout {
    /// Bytes of an element.
    pub fn size(&self) -> usize {
        self.dtype.bits() / 8
    }

    /// Whether there is no element at all.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0 || self.batch == 0
    }

    /// Elements from the first to the last one, gaps included.
    pub fn span(&self) -> usize {
        if self.is_empty() { 0 } else { self.index(self.batch - 1, self.rows - 1, self.columns - 1) + 1 }
    }

    /// Elements between (0, 0, 0) and an element.
    pub fn index(&self, batch: usize, row: usize, column: usize) -> usize {
        let (outer, inner) = match self.order {
            Order::Row => (row, column),
            Order::Column => (column, row),
        };
        batch * self.batch_stride + outer * self.leading + inner
    }

    /// Byte of the buffer at which an element lies.
    pub fn byte(&self, batch: usize, row: usize, column: usize) -> usize {
        self.base + self.index(batch, row, column) * self.size()
    }

    /// Stride in elements from a row to the next.
    pub fn row_stride(&self) -> usize {
        if self.order == Order::Row { self.leading } else { 1 }
    }

    /// Stride in elements from a column to the next.
    pub fn column_stride(&self) -> usize {
        if self.order == Order::Row { 1 } else { self.leading }
    }

    /// Bytes of the whole buffer.
    pub fn buffer_bytes(&self) -> usize {
        self.base + self.span() * self.size() + GUARD
    }

    /// Every element's coordinates: (batch, row, column). Broadcast batches count once.
    pub fn coordinates(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let batches = if self.batch_stride == 0 { self.batch.min(1) } else { self.batch };
        let (rows, columns) = (self.rows, self.columns);
        (0..batches).flat_map(move |b| (0..rows).flat_map(move |i| (0..columns).map(move |j| (b, i, j))))
    }
}

impl Operand {
    /// An input: `pattern` inside NaN.
    pub fn input(layout: Layout, pattern: &Pattern, key: u64) -> Self {
        let mut operand = Self { bytes: Buffer::new(layout.buffer_bytes(), NAN_BYTE), layout };
        operand.fill(pattern, key);
        operand
    }

    /// An output: `pattern`, or poison where there is none, inside the sentinel.
    pub fn output(layout: Layout, pattern: Option<&Pattern>, key: u64) -> Self {
        let mut operand = Self { bytes: Buffer::new(layout.buffer_bytes(), SENTINEL), layout };
        match pattern {
            Some(pattern) => operand.fill(pattern, key),
            None => {
                let size = operand.layout.size();
                for (b, i, j) in operand.layout.coordinates() {
                    let at = operand.layout.byte(b, i, j);
                    operand.bytes[at..at + size].fill(NAN_BYTE);
                }
            }
        }
        operand
    }

    fn fill(&mut self, pattern: &Pattern, key: u64) {
        let Layout { dtype, rows, columns, .. } = self.layout;
        for (batch, row, column) in self.layout.coordinates() {
            let x = pattern.value(key, dtype, Place { batch, row, column, rows, columns });
            self.set(batch, row, column, x);
        }
    }

    /// An element's value.
    pub fn get(&self, batch: usize, row: usize, column: usize) -> f64 {
        let at = self.layout.byte(batch, row, column);
        self.layout.dtype.decode(&self.bytes[at..at + self.layout.size()], 0)
    }

    /// Writes an element, rounded to the type.
    pub fn set(&mut self, batch: usize, row: usize, column: usize, x: f64) {
        let at = self.layout.byte(batch, row, column);
        let size = self.layout.size();
        self.layout.dtype.encode(&mut self.bytes[at..at + size], 0, x);
    }

    /// The first byte outside the elements that differs from `before`, an earlier state of the same buffer.
    pub fn broken_guard(&self, before: &[u8]) -> Option<usize> {
        let mut inside = vec![false; self.bytes.len()];
        for (b, i, j) in self.layout.coordinates() {
            let at = self.layout.byte(b, i, j);
            inside[at..at + self.layout.size()].fill(true);
        }
        (0..before.len()).find(|&at| !inside[at] && self.bytes[at] != before[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let (dtype, order) = (Dtype::F16, Order::Column);
        Layout { dtype, rows: 3, columns: 2, batch: 2, order, leading: 5, batch_stride: 13, base: GUARD + 2 }
    }

    #[test]
    fn elements_lie_where_the_strides_say() {
        let operand = Operand::input(layout(), &Pattern::Affine([0.0, 100.0, 10.0, 1.0]), 0);
        assert_eq!(operand.layout.span(), 13 + 5 + 3);
        assert_eq!(operand.layout.byte(1, 2, 1), GUARD + 2 + 2 * (13 + 5 + 2));
        assert_eq!(operand.get(1, 2, 1), 121.0);
        assert!(operand.bytes.as_ptr().align_offset(GUARD) == 0);
        assert!(operand.clone().bytes.as_ptr().align_offset(GUARD) == 0);
    }

    #[test]
    fn a_touched_gap_is_noticed_and_a_touched_element_is_not() {
        let before = Operand::output(layout(), None, 0);
        assert!(before.get(0, 0, 0).is_nan());
        let mut after = before.clone();
        after.set(1, 0, 0, 4.0);
        assert_eq!(after.broken_guard(&before.bytes), None);
        let gap = after.layout.byte(0, 2, 0) + 2;
        after.bytes[gap] = 0;
        assert_eq!(after.broken_guard(&before.bytes), Some(gap));
    }
}
