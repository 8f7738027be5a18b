//! Where memory lies: the windows of generic addresses.

/// Generic addresses of shared memory: `SHARED_WINDOW + (rank << 24 | offset)`.
pub(crate) const SHARED_WINDOW: u64 = 0x0001_0000_0000_0000;
/// Generic addresses of a thread's local memory.
pub(crate) const LOCAL_WINDOW: u64 = 0x0002_0000_0000_0000;
/// Generic addresses of kernel parameters.
pub(crate) const PARAM_WINDOW: u64 = 0x0003_0000_0000_0000;
/// Where global memory starts.
pub(crate) const GLOBAL_START: u64 = 0x0000_7000_0000_0000;
/// Extent of the shared, local and parameter windows.
pub(crate) const WINDOW_BYTES: u64 = 1 << 32;

/// Bits of a shared address that are an offset in a block's window; the block's rank in its cluster lies above.
pub(crate) const OFFSET_MASK: u32 = 0x00FF_FFFF;
/// Where the rank starts.
pub(crate) const RANK_SHIFT: u32 = 24;

/// Whether a generic address lies in the window that starts at `window`.
pub(crate) fn within(address: u64, window: u64) -> bool {
    address.wrapping_sub(window) < WINDOW_BYTES
}
