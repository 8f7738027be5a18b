//! Atoms: the thread/value layouts of single instructions.

mod copy;
mod mma;
mod name;
mod sm100;

pub use copy::CopyAtom;
pub use mma::MmaAtom;
pub use sm100::{TmemShape, UtccpShape};
