//! Composed layouts: a swizzle after an offset after a layout.

use core::fmt;

use crate::decay::reach;
use crate::error::within;
use crate::layout::{OFFSET, wide_sum};
use crate::recast::gcd;
use crate::{Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler, tri};

/// `swizzle ∘ offset ∘ layout`: the function `c ↦ swizzle(offset + layout(c))`.
///
/// Operations act on the layout, which is the domain; the swizzle and offset stay in front.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    /// Applied last.
    pub swizzle: Swizzle,
    /// Added before the swizzle; at most [`Layout::LIMIT`], positive or negative, which all but the plain evaluation check.
    pub offset: Int,
    /// Applied first.
    pub layout: Layout,
}

macro_rules! on_layout {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// As the operation of the same name on [`Layout`].
        pub const fn $name(&self, $($arg: $type),*) -> Result<Self, LayoutError> {
            Ok(self.with(tri!(self.layout.$name($($arg),*))))
        }
    )*};
}

impl ComposedLayout {
    /// `swizzle ∘ 0 ∘ layout`.
    pub const fn new(swizzle: Swizzle, layout: Layout) -> Self {
        Self { swizzle, offset: Int::ZERO, layout }
    }

    /// The same with another offset.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] for an offset beyond [`Layout::LIMIT`].
    pub const fn with_offset(&self, offset: Int) -> Result<Self, LayoutError> {
        let new = Self { swizzle: self.swizzle, offset, layout: self.layout };
        tri!(new.check());
        Ok(new)
    }

    /// Whether the offset is one with which nothing overflows.
    pub(crate) const fn check(&self) -> Result<(), LayoutError> {
        tri!(within("the offset in front of the layout", self.offset.value() as i128, Layout::LIMIT));
        Ok(())
    }

    /// The offset `by` further on.
    pub(crate) const fn offset_moved(&self, by: Int) -> Result<Int, LayoutError> {
        let sum = self.offset.value() as i128 + by.value() as i128;
        tri!(self.check());
        let sum = tri!(within("the offset in front of the layout", sum, Layout::LIMIT));
        Ok(if self.offset.is_static() && by.is_static() { Int::Static(sum) } else { Int::Dynamic(sum) })
    }

    pub(crate) const fn with(&self, layout: Layout) -> Self {
        Self { swizzle: self.swizzle, offset: self.offset, layout }
    }

    /// Whether this is its layout alone: no swizzle and no offset.
    pub const fn is_plain(&self) -> bool {
        self.swizzle.is_identity() && self.offset.is(0)
    }

    /// The number of coordinates.
    pub const fn size(&self) -> Int {
        self.layout.size()
    }

    /// The cosize of the inner layout.
    pub const fn cosize(&self) -> Int {
        self.layout.cosize()
    }

    /// The number of modes.
    pub const fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The offset of the linear coordinate `index`. Coordinates beyond the layout as in [`Layout::eval`].
    #[inline]
    pub const fn eval(&self, index: i64) -> i64 {
        self.swizzle.apply(self.offset.value().wrapping_add(self.layout.eval(index)))
    }

    /// The offset of the coordinate `coord`, one integer a mode. Coordinates beyond the layout as in [`Layout::eval`].
    #[inline]
    pub const fn eval_at(&self, coord: &[i64]) -> i64 {
        self.swizzle.apply(self.offset.value().wrapping_add(self.layout.eval_at(coord)))
    }

    /// The offset of the linear coordinate `index`, wherever it is.
    ///
    /// # Errors
    /// As [`Layout::try_eval`].
    pub const fn try_eval(&self, index: i64) -> Result<i64, LayoutError> {
        self.swizzled(self.layout.wide_leaves(0, self.layout.shape.leaves(), index))
    }

    /// The offset of the coordinate `coord`, one integer a mode, wherever it is. Missing coordinates are 0.
    ///
    /// # Errors
    /// As [`Layout::try_eval`].
    pub const fn try_eval_at(&self, coord: &[i64]) -> Result<i64, LayoutError> {
        self.swizzled(tri!(self.layout.wide_at(coord)))
    }

    /// The offset of a coordinate that is nested as the shape is, or less deeply.
    ///
    /// # Errors
    /// As [`Layout::crd2idx`].
    pub const fn crd2idx(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        self.swizzled(tri!(self.layout.wide_crd2idx(coord)))
    }

    const fn swizzled(&self, inner: i128) -> Result<i64, LayoutError> {
        let offset = tri!(wide_sum(inner, self.offset.value() as i128));
        Ok(self.swizzle.apply(tri!(within(OFFSET, offset, i64::MAX))))
    }

    on_layout! {
        /// `self ∘ b`.
        compose(b: &Layout);
        /// Composition by mode.
        compose_by(tiler: &Tiler<'_>);
        /// Coalesces the layout.
        coalesce();
        /// Coalesces at the integers of `profile`.
        coalesce_by(profile: &IntTuple);
        /// Coalesces the layout and leaves out its modes of stride 0.
        filter();
        /// Filters at the integers of `profile`.
        filter_by(profile: &IntTuple);
        /// The function on the coordinates of `shape`.
        with_shape(shape: IntTuple);
        /// The modes regrouped as `profile` is.
        unflatten(profile: &IntTuple);
        /// Gathers modes `begin..end` into one.
        group(begin: usize, end: usize);
        /// The modes `begin..end`.
        take(begin: usize, end: usize);
        /// The modes that `which` lists, in its order.
        select(which: &[usize]);
        /// The modes that `coord` fixes, with the others at 0.
        dice(coord: &Coord<'_>);
        /// `((tile),(rest))` in each tiled mode.
        logical_divide(tiler: &Tiler<'_>);
        /// `((tile modes),(rest modes))`.
        zipped_divide(tiler: &Tiler<'_>);
        /// `((tile modes),rest modes…)`.
        tiled_divide(tiler: &Tiler<'_>);
        /// `(tile modes…,rest modes…)`.
        flat_divide(tiler: &Tiler<'_>);
        /// `(block,(repetitions))` in each tiled mode.
        logical_product(tiler: &Tiler<'_>);
        /// `((block modes),(tiler modes))`.
        zipped_product(tiler: &Tiler<'_>);
        /// `((block modes),tiler modes…)`.
        tiled_product(tiler: &Tiler<'_>);
        /// `(block modes…,tiler modes…)`.
        flat_product(tiler: &Tiler<'_>);
        /// The block repeated over `tiler`.
        blocked_product(tiler: &Layout);
        /// The block repeated over `tiler`, interleaved.
        raked_product(tiler: &Layout);
        /// The block repeated to the extents of `shape`, smaller orders first.
        tile_to_shape(shape: &IntTuple, order: Option<&IntTuple>);
    }

    /// All modes at depth 1.
    pub const fn flatten(&self) -> Self {
        self.with(self.layout.flatten())
    }

    /// Mode `i` alone, the others at 0.
    ///
    /// # Panics
    /// When `i` is not below [`rank`](Self::rank).
    pub const fn mode(&self, i: usize) -> Self {
        self.with(self.layout.mode(i))
    }

    /// The complement of the layout, before the swizzle, as CuTe defines it: a swizzle permutes offsets and leaves none out.
    ///
    /// # Errors
    /// As [`Layout::complement`].
    pub const fn complement(&self, cotarget: &IntTuple) -> Result<Layout, LayoutError> {
        self.layout.complement(cotarget)
    }

    /// The layout seen from `coord` on: coordinate 0 of the result is `coord` of this one. CuTe's `domain_offset`.
    ///
    /// # Errors
    /// As [`Layout::crd2idx`].
    pub const fn domain_offset(&self, coord: &IntTuple) -> Result<Self, LayoutError> {
        let by = Int::Dynamic(tri!(self.layout.crd2idx(coord)));
        Ok(Self { swizzle: self.swizzle, offset: tri!(self.offset_moved(by)), layout: self.layout })
    }

    /// A compact layout of this shape for registers, as [`Layout::fragment_like`]: registers are not swizzled.
    ///
    /// # Errors
    /// As [`Layout::fragment_like`].
    pub const fn fragment_like(&self) -> Result<Layout, LayoutError> {
        self.layout.fragment_like()
    }

    /// A compact layout of this shape in the order of the layout's strides, as [`Layout::make_like`]: what is compact has nothing
    /// for a swizzle to do. CuTe has it for plain layouts alone.
    ///
    /// # Errors
    /// As [`Layout::make_like`].
    pub const fn make_like(&self) -> Result<Layout, LayoutError> {
        self.layout.make_like()
    }

    /// The coordinates that are mapped to 0, as [`Layout::nullspace`]: a swizzle takes 0 alone to 0. CuTe attempts none, and
    /// answers `_1:_0`.
    ///
    /// # Errors
    /// [`LayoutError::Offset`] for an offset that is not 0, and those of [`Layout::nullspace`].
    pub const fn nullspace(&self) -> Result<Layout, LayoutError> {
        if self.offset.value() != 0 {
            return Err(LayoutError::Offset { offset: self.offset });
        }
        self.layout.nullspace()
    }

    /// The complement in the cosize of the layout.
    ///
    /// # Errors
    /// As [`complement`](Self::complement).
    pub const fn complement_self(&self) -> Result<Layout, LayoutError> {
        self.layout.complement_self()
    }

    /// The largest factor by which offsets can be counted wider: that of the layout and the offset, and never more than the
    /// swizzle leaves adjacent.
    ///
    /// # Errors
    /// As [`Layout::max_alignment`].
    pub const fn max_alignment(&self) -> Result<i64, LayoutError> {
        tri!(self.check());
        let mut most = gcd(tri!(self.layout.max_alignment()), self.offset.value());
        if !self.swizzle.is_identity() {
            most = gcd(most, 1 << self.swizzle.base);
        }
        Ok(most)
    }

    /// The number of contiguous elements that correspond in this and in `b`: never more than a swizzle leaves adjacent that
    /// the other has not.
    ///
    /// # Errors
    /// As [`Layout::max_common_vector`].
    pub const fn max_common_vector(&self, b: &Self) -> Result<i64, LayoutError> {
        tri!(self.check());
        tri!(b.check());
        let mut vector = tri!(self.layout.max_common_vector(&b.layout));
        let (s, t) = (&self.swizzle, &b.swizzle);
        let alike = s.bits == t.bits && (s.bits == 0 || (s.base == t.base && s.shift == t.shift));
        if alike && (s.bits == 0 || self.offset.value() == b.offset.value()) {
            return Ok(vector);
        }
        let both = [self, b];
        let mut i = 0;
        while i < 2 {
            let adjacent = both[i].adjacent();
            if !both[i].swizzle.is_identity() && vector > adjacent {
                vector = adjacent;
            }
            i += 1;
        }
        Ok(vector)
    }

    /// The contiguous elements that correspond in this and in `b`, never more than the swizzle leaves adjacent.
    ///
    /// # Errors
    /// As [`Layout::max_common_layout`].
    pub const fn max_common_layout(&self, b: &Layout) -> Result<Layout, LayoutError> {
        tri!(self.check());
        let common = tri!(self.layout.max_common_layout(b));
        let adjacent = Int::Static(self.adjacent());
        if self.swizzle.is_identity() || adjacent.value() >= common.size().value() {
            return Ok(common);
        }
        common.compose(&tri!(Layout::contiguous(adjacent)))
    }

    /// Neighbours that the swizzle leaves neighbours, from the offset on and from every multiple of them.
    const fn adjacent(&self) -> i64 {
        gcd(1 << self.swizzle.base, self.offset.value())
    }

    /// The same composed layout with every integer static.
    pub const fn to_static(&self) -> Self {
        Self { swizzle: self.swizzle, offset: Int::Static(self.offset.value()), layout: self.layout.to_static() }
    }
}

impl Layout {
    /// `self ∘ b`: the swizzle passes through this layout, becoming one that acts on its offsets.
    ///
    /// # Errors
    /// [`LayoutError::Offset`] for an offset that is not 0, [`LayoutError::SwizzleTransfer`] when this layout does not map the
    /// swizzle's bit fields onto bit fields, and those of [`compose`](Self::compose).
    pub const fn compose_swizzled(&self, b: &ComposedLayout) -> Result<ComposedLayout, LayoutError> {
        if b.offset.value() != 0 {
            return Err(LayoutError::Offset { offset: b.offset });
        }
        let layout = tri!(self.compose(&b.layout));
        Ok(ComposedLayout::new(if b.swizzle.is_identity() { b.swizzle } else { tri!(b.swizzle.through(self)) }, layout))
    }

    /// `(block,(repetitions))` where the repetitions are laid out by a swizzled tiler: the swizzle follows the blocks, so that it
    /// moves whole blocks as it moved the tiler's elements.
    ///
    /// ```
    /// use warpwright_layout::{ComposedLayout, Swizzle, layout};
    /// let tiler = ComposedLayout::new(Swizzle::new(2, 0, 2)?, layout!((4, 4)));
    /// let product = layout!((2, 2)).logical_product_swizzled(&tiler)?;
    /// assert_eq!(product.to_string(), "Sw<2,2,2> o _0 o ((_2,_2),(_4,_4)):((_1,_2),(_4,_16))");
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// As [`logical_product`](Self::logical_product); [`LayoutError::Offset`] for an offset that is not 0,
    /// [`LayoutError::SwizzleTransfer`] when the tiler does not reach the swizzle's fields, or the product does not keep them,
    /// and those of [`left_inverse`](Self::left_inverse).
    pub const fn logical_product_swizzled(&self, tiler: &ComposedLayout) -> Result<ComposedLayout, LayoutError> {
        if tiler.offset.value() != 0 {
            return Err(LayoutError::Offset { offset: tiler.offset });
        }
        let product = tri!(self.logical_product(&Tiler::Layout(&tiler.layout)));
        // The last coordinate reaches every bit of a tiler whose strides nest.
        let reached = tiler.layout.eval(tiler.size().value() - 1);
        let (source, target) = (reached & tiler.swizzle.source_mask(), reached & tiler.swizzle.target_mask());
        if tiler.swizzle.apply(source) != source ^ target {
            return Err(LayoutError::SwizzleTransfer);
        }
        let active = tri!(Swizzle::from_masks(source, target));
        // From where the tiler puts an element to where the product puts the block in its place.
        let to_product = tri!(product.mode(1).compose(&tri!(tiler.layout.left_inverse())));
        let swizzle = tri!(active.through(&to_product));
        if !swizzle.is_identity() && reach(&product).is_none() {
            return Err(LayoutError::SwizzleTransfer);
        }
        Ok(ComposedLayout::new(swizzle, product))
    }
}

impl From<Layout> for ComposedLayout {
    fn from(layout: Layout) -> Self {
        Self::new(Swizzle::IDENTITY, layout)
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_plain() {
            return fmt::Display::fmt(&self.layout, f);
        }
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}

impl fmt::Debug for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
