//! Syntax to operations. Each family of instructions has a file, in which its forms are recognised and their meaning on
//! registers is written; what touches memory or other warps becomes a value of [`Op`] that the machine executes.

pub(crate) mod args;
mod asynchronous;
mod bits;
mod control;
mod convert;
mod exact;
mod float;
mod half;
mod integer;
mod memory;
mod moves;
mod predicate;
mod rounding;
mod special;
mod tensor;
mod warp;

pub(crate) use half::Half;
pub(crate) use memory::{add_flushed, apply as atomic_apply, apply_global};
pub(crate) use rounding::canonical;

use crate::error::{ParseError, ParseReason};
use crate::ir::{Base, Inst, Op, Space};
use crate::ptx::ast::{Entry, Instruction, Operand, Reg, Variable, VariableSpace, Width};
use args::{Args, Decoded, space_of};
use std::collections::HashMap;

/// A kernel's code and what it needs to run.
pub(crate) struct Code {
    pub instructions: Vec<Inst>,
    pub rows: u32,
    pub predicates: u32,
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub parameter_bytes: u32,
}

/// Decodes one kernel after the other; `symbols` are the module's variables.
pub(crate) struct Decoder<'t, 'm> {
    symbols: &'m HashMap<&'t str, (Base, Space)>,
    local_symbols: HashMap<&'t str, (Base, Space)>,
    rows: u32,
    carry: u32,
    instructions: Vec<Inst>,
    guard: Option<(u32, bool)>,
    tables: HashMap<&'t str, Vec<u32>>,
}

/// Places variables one after the other.
#[derive(Default)]
pub(crate) struct Placement {
    pub bytes: u32,
}

impl Placement {
    pub fn place(&mut self, variable: &Variable<'_>) -> u32 {
        let at = self.bytes.checked_next_multiple_of(variable.align).unwrap_or(u32::MAX);
        self.bytes = at.saturating_add(variable.bytes);
        at
    }
}

impl<'t, 'm> Decoder<'t, 'm> {
    /// Decodes `entry`. Its shared variables are placed behind `shared` bytes of the module's.
    pub fn run(
        symbols: &'m HashMap<&'t str, (Base, Space)>,
        entry: &Entry<'t>,
        shared: u32,
    ) -> Result<Code, ParseError> {
        let mut decoder = Decoder {
            symbols,
            local_symbols: HashMap::new(),
            rows: entry.rows,
            carry: entry.predicates,
            instructions: Vec::with_capacity(entry.code.len()),
            guard: None,
            tables: HashMap::new(),
        };
        let (mut parameters, mut local, mut shared) =
            (Placement::default(), Placement::default(), Placement { bytes: shared });
        for variable in entry.parameters.iter().chain(&entry.variables) {
            let base = match variable.space {
                VariableSpace::Param => Base::Param(parameters.place(variable)),
                VariableSpace::Local => Base::Local(local.place(variable)),
                VariableSpace::Shared => Base::Shared(shared.place(variable)),
                VariableSpace::Global | VariableSpace::Const => {
                    return Err(ParseError {
                        line: entry.line,
                        text: variable.name.to_owned(),
                        reason: ParseReason::Unsupported("a global variable inside a kernel".into()),
                    });
                }
            };
            decoder.local_symbols.insert(variable.name, (base, space_of(variable.space)));
        }
        let error = |i: &Instruction<'_>, reason| ParseError { line: i.line, text: i.text.to_owned(), reason };
        for (name, targets) in &entry.branch_tables {
            decoder.tables.insert(*name, targets.iter().filter_map(label).collect());
        }
        let mut starts = Vec::with_capacity(entry.code.len() + 1);
        for instruction in &entry.code {
            starts.push(decoder.instructions.len() as u32);
            decoder.guard = instruction.guard;
            let first = decoder.instructions.len();
            let op = decoder.decode(instruction).map_err(|reason| error(instruction, reason))?;
            decoder.emit(op);
            for inst in &mut decoder.instructions[first..] {
                inst.line = instruction.line;
                inst.loc = instruction.loc;
                inst.registers = registers(&instruction.operands);
                inst.text = instruction.text.split_whitespace().collect::<Vec<_>>().join(" ").into();
            }
        }
        // Falling off the end is a return.
        starts.push(decoder.instructions.len() as u32);
        decoder.guard = None;
        decoder.emit(Op::Exit);
        for inst in &mut decoder.instructions {
            match &mut inst.op {
                Op::Branch { target } => *target = starts[*target as usize],
                Op::BranchTable { targets, .. } => targets.iter_mut().for_each(|t| *t = starts[*t as usize]),
                _ => {}
            }
        }
        Ok(Code {
            instructions: decoder.instructions,
            rows: decoder.rows.next_multiple_of(2),
            predicates: entry.predicates + 1,
            shared_bytes: shared.bytes,
            local_bytes: local.bytes,
            parameter_bytes: parameters.bytes,
        })
    }

    /// Appends an operation under the current instruction's guard.
    pub fn emit(&mut self, op: Op) {
        let loc = Default::default();
        self.instructions.push(Inst {
            op,
            guard: self.guard,
            line: 0,
            loc,
            text: Box::default(),
            registers: Box::default(),
        });
    }

    /// A register that no other instruction uses.
    pub fn scratch(&mut self, bits: u32) -> Reg {
        let width = if bits > 32 { Width::Double } else { Width::Word(32) };
        if width.rows() > 1 {
            self.rows = self.rows.next_multiple_of(2);
        }
        self.rows += width.rows();
        Reg { row: self.rows - width.rows(), width }
    }

    /// The predicate that holds the carry of `add.cc` and its like.
    pub fn carry(&self) -> u32 {
        self.carry
    }

    pub fn symbol(&self, name: &str) -> Decoded<(Base, Space)> {
        self.local_symbols
            .get(name)
            .or_else(|| self.symbols.get(name))
            .copied()
            .ok_or_else(|| ParseReason::Undeclared(name.to_owned()))
    }

    pub fn table(&self, name: &str) -> Decoded<&[u32]> {
        self.tables.get(name).map(Vec::as_slice).ok_or_else(|| ParseReason::Undeclared(name.to_owned()))
    }

    fn decode(&mut self, instruction: &Instruction<'t>) -> Decoded<Op> {
        let mut args = Args::new(self, instruction);
        let families = [
            moves::decode,
            integer::decode,
            bits::decode,
            float::decode,
            half::decode,
            predicate::decode,
            convert::decode,
            control::decode,
            memory::decode,
            warp::decode,
            tensor::decode,
            asynchronous::decode,
        ];
        for family in families {
            if let Some(op) = family(&mut args)? {
                return match args.ignored() {
                    None => Ok(op),
                    Some(suffix) => Err(args.unsupported(&format!(".{suffix}"))),
                };
            }
        }
        Err(args.unsupported(""))
    }
}

/// The instruction that a label operand names.
pub(crate) fn label(operand: &Operand<'_>) -> Option<u32> {
    match operand {
        Operand::Label(at) => Some(*at),
        _ => None,
    }
}

/// The rows of all registers that operands name.
fn registers(operands: &[Operand<'_>]) -> Box<[u32]> {
    fn visit(operand: &Operand<'_>, out: &mut Vec<u32>) {
        match operand {
            Operand::Register(reg) => out.extend(reg.row..reg.row + reg.width.rows()),
            Operand::Memory(memory) => {
                visit(&memory.base, out);
                memory.coordinates.iter().for_each(|c| visit(c, out));
            }
            Operand::Vector(items) => items.iter().for_each(|item| visit(item, out)),
            Operand::Pair(x, y) => {
                visit(x, out);
                visit(y, out);
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    operands.iter().for_each(|operand| visit(operand, &mut out));
    out.into()
}
