//! One error type per operation: building, running; planning's is [`PlanError`]. A message names the value, the rule and the remedy.

use crate::auto::PlanError;
use warpwright_numeric::Dtype;
use warpwright_runtime::{
    DeviceError, LoadError, MemoryError, Space, StreamError, TensorError, TensorMapFault, WorkspaceError,
};
use warpwright_spec::{Order, Violation};

/// A kernel that cannot be built for a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A broken rule.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The plan has no device code.
    #[error(transparent)]
    Lower(#[from] warpwright_kernels::lower::LowerError),
    /// The kernel cannot be compiled or loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A call that was refused, or failed. Nothing was launched and no output touched, unless the driver itself failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
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
    /// D of other extents than the product.
    #[error("D is {} x {}, but A ({} x {k}) times B ({k} x {}) is {} x {}", given.0, given.1, product.0, product.1, product.0, product.1)]
    Output {
        /// Rows and columns of D.
        given: (usize, usize),
        /// Rows of A and columns of B.
        product: (usize, usize),
        /// The contracted extent.
        k: usize,
    },
    /// Batch extents that neither agree nor broadcast.
    #[error("{operand} has {given} batch entries but D has {expected}: they must be equal, or 1 to be used for all")]
    Batch {
        /// Whose.
        operand: String,
        /// How many.
        given: usize,
        /// How many D has.
        expected: usize,
    },
    /// An operand of another element type.
    #[error("{operand} holds {given}, but the kernel was built for {expected}: convert it, or build another kernel")]
    Type {
        /// Which.
        operand: String,
        /// What it holds.
        given: Dtype,
        /// What the kernel reads.
        expected: Dtype,
    },
    /// An operand in another order than the kernel was built for.
    #[error("{operand} has strides {row} (rows) and {column} (columns), but the kernel was built for a {}-major one, whose {} stride is 1: leave the layout `Auto`, or copy the operand", order.name(), if matches!(order, Order::Row) { "column" } else { "row" })]
    Order {
        /// Which.
        operand: String,
        /// Elements between rows.
        row: i64,
        /// Elements between columns.
        column: i64,
        /// The order that was fixed.
        order: Order,
    },
    /// An operand without a contiguous mode.
    #[error(
        "{operand} has strides {row} (rows) and {column} (columns): one of them must be 1, so copy it into a dense tensor"
    )]
    Strides {
        /// Which.
        operand: String,
        /// Elements between rows.
        row: i64,
        /// Elements between columns.
        column: i64,
    },
    /// An operand whose lines do not start at a whole byte.
    #[error(
        "{operand} of {dtype} has lines that start inside a byte (alignment {given}): give it a leading dimension of whole bytes"
    )]
    Misaligned {
        /// Which.
        operand: String,
        /// Its element.
        dtype: Dtype,
        /// The alignment it has, in bytes.
        given: usize,
    },
    /// An operand that begins inside an element of its memory, which no device reads.
    #[error("{operand} of {dtype} begins at {address:#x}: an element's address is a multiple of its {} bytes, so copy it to one", dtype.bits() / 8)]
    InsideElement {
        /// Which.
        operand: String,
        /// Its element.
        dtype: Dtype,
        /// Where it begins.
        address: u64,
    },
    /// An operand in the memory of another device.
    #[error("{operand} is in the memory of {given}, but the kernel was built for {expected}: copy it there first")]
    WrongDevice {
        /// Which.
        operand: String,
        /// Where it is.
        given: Space,
        /// Where the kernel runs.
        expected: Space,
    },
    /// A view of less memory than its extents span: null, usually.
    #[error("{operand} spans {needed} bytes, but {given} are there: pass the whole operand")]
    Short {
        /// Which.
        operand: String,
        /// Bytes from its first to its last element.
        needed: usize,
        /// Bytes of the view.
        given: usize,
    },
    /// A stream of another device.
    #[error("the stream belongs to {given}, but the kernel was built for {expected}: use a stream of that device")]
    WrongStream {
        /// Where the stream is.
        given: Space,
        /// Where the kernel runs.
        expected: Space,
    },
    /// An argument of the epilogue that does not fit.
    #[error(transparent)]
    Epilogue(#[from] warpwright_epilogue::BindError),
    /// Another epilogue than the one that was compiled.
    #[error(
        "this epilogue is `{given}`, but the kernel computes `{compiled}`: pass the same expression with other arguments, or build another kernel"
    )]
    Fusion {
        /// The expression of the call.
        given: String,
        /// The kernel's.
        compiled: String,
    },
    /// A plan that is not there while the stream is captured.
    #[error(
        "no plan is prepared for this problem, and none can be compiled while the stream is being captured: call `prepare(&problem)`, or run once before the capture begins"
    )]
    Unprepared,
    /// The kernel cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The kernel cannot execute this problem.
    #[error(transparent)]
    CanImplement(#[from] warpwright_kernels::CanImplementError),
    /// The call cannot be launched.
    #[error(transparent)]
    Call(#[from] warpwright_kernels::lower::CallError),
    /// A tensor of the call could not be made or copied.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Memory could not be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// No workspace.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The stream refused.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The launch failed.
    #[error(transparent)]
    Launch(#[from] warpwright_runtime::RunError),
    /// An operand that TMA cannot address.
    #[error(transparent)]
    TensorMap(#[from] TensorMapFault),
}

impl From<PlanError> for RunError {
    fn from(e: PlanError) -> Self {
        RunError::Build(BuildError::Plan(e))
    }
}
impl From<Violation> for RunError {
    fn from(v: Violation) -> Self {
        RunError::Build(BuildError::Rule(v))
    }
}
impl From<DeviceError> for RunError {
    fn from(e: DeviceError) -> Self {
        RunError::Build(BuildError::Device(e))
    }
}
impl From<LoadError> for RunError {
    fn from(e: LoadError) -> Self {
        RunError::Build(BuildError::Load(e))
    }
}
