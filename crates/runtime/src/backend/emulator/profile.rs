//! What an emulated device did: a functional profile.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use warpwright_emulator::{Machine, Report};

use super::EmulatorOptions;
use crate::Space;

/// Launches that are remembered: the oldest go first.
const REMEMBERED: usize = 4096;

/// One launch and its counts.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LaunchProfile {
    /// The kernel.
    pub entry: String,
    /// Blocks, in x, y and z.
    pub grid: [u32; 3],
    /// What it did.
    pub report: Report,
}

/// What is special about an emulated device; see [`Device::emulated`](crate::Device::emulated).
#[derive(Debug)]
pub struct Emulated {
    pub(super) options: EmulatorOptions,
    pub(super) space: Space,
    /// What one launch or copy at a time may use.
    pub(super) machine: Mutex<Machine>,
    pub(super) launches: Mutex<VecDeque<LaunchProfile>>,
}

impl Emulated {
    /// What it was made with.
    pub fn options(&self) -> &EmulatorOptions {
        &self.options
    }

    /// The launches that ended without a fault since this was last asked, in order; of more than 4,096, the newest.
    pub fn take_launches(&self) -> Vec<LaunchProfile> {
        std::mem::take(&mut *self.launches.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    pub(super) fn remember(&self, launch: LaunchProfile) {
        let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        if launches.len() == REMEMBERED {
            launches.pop_front();
        }
        launches.push_back(launch);
    }
}
