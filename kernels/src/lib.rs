//! Mainloops and the kernel that they make with an epilogue and a tile scheduler.
//!
//! | | |
//! | --- | --- |
//! | [`CollectiveMainloop`], [`Mainloop`] | the mainloop at the type level |
//! | [`GemmUniversal`], [`GemmKernel`] | mainloop, epilogue and scheduler, and the [`Spec`](warpwright_spec::Spec) that they reify to |
//! | [`contract`] | what they mean as values: operands, accumulator source, groups; [`can_implement`] |
//! | [`lower`] | the same kernel as CUDA C++: a plan to a program, a call to a launch |
//! | [`host`] | the same kernel on the CPU, which defines what is correct |

pub mod contract;
pub mod device_code;
mod gemv;
pub mod host;
pub mod lower;
mod mainloop;
mod universal;

pub use contract::{Arguments, CanImplementError, DynMainloop, MainloopImplementation, can_implement};
pub use host::{GemmHost, HostError};
pub use mainloop::{CollectiveMainloop, Direct, Mainloop};
pub use universal::{CollectiveScheduler, GemmKernel, GemmUniversal};
