//! How accumulators get from the mainloop to fix-up and epilogue.

use warpwright_schedulers::Accumulators;

/// Where a subtile lies in its tile, in the kernel's terms. Its fragment holds `rows` x `columns` accumulators row by row: this is
/// the (thread, value) → (m, n) layout of the host's one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Subtile {
    /// First row.
    pub m: usize,
    /// First column.
    pub n: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// A tile's accumulators, handed over subtile by subtile.
///
/// [`subtile`](Accumulators::subtile) acquires one: it waits, if need be, until whichever role computes it has finished it. It
/// may be acquired again (fix-up adds to it, then the epilogue reads it) until it is [`release`](Self::release)d. Who consumes
/// it cannot tell who produced it. All subtiles together cover the tile once, in the same order for every split of a tile.
pub trait AccumulatorHandOver: Accumulators {
    /// Where a subtile lies.
    fn place(&self, index: usize) -> Subtile;

    /// Gives a subtile back to its producer, which may then overwrite it. The default does nothing: the producer waits for the
    /// whole tile.
    fn release(&mut self, index: usize) {
        let _ = index;
    }
}
