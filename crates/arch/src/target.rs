//! The tag says which instructions may be used, the target is what NVRTC compiles for.

use std::fmt;
use std::str::FromStr;

use crate::{ArchId, ComputeCapability};

/// What NVRTC compiles for: `sm_86`, `sm_90a`. A target with the suffix runs on that capability alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// The capability compiled for.
    pub capability: ComputeCapability,
    /// Whether instructions of this capability alone are allowed (the `a` suffix).
    pub specific: bool,
}

impl Target {
    /// A device's own target: the suffix is used from 9.0 on, where it exists.
    pub const fn of_device(capability: ComputeCapability) -> Target {
        Target { capability, specific: capability.major >= 9 }
    }

    /// The target of a tag on a device of the tag's own capability.
    pub const fn of_tag(tag: ArchId) -> Target {
        Target::of_device(tag.capability())
    }

    /// Whether a cubin for this target loads on a device of the given capability.
    pub const fn loads_on(self, device: ComputeCapability) -> bool {
        let same_major = self.capability.major == device.major;
        if self.specific {
            same_major && self.capability.minor == device.minor
        } else {
            same_major && self.capability.minor <= device.minor
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.capability.number(), if self.specific { "a" } else { "" })
    }
}

/// Text that names no target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a compilation target: targets are written `sm_80`, `sm_86`, `sm_90a`, `sm_100a`")]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        let unknown = || UnknownTarget(text.to_owned());
        let rest = text.strip_prefix("sm_").ok_or_else(unknown)?;
        let digits = rest.strip_suffix('a').unwrap_or(rest);
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unknown());
        }
        let number: u32 = digits.parse().map_err(|_| unknown())?;
        Ok(Target {
            capability: ComputeCapability::new(number / 10, number % 10),
            specific: digits.len() != rest.len(),
        })
    }
}

/// A tag whose kernels a device cannot run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ArchMismatch {
    /// The tag asked for.
    pub tag: ArchId,
    /// What the device is.
    pub device: ComputeCapability,
}

impl fmt::Display for ArchMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArchMismatch { tag, device } = *self;
        let rule = if tag.is_specific() { "alone" } else { "or newer" };
        write!(
            f,
            "{tag} kernels run on compute capability {} {rule}, and this device has {device}: ",
            tag.capability()
        )?;
        match ArchId::newest_for(device) {
            Some(newest) => write!(f, "use the tag {newest}"),
            None => write!(f, "no tag fits it, use a device of capability {} or newer", ArchId::SM75.capability()),
        }
    }
}

impl std::error::Error for ArchMismatch {}

/// The target that kernels of `tag` are compiled for on a device of capability `device`.
///
/// `Sm75`, `Sm80` and `Sm89` run on any device of at least that capability, compiled for the device's own target (on 9.0
/// that is `sm_90a`). `Sm90` and `Sm100` run on their own capability alone.
///
/// # Errors
/// [`ArchMismatch`] for anything else: never a silent slow path.
pub fn nvrtc_target(tag: ArchId, device: ComputeCapability) -> Result<Target, ArchMismatch> {
    if tag.runs_on(device) { Ok(Target::of_device(device)) } else { Err(ArchMismatch { tag, device }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(tag: ArchId, major: u32, minor: u32) -> Result<String, String> {
        nvrtc_target(tag, ComputeCapability::new(major, minor)).map(|t| t.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn old_tags_compile_for_the_device() {
        for tag in [ArchId::SM75, ArchId::SM80, ArchId::SM89] {
            assert_eq!(target(tag, 9, 0).unwrap(), "sm_90a");
            assert_eq!(target(tag, 10, 0).unwrap(), "sm_100a");
            assert_eq!(target(tag, 12, 0).unwrap(), "sm_120a");
        }
        assert_eq!(target(ArchId::SM80, 8, 6).unwrap(), "sm_86");
        assert_eq!(target(ArchId::SM75, 8, 9).unwrap(), "sm_89");
        assert_eq!(target(ArchId::SM75, 7, 5).unwrap(), "sm_75");
    }

    #[test]
    fn new_tags_run_on_their_own_capability_alone() {
        assert_eq!(target(ArchId::SM90, 9, 0).unwrap(), "sm_90a");
        assert_eq!(target(ArchId::SM100, 10, 0).unwrap(), "sm_100a");
        for (tag, major, minor) in [
            (ArchId::SM90, 8, 0),
            (ArchId::SM90, 10, 0),
            (ArchId::SM90, 12, 0),
            (ArchId::SM100, 9, 0),
            (ArchId::SM100, 10, 3),
        ] {
            let error = target(tag, major, minor).unwrap_err();
            assert!(error.contains(tag.name()) && error.contains(&format!("{major}.{minor}")), "{error}");
        }
    }

    #[test]
    fn a_mismatch_names_both_and_the_remedy() {
        assert_eq!(
            target(ArchId::SM100, 9, 0).unwrap_err(),
            "Sm100 kernels run on compute capability 10.0 alone, and this device has 9.0: use the tag Sm90"
        );
        assert_eq!(
            target(ArchId::SM89, 8, 0).unwrap_err(),
            "Sm89 kernels run on compute capability 8.9 or newer, and this device has 8.0: use the tag Sm80"
        );
        assert_eq!(
            target(ArchId::SM75, 7, 0).unwrap_err(),
            "Sm75 kernels run on compute capability 7.5 or newer, and this device has 7.0: no tag fits it, use a device of \
             capability 7.5 or newer"
        );
    }

    #[test]
    fn targets_are_read_and_written() {
        for text in ["sm_75", "sm_86", "sm_90", "sm_90a", "sm_100a", "sm_121a"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for wrong in ["", "sm90", "compute_90a", "sm_9", "sm_90f", "sm_a", "sm_+90", "sm_1000"] {
            assert_eq!(wrong.parse::<Target>(), Err(UnknownTarget(wrong.into())));
        }
    }

    #[test]
    fn a_specific_cubin_loads_on_its_capability_alone() {
        let parse = |text: &str| text.parse::<Target>().unwrap();
        assert!(parse("sm_90a").loads_on(ComputeCapability::new(9, 0)));
        assert!(!parse("sm_100a").loads_on(ComputeCapability::new(10, 3)));
        assert!(parse("sm_80").loads_on(ComputeCapability::new(8, 6)));
        assert!(!parse("sm_86").loads_on(ComputeCapability::new(8, 0)));
        assert!(!parse("sm_80").loads_on(ComputeCapability::new(9, 0)));
    }
}
