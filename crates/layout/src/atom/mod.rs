//! Atoms: the thread/value layouts of single instructions.

mod copy;
mod mma;

pub use copy::CopyAtom;
pub use mma::MmaAtom;
