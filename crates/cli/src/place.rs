//! Where a kernel runs.

use crate::args::DeviceArgs;
use crate::error::InputError;
use crate::request::count;
use std::str::FromStr;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::{ArchId, Device, DeviceError, DeviceInfo};

/// Where a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// The first GPU; where there is no NVIDIA device at all, the host.
    Auto,
    /// The CPU.
    Host,
    /// A GPU by its ordinal.
    Cuda(usize),
    /// An emulated GPU of an architecture: of the kernel's, where none is named.
    Emulator(Option<ArchId>),
}

impl Place {
    /// Reads `--device`.
    pub fn of(text: Option<&str>) -> Result<Place, InputError> {
        let Some(given) = text else { return Ok(Place::Auto) };
        let unknown = || InputError::Device { given: given.to_owned() };
        match given.split_once(':') {
            None if matches!(given, "host" | "cpu") => Ok(Place::Host),
            None if given == "cuda" => Ok(Place::Cuda(0)),
            None if given == "emulator" => Ok(Place::Emulator(None)),
            Some(("cuda", ordinal)) => usize::from_str(ordinal).map(Place::Cuda).map_err(|_| unknown()),
            Some(("emulator", tag)) => ArchId::from_name(tag).map(|tag| Place::Emulator(Some(tag))).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }

    /// The device for kernels of this tag. A GPU that is there and cannot be used is an error, not passed over.
    pub fn open(self, tag: ArchId) -> Result<Device, DeviceError> {
        match self {
            Place::Host => Ok(Device::host()),
            Place::Cuda(ordinal) => Device::cuda(ordinal),
            Place::Emulator(named) => EmulatorOptions::of_tag(named.unwrap_or(tag)).device(),
            Place::Auto => match Device::cuda(0) {
                Err(DeviceError::NoDriver { .. } | DeviceError::NoDevice) => Ok(Device::host()),
                found => found,
            },
        }
    }

    /// What is known of it, which needs no compiler.
    pub fn info(self, tag: ArchId) -> Result<DeviceInfo, DeviceError> {
        match self {
            Place::Emulator(named) => Ok(EmulatorOptions::of_tag(named.unwrap_or(tag)).info().clone()),
            _ => self.open(tag).map(|device| device.info().clone()),
        }
    }
}

/// A place, and how it is emulated.
pub struct Running {
    place: Place,
    seed: u64,
    profile: bool,
}

impl Running {
    /// Reads the options.
    pub fn of(args: &DeviceArgs) -> Result<Running, InputError> {
        let place = Place::of(args.device.as_deref())?;
        let seed = args.seed.as_deref().map(|text| count("seed", text, 0)).transpose()?;
        if !matches!(place, Place::Emulator(_)) {
            let asked = [("seed", seed.is_some()), ("report", args.report)];
            if let Some((flag, _)) = asked.into_iter().find(|(_, given)| *given) {
                return Err(InputError::EmulatorAlone { flag });
            }
        }
        Ok(Running { place, seed: seed.unwrap_or(0) as u64, profile: args.report })
    }

    /// The device for kernels of this tag.
    pub fn open(&self, tag: ArchId) -> Result<Device, DeviceError> {
        match self.place {
            Place::Emulator(named) => {
                let options = EmulatorOptions::of_tag(named.unwrap_or(tag));
                options.seed(self.seed).profile(self.profile).device()
            }
            place => place.open(tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read() {
        assert_eq!(Place::of(None), Ok(Place::Auto));
        assert_eq!(Place::of(Some("cuda:3")), Ok(Place::Cuda(3)));
        assert_eq!(Place::of(Some("emulator")), Ok(Place::Emulator(None)));
        assert_eq!(Place::of(Some("emulator:sm90")), Ok(Place::Emulator(Some(ArchId::SM90))));
        for wrong in ["cuda:", "cuda:x", "gpu", "cuda:-1", "host:0", "emulator:", "emulator:0", "emulator:sm90a"] {
            assert!(matches!(Place::of(Some(wrong)), Err(InputError::Device { .. })), "{wrong}");
        }
    }

    #[test]
    fn an_emulated_device_is_the_kernels_unless_it_is_named() {
        let capability = |place: Place| place.info(ArchId::SM80).unwrap().capability.unwrap().number();
        assert_eq!(capability(Place::Emulator(None)), 80);
        assert_eq!(capability(Place::Emulator(Some(ArchId::SM90))), 90);
    }

    #[test]
    fn what_only_the_emulator_knows_needs_it() {
        let with = |device: &str, seed: Option<&str>, report| DeviceArgs {
            device: Some(device.into()),
            seed: seed.map(str::to_owned),
            report,
        };
        assert!(Running::of(&with("emulator", Some("7"), true)).is_ok());
        assert!(Running::of(&with("host", None, false)).is_ok());
        assert_eq!(
            Running::of(&with("host", Some("7"), false)).err(),
            Some(InputError::EmulatorAlone { flag: "seed" })
        );
        assert_eq!(Running::of(&with("cuda:0", None, true)).err(), Some(InputError::EmulatorAlone { flag: "report" }));
    }
}
