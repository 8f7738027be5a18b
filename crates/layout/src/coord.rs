//! Coordinates to indices and back.

use crate::error::within;
use crate::int::div_rem;
use crate::layout::{OFFSET, wide_sum};
use crate::{Cursor, Int, IntTuple, Layout, LayoutError, ModePath, tri};

impl Layout {
    /// The offset of a coordinate that is nested as the shape is, or less deeply.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] and [`LayoutError::CoordinateTooDeep`] when the nesting does not fit, [`LayoutError::Overflow`]
    /// when the offset of a coordinate beyond the layout does not fit 64 bits.
    pub const fn crd2idx(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        within(OFFSET, tri!(self.wide_crd2idx(coord)), i64::MAX)
    }

    /// [`crd2idx`](Self::crd2idx) before it is made 64 bits again.
    pub(crate) const fn wide_crd2idx(&self, coord: &IntTuple) -> Result<i128, LayoutError> {
        self.crd2idx_at(Cursor::START, coord, Cursor::START, ModePath::ROOT)
    }

    const fn crd2idx_at(&self, at: Cursor, coord: &IntTuple, c: Cursor, mode: ModePath) -> Result<i128, LayoutError> {
        if !coord.is_tuple_at(c) {
            return Ok(self.wide_leaves(at.leaf, self.shape.skip(at).leaf, coord.get(c.leaf).value()));
        }
        if !self.shape.is_tuple_at(at) {
            return Err(LayoutError::CoordinateTooDeep { mode });
        }
        let (found, needed) = (coord.rank_at(c), self.shape.rank_at(at));
        if found != needed {
            return Err(LayoutError::Rank { operation: "crd2idx", found, needed });
        }
        let (mut i, mut sum) = (0, 0i128);
        while i < found {
            let (child, cc) = (self.shape.child_at(at, i), coord.child_at(c, i));
            sum = tri!(wide_sum(sum, tri!(self.crd2idx_at(child, coord, cc, mode.child(i)))));
            i += 1;
        }
        Ok(sum)
    }

    /// The coordinate, nested as the shape, of the linear index `index`.
    pub const fn idx2crd(&self, index: i64) -> IntTuple {
        idx2crd(index, &self.shape)
    }

    /// For a compact layout, the coordinate whose offset is `offset`: in each leaf `offset / stride % extent`.
    pub const fn coord_of(&self, offset: i64) -> IntTuple {
        dynamic(&self.digits_of(offset), &self.shape)
    }

    /// The integers of [`coord_of`](Self::coord_of), left to right; those behind the shape's leaves are 0.
    #[inline]
    pub const fn digits_of(&self, offset: i64) -> [i64; IntTuple::MAX_LEAVES] {
        let (shape, stride) = (self.shape.values(), self.stride.values());
        let (mut out, mut i) = ([0; IntTuple::MAX_LEAVES], 0);
        while i < self.shape.leaves() {
            if stride[i] != 0 && !self.shape.get(i).is(1) {
                out[i] = match offset.checked_div(stride[i]) {
                    Some(quotient) => quotient % shape[i],
                    // -2^63 over -1.
                    None => ((1 << 63) % shape[i] as u64) as i64,
                };
            }
            i += 1;
        }
        out
    }
}

/// The tuple nested as `shape` with these integers.
const fn dynamic(digits: &[i64; IntTuple::MAX_LEAVES], shape: &IntTuple) -> IntTuple {
    let (mut out, mut i) = ([Int::ZERO; IntTuple::MAX_LEAVES], 0);
    while i < shape.leaves() {
        out[i] = Int::Dynamic(digits[i]);
        i += 1;
    }
    shape.with_leaves(&out)
}

/// The colexicographic coordinate of `index` in `shape`; the last leaf takes what is beyond the size.
pub const fn idx2crd(index: i64, shape: &IntTuple) -> IntTuple {
    dynamic(&digits(index, shape), shape)
}

/// The integers of [`idx2crd`], left to right; those behind the shape's leaves are 0.
#[inline]
pub const fn digits(index: i64, shape: &IntTuple) -> [i64; IntTuple::MAX_LEAVES] {
    let (extents, n) = (shape.values(), shape.leaves());
    let (mut out, mut rest, mut i) = ([0; IntTuple::MAX_LEAVES], index, 0);
    while i + 1 < n {
        (rest, out[i]) = div_rem(rest, extents[i]);
        i += 1;
    }
    if n > 0 {
        out[n - 1] = rest;
    }
    out
}

/// The layout of one mode a leaf that takes the integers of a coordinate in `shape` to its linear index.
///
/// # Errors
/// As [`Layout::new`].
pub const fn index_of(shape: &IntTuple) -> Result<Layout, LayoutError> {
    // The compact strides written out: `Layout::column_major` would give extent 1 the stride 0.
    let shape = shape.flatten();
    let mut strides = [Int::ZERO; IntTuple::MAX_LEAVES];
    let (mut i, mut current) = (0, Int::ONE);
    while i < shape.leaves() {
        strides[i] = current;
        current = current.mul(shape.get(i));
        i += 1;
    }
    Layout::new(shape, shape.with_leaves(&strides))
}

/// The linear index of a coordinate in `shape`.
///
/// # Errors
/// As [`Layout::crd2idx`].
pub const fn crd2idx(coord: &IntTuple, shape: &IntTuple) -> Result<i64, LayoutError> {
    let index = tri!(index_of(shape));
    Layout::of_parts(*shape, shape.with_leaves_of(&index.stride)).crd2idx(coord)
}
