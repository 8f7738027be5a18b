//! CuTe's notation as text: `((_16,_16),(_16,8)):((_128,_1),(_2048,16))`.

use core::str::FromStr;

use crate::{ComposedLayout, Int, IntTuple, Layout, LayoutError, Swizzle};

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, c: u8) -> bool {
        self.skip_space();
        let found = self.text.get(self.at) == Some(&c);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, c: u8, expected: &'static str) -> Result<(), LayoutError> {
        if self.eat(c) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn error(&self, expected: &'static str) -> LayoutError {
        LayoutError::Parse { at: self.at, expected }
    }

    fn integer(&mut self) -> Result<Int, LayoutError> {
        let is_static = self.eat(b'_');
        let negative = self.eat(b'-');
        let (start, mut v) = (self.at, 0i64);
        while let Some(d) = self.text.get(self.at).filter(|c| c.is_ascii_digit()) {
            v = v
                .checked_mul(10)
                .and_then(|v| v.checked_add(i64::from(d - b'0')))
                .ok_or_else(|| self.error("an integer of at most 63 bits"))?;
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("an integer or `(`"));
        }
        let v = if negative { -v } else { v };
        Ok(if is_static { Int::Static(v) } else { Int::Dynamic(v) })
    }

    fn tuple(&mut self, into: &mut IntTuple, depth: usize) -> Result<(), LayoutError> {
        if !self.eat(b'(') {
            let v = self.integer()?;
            return if into.push_leaf(v) { Ok(()) } else { Err(LayoutError::TooLarge) };
        }
        if depth == IntTuple::MAX_TOKENS || !into.push_open() {
            return Err(LayoutError::TooLarge);
        }
        if !self.eat(b')') {
            loop {
                self.tuple(into, depth + 1)?;
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')', "`,` or `)`")?;
        }
        if into.push_close() { Ok(()) } else { Err(LayoutError::TooLarge) }
    }

    fn whole_tuple(&mut self) -> Result<IntTuple, LayoutError> {
        let mut t = IntTuple::NOTHING;
        self.tuple(&mut t, 0)?;
        Ok(t)
    }

    fn layout(&mut self) -> Result<Layout, LayoutError> {
        let shape = self.whole_tuple()?;
        if self.eat(b':') {
            let stride = self.whole_tuple()?;
            Layout::new(shape, stride)
        } else {
            Layout::column_major(shape)
        }
    }

    fn swizzle(&mut self) -> Result<Swizzle, LayoutError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let name = if rest.starts_with(b"Swizzle") { 7 } else { 2 };
        self.at += name;
        self.expect(b'<', "`<`")?;
        let mut fields = [0i32; 3];
        for (i, field) in fields.iter_mut().enumerate() {
            if i > 0 {
                self.expect(b',', "`,`")?;
            }
            let v = self.integer()?.value();
            *field = i32::try_from(v).map_err(|_| self.error("a small integer"))?;
        }
        self.expect(b'>', "`>`")?;
        Swizzle::new(fields[0], fields[1], fields[2])
    }

    fn end(&mut self) -> Result<(), LayoutError> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.error("the end")) }
    }
}

fn parse<T>(text: &str, f: impl FnOnce(&mut Parser<'_>) -> Result<T, LayoutError>) -> Result<T, LayoutError> {
    let mut p = Parser { text: text.as_bytes(), at: 0 };
    let v = f(&mut p)?;
    p.end()?;
    Ok(v)
}

impl FromStr for Int {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text, |p| p.integer())
    }
}

impl FromStr for IntTuple {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text, |p| p.whole_tuple())
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    /// `shape:stride`, or a shape alone for the compact layout whose first mode is contiguous.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text, |p| p.layout())
    }
}

impl FromStr for Swizzle {
    type Err = LayoutError;

    /// `Sw<3,4,3>` or `Swizzle<3,4,3>`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text, |p| p.swizzle())
    }
}

impl FromStr for ComposedLayout {
    type Err = LayoutError;

    /// `Sw<3,4,3> o _0 o (_8,_64):(_64,_1)`, or a plain layout.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text, |p| {
            p.skip_space();
            if !p.text[p.at..].starts_with(b"S") {
                return Ok(p.layout()?.into());
            }
            let swizzle = p.swizzle()?;
            p.expect(b'o', "`o`")?;
            let offset = p.integer()?;
            p.expect(b'o', "`o`")?;
            ComposedLayout::new(swizzle, p.layout()?).with_offset(offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for text in ["((_16,_16),(_16,8)):((_128,_1),(_2048,16))", "_1:_0", "(4):(_1)", "(_2,-3)"] {
            if text.contains(':') {
                assert_eq!(text.parse::<Layout>().unwrap().to_string(), text);
            } else {
                assert_eq!(text.parse::<IntTuple>().unwrap().to_string(), text);
            }
        }
        assert_eq!("(8, 4)".parse::<Layout>().unwrap().to_string(), "(8,4):(_1,8)");
        let c = "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)";
        assert_eq!(c.parse::<ComposedLayout>().unwrap().to_string(), c);
    }

    #[test]
    fn refusals_name_the_place() {
        assert_eq!("(8,".parse::<IntTuple>(), Err(LayoutError::Parse { at: 3, expected: "an integer or `(`" }));
        assert_eq!("8)".parse::<IntTuple>(), Err(LayoutError::Parse { at: 1, expected: "the end" }));
        assert!(matches!("(8,4):(1,(4))".parse::<Layout>(), Err(LayoutError::NotCongruent { .. })));
        assert!(matches!("(0,4)".parse::<Layout>(), Err(LayoutError::Extent { .. })));
        assert!("(".repeat(100_000).parse::<IntTuple>().is_err());
    }
}
