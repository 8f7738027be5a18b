//! `warpwright layout`: a calculator for layouts.

pub mod args;
mod batch;
mod hardware;
mod json;
mod operation;
mod text;
mod tiled;
mod tree;

use super::print;
use crate::files;
use args::{Common, LayoutArgs, Operation};
use json::Json;
use operation::Answer;

use std::io;

/// Does one operation, or a batch of them; whether a batch held requests alone.
pub fn run(args: &LayoutArgs) -> anyhow::Result<bool> {
    if args.batch {
        // A pipe's worth: what has arrived is answered at once.
        let input = io::BufReader::with_capacity(1 << 16, io::stdin().lock());
        return Ok(batch::run(input, io::stdout().lock())?);
    }
    let Some(operation) = &args.operation else { return Ok(true) };
    if let Operation::Print { what, tile, tiled, latex, svg, out, common } = operation {
        let picture = tiled::picture(what.as_deref(), tile.as_deref(), tiled, common)?;
        let text = match (latex, svg) {
            (true, _) => picture.latex(),
            (_, true) => picture.svg(),
            _ => picture.ascii(),
        };
        match out {
            Some(out) => files::write_atomically(out, text.as_bytes())?,
            None => show(&Answer::Text(text), common)?,
        }
        return Ok(true);
    }
    let (answer, common) = operation::answer(operation)?;
    show(&answer, common)?;
    Ok(true)
}

fn show(answer: &Answer, common: &Common) -> io::Result<()> {
    let mut bytes = if common.json { answer.json().0 } else { answer.to_string().into_bytes() };
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    print(&bytes)
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Layout(layout) => write!(f, "{layout}"),
            Answer::Part((layout, offset)) => write!(f, "{offset:+} o {layout}"),
            Answer::Inverse(inverse) => write!(f, "{inverse}"),
            Answer::Coordinates(layout) => write!(f, "{layout}"),
            Answer::Map(map) => write!(f, "{map}"),
            Answer::Descriptor(descriptor) => write!(f, "{descriptor}"),
            Answer::Int(v) => write!(f, "{v}"),
            Answer::Ints(list) => list.iter().try_for_each(|v| writeln!(f, "{v}")),
            // Coordinates are values: whether a layout knows them says nothing here.
            Answer::Tuples(list) => list.iter().try_for_each(|t| writeln!(f, "{}", t.to_dynamic())),
            Answer::Info(layout) => {
                let l = &layout.layout;
                writeln!(f, "{layout}\nsize   {}\ncosize {}", l.size().value(), l.cosize().value())?;
                write!(f, "rank   {}\ndepth  {}", l.rank(), l.depth())
            }
            Answer::Text(text) => f.write_str(text),
        }
    }
}

impl Answer {
    fn json(&self) -> Json {
        let mut json = Json::default();
        match self {
            Answer::Layout(layout) => json.composed(layout),
            Answer::Part(part) => json.slice(part),
            Answer::Inverse(inverse) => json.inverse(inverse),
            Answer::Coordinates(layout) => json.coordinates(layout),
            Answer::Map(map) => map.json(&mut json),
            Answer::Descriptor(descriptor) => descriptor.json(&mut json),
            Answer::Int(v) => json.raw("{\"int\":").int(*v).raw("}"),
            Answer::Ints(list) => json.raw("{\"ints\":").ints(list.iter().copied()).raw("}"),
            Answer::Tuples(list) => {
                json.raw("{\"tuples\":").each(list, |json, t| {
                    json.tuple(t);
                });
                json.raw("}")
            }
            Answer::Info(layout) => {
                let l = &layout.layout;
                json.raw("{\"size\":").int(l.size().value()).raw(",\"cosize\":").int(l.cosize().value());
                json.raw(",\"rank\":").int(l.rank() as i64).raw(",\"depth\":").int(l.depth() as i64).raw("}")
            }
            Answer::Text(text) => json.raw("{\"text\":").string(text).raw("}"),
        };
        json
    }
}
