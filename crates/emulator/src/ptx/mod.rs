//! PTX text to a syntax tree whose registers and labels are resolved.

pub(crate) mod ast;
mod lexer;
mod parse;
mod scope;

pub(crate) use parse::parse;
