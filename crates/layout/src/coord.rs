//! Coordinates to indices and back.

use crate::{Cursor, Int, IntTuple, Layout, LayoutError, ModePath, tri};

impl Layout {
    /// The offset of a coordinate that is nested as the shape is, or less deeply.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] and [`LayoutError::CoordinateTooDeep`] when the nesting does not fit.
    pub const fn crd2idx(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        self.crd2idx_at(Cursor::START, coord, Cursor::START, ModePath::ROOT)
    }

    const fn crd2idx_at(&self, at: Cursor, coord: &IntTuple, c: Cursor, mode: ModePath) -> Result<i64, LayoutError> {
        if !coord.is_tuple_at(c) {
            return Ok(self.eval_leaves(at.leaf, self.shape.skip(at).leaf, coord.get(c.leaf).value()));
        }
        if !self.shape.is_tuple_at(at) {
            return Err(LayoutError::CoordinateTooDeep { mode });
        }
        let (found, needed) = (coord.rank_at(c), self.shape.rank_at(at));
        if found != needed {
            return Err(LayoutError::Rank { operation: "crd2idx", found, needed });
        }
        let (mut i, mut sum) = (0, 0i64);
        while i < found {
            let (child, cc) = (self.shape.child_at(at, i), coord.child_at(c, i));
            sum = sum.wrapping_add(tri!(self.crd2idx_at(child, coord, cc, mode.child(i))));
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
        let mut out = [Int::ZERO; IntTuple::MAX_LEAVES];
        let mut i = 0;
        while i < self.shape.leaves() {
            let (s, d) = (self.shape.get(i), self.stride.get(i).value());
            if !s.is(1) && d != 0 {
                out[i] = Int::Dynamic(offset.wrapping_div(d) % s.value());
            }
            i += 1;
        }
        self.shape.with_leaves(&out)
    }
}

/// The colexicographic coordinate of `index` in `shape`; the last leaf takes what is beyond the size.
pub const fn idx2crd(index: i64, shape: &IntTuple) -> IntTuple {
    let mut out = [Int::ZERO; IntTuple::MAX_LEAVES];
    let (mut rest, mut i) = (index, 0);
    while i < shape.leaves() {
        let s = shape.get(i).value();
        if i + 1 == shape.leaves() {
            out[i] = Int::Dynamic(rest);
        } else {
            out[i] = Int::Dynamic(rest % s);
            rest /= s;
        }
        i += 1;
    }
    shape.with_leaves(&out)
}

/// The linear index of a coordinate in `shape`.
///
/// # Errors
/// As [`Layout::crd2idx`].
pub const fn crd2idx(coord: &IntTuple, shape: &IntTuple) -> Result<i64, LayoutError> {
    // The compact strides written out: `Layout::column_major` would give extent 1 the stride 0.
    let mut strides = [Int::ZERO; IntTuple::MAX_LEAVES];
    let (mut i, mut current) = (0, Int::ONE);
    while i < shape.leaves() {
        strides[i] = current;
        current = current.mul(shape.get(i));
        i += 1;
    }
    tri!(Layout::new(*shape, shape.with_leaves(&strides))).crd2idx(coord)
}
