//! What a run did: a functional profile.

/// Counts of one launch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Blocks run.
    pub blocks: u64,
    /// Instructions that warps executed.
    pub warp_instructions: u64,
    /// The same, counted once per active thread.
    pub thread_instructions: u64,
    /// Bytes that threads read from global memory, asynchronous copies included.
    pub global_read_bytes: u64,
    /// Bytes that threads wrote to global memory.
    pub global_written_bytes: u64,
    /// Bytes that threads read from shared memory.
    pub shared_read_bytes: u64,
    /// Bytes that threads wrote to shared memory, asynchronous copies included.
    pub shared_written_bytes: u64,
    /// Passes over shared memory that the accesses took (only when profiling).
    pub shared_wavefronts: u64,
    /// Of these, passes beyond the fewest that the bytes need: bank conflicts.
    pub bank_conflicts: u64,
    /// Barriers of blocks and clusters that completed.
    pub barriers: u64,
    /// Phases of mbarriers that completed.
    pub mbarrier_phases: u64,
    /// Multiplications of tensor cores.
    pub tensor_products: u64,
    /// Asynchronous copies and matrix instructions that landed.
    pub asynchronous: u64,
}

impl Report {
    /// Every count with its name, in the order of the fields.
    pub fn counts(&self) -> [(&'static str, u64); 13] {
        [
            ("blocks", self.blocks),
            ("warp_instructions", self.warp_instructions),
            ("thread_instructions", self.thread_instructions),
            ("global_read_bytes", self.global_read_bytes),
            ("global_written_bytes", self.global_written_bytes),
            ("shared_read_bytes", self.shared_read_bytes),
            ("shared_written_bytes", self.shared_written_bytes),
            ("shared_wavefronts", self.shared_wavefronts),
            ("bank_conflicts", self.bank_conflicts),
            ("barriers", self.barriers),
            ("mbarrier_phases", self.mbarrier_phases),
            ("tensor_products", self.tensor_products),
            ("asynchronous", self.asynchronous),
        ]
    }
}
