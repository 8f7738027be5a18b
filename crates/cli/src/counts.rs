//! What an emulated run did, for people and for machines.

use serde::{Serialize, Serializer};
use std::fmt::{self, Write};
use warpwright::Device;
use warpwright::runtime::emulator::LaunchProfile;

/// The counts of one launch.
#[derive(Serialize)]
pub struct Launched {
    kernel: String,
    grid: [u32; 3],
    #[serde(serialize_with = "by_name")]
    counts: Vec<(&'static str, u64)>,
}

/// As an object, in the order of the counts.
fn by_name<S: Serializer>(counts: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}

/// The launches of an emulated device since it was last asked; none of others.
pub fn launches(device: &Device) -> Vec<Launched> {
    let taken = device.emulated().map(|emulated| emulated.take_launches()).unwrap_or_default();
    let one = |LaunchProfile { entry, grid, report, .. }: LaunchProfile| Launched {
        kernel: entry,
        grid,
        counts: report.counts().to_vec(),
    };
    taken.into_iter().map(one).collect()
}

/// Them as text.
pub fn write(t: &mut String, launches: &[Launched]) -> fmt::Result {
    for Launched { kernel, grid: [x, y, z], counts } in launches {
        writeln!(t, "launch   {kernel}, {x} x {y} x {z} blocks")?;
        for (name, count) in counts {
            writeln!(t, "         {:<22} {count:>14}", name.replace('_', " "))?;
        }
    }
    Ok(())
}
