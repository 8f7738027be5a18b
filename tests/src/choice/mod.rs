//! How good `Auto`'s choices are: what every plan that it chooses from took on a GPU, and what the model, as it is now, loses by
//! what it would choose.

mod candidates;
mod record;
mod replay;
mod suites;

pub use candidates::{Which, base, candidates, other_walks};
pub use record::{Row, read, write};
pub use replay::{Choice, choices, geometric_mean, misses, rank_correlation};
pub use suites::{Suite, suite};
