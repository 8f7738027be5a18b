//! The driver's errors in its own words.

use std::ffi::CStr;

use cudarc::driver::DriverError;

use crate::{DriverFault, MemoryError, Space};

/// Describes an error that the driver returned, so the driver is there to be asked.
pub(super) fn fault(call: &'static str, error: DriverError) -> DriverFault {
    let words =
        |text: Result<&CStr, DriverError>| text.map_or_else(|_| "unknown".into(), |t| t.to_string_lossy().into_owned());
    DriverFault { call, code: error.0 as u32, name: words(error.error_name()), text: words(error.error_string()) }
}

/// As [`fault`], for calls that allocate.
pub(super) fn memory_error(call: &'static str, error: DriverError, space: Space, bytes: usize) -> MemoryError {
    match error.0 {
        cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => MemoryError::OutOfMemory { space, bytes },
        _ => fault(call, error).into(),
    }
}
