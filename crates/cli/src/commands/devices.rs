//! `warpwright devices`: what runs here, and why not.

use super::print_json;
use crate::args::DevicesArgs;
use serde::Serialize;
use warpwright::runtime::nvrtc;
use warpwright::{ArchId, Device, DeviceInfo};

#[derive(Serialize)]
struct Report {
    devices: Vec<Found>,
    /// Why there is no CUDA device, or why one cannot be used.
    unavailable: Vec<String>,
    nvrtc: Compiler,
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
    if args.json {
        return print_json(&report);
    }
    for found in &report.devices {
        let Found { device, name, capability, processors, memory_bytes, tags } = found;
        match capability {
            Some(capability) => println!(
                "{device:<9} {name}, compute capability {capability}, {processors} SMs, {} GiB: runs {}",
                memory_bytes >> 30,
                tags.join(", ")
            ),
            None => println!("{device:<9} {name}, {processors} threads: runs {}", tags.join(", ")),
        }
    }
    for why in &report.unavailable {
        println!("{:<9} {why}", "no cuda");
    }
    match (&report.nvrtc.version, &report.nvrtc.unavailable) {
        (Some(version), _) => println!("{:<9} {version}, compiles kernels", "nvrtc"),
        (None, why) => println!("{:<9} {}", "no nvrtc", why.as_deref().unwrap_or_default()),
    }
    Ok(())
}

impl Report {
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
        Report { devices, unavailable, nvrtc }
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
