//! A device as a plain value.

use crate::{ArchId, ArchMismatch, ComputeCapability};

/// How many clusters of one size are resident at once, at one block per SM.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClusterResidency {
    /// Blocks in the cluster.
    pub size: u32,
    /// Clusters that run at the same time.
    pub clusters: u32,
}

/// What plans need to know of a device. A plain value: presets stand for devices that are not there.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceInfo {
    /// The product's name.
    pub name: String,
    /// The compute capability, `None` for the CPU, on which every tag runs.
    pub capability: Option<ComputeCapability>,
    /// Streaming multiprocessors; on the CPU, threads.
    pub sms: u32,
    /// Shared memory of one SM, in bytes.
    pub smem_per_sm: u32,
    /// Shared memory that one block may opt in to, in bytes.
    pub smem_optin: u32,
    /// Shared memory that the driver keeps in each resident block, in bytes.
    pub smem_reserved: u32,
    /// 32-bit registers of one SM.
    pub registers_per_sm: u32,
    /// Threads that may be resident on one SM.
    pub max_threads_per_sm: u32,
    /// Blocks that may be resident on one SM.
    pub max_blocks_per_sm: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Device memory, in bytes; 0 where unknown.
    pub memory_bytes: u64,
    /// Memory bandwidth of the data sheet, in bytes per second.
    pub memory_bandwidth: f64,
    /// The highest clock of an SM, in Hz.
    pub clock: f64,
    /// Resident clusters per cluster size, smallest size first. Devices differ by how they were fused: a real device's table
    /// is queried.
    pub cluster_residency: Vec<ClusterResidency>,
}

impl DeviceInfo {
    /// NVIDIA T4 (data sheet).
    pub fn t4() -> DeviceInfo {
        DeviceInfo {
            memory_bytes: 15 << 30,
            memory_bandwidth: 320e9,
            clock: 1.59e9,
            ..gpu("Tesla T4", ArchId::SM75, 40, 4 << 20, &[])
        }
    }

    /// NVIDIA A100 SXM4 80 GB (data sheet).
    pub fn a100() -> DeviceInfo {
        DeviceInfo {
            memory_bytes: 80 << 30,
            memory_bandwidth: 2039e9,
            clock: 1.41e9,
            ..gpu("NVIDIA A100-SXM4-80GB", ArchId::SM80, 108, 40 << 20, &[])
        }
    }

    /// NVIDIA L40S (data sheet).
    pub fn l40s() -> DeviceInfo {
        DeviceInfo {
            memory_bytes: 48 << 30,
            memory_bandwidth: 864e9,
            clock: 2.52e9,
            ..gpu("NVIDIA L40S", ArchId::SM89, 142, 96 << 20, &[])
        }
    }

    /// NVIDIA H100 SXM5 80 GB (data sheet; cluster residency as measured on an H200, which has as many SMs).
    pub fn h100() -> DeviceInfo {
        DeviceInfo {
            memory_bytes: 80 << 30,
            memory_bandwidth: 3350e9,
            clock: 1.98e9,
            ..gpu("NVIDIA H100 80GB HBM3", ArchId::SM90, 132, 50 << 20, HOPPER_CLUSTERS)
        }
    }

    /// NVIDIA H200 SXM (read off a device; bandwidth from the data sheet).
    pub fn h200() -> DeviceInfo {
        DeviceInfo {
            memory_bytes: 143_071 << 20,
            memory_bandwidth: 4800e9,
            clock: 1.98e9,
            ..gpu("NVIDIA H200", ArchId::SM90, 132, 62_914_560, HOPPER_CLUSTERS)
        }
    }

    /// NVIDIA B200 (data sheet; cluster residency assumes that all SMs pair).
    pub fn b200() -> DeviceInfo {
        DeviceInfo {
            memory_bytes: 180 << 30,
            memory_bandwidth: 8000e9,
            clock: 1.965e9,
            ..gpu("NVIDIA B200", ArchId::SM100, 148, 126 << 20, &[(2, 74)])
        }
    }

    /// The preset that stands for a tag: the device that its kernels are first made for.
    pub fn preset(tag: ArchId) -> DeviceInfo {
        match tag {
            ArchId::SM75 => DeviceInfo::t4(),
            ArchId::SM80 => DeviceInfo::a100(),
            ArchId::SM89 => DeviceInfo::l40s(),
            ArchId::SM90 => DeviceInfo::h200(),
            ArchId::SM100 => DeviceInfo::b200(),
        }
    }

    /// The CPU of this machine. Every tag runs on it, so its capacities are the largest of any tag, and its bandwidth and
    /// clock are nominal: plans for the CPU are chosen for their tiles, not for time.
    pub fn host() -> DeviceInfo {
        let threads = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
        DeviceInfo {
            name: "CPU".into(),
            capability: None,
            sms: threads,
            memory_bytes: 0,
            memory_bandwidth: 20e9,
            clock: 3e9,
            ..gpu("CPU", ArchId::SM100, threads, 32 << 20, HOST_CLUSTERS)
        }
    }

    /// Whether this is the CPU.
    pub fn is_host(&self) -> bool {
        self.capability.is_none()
    }

    /// Whether kernels of `tag` run here; on the CPU, all do.
    ///
    /// # Errors
    /// [`ArchMismatch`], which names the tag, the device's capability and the tag to use.
    pub fn check_tag(&self, tag: ArchId) -> Result<(), ArchMismatch> {
        match self.capability {
            Some(capability) => crate::nvrtc_target(tag, capability).map(drop),
            None => Ok(()),
        }
    }

    /// The newest tag that runs here; on the CPU, the newest there is.
    pub fn newest_tag(&self) -> Option<ArchId> {
        match self.capability {
            Some(capability) => ArchId::newest_for(capability),
            None => ArchId::ALL.last().copied(),
        }
    }

    /// Blocks of `threads` threads, `registers` registers per thread and `smem` bytes of shared memory that fit on one SM.
    pub fn blocks_per_sm(&self, threads: u32, registers: u32, smem: u32) -> u32 {
        const WARP: u32 = 32;
        const REGISTER_UNIT: u32 = 256; // Registers are handed out to warps in units of this many.
        let smem_unit = if self.capability.is_some_and(|c| c.major < 8) { 256 } else { 128 };
        let warps = threads.div_ceil(WARP).max(1);
        if threads > 1024 || smem > self.smem_optin {
            return 0;
        }
        let by_threads = self.max_threads_per_sm / (warps * WARP);
        let per_warp = (registers.max(1) * WARP).next_multiple_of(REGISTER_UNIT);
        // Each of the SM's four partitions has a quarter of the registers, and a warp lives in one.
        let by_registers = self.registers_per_sm / 4 / per_warp * 4 / warps;
        let block_smem = (u64::from(smem) + u64::from(self.smem_reserved)).next_multiple_of(smem_unit);
        let by_smem = u64::from(self.smem_per_sm).checked_div(block_smem).map_or(u32::MAX, |n| n as u32);
        by_threads.min(by_registers).min(by_smem).min(self.max_blocks_per_sm)
    }

    /// Clusters of `size` blocks that are resident at once, at one block per SM. A size that the table lacks is estimated
    /// from below: SMs are fused off unevenly, which costs about a tenth of the clusters.
    pub fn max_clusters(&self, size: u32) -> u32 {
        if size <= 1 {
            return self.sms;
        }
        match self.cluster_residency.iter().find(|entry| entry.size == size) {
            Some(entry) => entry.clusters,
            None if self.cluster_residency.iter().all(|entry| entry.size == 1) => 0,
            None => {
                let ideal = self.sms / size;
                ideal - ideal.div_ceil(10)
            }
        }
    }
}

/// Resident clusters on an H200 (132 SMs), as its driver reports them for blocks that fill an SM.
const HOPPER_CLUSTERS: &[(u32, u32)] =
    &[(2, 66), (3, 39), (4, 30), (5, 22), (6, 17), (7, 15), (8, 15), (9, 9), (10, 7), (12, 7), (14, 7), (16, 7)];

/// The CPU runs a cluster's blocks one after another, so one cluster of any size is always resident.
const HOST_CLUSTERS: &[(u32, u32)] =
    &[(2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1), (12, 1), (14, 1), (16, 1)];

fn gpu(name: &str, tag: ArchId, sms: u32, l2_bytes: u64, clusters: &[(u32, u32)]) -> DeviceInfo {
    let whole = ClusterResidency { size: 1, clusters: sms };
    DeviceInfo {
        name: name.into(),
        capability: Some(tag.capability()),
        sms,
        smem_per_sm: tag.smem_per_sm(),
        smem_optin: tag.smem_optin(),
        smem_reserved: tag.smem_reserved(),
        registers_per_sm: tag.registers_per_sm(),
        max_threads_per_sm: tag.max_threads_per_sm(),
        max_blocks_per_sm: tag.max_blocks_per_sm(),
        l2_bytes,
        memory_bytes: 0,
        memory_bandwidth: 0.0,
        clock: 0.0,
        cluster_residency: std::iter::once(whole)
            .chain(clusters.iter().map(|&(size, clusters)| ClusterResidency { size, clusters }))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_consistent() {
        for &tag in ArchId::ALL {
            let info = DeviceInfo::preset(tag);
            assert_eq!(info.newest_tag(), Some(tag), "{}", info.name);
            assert!(info.memory_bandwidth > 1e11 && info.clock > 1e9 && info.memory_bytes > 0, "{}", info.name);
            assert_eq!(info.max_clusters(1), info.sms);
            assert_eq!(info.max_clusters(2) > 0, tag.clusters());
            for entry in &info.cluster_residency {
                assert!(entry.size * entry.clusters <= info.sms, "{} {entry:?}", info.name);
            }
        }
    }

    #[test]
    fn every_tag_runs_on_the_cpu() {
        let host = DeviceInfo::host();
        assert!(host.is_host() && host.sms >= 1);
        for &tag in ArchId::ALL {
            assert_eq!(host.check_tag(tag), Ok(()));
            assert!(host.smem_optin >= tag.smem_optin());
        }
    }

    #[test]
    fn occupancy_of_an_h200() {
        let h200 = DeviceInfo::h200();
        // Measured: two blocks up to 115,712 bytes each, one from 116,224.
        assert_eq!(h200.blocks_per_sm(384, 64, 115_712), 2);
        assert_eq!(h200.blocks_per_sm(384, 64, 116_224), 1);
        assert_eq!(h200.blocks_per_sm(384, 168, 232_448), 1);
        assert_eq!(h200.blocks_per_sm(128, 32, 232_449), 0);
        assert_eq!(h200.blocks_per_sm(256, 255, 0), 1);
        assert_eq!(h200.blocks_per_sm(256, 128, 0), 2);
        assert_eq!(h200.blocks_per_sm(1025, 32, 0), 0);
        assert_eq!(h200.max_clusters(16), 7);
    }
}
