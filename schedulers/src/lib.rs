//! warpwright-schedulers.
