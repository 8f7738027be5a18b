//! `warpwright devices`: what runs here, and why not.

use super::{print, print_json};
use crate::args::DevicesArgs;
use serde::Serialize;
use std::fmt::Write;
use warpwright::runtime::nvrtc;
use warpwright::{ArchId, Device, DeviceInfo};

#[derive(Serialize)]
struct Report {
    devices: Vec<Found>,
    /// Why there is no CUDA device, or why one cannot be used.
    unavailable: Vec<String>,
    emulator: Emulator,
    nvrtc: Compiler,
}

#[derive(Serialize)]
struct Emulator {
    /// The architectures that are emulated.
    tags: Vec<&'static str>,
    /// Why there is none.
    unavailable: Option<String>,
}

#[derive(Serialize)]
struct Found {
    /// As `--device` takes it.
    device: String,
    name: String,
    /// Absent for the CPU.
    capability: Option<String>,
    /// Streaming multiprocessors; threads of the CPU.
    processors: u32,
    memory_bytes: u64,
    /// The architectures whose kernels run on it.
    tags: Vec<&'static str>,
}

#[derive(Serialize)]
struct Compiler {
    version: Option<String>,
    unavailable: Option<String>,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> anyhow::Result<()> {
    let report = Report::new();
    if args.json { print_json(&report) } else { Ok(print(report.text()?.as_bytes())?) }
}

impl Report {
    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut t = String::new();
        for Found { device, name, capability, processors, memory_bytes, tags } in &self.devices {
            let tags = tags.join(", ");
            match capability {
                Some(capability) => {
                    let memory = memory_bytes >> 30;
                    writeln!(
                        t,
                        "{device:<9} {name}, compute capability {capability}, {processors} SMs, {memory} GiB: runs {tags}"
                    )?;
                }
                None => writeln!(t, "{device:<9} {name}, {processors} threads: runs {tags}")?,
            }
        }
        for why in &self.unavailable {
            writeln!(t, "{:<9} {why}", "no cuda")?;
        }
        let tags = self.emulator.tags.join(", ");
        match &self.emulator.unavailable {
            None => {
                writeln!(t, "{:<9} kernels from their PTX on the CPU, every rule checked: runs {tags}", "emulator")?
            }
            Some(_) => writeln!(t, "{:<9} it needs NVRTC", "no emulator")?,
        }
        match (&self.nvrtc.version, &self.nvrtc.unavailable) {
            (Some(version), _) => writeln!(t, "{:<9} {version}, compiles kernels", "nvrtc")?,
            (None, why) => writeln!(t, "{:<9} {}", "no nvrtc", why.as_deref().unwrap_or_default())?,
        }
        Ok(t)
    }

    fn new() -> Report {
        let (mut devices, mut unavailable) = (Vec::new(), Vec::new());
        let mut found = Device::all();
        // The CPU, which is always there, first.
        found.rotate_right(1);
        for device in found {
            match device {
                Ok(device) => devices.push(Found::of(&device.space().to_string(), device.info())),
                Err(error) => unavailable.push(error.to_string()),
            }
        }
        let nvrtc = match nvrtc::version() {
            Ok((major, minor)) => Compiler { version: Some(format!("{major}.{minor}")), unavailable: None },
            Err(error) => Compiler { version: None, unavailable: Some(error.to_string()) },
        };
        let emulator = Emulator {
            tags: ArchId::ALL.iter().map(|tag| tag.lower_name()).collect(),
            unavailable: nvrtc.unavailable.clone(),
        };
        Report { devices, unavailable, emulator, nvrtc }
    }
}

impl Found {
    fn of(space: &str, info: &DeviceInfo) -> Found {
        Found {
            device: if info.is_host() { "host".into() } else { space.to_owned() },
            name: info.name.clone(),
            capability: info.capability.map(|c| c.to_string()),
            processors: info.sms,
            memory_bytes: info.memory_bytes,
            tags: ArchId::ALL.iter().filter(|&&tag| info.check_tag(tag).is_ok()).map(|tag| tag.lower_name()).collect(),
        }
    }
}
