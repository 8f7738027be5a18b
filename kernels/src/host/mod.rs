//! A kernel on the CPU: the same composition, tile by tile.

mod call;
mod dot;
mod gemm;
pub mod microkernel;
mod operand;
mod pack;
mod pool;
mod product;

pub use call::{HostCall, Shares, Side};
pub use dot::DotProducts;
pub use gemm::{GemmHost, HostError};
pub use operand::{Lines, Widened};
pub use product::Product;

use crate::contract::{DynMainloop, MainloopImplementation};
use warpwright_spec::{InstructionId, Spec};

/// The mainloop of a spec: its extension's, where it has one; `None` if that is no [`MainloopImplementation`].
pub fn mainloop(spec: &Spec) -> Option<&'static dyn DynMainloop> {
    match &spec.mainloop {
        // Scales are the product of parts' affair.
        None if matches!(spec.instruction, InstructionId::DOT) && !spec.scales.any() => Some(&DotProducts),
        None => Some(&Product),
        Some(extension) => extension.implementation.downcast_ref::<MainloopImplementation>().map(|m| m.0),
    }
}
