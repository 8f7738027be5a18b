//! The built command, seen from outside.
#![allow(clippy::print_stdout, reason = "a test that cannot run here says so")]

mod beside;
mod book;
mod common;
mod emulator;
mod epilogues;
mod explain;
mod layout;
mod layout_oracle;
mod products;
mod profile;
mod wrong_calls;
