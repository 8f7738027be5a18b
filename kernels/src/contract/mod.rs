//! What mainloops, callers and the kernel shell agree on, as values.

mod accumulators;
mod arguments;
mod can_implement;
mod groups;
mod mainloop;
mod outputs;

pub use accumulators::{AccumulatorHandOver, Subtile};
pub use arguments::*;
pub(crate) use can_implement::check_space;
pub use can_implement::{CanImplementError, can_implement};
pub(crate) use groups::{GroupTable, Which};
pub use mainloop::*;
