//! Tokens to the syntax tree.

use super::ast::*;
use super::lexer::{Lexeme, Token, tokens};
use super::scope::Scopes;
use crate::error::{ParseError, ParseReason};

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Text<'_>, ParseError> {
    Parser { text, lexemes: tokens(text), at: 0, scopes: Scopes::default() }.module()
}

struct Parser<'a> {
    text: &'a str,
    lexemes: Vec<Lexeme<'a>>,
    at: usize,
    scopes: Scopes<'a>,
}

/// Bytes of the largest variable.
const LARGEST: u32 = 1 << 30;
/// Registers of the largest family, which is far beyond what compilers write.
const MOST_REGISTERS: u32 = 1 << 20;

type Parsed<T> = Result<T, ParseError>;

/// The value of a number as PTX writes it.
fn number(text: &str) -> Option<Operand<'static>> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches('u');
    if let Some(hex) = lower.strip_prefix("0f").filter(|h| h.len() == 8) {
        return u32::from_str_radix(hex, 16).ok().map(Operand::Float32);
    }
    if let Some(hex) = lower.strip_prefix("0d").filter(|h| h.len() == 16) {
        return u64::from_str_radix(hex, 16).ok().map(Operand::Float64);
    }
    if digits.contains('.') {
        return digits.parse::<f64>().ok().map(|x| Operand::Float64(x.to_bits()));
    }
    let integer = if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        u64::from_str_radix(binary, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    integer.ok().map(Operand::Integer)
}

/// Bytes of a fundamental type.
fn type_bytes(name: &str) -> Option<u32> {
    Some(match name {
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// A label of a branch table that nothing declares.
fn unresolved<'a>(tables: &[(&'a str, Vec<Operand<'a>>)]) -> Option<&'a str> {
    tables.iter().flat_map(|(_, targets)| targets).find_map(|target| match target {
        Operand::Symbol(name) => Some(*name),
        _ => None,
    })
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.lexemes.get(self.at).map(|l| l.token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn line(&self) -> u32 {
        self.lexemes.get(self.at).or(self.lexemes.last()).map_or(1, |l| l.line)
    }

    fn fail<T>(&self, reason: ParseReason) -> Parsed<T> {
        let at = self.at.min(self.lexemes.len().saturating_sub(1));
        let start = self.lexemes.get(at).map_or(0, |l| l.start);
        let from = self.text[..start].rfind('\n').map_or(0, |n| n + 1);
        let to = self.text[start..].find('\n').map_or(self.text.len(), |n| start + n);
        Err(ParseError { line: self.line(), text: self.text[from..to].trim().to_owned(), reason })
    }

    fn syntax<T>(&self, what: &str) -> Parsed<T> {
        self.fail(ParseReason::Syntax(what.to_owned()))
    }

    fn take(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, c: char) -> Parsed<()> {
        if self.take(Token::Mark(c)) { Ok(()) } else { self.syntax(&format!("expected `{c}`")) }
    }

    fn word(&mut self) -> Parsed<&'a str> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.syntax("expected a name"),
        }
    }

    fn unsigned(&mut self) -> Parsed<u32> {
        if let Some(Token::Number(text)) = self.peek()
            && let Some(Operand::Integer(value)) = number(text)
        {
            self.at += 1;
            return Ok(value as u32);
        }
        self.syntax("expected an integer")
    }

    /// Up to and over the end of a directive that says nothing to the emulator.
    fn skip_line(&mut self) {
        let line = self.line();
        while self.at < self.lexemes.len() && self.line() == line {
            self.at += 1;
        }
    }

    fn skip_braces(&mut self) -> Parsed<()> {
        while self.peek().is_some() && !self.take(Token::Mark('{')) {
            self.at += 1;
        }
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some(Token::Mark('{')) => depth += 1,
                Some(Token::Mark('}')) => depth -= 1,
                None => return self.syntax("a brace is not closed"),
                _ => {}
            }
        }
        Ok(())
    }

    fn module(mut self) -> Parsed<Text<'a>> {
        let mut text = Text::default();
        let mut external = false;
        while let Some(token) = self.peek() {
            let Token::Dot(directive) = token else { return self.syntax("expected a directive") };
            match directive {
                "version" | "address_size" => self.skip_line(),
                "target" => {
                    self.at += 1;
                    text.target = self.word()?;
                    while self.take(Token::Mark(',')) {
                        self.word()?;
                    }
                }
                "file" => {
                    self.at += 1;
                    let index = self.unsigned()?;
                    if let Some(Token::Text(name)) = self.next() {
                        text.files.push((index, name));
                    }
                    while self.take(Token::Mark(',')) {
                        self.unsigned()?;
                    }
                }
                "section" => self.skip_braces()?,
                "visible" | "weak" | "common" => self.at += 1,
                "extern" => {
                    external = true;
                    self.at += 1;
                }
                "global" | "const" | "shared" => {
                    text.variables.extend(self.variables(external)?);
                    external = false;
                }
                "entry" => {
                    self.at += 1;
                    let entry = self.entry()?;
                    text.entries.push(entry);
                }
                "func" => return self.fail(ParseReason::Unsupported("a device function that is not inlined".into())),
                "pragma" => self.skip_line(),
                _ => return self.syntax("unknown directive"),
            }
        }
        Ok(text)
    }

    /// `.space .align n .type name[extent] = initial, …;`
    fn variables(&mut self, external: bool) -> Parsed<Vec<Variable<'a>>> {
        let (space, align, element) = self.declaration()?;
        let mut out = Vec::new();
        loop {
            out.push(self.variable(space, align, element, external)?);
            if !self.take(Token::Mark(',')) {
                break;
            }
        }
        self.mark(';')?;
        Ok(out)
    }

    fn declaration(&mut self) -> Parsed<(VariableSpace, u32, u32)> {
        let (mut space, mut align, mut element, mut vector) = (VariableSpace::Param, 0, 0, 1);
        while let Some(Token::Dot(word)) = self.peek() {
            self.at += 1;
            match word {
                "global" => space = VariableSpace::Global,
                "const" => space = VariableSpace::Const,
                "shared" | "shared::cta" => space = VariableSpace::Shared,
                "local" => space = VariableSpace::Local,
                "param" => space = VariableSpace::Param,
                "align" => align = self.unsigned()?,
                "v2" => vector = 2,
                "v4" => vector = 4,
                "ptr" => {}
                _ => match type_bytes(word) {
                    // Behind `.ptr` stands the alignment of what the pointer points to.
                    Some(bytes) if element == 0 => element = bytes,
                    _ => {
                        self.at -= 1;
                        return self.syntax("unknown word in a declaration");
                    }
                },
            }
        }
        Ok((space, align.max(1), element * vector))
    }

    fn variable(&mut self, space: VariableSpace, align: u32, element: u32, external: bool) -> Parsed<Variable<'a>> {
        let name = self.word()?;
        let mut bytes = element;
        while self.take(Token::Mark('[')) {
            if self.take(Token::Mark(']')) {
                bytes = 0;
                continue;
            }
            bytes = bytes.saturating_mul(self.unsigned()?);
            self.mark(']')?;
        }
        if bytes > LARGEST {
            return self.syntax("a variable of more than 1 GiB");
        }
        let mut initial = Vec::new();
        if self.take(Token::Mark('=')) {
            let braced = self.take(Token::Mark('{'));
            loop {
                let negative = self.take(Token::Mark('-'));
                let value = match self.next() {
                    Some(Token::Number(text)) => number(text),
                    _ => None,
                };
                let bits = match value {
                    Some(Operand::Integer(v)) if negative => v.wrapping_neg(),
                    Some(Operand::Integer(v) | Operand::Float64(v)) => v,
                    Some(Operand::Float32(v)) => u64::from(v),
                    _ => {
                        self.at -= 1;
                        return self.fail(ParseReason::Unsupported("an initialiser that is not a number".into()));
                    }
                };
                initial.extend_from_slice(&bits.to_le_bytes()[..element.min(8) as usize]);
                if !braced || !self.take(Token::Mark(',')) {
                    break;
                }
            }
            if braced {
                self.mark('}')?;
            }
            bytes = bytes.max(initial.len() as u32);
        }
        Ok(Variable { space, name, align: align.max(element.clamp(1, 16)), bytes, external, initial })
    }

    fn entry(&mut self) -> Parsed<Entry<'a>> {
        let mut entry = Entry { line: self.line(), name: self.word()?, ..Entry::default() };
        if self.take(Token::Mark('(')) {
            while !self.take(Token::Mark(')')) {
                let (space, align, element) = self.declaration()?;
                let parameter = self.variable(space, align, element, false)?;
                entry.parameters.push(parameter);
                self.take(Token::Mark(','));
            }
        }
        while let Some(Token::Dot(word)) = self.peek() {
            self.at += 1;
            let mut numbers = Vec::new();
            while let Some(Token::Number(_)) = self.peek() {
                numbers.push(self.unsigned()?);
                self.take(Token::Mark(','));
            }
            match word {
                "maxntid" | "reqntid" => entry.max_threads = numbers.iter().product(),
                "reqnctapercluster" => {
                    for (to, from) in entry.cluster.iter_mut().zip(numbers.into_iter().chain([1; 3])) {
                        *to = from;
                    }
                }
                _ => {}
            }
        }
        self.scopes = Scopes::default();
        self.body(&mut entry)?;
        entry.rows = self.scopes.rows;
        entry.predicates = self.scopes.predicates;
        Ok(entry)
    }

    fn body(&mut self, entry: &mut Entry<'a>) -> Parsed<()> {
        self.mark('{')?;
        self.scopes.enter();
        let mut depth = 1;
        let mut loc = Loc::default();
        while depth > 0 {
            let Some(token) = self.peek() else { return self.syntax("a brace is not closed") };
            match token {
                Token::Mark('{') => {
                    self.at += 1;
                    self.scopes.enter();
                    depth += 1;
                }
                Token::Mark('}') => {
                    for target in entry.branch_tables.iter_mut().flat_map(|(_, targets)| targets) {
                        if let Operand::Symbol(name) = *target
                            && let Some(at) = self.scopes.find(name)
                        {
                            *target = Operand::Label(at);
                        }
                    }
                    let code = &mut entry.code;
                    let lost = self.scopes.leave(|at, name, target| {
                        let instruction: &mut Instruction<'_> = &mut code[at];
                        for operand in &mut instruction.operands {
                            if matches!(operand, Operand::Symbol(s) if *s == name) {
                                *operand = Operand::Label(target);
                            }
                        }
                    });
                    let lost = lost.first().map(|(name, _)| *name);
                    let lost = lost.or_else(|| if depth == 1 { unresolved(&entry.branch_tables) } else { None });
                    if let Some(name) = lost {
                        return self.fail(ParseReason::Undeclared(name.to_owned()));
                    }
                    self.at += 1;
                    depth -= 1;
                }
                Token::Mark(';') => self.at += 1,
                Token::Dot("loc") => loc = self.location()?,
                Token::Dot("reg") => self.registers()?,
                Token::Dot("pragma") => self.skip_line(),
                Token::Dot("local" | "shared" | "shared::cta" | "global" | "const" | "param") => {
                    let variables = self.variables(false)?;
                    entry.variables.extend(variables);
                }
                Token::Word(name) if self.lexemes.get(self.at + 1).is_some_and(|l| l.token == Token::Mark(':')) => {
                    self.at += 2;
                    if self.take(Token::Dot("branchtargets")) {
                        let targets = self.operands(';')?;
                        entry.branch_tables.push((name, targets));
                    } else {
                        self.scopes.label(name, entry.code.len() as u32);
                    }
                }
                _ => {
                    let instruction = self.instruction(loc)?;
                    if instruction.opcode == "bra" {
                        for operand in &instruction.operands {
                            if let Operand::Symbol(name) = operand {
                                self.scopes.refer(name, entry.code.len());
                            }
                        }
                    }
                    entry.code.push(instruction);
                }
            }
        }
        Ok(())
    }

    fn location(&mut self) -> Parsed<Loc> {
        self.at += 1;
        let mut loc = Loc { file: self.unsigned()?, line: self.unsigned()?, inlined_at: 0 };
        self.unsigned()?;
        while self.take(Token::Mark(',')) {
            match self.word()? {
                "inlined_at" => {
                    self.unsigned()?;
                    loc.inlined_at = self.unsigned()?;
                    self.unsigned()?;
                }
                _ => {
                    self.word()?;
                    if self.take(Token::Mark('+')) {
                        self.unsigned()?;
                    }
                }
            }
        }
        Ok(loc)
    }

    fn registers(&mut self) -> Parsed<()> {
        self.at += 1;
        let Some(Token::Dot(kind)) = self.next() else {
            self.at -= 1;
            return self.syntax("expected a register type");
        };
        let width = match (kind, type_bytes(kind)) {
            ("pred", _) => Width::Pred,
            (_, Some(8)) => Width::Double,
            (_, Some(16)) => Width::Quad,
            (_, Some(bytes)) => Width::Word(bytes as u8 * 8),
            _ => return self.syntax("unknown register type"),
        };
        loop {
            let name = self.word()?;
            let mut count = None;
            if self.take(Token::Mark('<')) {
                count = Some(self.unsigned()?);
                if count > Some(MOST_REGISTERS) {
                    return self.syntax("too many registers");
                }
                self.mark('>')?;
            }
            self.scopes.declare(name, width, count);
            if !self.take(Token::Mark(',')) {
                break;
            }
        }
        self.mark(';')
    }

    fn instruction(&mut self, loc: Loc) -> Parsed<Instruction<'a>> {
        let (start, line) = (self.lexemes[self.at].start, self.line());
        let mut guard = None;
        if self.take(Token::Mark('@')) {
            let negated = self.take(Token::Mark('!'));
            let name = self.word()?;
            match self.scopes.register(name) {
                Some(Reg { row, width: Width::Pred }) => guard = Some((row, negated)),
                _ => return self.fail(ParseReason::Undeclared(name.to_owned())),
            }
        }
        let opcode = self.word()?;
        let mut suffixes = Vec::new();
        while let Some(Token::Dot(suffix)) = self.peek() {
            suffixes.push(suffix);
            self.at += 1;
        }
        let operands = self.operands(';')?;
        let text = &self.text[start..self.lexemes[self.at - 1].end];
        Ok(Instruction { guard, opcode, suffixes, operands, line, text, loc })
    }

    /// Operands up to and over `end`.
    fn operands(&mut self, end: char) -> Parsed<Vec<Operand<'a>>> {
        let mut out = Vec::new();
        if self.take(Token::Mark(end)) {
            return Ok(out);
        }
        loop {
            out.push(self.operand()?);
            if self.take(Token::Mark(end)) {
                return Ok(out);
            }
            self.mark(',')?;
        }
    }

    fn operand(&mut self) -> Parsed<Operand<'a>> {
        let operand = match self.next() {
            Some(Token::Mark('{')) => Operand::Vector(self.operands('}')?),
            Some(Token::Mark('[')) => {
                let base = self.operand()?;
                let mut memory = Memory { base, offset: 0, coordinates: Vec::new() };
                if self.take(Token::Mark('+')) {
                    let negative = self.take(Token::Mark('-'));
                    let Some(Token::Number(text)) = self.next() else { return self.syntax("expected an offset") };
                    let Some(Operand::Integer(value)) = number(text) else { return self.syntax("expected an offset") };
                    memory.offset = if negative { (value as i64).wrapping_neg() } else { value as i64 };
                }
                if self.take(Token::Mark(',')) {
                    memory.coordinates = match self.operand()? {
                        Operand::Vector(coordinates) => coordinates,
                        other => vec![other],
                    };
                }
                self.mark(']')?;
                Operand::Memory(Box::new(memory))
            }
            Some(Token::Mark('!')) => Operand::Not(Box::new(self.operand()?)),
            Some(Token::Mark('-')) => match self.next() {
                Some(Token::Number(text)) => match number(text) {
                    Some(Operand::Integer(v)) => Operand::Integer(v.wrapping_neg()),
                    Some(Operand::Float64(v)) => Operand::Float64(v ^ 1 << 63),
                    _ => return self.syntax("expected a number"),
                },
                _ => return self.syntax("expected a number"),
            },
            Some(Token::Number(text)) => match number(text) {
                Some(value) => value,
                None => return self.syntax("not a number"),
            },
            Some(Token::Word("_")) => Operand::Sink,
            Some(Token::Word(name)) => match self.scopes.register(name) {
                Some(register) => Operand::Register(register),
                None if name.starts_with('%') => {
                    let start = self.lexemes[self.at - 1].start;
                    if let Some(Token::Dot(_)) = self.peek() {
                        self.at += 1;
                    }
                    Operand::Special(&self.text[start..self.lexemes[self.at - 1].end])
                }
                None => Operand::Symbol(name),
            },
            _ => {
                self.at -= 1;
                return self.syntax("expected an operand");
            }
        };
        if self.take(Token::Mark('|')) {
            return Ok(Operand::Pair(Box::new(operand), Box::new(self.operand()?)));
        }
        Ok(operand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_hide_registers_and_labels() {
        let text = parse(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p){ .reg .b32 %r<2>;
             { .reg .pred p; A: setp.eq.u32 p, %r0, 1; @!p bra A; }
             { .reg .pred p; A: @p bra A; bra B; } B: ret; }",
        )
        .unwrap();
        let entry = &text.entries[0];
        let targets = entry.code.iter().filter_map(|i| match i.operands.first() {
            Some(Operand::Label(to)) => Some(*to),
            _ => None,
        });
        assert_eq!(targets.collect::<Vec<_>>(), [0, 2, 4]);
        assert_eq!((entry.predicates, entry.rows), (2, 2));
        assert_eq!(entry.code[1].guard, Some((0, true)));
        assert_eq!(entry.code[2].guard, Some((1, false)));
    }

    #[test]
    fn errors_name_line_and_text() {
        let error = parse(".version 8.0\n.target sm_80\n.entry k(){\n mov.u32 %r1 5;\n}").unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (4, "mov.u32 %r1 5;"));
    }
}
