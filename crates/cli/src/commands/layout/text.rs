//! What is typed: layouts, tilers and coordinates in CuTe's notation.

use super::tree::Tree;
use std::str::FromStr;
use thiserror::Error;
use warpwright::layout::{ComposedLayout, Int, IntTuple, Layout, LayoutError};

/// Text that means nothing.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TextError {
    /// Not the notation; the caret shows where.
    #[error("not {what}, at column {column}: expected {expected}\n  {text}\n  {:>place$}", "^")]
    Syntax {
        /// What was wanted.
        what: &'static str,
        /// The text, or what of it is around the mistake.
        text: String,
        /// Where, in characters from 1 on.
        column: usize,
        /// The same in what is shown.
        place: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// The notation, but nothing that exists.
    #[error("`{text}` is not {what}: {error}")]
    Refused {
        /// What was wanted.
        what: &'static str,
        /// The text.
        text: String,
        /// Why.
        error: LayoutError,
    },
    /// An operation that needs a layout without swizzle.
    #[error("{operation} is defined on plain layouts, but `{text}` has a swizzle or an offset: leave them out")]
    Plain {
        /// The operation.
        operation: &'static str,
        /// The layout.
        text: String,
    },
    /// An option that the command needs.
    #[error("{needed}")]
    Missing {
        /// What is needed, as a sentence.
        needed: &'static str,
    },
    /// A word that is none of a list.
    #[error("`{}` is not {what}: use one of {choices}", excerpt(given, 0).0)]
    Word {
        /// What was typed.
        given: String,
        /// What it should be.
        what: &'static str,
        /// What there is.
        choices: &'static str,
    },
}

/// Characters of what was typed that a message repeats.
const REPEATED: usize = 72;

/// The text around character `at`, and where that is in it; a message is not longer than it helps.
fn excerpt(text: &str, at: usize) -> (String, usize) {
    let count = text.chars().count();
    if count <= REPEATED {
        return (text.to_owned(), at);
    }
    let first = at.saturating_sub(REPEATED / 2).min(count - REPEATED);
    let shown: String = text.chars().skip(first).take(REPEATED).collect();
    let (before, behind) = (if first > 0 { "…" } else { "" }, if first + REPEATED < count { "…" } else { "" });
    (format!("{before}{shown}{behind}"), at - first + before.chars().count())
}

/// What was typed is not `what`: where it is wrong, or why.
pub fn refused(what: &'static str, text: &str, error: LayoutError) -> TextError {
    match error {
        LayoutError::Parse { at, expected } => {
            let column = text.get(..at).map_or(at, |before| before.chars().count());
            let (text, place) = excerpt(text, column.min(text.chars().count()));
            TextError::Syntax { what, text, column: column + 1, place: place + 1, expected }
        }
        error => TextError::Refused { what, text: excerpt(text, 0).0, error },
    }
}

/// How integers without `_` are taken.
///
/// CuTe's own: they are dynamic. A call in which no integer has a `_` is one in which nobody thought of the difference, and
/// there they are static, so that every operation is possible and prints what CuTe prints for static layouts.
#[derive(Clone, Copy)]
pub struct Notation {
    all_static: bool,
}

impl Notation {
    /// Of a call with these arguments; `dynamic` keeps integers without `_` dynamic in any case.
    pub fn of<'a>(arguments: impl IntoIterator<Item = &'a String>, dynamic: bool) -> Notation {
        let marked = |text: &String| {
            text.as_bytes().windows(2).any(|pair| pair[0] == b'_' && (pair[1].is_ascii_digit() || pair[1] == b'-'))
        };
        Notation { all_static: !dynamic && !arguments.into_iter().any(marked) }
    }

    /// `shape:stride`, a shape alone, or `Sw<B,M,S> o offset o layout`.
    pub fn composed(self, text: &str) -> Result<ComposedLayout, TextError> {
        let layout: ComposedLayout = text.parse().map_err(|e| refused("a layout", text, e))?;
        Ok(if self.all_static { layout.to_static() } else { layout })
    }

    /// A layout without swizzle, for `operation`.
    pub fn layout(self, operation: &'static str, text: &str) -> Result<Layout, TextError> {
        let layout = self.composed(text)?;
        if layout.is_plain() {
            Ok(layout.layout)
        } else {
            Err(TextError::Plain { operation, text: excerpt(text, 0).0 })
        }
    }

    /// Integers in parentheses.
    pub fn tuple(self, text: &str) -> Result<IntTuple, TextError> {
        let tuple: IntTuple = text.parse().map_err(|e| refused("a tuple of integers", text, e))?;
        Ok(if self.all_static { tuple.to_static() } else { tuple })
    }

    /// A tiler or a coordinate.
    pub fn tree(self, what: &'static str, text: &str) -> Result<Tree, TextError> {
        let mut reader = Reader { text, at: 0, all_static: self.all_static, depth: 0 };
        let tree = reader.tree().and_then(|tree| {
            reader.skip_space();
            if reader.at == text.len() { Ok(tree) } else { Err(reader.error("the end")) }
        });
        tree.map_err(|e| refused(what, text, e))
    }
}

/// Reads trees; a subtree that a `:` follows is a layout.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    all_static: bool,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn error(&self, expected: &'static str) -> LayoutError {
        LayoutError::Parse { at: self.at, expected }
    }

    fn tree(&mut self) -> Result<Tree, LayoutError> {
        self.skip_space();
        let start = self.at;
        let tree = self.term()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Ok(tree);
        }
        self.at += 1;
        self.skip_space();
        self.term()?;
        let layout: Layout = self.parsed(start)?;
        Ok(Tree::Layout(Box::new(if self.all_static { layout.to_static() } else { layout })))
    }

    /// What the text from `start` to here says, with errors placed in the whole text.
    fn parsed<T: FromStr<Err = LayoutError>>(&self, start: usize) -> Result<T, LayoutError> {
        self.text[start..self.at].parse().map_err(|error| match error {
            LayoutError::Parse { at, expected } => LayoutError::Parse { at: start + at, expected },
            error => error,
        })
    }

    fn term(&mut self) -> Result<Tree, LayoutError> {
        match self.peek() {
            Some(b'(') => self.list(),
            Some(b'_') if !self.text.as_bytes().get(self.at + 1).is_some_and(|c| c.is_ascii_digit() || *c == b'-') => {
                self.at += 1;
                Ok(Tree::All)
            }
            Some(b'_' | b'-' | b'0'..=b'9') => {
                let start = self.at;
                self.at += 1;
                while self.peek().is_some_and(|c| c.is_ascii_digit() || c == b'-') {
                    self.at += 1;
                }
                let n: Int = self.parsed(start)?;
                Ok(Tree::Int(if self.all_static { Int::Static(n.value()) } else { n }))
            }
            _ => Err(self.error("an integer, `_` or `(`")),
        }
    }

    fn list(&mut self) -> Result<Tree, LayoutError> {
        self.depth += 1;
        if self.depth > IntTuple::MAX_TOKENS {
            return Err(LayoutError::TooLarge);
        }
        self.at += 1;
        let mut modes = Vec::new();
        self.skip_space();
        while self.peek() != Some(b')') {
            modes.push(self.tree()?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b')') => {}
                _ => return Err(self.error("`,` or `)`")),
            }
            self.skip_space();
        }
        self.at += 1;
        self.depth -= 1;
        Ok(Tree::List(modes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notation() -> Notation {
        Notation { all_static: true }
    }

    #[test]
    fn trees() {
        let read = |text| notation().tree("a tiler", text);
        assert_eq!(read("_"), Ok(Tree::All));
        assert_eq!(read(" ( 16 , _ ) "), Ok(Tree::List(vec![Tree::Int(Int::Static(16)), Tree::All])));
        let layout = |text: &str| Tree::Layout(Box::new(text.parse::<Layout>().unwrap().to_static()));
        assert_eq!(read("(4,2):(1,8)"), Ok(layout("(4,2):(1,8)")));
        assert_eq!(read("(4:2,(3,(2,2):(1,5)))"), {
            Ok(Tree::List(vec![layout("4:2"), Tree::List(vec![Tree::Int(Int::Static(3)), layout("(2,2):(1,5)")])]))
        });
    }

    #[test]
    fn the_caret_is_under_the_mistake() {
        let text = |error: TextError| error.to_string();
        let broken = text(notation().tree("a tiler", "(16,x)").unwrap_err());
        assert_eq!(broken, "not a tiler, at column 5: expected an integer, `_` or `(`\n  (16,x)\n      ^");
        let broken = text(notation().composed("(8,4):(4,1").unwrap_err());
        assert_eq!(broken, "not a layout, at column 11: expected `,` or `)`\n  (8,4):(4,1\n            ^");
        assert!(notation().tree("a tiler", &"(".repeat(1000)).is_err());
        // Of long text, what is around the mistake.
        let long = format!("({}x{})", "1,".repeat(100), ",1".repeat(100));
        let broken = text(notation().tree("a tiler", &long).unwrap_err());
        let lines: Vec<&str> = broken.lines().collect();
        assert_eq!(lines[0], "not a tiler, at column 202: expected an integer, `_` or `(`");
        assert_eq!(lines[1].chars().nth(lines[2].chars().count() - 1), Some('x'), "{broken}");
        assert!(lines[1].chars().count() < 80 && lines[1].starts_with("  …") && lines[1].ends_with('…'), "{broken}");
        for huge in [
            "(".repeat(100_000),
            format!("({}1)", "1,".repeat(50_000)),
            format!("{}:1", "9".repeat(99_999)),
            "é".repeat(9999),
        ] {
            let said = text(notation().composed(&huge).unwrap_err());
            assert!(said.len() < 400, "{}", said.len());
        }
        assert!(notation().tree("a tiler", "(4,2):(1,").is_err());
        assert!(matches!(notation().composed("(8,4):(4,(1,2))"), Err(TextError::Refused { .. })));
    }

    #[test]
    fn without_marks_everything_is_static() {
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let show = |list: &[&str], dynamic| {
            let list = words(list);
            Notation::of(&list, dynamic).composed(&list[0]).unwrap().to_string()
        };
        assert_eq!(show(&["(8,4):(4,1)", "_"], false), "(_8,_4):(_4,_1)");
        assert_eq!(show(&["(8,4):(4,1)", "_4"], false), "(8,4):(4,1)");
        assert_eq!(show(&["(8,4):(4,1)"], true), "(8,4):(4,1)");
    }
}
