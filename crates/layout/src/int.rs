//! Integers that know whether they were known when the layout was written.

use core::fmt;

/// One extent or stride: static (a constant of the layout, printed `_16`) or dynamic (a value, printed `16`).
///
/// Arithmetic propagates as CuTe's does: two static operands give a static result, anything else is dynamic, except
/// where a static operand decides alone (`_0 * n` is `_0`). Lowering writes static integers as
/// literals and turns dynamic ones into parameters.
///
/// Arithmetic saturates at the ends of `i64`; a [`Layout`](crate::Layout) whose size or cosize would saturate is
/// refused when it is built, so a value read from a layout is exact.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Int {
    /// Known to the layout: CuTe's `Int<N>`.
    Static(i64),
    /// Known only to whoever holds the value: CuTe's `int`.
    Dynamic(i64),
}

/// Quotient and remainder by a positive divisor. A general 64-bit division costs more than all else that an evaluation or
/// a composition does.
#[inline]
pub(crate) const fn div_rem(n: i64, by: i64) -> (i64, i64) {
    if n >= 0 && by & (by - 1) == 0 {
        (n >> by.trailing_zeros(), n & (by - 1))
    } else if n >= 0 && (n | by) <= u32::MAX as i64 {
        let (n, by) = (n as u32, by as u32);
        ((n / by) as i64, (n % by) as i64)
    } else {
        (n / by, n % by)
    }
}

impl Int {
    /// The static 0.
    pub const ZERO: Self = Self::Static(0);
    /// The static 1.
    pub const ONE: Self = Self::Static(1);

    /// The integer, whichever kind it is.
    #[inline]
    pub const fn value(self) -> i64 {
        match self {
            Self::Static(v) | Self::Dynamic(v) => v,
        }
    }

    /// Whether the layout knows the value.
    #[inline]
    pub const fn is_static(self) -> bool {
        matches!(self, Self::Static(_))
    }

    /// Whether this is the static integer `v` (CuTe's `is_constant<v>`).
    #[inline]
    pub const fn is(self, v: i64) -> bool {
        matches!(self, Self::Static(s) if s == v)
    }

    #[inline]
    const fn join(self, other: Self, v: i64) -> Self {
        if self.is_static() && other.is_static() { Self::Static(v) } else { Self::Dynamic(v) }
    }

    /// `self * other`.
    #[inline]
    pub const fn mul(self, other: Self) -> Self {
        if self.is(0) || other.is(0) {
            return Self::ZERO;
        }
        self.join(other, self.value().saturating_mul(other.value()))
    }

    /// `self + other`.
    #[inline]
    pub const fn add(self, other: Self) -> Self {
        self.join(other, self.value().saturating_add(other.value()))
    }

    /// `self - other`.
    #[inline]
    pub const fn sub(self, other: Self) -> Self {
        self.join(other, self.value().saturating_sub(other.value()))
    }

    /// `self / other`, rounded toward zero, for a positive `other`.
    #[inline]
    pub(crate) const fn div(self, other: Self) -> Self {
        if self.is(0) {
            return Self::ZERO;
        }
        self.join(other, div_rem(self.value(), other.value()).0)
    }

    /// Whether `self` is a multiple of the positive `other`.
    #[inline]
    pub(crate) const fn is_multiple_of(self, other: Self) -> bool {
        div_rem(self.value(), other.value()).1 == 0
    }

    /// `self / other`, rounded up, for a non-negative `self` and a positive `other`.
    #[inline]
    pub(crate) const fn ceil_div(self, other: Self) -> Self {
        let (quotient, rest) = div_rem(self.value(), other.value());
        self.join(other, quotient + (rest > 0) as i64)
    }

    /// The smaller of the two.
    #[inline]
    pub const fn min(self, other: Self) -> Self {
        let v = if self.value() < other.value() { self.value() } else { other.value() };
        self.join(other, v)
    }

    /// The absolute value.
    #[inline]
    pub const fn abs(self) -> Self {
        match self {
            Self::Static(v) => Self::Static(v.saturating_abs()),
            Self::Dynamic(v) => Self::Dynamic(v.saturating_abs()),
        }
    }

    /// -1, 0 or 1.
    #[inline]
    pub const fn signum(self) -> Self {
        match self {
            Self::Static(v) => Self::Static(v.signum()),
            Self::Dynamic(v) => Self::Dynamic(v.signum()),
        }
    }

    /// The same value as a dynamic integer.
    #[inline]
    pub const fn to_dynamic(self) -> Self {
        Self::Dynamic(self.value())
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(v) => write!(f, "_{v}"),
            Self::Dynamic(v) => write!(f, "{v}"),
        }
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn propagation_is_cutes() {
        assert_eq!(Int::Static(3).mul(Int::Static(4)), Int::Static(12));
        assert_eq!(Int::Static(3).mul(Int::Dynamic(4)), Int::Dynamic(12));
        assert_eq!(Int::Static(0).mul(Int::Dynamic(4)), Int::Static(0));
        assert_eq!(Int::Dynamic(7).ceil_div(Int::Static(2)), Int::Dynamic(4));
        assert_eq!((Int::Static(-5).abs(), Int::Static(-5).signum()), (Int::Static(5), Int::Static(-1)));
    }
}
