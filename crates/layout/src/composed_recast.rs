//! Upcast, downcast and recast of composed layouts.

use crate::error::within;
use crate::recast::recast_ratio;
use crate::{ComposedLayout, Int, Layout, LayoutError, tri};

impl ComposedLayout {
    /// Offsets counted in elements `factor` times wider. Elements that become one must be neighbours, and the swizzle must keep them
    /// together; it may change their order within the wider element.
    ///
    /// # Errors
    /// As [`Layout::upcast`]; [`LayoutError::OffsetDivisibility`] for an offset between such elements,
    /// [`LayoutError::NotNeighbours`] and [`LayoutError::UpcastSwizzle`] for elements that are not together, and
    /// [`LayoutError::Count`] for a swizzle and a factor that is no power of two.
    pub const fn upcast(&self, factor: i64) -> Result<Self, LayoutError> {
        tri!(self.check());
        let layout = tri!(self.layout.upcast(factor));
        if self.offset.value() % factor != 0 {
            return Err(LayoutError::OffsetDivisibility { offset: self.offset, factor });
        }
        if !self.is_plain() {
            tri!(self.layout.neighbours_of(factor));
        }
        let mut swizzle = self.swizzle;
        if !swizzle.is_identity() {
            let scattering = tri!(swizzle.scattering(factor));
            if self.layout.reaches_any(scattering) {
                return Err(LayoutError::UpcastSwizzle { swizzle, factor });
            }
            swizzle = tri!(swizzle.upcast_fields(factor));
        }
        Ok(Self { swizzle, offset: self.offset.div(Int::Static(factor)), layout })
    }

    /// Offsets counted in elements `factor` times narrower.
    ///
    /// # Errors
    /// As [`Layout::downcast`] and [`Swizzle::downcast`](crate::Swizzle::downcast); [`LayoutError::NotNeighbours`] where the parts of
    /// an element would not be neighbours; [`LayoutError::Overflow`] for an offset that does not fit.
    pub const fn downcast(&self, factor: i64) -> Result<Self, LayoutError> {
        let layout = tri!(self.layout.downcast(factor));
        if !self.is_plain() && factor > 1 {
            tri!(self.layout.split_once(factor));
        }
        let far = self.offset.value() as i128 * factor as i128;
        tri!(within("the offset in front of the layout", far, Layout::LIMIT));
        let swizzle = if self.swizzle.is_identity() { self.swizzle } else { tri!(self.swizzle.downcast(factor)) };
        Ok(Self { swizzle, offset: self.offset.mul(Int::Static(factor)), layout })
    }

    /// Offsets in elements of `old_bits` become offsets in elements of `new_bits`.
    ///
    /// # Errors
    /// As [`upcast`](Self::upcast) and [`downcast`](Self::downcast).
    pub const fn recast(&self, old_bits: i64, new_bits: i64) -> Result<Self, LayoutError> {
        let (up, down) = tri!(recast_ratio(old_bits, new_bits));
        let mut out = *self;
        if up > 1 {
            out = tri!(out.upcast(up));
        }
        if down > 1 {
            out = tri!(out.downcast(down));
        }
        Ok(out)
    }
}

impl Layout {
    /// Whether each group of elements that [`upcast`](Self::upcast) makes one lies within one wider element. It looks at each mode
    /// alone, as CuTe's does: together, or backwards, modes may step over the end of it.
    const fn neighbours_of(&self, factor: i64) -> Result<(), LayoutError> {
        let (mut last, mut i) = (0i64, 0);
        while i < self.shape.leaves() {
            let (s, stride) = (self.shape.get(i).value(), self.stride.get(i));
            let d = stride.value();
            if s > 1 && d != 0 && d.abs() < factor {
                let together = if s < factor / d { s } else { factor / d };
                last = last.saturating_add((together - 1).saturating_mul(d));
                if d < 0 || last >= factor {
                    return Err(LayoutError::NotNeighbours { operation: "upcast", stride, factor });
                }
            }
            i += 1;
        }
        Ok(())
    }

    /// Whether [`downcast`](Self::downcast) splits each element in one mode, forwards. As in CuTe it also splits a mode of extent 1.
    const fn split_once(&self, factor: i64) -> Result<(), LayoutError> {
        let (mut split, mut i) = (false, 0);
        while i < self.shape.leaves() {
            let (s, stride) = (self.shape.get(i).value(), self.stride.get(i));
            if s > 1 && (stride.is(1) || stride.is(-1)) {
                if split || stride.is(-1) {
                    return Err(LayoutError::NotNeighbours { operation: "downcast", stride, factor });
                }
                split = true;
            }
            i += 1;
        }
        Ok(())
    }

    /// Whether any offset has one of `bits`, for strides above 0 that are powers of two or multiples of all of them.
    const fn reaches_any(&self, bits: i64) -> bool {
        let mut rest = bits;
        while rest != 0 {
            let bit = rest & -rest;
            rest ^= bit;
            // Coordinate by coordinate an offset grows by `bit` at most: it does not pass over those that have it.
            let (mut last, mut i) = (0i64, 0);
            while i < self.shape.leaves() {
                let (s, d) = (self.shape.get(i).value(), self.stride.get(i).value());
                if s > 1 && d & (2 * bit - 1) != 0 {
                    last = last.saturating_add((s - 1).saturating_mul(d));
                }
                i += 1;
            }
            if last >= bit {
                return true;
            }
        }
        false
    }
}
