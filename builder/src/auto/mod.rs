//! From a spec, a device and a problem to a plan: every slot that is still `Auto` is filled here, in the order tile →
//! cluster → schedule → scheduler → stages, and what results passes the same `check` that rustc runs.

mod dot;
mod error;
mod explain;
mod facts;
mod model;
mod rates;
mod resolve;
mod splits;
mod tiles;
mod warp_groups;

pub(crate) use dot::{few_columns, transposed as dot_transposed, user_tiles as dot_tiles};
pub use error::PlanError;
pub use explain::explain;
pub use facts::{OperandFacts, Placed};
pub use model::{Prediction, predict};
pub use resolve::{Decided, alternatives, ranked, resolve, resolve_choice, resolve_decided};
