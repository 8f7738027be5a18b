//! Text to tokens.

use super::ParseError;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind<'t> {
    Number(f64),
    Name(&'t str),
    /// One of `+ - * / ( ) < > , = ;`.
    Sign(char),
    End,
}

/// A token and the bytes that it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) span: (usize, usize),
}

impl Kind<'_> {
    /// For messages.
    pub(super) fn describe(&self, text: &str, (start, end): (usize, usize)) -> String {
        match self {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", text.get(start..end).unwrap_or_default()),
        }
    }
}

/// All tokens of a text, an [`Kind::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, len) = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '+' | '-' | '*' | '/' | '(' | ')' | '<' | '>' | ',' | '=' | ';' => (Kind::Sign(c), 1),
            '0'..='9' | '.' => {
                let len = number_length(rest);
                let number = rest[..len].parse().map_err(|_| {
                    let problem = format!("`{}` is not a number", &rest[..len]);
                    ParseError::new(text, (at, at + len), problem, "write it as 2, 0.5 or 1e-3")
                })?;
                (Kind::Number(number), len)
            }
            c if c.is_alphabetic() || c == '_' => {
                let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Kind::Name(&rest[..len]), len)
            }
            c => {
                let problem = format!("`{}` has no meaning in an epilogue", c.escape_debug());
                let remedy = "use names, numbers, `+ - * /`, parentheses and functions";
                return Err(ParseError::new(text, (at, at + c.len_utf8()), problem, remedy));
            }
        };
        tokens.push(Token { kind, span: (at, at + len) });
        at += len;
    }
    tokens.push(Token { kind: Kind::End, span: (text.len(), text.len()) });
    Ok(tokens)
}

/// Bytes of what reads like a number: digits, dots, letters (for the message about `2x`), and the sign of an exponent.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        let exponent_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        if !(c.is_alphanumeric() || c == '.' || c == '_' || exponent_sign) {
            return i;
        }
        before = c;
    }
    text.len()
}
