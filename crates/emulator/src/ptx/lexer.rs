//! Text to tokens.

/// One token of PTX text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Token<'a> {
    /// An identifier: `%r1`, `mov`, `$L__BB0_2`, `_`.
    Word(&'a str),
    /// A suffix behind a dot, without the dot and with its `::` parts: `u32`, `shared::cta`.
    Dot(&'a str),
    /// A number as written, without a sign.
    Number(&'a str),
    /// A string without its quotes.
    Text(&'a str),
    /// Any other character.
    Mark(char),
}

/// A token, the byte range that it covers and the line that it starts on (from 1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme<'a> {
    pub token: Token<'a>,
    pub start: usize,
    pub end: usize,
    pub line: u32,
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'$'
}

/// The tokens of `text`; comments and white space are dropped.
pub(crate) fn tokens(text: &str) -> Vec<Lexeme<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4);
    let (mut at, mut line) = (0, 1);
    let scan = |mut at: usize| {
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        at
    };
    while at < bytes.len() {
        let (start, first) = (at, bytes[at]);
        if first == b'\n' {
            line += 1;
            at += 1;
            continue;
        }
        if first.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if text[at..].starts_with("//") {
            while at < bytes.len() && bytes[at] != b'\n' {
                at += 1;
            }
            continue;
        }
        if text[at..].starts_with("/*") {
            let end = text[at..].find("*/").map_or(bytes.len(), |n| at + n + 2);
            line += text[at..end].matches('\n').count() as u32;
            at = end;
            continue;
        }
        let token = if first == b'"' {
            at = text[at + 1..].find('"').map_or(bytes.len(), |n| at + 1 + n + 1);
            Token::Text(text[start..at].trim_matches('"'))
        } else if first.is_ascii_digit() {
            at = scan(at);
            if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
                at = scan(at + 1);
            }
            Token::Number(&text[start..at])
        } else if first == b'.' && bytes.get(at + 1).copied().is_some_and(is_word) {
            at = scan(at + 1);
            while text[at..].starts_with("::") && bytes.get(at + 2).copied().is_some_and(is_word) {
                at = scan(at + 2);
            }
            Token::Dot(&text[start + 1..at])
        } else if is_word(first) || (first == b'%' && bytes.get(at + 1).copied().is_some_and(is_word)) {
            at = scan(at + 1);
            Token::Word(&text[start..at])
        } else {
            let c = text[at..].chars().next().unwrap_or('\0');
            at += c.len_utf8().max(1);
            Token::Mark(c)
        };
        out.push(Lexeme { token, start, end: at, line });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_with_namespaced_suffixes() {
        let found: Vec<_> = tokens("@!%p1 cp.async.L2::128B [%rd1+-16], 0f3F800000; // x\n/* \n */ ret")
            .into_iter()
            .map(|l| (l.token, l.line))
            .collect();
        use Token::*;
        let expected = [
            (Mark('@'), 1),
            (Mark('!'), 1),
            (Word("%p1"), 1),
            (Word("cp"), 1),
            (Dot("async"), 1),
            (Dot("L2::128B"), 1),
            (Mark('['), 1),
            (Word("%rd1"), 1),
            (Mark('+'), 1),
            (Mark('-'), 1),
            (Number("16"), 1),
            (Mark(']'), 1),
            (Mark(','), 1),
            (Number("0f3F800000"), 1),
            (Mark(';'), 1),
            (Word("ret"), 3),
        ];
        assert_eq!(found, expected);
    }
}
