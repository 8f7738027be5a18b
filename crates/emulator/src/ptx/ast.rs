//! What PTX text says, before its instructions are given a meaning.

/// How wide a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// One bit.
    Pred,
    /// 8, 16 or 32 bits: one row of the register file.
    Word(u8),
    /// 64 bits: two rows.
    Double,
    /// 128 bits: four rows.
    Quad,
}

impl Width {
    /// Rows of 32 words of 32 bits that it takes in a warp's register file.
    pub fn rows(self) -> u32 {
        match self {
            Width::Pred => 0,
            Width::Word(_) => 1,
            Width::Double => 2,
            Width::Quad => 4,
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            Width::Pred => 1,
            Width::Word(bits) => u32::from(bits),
            Width::Double => 64,
            Width::Quad => 128,
        }
    }
}

/// A register: its place in the warp's register file (a predicate's number for predicates) and its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reg {
    pub row: u32,
    pub width: Width,
}

/// Where in the CUDA source an instruction comes from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Loc {
    pub file: u32,
    /// 0 when the text carries no line information.
    pub line: u32,
    /// The line that inlined this one; 0 if none did.
    pub inlined_at: u32,
}

/// The inside of square brackets.
#[derive(Clone, Debug)]
pub(crate) struct Memory<'a> {
    pub base: Operand<'a>,
    pub offset: i64,
    /// Coordinates of a tensor operand: `[map, {c0, c1}]`.
    pub coordinates: Vec<Operand<'a>>,
}

/// One operand of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Operand<'a> {
    Register(Reg),
    /// `%tid.x`, `%laneid`: name with its component.
    Special(&'a str),
    Integer(u64),
    Float32(u32),
    Float64(u64),
    /// A variable, a parameter or a label.
    Symbol(&'a str),
    /// A label, resolved to an instruction's index.
    Label(u32),
    Memory(Box<Memory<'a>>),
    Vector(Vec<Operand<'a>>),
    /// `p|q`.
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `!p`.
    Not(Box<Operand<'a>>),
    /// `_`.
    Sink,
}

/// One instruction as written.
#[derive(Clone, Debug)]
pub(crate) struct Instruction<'a> {
    /// Guard predicate and whether it is negated.
    pub guard: Option<(u32, bool)>,
    pub opcode: &'a str,
    /// Suffixes in their order, without dots.
    pub suffixes: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
    /// Line of the PTX text.
    pub line: u32,
    pub text: &'a str,
    pub loc: Loc,
}

/// State spaces in which variables are declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VariableSpace {
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// A declared variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub space: VariableSpace,
    pub name: &'a str,
    pub align: u32,
    /// Bytes; 0 for `extern` arrays of unknown extent.
    pub bytes: u32,
    pub external: bool,
    pub initial: Vec<u8>,
}

/// A kernel.
#[derive(Clone, Default, Debug)]
pub(crate) struct Entry<'a> {
    pub name: &'a str,
    pub line: u32,
    pub parameters: Vec<Variable<'a>>,
    pub variables: Vec<Variable<'a>>,
    pub code: Vec<Instruction<'a>>,
    /// Targets of `.branchtargets` lists, by label name.
    pub branch_tables: Vec<(&'a str, Vec<Operand<'a>>)>,
    pub rows: u32,
    pub predicates: u32,
    /// `.maxntid` or `.reqntid`; 0 if not given.
    pub max_threads: u32,
    /// `.reqnctapercluster`; 0 if not given.
    pub cluster: [u32; 3],
}

/// A whole text.
#[derive(Clone, Default, Debug)]
pub(crate) struct Text<'a> {
    pub target: &'a str,
    pub variables: Vec<Variable<'a>>,
    pub entries: Vec<Entry<'a>>,
    pub files: Vec<(u32, &'a str)>,
}
