use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a winner was not remembered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TuningError {
    /// There is no file to write to.
    #[error(
        "winners have no file to be remembered in: set WARPWRIGHT_TUNING to one, or WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME or HOME to a directory"
    )]
    NoFile,
    /// The file cannot be written.
    #[error("{} cannot be written ({source}): set WARPWRIGHT_TUNING to a file that can", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No kernel of ours ran.
    #[error("none of our kernels ran in this race, so that there is no winner to remember: its refusals say why")]
    NoWinner,
}
