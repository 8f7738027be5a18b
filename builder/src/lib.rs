//! warpwright-builder.
