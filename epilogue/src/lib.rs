//! warpwright-epilogue.
