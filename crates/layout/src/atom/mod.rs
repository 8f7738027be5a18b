//! Atoms: the thread/value layouts of single instructions.

mod copy;
mod mma;
mod name;

pub use copy::CopyAtom;
pub use mma::MmaAtom;
