//! What may be wrong with what was typed. One sentence each: value, rule, remedy. What the library refuses says so itself.

use thiserror::Error;
use warpwright::Dtype;
use warpwright::epilogue::parse::ParseError;

/// Input that means nothing, or asks for what there is not.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// A name that is none of a list.
    #[error("--{flag} `{given}` is not {what}: use one of {choices}")]
    Name {
        /// The option.
        flag: &'static str,
        /// What was typed.
        given: String,
        /// What it should name.
        what: &'static str,
        /// What there is.
        choices: String,
    },
    /// A text that is no number.
    #[error("--{flag} `{given}` is not a whole number from {at_least} up: give one, or leave the option out")]
    Count {
        /// The option.
        flag: &'static str,
        /// What was typed.
        given: String,
        /// The least there may be.
        at_least: usize,
    },
    /// A text that is not extents.
    #[error("--{flag} `{given}` is not {form}: write whole numbers with x between them, as in {example}")]
    Extents {
        /// The option.
        flag: &'static str,
        /// What was typed.
        given: String,
        /// What is wanted.
        form: &'static str,
        /// A right one.
        example: &'static str,
    },
    /// A text that is no device.
    #[error(
        "--device `{given}` is not a device: use host, cuda:0 (or another ordinal), emulator, emulator:sm90 (or another tag), or leave it out to take a GPU if there is one"
    )]
    Device {
        /// What was typed.
        given: String,
    },
    /// An option that only the emulator has.
    #[error("--{flag} means nothing on a device that is not emulated: leave it out, or give --device emulator")]
    EmulatorAlone {
        /// The option.
        flag: &'static str,
    },
    /// The emulator, where time is measured.
    #[error("an emulated device has no time to measure: give --device host or cuda:0, or count with `gemm --report`")]
    NotTimed,
    /// A pair without its equals sign.
    #[error("--{flag} `{given}` is not NAME={value}: write it as in {example}")]
    Pair {
        /// The option.
        flag: &'static str,
        /// What was typed.
        given: String,
        /// What stands right of the equals sign.
        value: &'static str,
        /// A right one.
        example: &'static str,
    },
    /// A scalar that is no number.
    #[error("--scalar {name}=`{given}` is not a number: write it as in 0.5, -3 or 1e-3")]
    Scalar {
        /// Its name.
        name: String,
        /// What was typed.
        given: String,
    },
    /// One name, two values.
    #[error("`{name}` is given twice: each name has one value, so leave one out")]
    Twice {
        /// The name.
        name: String,
    },
    /// A type of a file that is not bound.
    #[error("--bind-type names `{name}`, but no file is bound to it: give --bind {name}=FILE, or leave the type out")]
    NoBind {
        /// The name.
        name: String,
    },
    /// A value that nothing reads.
    #[error("`{name}` is given, but the epilogue `{epilogue}` does not read it: use it in --epilogue, or leave it out")]
    Unread {
        /// The name.
        name: String,
        /// The epilogue.
        epilogue: String,
    },
    /// An argument without a name.
    #[error(
        "the epilogue's `{leaf}` has no name, so nothing can be bound to it: write a name, as in row(bias) or alpha, or a number"
    )]
    Unnamed {
        /// The leaf.
        leaf: String,
    },
    /// A's columns are not B's rows.
    #[error(
        "A has {a} columns but B has {b} rows: the product contracts the one with the other, so they must be equal"
    )]
    Contraction {
        /// Columns of A.
        a: usize,
        /// Rows of B.
        b: usize,
    },
    /// Batches that do not go together.
    #[error("A has {a} batch entries but B has {b}: they must be equal, or 1 to be used for all")]
    Batch {
        /// Of A.
        a: usize,
        /// Of B.
        b: usize,
    },
    /// An operand of other extents than the product gives it.
    #[error("{what} is {given}, but the product needs {needed}: give it those extents")]
    Shape {
        /// The operand.
        what: String,
        /// Its extents.
        given: String,
        /// What would be right.
        needed: String,
    },
    /// A row or column of another length than D.
    #[error("{what} {name} has {given} elements, but {extent} is {needed}: give it as many")]
    Length {
        /// `row` or `column`.
        what: &'static str,
        /// The operand.
        name: String,
        /// Its elements.
        given: usize,
        /// The extent that it runs along.
        extent: &'static str,
        /// That extent.
        needed: usize,
    },
    /// A mask whose elements are not bytes.
    #[error("the mask {name} has elements of {}, but a mask is bytes of 8 elements each: give an array of u8", given.name())]
    MaskType {
        /// The operand.
        name: String,
        /// Its elements.
        given: warpwright::Dtype,
    },
    /// A type that is not given anywhere.
    #[error("the element of A is not known: give --type-a (as in f16, bf16 or f32), or files with --a and --b")]
    NoType,
    /// No extents.
    #[error("the problem has no extents: give --shape MxNxK, or files with --a and --b")]
    NoProblem,
    /// Nothing to profile.
    #[error("there is nothing to profile: give --shape MxNxK, --suite NAME or --check-baseline")]
    NoShapes,
    /// Known times of another device.
    #[error(
        "--check-baseline compares with times of an {measured}, and this is {given}: leave it out, and judge ratios with care"
    )]
    NoBaseline {
        /// The device that they were measured on.
        measured: &'static str,
        /// This one.
        given: String,
    },
    /// A result that is not of the kind that its name promises.
    #[error("--{flag} {path} is not a .{kind} file by its name: give a name that ends in .{kind}")]
    Extension {
        /// The option.
        flag: &'static str,
        /// The path.
        path: String,
        /// What it should end in.
        kind: &'static str,
    },
    /// A file whose bytes cannot be had.
    #[error("cannot read {path}: {why}; give the path of a .npy or .safetensors file")]
    Unreadable {
        /// The path.
        path: String,
        /// The system's words.
        why: String,
    },
    /// A file that cannot be written.
    #[error("cannot write {path}: {why}; give a path in a folder that exists and may be written")]
    Unwritable {
        /// The path.
        path: String,
        /// The system's words.
        why: String,
    },
    /// A file of another kind.
    #[error(
        "{path} is neither a .npy nor a .safetensors file by its name: matrices are read from FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR"
    )]
    UnknownKind {
        /// The path.
        path: String,
    },
    /// A result that is not a .npy file.
    #[error(
        "--out {path} is not a .npy file by its name: results are written as .npy, so give a name that ends in .npy"
    )]
    OutKind {
        /// The path.
        path: String,
    },
    /// Two results in one file.
    #[error("{path} is named for two results: one would overwrite the other, so give each a file of its own")]
    SameFile {
        /// The path.
        path: String,
    },
    /// A file whose contents are not what its kind demands.
    #[error("{path} is not a whole {kind} file: {why}; write or copy it again")]
    Torn {
        /// The path.
        path: String,
        /// `.npy` or `.safetensors`.
        kind: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A tensor that is not in its file, or not named although there are several.
    #[error("{path} {why}: write FILE.safetensors:TENSOR with one of {names}")]
    NoTensor {
        /// The path.
        path: String,
        /// What is wrong.
        why: String,
        /// What it holds.
        names: String,
    },
    /// A number of dimensions that is no matrix.
    #[error("{path} has the shape {shape:?}, but {what} needs {expected}: reshape it")]
    Dimensions {
        /// The path.
        path: String,
        /// Its dimensions.
        shape: Vec<usize>,
        /// `A`, `the row bias`.
        what: String,
        /// What would be right.
        expected: &'static str,
    },
    /// An element type that no kernel multiplies.
    #[error("{path} holds {found}, which is not an element type of a matrix: convert it to one of {choices}")]
    ForeignType {
        /// The path.
        path: String,
        /// What it holds, in the file's words.
        found: String,
        /// What there is.
        choices: &'static str,
    },
    /// Bits without a type.
    #[error(
        "{path} holds raw {bytes}-byte elements ({found}), which do not say their type: give {flag} (as in {example})"
    )]
    RawType {
        /// The path.
        path: String,
        /// What it holds, in the file's words.
        found: String,
        /// Bytes of an element.
        bytes: usize,
        /// The option.
        flag: String,
        /// A type that would fit.
        example: &'static str,
    },
    /// A type that the file's elements cannot be taken as.
    #[error(
        "{path} holds {found}, which cannot be taken as {wanted}: floats can be rounded to other floats, and raw or unsigned elements taken as types of as many bytes"
    )]
    Retype {
        /// The path.
        path: String,
        /// What it holds, in the file's words.
        found: String,
        /// The type asked for.
        wanted: Dtype,
    },
    /// Text that is no epilogue.
    #[error("--epilogue cannot be read, {_0}\n{}", indented(&_0.caret()))]
    Epilogue(ParseError),
    /// An external program.
    #[error("`{program}` {why}: install the CUDA toolkit's nvdisasm, or name it in WARPWRIGHT_NVDISASM")]
    Disassembler {
        /// The program.
        program: String,
        /// What went wrong.
        why: String,
    },
    /// A plan for the host, of which there is no device code.
    #[error(
        "the host runs no device code, so there is nothing to emit: name a GPU with --device cuda:0 or --device-preset h200"
    )]
    NothingToEmit,
    /// A binary result for a terminal.
    #[error("a cubin is not text: write it to a file with --out")]
    BinaryToTerminal,
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
