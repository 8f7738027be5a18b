//! warpwright.
