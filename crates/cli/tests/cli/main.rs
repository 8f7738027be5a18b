//! The built command, seen from outside.

mod common;
mod explain;
mod products;
mod wrong_calls;
