//! Where and why text is not an epilogue.

/// Text that is not an epilogue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {problem}; {remedy}")]
#[non_exhaustive]
pub struct ParseError {
    /// The text.
    pub text: String,
    /// The first character that is wrong, counted in characters from 1.
    pub column: usize,
    /// How many characters are wrong; 1 at the end of the text.
    pub width: usize,
    /// What was found and what was expected.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl ParseError {
    /// For the bytes of `text` from `start` to `end`.
    pub(super) fn new(
        text: &str,
        (start, end): (usize, usize),
        problem: String,
        remedy: impl Into<String>,
    ) -> ParseError {
        let before = text.get(..start).unwrap_or(text);
        let width = text.get(start..end).map_or(1, |s| s.chars().count()).max(1);
        ParseError { text: text.to_owned(), column: before.chars().count() + 1, width, problem, remedy: remedy.into() }
    }

    /// The text with carets under what is wrong: two lines, for a terminal.
    ///
    /// ```text
    /// d = relu(alpha*acc + row(bais))
    ///                          ^^^^
    /// ```
    pub fn caret(&self) -> String {
        // Tabs and line breaks would move what stands below them, and so would what terminals obey or draw over its neighbour.
        let one = |c: char| match c {
            c if c.is_whitespace() => ' ',
            c if unprintable(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        };
        let shown: String = self.text.chars().map(one).collect();
        format!("{shown}\n{:2$}{:^<3$}", "", "", self.column - 1, self.width)
    }
}

/// Whether a character takes no place of its own in a line.
fn unprintable(c: char) -> bool {
    !matches!(c, '\'' | '"' | '\\') && c.escape_debug().len() > 1
}
