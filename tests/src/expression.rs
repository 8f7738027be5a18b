//! The epilogue notation, for the reference alone: `d = relu(alpha*acc + row(bias) + beta*source(c))`.
//!
//! `+ - * /`, unary minus, parentheses, numbers, names of scalars, `acc`, `source(c)`, `previous`, `row(name)`,
//! `column(name)`, `tile(name)`, `mask(name)`, `row_index`, `column_index`, `const<1.5>`, `otherwise(row<f32>(name), x)`,
//! `convert<f16>(x)`, `relu(x)`, `min(x, y)`, `max(x, y)` and the functions of [`crate::user`] and [`crate::functions`].

use std::collections::BTreeMap;

use warpwright_numeric::Dtype;

use crate::functions::{self, Called};
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
    /// A bit for each element.
    Mask(String),
    /// The element's row.
    RowIndex,
    /// The element's column.
    ColumnIndex,
    /// An operand, or another value if none is bound to the name.
    Otherwise(Box<Expression>, Box<Expression>),
    /// A value rounded to a type.
    Convert(Dtype, Box<Expression>),
    /// A function from [`crate::functions`].
    Call(&'static Called, Vec<Expression>),
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
    /// `f(arguments)`.
    fn call(f: &Called, arguments: &[Self]) -> Self;
    /// `self`, rounded to a type.
    fn convert(self, dtype: Dtype) -> Self;
}

/// Where an evaluation finds its leaves for one element of D.
pub trait Leaves<V> {
    /// The accumulator.
    fn acc(&self) -> V;
    /// C's element.
    fn source(&self) -> V;
    /// D's former element.
    fn previous(&self) -> V;
    /// The element of a named vector or tile, or the bit of a mask.
    fn bound(&self, name: &str) -> V;
    /// Whether there is an operand of a name.
    fn is_bound(&self, name: &str) -> bool;
    /// The element's row and column.
    fn place(&self) -> (usize, usize);
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
            Self::Otherwise(leaf, e) => Self::Otherwise(leaf, inner(e)?),
            Self::Convert(dtype, e) => Self::Convert(dtype, inner(e)?),
            Self::Call(f, arguments) => {
                Self::Call(f, arguments.into_iter().map(|e| e.with_scalars(scalars)).collect::<Result<_, _>>()?)
            }
            Self::Binary(op, l, r) => Self::Binary(op, inner(l)?, inner(r)?),
            leaf => leaf,
        })
    }

    /// Whether `leaf` holds for any leaf that is read, which a dropped term's are not.
    pub fn reads(&self, leaf: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Negate(e) | Self::Relu(e) | Self::User(_, e) => e.reads(leaf),
            Self::Binary(op, l, r) => !drops(*op, l, r) && (l.reads(leaf) || r.reads(leaf)),
            Self::Otherwise(_, e) | Self::Convert(_, e) => e.reads(leaf),
            Self::Call(_, arguments) => arguments.iter().any(|e| e.reads(leaf)),
            _ => leaf(self),
        }
    }

    /// Whether `leaf` holds for any leaf, dropped or not.
    pub fn names(&self, leaf: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Negate(e) | Self::Relu(e) | Self::User(_, e) => e.names(leaf),
            Self::Binary(_, l, r) => l.names(leaf) || r.names(leaf),
            Self::Otherwise(_, e) | Self::Convert(_, e) => e.names(leaf),
            Self::Call(_, arguments) => arguments.iter().any(|e| e.names(leaf)),
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
            Self::Row(name) | Self::Column(name) | Self::Tile(name) | Self::Mask(name) => leaves.bound(name),
            Self::RowIndex => V::number(leaves.place().0 as f64),
            Self::ColumnIndex => V::number(leaves.place().1 as f64),
            Self::Otherwise(leaf, default) => match &**leaf {
                Self::Row(name) | Self::Column(name) | Self::Tile(name) if leaves.is_bound(name) => leaves.bound(name),
                _ => default.evaluate(leaves),
            },
            Self::Convert(dtype, e) => e.evaluate(leaves).convert(*dtype),
            Self::Call(f, arguments) => {
                let values: Vec<V> = arguments.iter().map(|e| e.evaluate(leaves)).collect();
                V::call(f, &values)
            }
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
            "row_index" => Ok(Expression::RowIndex),
            "column_index" => Ok(Expression::ColumnIndex),
            "const" => {
                self.need('<')?;
                let value = self.unary()?;
                self.need('>')?;
                match value {
                    Expression::Negate(e) => match *e {
                        Expression::Number(x) => Ok(Expression::Number(-x)),
                        _ => Err("a constant is a number".to_owned()),
                    },
                    number => Ok(number),
                }
            }
            "convert" => {
                self.need('<')?;
                let element = self.word(|c| c.is_ascii_alphanumeric()).to_owned();
                let dtype = Dtype::from_name(&element).ok_or_else(|| format!("`{element}` is no element type"))?;
                self.need('>')?;
                self.need('(')?;
                let inner = self.sum()?;
                self.need(')')?;
                Ok(Expression::Convert(dtype, inner.into()))
            }
            // The type of an operand that nothing is bound to.
            "row" | "column" | "tile" if self.take('<') => {
                self.word(|c| c.is_ascii_alphanumeric());
                self.need('>')?;
                self.need('(')?;
                self.call(&name)
            }
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
            ("mask", [Expression::Scalar(name)]) => Ok(Expression::Mask(name.clone())),
            ("otherwise", [leaf, default]) => Ok(Expression::Otherwise(leaf.clone().into(), default.clone().into())),
            ("relu", [x]) => Ok(Expression::Relu(x.clone().into())),
            ("min", [x, y]) => Ok(Expression::Binary(Operator::Min, x.clone().into(), y.clone().into())),
            ("max", [x, y]) => Ok(Expression::Binary(Operator::Max, x.clone().into(), y.clone().into())),
            (_, values) if functions::ALL.iter().any(|f| f.name == function) => {
                let f =
                    functions::ALL.iter().find(|f| f.name == function && f.arity == values.len()).ok_or_else(wrong)?;
                Ok(Expression::Call(f, arguments))
            }
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
            fn call(f: &Called, arguments: &[Self]) -> Self {
                let exact: Vec<f64> = arguments.iter().map(|x| f64::from(*x)).collect();
                (f.exact)(&exact) as $t
            }
            fn convert(self, dtype: Dtype) -> Self {
                crate::compare::round(dtype, self.into()) as $t
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
        fn is_bound(&self, name: &str) -> bool {
            name != "nothing"
        }
        fn place(&self) -> (usize, usize) {
            (3, 9)
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
        assert_eq!(
            value("d = select(lt(row_index, column_index), const<-2>, 1) + otherwise(row<f32>(nothing), 40)"),
            38.0
        );
        assert_eq!(value("d = otherwise(row(bias), 40) + convert<i8>(1000) + clamp(previous, 6, 8)"), 140.0);
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
