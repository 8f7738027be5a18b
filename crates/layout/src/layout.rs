//! Layouts: functions from coordinates to offsets.

use core::fmt;

use crate::error::{Wide, within};
use crate::int::div_rem;
use crate::{Cursor, Int, IntTuple, LayoutError, tri};

/// What is refused where it does not fit.
pub(crate) const OFFSET: &str = "the offset of the coordinate";

/// The sum of offsets that may be far beyond a layout.
pub(crate) const fn wide_sum(a: i128, b: i128) -> Result<i128, LayoutError> {
    match a.checked_add(b) {
        Some(sum) => Ok(sum),
        None => Err(LayoutError::Overflow { what: OFFSET, value: Wide::UNKNOWN, limit: i64::MAX }),
    }
}

/// A shape and a congruent stride: the function that takes a coordinate to the inner product with the stride.
///
/// A coordinate is one integer (colexicographic: the first mode runs fastest), one integer a mode, or any nesting in
/// between. The value is inline and `Copy`; every operation of the algebra is a `const fn`.
///
/// ```
/// use warpwright_layout::{layout, Layout};
/// let a: Layout = "(_8,_4):(_4,_1)".parse()?;
/// assert_eq!(a.eval(5), 20);
/// const B: Layout = layout!((8, (4, 2)):(1, (8, 32)));
/// assert_eq!(B.to_string(), "(_8,(_4,_2)):(_1,(_8,_32))");
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    pub(crate) shape: IntTuple,
    pub(crate) stride: IntTuple,
    /// [`IntTuple::mode_ends`] of the shape: an evaluation costs twice as much if it has to find the modes among the marks.
    ends: u32,
}

impl Layout {
    /// The most that the size is, and the sum of extents times strides (their absolute values). What an offset of at most
    /// this is added to stays within 64 bits.
    pub const LIMIT: i64 = (1 << 62) - 1;

    /// `_1:_0`, the layout of one element at offset 0.
    pub const UNIT: Self = Self::of_parts(IntTuple::int(1), IntTuple::int(0));

    /// The layout `shape:stride`.
    ///
    /// # Errors
    /// [`LayoutError::NotCongruent`], [`LayoutError::Extent`] for an extent below 1, [`LayoutError::Overflow`] when the size
    /// or the sum of extents times strides is beyond [`LIMIT`](Self::LIMIT).
    pub const fn new(shape: IntTuple, stride: IntTuple) -> Result<Self, LayoutError> {
        let layout = Self::of_parts(shape, stride);
        match layout.fault() {
            None => Ok(layout),
            Some(fault) => Err(fault),
        }
    }

    /// A layout whose integers are known to make one.
    pub(crate) const fn of_parts(shape: IntTuple, stride: IntTuple) -> Self {
        Self { shape, stride, ends: shape.mode_ends() }
    }

    /// What keeps this from being a layout.
    const fn fault(&self) -> Option<LayoutError> {
        if !self.shape.congruent(&self.stride) {
            return Some(LayoutError::NotCongruent { left: self.shape.rank(), right: self.stride.rank() });
        }
        let (shape, stride) = (self.shape.values(), self.stride.values());
        let (mut i, mut size, mut span) = (0, 1i64, 0i64);
        while i < self.shape.leaves() {
            let s = shape[i];
            if s < 1 {
                return Some(LayoutError::Extent { mode: self.shape.path(i), extent: self.shape.get(i) });
            }
            size = size.saturating_mul(s);
            span = span.saturating_add(stride[i].saturating_abs().saturating_mul(s));
            i += 1;
        }
        if size > Self::LIMIT || span > Self::LIMIT { Some(self.overflow()) } else { None }
    }

    /// What is beyond the limit.
    #[cold]
    const fn overflow(&self) -> LayoutError {
        let (shape, stride) = (self.shape.values(), self.stride.values());
        let (mut i, mut size, mut span, mut known) = (0, 1i128, 0i128, true);
        while i < self.shape.leaves() {
            let (s, d) = (shape[i] as i128, stride[i].unsigned_abs() as i128);
            // Products of integers saturate.
            known = known && shape[i] < i64::MAX && d < i64::MAX as i128;
            size = size.saturating_mul(s);
            span = span.saturating_add(d.saturating_mul(s));
            i += 1;
        }
        let (what, value) = if size > Self::LIMIT as i128 {
            ("the number of coordinates", size)
        } else {
            ("the sum of extents times strides", span)
        };
        LayoutError::Overflow { what, value: if known { Wide::of(value) } else { Wide::UNKNOWN }, limit: Self::LIMIT }
    }

    /// `extent:stride`.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub const fn of(extent: Int, stride: Int) -> Result<Self, LayoutError> {
        Self::new(IntTuple::leaf(extent), IntTuple::leaf(stride))
    }

    /// `n:_1`, or `_1:_0`: what a tiler `n` stands for.
    pub(crate) const fn contiguous(n: Int) -> Result<Self, LayoutError> {
        Self::of(n, if n.is(1) { Int::ZERO } else { Int::ONE })
    }

    /// The compact layout of `shape` whose first mode is contiguous (CuTe's `LayoutLeft`, the default).
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub const fn column_major(shape: IntTuple) -> Result<Self, LayoutError> {
        Self::compact(shape, Int::ONE, false)
    }

    /// The compact layout of `shape` whose last mode is contiguous (CuTe's `LayoutRight`).
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub const fn row_major(shape: IntTuple) -> Result<Self, LayoutError> {
        Self::compact(shape, Int::ONE, true)
    }

    /// Compact strides that start at `first`; static extents of 1 get stride 0.
    pub(crate) const fn compact(shape: IntTuple, first: Int, right: bool) -> Result<Self, LayoutError> {
        let mut strides = [Int::ZERO; IntTuple::MAX_LEAVES];
        let (mut n, mut current) = (0, first);
        while n < shape.leaves() {
            let i = if right { shape.leaves() - 1 - n } else { n };
            let s = shape.get(i);
            if !s.is(1) {
                strides[i] = current;
                current = current.mul(s);
            }
            n += 1;
        }
        Self::new(shape, shape.with_leaves(&strides))
    }

    /// The layout whose modes are `modes`.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] and [`LayoutError::Overflow`].
    pub const fn concat(modes: &[Self]) -> Result<Self, LayoutError> {
        let mut b = Builder::new();
        b.open();
        let mut i = 0;
        while i < modes.len() {
            b.subtree(&modes[i], Cursor::START);
            i += 1;
        }
        b.close();
        b.finish()
    }

    /// The extents.
    pub const fn shape(&self) -> IntTuple {
        self.shape
    }

    /// The strides, congruent with the shape.
    pub const fn stride(&self) -> IntTuple {
        self.stride
    }

    /// The number of modes.
    pub const fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// The nesting depth; 0 for `s:d`.
    pub const fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// The number of coordinates.
    pub const fn size(&self) -> Int {
        self.shape.product()
    }

    /// One more than the largest offset that |strides| reach.
    pub const fn cosize(&self) -> Int {
        let (mut i, mut c) = (0, Int::ZERO);
        while i < self.shape.leaves() {
            c = c.add(self.shape.get(i).sub(Int::ONE).mul(self.stride.get(i).abs()));
            i += 1;
        }
        c.add(Int::ONE)
    }

    /// The least and the greatest offset.
    pub(crate) const fn bounds(&self) -> [i64; 2] {
        let (mut bounds, mut i) = ([0; 2], 0);
        while i < self.shape.leaves() {
            let reach = (self.shape.get(i).value() - 1) * self.stride.get(i).value();
            bounds[(reach > 0) as usize] += reach;
            i += 1;
        }
        bounds
    }

    /// Whether shape and stride are static.
    pub const fn is_static(&self) -> bool {
        self.shape.is_static() && self.stride.is_static()
    }

    /// Mode `i` as a layout.
    ///
    /// # Panics
    /// When `i` is not below [`rank`](Self::rank).
    pub const fn mode(&self, i: usize) -> Self {
        Self::of_parts(self.shape.mode(i), self.stride.mode(i))
    }

    /// The offset of the linear coordinate `index`. Beyond the size, the last mode goes on.
    ///
    /// Offsets of coordinates of the layout are exact. Far beyond, where an offset does not fit 64 bits, it wraps:
    /// [`try_eval`](Self::try_eval) refuses there.
    #[inline]
    pub const fn eval(&self, index: i64) -> i64 {
        let n = self.shape.leaves();
        if n == 0 {
            return 0;
        }
        self.eval_leaves(0, n, index)
    }

    /// The offset of the linear coordinate `index`, wherever it is.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the offset does not fit 64 bits.
    pub const fn try_eval(&self, index: i64) -> Result<i64, LayoutError> {
        within(OFFSET, self.wide_leaves(0, self.shape.leaves(), index), i64::MAX)
    }

    /// The offset of the coordinate `coord`, one integer a mode, wherever it is. Missing coordinates are 0.
    ///
    /// # Errors
    /// As [`try_eval`](Self::try_eval).
    pub const fn try_eval_at(&self, coord: &[i64]) -> Result<i64, LayoutError> {
        within(OFFSET, tri!(self.wide_at(coord)), i64::MAX)
    }

    /// [`try_eval_at`](Self::try_eval_at) before it is made 64 bits again.
    pub(crate) const fn wide_at(&self, coord: &[i64]) -> Result<i128, LayoutError> {
        let (mut modes, mut leaf, mut i, mut offset) = (self.shape.walk(), 0, 0, 0i128);
        while i < coord.len() && modes.has_next() {
            let end = leaf + modes.next_leaves();
            offset = tri!(wide_sum(offset, self.wide_leaves(leaf, end, coord[i])));
            leaf = end;
            i += 1;
        }
        Ok(offset)
    }

    /// The offset of a coordinate over the leaves `from..to`; at most 2^125.
    pub(crate) const fn wide_leaves(&self, from: usize, to: usize, index: i64) -> i128 {
        let (shape, stride) = (self.shape.values(), self.stride.values());
        let (mut rest, mut offset, mut i) = (index, 0i128, from);
        while i < to {
            let (quotient, digit) = if i + 1 < to { div_rem(rest, shape[i]) } else { (0, rest) };
            offset += digit as i128 * stride[i] as i128;
            rest = quotient;
            i += 1;
        }
        offset
    }

    /// The offset of the coordinate `coord`, one integer a mode. Missing coordinates are 0. Coordinates beyond the layout
    /// as in [`eval`](Self::eval).
    #[inline]
    pub const fn eval_at(&self, coord: &[i64]) -> i64 {
        let (shape, stride) = (self.shape.values(), self.stride.values());
        let (mut ends, mut i, mut leaf, mut offset) = (self.ends, 0, 0, 0i64);
        if ends == 0 {
            return self.eval_modes(coord);
        }
        while i < coord.len() && ends != 0 {
            let mut rest = coord[i];
            while ends & 1 == 0 {
                let (quotient, digit) = div_rem(rest, shape[leaf]);
                offset = offset.wrapping_add(digit * stride[leaf]);
                (rest, ends, leaf) = (quotient, ends >> 1, leaf + 1);
            }
            offset = offset.wrapping_add(rest.wrapping_mul(stride[leaf]));
            (ends, leaf, i) = (ends >> 1, leaf + 1, i + 1);
        }
        offset
    }

    /// [`eval_at`](Self::eval_at) where modes are empty.
    #[cold]
    const fn eval_modes(&self, coord: &[i64]) -> i64 {
        let (mut modes, mut leaf, mut i, mut offset) = (self.shape.walk(), 0, 0, 0i64);
        while i < coord.len() && modes.has_next() {
            let end = leaf + modes.next_leaves();
            offset = self.eval_leaves(leaf, end, coord[i]).wrapping_add(offset);
            leaf = end;
            i += 1;
        }
        offset
    }

    #[inline]
    const fn eval_leaves(&self, from: usize, to: usize, index: i64) -> i64 {
        let (shape, stride) = (self.shape.values(), self.stride.values());
        let (mut rest, mut offset, mut i) = (index, 0i64, from);
        while i + 1 < to {
            let (quotient, digit) = div_rem(rest, shape[i]);
            offset += digit * stride[i];
            rest = quotient;
            i += 1;
        }
        if i < to { offset.wrapping_add(rest.wrapping_mul(stride[i])) } else { offset }
    }

    /// The same layout with every integer dynamic.
    pub const fn to_dynamic(&self) -> Self {
        Self { shape: self.shape.to_dynamic(), stride: self.stride.to_dynamic(), ends: self.ends }
    }

    /// The same layout with every integer static.
    pub const fn to_static(&self) -> Self {
        Self { shape: self.shape.to_static(), stride: self.stride.to_static(), ends: self.ends }
    }

    /// All modes at depth 1.
    pub const fn flatten(&self) -> Self {
        Self::of_parts(self.shape.flatten(), self.stride.flatten())
    }

    /// The modes regrouped as the tuple `profile` is, of which the values do not matter: what [`flatten`](Self::flatten)
    /// undoes.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] when `profile` has another number of integers.
    pub const fn unflatten(&self, profile: &IntTuple) -> Result<Self, LayoutError> {
        Ok(Self::of_parts(tri!(self.shape.unflatten(profile)), tri!(self.stride.unflatten(profile))))
    }

    /// The layout with modes `begin..end` gathered into one mode; of no modes an empty one, of size 1, as in CuTe.
    ///
    /// # Errors
    /// [`LayoutError::ModeRange`] when the range does not lie within the modes.
    pub const fn group(&self, begin: usize, end: usize) -> Result<Self, LayoutError> {
        let rank = self.rank();
        if begin > end || end > rank {
            return Err(LayoutError::ModeRange { operation: "group", begin, end, rank });
        }
        let mut b = Builder::new();
        b.open();
        let mut i = 0;
        while i <= rank {
            if i == begin {
                b.open();
            }
            if i == end {
                b.close();
            }
            if i < rank {
                b.mode(self, i);
            }
            i += 1;
        }
        b.close();
        b.finish()
    }

    /// The modes `begin..end`; a single one stands by itself, as in CuTe.
    ///
    /// # Errors
    /// [`LayoutError::ModeRange`] when the range does not lie within the modes.
    pub const fn take(&self, begin: usize, end: usize) -> Result<Self, LayoutError> {
        let rank = self.rank();
        if begin > end || end > rank {
            return Err(LayoutError::ModeRange { operation: "take", begin, end, rank });
        }
        if end - begin == 1 {
            return Ok(self.mode(begin));
        }
        let mut b = Builder::new();
        b.open();
        let mut i = begin;
        while i < end {
            b.mode(self, i);
            i += 1;
        }
        b.close();
        b.finish()
    }

    /// The modes that `which` lists, in its order; a single one stands by itself, as in CuTe.
    ///
    /// ```
    /// use warpwright_layout::layout;
    /// let transposed = layout!((4, 8)).select(&[1, 0])?;
    /// assert_eq!(transposed.to_string(), "(_8,_4):(_4,_1)");
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Rank`] for a mode that there is not.
    pub const fn select(&self, which: &[usize]) -> Result<Self, LayoutError> {
        let rank = self.rank();
        let mut b = Builder::new();
        if which.len() != 1 {
            b.open();
        }
        let mut i = 0;
        while i < which.len() {
            if which[i] >= rank {
                return Err(LayoutError::Rank { operation: "select", found: rank, needed: which[i].saturating_add(1) });
            }
            b.mode(self, which[i]);
            i += 1;
        }
        if which.len() != 1 {
            b.close();
        }
        b.finish()
    }

    /// The layout with `_1:_0` modes appended up to rank `rank`; an integer of rank 1 stays as it is.
    pub(crate) const fn append(&self, rank: usize) -> Result<Self, LayoutError> {
        let have = self.rank();
        if have >= rank {
            return Ok(*self);
        }
        let mut b = Builder::new();
        b.open();
        b.modes(self);
        let mut i = have;
        while i < rank {
            b.leaf(Int::ONE, Int::ZERO);
            i += 1;
        }
        b.close();
        b.finish()
    }

    /// The layout as a function on the coordinates of `shape`: composition with the compact layout of `shape`.
    ///
    /// # Errors
    /// As [`Layout::compose`].
    pub const fn with_shape(&self, shape: IntTuple) -> Result<Self, LayoutError> {
        let domain = tri!(Self::column_major(shape));
        self.compose(&domain)
    }
}

/// Builds shape and stride in step. An error of size is remembered until [`Builder::finish`].
pub(crate) struct Builder {
    layout: Layout,
    fits: bool,
}

const NOTHING: Layout = Layout::of_parts(IntTuple::NOTHING, IntTuple::NOTHING);

/// The layout, if it fitted and is one.
const fn finished(mut layout: Layout, fits: bool) -> Result<Layout, LayoutError> {
    if !fits {
        return Err(LayoutError::TooLarge);
    }
    layout.ends = layout.shape.mode_ends();
    match layout.fault() {
        None => Ok(layout),
        Some(fault) => Err(fault),
    }
}

impl Builder {
    pub(crate) const fn new() -> Self {
        Self { layout: NOTHING, fits: true }
    }

    pub(crate) const fn open(&mut self) {
        self.fits = self.fits && self.layout.shape.push_open() && self.layout.stride.push_open();
    }

    pub(crate) const fn close(&mut self) {
        self.fits = self.fits && self.layout.shape.push_close() && self.layout.stride.push_close();
    }

    #[inline]
    pub(crate) const fn leaf(&mut self, shape: Int, stride: Int) {
        self.fits = self.fits && self.layout.shape.push_leaf(shape) && self.layout.stride.push_leaf(stride);
    }

    /// The position that [`Builder::enclose`] takes.
    pub(crate) const fn here(&self) -> u32 {
        self.layout.shape.tokens_so_far()
    }

    /// Encloses what was pushed since `from` in parentheses.
    pub(crate) const fn enclose(&mut self, from: u32) {
        self.fits = self.fits && self.layout.shape.enclose(from) && self.layout.stride.enclose(from);
    }

    pub(crate) const fn subtree(&mut self, from: &Layout, at: Cursor) {
        self.fits = self.fits
            && self.layout.shape.push_subtree(&from.shape, at)
            && self.layout.stride.push_subtree(&from.stride, at);
    }

    /// Mode `i` of `from`.
    pub(crate) const fn mode(&mut self, from: &Layout, i: usize) {
        self.subtree(from, from.shape.child_at(Cursor::START, i));
    }

    /// Every mode of `from`, without its own parentheses.
    pub(crate) const fn modes(&mut self, from: &Layout) {
        let (mut i, rank) = (0, from.rank());
        while i < rank {
            self.mode(from, i);
            i += 1;
        }
    }

    pub(crate) const fn finish(self) -> Result<Layout, LayoutError> {
        finished(self.layout, self.fits)
    }

    /// What is built so far, to be taken apart again: not checked for what only a finished layout must be.
    pub(crate) const fn parts(&self) -> Result<&Layout, LayoutError> {
        if self.fits { Ok(&self.layout) } else { Err(LayoutError::TooLarge) }
    }
}

/// Builds a coalesced layout: modes of extent 1 are skipped and a mode that continues the one before is merged into it.
pub(crate) struct Flat {
    layout: Layout,
    fits: bool,
}

impl Flat {
    pub(crate) const fn new() -> Self {
        Self { layout: NOTHING, fits: true }
    }

    #[inline]
    pub(crate) const fn push(&mut self, s: Int, d: Int) {
        if s.is(1) {
            return;
        }
        let Layout { shape, stride, .. } = &mut self.layout;
        let n = shape.leaves();
        if n > 0 && s.is_static() && d.is_static() {
            let last = shape.get(n - 1);
            if last.mul(stride.get(n - 1)).is(d.value()) {
                shape.set_last(last.mul(s));
                return;
            }
        }
        self.fits = self.fits && shape.put_bare(s) && stride.put_bare(d);
    }

    pub(crate) const fn finish(mut self) -> Result<Layout, LayoutError> {
        if self.layout.shape.leaves() == 0 {
            return if self.fits { Ok(Layout::UNIT) } else { Err(LayoutError::TooLarge) };
        }
        self.layout.shape.flat_tokens();
        self.layout.stride.flat_tokens();
        finished(self.layout, self.fits)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape, self.stride)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
