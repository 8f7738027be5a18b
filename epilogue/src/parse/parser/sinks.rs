//! Sinks: `aux_store(z, e)`, `amax(s, e)`, `reduce_rows<sum>(v, e)`.

use super::{Argument, Kind, NameKind, Parser, Result, Token, list};
use warpwright_numeric::Dtype;
use warpwright_spec::{Axes, BlockRun, BlockScales, Node, Reducer, Reduction, ScaleOrder, Sink, Violation, intern};

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
            "quantize_rows" => Some(self.quantize(name, BlockRun::AlongRows)),
            "quantize_columns" => Some(self.quantize(name, BlockRun::AlongColumns)),
            "top_k_softmax" => Some(self.top_k_softmax(token, name)),
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

    /// `<e4m3, e8m0, 32>`, or `<e2m1, e4m3, 16, atoms>`, and what [`stored`](Self::stored) reads.
    fn quantize(&mut self, name: &str, run: BlockRun) -> Result<Node> {
        const REMEDY: &str =
            "write the element, the scale factors' and how many values share one, as `<e4m3, e8m0, 32>`";
        self.need('<', &format!("and a block format after `{name}`"))?;
        let begin = self.peek();
        let mut dtype = |what: &str| -> Result<Dtype> {
            let (name, token) = self.name(what, REMEDY)?;
            let dtype = Dtype::from_name(name)
                .ok_or_else(|| self.error(token, format!("`{name}` is not an element type"), REMEDY))?;
            self.need(',', "after the element type")?;
            Ok(dtype)
        };
        let (element, scale) = (dtype("the blocks' element type")?, dtype("the scale factors' element type")?);
        let token = self.next();
        let block = match token.kind {
            Kind::Number(x) if x.fract() == 0.0 && (1.0..=1024.0).contains(&x) => x as u16,
            _ => {
                let problem = format!("expected how many values share a scale factor, found {}", self.describe(token));
                return Err(self.error(token, problem, REMEDY));
            }
        };
        let mut order = ScaleOrder::Strided;
        if self.take(',') {
            let (word, token) = self.name("`atoms`", REMEDY)?;
            if word != "atoms" {
                let problem = format!("`{word}` is not how scale factors lie");
                return Err(self.error(token, problem, "write `atoms`, or nothing for a matrix"));
            }
            order = ScaleOrder::InAtoms;
        }
        self.need('>', "after the block format")?;
        let scales = BlockScales { element, scale, block, run, order };
        if !scales.is_legal() {
            let problem = Violation::Blocks { scales }.to_string();
            let (problem, remedy) = problem.split_once(": ").unwrap_or((&problem, REMEDY));
            return Err(self.error(begin, problem.to_owned(), remedy));
        }
        self.stored(name, Sink::Quantize(scales))
    }

    /// `top_k_softmax<2>(value)`.
    fn top_k_softmax(&mut self, token: Token<'t>, name: &str) -> Result<Node> {
        const REMEDY: &str = "write `top_k_softmax<2>(..)` or `top_k_softmax<4>(..)`";
        self.need('<', "and how many values are kept after `top_k_softmax`")?;
        let number = self.next();
        let k = match number.kind {
            Kind::Number(2.0) => 2,
            Kind::Number(4.0) => 4,
            _ => {
                let problem = format!("expected 2 or 4 values that are kept, found {}", self.describe(number));
                return Err(self.error(number, problem, REMEDY));
            }
        };
        self.need('>', "after the number")?;
        let [value] = self.call(token, name)?;
        Ok(Node::TopKSoftmax(k, intern(value)))
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
