//! What may be typed. Values stay text here: [`crate::request`] says what they mean, with the library's own words.

use crate::commands::layout::args::LayoutArgs;
use crate::commands::profile::args::ProfileArgs;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// GEMM kernels, composed, run and checked.
#[derive(Parser)]
#[command(name = "warpwright", version, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// What runs here, and why not.
    Devices(DevicesArgs),
    /// Multiply matrices from files: D = epilogue(A * B).
    Gemm(GemmArgs),
    /// Explain which kernel would run, without running it.
    Plan(PlanArgs),
    /// Show what a plan generates: CUDA C++, PTX, cubin or disassembly.
    Emit(EmitArgs),
    /// Multiply and compare every element with an f64 reference; exit code 1 if one is too far off.
    Verify(VerifyArgs),
    /// Time kernels against each other and against cuBLASLt: ranked tables, CSV, JSON, a page with plots.
    Profile(ProfileArgs),
    /// Calculate with layouts: evaluate, compose, divide, invert, lower, draw.
    Layout(LayoutArgs),
}

/// Of `devices`.
#[derive(Args)]
pub struct DevicesArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The kernel, as far as it is named; the rest is decided by the plan.
#[derive(Args, Default)]
#[command(next_help_heading = "Kernel")]
pub struct KernelArgs {
    /// Which instructions may be used: sm75, sm80, sm89, sm90 or sm100. Default: the newest that the device runs, on the host the oldest from sm80 that has what is asked for
    #[arg(long, value_name = "TAG")]
    pub arch: Option<String>,
    /// Element of the result. Default: f16 for f16, bf16 for bf16 and fp8, f32, f64, i32 for integers
    #[arg(long, value_name = "TYPE")]
    pub output_type: Option<String>,
    /// Element of the accumulator. Default: f32, f64 for f64, i32 for integers
    #[arg(long, value_name = "TYPE")]
    pub accumulator_type: Option<String>,
    /// How the result lies in memory: row or column
    #[arg(long, value_name = "ORDER")]
    pub order_d: Option<String>,
    /// Tile of one block, in elements
    #[arg(long, value_name = "MxNxK")]
    pub tile: Option<String>,
    /// Whether A and B change places, so that a tile's N are the instruction's rows: yes or no. Default: as the plan decides
    #[arg(long, value_name = "ANSWER")]
    pub swap_ab: Option<String>,
    /// Blocks of a cluster, and how many of them have parts of a tile's K
    #[arg(long, value_name = "MxN[xK]")]
    pub cluster: Option<String>,
    /// Multistage, Gemv, WarpSpecialized, Pingpong, Cooperative, OneSm, TwoSm or Auto
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,
    /// How operands arrive: GlobalToRegister, CpAsync, Tma, TmaMulticast or BulkRows. Default: as the schedule's do
    #[arg(long, value_name = "NAME")]
    pub loader: Option<String>,
    /// Depth of the pipeline through shared memory
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub stages: Option<String>,
    /// SingleTile, Persistent, StreamK, SplitK, SplitKSerial, Grouped or Auto
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Sum fp8 products in the tensor core's own precision, where that is less than f32's
    #[arg(long)]
    pub fast_accumulation: bool,
    /// Where the epilogue is staged: Separate, Reused (in bytes of the stages, of which more then fit) or Auto
    #[arg(long, value_name = "NAME")]
    pub staging: Option<String>,
    /// What becomes of the product, as in "d = relu(alpha*acc + row(bias) + beta*source(c))".
    /// Default: "d = acc", with --c "d = acc + source(c)"
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub epilogue: Option<String>,
    /// The value of a scalar of the epilogue
    #[arg(long, value_name = "NAME=VALUE")]
    pub scalar: Vec<String>,
    /// A row, column or tile of the epilogue
    #[arg(long, value_name = "NAME=FILE")]
    pub bind: Vec<String>,
    /// Element of a bound file that does not say it, or of a matrix that is saved (f32)
    #[arg(long, value_name = "NAME=TYPE")]
    pub bind_type: Vec<String>,
    /// What the epilogue stores beside D, as .npy, written as D is. `verify` judges it and writes nothing; with `--against` it is read
    #[arg(long, value_name = "NAME=FILE")]
    pub save: Vec<String>,
}

/// Operands that must be there.
#[derive(Args)]
#[command(next_help_heading = "Operands")]
pub struct OperandArgs {
    /// A (M x K, or batch x M x K): FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR
    #[arg(long, value_name = "FILE")]
    pub a: String,
    /// B (K x N, or batch x K x N)
    #[arg(long, value_name = "FILE")]
    pub b: String,
    #[command(flatten)]
    pub typing: TypingArgs,
}

/// C, and the types of operands, where files do not say them or others are wanted.
#[derive(Args)]
#[command(next_help_heading = "Operands")]
pub struct TypingArgs {
    /// C (M x N): what the epilogue reads as source(c)
    #[arg(long, value_name = "FILE")]
    pub c: Option<String>,
    /// Element of A. Raw bits (.npy of V1, V2, u1 or u2) are taken as this type, other floats are rounded to it. Default: as A's
    /// file says; where there is none, it has to be given
    #[arg(long, value_name = "TYPE")]
    pub type_a: Option<String>,
    /// Element of B. Default: as B's file says; where there is none, A's
    #[arg(long, value_name = "TYPE")]
    pub type_b: Option<String>,
    /// Element of C. Default: as its file says
    #[arg(long, value_name = "TYPE")]
    pub type_c: Option<String>,
}

/// Where it runs.
#[derive(Args, Default)]
#[command(next_help_heading = "Device")]
pub struct DeviceArgs {
    /// host, cuda:0, ..., emulator, or emulator:sm90 for kernels of an older tag. Default: a GPU if there is one, else the host
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// What picks the emulator's interleaving of warps and when asynchronous operations land. Default: 0
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Tell what the emulator counted: instructions, bytes, barriers, shared-memory wavefronts and bank conflicts
    #[arg(long)]
    pub report: bool,
}

/// Of `gemm`.
#[derive(Args)]
pub struct GemmArgs {
    #[command(flatten)]
    pub operands: OperandArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Write the result here; the file, which may be an operand's, is replaced as a whole at the end or not touched
    #[arg(long, value_name = "D.npy")]
    pub out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of `verify`.
#[derive(Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub operands: OperandArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Judge this file, and those that --save names, instead of running a kernel
    #[arg(long, value_name = "D.npy")]
    pub against: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A problem, from files or from extents.
#[derive(Args)]
#[command(next_help_heading = "Problem")]
pub struct ProblemArgs {
    /// A's file, of which types, extents and order are taken
    #[arg(long, value_name = "FILE", requires = "b")]
    pub a: Option<String>,
    /// B's file
    #[arg(long, value_name = "FILE", requires = "a")]
    pub b: Option<String>,
    /// The extents, where there are no files
    #[arg(long, value_name = "MxNxK", conflicts_with = "a")]
    pub shape: Option<String>,
    /// How many such products. Default: 1
    #[arg(long, value_name = "N", conflicts_with = "a", allow_hyphen_values = true)]
    pub batch: Option<String>,
    /// How A lies in memory: row or column. Default: row
    #[arg(long, value_name = "ORDER", conflicts_with = "a")]
    pub order_a: Option<String>,
    /// How B lies in memory: row or column. Default: row
    #[arg(long, value_name = "ORDER", conflicts_with = "a")]
    pub order_b: Option<String>,
    #[command(flatten)]
    pub typing: TypingArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// The device to plan for: host, cuda:0, ..., emulator or emulator:sm90; see also --device-preset
    #[arg(long, value_name = "DEVICE", conflicts_with = "device_preset")]
    pub device: Option<String>,
    /// Plan for a device that is not there: t4, a100, l40s, h100, h200 or b200
    #[arg(long, value_name = "NAME")]
    pub device_preset: Option<String>,
}

/// Of `plan`.
#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Where to draw the epilogue's tree
    #[arg(long, value_name = "FILE")]
    pub tree_svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of `emit`.
#[derive(Args)]
pub struct EmitArgs {
    /// cuda, ptx, cubin or sass
    #[arg(long = "as", value_name = "FORM")]
    pub form: String,
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Write it here instead of to standard output; the file is replaced as a whole or not touched
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print JSON: the text and the plan that it was made from.
    #[arg(long)]
    pub json: bool,
}
