//! The notation of epilogues as text: `d = relu(alpha*acc + beta*source(c) + row(bias))`.
//!
//! ```text
//! epilogue   = [ "d" "=" ] expression
//! expression = "let" name "=" sum ";" expression | sum
//! sum        = product { ("+" | "-") product }
//! product    = unary { ("*" | "/") unary }
//! unary      = "-" unary | atom
//! atom       = number | "(" expression ")" | "acc" | "previous" | "inf" | "nan" | "row_index" | "column_index"
//!            | "const" "<" [ "-" ] number ">"             part of the kernel, not an argument
//!            | ("source" | "row" | "column" | "tile") ( "(" name ")" | "<" element ">" [ "(" name ")" ] )
//!            | "scalar" [ "<" ("pointer" | "per" "batch") ">" ] [ "(" name ")" ]
//!            | "convert" "<" element ">" "(" expression ")"
//!            | "aux_store" [ "<" element ">" ] "(" [ name "," ] expression ")"
//!            | ("aux_mask" | "amax") "(" [ name "," ] expression ")"
//!            | ("reduce_rows" | "reduce_columns" | "reduce_all") "<" [ "atomic" ] reduction ">" "(" [ name "," ] expression ")"
//!            | ("quantize_rows" | "quantize_columns") "<" element "," element "," number [ "," "atoms" ] ">" "(" [ name "," ] expression ")"
//!            | "top_k_softmax" "<" ("2" | "4") ">" "(" expression ")"
//!            | "mask" [ "(" name ")" ]
//!            | "otherwise" "(" operand "," expression ")" an operand that may be absent, and what then stands for it
//!            | ("max" | "min" | "lt" | "le" | "gt" | "ge" | "eq" | "ne" | "select" | "identity" | function)
//!              "(" expression { "," expression } ")"
//!            | name                                      a scalar, or what `let` bound
//! ```
//!
//! Names are bound to kinds by [`Names`], functions are found in [`Functions`]. What a [`Node`] displays as is notation too:
//! operands without names, `row<f32>`, become unnamed arguments.

mod error;
mod functions;
mod lexer;
mod names;
mod parser;

pub use error::ParseError;
pub use functions::Functions;
pub use names::{NameKind, Names};

use warpwright_spec::Node;

/// An epilogue that was text.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// The tree, kept for ever.
    pub node: &'static Node,
    /// Its arguments, in the order of [`Args`](crate::Args).
    pub arguments: Vec<Argument>,
}

impl Parsed {
    /// The names, in the order of the arguments; a name that is used twice appears twice.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(|a| match a {
            Argument::Named(name) => Some(name.as_str()),
            Argument::Number(_) | Argument::Unnamed | Argument::Absent => None,
        })
    }
}

/// What stands for an argument in the text.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// A number.
    Number(f64),
    /// A name.
    Named(String),
    /// Nothing: the text says only what kind it is.
    Unnamed,
    /// Nothing, where an operand may be absent: nothing is bound to its name.
    Absent,
}

/// Reads an epilogue with the built-in functions.
///
/// # Errors
/// The first column at which the text is not an epilogue, and what would be.
pub fn expression(text: &str, names: &(impl Names + ?Sized)) -> Result<Parsed, ParseError> {
    expression_with(text, names, &Functions::built_in())
}

/// Reads an epilogue with functions of the caller's.
///
/// # Errors
/// As [`expression`].
pub fn expression_with(text: &str, names: &(impl Names + ?Sized), functions: &Functions) -> Result<Parsed, ParseError> {
    let tokens = lexer::tokens(text)?;
    parser::Parser::new(text, tokens, &names, functions).epilogue()
}

#[cfg(test)]
mod tests;
