//! What may be typed behind `profile`.

use clap::Args;
use std::path::PathBuf;

/// Of `profile`.
#[derive(Args)]
pub struct ProfileArgs {
    #[command(flatten)]
    pub problems: ProblemsArgs,
    #[command(flatten)]
    pub candidates: CandidatesArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is multiplied: every type with every shape.
#[derive(Args)]
#[command(next_help_heading = "Problems")]
pub struct ProblemsArgs {
    /// Extents, as in 4096x4096x4096; several are separated by commas
    #[arg(long, value_name = "MxNxK", value_delimiter = ',')]
    pub shape: Vec<String>,
    /// Shapes that belong together: square, deepgemm_v1_dense, llama3_70b, ...; a wrong name lists them all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub suite: Vec<String>,
    /// Elements of A and B; several are separated by commas. Default: bf16
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Element of B. Default: A's
    #[arg(long, value_name = "TYPE")]
    pub type_b: Option<String>,
    /// Element of the result. Default: f16 for f16, bf16 for bf16 and fp8, f32, f64, i32 for integers
    #[arg(long, value_name = "TYPE")]
    pub output_type: Option<String>,
    /// How many such products. Default: 1
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch: Option<String>,
    /// How A lies in memory: row or column. Default: row
    #[arg(long, value_name = "ORDER")]
    pub order_a: Option<String>,
    /// How B lies in memory: row or column. Default: column, so that K is contiguous in both
    #[arg(long, value_name = "ORDER")]
    pub order_b: Option<String>,
    /// How the result lies in memory: row or column. Default: row
    #[arg(long, value_name = "ORDER")]
    pub order_d: Option<String>,
    /// Sum fp8 products in the tensor core's own precision, cuBLASLt as well
    #[arg(long)]
    pub fast_accumulation: bool,
}

/// Who races beside the plan's own choice: every combination of what is named.
#[derive(Args)]
#[command(next_help_heading = "Candidates")]
pub struct CandidatesArgs {
    /// Which instructions may be used: sm75, sm80, sm89, sm90 or sm100. Default: the newest that the device runs, on the host the oldest from sm80 that has what is asked for
    #[arg(long, value_name = "TAG")]
    pub arch: Option<String>,
    /// Tiles of one block, separated by commas
    #[arg(long, value_name = "MxNxK", value_delimiter = ',')]
    pub tile: Vec<String>,
    /// Whether A and B change places, so that a tile's N are the instruction's rows: yes, no or both, separated by a comma
    #[arg(long, value_name = "ANSWER", value_delimiter = ',')]
    pub swap_ab: Vec<String>,
    /// Clusters, separated by commas: tiles along M and N, and parts of their K
    #[arg(long, value_name = "MxN[xK]", value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Schedules, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub schedule: Vec<String>,
    /// How operands arrive, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub loader: Vec<String>,
    /// Depths of the pipeline, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true)]
    pub stages: Vec<String>,
    /// Tile schedulers, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub scheduler: Vec<String>,
    /// Where the epilogue is staged: separate, reused or both, separated by a comma
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub staging: Vec<String>,
    /// Parts that K is cut into, separated by commas; 1 keeps a plan from splitting
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true)]
    pub splits: Vec<String>,
    /// Every tile and schedule that has a plan, as far as they are not named
    #[arg(long)]
    pub all: bool,
    /// In place of all, the N that the model takes for the fastest
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "all")]
    pub top: Option<String>,
    /// The N plans (default 12) that the model takes for the fastest; who wins is remembered, and is what kernels take for
    /// the problem on this device from then on
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "12", allow_hyphen_values = true,
        conflicts_with_all = ["tile", "cluster", "schedule", "loader", "stages", "scheduler", "staging", "splits", "all", "top"])]
    pub tune: Option<String>,
    /// Race without cuBLASLt
    #[arg(long, conflicts_with = "check_baseline")]
    pub no_cublaslt: bool,
}

/// How it is timed.
#[derive(Args)]
#[command(next_help_heading = "Timing")]
pub struct RunningArgs {
    /// host, cuda:0, ...; default: a GPU if there is one, else the host
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// How often everyone is timed. Default: 15
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub rounds: Option<String>,
    /// What operands and order are drawn from. Default: 1
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// First time cuBLASLt on ten shapes of which its time on an H200 is known; if one is off by more than 5 %, no ratios are
    /// told, and the exit code is 1
    #[arg(long)]
    pub check_baseline: bool,
}

/// What is told.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// One line a problem, instead of a table for each
    #[arg(long)]
    pub summary: bool,
    /// Write every row as comma-separated values; the file is replaced as a whole or not touched
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write a page with plots that needs nothing beside it; the file is replaced as a whole or not touched
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
