//! Sinks: `aux_store(z, e)`, `amax(s, e)`, `reduce_rows<sum>(v, e)`.

use super::{Argument, Kind, NameKind, Parser, Result, Token, list};
use warpwright_spec::{Axes, Node, Reducer, Reduction, Sink, intern};

impl<'t> Parser<'t> {
    /// A sink, if `name` is one's: behind its name, `token`.
    pub(super) fn sink(&mut self, token: Token<'t>, name: &str) -> Option<Result<Node>> {
        match name {
            "aux_store" => Some(self.aux_store(token)),
            "aux_mask" => Some(self.stored(name, Sink::Mask)),
            "amax" => Some(self.stored(name, Sink::Reduce(Reduction::AMAX))),
            "reduce_rows" => Some(self.reduction(name, Axes::Rows)),
            "reduce_columns" => Some(self.reduction(name, Axes::Columns)),
            "reduce_all" => Some(self.reduction(name, Axes::All)),
            _ => None,
        }
    }

    fn aux_store(&mut self, token: Token<'t>) -> Result<Node> {
        let said = if self.peek().kind == Kind::Sign('<') { Some(self.element("aux_store")?) } else { None };
        let bound = match (self.peek_second(), self.tokens.get(self.at + 2).map(|t| t.kind)) {
            (Kind::Name(name), Some(Kind::Sign(','))) => match self.names.kind(name) {
                Some(NameKind::Output(element)) => Some((name, element)),
                None if said.is_none() => return Err(self.unknown(self.tokens[self.at + 1], name)),
                _ => None,
            },
            _ => None,
        };
        let element = match (said, bound) {
            (Some(said), Some((name, element))) if said != element => {
                let problem = format!("`{name}` has elements of {}, not {}", element.name(), said.name());
                return Err(self.error(token, problem, format!("write `aux_store({name}, ..)`")));
            }
            (Some(element), _) | (None, Some((_, element))) => element,
            (None, None) => {
                let problem = "what `aux_store` stores in is not said".to_owned();
                let remedy = "name an output and the value, `aux_store(z, acc)`, or the element, `aux_store<f16>(acc)`";
                return Err(self.error(token, problem, remedy));
            }
        };
        self.stored("aux_store", Sink::Matrix(element))
    }

    fn reduction(&mut self, name: &str, axes: Axes) -> Result<Node> {
        let names: Vec<_> = Reducer::ALL.iter().map(|r| r.name()).collect();
        let remedy = format!("reductions are {}, as `{name}<sum>` or `{name}<atomic sum>`", list(&names));
        self.need('<', &format!("and a reduction after `{name}`"))?;
        let (mut word, mut token) = self.name("a reduction", &remedy)?;
        let atomic = word == "atomic";
        if atomic {
            (word, token) = self.name("a reduction", &remedy)?;
        }
        let operator = Reducer::from_name(word)
            .ok_or_else(|| self.error(token, format!("`{word}` is not a reduction"), remedy.as_str()))?;
        self.need('>', "after the reduction")?;
        self.stored(name, Sink::Reduce(Reduction { operator, axes, atomic }))
    }

    /// `(output, value)`, or `(value)` where the output has no name.
    fn stored(&mut self, name: &str, sink: Sink) -> Result<Node> {
        self.need('(', &format!("after `{name}`"))?;
        let argument = match (self.peek().kind, self.peek_second()) {
            (Kind::Name(output), Kind::Sign(',')) => {
                let token = self.next();
                self.at += 1;
                match self.names.kind(output) {
                    Some(NameKind::Output(_)) => Argument::Named(output.to_owned()),
                    Some(_) => {
                        let problem = format!("`{output}` is read, and `{name}` stores in its first argument");
                        return Err(self.error(token, problem, "name an output"));
                    }
                    None => return Err(self.unknown(token, output)),
                }
            }
            _ => Argument::Unnamed,
        };
        self.argument(argument);
        let value = self.nested(Self::expression)?;
        self.need(')', &format!("after the value of `{name}`"))?;
        Ok(Node::Sink(sink, intern(value)))
    }
}
