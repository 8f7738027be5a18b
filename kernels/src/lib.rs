//! warpwright-kernels.
