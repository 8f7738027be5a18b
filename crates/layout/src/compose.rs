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

/// `flat ∘ (extent:stride)` for a flat, coalesced left-hand side.
const fn compose_leaf(flat: &Layout, extent: Int, stride: Int, mode: ModePath) -> Result<Parts, LayoutError> {
    let mut out =
        Parts { shape: [Int::ONE; IntTuple::MAX_LEAVES + 1], stride: [Int::ZERO; IntTuple::MAX_LEAVES + 1], len: 0 };
    if stride.is(0) {
        out.push(extent, stride);
        return Ok(out);
    }
    let last = flat.stride.get(flat.shape.leaves() - 1);
    if !flat.shape.is_tuple() {
        out.push(extent, stride.mul(last));
        return Ok(out);
    }
    let (mut rest_shape, mut rest_stride, mut i) = (extent, stride, 0);
    while i + 1 < flat.shape.leaves() {
        let (curr_shape, curr_stride) = (flat.shape.get(i), flat.stride.get(i));
        let step = rest_stride.abs();
        if step.value() % curr_shape.value() != 0 && step.value() > curr_shape.value() {
            return Err(LayoutError::StrideDivisibility {
                mode,
                stride: rest_stride,
                left_mode: i,
                extent: curr_shape,
            });
        }
        // A dynamic stride of 0 repeats one element: nothing of this mode is consumed.
        let next_shape = if step.value() == 0 { curr_shape.to_dynamic() } else { curr_shape.ceil_div(step) };
        let next_stride = step.ceil_div(curr_shape).mul(rest_stride.signum());
        if !next_shape.is(1) && !rest_shape.is(1) {
            let part = next_shape.min(rest_shape);
            if rest_shape.value() % part.value() != 0 {
                return Err(LayoutError::ShapeDivisibility { mode, extent: rest_shape, left_mode: i, part });
            }
            out.push(part, rest_stride.mul(curr_stride));
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

const fn compose_at(flat: &Layout, b: &Layout, at: Cursor, out: &mut Builder) -> Result<(), LayoutError> {
    if b.shape.is_tuple_at(at) {
        out.open();
        let (mut i, rank) = (0, b.shape.rank_at(at));
        while i < rank {
            tri!(compose_at(flat, b, b.shape.child_at(at, i), out));
            i += 1;
        }
        out.close();
        return Ok(());
    }
    let parts = tri!(compose_leaf(flat, b.shape.get(at.leaf), b.stride.get(at.leaf), b.shape.path(at.leaf)));
    if parts.len > 1 {
        out.open();
    }
    let mut i = 0;
    while i < parts.len {
        out.leaf(parts.shape[i], parts.stride[i]);
        i += 1;
    }
    if parts.len > 1 {
        out.close();
    }
    Ok(())
}

impl Layout {
    /// `self ∘ b`: the layout with `b`'s coordinates whose offsets are `self(b(c))`.
    ///
    /// # Errors
    /// [`LayoutError::StrideDivisibility`] and [`LayoutError::ShapeDivisibility`], as CuTe's static assertions; dynamic
    /// integers are checked by their values.
    pub const fn compose(&self, b: &Self) -> Result<Self, LayoutError> {
        let flat = tri!(self.coalesce_beyond());
        let mut out = Builder::new();
        tri!(compose_at(&flat, b, Cursor::START, &mut out));
        out.finish()
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
