//! Kernels composed from values: which tiles and depths are legal, what each plan occupies, and what the model expects.
//!
//!     cargo run --release --example by_value

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use warpwright::builder::auto::{OperandFacts, predict, resolve};
use warpwright::prelude::*;
use warpwright::{DeviceInfo, ScheduleId};

fn main() -> Result<(), Box<dyn Error>> {
    let device = DeviceInfo::h200();
    let problem = Problem::dense(4096, 4096, 4096);
    let base = GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32);
    let tiles = [(128, 256, 64), (256, 256, 32), (128, 128, 64), (100, 128, 32)].map(|(m, n, k)| Mnk { m, n, k });
    for desc in candidates(base, &tiles, &[ScheduleId::MULTISTAGE], &[Some(3), Some(8)]) {
        let what =
            format!("{:>11} x {}", desc.tile.map_or_else(String::new, |t| t.to_string()), desc.stages.unwrap_or(0));
        match desc.spec() {
            Err(rule) => println!("{what}  refused: {rule}"),
            Ok(spec) => {
                let plan = resolve(&spec, &device, &problem, &OperandFacts::K_MAJOR)?;
                let seconds = predict(&plan, &device, &problem).seconds;
                let kib = plan.resources.shared_bytes / 1024;
                println!("{what}  {kib} KiB of shared memory, {:.0} us expected on an {}", seconds * 1e6, device.name);
            }
        }
    }
    Ok(())
}
