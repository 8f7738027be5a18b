//! What a GEMM kernel is, as plain values: the slots that types fill, the [`Spec`] that they reify to, the tables and
//! rules that say what is legal, the [`ResourcePlan`], the [`Problem`], and the [`KernelPlan`] that lowering reads.
//! No GPU, no I/O, and nothing here allocates but the interning of trees made at run time.

mod bounded;
mod check;
mod desc;
mod dot;
mod function;
mod lines;
mod major;
mod node;
mod operand;
mod plan;
mod problem;
mod resources;
mod scales;
mod sink;
mod slots;
mod spec;
mod tables;
mod tags;
mod text;
mod violation;
mod work;

pub use bounded::Bounded;
pub use check::{MAX_ARGUMENTS, check, check_kernel, check_lines, check_shared_memory, enforce};
pub use desc::*;
pub use dot::DotThreads;
pub use function::*;
pub use lines::*;
pub use major::*;
pub use node::*;
pub use operand::*;
pub use plan::*;
pub use problem::*;
pub use resources::*;
pub use scales::*;
pub use sink::*;
pub use slots::*;
pub use spec::*;
pub use tables::*;
pub use tags::*;
pub use text::Text;
pub use violation::Violation;
pub use work::*;
