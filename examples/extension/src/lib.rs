//! A crate outside of Warpwright that adds a mainloop, with an instruction of its own, and a tile scheduler.
//!
//! [`SquaredDistance`] computes D[m, n] = Σₖ (A[m, k] − B[k, n])², the distances of two sets of points, with every epilogue
//! and scheduler that a GEMM has. [`RowOfTiles`] hands tiles out along N first. Each is a type, its value-level half with host
//! semantics, and a `.cuh` beside it: the text that the GPU runs.

mod row_of_tiles;
mod squared_distance;

pub use row_of_tiles::RowOfTiles;
pub use squared_distance::{Distances, SquaredDifference, SquaredDistance};
