//! Where a matrix lies in memory: spaces, strided layouts, and untyped views.

mod raw;
mod strided;

pub(crate) use raw::byte_unit;
pub use raw::{RawView, RawViewMut};
pub use strided::{Order, Strided};

use std::fmt;

/// Whose memory an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Ordinary memory, which the CPU reads.
    Host,
    /// The memory of the CUDA device with this ordinal.
    Cuda(usize),
    /// The memory of the emulated device of this number: each has its own.
    Emulator(u64),
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Space::Host => f.write_str("the host"),
            Space::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Space::Emulator(number) => write!(f, "emulator:{number}"),
        }
    }
}
