//! Complement: the offsets that a layout leaves out.

use crate::layout::Flat;
use crate::{Int, IntTuple, Layout, LayoutError, tri};

/// The shape with neighbours of the same kind (static or dynamic) multiplied together.
const fn coalesce_shape(shape: &IntTuple) -> IntTuple {
    let (mut runs, mut len, mut i) = ([Int::ONE; IntTuple::MAX_LEAVES], 0, 0);
    while i < shape.leaves() {
        let s = shape.get(i);
        if len > 0 && runs[len - 1].is_static() == s.is_static() {
            runs[len - 1] = runs[len - 1].mul(s);
        } else {
            runs[len] = s;
            len += 1;
        }
        i += 1;
    }
    if len <= 1 {
        return IntTuple::leaf(runs[0]);
    }
    let mut t = IntTuple::NOTHING;
    t.push_open();
    i = 0;
    while i < len {
        t.push_leaf(runs[i]);
        i += 1;
    }
    t.push_close();
    t
}

/// `ceil(shape / n)`, dividing the leaves from the left until `n` is used up.
const fn ceil_div_shape(shape: &IntTuple, n: Int) -> IntTuple {
    let (mut out, mut rest, mut i) = ([Int::ONE; IntTuple::MAX_LEAVES], n, 0);
    while i < shape.leaves() {
        let s = shape.get(i);
        out[i] = s.ceil_div(rest);
        rest = rest.ceil_div(s);
        i += 1;
    }
    shape.with_leaves(&out)
}

impl Layout {
    /// The ordered layout that is disjoint from this one and fills `cotarget` offsets together with it.
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`]; [`LayoutError::DynamicStride`] when there is more than one mode and a stride is
    /// dynamic.
    pub const fn complement(&self, cotarget: &IntTuple) -> Result<Self, LayoutError> {
        tri!(self.filter()).complement_filtered(cotarget)
    }

    /// The complement in the cosize of the layout itself.
    ///
    /// # Errors
    /// As [`complement`](Self::complement).
    pub const fn complement_self(&self) -> Result<Self, LayoutError> {
        let filtered = tri!(self.filter());
        filtered.complement_filtered(&IntTuple::leaf(filtered.cosize()))
    }

    const fn complement_filtered(&self, cotarget: &IntTuple) -> Result<Self, LayoutError> {
        let mut i = 0;
        while i < cotarget.leaves() {
            let extent = cotarget.get(i);
            if extent.value() < 1 {
                return Err(LayoutError::Extent { mode: cotarget.path(i), extent });
            }
            i += 1;
        }
        if !self.shape.is_tuple() && self.stride.get(0).is(0) {
            return Self::column_major(coalesce_shape(cotarget));
        }
        let n = self.shape.leaves();
        let mut used = [false; IntTuple::MAX_LEAVES];
        let mut out = Flat::new();
        let (mut done, mut current) = (0, Int::ONE);
        while done < n {
            let (mut least, mut i) = (n, 0);
            while i < n {
                let d = self.stride.get(i);
                if n > 1 && !d.is_static() {
                    return Err(LayoutError::DynamicStride { operation: "complement", stride: d });
                }
                if !used[i] && (least == n || d.value() < self.stride.get(least).value()) {
                    least = i;
                }
                i += 1;
            }
            used[least] = true;
            let stride = self.stride.get(least);
            let gap = stride.div(current);
            if gap.value() < 1 {
                return Err(LayoutError::NotInjective { stride });
            }
            out.push(gap, current);
            current = stride.mul(self.shape.get(least));
            done += 1;
        }
        if !cotarget.is_tuple() {
            out.push(cotarget.get(0).ceil_div(current), current);
            return out.finish();
        }
        let rest = coalesce_shape(&ceil_div_shape(cotarget, current));
        let mut i = 0;
        while i < rest.leaves() {
            out.push(rest.get(i), current);
            current = current.mul(rest.get(i));
            i += 1;
        }
        out.finish()
    }
}
