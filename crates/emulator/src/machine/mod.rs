//! The machine: memory that outlives launches, and launches.

pub(crate) mod address;
pub(crate) mod barrier;
pub(crate) mod block;
pub(crate) mod copy;
pub(crate) mod flight;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod random;
pub(crate) mod registers;
pub(crate) mod report;
pub(crate) mod run;
mod schedule;
mod start;
pub(crate) mod warp;
pub(crate) mod wgmma;

use crate::check::Checks;
use crate::check::fault::{Fault, FaultKind};
use crate::module::{GlobalVariable, Kernel};
use memory::GlobalMemory;
use report::Report;
use run::Run;
use std::collections::HashMap;
use warpwright_arch::ArchId;

/// When an asynchronous operation lands, within what the memory model allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Completion {
    /// One of the others, as the seed has it.
    #[default]
    Seeded,
    /// As soon as it is issued.
    Early,
    /// When somebody waits for it, and not before.
    Late,
    /// At any moment between, in any order.
    Reordered,
}

/// How a machine behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Picks the interleaving of warps and the completion of asynchronous operations; the same seed, the same run.
    pub seed: u64,
    /// Which rules are checked.
    pub checks: Checks,
    /// The architecture, for its limits.
    pub arch: ArchId,
    /// When asynchronous operations land.
    pub completion: Completion,
    /// Whether shared-memory wavefronts are counted.
    pub profile: bool,
    /// Blocks that are resident at a time; a grid larger than this runs in waves.
    pub resident_blocks: u32,
    /// Warp instructions without any effect on another warp after which a spinning kernel counts as hanging.
    pub patience: u64,
    /// Warp instructions that a launch may take: one that goes on beyond is taken for endless.
    pub steps: u64,
    /// Bytes of global memory that allocations may hold together.
    pub memory_bytes: u64,
}

impl Config {
    /// Every check on, seed 0, as much memory as the process has.
    pub fn new(arch: ArchId) -> Config {
        Config {
            seed: 0,
            checks: Checks::ALL,
            arch,
            completion: Completion::Seeded,
            profile: false,
            resident_blocks: 132,
            patience: 1 << 24,
            steps: 1 << 34,
            memory_bytes: u64::MAX,
        }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster along x, y and z; `None` for a launch without clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl Launch {
    /// A one-dimensional launch.
    pub fn linear(blocks: u32, threads: u32, shared_bytes: u32) -> Launch {
        Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], cluster: None, shared_bytes }
    }
}

/// An address that no allocation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes at {address:#x} do not lie inside one allocation of the machine")]
pub struct AddressError {
    /// The first byte asked for.
    pub address: u64,
    /// How many.
    pub len: usize,
}

/// Global memory that could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{bytes} bytes of global memory: of the machine's {total} bytes {free} are free, and the process must have them"
)]
pub struct AllocationError {
    /// How much was asked for.
    pub bytes: usize,
    /// What [`Config::memory_bytes`] leaves beside the allocations that live.
    pub free: u64,
    /// [`Config::memory_bytes`].
    pub total: u64,
}

/// Blocks of the largest grid: each cluster takes numbers for its warps and barriers.
const MOST_BLOCKS: u64 = 1 << 20;

/// A GPU: global memory, and kernels that run on it.
#[derive(Debug)]
pub struct Machine {
    config: Config,
    memory: GlobalMemory,
    /// Addresses of modules' variables, by module.
    variables: HashMap<u64, Vec<u64>>,
}

impl Machine {
    /// A machine without memory in use.
    pub fn new(config: Config) -> Machine {
        Machine { config, memory: GlobalMemory::default(), variables: HashMap::new() }
    }

    /// What the machine was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes the seed of later launches.
    pub fn reseed(&mut self, seed: u64) {
        self.config.seed = seed;
    }

    /// Changes how many blocks of later launches are resident at a time.
    pub fn set_resident_blocks(&mut self, blocks: u32) {
        self.config.resident_blocks = blocks;
    }

    /// Allocates uninitialised memory, 256-byte aligned, with guard space around it.
    ///
    /// # Errors
    /// [`AllocationError`] beyond [`Config::memory_bytes`], or where the process cannot have as much. The machine is as it was.
    pub fn allocate(&mut self, bytes: usize) -> Result<u64, AllocationError> {
        self.memory.allocate(bytes, &self.config)
    }

    /// Frees an allocation by its address. Its addresses are never used again, so later accesses are reported.
    pub fn free(&mut self, address: u64) -> Result<(), AddressError> {
        if self.memory.free(address) { Ok(()) } else { Err(AddressError { address, len: 0 }) }
    }

    /// Copies bytes to global memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AddressError> {
        let len = bytes.len();
        let (at, offset) = self.memory.find(address, len).map_err(|_| AddressError { address, len })?;
        let region = self.memory.region(at);
        region.bytes[offset..offset + len].copy_from_slice(bytes);
        region.shadow.initialise(offset, len);
        Ok(())
    }

    /// Copies bytes from global memory.
    pub fn read(&mut self, address: u64, len: usize) -> Result<Vec<u8>, AddressError> {
        let (at, offset) = self.memory.find(address, len).map_err(|_| AddressError { address, len })?;
        Ok(self.memory.region(at).bytes[offset..offset + len].to_vec())
    }

    /// Copies bytes from global memory into `out`.
    pub fn read_into(&mut self, address: u64, out: &mut [u8]) -> Result<(), AddressError> {
        let len = out.len();
        let (at, offset) = self.memory.find(address, len).map_err(|_| AddressError { address, len })?;
        out.copy_from_slice(&self.memory.region(at).bytes[offset..offset + len]);
        Ok(())
    }

    /// Copies bytes within global memory; the runs may overlap. What was not initialised becomes so.
    pub fn copy(&mut self, to: u64, from: u64, len: usize) -> Result<(), AddressError> {
        let bytes = self.read(from, len)?;
        self.write(to, &bytes)
    }

    /// Sets bytes of global memory.
    pub fn fill(&mut self, address: u64, byte: u8, len: usize) -> Result<(), AddressError> {
        let (at, offset) = self.memory.find(address, len).map_err(|_| AddressError { address, len })?;
        let region = self.memory.region(at);
        region.bytes[offset..offset + len].fill(byte);
        region.shadow.initialise(offset, len);
        Ok(())
    }

    /// Allocates memory that holds `bytes`.
    ///
    /// # Errors
    /// As [`Machine::allocate`].
    pub fn upload(&mut self, bytes: &[u8]) -> Result<u64, AllocationError> {
        let address = self.allocate(bytes.len())?;
        if self.write(address, bytes).is_err() {
            unreachable!("the allocation was made for these bytes");
        }
        Ok(address)
    }

    /// Runs a kernel to its end. `parameters` are the bytes of its parameters, each at its natural alignment.
    pub fn launch(&mut self, kernel: &Kernel, launch: &Launch, parameters: &[u8]) -> Result<Report, Fault> {
        let refused = |message: String| Fault {
            kind: FaultKind::Launch,
            message: format!("kernel `{}`: {message}", kernel.name()),
            address: None,
            site: None,
            other: None,
        };
        self.validate(kernel, launch, parameters).map_err(refused)?;
        if !self.variables.contains_key(&kernel.module.id) {
            let addresses = self.place_variables(&kernel.module.variables);
            let addresses = addresses.map_err(|error| refused(format!("the variables of its module: {error}")))?;
            self.variables.insert(kernel.module.id, addresses);
        }
        let variables = self.variables.get(&kernel.module.id).map_or(&[][..], Vec::as_slice);
        self.memory.forget();
        Run::new(&self.config, &mut self.memory, variables, kernel, launch, parameters).finish_grid()
    }

    /// Allocates variables, zero where nothing initialises them: all of them or none.
    fn place_variables(&mut self, variables: &[GlobalVariable]) -> Result<Vec<u64>, AllocationError> {
        let mut addresses = Vec::new();
        for GlobalVariable { bytes, initial } in variables {
            let placed = self.allocate(*bytes as usize).inspect(|address| {
                let rest = *bytes as usize - initial.len();
                if self.write(*address, initial).and(self.fill(address + initial.len() as u64, 0, rest)).is_err() {
                    unreachable!("the allocation was made for the variable");
                }
            });
            match placed {
                Ok(address) => addresses.push(address),
                Err(error) => {
                    for address in addresses {
                        self.memory.free(address);
                    }
                    return Err(error);
                }
            }
        }
        Ok(addresses)
    }

    fn validate(&self, kernel: &Kernel, launch: &Launch, parameters: &[u8]) -> Result<(), String> {
        let arch = self.config.arch;
        let count = |extents: [u32; 3]| extents.iter().fold(1u64, |n, extent| n.saturating_mul((*extent).into()));
        let threads = count(launch.block);
        let limit =
            if kernel.max_threads == 0 { arch.max_threads() } else { kernel.max_threads.min(arch.max_threads()) };
        if threads == 0 || threads > u64::from(limit) {
            return Err(format!("{threads} threads in a block; 1 to {limit} are possible"));
        }
        if !(1..=MOST_BLOCKS).contains(&count(launch.grid)) {
            return Err(format!("{} blocks; the emulator runs 1 to {MOST_BLOCKS}", count(launch.grid)));
        }
        let cluster = launch.cluster.or((kernel.cluster != [0; 3]).then_some(kernel.cluster));
        if let Some(cluster) = cluster {
            if kernel.cluster != [0; 3] && cluster != kernel.cluster {
                return Err(format!("a cluster of {cluster:?}; the kernel requires {:?}", kernel.cluster));
            }
            let size = count(cluster);
            if !arch.clusters() || size == 0 || size > u64::from(arch.max_cluster()) {
                return Err(format!(
                    "clusters of {size} blocks on {}; at most {} fit",
                    arch.name(),
                    arch.max_cluster()
                ));
            }
            if (0..3).any(|i| !launch.grid[i].is_multiple_of(cluster[i])) {
                return Err(format!("the grid {:?} is no multiple of the cluster {cluster:?}", launch.grid));
            }
        }
        let shared = kernel.shared_total(launch.shared_bytes) - kernel.shared_base();
        if shared > arch.smem_optin() {
            return Err(format!("{shared} bytes of shared memory; {} has {}", arch.name(), arch.smem_optin()));
        }
        if parameters.len() != kernel.code.parameter_bytes as usize {
            return Err(format!(
                "{} bytes of parameters; the kernel takes {}",
                parameters.len(),
                kernel.code.parameter_bytes
            ));
        }
        if kernel.target_number() > arch.number() {
            return Err(format!("compiled for {}, which {} does not run", kernel.module.target, arch.name()));
        }
        Ok(())
    }
}
