//! Right and left inverses.

use crate::layout::Builder;
use crate::{Int, IntTuple, Layout, LayoutError, tri};

/// The modes of a coalesced layout ordered by stride, as CuTe's exchange sort orders them (it is not stable, and the
/// order of equal strides decides the result), and the products of the extents before each mode.
struct Sorted {
    order: [usize; IntTuple::MAX_LEAVES],
    len: usize,
    before: [Int; IntTuple::MAX_LEAVES],
}

const fn sort(flat: &Layout) -> Sorted {
    let n = flat.shape.leaves();
    let mut s = Sorted { order: [0; IntTuple::MAX_LEAVES], len: 0, before: [Int::ONE; IntTuple::MAX_LEAVES] };
    let (mut i, mut product) = (0, Int::ONE);
    while i < n {
        s.before[i] = product;
        product = product.mul(flat.shape.get(i));
        if flat.stride.get(i).is_static() {
            s.order[s.len] = i;
            s.len += 1;
        }
        i += 1;
    }
    i = 0;
    while i < s.len {
        let mut j = i + 1;
        while j < s.len {
            if flat.stride.get(s.order[j]).value() < flat.stride.get(s.order[i]).value() {
                (s.order[i], s.order[j]) = (s.order[j], s.order[i]);
            }
            j += 1;
        }
        i += 1;
    }
    s
}

impl Layout {
    /// Whether the layout gives each of the numbers below its size once, as a layout of threads must.
    ///
    /// # Errors
    /// [`LayoutError::NotNumbering`] with `what` when it does not.
    pub(crate) const fn numbers(&self, what: &'static str) -> Result<(), LayoutError> {
        let (count, numbered) = (self.size(), tri!(self.to_static().right_inverse()).size());
        if numbered.value() != count.value() {
            return Err(LayoutError::NotNumbering { what, count, numbered });
        }
        Ok(())
    }

    /// Whether the strides are above 0 and each is beyond what smaller ones reach, so that no number comes twice.
    ///
    /// # Errors
    /// [`LayoutError::NotApart`] with `what` when they are not.
    pub(crate) const fn tells_apart(&self, what: &'static str) -> Result<(), LayoutError> {
        let flat = tri!(self.to_static().coalesce());
        let (sorted, mut reach, mut n) = (sort(&flat), 0, 0);
        while n < sorted.len {
            let (s, stride) = (flat.shape.get(sorted.order[n]), flat.stride.get(sorted.order[n]));
            if !s.is(1) {
                if stride.value() <= reach {
                    return Err(LayoutError::NotApart { what, stride });
                }
                reach += (s.value() - 1) * stride.value();
            }
            n += 1;
        }
        Ok(())
    }

    /// The largest layout `r` with `self(r(i)) = i`, but where modes have equal strides: which of them comes first is then CuTe's
    /// choice, and a larger one may begin with another.
    ///
    /// # Errors
    /// None of its own; dynamic strides end the inverse.
    pub const fn right_inverse(&self) -> Result<Self, LayoutError> {
        let flat = tri!(self.coalesce());
        let sorted = sort(&flat);
        let mut out = Builder::new();
        out.open();
        out.leaf(Int::ONE, Int::ZERO);
        let (mut n, mut current) = (0, Int::ONE);
        while n < sorted.len {
            let i = sorted.order[n];
            let (s, d) = (flat.shape.get(i), flat.stride.get(i));
            if current.is(d.value()) {
                out.leaf(s, sorted.before[i]);
                current = s.mul(d);
            }
            n += 1;
        }
        out.close();
        tri!(out.finish()).coalesce()
    }

    /// The layout `l` with `self(l(self(i))) = self(i)`; `l(self(i)) = i` when the layout is injective. What one that is not takes to
    /// an offset more than once comes back to one coordinate alone, which may be beyond the size: there the last mode goes on, of
    /// this layout and of `l` alike.
    ///
    /// ```
    /// use warpwright_layout::layout;
    /// let l = layout!((4, 8):(3, 3));
    /// let inverse = l.left_inverse()?;
    /// assert_eq!((inverse.eval(l.eval(3)), inverse.eval(30), l.eval(40)), (12, 40, 30));
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::DynamicStride`], [`LayoutError::LeftInverseDivisibility`] when the strides do not nest, and
    /// [`LayoutError::LeftInverseOverlap`] when modes overlap so that there is none, where CuTe gives another layout.
    pub const fn left_inverse(&self) -> Result<Self, LayoutError> {
        let flat = tri!(self.coalesce());
        let sorted = sort(&flat);
        let mut i = 0;
        while i < flat.stride.leaves() {
            let stride = flat.stride.get(i);
            if !stride.is_static() {
                return Err(LayoutError::DynamicStride { operation: "left_inverse", stride });
            }
            i += 1;
        }
        let mut shape = [Int::ONE; IntTuple::MAX_LEAVES + 1];
        let mut stride = [Int::ZERO; IntTuple::MAX_LEAVES + 1];
        let (mut n, mut len, mut extent, mut below) = (0, 0, Int::ONE, 0i64);
        while n < sorted.len {
            let i = sorted.order[n];
            let d = flat.stride.get(i);
            if !d.is(0) {
                if d.value() % extent.value() != 0 || d.value() < 0 {
                    return Err(LayoutError::LeftInverseDivisibility { stride: d, extent });
                }
                // An offset's digit of this mode counts what smaller strides carry into it, and may then run into the mode
                // behind. The last mode of the layout has none, and goes on behind its end.
                let s = flat.shape.get(i).value();
                let next = if n + 1 < sorted.len { flat.stride.get(sorted.order[n + 1]).value() } else { i64::MAX };
                if below >= d.value() && next / d.value() > s {
                    let beyond = tri!(self.coalesce_leaves(0, self.shape.leaves(), true));
                    if i + 1 < flat.shape.leaves() || beyond.shape.leaves() > flat.shape.leaves() {
                        return Err(LayoutError::LeftInverseOverlap { stride: d });
                    }
                }
                below += (s - 1) * d.value();
                shape[len] = d.div(extent);
                len += 1;
                stride[len] = sorted.before[i];
                extent = d;
            }
            n += 1;
        }
        shape[len] = flat.shape.get(sorted.order[sorted.len - 1]);
        let mut out = Builder::new();
        out.open();
        n = 0;
        while n <= len {
            out.leaf(shape[n], stride[n]);
            n += 1;
        }
        out.close();
        tri!(out.finish()).coalesce()
    }
}
