//! Every form of the instructions that ptxas takes for sm_75 to sm_90a is loaded, and what is not modelled is refused: what
//! came later, and what an unknown suffix may change.

use warpwright_emulator::{Module, ParseError, ParseReason};

const FORMS: &str = include_str!("data/forms.txt");
/// Of sm_100 and later.
const LATER: &str = include_str!("data/forms_later.txt");

fn load(line: &str) -> Result<Module, ParseError> {
    Module::parse(&format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{ .reg .b32 %r<600>; .reg .f32 %f<600>; \
         .reg .b64 %d<300>; .reg .f64 %dd<300>; .reg .b16 %h<300>; .reg .pred %p, %pq;\n{line}\nret; }}"
    ))
}

#[test]
fn what_ptxas_takes_is_loaded() {
    for line in FORMS.lines() {
        load(line).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn what_came_later_is_refused() {
    for line in LATER.lines() {
        let error = load(line).err().unwrap_or_else(|| panic!("{line} is taken"));
        assert_eq!(error.line, 6, "{error}");
    }
}

#[test]
fn an_unknown_suffix_is_refused() {
    for line in FORMS.lines() {
        // Behind the opcode of each instruction of the line, and as the last suffix.
        let (opcode, rest) = line.trim_start_matches('{').split_once(['.', ' ']).expect("operands follow");
        if opcode.is_empty() {
            continue;
        }
        let at = line.len() - rest.len() - 1;
        let last = line[at..].find([' ', ';']).expect("operands follow") + at;
        for place in [at, last] {
            let text = format!("{}.oob{}", &line[..place], &line[place..]);
            match load(&text).map_err(|e| e.reason) {
                Err(ParseReason::Unsupported(_) | ParseReason::Operands(_)) => {}
                other => panic!("{text}: {:?}", other.err()),
            }
        }
    }
}
