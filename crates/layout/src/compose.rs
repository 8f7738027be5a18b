//! Composition: `(a ∘ b)(c) = a(b(c))`.

use crate::layout::Builder;
use crate::{Cursor, Int, IntTuple, Layout, LayoutError, Tiler, tri};

/// One composition under way.
struct Composer<'a> {
    /// The left-hand side, flat and coalesced.
    flat: &'a Layout,
    /// The largest digit that the right-hand modes so far add up to in each left-hand mode.
    digits: [i64; IntTuple::MAX_LEAVES],
    /// The left-hand modes in which right-hand modes step up, and those in which they step down.
    up: u32,
    down: u32,
    /// Whether to refuse what CuTe accepts although the result is not the composition: modes whose digits carry.
    exact: bool,
}

impl Composer<'_> {
    /// Notes that a right-hand mode steps in left-hand mode `i`. Where others step the other way, the digits of the sum are those
    /// of the parts only as long as there is one digit: 8 - 2 borrows.
    const fn steps(&mut self, i: usize, stride: Int, b: &Layout, at: usize) -> Result<(), LayoutError> {
        if stride.value() > 0 {
            self.up |= 1 << i;
        } else {
            self.down |= 1 << i;
        }
        if self.up != 0 && self.down != 0 && (self.up | self.down).count_ones() > 1 {
            return Err(LayoutError::MixedSigns { mode: b.shape.path(at) });
        }
        Ok(())
    }

    /// Writes `flat ∘ (extent:stride)`; `b` and `at` name the mode of the right-hand side in errors.
    const fn leaf(
        &mut self,
        extent: Int,
        stride: Int,
        b: &Layout,
        at: usize,
        out: &mut Builder,
    ) -> Result<(), LayoutError> {
        let n = self.flat.shape.leaves();
        let last = self.flat.stride.get(n - 1);
        if stride.is(0) || n == 1 {
            out.leaf(extent, if stride.is(0) { stride } else { stride.mul(last) });
            return Ok(());
        }
        let from = out.here();
        let (mut rest_shape, mut rest_stride, mut i, mut parts) = (extent, stride, 0, 0);
        while i + 1 < n {
            let curr = self.flat.shape.get(i);
            let step = rest_stride.abs();
            if step.value() > curr.value() && !step.is_multiple_of(curr) {
                let mode = b.shape.path(at);
                return Err(LayoutError::StrideDivisibility { mode, stride: rest_stride, left_mode: i, extent: curr });
            }
            // A dynamic stride of 0 repeats one element: nothing of this mode is consumed.
            let next_shape = if step.value() == 0 { curr.to_dynamic() } else { curr.ceil_div(step) };
            if !next_shape.is(1) && !rest_shape.is(1) {
                let part = next_shape.min(rest_shape);
                let runs_on = rest_shape.value() > part.value();
                if !rest_shape.is_multiple_of(part) || (self.exact && runs_on && part.mul(step).value() != curr.value())
                {
                    let mode = b.shape.path(at);
                    return Err(LayoutError::ShapeDivisibility { mode, extent: rest_shape, left_mode: i, part });
                }
                self.digits[i] = self.digits[i].saturating_add(part.sub(Int::ONE).mul(step).value());
                if self.exact && self.digits[i] >= curr.value() {
                    return Err(LayoutError::Carry { mode: b.shape.path(at), left_mode: i, extent: curr });
                }
                if part.value() > 1 && step.value() != 0 {
                    tri!(self.steps(i, rest_stride, b, at));
                }
                out.leaf(part, rest_stride.mul(self.flat.stride.get(i)));
                parts += 1;
                rest_shape = rest_shape.div(part);
                if rest_shape.is(1) {
                    break;
                }
            }
            rest_stride = step.ceil_div(curr).mul(rest_stride.signum());
            i += 1;
        }
        if parts == 0 || !rest_shape.is(1) {
            if rest_shape.value() > 1 && rest_stride.value() != 0 {
                tri!(self.steps(n - 1, rest_stride, b, at));
            }
            out.leaf(rest_shape, rest_stride.mul(last));
            parts += 1;
        }
        if parts > 1 {
            out.enclose(from);
        }
        Ok(())
    }

    const fn subtree(&mut self, b: &Layout, at: Cursor, out: &mut Builder) -> Result<(), LayoutError> {
        if !b.shape.is_tuple_at(at) {
            return self.leaf(b.shape.get(at.leaf), b.stride.get(at.leaf), b, at.leaf, out);
        }
        out.open();
        let mut child = b.shape.child_at(at, 0);
        while !b.shape.at_end(child) {
            tri!(self.subtree(b, child, out));
            child = b.shape.skip(child);
        }
        out.close();
        Ok(())
    }
}

impl Layout {
    /// `self ∘ b`: the layout with `b`'s coordinates whose offsets are `self(b(c))`.
    ///
    /// # Errors
    /// [`LayoutError::StrideDivisibility`] and [`LayoutError::ShapeDivisibility`], as CuTe's static assertions, and
    /// [`LayoutError::Carry`] and [`LayoutError::MixedSigns`] where CuTe would return a layout that is not the composition.
    /// Dynamic integers are checked by their values.
    pub const fn compose(&self, b: &Self) -> Result<Self, LayoutError> {
        let mut out = Builder::new();
        tri!(self.compose_leaves(0, self.shape.leaves(), b, &mut out));
        out.finish()
    }

    /// Writes the composition with each of `right` in turn, as CuTe computes it inside divides and products: a tile that
    /// does not divide the layout gives modes that run past its end, as CuTe's predicated kernels expect. `self` is flat.
    pub(crate) const fn compose_ragged(&self, right: &[&Self], out: &mut Builder) -> Result<(), LayoutError> {
        let mut c = Composer { flat: self, digits: [0; IntTuple::MAX_LEAVES], up: 0, down: 0, exact: false };
        let mut i = 0;
        while i < right.len() {
            tri!(c.subtree(right[i], Cursor::START, out));
            i += 1;
        }
        Ok(())
    }

    /// Writes the exact composition of the leaves `from..to` with `b`.
    const fn compose_leaves(&self, from: usize, to: usize, b: &Self, out: &mut Builder) -> Result<(), LayoutError> {
        let flat = tri!(self.coalesce_leaves(from, to, true));
        let mut c = Composer { flat: &flat, digits: [0; IntTuple::MAX_LEAVES], up: 0, down: 0, exact: true };
        c.subtree(b, Cursor::START, out)
    }

    /// Composition by mode: mode `i` with `tiler`'s mode `i`; modes beyond the tiler are dropped, as CuTe does.
    ///
    /// # Errors
    /// As [`compose`](Self::compose), and [`LayoutError::TooManyModes`].
    pub const fn compose_by(&self, tiler: &Tiler<'_>) -> Result<Self, LayoutError> {
        let mut out = Builder::new();
        tri!(self.compose_by_at(Cursor::START, tiler, &mut out));
        out.finish()
    }

    const fn compose_by_at(&self, at: Cursor, tiler: &Tiler<'_>, out: &mut Builder) -> Result<(), LayoutError> {
        let to = self.shape.skip(at).leaf;
        match tiler {
            Tiler::Keep => {
                out.subtree(self, at);
                Ok(())
            }
            Tiler::Size(n) => self.compose_leaves(at.leaf, to, &tri!(Self::of(*n, Int::ONE)), out),
            Tiler::Layout(b) => self.compose_leaves(at.leaf, to, b, out),
            Tiler::ByMode(modes) => {
                let rank = self.shape.rank_at(at);
                if modes.len() > rank {
                    return Err(LayoutError::TooManyModes { operation: "composition", given: modes.len(), rank });
                }
                out.open();
                let (mut i, mut child) = (0, self.shape.child_at(at, 0));
                while i < modes.len() {
                    tri!(self.compose_by_at(child, &modes[i], out));
                    child = self.shape.skip(child);
                    i += 1;
                }
                out.close();
                Ok(())
            }
        }
    }
}
