//! Coalesce and filter: fewer modes, the same function.

use crate::layout::{Builder, Flat};
use crate::{Cursor, Int, IntTuple, Layout, LayoutError, tri};

impl Layout {
    /// The leaves `from..to`, merged. `beyond` keeps the function outside the domain too: a last static extent of 1 counts
    /// as an extent that never ends (CuTe's `coalesce_x`).
    pub(crate) const fn coalesce_leaves(&self, from: usize, to: usize, beyond: bool) -> Result<Self, LayoutError> {
        let (mut flat, mut i) = (Flat::new(), from);
        while i < to {
            let s = self.shape.get(i);
            let s = if beyond && i + 1 == to && s.is(1) { Int::Static(2) } else { s };
            flat.push(s, self.stride.get(i));
            i += 1;
        }
        flat.finish()
    }

    /// The simplest layout of depth at most 1 that agrees with this one on its domain.
    ///
    /// # Errors
    /// None for a layout that exists; the type is shared with the operations that call it.
    pub const fn coalesce(&self) -> Result<Self, LayoutError> {
        self.coalesce_leaves(0, self.shape.leaves(), false)
    }

    /// Coalesces at the integers of `profile`: `(1,1)` keeps two modes and coalesces each. The profile's values do not
    /// matter; modes beyond it stay as they are.
    ///
    /// # Errors
    /// [`LayoutError::TooManyModes`] when the profile has more modes than the layout.
    pub const fn coalesce_by(&self, profile: &IntTuple) -> Result<Self, LayoutError> {
        let mut b = Builder::new();
        tri!(self.merge_at(Cursor::START, profile, Cursor::START, true, &mut b));
        b.finish()
    }

    /// Writes the modes, each merged at the terminals of `profile`, with its modes of stride 0 or without.
    const fn merge_at(
        &self,
        at: Cursor,
        profile: &IntTuple,
        p: Cursor,
        zeros: bool,
        b: &mut Builder,
    ) -> Result<(), LayoutError> {
        if !profile.is_tuple_at(p) {
            let (from, to) = (at.leaf, self.shape.skip(at).leaf);
            let merged = tri!(if zeros { self.coalesce_leaves(from, to, false) } else { self.filter_leaves(from, to) });
            b.subtree(&merged, Cursor::START);
            return Ok(());
        }
        let (rank, given) = (self.shape.rank_at(at), profile.rank_at(p));
        if given > rank {
            let operation = if zeros { "coalesce" } else { "filter" };
            return Err(LayoutError::TooManyModes { operation, given, rank });
        }
        b.open();
        let mut i = 0;
        while i < rank {
            let child = self.shape.child_at(at, i);
            if i < given {
                tri!(self.merge_at(child, profile, profile.child_at(p, i), zeros, b));
            } else {
                b.subtree(self, child);
            }
            i += 1;
        }
        b.close();
        Ok(())
    }

    /// The layout with extent 1 wherever the stride is a static 0.
    pub const fn filter_zeros(&self) -> Self {
        let mut shape = [Int::ONE; IntTuple::MAX_LEAVES];
        let mut i = 0;
        while i < self.shape.leaves() {
            if !self.stride.get(i).is(0) {
                shape[i] = self.shape.get(i);
            }
            i += 1;
        }
        Self::of_parts(self.shape.with_leaves(&shape), self.stride)
    }

    /// Coalesced, without the modes of stride 0 and extent 1; `_1:_0` when nothing is left.
    ///
    /// # Errors
    /// As [`coalesce`](Self::coalesce).
    pub const fn filter(&self) -> Result<Self, LayoutError> {
        self.filter_leaves(0, self.shape.leaves())
    }

    /// Filters at the integers of `profile`, as [`coalesce_by`](Self::coalesce_by) coalesces.
    ///
    /// # Errors
    /// As [`coalesce_by`](Self::coalesce_by).
    pub const fn filter_by(&self, profile: &IntTuple) -> Result<Self, LayoutError> {
        let mut b = Builder::new();
        tri!(self.merge_at(Cursor::START, profile, Cursor::START, false, &mut b));
        b.finish()
    }

    const fn filter_leaves(&self, from: usize, to: usize) -> Result<Self, LayoutError> {
        let (mut flat, mut i) = (Flat::new(), from);
        while i < to {
            let d = self.stride.get(i);
            if !d.is(0) {
                flat.push(self.shape.get(i), d);
            }
            i += 1;
        }
        flat.finish()
    }
}
