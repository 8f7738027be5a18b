//! Which GPU is emulated, and how.

use warpwright_arch::{ArchId, ClusterResidency, DeviceInfo};
use warpwright_emulator::{Checks, Completion, Config};

use super::EmulatorBackend;
use crate::{Device, DeviceError};

/// Multiprocessors of an emulated GPU whose properties nobody chose: a persistent kernel then starts few blocks, and each
/// works on several tiles of a small problem.
const SMS: u32 = 4;

/// Memory of an emulated GPU whose properties nobody chose, in bytes. The process has to have what is used of it.
const MEMORY: u64 = 4 << 30;

/// What an emulated GPU is to be. [`device`](Self::device) makes it; every one has its own memory.
///
/// ```no_run
/// use warpwright_arch::ArchId;
/// use warpwright_runtime::emulator::{Checks, EmulatorOptions};
///
/// // As `Device::emulator::<Sm80>()`, by another interleaving of warps and moments of completion.
/// let another = EmulatorOptions::of_tag(ArchId::SM80).seed(3).device()?;
/// // Only what ends a run anyway is checked, several times as fast.
/// let fast = EmulatorOptions::of_tag(ArchId::SM90).checks(Checks::NONE).device()?;
/// # Ok::<(), warpwright_runtime::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EmulatorOptions {
    info: DeviceInfo,
    seed: u64,
    checks: Checks,
    completion: Completion,
    profile: bool,
    patience: Option<u64>,
    steps: Option<u64>,
}

impl EmulatorOptions {
    /// The device that [`DeviceInfo::preset`] names for a tag, with 4 multiprocessors and 4 GiB of memory; every check on,
    /// seed 0.
    pub fn of_tag(tag: ArchId) -> EmulatorOptions {
        let mut info = DeviceInfo::preset(tag);
        info.memory_bytes = MEMORY;
        EmulatorOptions::of(info).sms(SMS)
    }

    /// A device with these properties, as large as they say; every check on, seed 0.
    pub fn of(mut info: DeviceInfo) -> EmulatorOptions {
        info.name.push_str(" (emulated)");
        EmulatorOptions {
            info,
            seed: 0,
            checks: Checks::ALL,
            completion: Completion::Seeded,
            profile: false,
            patience: None,
            steps: None,
        }
    }

    /// Picks the interleaving of warps and, with [`Completion::Seeded`], when asynchronous operations land; the same seed,
    /// the same run. Seed 1 modulo 4 lets them land early, 2 late, the others in any order.
    pub fn seed(mut self, seed: u64) -> EmulatorOptions {
        self.seed = seed;
        self
    }

    /// Which rules are checked.
    pub fn checks(mut self, checks: Checks) -> EmulatorOptions {
        self.checks = checks;
        self
    }

    /// When asynchronous operations land, whatever the seed says.
    pub fn completion(mut self, completion: Completion) -> EmulatorOptions {
        self.completion = completion;
        self
    }

    /// Whether shared-memory wavefronts and bank conflicts are counted.
    pub fn profile(mut self, profile: bool) -> EmulatorOptions {
        self.profile = profile;
        self
    }

    /// Warp instructions without any effect on another warp after which a kernel that spins counts as hanging, 2²⁴ unless set.
    pub fn patience(mut self, instructions: u64) -> EmulatorOptions {
        self.patience = Some(instructions);
        self
    }

    /// Warp instructions after which a launch counts as endless, 2³⁴ (an hour or more) unless set.
    pub fn steps(mut self, instructions: u64) -> EmulatorOptions {
        self.steps = Some(instructions);
        self
    }

    /// Multiprocessors, at least 1. Clusters fit as they do on the whole device, but at least one of every size does.
    pub fn sms(mut self, sms: u32) -> EmulatorOptions {
        let (sms, whole) = (sms.max(1), self.info.sms.max(1));
        for ClusterResidency { clusters, .. } in &mut self.info.cluster_residency {
            let scaled = u64::from(*clusters) * u64::from(sms) / u64::from(whole);
            *clusters = u32::try_from(scaled).unwrap_or(u32::MAX).max(1);
        }
        self.info.sms = sms;
        self
    }

    /// The device's properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The seed.
    pub fn chosen_seed(&self) -> u64 {
        self.seed
    }

    /// The device.
    ///
    /// # Errors
    /// [`DeviceError::NotEmulated`] for a device that is no GPU, or whose capability is no tag's own;
    /// [`DeviceError::NoNvrtc`] without NVRTC, which says what to install.
    pub fn device(self) -> Result<Device, DeviceError> {
        EmulatorBackend::device(self)
    }

    pub(super) fn config(&self) -> Result<Config, DeviceError> {
        let is_own = |tag: &ArchId| self.info.capability == Some(tag.capability());
        let Some(arch) = self.info.newest_tag().filter(is_own) else {
            return Err(DeviceError::NotEmulated { device: self.info.name.clone() });
        };
        let usual = Config::new(arch);
        Ok(Config {
            seed: self.seed,
            checks: self.checks,
            completion: self.completion,
            profile: self.profile,
            patience: self.patience.unwrap_or(usual.patience),
            steps: self.steps.unwrap_or(usual.steps),
            // 0 where the properties do not tell.
            memory_bytes: if self.info.memory_bytes == 0 { usual.memory_bytes } else { self.info.memory_bytes },
            ..usual
        })
    }
}
