//! The epilogue notation, for the reference alone: `d = relu(alpha*acc + row(bias) + beta*source(c))`.
//!
//! `+ - * /`, unary minus, parentheses, numbers, names of scalars, `acc`, `source(c)`, `previous`, `row(name)`,
//! `column(name)`, `tile(name)`, `relu(x)`, `min(x, y)`, `max(x, y)` and the functions of [`crate::user`].

use std::collections::BTreeMap;

use crate::user::{self, UserFunction};

/// An epilogue, parsed.
#[derive(Clone, Debug)]
pub enum Expression {
    /// The accumulator.
    Acc,
    /// C.
    Source,
    /// What D held before.
    Previous,
    /// A literal, or a scalar once its value is known.
    Number(f64),
    /// A scalar by name.
    Scalar(String),
    /// A vector with one element per column.
    Row(String),
    /// A vector with one element per row.
    Column(String),
    /// A matrix of D's shape.
    Tile(String),
    /// `-x`.
    Negate(Box<Expression>),
    /// `x + y` and so on.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `relu(x)`.
    Relu(Box<Expression>),
    /// A function from [`crate::user`].
    User(UserFunction, Box<Expression>),
}

/// Operators and functions of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `x + y`
    Add,
    /// `x - y`
    Subtract,
    /// `x * y`
    Multiply,
    /// `x / y`
    Divide,
    /// `min(x, y)`
    Min,
    /// `max(x, y)`
    Max,
}

/// A kind of number in which an epilogue can be evaluated.
pub trait Value: Copy {
    /// A constant, narrowed to the compute type.
    fn number(x: f64) -> Self;
    /// `-self`.
    fn negate(self) -> Self;
    /// `self op other`.
    fn binary(self, op: Operator, other: Self) -> Self;
    /// `max(self, 0)`, NaN for NaN.
    fn relu(self) -> Self;
    /// `f(self)`.
    fn user(self, f: &UserFunction) -> Self;
}

/// Where an evaluation finds its leaves for one element of D.
pub trait Leaves<V> {
    /// The accumulator.
    fn acc(&self) -> V;
    /// C's element.
    fn source(&self) -> V;
    /// D's former element.
    fn previous(&self) -> V;
    /// The element of a named vector or tile.
    fn bound(&self, name: &str) -> V;
}

impl Expression {
    /// Parses an epilogue.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (left, right) = text.split_once('=').ok_or_else(|| format!("`{text}` does not begin with `d =`"))?;
        if left.trim() != "d" {
            return Err(format!("`{text}` does not begin with `d =`"));
        }
        let mut parser = Parser { rest: right.trim() };
        let expression = parser.sum()?;
        if parser.rest.is_empty() { Ok(expression) } else { Err(format!("`{}` is left over in `{text}`", parser.rest)) }
    }

    /// Replaces scalars by their values. An unknown name is an error.
    pub fn with_scalars(self, scalars: &BTreeMap<String, f64>) -> Result<Self, String> {
        let inner = |e: Box<Self>| e.with_scalars(scalars).map(Box::new);
        Ok(match self {
            Self::Scalar(name) => match scalars.get(&name) {
                Some(&x) => Self::Number(x),
                None => return Err(format!("the scalar `{name}` has no value")),
            },
            Self::Negate(e) => Self::Negate(inner(e)?),
            Self::Relu(e) => Self::Relu(inner(e)?),
            Self::User(f, e) => Self::User(f, inner(e)?),
            Self::Binary(op, l, r) => Self::Binary(op, inner(l)?, inner(r)?),
            leaf => leaf,
        })
    }

    /// Whether `leaf` holds for any leaf that is read, which a dropped term's are not.
    pub fn reads(&self, leaf: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Negate(e) | Self::Relu(e) | Self::User(_, e) => e.reads(leaf),
            Self::Binary(op, l, r) => !drops(*op, l, r) && (l.reads(leaf) || r.reads(leaf)),
            _ => leaf(self),
        }
    }

    /// Whether `leaf` holds for any leaf, dropped or not.
    pub fn names(&self, leaf: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Negate(e) | Self::Relu(e) | Self::User(_, e) => e.names(leaf),
            Self::Binary(_, l, r) => l.names(leaf) || r.names(leaf),
            _ => leaf(self),
        }
    }

    /// The value for one element of D.
    pub fn evaluate<V: Value>(&self, leaves: &impl Leaves<V>) -> V {
        match self {
            Self::Acc => leaves.acc(),
            Self::Source => leaves.source(),
            Self::Previous => leaves.previous(),
            Self::Number(x) => V::number(*x),
            Self::Scalar(name) => unreachable!("`with_scalars` has replaced `{name}`"),
            Self::Row(name) | Self::Column(name) | Self::Tile(name) => leaves.bound(name),
            Self::Negate(e) => e.evaluate(leaves).negate(),
            Self::Relu(e) => e.evaluate(leaves).relu(),
            Self::User(f, e) => e.evaluate(leaves).user(f),
            Self::Binary(op, l, r) if drops(*op, l, r) => V::number(0.0),
            Self::Binary(op, l, r) => l.evaluate(leaves).binary(*op, r.evaluate(leaves)),
        }
    }
}

/// The zero rule: a scalar of exactly zero that multiplies an operand directly drops the term.
fn drops(op: Operator, l: &Expression, r: &Expression) -> bool {
    let zero = |e: &Expression| matches!(e, Expression::Number(x) if *x == 0.0);
    let operand = |e: &Expression| matches!(e, Expression::Acc | Expression::Source | Expression::Previous);
    op == Operator::Multiply && (zero(l) && operand(r) || operand(l) && zero(r))
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn need(&mut self, symbol: char) -> Result<(), String> {
        if self.take(symbol) { Ok(()) } else { Err(format!("`{symbol}` is missing before `{}`", self.rest)) }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        loop {
            let op = if self.take('+') {
                Operator::Add
            } else if self.take('-') {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            left = Expression::Binary(op, left.into(), self.product()?.into());
        }
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.unary()?;
        loop {
            let op = if self.take('*') {
                Operator::Multiply
            } else if self.take('/') {
                Operator::Divide
            } else {
                return Ok(left);
            };
            left = Expression::Binary(op, left.into(), self.unary()?.into());
        }
    }

    fn unary(&mut self) -> Result<Expression, String> {
        if self.take('-') { Ok(Expression::Negate(self.unary()?.into())) } else { self.atom() }
    }

    fn atom(&mut self) -> Result<Expression, String> {
        if self.take('(') {
            let inner = self.sum()?;
            self.need(')')?;
            return Ok(inner);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let number = self.word(|c| c.is_ascii_digit() || c == '.');
            return number.parse().map(Expression::Number).map_err(|_| format!("`{number}` is no number"));
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        match name.as_str() {
            "" => Err(format!("a value is missing before `{}`", self.rest)),
            "acc" => Ok(Expression::Acc),
            "previous" => Ok(Expression::Previous),
            _ if self.take('(') => self.call(&name),
            _ => Ok(Expression::Scalar(name)),
        }
    }

    fn call(&mut self, function: &str) -> Result<Expression, String> {
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        self.need(')')?;
        let wrong = || format!("`{function}` is no function of {} such arguments", arguments.len());
        match (function, arguments.as_slice()) {
            ("source", [Expression::Scalar(name)]) if name == "c" => Ok(Expression::Source),
            ("row", [Expression::Scalar(name)]) => Ok(Expression::Row(name.clone())),
            ("column", [Expression::Scalar(name)]) => Ok(Expression::Column(name.clone())),
            ("tile", [Expression::Scalar(name)]) => Ok(Expression::Tile(name.clone())),
            ("relu", [x]) => Ok(Expression::Relu(x.clone().into())),
            ("min", [x, y]) => Ok(Expression::Binary(Operator::Min, x.clone().into(), y.clone().into())),
            ("max", [x, y]) => Ok(Expression::Binary(Operator::Max, x.clone().into(), y.clone().into())),
            (_, [x]) => {
                let f = user::ALL.iter().find(|f| f.name == function).ok_or_else(wrong)?;
                Ok(Expression::User(*f, x.clone().into()))
            }
            _ => Err(wrong()),
        }
    }
}

/// The smaller or larger of two numbers; NaN if either is.
pub(crate) fn extreme(op: Operator, x: f64, y: f64) -> f64 {
    match op {
        _ if x.is_nan() || y.is_nan() => f64::NAN,
        Operator::Min => x.min(y),
        _ => x.max(y),
    }
}

macro_rules! plain_value {
    ($t:ident, $narrow:expr, $field:ident) => {
        impl Value for $t {
            fn number(x: f64) -> Self {
                $narrow(x)
            }
            fn negate(self) -> Self {
                -self
            }
            fn binary(self, op: Operator, other: Self) -> Self {
                match op {
                    Operator::Add => self + other,
                    Operator::Subtract => self - other,
                    Operator::Multiply => self * other,
                    Operator::Divide => self / other,
                    Operator::Min | Operator::Max => extreme(op, self.into(), other.into()) as $t,
                }
            }
            fn relu(self) -> Self {
                if self < 0.0 { 0.0 } else { self }
            }
            fn user(self, f: &UserFunction) -> Self {
                (f.$field)(self)
            }
        }
    };
}
plain_value!(f32, |x| x as f32, single);
plain_value!(f64, |x: f64| x, exact);

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;
    impl Leaves<f64> for Fixed {
        fn acc(&self) -> f64 {
            f64::NAN
        }
        fn source(&self) -> f64 {
            3.0
        }
        fn previous(&self) -> f64 {
            5.0
        }
        fn bound(&self, name: &str) -> f64 {
            if name == "bias" { 7.0 } else { 11.0 }
        }
    }

    fn value(text: &str) -> f64 {
        let scalars = [("alpha".to_owned(), 0.0), ("beta".to_owned(), 2.0)].into();
        Expression::parse(text).unwrap().with_scalars(&scalars).unwrap().evaluate(&Fixed)
    }

    #[test]
    fn precedence_and_leaves() {
        assert_eq!(value("d = alpha*acc + beta*source(c) - -previous/2"), 8.5);
        assert_eq!(value("d = max(row(bias), column(v)) - (1 + 2) * 3"), 2.0);
        assert_eq!(value("d=relu(0 - previous)+min(tile(bias),2.5)"), 2.5);
        assert_eq!(value("d = 1 - 2 - 3"), -4.0);
        assert_eq!(value("d = user_softsign(-previous + 4)"), -0.5);
    }

    #[test]
    fn only_a_direct_zero_drops_a_term() {
        assert_eq!(value("d = acc*alpha + 1"), 1.0);
        assert_eq!(value("d = 0*acc + 1"), 1.0);
        assert!(value("d = alpha*(acc + 1)").is_nan());
        assert!(
            value("d = max(acc, 1)").is_nan() && value("d = min(1, acc)").is_nan() && value("d = relu(acc)").is_nan()
        );
        assert!(value("d = (alpha + 0)*acc").is_nan());
    }

    #[test]
    fn wrong_text_is_refused() {
        for text in [
            "acc",
            "e = acc",
            "d = acc +",
            "d = relu(acc",
            "d = relu(acc, acc)",
            "d = source(x)",
            "d = acc 2",
            "d = 1.2.3",
        ] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
        assert!(Expression::parse("d = gamma*acc").unwrap().with_scalars(&BTreeMap::new()).is_err());
    }
}
