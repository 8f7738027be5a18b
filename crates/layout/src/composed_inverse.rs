//! Inverses of composed layouts.

use core::fmt;

use crate::error::within;
use crate::{ComposedLayout, Int, Layout, LayoutError, Swizzle, tri};

/// The inverse of a [`ComposedLayout`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComposedInverse {
    /// Without an offset: the inverse layout behind a swizzle that acts on coordinates as the other acts on offsets.
    Swizzled(ComposedLayout),
    /// With an offset: `layout ∘ offset ∘ swizzle`, each part undone in turn.
    Undone {
        /// Applied last: the inverse of the layout.
        layout: Layout,
        /// Added to the swizzled offset: the other's with the sign turned.
        offset: Int,
        /// Applied first: the swizzle is its own inverse.
        swizzle: Swizzle,
    },
}

impl ComposedInverse {
    /// The coordinate of `offset`. Far beyond the offsets that the layout reaches it wraps: [`try_eval`](Self::try_eval) refuses
    /// there.
    pub const fn eval(&self, offset: i64) -> i64 {
        match self {
            Self::Swizzled(c) => c.eval(offset),
            Self::Undone { layout, offset: back, swizzle } => {
                layout.eval(swizzle.apply(offset).wrapping_add(back.value()))
            }
        }
    }

    /// The coordinate of `offset`, wherever it is.
    ///
    /// # Errors
    /// As [`Layout::try_eval`].
    pub const fn try_eval(&self, offset: i64) -> Result<i64, LayoutError> {
        match self {
            Self::Swizzled(c) => c.try_eval(offset),
            Self::Undone { layout, offset: back, swizzle } => {
                let inner = swizzle.apply(offset) as i128 + back.value() as i128;
                layout.try_eval(tri!(within("the offset before the swizzle", inner, i64::MAX)))
            }
        }
    }

    /// The layout that is applied last, or that is all.
    pub const fn layout(&self) -> &Layout {
        match self {
            Self::Swizzled(ComposedLayout { layout, .. }) | Self::Undone { layout, .. } => layout,
        }
    }
}

impl ComposedLayout {
    /// The inverse `r` with `self(r(x)) = x`, for each `x` in the part that the layout reaches without gaps: from 0 on, or behind
    /// an offset from there on, as many as the layout of `r` has coordinates.
    ///
    /// ```
    /// use warpwright_layout::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,2> o _3 o (_4,_4):(_4,_1)".parse()?;
    /// assert_eq!(c.right_inverse()?.to_string(), "(_4,_4):(_4,_1) o _-3 o Sw<2,0,2>");
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::SwizzleLeaves`] when the swizzle takes offsets out of the part that is reached without gaps: CuTe then
    /// gives what is no inverse of those; [`LayoutError::SwizzleTransfer`] when there is no offset and the inverse does not map
    /// the swizzle's bit fields onto bit fields.
    pub const fn right_inverse(&self) -> Result<ComposedInverse, LayoutError> {
        let layout = tri!(self.layout.right_inverse());
        let extent = layout.size();
        tri!(self.check());
        if !self.swizzle.keeps(self.offset.value(), extent.value()) {
            return Err(LayoutError::SwizzleLeaves { swizzle: self.swizzle, first: self.offset, extent });
        }
        self.inverse(layout)
    }

    /// The inverse `l` with `l(self(i)) = i` for an injective layout. A swizzle may take offsets beyond the size of `l`; there
    /// its last mode goes on.
    ///
    /// # Errors
    /// [`LayoutError::SwizzleTransfer`] as for [`right_inverse`](Self::right_inverse), and those of [`Layout::left_inverse`].
    pub const fn left_inverse(&self) -> Result<ComposedInverse, LayoutError> {
        self.inverse(tri!(self.layout.left_inverse()))
    }

    const fn inverse(&self, layout: Layout) -> Result<ComposedInverse, LayoutError> {
        tri!(self.check());
        let offset = match self.offset {
            Int::Static(0) => {
                let swizzle = tri!(self.swizzle.through(&layout));
                return Ok(ComposedInverse::Swizzled(Self::new(swizzle, layout)));
            }
            Int::Static(offset) => Int::Static(-offset),
            Int::Dynamic(offset) => Int::Dynamic(-offset),
        };
        Ok(ComposedInverse::Undone { layout, offset, swizzle: self.swizzle })
    }
}

impl fmt::Display for ComposedInverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swizzled(c) => fmt::Display::fmt(c, f),
            Self::Undone { layout, offset, swizzle } => write!(f, "{layout} o {offset} o {swizzle}"),
        }
    }
}

impl fmt::Debug for ComposedInverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
