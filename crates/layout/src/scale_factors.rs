//! How tensor cores want the scale factors of blocks: in atoms of 128 lines by 4 blocks.

use crate::{Layout, layout};

/// Line and block to the scale factor's place in an atom of 512: the four blocks of a line are neighbours, and four lines that are 32
/// apart lie together.
///
/// Atoms of the same 128 lines follow one another along the blocks.
///
/// ```
/// let atom = warpwright_layout::scale_factors::atom();
/// assert_eq!(atom.to_string(), "((_32,_4),_4):((_16,_4),_1)");
/// assert_eq!(atom.eval_at(&[33, 2]), 16 + 4 + 2);
/// ```
pub const fn atom() -> Layout {
    layout!(((32, 4), 4):((16, 4), 1))
}
