//! Slices of swizzled layouts, which are plain where the swizzle has nothing left to do.

use crate::layout::Builder;
use crate::{ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler, tri};

/// What the offsets of a layout, added to a fixed one, do to a swizzle.
enum Meeting {
    /// Sums may carry into the swizzle's fields: nothing can be said.
    Carries,
    /// Each bit of the sum comes from one side, but both bits of a pair that the swizzle joins change.
    Swizzled,
    /// Each bit of the sum comes from one side, and of each pair at most one bit changes: the swizzle is linear there.
    Linear,
}

/// The bits that the offsets of `layout` have, if each comes from one mode alone.
pub(crate) const fn reach(layout: &Layout) -> Option<i64> {
    let (mut reached, mut i) = (0i64, 0);
    while i < layout.shape.leaves() {
        let (s, d) = (layout.shape.get(i).value(), layout.stride.get(i).value());
        if s > 1 && d != 0 {
            // A layout's span fits 63 bits.
            if d < 0 {
                return None;
            }
            let above = 64 - ((s - 1) * d).leading_zeros();
            let bits = (((1u64 << above) - 1) as i64) & (-1 << d.trailing_zeros());
            if reached & bits != 0 {
                return None;
            }
            reached |= bits;
        }
        i += 1;
    }
    Some(reached)
}

/// The bits from the lowest that any of `offset + layout(c)` has up to the highest, if these are known.
const fn range(offset: i64, layout: &Layout) -> Option<i64> {
    let (mut last, mut any, mut i) = (offset, offset, 0);
    while i < layout.shape.leaves() {
        let (s, d) = (layout.shape.get(i).value(), layout.stride.get(i).value());
        if s > 1 {
            if d < 0 {
                return None;
            }
            (last, any) = (last.saturating_add((s - 1) * d), any | d);
        }
        i += 1;
    }
    if offset < 0 || last == i64::MAX {
        return None;
    }
    if any == 0 {
        return Some(0);
    }
    Some((((1u64 << (64 - last.leading_zeros())) - 1) as i64) & (-1 << any.trailing_zeros()))
}

impl Swizzle {
    const fn meets(&self, offset: i64, layout: &Layout) -> Meeting {
        let Some(reached) = reach(layout) else { return Meeting::Carries };
        // Carries above the fields are sums like any other.
        let below = (1i64 << (self.bits + self.base + self.shift.abs())) - 1;
        if offset < 0 || offset & reached & below != 0 {
            return Meeting::Carries;
        }
        if (self.apply(reached & self.source_mask()) ^ reached & self.source_mask()) & reached != 0 {
            return Meeting::Swizzled;
        }
        Meeting::Linear
    }

    /// The layout that takes the bits of an offset to what each adds to the swizzled `at`, for bits that `at` has not and of
    /// which no two are a pair.
    const fn linear_at(&self, at: Int) -> Result<Layout, LayoutError> {
        let Self { bits, base, shift } = *self;
        let distance = shift.abs();
        let mut b = Builder::new();
        b.open();
        b.leaf(Int::Static(1 << base), Int::ONE);
        let mut high = 0;
        while high < 2 {
            let mut i = 0;
            while i < bits {
                let bit = 1i64 << (base + i + high * distance);
                // A bit that is read changes its partner too; one that is changed may already be.
                let partner = if high == 0 { bit << distance } else { bit >> distance };
                let minus = at.value() & partner != 0;
                let stride = match (bit & self.source_mask() != 0, minus) {
                    (true, false) => bit + partner,
                    (true, true) => bit - partner,
                    (false, false) => bit,
                    (false, true) => -bit,
                };
                b.leaf(Int::Static(2), if at.is_static() { Int::Static(stride) } else { Int::Dynamic(stride) });
                i += 1;
            }
            if high == 0 {
                b.leaf(Int::Static(1 << (distance - bits)), Int::Static(1 << (base + bits)));
            }
            high += 1;
        }
        b.leaf(Int::ONE, Int::Static(1 << (base + bits + distance)));
        b.close();
        b.finish()
    }
}

impl ComposedLayout {
    /// The modes that `coord` keeps, and an offset to be added behind the swizzle. Where the kept modes do not reach both
    /// bits of any pair that the swizzle joins, the result is a plain layout (CuTe's decay); otherwise what meets the
    /// swizzle joins the offset in front of it.
    ///
    /// ```
    /// use warpwright_layout::smem::{Major, SmemSwizzle, atom};
    /// use warpwright_layout::Coord;
    /// let tile = atom(Major::K, SmemSwizzle::B128, 16)?;
    /// // Row 3: its chunks of eight lie crosswise, at distances that no longer depend on anything.
    /// let (row, offset) = tile.slice_and_offset(&Coord::ByMode(&[Coord::At(3), Coord::All]))?;
    /// assert_eq!((row.to_string().as_str(), offset), ("((_8,_4,_2)):((_1,_-8,_32))", 216));
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Layout::slice`].
    pub const fn slice_and_offset(&self, coord: &Coord<'_>) -> Result<(Self, i64), LayoutError> {
        let (kept, fixed) = tri!(self.layout.slice(coord));
        if coord.is_all() {
            return Ok((self.with(kept), 0));
        }
        let at = tri!(self.offset_moved(Int::Static(fixed)));
        if self.swizzle.is_identity() {
            return Ok((Self::new(Swizzle::IDENTITY, kept), at.value()));
        }
        let whole = Self { swizzle: self.swizzle, offset: at, layout: kept };
        match self.swizzle.meets(at.value(), &kept) {
            // Where nothing is read nothing is changed.
            Meeting::Carries => match range(at.value(), &kept) {
                Some(bits) if bits & self.swizzle.source_mask() == 0 => {
                    Ok((Self::new(Swizzle::IDENTITY, kept), at.value()))
                }
                _ => Ok((whole, 0)),
            },
            Meeting::Linear => {
                if let Ok(linear) = self.swizzle.linear_at(at)
                    && let Ok(plain) = linear.compose(&kept)
                {
                    return Ok((Self::new(Swizzle::IDENTITY, plain), self.swizzle.apply(at.value())));
                }
                Ok((whole, 0))
            }
            Meeting::Swizzled => {
                let met = at.value() & (self.swizzle.source_mask() | self.swizzle.target_mask());
                let offset = if at.is_static() { Int::Static(met) } else { Int::Dynamic(met) };
                Ok((Self { swizzle: self.swizzle, offset, layout: kept }, at.value() - met))
            }
        }
    }

    /// As [`slice_and_offset`](Self::slice_and_offset) with the offset in the result, which alone is then the whole
    /// function.
    ///
    /// # Errors
    /// As [`Layout::slice`].
    pub const fn slice(&self, coord: &Coord<'_>) -> Result<Self, LayoutError> {
        let (slice, offset) = tri!(self.slice_and_offset(coord));
        slice.joined(offset)
    }

    /// A part and the offset behind its swizzle as one function: what [`slice_and_offset`](Self::slice_and_offset) leaves behind
    /// the swizzle has none of the bits that meet it, and may as well stand in front.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] for a sum beyond [`Layout::LIMIT`].
    pub const fn joined(&self, offset: i64) -> Result<Self, LayoutError> {
        Ok(Self { swizzle: self.swizzle, offset: tri!(self.offset_moved(Int::Static(offset))), layout: self.layout })
    }

    /// The tile at a tile coordinate, as [`Layout::local_tile`], and an offset to be added behind the swizzle.
    ///
    /// # Errors
    /// As [`Layout::local_tile`].
    pub const fn local_tile(&self, tiler: &Tiler<'_>, coord: &Coord<'_>) -> Result<(Self, i64), LayoutError> {
        let tiled = tri!(self.zipped_divide(tiler));
        tri!(tiled.layout.shape.mode(1).has_tile(coord));
        let (kept, offset) = tri!(tiled.slice_and_offset(&Coord::ByMode(&[Coord::All, *coord])));
        Ok((kept.with(tri!(kept.layout.unpack_first())), offset))
    }

    /// What thread `index` of `threads` owns, as [`Layout::local_partition`], and an offset to be added behind the swizzle.
    ///
    /// # Errors
    /// As [`Layout::local_partition`].
    pub const fn local_partition(&self, threads: &Layout, index: i64) -> Result<(Self, i64), LayoutError> {
        let place = tri!(threads.place_of(index));
        let rank = place.rank();
        let (mut tiler, mut coord) = ([Tiler::Keep; IntTuple::MAX_LEAVES], [Coord::All; IntTuple::MAX_LEAVES]);
        let mut i = 0;
        while i < rank {
            tiler[i] = Tiler::Size(threads.shape.mode(i).product());
            coord[i] = Coord::At(place.get(i).value());
            i += 1;
        }
        let tiled = tri!(self.zipped_divide(&Tiler::ByMode(tiler.split_at(rank).0)));
        let all = [Coord::All; IntTuple::MAX_LEAVES];
        let rest = tiled.layout.mode(1).rank();
        let rest = if rest > 1 { Coord::ByMode(all.split_at(rest).0) } else { Coord::All };
        tiled.slice_and_offset(&Coord::ByMode(&[Coord::ByMode(coord.split_at(rank).0), rest]))
    }
}
