//! From types to kernels that run: [`GemmBuilder`] composes, [`Gemm`] and [`Kernel`] run, [`auto`] decides what was left open.
//!
//! ```text
//! GemmBuilder<Ar, A, Acc, ..>   what was fixed so far, with the epilogue's arguments
//!    | .build(&device)
//! Gemm<'a, K>                   a kernel with its arguments: run, explain, prepare
//!    | .detach()
//! Kernel<K>                     'static, shared by threads: run_with(.., expression)
//!    | .erase()
//! DynGemm<A, B, D>              only the elements are known
//! ```
//!
//! `K` is a [`Composed`], which lists what the user named and stands for a `GemmUniversal` of three collectives.
//! [`AnyGemm`] is the same from values: a [`GemmDesc`](warpwright_spec::GemmDesc) in place of types. [`race`] times kernels
//! against each other and against cuBLASLt, and [`tune`] remembers who won.

mod any;
pub mod auto;
mod builder;
mod bundles;
mod composed;
mod core;
mod error;
mod gemm;
mod infer;
mod launch;
mod list;
mod place;
mod plans;
pub mod race;
mod repeat;
pub mod tune;

pub use any::{AnyGemm, CallArgs};
pub use auto::PlanError;
pub use builder::GemmBuilder;
pub use bundles::{Operands, OperandsOf, Plan, PlanOf};
pub use composed::{Composed, FamilyOf, InstructionOf, TransformOf, Universal};
pub use error::{BuildError, RunError};
pub use gemm::{ArgumentsOf, DynGemm, Gemm, Kernel};
pub use list::Kernels;
