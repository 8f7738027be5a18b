//! What two layouts have in common, and what one maps to zero.

use crate::layout::Builder;
use crate::{Int, IntTuple, Layout, LayoutError, tri};

impl Layout {
    /// The contiguous elements that correspond in both layouts: `a(r(i)) = i` and `b(r(i)) = i`. As in CuTe, where `b` is the
    /// larger one the last mode of `a` goes on beyond its end.
    ///
    /// # Errors
    /// As [`compose`](Self::compose).
    pub const fn max_common_layout(&self, b: &Self) -> Result<Self, LayoutError> {
        let inverse = tri!(b.right_inverse());
        let common = tri!(tri!(self.compose(&inverse)).coalesce());
        if common.shape.get(0).is_static() && common.stride.get(0).is(1) {
            inverse.compose(&common.mode(0))
        } else {
            Ok(Self::UNIT)
        }
    }

    /// The number of contiguous elements that correspond in both layouts: how wide a vector copy may be between layouts of
    /// one size. As in CuTe, where `b` is the larger one the last mode of `a` goes on beyond its end.
    ///
    /// # Errors
    /// As [`compose`](Self::compose).
    pub const fn max_common_vector(&self, b: &Self) -> Result<i64, LayoutError> {
        let common = tri!(tri!(self.compose(&tri!(b.right_inverse()))).coalesce());
        if common.shape.get(0).is_static() && common.stride.get(0).is(1) {
            Ok(common.shape.get(0).value())
        } else {
            Ok(1)
        }
    }

    /// The coordinates that the layout maps to 0: its static stride-0 modes, as a layout into the domain.
    ///
    /// # Errors
    /// None for a layout that exists.
    pub const fn nullspace(&self) -> Result<Self, LayoutError> {
        let (mut count, mut i) = (0, 0);
        while i < self.stride.leaves() {
            count += self.stride.get(i).is(0) as usize;
            i += 1;
        }
        if count == 0 {
            return Ok(Self::UNIT);
        }
        let flat: IntTuple = self.shape.flatten();
        let compact = tri!(Self::column_major(flat));
        let mut out = Builder::new();
        if count > 1 {
            out.open();
        }
        i = 0;
        while i < flat.leaves() {
            if self.stride.get(i).is(0) {
                let stride: Int = compact.stride.get(i);
                out.leaf(flat.get(i), stride);
            }
            i += 1;
        }
        if count > 1 {
            out.close();
        }
        out.finish()
    }
}
