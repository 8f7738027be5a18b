//! The case table that every backend and mainloop runs, and what decides whether an answer is right.
//!
//! ```text
//! cases/*.toml ── Case ── Prepared (byte buffers with guards) ── Runner ── Outcome ─┐
//!                             └── Reference (f64, own loops, own epilogue) ──────────┴── judge ── Report
//! cases/expected.json.gz (NumPy) ── Outside ── checks Reference and outputs from outside
//! ```
//!
//! The reference shares nothing with the kernels but the element types' conversions: it has its own parser for the
//! epilogue notation, its own strides and its own zero rule. Whoever runs the table implements [`Runner`].

/// Why tests that compile are skipped: NVRTC is missing. Where nothing may be missing that is a failure.
pub fn nvrtc_missing() -> Option<String> {
    let missing = warpwright::runtime::nvrtc::version().err()?.to_string();
    assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
    Some(missing)
}

/// Leaves a test, saying so, where NVRTC is missing, with what is given.
#[macro_export]
macro_rules! need_nvrtc {
    ($($otherwise:expr)?) => {
        if let Some(missing) = $crate::nvrtc_missing() {
            println!("SKIPPED: {missing}");
            return $($otherwise)?;
        }
    };
}

pub mod case;
pub mod chain;
pub mod choice;
pub mod compare;
pub mod emulated;
pub mod expected;
pub mod expression;
pub mod few_rows;
pub mod functions;
pub mod fuzz;
pub mod launched;
pub mod layouts;
pub mod library;
pub mod micro;
pub mod naive;
pub mod operand;
pub mod pairwise;
pub mod pattern;
pub mod prepare;
pub mod random;
pub mod reference;
pub mod roles;
pub mod runner;
pub mod sinks;
pub mod stand_in;
pub mod user;
pub mod watchdog;

pub use case::{Case, DeviceKind, ErrorKind, Expect, Order, Plan};
pub use compare::{Report, Verdict, judge};
pub use expected::Outside;
pub use operand::Operand;
pub use prepare::{Binding, Prepared};
pub use reference::Reference;
pub use runner::{Outcome, Runner, run};
