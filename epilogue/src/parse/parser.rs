//! Tokens to a tree, by recursive descent.

mod sinks;

use super::lexer::{Kind, Token};
use super::{Argument, Functions, NameKind, Names, ParseError, Parsed};
use crate::NEG;
use warpwright_numeric::Dtype;
use warpwright_spec::{MAX_ARGUMENTS, Node, Operator, ScalarKind, intern};

/// Deepest nesting of parentheses, calls and signs: enough for any epilogue, and the call stack is safe.
const MAX_DEPTH: usize = 64;
/// Most operators: a tree is walked recursively, and a sum of n terms is n deep.
const MAX_OPERATORS: usize = 512;

const VALUES: &str =
    "write `acc`, a number, a scalar's name, `row(..)`, `column(..)`, `tile(..)`, `source(..)`, a function or `(..)`";

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    at: usize,
    names: &'t dyn Names,
    functions: &'t Functions,
    arguments: Vec<Argument>,
    /// Names that `let` bound, innermost last, with their numbers.
    scope: Vec<(&'t str, u8)>,
    depth: usize,
    operators: usize,
    /// Whether the operand that is read may be absent.
    optional: bool,
}

type Result<T> = std::result::Result<T, ParseError>;

impl<'t> Parser<'t> {
    pub(super) fn new(
        text: &'t str,
        tokens: Vec<Token<'t>>,
        names: &'t dyn Names,
        functions: &'t Functions,
    ) -> Parser<'t> {
        Parser {
            text,
            tokens,
            at: 0,
            names,
            functions,
            arguments: Vec::new(),
            scope: Vec::new(),
            depth: 0,
            operators: 0,
            optional: false,
        }
    }

    pub(super) fn epilogue(mut self) -> Result<Parsed> {
        if let (Kind::Name(name), Kind::Sign('=')) = (self.peek().kind, self.peek_second()) {
            if name != "d" {
                let problem = format!("an epilogue computes `d`, not `{name}`");
                return Err(self.error(self.peek(), problem, "begin with `d =`, or leave it out"));
            }
            self.at += 2;
        }
        let node = self.expression()?;
        let rest = self.peek();
        if rest.kind != Kind::End {
            let problem = format!("{} follows a complete expression", self.describe(rest));
            return Err(self.error(rest, problem, "join values by `+ - * /`, or remove it"));
        }
        if self.arguments.len() > MAX_ARGUMENTS {
            let problem =
                format!("{} arguments, of which a kernel's parameters hold {MAX_ARGUMENTS}", self.arguments.len());
            return Err(self.error(rest, problem, "use fewer numbers, scalars and operands, or share them with `let`"));
        }
        Ok(Parsed { node: intern(node), arguments: self.arguments })
    }

    fn peek(&self) -> Token<'t> {
        // The last token is the end, and nothing moves past it.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_second(&self) -> Kind<'t> {
        self.tokens.get(self.at + 1).map_or(Kind::End, |t| t.kind)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: char) -> bool {
        let taken = self.peek().kind == Kind::Sign(sign);
        self.at += usize::from(taken);
        taken
    }

    fn describe(&self, token: Token<'t>) -> String {
        token.kind.describe(self.text, token.span)
    }

    fn error(&self, at: Token<'t>, problem: String, remedy: impl Into<String>) -> ParseError {
        ParseError::new(self.text, at.span, problem, remedy)
    }

    fn need(&mut self, sign: char, place: &str) -> Result<()> {
        if self.take(sign) {
            return Ok(());
        }
        let found = self.peek();
        let problem = format!("expected `{sign}` {place}, found {}", self.describe(found));
        Err(self.error(found, problem, format!("add `{sign}`")))
    }

    fn name(&mut self, what: &str, remedy: &str) -> Result<(&'t str, Token<'t>)> {
        let token = self.next();
        match token.kind {
            Kind::Name(name) => Ok((name, token)),
            _ => Err(self.error(token, format!("expected {what}, found {}", self.describe(token)), remedy)),
        }
    }

    fn argument(&mut self, argument: Argument) {
        self.arguments.push(argument);
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            let at = self.peek();
            return Err(self.error(
                at,
                format!("more than {MAX_DEPTH} levels of nesting"),
                "simplify, or name parts with `let`",
            ));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> Result<Node> {
        if self.peek().kind == Kind::Name("let") { self.nested(Self::binding) } else { self.sum() }
    }

    fn binding(&mut self) -> Result<Node> {
        self.at += 1;
        let (name, token) = self.name("a name after `let`", "write `let z = acc + row(bias); relu(z)`")?;
        self.need('=', "after the name")?;
        let value = self.sum()?;
        self.need(';', "after the value of `let`")?;
        let used = |i: u8| self.scope.iter().any(|&(_, j)| i == j);
        // `shared3` asks for its own number: a displayed tree reads back as itself.
        let asked = name.strip_prefix("shared").and_then(|n| n.parse().ok()).filter(|i| *i < 8);
        let number = asked.or_else(|| (0..8).find(|&i| !used(i)));
        let Some(number) = number.filter(|&i| !used(i)) else {
            let problem = format!("no number is free for the shared value `{name}`");
            return Err(self.error(token, problem, "at most 8 are in scope at once, each under a number of its own"));
        };
        self.scope.push((name, number));
        let body = self.expression();
        self.scope.pop();
        Ok(Node::Bind(number, intern(value), intern(body?)))
    }

    fn operator(&mut self, op: Operator, left: Node, right: Node) -> Result<Node> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let at = self.peek();
            return Err(self.error(at, format!("more than {MAX_OPERATORS} operators"), "use fewer"));
        }
        Ok(Node::Combine(op, intern(left), intern(right)))
    }

    fn sum(&mut self) -> Result<Node> {
        let mut left = self.product()?;
        loop {
            let op = if self.take('+') {
                Operator::Plus
            } else if self.take('-') {
                Operator::Minus
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.operator(op, left, right)?;
        }
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.unary()?;
        loop {
            let op = if self.take('*') {
                Operator::Times
            } else if self.take('/') {
                Operator::Over
            } else {
                return Ok(left);
            };
            let right = self.unary()?;
            left = self.operator(op, left, right)?;
        }
    }

    fn unary(&mut self) -> Result<Node> {
        if !self.take('-') {
            return self.atom();
        }
        if let Kind::Number(x) = self.peek().kind {
            self.at += 1;
            return Ok(self.number(-x));
        }
        let inner = self.nested(Self::unary)?;
        Ok(Node::Apply(NEG, [Some(intern(inner)), None, None]))
    }

    fn number(&mut self, x: f64) -> Node {
        self.argument(Argument::Number(x));
        Node::LoadScalar(ScalarKind::Host)
    }

    fn atom(&mut self) -> Result<Node> {
        let token = self.next();
        let name = match token.kind {
            Kind::Number(x) => return Ok(self.number(x)),
            Kind::Sign('(') => {
                let inner = self.nested(Self::expression)?;
                self.need(')', "to close the parenthesis")?;
                return Ok(inner);
            }
            Kind::Name(name) => name,
            _ => return Err(self.error(token, format!("expected a value, found {}", self.describe(token)), VALUES)),
        };
        if let Some(&(_, number)) = self.scope.iter().rev().find(|(n, _)| *n == name) {
            return Ok(Node::Shared(number));
        }
        match name {
            "acc" => Ok(Node::LoadAcc),
            "previous" => Ok(Node::LoadPrevious),
            "row_index" => Ok(Node::LoadRowIndex),
            "column_index" => Ok(Node::LoadColumnIndex),
            "const" => self.constant(),
            "mask" => self.mask(),
            "otherwise" => self.otherwise(token),
            "select" => {
                let [condition, a, b] = self.call(token, name)?;
                Ok(Node::Select(intern(condition), intern(a), intern(b)))
            }
            "identity" => {
                let [value] = self.call(token, name)?;
                Ok(value)
            }
            "inf" => Ok(self.number(f64::INFINITY)),
            "nan" => Ok(self.number(f64::NAN)),
            "source" => self.operand(name, Node::LoadSource),
            "row" => self.operand(name, Node::LoadRow),
            "column" => self.operand(name, Node::LoadColumn),
            "tile" => self.operand(name, Node::LoadTile),
            "convert" => {
                let element = self.element("convert")?;
                let [value] = self.call(token, name)?;
                Ok(Node::Convert(element, intern(value)))
            }
            _ => match self.sink(token, name) {
                Some(node) => node,
                None if self.peek().kind == Kind::Sign('(') && name != "scalar" => {
                    match Operator::CALLED.into_iter().find(|op| op.name() == name) {
                        Some(op) => self.pair(token, name, op),
                        None => self.function(token, name),
                    }
                }
                None => self.scalar(token, name),
            },
        }
    }

    fn pair(&mut self, token: Token<'t>, name: &str, op: Operator) -> Result<Node> {
        let [a, b] = self.call(token, name)?;
        self.operator(op, a, b)
    }

    fn function(&mut self, token: Token<'t>, name: &str) -> Result<Node> {
        let Some(function) = self.functions.get(name) else {
            let called = Operator::CALLED.into_iter().map(Operator::name);
            let names: Vec<_> = self.functions.names().chain(called).chain(["select", "identity", "convert"]).collect();
            let problem = format!("there is no function `{name}`");
            return Err(self.error(token, problem, format!("functions are {}", list(&names))));
        };
        let values = match function.host.arity() {
            1 => self.call::<1>(token, name)?.map(Some).to_vec(),
            2 => self.call::<2>(token, name)?.map(Some).to_vec(),
            _ => self.call::<3>(token, name)?.map(Some).to_vec(),
        };
        let mut children = [None; 3];
        for (child, value) in children.iter_mut().zip(values) {
            *child = value.map(intern);
        }
        Ok(Node::Apply(function, children))
    }

    /// The arguments of a call of `N`.
    fn call<const N: usize>(&mut self, token: Token<'t>, name: &str) -> Result<[Node; N]> {
        self.need('(', &format!("after `{name}`"))?;
        let mut values = Vec::new();
        loop {
            values.push(self.nested(Self::expression)?);
            if !self.take(',') {
                break;
            }
        }
        self.need(')', &format!("after the arguments of `{name}`"))?;
        let given = values.len();
        values.try_into().map_err(|_| {
            let problem = format!("`{name}` takes {}, found {given}", values_of(N));
            self.error(token, problem, format!("give it {N}"))
        })
    }

    /// `<element>`.
    fn element(&mut self, after: &str) -> Result<Dtype> {
        self.need('<', &format!("after `{after}`"))?;
        let remedy = format!("elements are {}", list(&Dtype::ALL.iter().map(|t| t.name()).collect::<Vec<_>>()));
        let (name, token) = self.name("an element type", &remedy)?;
        let element = Dtype::from_name(name)
            .ok_or_else(|| self.error(token, format!("`{name}` is not an element type"), remedy))?;
        self.need('>', "after the element type")?;
        Ok(element)
    }

    /// `const<0.5>`.
    fn constant(&mut self) -> Result<Node> {
        self.need('<', "after `const`")?;
        let negative = self.take('-');
        let token = self.next();
        let magnitude = match token.kind {
            Kind::Number(x) => x,
            Kind::Name("inf") => f64::INFINITY,
            Kind::Name("nan") => f64::NAN,
            _ => {
                let problem = format!("expected a number, found {}", self.describe(token));
                return Err(self.error(token, problem, "write `const<0.5>`"));
            }
        };
        self.need('>', "after the number")?;
        Ok(Node::Constant(if negative { -magnitude } else { magnitude }.to_bits()))
    }

    /// `mask(kept)`, or `mask` alone.
    fn mask(&mut self) -> Result<Node> {
        if self.peek().kind != Kind::Sign('(') {
            self.argument(Argument::Unnamed);
            return Ok(Node::LoadMask);
        }
        self.operand("mask", |_| Node::LoadMask)
    }

    /// `otherwise(row(bias), 0)`, or `otherwise(row<f32>(bias), 0)` if nothing may be bound to the name.
    fn otherwise(&mut self, token: Token<'t>) -> Result<Node> {
        self.need('(', "after `otherwise`")?;
        let (what, at) = self.name("`row`, `column` or `tile`", "write `otherwise(row(bias), 0)`")?;
        let node: fn(Dtype) -> Node = match what {
            "row" => Node::LoadRow,
            "column" => Node::LoadColumn,
            "tile" => Node::LoadTile,
            _ => {
                let problem = format!("`{what}` cannot be absent");
                return Err(self.error(
                    at,
                    problem,
                    "only `row`, `column` and `tile` have a value that stands for them",
                ));
            }
        };
        self.optional = true;
        let leaf = self.operand(what, node);
        self.optional = false;
        let leaf = leaf?;
        self.need(',', "and a value after the operand")?;
        let default = self.nested(Self::expression)?;
        self.need(')', "after the value")?;
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(self.error(token, format!("more than {MAX_OPERATORS} operators"), "use fewer"));
        }
        Ok(Node::Otherwise(intern(leaf), intern(default)))
    }

    /// A matrix or a vector: `row(bias)`, `row<f32>`, or both.
    fn operand(&mut self, what: &str, node: fn(Dtype) -> Node) -> Result<Node> {
        let said = if self.peek().kind == Kind::Sign('<') { Some(self.element(what)?) } else { None };
        if let (Some(element), false) = (said, self.peek().kind == Kind::Sign('(')) {
            self.argument(Argument::Unnamed);
            return Ok(node(element));
        }
        self.need('(', &format!("and a name after `{what}`"))?;
        let (name, token) = self.name(&format!("the name of an operand of `{what}`"), &self.bound_names())?;
        let element = match self.names.kind(name) {
            Some(NameKind::Operand(element)) => element,
            Some(NameKind::Output(_)) => {
                let problem = format!("`{name}` is an output, but `{what}` reads");
                return Err(self.error(token, problem, "bind another name to what is read"));
            }
            Some(NameKind::Scalar(_)) => {
                let problem = format!("`{name}` is a scalar, but `{what}` takes a vector or a matrix");
                return Err(self.error(token, problem, format!("write `{name}` alone")));
            }
            None => match (said, self.optional) {
                (Some(said), true) => {
                    self.need(')', &format!("after `{name}`"))?;
                    self.argument(Argument::Absent);
                    return Ok(node(said));
                }
                _ => return Err(self.unknown(token, name)),
            },
        };
        if let Some(said) = said.filter(|&said| said != element) {
            let problem = format!("`{name}` has elements of {}, not {}", element.name(), said.name());
            return Err(self.error(token, problem, format!("write `{what}({name})`")));
        }
        self.need(')', &format!("after `{name}`"))?;
        self.argument(Argument::Named(name.to_owned()));
        Ok(node(element))
    }

    /// A name that is a scalar, or `scalar` with its kind.
    fn scalar(&mut self, token: Token<'t>, name: &'t str) -> Result<Node> {
        let bound = self.names.kind(name);
        if name != "scalar" || bound.is_some() && self.peek().kind != Kind::Sign('<') {
            let kind = self.scalar_kind(token, name, bound)?;
            self.argument(Argument::Named(name.to_owned()));
            return Ok(Node::LoadScalar(kind));
        }
        let mut kind = ScalarKind::Host;
        if self.take('<') {
            let remedy = "write `scalar`, `scalar<pointer>` or `scalar<per batch>`";
            let (word, token) = self.name("a kind of scalar", remedy)?;
            kind = match (word, self.peek().kind) {
                ("pointer", _) => ScalarKind::Pointer,
                ("per", Kind::Name("batch")) => {
                    self.at += 1;
                    ScalarKind::PerBatch
                }
                _ => return Err(self.error(token, format!("`{word}` is not a kind of scalar"), remedy)),
            };
            self.need('>', "after the kind of scalar")?;
        }
        self.argument(Argument::Unnamed);
        Ok(Node::LoadScalar(kind))
    }

    fn scalar_kind(&self, token: Token<'t>, name: &str, bound: Option<NameKind>) -> Result<ScalarKind> {
        match bound {
            Some(NameKind::Scalar(kind)) => Ok(kind),
            Some(NameKind::Operand(_)) => {
                let problem = format!("`{name}` is a vector or a matrix, and how it meets D is not said");
                let remedy = format!(
                    "write `row({name})` (along N), `column({name})` (along M), `tile({name})` or `source({name})`"
                );
                Err(self.error(token, problem, remedy))
            }
            Some(NameKind::Output(_)) => {
                let problem = format!("`{name}` is an output, which has no value");
                Err(self.error(token, problem, format!("store in it: `aux_store({name}, ..)`")))
            }
            None => Err(self.unknown(token, name)),
        }
    }

    fn bound_names(&self) -> String {
        match self.names.all() {
            names if names.is_empty() => "no names are bound: bind it".to_owned(),
            names => format!("bound names are {}", list(&names)),
        }
    }

    fn unknown(&self, token: Token<'t>, name: &str) -> ParseError {
        let problem = format!("nothing is bound to the name `{name}`");
        self.error(token, problem, self.bound_names())
    }
}

fn list(names: &[impl std::borrow::Borrow<str>]) -> String {
    names.iter().map(|n| format!("`{}`", n.borrow())).collect::<Vec<_>>().join(", ")
}

fn values_of(n: usize) -> String {
    if n == 1 { "1 value".to_owned() } else { format!("{n} values") }
}
