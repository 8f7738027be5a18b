//! What a layout is divided, multiplied or composed by.

use crate::{Int, Layout};

/// A tiler: a layout, an integer `n` (the layout `n:1`), the underscore, or one tiler a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tiler<'a> {
    /// `_`: leaves the mode alone.
    Keep,
    /// `n`, which stands for `n:1`.
    Size(Int),
    /// A layout.
    Layout(&'a Layout),
    /// One tiler for each leading mode.
    ByMode(&'a [Tiler<'a>]),
}

impl Tiler<'static> {
    /// The static integer `n`.
    pub const fn of(n: i64) -> Self {
        Self::Size(Int::Static(n))
    }
}
