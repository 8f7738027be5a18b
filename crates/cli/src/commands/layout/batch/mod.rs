//! Batch mode: a request a line, an answer a line.
//!
//! Every line has an answer, an empty one too, so that answers and lines can be told together by their numbers. A request is
//! `{"family": "cute_composition", "in": {…}}` with the families and inputs of the oracle; the answer is
//! `{"ok": …}` in the form of the oracle's `out`, or `{"error": "…"}`. Where the oracle chose points or threads at random,
//! `in` may name them (`points`, `beyond`, `threads`); without that, all are given, as long as they are not too many to list.
//! What threads copy or hold may lie behind a swizzle: `{"swizzle": […], "offset": …, "layout": {…}}` instead of a layout.

mod algebra;
mod atoms;
#[cfg(test)]
mod hostile;
mod read;
mod request;

pub use atoms::permuted;

use super::json::Json;
use rayon::prelude::*;
use read::{BatchError, Input};
use request::Request;
use serde_json::Value;
use std::io::{self, BufRead, ErrorKind, Write};

/// Answers the lines of `input` in order, as soon as they are there; whether every line was a request.
///
/// # Errors
/// Those of reading and writing. A reader that has seen enough is none.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<bool> {
    // Answers are many times as long as requests: their buffers are kept.
    let (mut well_formed, mut rest, mut buffers) = (true, Vec::new(), Vec::<Chunk>::new());
    loop {
        // Whatever has arrived is answered before more is waited for, so that two programs can talk line by line.
        let arrived = match input.fill_buf() {
            Ok(arrived) => arrived,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let (count, last, before) = (arrived.len(), arrived.is_empty(), rest.len());
        // What was there before has no end of a line.
        let end = arrived.iter().rposition(|c| *c == b'\n').map_or(0, |at| before + at + 1);
        rest.extend_from_slice(arrived);
        input.consume(count);
        let whole = if last { rest.len() } else { end };
        let lines: Vec<&[u8]> = rest[..whole].split(|c| *c == b'\n').collect();
        // Behind the last end of a line there is none.
        let lines = match lines.split_last() {
            Some(([], lines)) => lines,
            _ => &lines[..],
        };
        let chunks = lines.len().div_ceil(LINES);
        if buffers.len() < chunks {
            buffers.resize_with(chunks, Chunk::default);
        }
        lines.par_chunks(LINES).zip(&mut buffers).for_each(|(lines, chunk)| chunk.answer(lines));
        for chunk in &mut buffers[..chunks] {
            well_formed &= chunk.formed;
            match output.write_all(&chunk.json.0) {
                Err(e) if e.kind() == ErrorKind::BrokenPipe => return Ok(well_formed),
                done => done?,
            }
            chunk.json.0.clear();
            chunk.json.0.shrink_to(KEPT);
        }
        match output.flush() {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => return Ok(well_formed),
            done => done?,
        }
        rest.drain(..whole);
        if last {
            return Ok(well_formed);
        }
    }
}

/// Lines that one thread answers at a time.
const LINES: usize = 32;
/// Bytes of a buffer that are kept for the next answers.
const KEPT: usize = 4 << 20;

/// The answers to some lines.
#[derive(Default)]
struct Chunk {
    json: Json,
    formed: bool,
}

impl Chunk {
    fn answer(&mut self, lines: &[&[u8]]) {
        self.formed = true;
        for line in lines {
            self.formed &= answer(line, &mut self.json);
            self.json.raw("\n");
        }
    }
}

/// Writes the answer to one request; whether it was one.
fn answer(line: &[u8], json: &mut Json) -> bool {
    let start = json.0.len();
    json.raw("{\"ok\":");
    let done = Request::read(line).and_then(|Request { family, input }| ok(&family, &input, json));
    if let Err(error) = &done {
        json.0.truncate(start);
        json.raw("{\"error\":").string(&error.to_string());
    }
    json.raw("}");
    !done.is_err_and(|error| error.is_malformed())
}

/// Writes the result of a family.
fn ok(family: &str, input: &Value, json: &mut Json) -> Result<(), BatchError> {
    let f = family.strip_prefix("cute_").and_then(|name| algebra::of(name).or_else(|| atoms::of(name)));
    f.ok_or_else(|| BatchError::Family(read::shortened(family)))?(Input(input), json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(lines: &str) -> (String, bool) {
        let mut output = Vec::new();
        let formed = run(lines.as_bytes(), &mut output).unwrap();
        (String::from_utf8(output).unwrap(), formed)
    }

    #[test]
    fn one_answer_a_line() {
        let composition = r#"{"family":"cute_composition","in":{"a":{"shape":[6,2],"stride":[8,2]},"b":{"shape":[4,3],"stride":[3,1]}}}"#;
        let (text, formed) = ask(&format!("{composition}\r\n{composition}"));
        let expected = r#"{"ok":{"shape":[[2,2],3],"stride":[[24,2],8],"size":12,"cosize":43,"table":[0,24,2,26,8,32,10,34,16,40,18,42]}}"#;
        assert_eq!((text.as_str(), formed), (format!("{expected}\n{expected}\n").as_str(), true));
    }

    #[test]
    fn lines_and_answers_have_the_same_numbers() {
        let good = r#"{"family":"cute_filter","in":{"layout":{"shape":4,"stride":1}}}"#;
        for (lines, ok) in [
            (format!("{good}\n\n  \n{good}\n"), &[true, false, false, true][..]),
            (format!("\n{good}"), &[false, true]),
            (format!("{good}\n"), &[true]),
            (String::new(), &[]),
            ("\n".to_owned(), &[false]),
        ] {
            let answers: Vec<bool> = ask(&lines).0.lines().map(|line| line.starts_with("{\"ok\"")).collect();
            assert_eq!(answers, ok, "{lines:?}");
        }
        // Whatever a read ends with.
        let many = format!("{good}\n\n").repeat(3000);
        let mut output = Vec::new();
        let input = std::io::BufReader::with_capacity(777, many.as_bytes());
        assert!(!run(input, &mut output).unwrap());
        let text = String::from_utf8(output).unwrap();
        assert_eq!(text.lines().count(), 6000);
        assert!(text.lines().enumerate().all(|(i, line)| line.starts_with("{\"ok\"") == (i % 2 == 0)));
    }

    #[test]
    fn what_is_refused_and_what_is_no_request() {
        let refused =
            r#"{"family":"cute_composition","in":{"a":{"shape":[6,2],"stride":[8,2]},"b":{"shape":[4],"stride":[5]}}}"#;
        let (text, formed) = ask(refused);
        assert!(text.starts_with("{\"error\":\"composition: shape divisibility") && formed, "{text}");
        for (line, words) in [
            ("nonsense", "not a JSON object"),
            ("[]", "not a JSON object"),
            (r#"["cute_swizzle",{"bits":1,"base":0,"shift":2}]"#, "it does not start with {"),
            ("\n", "the line is empty"),
            (r#"{"family":"cute_filter","family":"cute_filter","in":{}}"#, "duplicate field `family` at line 1"),
            (r#"{"family":"cute_filter","in":{},"x":1,"x":2}"#, "duplicate field `x`"),
            (
                r#"{"family":"cute_filter","in":{"layout":{"shape":4,"stride":1},"layout":{"shape":8,"stride":1}}}"#,
                "duplicate field `layout` at line 1 column 70",
            ),
            (r#"{"family":"cute_filter","in":{"layout":{"shape":4,"stride":1,"shape":8}}}"#, "duplicate field `shape`"),
            (
                r#"{"family":"cute_zipped_divide","in":{"a":{"shape":4,"stride":1},"tiler":[{"shape":2,"stride":1,"stride":1}]}}"#,
                "duplicate field `stride`",
            ),
            (r#"{"family":"cute_filter"}"#, "missing field `in`"),
            (r#"{"in":{}}"#, "missing field `family`"),
            (r#"{"family":7,"in":{}}"#, "`family` is 7, but must be a string"),
            (r#"{"family":"cute_filter","in":{}} x"#, "trailing characters"),
            (r#"{"family":"cute_nothing","in":{}}"#, "`cute_nothing` is not a family"),
            (r#"{"family":"cute_coalesce","in":{}}"#, "`in.layout` is missing, but must be a layout"),
            (r#"{"family":"cute_coalesce","in":{"layout":{"shape":[2,"x"],"stride":[1,2]}}}"#, "must be an integer"),
            (r#"{"family":"cute_swizzle","in":{"bits":1,"base":99999999999,"shift":2}}"#, "an integer of 32 bits"),
        ] {
            let (text, formed) = ask(line);
            let answer: Value = serde_json::from_str(&text).unwrap();
            assert!(answer["error"].as_str().unwrap().contains(words) && !formed, "{line}: {text}");
        }
    }
}
