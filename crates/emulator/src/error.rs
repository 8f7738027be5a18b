//! Why a text cannot be loaded.

/// PTX that cannot be run: malformed, or beyond what the emulator models. Always found when the text is loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {reason}\n    {text}")]
pub struct ParseError {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// The instruction or directive as written.
    pub text: String,
    /// What is wrong with it.
    pub reason: ParseReason,
}

/// What is wrong with a line of PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseReason {
    /// The text breaks PTX's grammar.
    #[error("malformed text: {0}")]
    Syntax(String),
    /// A name that nothing declares.
    #[error("`{0}` is not declared")]
    Undeclared(String),
    /// An instruction, or a form of one, that the emulator does not model.
    #[error("unsupported instruction: {0}; the emulator models no such form")]
    Unsupported(String),
    /// Operands that do not fit the instruction.
    #[error("operands do not fit: {0}")]
    Operands(String),
}
