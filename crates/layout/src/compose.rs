//! Composition: `(a ∘ b)(c) = a(b(c))`.

use crate::layout::Builder;
use crate::{Cursor, Int, IntTuple, Layout, LayoutError, ModePath, Tiler, tri};

/// The modes that one integer mode of the right-hand side becomes.
struct Parts {
    shape: [Int; IntTuple::MAX_LEAVES + 1],
    stride: [Int; IntTuple::MAX_LEAVES + 1],
    len: usize,
}

impl Parts {
    const fn push(&mut self, shape: Int, stride: Int) {
        self.shape[self.len] = shape;
        self.stride[self.len] = stride;
        self.len += 1;
    }
}

/// One composition under way.
struct Composer {
    /// The left-hand side, flat and coalesced.
    flat: Layout,
    /// The largest digit that the right-hand modes so far add up to in each left-hand mode.
    digits: [i64; IntTuple::MAX_LEAVES],
    /// Whether to refuse what CuTe accepts although the result is not the composition: modes whose digits carry.
    exact: bool,
    out: Builder,
}

impl Composer {
    /// `flat ∘ (extent:stride)`, the mode `mode` of the right-hand side.
    const fn leaf(&mut self, extent: Int, stride: Int, mode: ModePath) -> Result<Parts, LayoutError> {
        let mut out = Parts {
            shape: [Int::ONE; IntTuple::MAX_LEAVES + 1],
            stride: [Int::ZERO; IntTuple::MAX_LEAVES + 1],
            len: 0,
        };
        if stride.is(0) {
            out.push(extent, stride);
            return Ok(out);
        }
        let last = self.flat.stride.get(self.flat.shape.leaves() - 1);
        if !self.flat.shape.is_tuple() {
            out.push(extent, stride.mul(last));
            return Ok(out);
        }
        let (mut rest_shape, mut rest_stride, mut i) = (extent, stride, 0);
        while i + 1 < self.flat.shape.leaves() {
            let curr = self.flat.shape.get(i);
            let step = rest_stride.abs();
            if step.value() % curr.value() != 0 && step.value() > curr.value() {
                return Err(LayoutError::StrideDivisibility { mode, stride: rest_stride, left_mode: i, extent: curr });
            }
            // A dynamic stride of 0 repeats one element: nothing of this mode is consumed.
            let next_shape = if step.value() == 0 { curr.to_dynamic() } else { curr.ceil_div(step) };
            let next_stride = step.ceil_div(curr).mul(rest_stride.signum());
            if !next_shape.is(1) && !rest_shape.is(1) {
                let part = next_shape.min(rest_shape);
                let runs_on = rest_shape.value() > part.value();
                if rest_shape.value() % part.value() != 0
                    || (self.exact && runs_on && part.mul(step).value() != curr.value())
                {
                    return Err(LayoutError::ShapeDivisibility { mode, extent: rest_shape, left_mode: i, part });
                }
                self.digits[i] = self.digits[i].saturating_add(part.sub(Int::ONE).mul(step).value());
                if self.exact && self.digits[i] >= curr.value() {
                    return Err(LayoutError::Carry { mode, left_mode: i, extent: curr });
                }
                out.push(part, rest_stride.mul(self.flat.stride.get(i)));
                rest_shape = rest_shape.div(part);
            }
            rest_stride = next_stride;
            i += 1;
        }
        if out.len == 0 || !rest_shape.is(1) {
            out.push(rest_shape, rest_stride.mul(last));
        }
        Ok(out)
    }

    const fn subtree(&mut self, b: &Layout, at: Cursor) -> Result<(), LayoutError> {
        if b.shape.is_tuple_at(at) {
            self.out.open();
            let (mut i, rank) = (0, b.shape.rank_at(at));
            while i < rank {
                tri!(self.subtree(b, b.shape.child_at(at, i)));
                i += 1;
            }
            self.out.close();
            return Ok(());
        }
        let parts = tri!(self.leaf(b.shape.get(at.leaf), b.stride.get(at.leaf), b.shape.path(at.leaf)));
        if parts.len > 1 {
            self.out.open();
        }
        let mut i = 0;
        while i < parts.len {
            self.out.leaf(parts.shape[i], parts.stride[i]);
            i += 1;
        }
        if parts.len > 1 {
            self.out.close();
        }
        Ok(())
    }
}

impl Layout {
    /// `self ∘ b`: the layout with `b`'s coordinates whose offsets are `self(b(c))`.
    ///
    /// # Errors
    /// [`LayoutError::StrideDivisibility`] and [`LayoutError::ShapeDivisibility`], as CuTe's static assertions, and
    /// [`LayoutError::Carry`] where CuTe would return a layout that is not the composition. Dynamic integers are checked
    /// by their values.
    pub const fn compose(&self, b: &Self) -> Result<Self, LayoutError> {
        self.compose_with(b, true)
    }

    /// The composition as CuTe computes it inside divides and products: a tile that does not divide the layout gives
    /// modes that run past its end, in the way that CuTe's predicated kernels expect.
    pub(crate) const fn compose_ragged(&self, b: &Self) -> Result<Self, LayoutError> {
        self.compose_with(b, false)
    }

    const fn compose_with(&self, b: &Self, exact: bool) -> Result<Self, LayoutError> {
        let flat = tri!(self.coalesce_beyond());
        let mut c = Composer { flat, digits: [0; IntTuple::MAX_LEAVES], exact, out: Builder::new() };
        tri!(c.subtree(b, Cursor::START));
        c.out.finish()
    }

    /// Composition by mode: mode `i` with `tiler`'s mode `i`; modes beyond the tiler are dropped, as CuTe does.
    ///
    /// # Errors
    /// As [`compose`](Self::compose), and [`LayoutError::TooManyModes`].
    pub const fn compose_by(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        match tiler {
            Tiler::Keep => Ok(*self),
            Tiler::Size(n) => {
                let b = tri!(Self::of(*n, Int::ONE));
                self.compose(&b)
            }
            Tiler::Layout(b) => self.compose(b),
            Tiler::ByMode(modes) => {
                let rank = self.rank();
                if modes.len() > rank {
                    return Err(LayoutError::TooManyModes { operation: "composition", given: modes.len(), rank });
                }
                let mut out = Builder::new();
                out.open();
                let mut i = 0;
                while i < modes.len() {
                    let mode = tri!(self.mode(i).compose_by(&modes[i]));
                    out.subtree(&mode, Cursor::START);
                    i += 1;
                }
                out.close();
                out.finish()
            }
        }
    }
}
