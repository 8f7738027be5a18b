//! Asking the driver about a device.

use cudarc::driver::sys::CUdevice_attribute_enum::{self as Attribute, *};
use cudarc::driver::{CudaContext, DriverError};
use warpwright_arch::{ArchId, ClusterResidency, ComputeCapability, DeviceInfo};

use super::fault::fault;
use crate::DriverFault;

pub(super) fn query(context: &CudaContext) -> Result<DeviceInfo, DriverFault> {
    let describe = |error: DriverError| fault("cuDeviceGetAttribute", error);
    let attribute = |which: Attribute| context.attribute(which).map(|value| value.unsigned_abs()).map_err(describe);
    let capability = ComputeCapability::new(
        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let memory_clock = 1e3 * f64::from(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?);
    let bus_bytes = f64::from(attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?) / 8.0;
    Ok(DeviceInfo {
        name: context.name().map_err(|error| fault("cuDeviceGetName", error))?,
        capability: Some(capability),
        sms,
        smem_per_sm: attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        smem_optin: attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        smem_reserved: attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        registers_per_sm: attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        max_threads_per_sm: attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_blocks_per_sm: attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        l2_bytes: attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        memory_bytes: context.total_mem().map_err(|error| fault("cuDeviceTotalMem", error))? as u64,
        // Two transfers per clock.
        memory_bandwidth: 2.0 * memory_clock * bus_bytes,
        clock: 1e3 * f64::from(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?),
        cluster_residency: cluster_residency(capability, sms),
    })
}

/// The driver counts resident clusters for a kernel, not for a device (see `KernelInfo::max_active_clusters`); until there is
/// one, a device of a preset's size is taken to be fused like it.
fn cluster_residency(capability: ComputeCapability, sms: u32) -> Vec<ClusterResidency> {
    let alone = ClusterResidency { size: 1, clusters: sms };
    let preset = ArchId::newest_for(capability).map(DeviceInfo::preset).filter(|preset| preset.sms == sms);
    match preset {
        Some(preset) => preset.cluster_residency,
        None if capability.major >= 9 => vec![alone, ClusterResidency { size: 2, clusters: sms / 2 }],
        None => vec![alone],
    }
}
