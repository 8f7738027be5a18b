//! Swizzles: XOR one bit field of an offset into another.

use core::fmt;

use crate::{Layout, LayoutError, tri};

/// `Swizzle<bits,base,shift>`: the `bits` bits at `base + max(shift,0)` are XORed into those at `base + max(-shift,0)`.
///
/// On a 128-byte-swizzled tile of 16-byte rows-of-chunks this is what lets eight rows be read at one column without bank
/// conflicts. The function is its own inverse.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// Width of the two bit fields.
    pub bits: i32,
    /// Low bits that stay as they are.
    pub base: i32,
    /// Distance between the fields; positive when the higher field is XORed into the lower.
    pub shift: i32,
}

impl Swizzle {
    /// The identity.
    pub const IDENTITY: Self = Self { bits: 0, base: 4, shift: 3 };

    /// `Swizzle<bits,base,shift>`.
    ///
    /// # Errors
    /// [`LayoutError::Swizzle`] for negative fields, `|shift| < bits`, or fields beyond 31 bits.
    pub const fn new(bits: i32, base: i32, shift: i32) -> Result<Self, LayoutError> {
        let distance = shift.saturating_abs();
        if bits < 0 || base < 0 || distance < bits || bits.saturating_add(base).saturating_add(distance) > 31 {
            return Err(LayoutError::Swizzle { bits, base, shift });
        }
        Ok(Self { bits, base, shift })
    }

    /// The field that is read.
    #[inline]
    pub const fn source_mask(&self) -> i64 {
        ((1 << self.bits) - 1) << (self.base + if self.shift > 0 { self.shift } else { 0 })
    }

    /// The field that is changed.
    pub const fn target_mask(&self) -> i64 {
        ((1 << self.bits) - 1) << (self.base - if self.shift < 0 { self.shift } else { 0 })
    }

    /// The swizzled offset.
    #[inline]
    pub const fn apply(&self, x: i64) -> i64 {
        let field = x & self.source_mask();
        x ^ if self.shift >= 0 { field >> self.shift } else { field << -self.shift }
    }

    /// Whether the `extent` offsets from `first` on stay among themselves.
    pub(crate) const fn keeps(&self, first: i64, extent: i64) -> bool {
        let (mut at, end) = (first, first + extent);
        while at < end {
            // As far as the offsets from here on have all values of some low bits.
            let mut free = if at == 0 { 62 } else { at.trailing_zeros() };
            while free > 62 || end - at < 1 << free {
                free -= 1;
            }
            if self.extreme(at, free, false) < first || self.extreme(at, free, true) >= end {
                return false;
            }
            at += 1 << free;
        }
        true
    }

    /// The least or the largest swizzled offset of those that have the bits of `at` above the `free` lowest, which it has not.
    const fn extreme(&self, at: i64, free: u32, largest: bool) -> i64 {
        let low = (1i64 << free) - 1;
        let high = self.apply(at) & !low;
        if self.shift >= 0 {
            // Bits that are read stand above those that they change: a block goes to a block.
            return if largest { high | low } else { high };
        }
        // Free bits that change fixed ones are chosen for these.
        let chosen = self.source_mask() & low & !(low >> -self.shift);
        let changed = chosen << -self.shift;
        let best = if largest { high | changed } else { high & !changed };
        let rest = if largest { low & !chosen } else { 0 };
        best | (high ^ best) >> -self.shift | rest
    }

    /// Whether this is the identity.
    pub const fn is_identity(&self) -> bool {
        self.bits == 0
    }

    /// The swizzle that reads the bits of `source` and changes those of `target`.
    ///
    /// # Errors
    /// [`LayoutError::SwizzleTransfer`] when these are not contiguous fields of one width.
    pub const fn from_masks(source: i64, target: i64) -> Result<Self, LayoutError> {
        if source == 0 && target == 0 {
            return Ok(Self { bits: 0, base: 0, shift: 0 });
        }
        if source <= 0 || target <= 0 || source > u32::MAX as i64 || target > u32::MAX as i64 {
            return Err(LayoutError::SwizzleTransfer);
        }
        let (low_source, low_target) = (source.trailing_zeros() as i32, target.trailing_zeros() as i32);
        let base = if low_source < low_target { low_source } else { low_target };
        let Ok(swizzle) = Self::new(source.count_ones() as i32, base, low_source - low_target) else {
            return Err(LayoutError::SwizzleTransfer);
        };
        if source.count_ones() != target.count_ones()
            || source | target != swizzle.source_mask() | swizzle.target_mask()
        {
            return Err(LayoutError::SwizzleTransfer);
        }
        Ok(swizzle)
    }

    /// `self ∘ other`: swizzles of one shift merge into one where their fields do.
    ///
    /// ```
    /// use warpwright_layout::Swizzle;
    /// let whole = Swizzle::new(1, 5, 3)?.compose(&Swizzle::new(2, 3, 3)?)?;
    /// assert_eq!(whole, Swizzle::new(3, 3, 3)?);
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::SwizzleTransfer`] for different shifts, and for fields that do not make one field.
    pub const fn compose(&self, other: &Self) -> Result<Self, LayoutError> {
        if self.is_identity() {
            return Ok(*other);
        }
        if other.is_identity() {
            return Ok(*self);
        }
        if self.shift != other.shift {
            return Err(LayoutError::SwizzleTransfer);
        }
        Self::from_masks(self.source_mask() ^ other.source_mask(), self.target_mask() ^ other.target_mask())
    }

    /// The swizzle on offsets in elements `factor` times wider (a power of two).
    ///
    /// # Errors
    /// [`LayoutError::Count`] when the factor is not a power of two, [`LayoutError::UpcastSwizzle`] when the swizzle takes what becomes
    /// one element apart.
    pub const fn upcast(&self, factor: i64) -> Result<Self, LayoutError> {
        if tri!(self.scattering(factor)) != 0 {
            return Err(LayoutError::UpcastSwizzle { swizzle: *self, factor });
        }
        self.upcast_fields(factor)
    }

    /// The bits of an offset within `factor` elements that change a bit of which element of `factor` it is.
    pub(crate) const fn scattering(&self, factor: i64) -> Result<i64, LayoutError> {
        let within = (1i64 << tri!(log2(factor))) - 1;
        if self.shift >= 0 {
            return Ok(0);
        }
        Ok(self.source_mask() & within & !(within >> -self.shift))
    }

    /// [`upcast`](Self::upcast) for offsets that have none of the [`scattering`](Self::scattering) bits.
    pub(crate) const fn upcast_fields(&self, factor: i64) -> Result<Self, LayoutError> {
        let base = self.base - tri!(log2(factor));
        if base >= 0 {
            return Self::new(self.bits, base, self.shift);
        }
        Self::new(if self.bits + base > 0 { self.bits + base } else { 0 }, 0, self.shift)
    }

    /// The swizzle on offsets in elements `factor` times narrower (a power of two).
    ///
    /// # Errors
    /// [`LayoutError::Count`] when the factor is not a power of two.
    pub const fn downcast(&self, factor: i64) -> Result<Self, LayoutError> {
        Self::new(self.bits, self.base + tri!(log2(factor)), self.shift)
    }

    /// The swizzle that acts after `layout` as this one acts before it: `layout ∘ self = result ∘ layout`.
    ///
    /// # Errors
    /// [`LayoutError::SwizzleTransfer`] when the layout does not map the bit fields onto bit fields, bit by bit: CuTe looks at
    /// the fields as a whole, and gives another function where their bits change places or sums carry.
    pub const fn through(&self, layout: &Layout) -> Result<Self, LayoutError> {
        let (source, target) = (tri!(reached(layout, self.source_mask())), tri!(reached(layout, self.target_mask())));
        let moved = tri!(Self::from_masks(source, target));
        if self.is_identity() {
            return Ok(moved);
        }
        let (mut i, mut source, mut target) = (0, self.source_mask(), self.target_mask());
        while i < self.bits {
            let (from, to) = (tri!(reached(layout, source & -source)), tri!(reached(layout, target & -target)));
            if from <= 0 || from & (from - 1) != 0 || moved.apply(from) != from | to || from == to {
                return Err(LayoutError::SwizzleTransfer);
            }
            (source, target) = (source & (source - 1), target & (target - 1));
            i += 1;
        }
        if tri!(layout.coalesce()).keeps_bits(self.source_mask() | self.target_mask()) {
            Ok(moved)
        } else {
            Err(LayoutError::SwizzleTransfer)
        }
    }
}

impl Layout {
    /// Whether each of the bits `fields` of a coordinate is a bit of the offset that nothing else touches, within the layout
    /// and where its last mode goes on behind its end. The layout is coalesced.
    const fn keeps_bits(&self, fields: i64) -> bool {
        let Ok(image) = reached(self, fields) else { return false };
        let behind = bits_of(fields);
        let (mut reached, mut position, mut i) = (0i64, 0, 0);
        while i < self.shape.leaves() {
            let (s, d) = (self.shape.get(i).value(), self.stride.get(i).value());
            let last = i + 1 == self.shape.leaves();
            let (own, rest) = (bits_of(s - 1), behind.saturating_sub(position));
            let bits = if last && rest > own { rest } else { own };
            let holds = position < 63 && bits < 63 && fields >> position & ((1 << bits) - 1) != 0;
            // Below the fields coordinates fall into bits only where extents are powers of two.
            if rest > 0 && !last && s & (s - 1) != 0 || holds && d & (d - 1) != 0 {
                return false;
            }
            if d != 0 && (holds || d < 0 || d.trailing_zeros() < bits_of(image)) {
                if d < 0 || bits + bits_of(d) > 62 {
                    return false;
                }
                let here = ((1 << bits_of(((1 << bits) - 1) * d)) - 1) & (-1 << d.trailing_zeros());
                if reached & here != 0 {
                    return false;
                }
                reached |= here;
            }
            position += bits;
            i += 1;
        }
        true
    }
}

/// The offset of a bit field, which may lie far behind the end of the layout.
const fn reached(layout: &Layout, fields: i64) -> Result<i64, LayoutError> {
    match layout.try_eval(fields) {
        Ok(offset) => Ok(offset),
        Err(_) => Err(LayoutError::SwizzleTransfer),
    }
}

/// The number of bits of a value that is not negative.
const fn bits_of(v: i64) -> u32 {
    64 - v.leading_zeros()
}

const fn log2(factor: i64) -> Result<i32, LayoutError> {
    if factor < 1 || factor.count_ones() != 1 {
        return Err(LayoutError::Count { what: "the recast factor of a swizzle, a power of two,", value: factor });
    }
    Ok(factor.trailing_zeros() as i32)
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}

impl fmt::Debug for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
