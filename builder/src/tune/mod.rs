//! Winners of races, remembered: what was measured on a device goes before what the model predicts for it.
//!
//! A kernel of which every slot is open asks [`Tuning::global`] for its problem when it is planned. A record names what a
//! plan decides ([`PlanChoice`]), not the plan: it is looked for among the plans that there are now, and one that is not there
//! any more, like a file that cannot be read, is passed over with one warning.
//!
//! ```no_run
//! use warpwright_builder::race::{RaceProblem, RaceRules, race};
//! use warpwright_builder::tune::{Tuning, shortlist};
//! use warpwright_numeric::Dtype;
//! use warpwright_runtime::Device;
//! use warpwright_spec::{GemmDesc, Mnk};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::cuda(0)?;
//! let problem = RaceProblem::new(Mnk { m: 16, n: 4096, k: 4096 }, Dtype::Bf16);
//! let desc = GemmDesc::native(device.info(), Dtype::Bf16, Dtype::F32);
//! let table = race(&device, &problem, &shortlist(&desc, device.info(), &problem, 12)?, &RaceRules::default())?;
//! Tuning::global().remember(device.info(), &table)?;
//! # Ok(())
//! # }
//! ```

mod choice;
mod class;
mod error;
mod file;
mod shortlist;
mod tuning;

pub use choice::PlanChoice;
pub use error::TuningError;
pub use shortlist::shortlist;
pub use tuning::Tuning;
