//! What a tile scheduler yields.

/// One piece of work. Tiles are what one block computes (under TwoSm one pair of blocks).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Work {
    /// Tile index along M.
    pub tile_m: usize,
    /// Tile index along N.
    pub tile_n: usize,
    /// Batch entry or group.
    pub group: usize,
    /// First K tile.
    pub k_begin: usize,
    /// How many K tiles; 0 when K is 0.
    pub k_count: usize,
    /// Which part of the tile's K range this is, counted from K = 0.
    pub split: usize,
    /// Whether this piece holds the last part of the tile's K range and runs its epilogue.
    pub last: bool,
    /// Whether this piece is the whole K range, so that no fix-up is needed.
    pub whole: bool,
    /// Whether there is work at all.
    pub valid: bool,
    /// Before reading operands: wait until the word at this address reaches this value (peers' data).
    pub wait: Option<Flag>,
    /// After storing: add one to the word at this address.
    pub signal: Option<Flag>,
}

/// A word in memory that several launches or devices agree on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flag {
    /// Device address of a u32.
    pub address: u64,
    /// The value to wait for.
    pub value: u32,
}

/// Which mode tiles are walked along first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RasterOrder {
    /// Consecutive work differs in M.
    AlongM,
    /// Consecutive work differs in N.
    AlongN,
}

impl RasterOrder {
    /// `M` or `N`.
    pub const fn name(self) -> &'static str {
        match self {
            RasterOrder::AlongM => "along M",
            RasterOrder::AlongN => "along N",
        }
    }
}
