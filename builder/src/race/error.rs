//! What may be wrong with a race, and with those who enter it.

use crate::error::RunError;
use warpwright_numeric::Dtype;
use warpwright_runtime::cublaslt::CublasLtError;
use warpwright_runtime::{StreamError, TensorError};
use warpwright_spec::Mnk;

/// A race that does not take place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RaceError {
    /// Nobody enters.
    #[error("nobody enters the race: give entrants, or let cuBLASLt enter")]
    NoEntrants,
    /// Nothing is measured.
    #[error("a race of 0 rounds measures nothing: give 1 round or more")]
    NoRounds,
    /// Nothing to multiply.
    #[error("{batch} x {mnk} has no elements, so there is nothing to time: give extents of 1 or more")]
    Empty {
        /// The extents.
        mnk: Mnk,
        /// How many products.
        batch: usize,
    },
    /// An entrant of other elements than the problem's.
    #[error("{entrant} multiplies {} by {} into {}, but the race is of {} by {} into {}: enter it into a race of its own elements", given.0, given.1, given.2, raced.0, raced.1, raced.2)]
    Types {
        /// The entrant.
        entrant: String,
        /// Its A, B and D.
        given: (Dtype, Dtype, Dtype),
        /// The problem's.
        raced: (Dtype, Dtype, Dtype),
    },
    /// An entrant that computes something else.
    #[error("{entrant} computes {epilogue}, but a race is of D = A * B: enter it with the epilogue acc()")]
    Epilogue {
        /// The entrant.
        entrant: String,
        /// What it computes.
        epilogue: String,
    },
    /// An entrant with operands beside A and B.
    #[error("{entrant} reads scale factors, but a race is of D = A * B: enter it without scales")]
    Scales {
        /// The entrant.
        entrant: String,
    },
    /// A device whose streams do not time.
    #[error("{device} does not time its work ({source}): race on Device::host() or Device::cuda(i)")]
    Untimed {
        /// The device.
        device: String,
        /// The stream's words.
        source: StreamError,
    },
    /// An entrant that ran before and does not now.
    #[error("{entrant} failed during the race: {reason}")]
    Failed {
        /// The entrant.
        entrant: String,
        /// Why.
        reason: Box<RaceRefusalReason>,
    },
    /// cuBLASLt, where it alone is timed.
    #[error(transparent)]
    Library(Box<RaceRefusalReason>),
    /// An operand could not be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The stream refused.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl RaceError {
    pub(super) fn failed(entrant: &str, reason: RaceRefusalReason) -> RaceError {
        RaceError::Failed { entrant: entrant.to_owned(), reason: Box::new(reason) }
    }
}

/// Why an entrant does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RaceRefusalReason {
    /// A kernel that cannot be built or run.
    #[error(transparent)]
    Kernel(#[from] RunError),
    /// cuBLASLt, or what it says.
    #[error(transparent)]
    Library(#[from] CublasLtError),
    /// A wrong result.
    #[error(transparent)]
    Wrong(#[from] RaceWrong),
    /// Memory that could not be used.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The stream refused, which may be the first to tell of a kernel's fault.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// An element of D that is not the product.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("D[{batch}]({row}, {column}) is {got}, but the product is {want}, give or take {allowed:.1e}")]
pub struct RaceWrong {
    /// The batch entry.
    pub batch: usize,
    /// The row.
    pub row: usize,
    /// The column.
    pub column: usize,
    /// What was computed.
    pub got: f64,
    /// What is right.
    pub want: f64,
    /// How far off it may be.
    pub allowed: f64,
}
