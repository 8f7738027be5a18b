//! Layouts as JSON, in the form of the oracle's outputs, written without intermediate values: batch mode is as fast as this.

use std::fmt::{self, Write};
use warpwright::layout::{ComposedInverse, ComposedLayout, CoordinateLayout, IntTuple, Layout, Swizzle};

/// Tables longer than this are `null`, and longer lists are cut, with a field that says how much is left out.
pub const TABLE: i64 = 4096;

/// JSON text that grows. Commas between the fields of an object are the writer's.
#[derive(Default)]
pub struct Json(pub Vec<u8>);

/// CuTe's notation becomes JSON by changing parentheses and dropping the marks of static integers.
struct Brackets<'a>(&'a mut Vec<u8>);

impl Write for Brackets<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.bytes().filter(|c| *c != b'_').map(|c| match c {
            b'(' => b'[',
            b')' => b']',
            c => c,
        }));
        Ok(())
    }
}

/// The digits of the integers below 1000 with a comma behind them, and how many they are without it.
const SMALL: [([u8; 4], u8); 1000] = {
    let (mut table, mut v) = ([([0u8; 4], 0u8); 1000], 0);
    while v < 1000 {
        let count = if v < 10 {
            1
        } else if v < 100 {
            2
        } else {
            3
        };
        let (mut rest, mut at) = (v, count);
        table[v].0[at] = b',';
        while at > 0 {
            at -= 1;
            table[v].0[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        table[v].1 = count as u8;
        v += 1;
    }
    table
};

/// What stands before the integers of a tuple and behind each: many tuples of one nesting are written with it.
pub struct Nesting {
    before: String,
    behind: Vec<Between>,
}

/// Text behind an integer, and its length.
struct Between([u8; Between::MOST], usize);

impl Default for Between {
    fn default() -> Between {
        Between([0; Between::MOST], 0)
    }
}

impl Between {
    /// A parenthesis for each token of a tuple and the comma.
    const MOST: usize = IntTuple::MAX_TOKENS + 1;
    /// Most texts are not longer.
    const WORD: usize = 8;
}

impl Nesting {
    pub fn of(tuple: &IntTuple) -> Nesting {
        let mut json = Json::default();
        json.tuple(tuple);
        let (mut nesting, mut in_integer) = (Nesting { before: String::new(), behind: Vec::new() }, false);
        for c in json.0 {
            let integer = c.is_ascii_digit() || c == b'-';
            if integer && !in_integer {
                nesting.behind.push(Between::default());
            } else if !integer {
                match nesting.behind.last_mut() {
                    Some(Between(text, len)) => (text[*len], *len) = (c, *len + 1),
                    None => nesting.before.push(c.into()),
                }
            }
            in_integer = integer;
        }
        nesting
    }
}

impl Json {
    #[inline]
    pub fn raw(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    #[inline]
    pub fn int(&mut self, v: i64) -> &mut Self {
        self.int_and_comma(v);
        self.0.pop();
        self
    }

    /// Whole words are appended and cut: a copy of constant length is a store, of variable length a call.
    #[inline]
    fn int_and_comma(&mut self, v: i64) {
        if let Some(&(digits, count)) = usize::try_from(v).ok().and_then(|v| SMALL.get(v)) {
            let end = self.0.len() + count as usize + 1;
            self.0.extend_from_slice(&digits);
            self.0.truncate(end);
        } else {
            self.large(v);
        }
    }

    #[inline(never)]
    fn large(&mut self, v: i64) {
        if v < 0 {
            self.0.push(b'-');
        }
        let (mut digits, mut at, mut rest) = ([b','; 20], 19, v.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[at..]);
    }

    #[inline]
    pub fn ints(&mut self, values: impl IntoIterator<Item = i64>) -> &mut Self {
        self.0.push(b'[');
        for v in values {
            self.int_and_comma(v);
        }
        if self.0.last() == Some(&b',') {
            self.0.pop();
        }
        self.0.push(b']');
        self
    }

    /// A list of what `f` writes of each item.
    #[inline]
    pub fn each<T>(&mut self, items: impl IntoIterator<Item = T>, mut f: impl FnMut(&mut Self, T)) -> &mut Self {
        self.0.push(b'[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            f(self, item);
        }
        self.0.push(b']');
        self
    }

    pub fn tuple(&mut self, tuple: &IntTuple) -> &mut Self {
        let _ = write!(Brackets(&mut self.0), "{tuple}");
        self
    }

    /// A tuple of this nesting with these integers.
    #[inline]
    pub fn nested(&mut self, nesting: &Nesting, integers: &[i64]) -> &mut Self {
        self.raw(&nesting.before);
        for (v, behind) in integers.iter().zip(&nesting.behind) {
            self.int(*v);
            let Between(text, len) = behind;
            if *len <= Between::WORD {
                let end = self.0.len() + len;
                self.0.extend_from_slice(&text[..Between::WORD]);
                self.0.truncate(end);
            } else {
                self.0.extend_from_slice(&text[..*len]);
            }
        }
        self
    }

    pub fn swizzle(&mut self, s: &Swizzle) -> &mut Self {
        self.ints([s.bits, s.base, s.shift].map(i64::from))
    }

    /// The values of `f` from 0 on.
    pub fn table(&mut self, size: i64, f: impl Fn(i64) -> i64) -> &mut Self {
        if size > TABLE { self.raw("null") } else { self.ints((0..size).map(f)) }
    }

    /// The fields `shape` and `stride`.
    pub fn form(&mut self, layout: &Layout) -> &mut Self {
        self.raw("\"shape\":").tuple(&layout.shape()).raw(",\"stride\":").tuple(&layout.stride())
    }

    /// An object of `shape` and `stride`.
    pub fn short(&mut self, layout: &Layout) -> &mut Self {
        self.raw("{").form(layout).raw("}")
    }

    /// The fields of a layout with its function.
    pub fn fields(&mut self, layout: &Layout) -> &mut Self {
        let size = layout.size().value();
        self.form(layout).raw(",\"size\":").int(size).raw(",\"cosize\":").int(layout.cosize().value());
        self.raw(",\"table\":").table(size, |i| layout.eval(i))
    }

    pub fn layout(&mut self, layout: &Layout) -> &mut Self {
        self.raw("{").fields(layout).raw("}")
    }

    /// A composed layout; a plain one where the swizzle does nothing.
    pub fn composed(&mut self, c: &ComposedLayout) -> &mut Self {
        if c.is_plain() { self.layout(&c.layout) } else { self.swizzled(c) }
    }

    /// A composed layout in full, whatever its swizzle does.
    pub fn swizzled(&mut self, c: &ComposedLayout) -> &mut Self {
        let size = c.size().value();
        self.raw("{\"swizzle\":").swizzle(&c.swizzle).raw(",\"offset\":").int(c.offset.value());
        self.raw(",\"inner\":").short(&c.layout).raw(",\"size\":").int(size);
        self.raw(",\"table\":").table(size, |i| c.eval(i)).raw("}")
    }

    /// What undoes a composed layout: behind an offset, the layout that is applied last stands first.
    pub fn inverse(&mut self, inverse: &ComposedInverse) -> &mut Self {
        match inverse {
            ComposedInverse::Swizzled(c) => self.composed(c),
            ComposedInverse::Undone { layout, offset, swizzle } => {
                self.raw("{\"outer\":").layout(layout).raw(",\"offset\":").int(offset.value());
                self.raw(",\"swizzle\":").swizzle(swizzle).raw("}")
            }
        }
    }

    /// A layout of coordinates: its shape, and the coordinate of each linear index.
    pub fn coordinates(&mut self, layout: &CoordinateLayout) -> &mut Self {
        let size = layout.size().value();
        self.raw("{\"shape\":").tuple(&layout.shape()).raw(",\"text\":").string(&layout.to_string());
        self.raw(",\"size\":").int(size).raw(",\"table\":");
        if size > TABLE {
            return self.raw("null}");
        }
        self.each(0..size, |json, i| {
            json.tuple(&layout.eval(i));
        });
        self.raw("}")
    }

    /// Part of a layout, and the offset at which it begins beside its function.
    pub fn slice(&mut self, (layout, offset): &(Layout, i64)) -> &mut Self {
        self.raw("{\"offset\":").int(*offset).raw(",").fields(layout).raw("}")
    }

    /// Part of a matrix that a thread has, with the offset in its function; what still has a swizzle has it in front of that.
    pub fn part(&mut self, (part, offset): &(ComposedLayout, i64)) -> &mut Self {
        if !part.is_plain() {
            return self.swizzled(part);
        }
        let layout = &part.layout;
        self.raw("{").form(layout).raw(",\"offset\":").int(*offset).raw(",\"table\":");
        self.table(layout.size().value(), |i| offset + layout.eval(i)).raw("}")
    }

    pub fn string(&mut self, text: &str) -> &mut Self {
        let quoted = serde_json::Value::from(text).to_string();
        self.raw(&quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_oracle() {
        let mut json = Json::default();
        json.layout(&"(_2,(_3,_1)):(_1,(_-2,_0))".parse().unwrap());
        let text = String::from_utf8(json.0).unwrap();
        assert_eq!(text, r#"{"shape":[2,[3,1]],"stride":[1,[-2,0]],"size":6,"cosize":6,"table":[0,1,-2,-1,-4,-3]}"#);
        let mut json = Json::default();
        json.ints([0, 7, 10, 99, 100, 999, 1000, 65536, -1, -999, i64::MIN, i64::MAX]).ints([]).int(42);
        let text = "[0,7,10,99,100,999,1000,65536,-1,-999,-9223372036854775808,9223372036854775807][]42";
        assert_eq!(String::from_utf8(json.0).unwrap(), text);
    }

    #[test]
    fn tuples_of_one_nesting() {
        let deep = format!("({}1{},{}3{})", "(".repeat(14), ")".repeat(14), "(".repeat(14), ")".repeat(14));
        for text in ["5", "()", "(1,(-2,((3,4)),()),5)", &deep] {
            let tuple: IntTuple = text.parse().unwrap();
            let (mut whole, mut parts) = (Json::default(), Json::default());
            whole.tuple(&tuple);
            parts.nested(&Nesting::of(&tuple), &tuple.iter().map(|v| v.value()).collect::<Vec<_>>());
            assert_eq!(whole.0, parts.0, "{text}");
        }
    }
}
