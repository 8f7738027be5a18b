//! What each GPU architecture can do, as plain values: the tags [`Sm75`] to [`Sm100`], their capacities, features and
//! tensor-core instructions, the [`Target`] that a tag is compiled for on a device, and [`DeviceInfo`].
//!
//! Nothing here touches a GPU, so plans are made and tested for any device on any machine.

mod capability;
mod device;
mod instruction;
mod rate;
mod tag;
mod target;

pub use capability::ComputeCapability;
pub use device::{ClusterResidency, DeviceInfo};
pub use instruction::{Extents, Family, Instruction, instructions, is_emulated};
pub use rate::{l2_bytes_per_cycle, mma_sync_rate, simt_rate};
pub use tag::{Arch, ArchId, Sm75, Sm80, Sm89, Sm90, Sm100};
pub use target::{ArchMismatch, Target, UnknownTarget, nvrtc_target};
