//! A row of the table, as written in `cases/*.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};
use warpwright_numeric::Dtype;

use crate::pattern::Pattern;

/// One GEMM: `d[b] = epilogue(a[b] · b[b])`, what its operands hold and where they lie, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique; seeds the random data, so renaming a case changes its numbers.
    pub name: String,
    /// The kind of fault that the row guards against: an entry of the list of edge cases (`A1`, `B2` …).
    pub edge: Option<String>,
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Batch entries.
    #[serde(default = "one")]
    pub batch: usize,
    /// A, `m × k`.
    pub a: OperandSpec,
    /// B, `k × n`. Its type is A's unless named.
    #[serde(default)]
    pub b: OperandSpec,
    /// C, `m × n`; exists if the epilogue reads `source(c)`. Its type is D's unless named.
    #[serde(default)]
    pub c: OperandSpec,
    /// D, `m × n`. Its type follows from A's unless named. With a data pattern, D holds that beforehand (for
    /// `previous`), otherwise it is poisoned.
    #[serde(default)]
    pub d: OperandSpec,
    /// The accumulator's type; follows from A's unless named.
    #[serde(default, deserialize_with = "dtype")]
    pub acc: Option<Dtype>,
    /// The epilogue in the command line's notation.
    #[serde(default = "plain")]
    pub epilogue: String,
    /// Values of the scalars that the epilogue names.
    #[serde(default)]
    pub scalars: BTreeMap<String, f64>,
    /// Vectors and tiles that the epilogue names.
    #[serde(default)]
    pub bind: BTreeMap<String, BindSpec>,
    /// What the plan must be; everything that is absent is left to the builder.
    #[serde(default)]
    pub plan: Plan,
    /// Set if only one kind of device runs this row.
    pub only: Option<DeviceKind>,
    /// What must come of it.
    pub expect: Expect,
}

/// An operand's type, place and contents.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperandSpec {
    /// Element type.
    #[serde(default, rename = "type", deserialize_with = "dtype")]
    pub dtype: Option<Dtype>,
    /// Which mode is contiguous.
    #[serde(default)]
    pub order: Order,
    /// Elements by which the leading dimension exceeds the contiguous extent. Negative only where an error is expected.
    #[serde(default)]
    pub pad: isize,
    /// Elements by which element (0, 0) lies behind a 256-byte boundary.
    #[serde(default)]
    pub offset: usize,
    /// Elements between batch entries: packed if absent, broadcast if 0.
    pub batch_stride: Option<usize>,
    /// Contents; for A, B and C `integers` where an exact answer is expected and `normal` elsewhere.
    pub data: Option<Pattern>,
}

/// An operand of the epilogue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindSpec {
    /// How it is spread over D.
    pub kind: BindKind,
    /// Element type, `f32` unless named.
    #[serde(default, rename = "type", deserialize_with = "dtype")]
    pub dtype: Option<Dtype>,
    /// Which mode of a tile is contiguous.
    #[serde(default)]
    pub order: Order,
    /// Padding of a tile's leading dimension, in elements.
    #[serde(default)]
    pub pad: isize,
    /// Elements by which the first lies behind a 256-byte boundary.
    #[serde(default)]
    pub offset: usize,
    /// Elements between batch entries; 0, the default, is shared by all.
    #[serde(default)]
    pub batch_stride: usize,
    /// Contents.
    pub data: Option<Pattern>,
}

/// How an epilogue operand is spread over D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BindKind {
    /// One element per column of D.
    Row,
    /// One element per row of D.
    Column,
    /// One element per element of D.
    Tile,
    /// One bit per element of D, 8 to a byte: along rows, or along columns if its order is `column`.
    Mask,
}

/// Which mode of a matrix is contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Row-major.
    #[default]
    Row,
    /// Column-major.
    Column,
}

/// The slots of a plan that a row fixes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Architecture tag, such as `sm80`.
    pub arch: Option<String>,
    /// Tile M, N, K.
    pub tile: Option<[usize; 3]>,
    /// Blocks of a cluster along M and N, and along K where they have parts of it.
    pub cluster: Option<Vec<usize>>,
    /// Pipeline stages.
    pub stages: Option<usize>,
    /// Schedule, such as `multistage`.
    pub schedule: Option<String>,
    /// Loader, such as `bulk_rows`.
    pub loader: Option<String>,
    /// Scheduler, such as `persistent`.
    pub scheduler: Option<String>,
    /// Whether sums of fp8 may be kept in the instruction's own precision.
    #[serde(default)]
    pub fast_accumulation: bool,
    /// Where the epilogue is staged, `separate` or `reused`.
    pub staging: Option<String>,
    /// Parts that K is cut into.
    pub splits: Option<usize>,
    /// Whether operands that TMA cannot address are copied first.
    pub repacks: Option<bool>,
    /// Whether A and B change places. Tile and cluster are D's all the same.
    pub transposed: Option<bool>,
    /// Raster order, `along_m` or `along_n`.
    pub raster: Option<String>,
    /// Raster swizzle, a power of two.
    pub swizzle: Option<usize>,
}

/// Kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The CPU.
    Host,
    /// An NVIDIA GPU.
    Cuda,
}

/// What must come of a case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// Every element equals the reference, rounded once to D's type.
    Exact,
    /// Every element is within the error bound of [`crate::compare`].
    Bound,
    /// A typed error, D untouched.
    #[serde(untagged)]
    Error {
        /// Its kind.
        error: ErrorKind,
        /// A part of its text.
        #[serde(default)]
        text: String,
    },
}

/// Kinds of errors, after CUTLASS's statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The device does not fit the architecture tag.
    ArchMismatch,
    /// An operand's address or stride is not a multiple of what is needed.
    MisalignedOperand,
    /// Extents, strides or operands contradict each other.
    InvalidProblem,
    /// A kernel that breaks a rule, or a legal one that this library or device cannot run.
    NotSupported,
    /// Out of memory.
    OutOfMemory,
    /// The workspace is too small.
    WorkspaceTooSmall,
    /// The generated source did not compile.
    CompileFailed,
    /// The driver's own error.
    Driver,
}

/// Why the table could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not a table of cases.
    #[error("{path}: {source}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<toml::de::Error>,
    },
    /// Two rows share a name.
    #[error("the case `{0}` exists twice; rename one")]
    Duplicate(String),
}

/// Folder of the table in the source tree.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// All rows of `folder`, file by file in order of name.
pub fn load(folder: &Path) -> Result<Vec<Case>, TableError> {
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |source| TableError::Io { path, source }
    };
    let mut files = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(io(folder))?;
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        let rows = parse(&text).map_err(|source| TableError::Syntax { path, source: Box::new(source) })?;
        cases.extend(rows);
    }
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(TableError::Duplicate(pair[0].to_owned())),
        None => Ok(cases),
    }
}

/// The rows of one file.
pub fn parse(text: &str) -> Result<Vec<Case>, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        case: Vec<Case>,
    }
    Ok(toml::from_str::<File>(text)?.case)
}

impl Case {
    /// A's type. `a.type` is the one type that a row must name; [`crate::Prepared::new`] says so if it is absent.
    pub fn a_type(&self) -> Dtype {
        self.a.dtype.unwrap_or(Dtype::F32)
    }

    /// Whether a kind of device runs this row.
    pub fn runs_on(&self, device: DeviceKind) -> bool {
        self.only.is_none_or(|only| only == device)
    }

    /// B's type.
    pub fn b_type(&self) -> Dtype {
        self.b.dtype.unwrap_or(self.a_type())
    }

    /// D's type.
    pub fn d_type(&self) -> Dtype {
        self.d.dtype.unwrap_or(match self.a_type() {
            Dtype::F16 => Dtype::F16,
            Dtype::F32 | Dtype::Tf32 => Dtype::F32,
            Dtype::F64 => Dtype::F64,
            t if t.is_integer() => Dtype::I32,
            _ => Dtype::Bf16,
        })
    }

    /// C's type.
    pub fn c_type(&self) -> Dtype {
        self.c.dtype.unwrap_or(self.d_type())
    }

    /// The accumulator's type.
    pub fn acc_type(&self) -> Dtype {
        self.acc.unwrap_or(match self.a_type() {
            Dtype::F64 => Dtype::F64,
            t if t.is_integer() => Dtype::I32,
            _ => Dtype::F32,
        })
    }
}

fn one() -> usize {
    1
}

fn plain() -> String {
    "d = acc".to_owned()
}

fn dtype<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Dtype>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = Dtype::ALL.iter().find(|dtype| dtype.name() == name);
    found.copied().map(Some).ok_or_else(|| de::Error::custom(format!("`{name}` is no element type")))
}
