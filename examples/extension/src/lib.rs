//! A crate outside of Warpwright that adds a mainloop, with an instruction of its own, a tile scheduler, an epilogue node and an
//! epilogue function.
//!
//! [`SquaredDistance`] computes D[m, n] = Σₖ (A[m, k] − B[k, n])², the distances of two sets of points, with every epilogue
//! and scheduler that a GEMM has. [`RowOfTiles`] hands tiles out along N first. Each is a type, its value-level half with host
//! semantics, and a `.cuh` beside it: the text that the GPU runs. [`soft_cap`] is a node of others, [`squareplus`] a function in one line.

mod row_of_tiles;
mod soft_cap;
mod squared_distance;

pub use row_of_tiles::RowOfTiles;
pub use soft_cap::{SoftCap, Squareplus, soft_cap, squareplus};
pub use squared_distance::{Distances, SquaredDifference, SquaredDistance};
