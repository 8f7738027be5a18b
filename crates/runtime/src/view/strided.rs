//! Extents and strides of a batch of matrices.

use warpwright_numeric::Dtype;

use crate::TensorError;

/// Which elements of a matrix are neighbours in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Order {
    /// Those of a row.
    #[default]
    RowMajor,
    /// Those of a column.
    ColumnMajor,
}

/// The shape of a batch of matrices in memory: element (b, m, n) is `b * strides[0] + m * strides[1] + n * strides[2]`
/// elements after the first.
///
/// Strides count elements and are not negative; 0 repeats what is there, which reads allow and writes refuse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strided {
    /// Batch entries, rows, columns.
    pub extents: [usize; 3],
    /// Elements between neighbours of a batch, of a column, of a row.
    pub strides: [i64; 3],
}

impl Strided {
    /// A dense matrix.
    pub fn dense(rows: usize, cols: usize, order: Order) -> Strided {
        Strided::dense_batch(1, rows, cols, order)
    }

    /// Dense matrices, one behind the other.
    pub fn dense_batch(batch: usize, rows: usize, cols: usize, order: Order) -> Strided {
        // Extents that overflow here are refused by `span`, which every use of a layout goes through.
        let stride = |extent: usize| i64::try_from(extent.max(1)).unwrap_or(i64::MAX);
        let matrix = stride(rows).saturating_mul(stride(cols));
        let strides = match order {
            Order::RowMajor => [matrix, stride(cols), 1],
            Order::ColumnMajor => [matrix, 1, stride(rows)],
        };
        Strided { extents: [batch, rows, cols], strides }
    }

    /// A matrix whose rows (or columns) start `leading` elements apart.
    ///
    /// # Errors
    /// [`TensorError::LeadingDimension`] if they would overlap.
    pub fn padded(rows: usize, cols: usize, order: Order, leading: usize) -> Result<Strided, TensorError> {
        let (needed, line, lines) = match order {
            Order::RowMajor => (cols, "row", rows),
            Order::ColumnMajor => (rows, "column", cols),
        };
        if leading < needed.max(1) {
            return Err(TensorError::LeadingDimension { given: leading, needed: needed.max(1), line });
        }
        let leading = i64::try_from(leading).unwrap_or(i64::MAX);
        let matrix = leading.saturating_mul(i64::try_from(lines.max(1)).unwrap_or(i64::MAX));
        let strides = match order {
            Order::RowMajor => [matrix, leading, 1],
            Order::ColumnMajor => [matrix, 1, leading],
        };
        Ok(Strided { extents: [1, rows, cols], strides })
    }

    /// `batch` such matrices, `stride` elements apart; 0 repeats the first.
    pub fn batched(self, batch: usize, stride: usize) -> Strided {
        let stride = i64::try_from(stride).unwrap_or(i64::MAX);
        Strided {
            extents: [batch, self.extents[1], self.extents[2]],
            strides: [stride, self.strides[1], self.strides[2]],
        }
    }

    /// The largest power of two, up to 128, that divides the address and, of elements that start there, the start of every
    /// row (or column, in column-major order) and of every batch entry, in bytes. 0 if one of them starts inside a byte.
    pub fn alignment(&self, address: u64, dtype: Dtype, order: Order) -> usize {
        let [batch, rows, columns] = self.extents;
        let [batch_stride, row_stride, column_stride] = self.strides;
        let lines = if order == Order::RowMajor { (rows, row_stride) } else { (columns, column_stride) };
        let mut aligned = u128::from(address) | 128;
        for (_, stride) in [(batch, batch_stride), lines].into_iter().filter(|&(extent, _)| extent > 1) {
            let bits = u128::from(stride.unsigned_abs()) * dtype.bits() as u128;
            if !bits.is_multiple_of(8) {
                return 0;
            }
            aligned |= bits / 8;
        }
        1 << aligned.trailing_zeros()
    }

    /// Rows and columns exchanged.
    pub fn transposed(self) -> Strided {
        let Strided { extents: [b, m, n], strides: [sb, sm, sn] } = self;
        Strided { extents: [b, n, m], strides: [sb, sn, sm] }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.extents.iter().fold(1, |n, &e| n.saturating_mul(e))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// Which elements are neighbours: `ColumnMajor` if those of a column are and those of a row are not.
    pub fn order(&self) -> Option<Order> {
        let [_, m, n] = self.extents;
        match (self.strides[1], self.strides[2]) {
            (_, 1) => Some(Order::RowMajor),
            (1, _) => Some(Order::ColumnMajor),
            _ if n <= 1 => Some(Order::RowMajor),
            _ if m <= 1 => Some(Order::ColumnMajor),
            _ => None,
        }
    }

    /// Elements from the first to the last one, both included, or an error if their bytes pass 2^63.
    ///
    /// # Errors
    /// [`TensorError::NegativeStride`] or [`TensorError::TooLarge`].
    pub fn span(&self, dtype: Dtype) -> Result<usize, TensorError> {
        if let Some(&stride) = self.strides.iter().find(|&&s| s < 0) {
            return Err(TensorError::NegativeStride { stride });
        }
        if self.is_empty() {
            return Ok(0);
        }
        // Every call asks this several times of each operand, and 64 bits are enough for nearly all of them.
        let steps = self.extents.iter().zip(self.strides).map(|(&e, s)| (e as u64 - 1).checked_mul(s as u64));
        let near = steps.reduce(|sum, step| sum?.checked_add(step?)).flatten();
        if let Some(last) = near.filter(|last| last >> 52 == 0) {
            return Ok(last as usize + 1);
        }
        let last: u128 = self
            .extents
            .iter()
            .zip(self.strides)
            .map(|(&e, s)| (e as u128 - 1).saturating_mul(s as u128))
            .fold(0, u128::saturating_add);
        let bits = last.saturating_add(1).saturating_mul(dtype.bits() as u128);
        if bits > 8 * (i64::MAX as u128) {
            return Err(TensorError::TooLarge { extents: self.extents, strides: self.strides, dtype });
        }
        Ok(last as usize + 1)
    }

    /// Whether no two elements share a place, as a tensor to write needs. Layouts that interleave two matrices' elements
    /// without sharing any are refused too.
    pub fn is_injective(&self) -> bool {
        let mut dims = [0, 1, 2].map(|i| (self.strides[i], self.extents[i]));
        dims.sort_unstable();
        let mut reach: i128 = 0;
        for (stride, extent) in dims.into_iter().filter(|&(_, extent)| extent > 1) {
            if i128::from(stride) <= reach {
                return false;
            }
            reach += i128::from(stride) * (extent as i128 - 1);
        }
        true
    }

    /// The distance of element (b, m, n) from the first, in elements. In bounds of a layout whose `span` is known, it fits.
    pub fn offset(&self, b: usize, m: usize, n: usize) -> usize {
        let [sb, sm, sn] = self.strides;
        b * sb as usize + m * sm as usize + n * sn as usize
    }

    /// Refuses an index beyond the extents.
    ///
    /// # Errors
    /// [`TensorError::OutOfBounds`].
    pub fn check_index(&self, b: usize, m: usize, n: usize) -> Result<(), TensorError> {
        let named = ["batch entry", "row", "column"].into_iter().zip([b, m, n]).zip(self.extents);
        for ((what, index), extent) in named {
            if index >= extent {
                return Err(TensorError::OutOfBounds { what, index, extent });
            }
        }
        Ok(())
    }
}
