//! Lowered index functions against the layouts that they came from, on every coordinate: whatever runs device code, a GPU or
//! the emulator, runs the same kernels.
//!
//! A [`Group`] is one translation unit. Each of its functions is called by a kernel of its own, one thread a coordinate; the
//! coordinates are read from memory, so that the code that is compiled for a function is the function's alone.

mod gather;
mod groups;

use std::fmt::Write;

use crate::launched::NotOnTheHost;
use warpwright::layout::lower::IndexFunction;
use warpwright::runtime::{Invocation, LaunchCall, LaunchTemplate, Order, Program, Strided, WorkspaceLayout};
use warpwright::{ArchId, Device, Tensor};

pub use gather::Gather;
pub use groups::all;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Most parameters of a function.
const PARAMETERS: usize = 8;

/// Bytes of a kernel's parameter struct.
pub const PARAMS_BYTES: usize = 8 * (3 + PARAMETERS);

/// A lowered function, the coordinates on which it is called and what it must return.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What was lowered, for messages.
    pub what: String,
    /// What is compiled.
    pub function: IndexFunction,
    /// The coordinates: all values of the first argument, then all of the second, and so on.
    pub coordinates: Vec<u64>,
    /// The values of its parameters.
    pub parameters: Vec<u64>,
    /// The layout's value at each coordinate.
    pub expected: Vec<u64>,
}

/// Functions that are compiled together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// Its functions. Their C++ names are distinct, or their texts are equal.
    pub functions: Vec<Checked>,
}

impl Group {
    /// The number of coordinates on which its functions are called.
    pub fn coordinates(&self) -> usize {
        self.functions.iter().map(|f| f.expected.len()).sum()
    }

    /// The kernel of function `i`.
    pub fn entry(&self, i: usize) -> String {
        format!("check_{i}")
    }

    /// CUDA C++: the functions and their kernels.
    pub fn source(&self) -> String {
        let mut text = format!(
            "typedef unsigned long long u64;\nstruct Params {{ const u64* in; u64* out; u64 n; u64 p[{PARAMETERS}]; }};\n"
        );
        let mut written: Vec<&str> = Vec::new();
        for checked in &self.functions {
            if !written.contains(&checked.function.name()) {
                written.push(checked.function.name());
                text += &checked.function.to_string();
            }
        }
        for (i, checked) in self.functions.iter().enumerate() {
            let arguments = checked.coordinates.len() / checked.expected.len().max(1);
            let coordinates = (0..arguments).map(|a| format!("p.in[{a} * p.n + i]"));
            let parameters = (0..checked.parameters.len()).map(|k| format!("p.p[{k}]"));
            let call: Vec<String> = coordinates.chain(parameters).collect();
            // Writing into a string cannot fail.
            let _ = write!(
                text,
                "extern \"C\" __global__ void {}(const __grid_constant__ Params p) {{\n    \
                 const u64 i = (u64)blockIdx.x * {BLOCK}u + threadIdx.x;\n    \
                 if (i < p.n) p.out[i] = {}({});\n}}\n",
                self.entry(i),
                checked.function.name(),
                call.join(", ")
            );
        }
        text
    }

    /// The group as a program of one launch a function.
    pub fn program(&self) -> Program {
        let source = self.source();
        let launches = (0..self.functions.len()).map(|i| launch(self.entry(i), source.clone(), PARAMS_BYTES)).collect();
        program(format!("layouts-{}", self.name), launches)
    }
}

impl Checked {
    /// Blocks that cover the coordinates.
    pub fn blocks(&self) -> u32 {
        self.expected.len().div_ceil(BLOCK as usize) as u32
    }

    /// The parameter struct of its kernel.
    pub fn params(&self, coordinates: u64, out: u64) -> Vec<u8> {
        let mut words = vec![coordinates, out, self.expected.len() as u64];
        words.extend(&self.parameters);
        words.resize(3 + PARAMETERS, 0);
        bytes(&words)
    }

    /// Whether these are the values that it must return.
    ///
    /// # Errors
    /// The first coordinate where they differ.
    pub fn judge(&self, found: &[u64]) -> Result<(), String> {
        if found.len() != self.expected.len() {
            return Err(format!("{}: {} values for {} coordinates", self.what, found.len(), self.expected.len()));
        }
        let Some(i) = (0..found.len()).find(|&i| found[i] != self.expected[i]) else { return Ok(()) };
        let coordinate: Vec<u64> = self.coordinates.iter().skip(i).step_by(self.expected.len()).copied().collect();
        Err(format!(
            "{} at {coordinate:?} with parameters {:?} gave {} and not {}\n{}",
            self.what, self.parameters, found[i], self.expected[i], self.function
        ))
    }
}

fn launch(entry: String, source: String, params_bytes: usize) -> LaunchTemplate {
    let (options, block, cluster) = (Vec::new(), [BLOCK, 1, 1], [1, 1, 1]);
    LaunchTemplate { entry, source, options, block, cluster, shared_bytes: 0, params_bytes, pdl: false }
}

fn program(name: String, launches: Vec<LaunchTemplate>) -> Program {
    Program { name, tag: ArchId::SM75, launches, workspace: WorkspaceLayout::default() }
}

/// Words as bytes.
pub fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Bytes as words.
pub fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|w| u64::from_le_bytes(*w)).collect()
}

/// Runs every function of the group on the device and compares; the number of coordinates that agree.
///
/// # Errors
/// What the device refused, or the first value that is wrong.
pub fn check(device: &Device, group: &Group) -> Result<usize, Box<dyn std::error::Error>> {
    let stream = device.new_stream()?;
    let executable = device.load(&group.program())?;
    let (mut inputs, mut outputs, mut params) = (Vec::new(), Vec::new(), Vec::new());
    for checked in &group.functions {
        let coordinates = bytes(&checked.coordinates);
        let input = Tensor::<u8>::from_vec(1, coordinates.len(), coordinates)?.to_device(&stream)?;
        let layout = Strided::dense(1, 8 * checked.expected.len(), Order::RowMajor);
        let mut output = Tensor::<u8>::zeros_on(&stream, layout)?;
        output.fill_bytes(&stream, 0xFF)?;
        params.push(checked.params(input.view().raw().address(), output.view_mut()?.raw().address()));
        inputs.push(input);
        outputs.push(output);
    }
    let grid = |checked: &Checked| [checked.blocks(), 1, 1];
    let launches: Vec<LaunchCall<'_>> =
        group.functions.iter().zip(&params).map(|(f, params)| LaunchCall { grid: grid(f), params }).collect();
    // SAFETY: each block is the kernel's `Params`; its tensors hold `n` coordinates an argument and `n` results, and live
    // until the results are read below.
    unsafe { executable.run(&stream, &Invocation { launches: &launches, host: &NotOnTheHost }) }?;
    for (checked, output) in group.functions.iter().zip(&outputs) {
        checked.judge(&words(&output.to_host(&stream)?.to_vec()?))?;
    }
    Ok(group.coordinates())
}
