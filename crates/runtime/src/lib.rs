//! warpwright-runtime.
