//! The operands of one call.

use warpwright_epilogue::Args;
use warpwright_runtime::{RawView, RawViewMut};

/// The operands of one call. A is M x K, B is K x N and D is M x N, each a batch; extents and strides are the views' own.
///
/// What the views mean depends on the problem:
///
/// | problem | A | B | D | extra |
/// | --- | --- | --- | --- | --- |
/// | dense, batched | one entry a batch entry; a batch stride of 0 repeats | as A | one entry a batch entry | |
/// | pointer array | empty (batch extent 0): element and strides only | as A | as A | [`BASES_A`], [`BASES_B`], [`BASES_D`] |
/// | grouped | as pointer array, or one entry a group that is large enough for the largest | as A | as A | bases; [`EXTENTS`] if on the device; [`STRIDES_A`], … if they differ |
/// | ragged | all groups' rows, one behind the other | one entry a group | as A | [`ROWS`] if on the device |
/// | masked | one entry a group, `capacity` rows | one entry a group | as A | [`ROWS`] if on the device |
/// | K-grouped | all groups' columns, one behind the other | all groups' rows | one entry a group | [`DEPTHS`] if on the device |
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// M x K.
    pub a: RawView<'a>,
    /// K x N.
    pub b: RawView<'a>,
    /// M x N.
    pub d: RawViewMut<'a>,
    /// The epilogue's arguments in its tree's pre-order.
    pub epilogue: &'a Args<'a>,
    /// What else the mainloop and the problem need, by name.
    pub extra: &'a [(&'static str, RawView<'a>)],
}

/// Addresses of each group's A: i32, groups x 2, the low word first.
pub const BASES_A: &str = "bases_a";
/// Addresses of each group's B.
pub const BASES_B: &str = "bases_b";
/// Addresses of each group's D.
pub const BASES_D: &str = "bases_d";
/// Strides of each group's A along M and K in elements: i32, groups x 2. Without it, all groups have the view's.
pub const STRIDES_A: &str = "strides_a";
/// Strides of each group's B along K and N.
pub const STRIDES_B: &str = "strides_b";
/// Strides of each group's D along M and N.
pub const STRIDES_D: &str = "strides_d";
/// M, N and K of each group: i32, groups x 3.
pub const EXTENTS: &str = "extents";
/// Rows of each group: i32, groups x 1.
pub const ROWS: &str = "rows";
/// K of each group: i32, groups x 1.
pub const DEPTHS: &str = "depths";
/// Scale factors of A.
pub const SCALES_A: &str = "scales_a";
/// Scale factors of B.
pub const SCALES_B: &str = "scales_b";
/// Zero points of B, of B's element, one per scale.
pub const ZERO_POINTS: &str = "zero_points";

impl<'a> Arguments<'a> {
    /// The extra operand of a name.
    pub fn extra(&self, name: &str) -> Option<RawView<'a>> {
        self.extra.iter().find(|(n, _)| *n == name).map(|(_, view)| *view)
    }
}
