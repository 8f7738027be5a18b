//! The architecture tags and what kernels of each may use.

use std::fmt;

use crate::ComputeCapability;

/// An architecture tag: a zero-sized type that says which instructions a kernel may use.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an architecture",
    label = "not an architecture",
    note = "architectures are `Sm75`, `Sm80`, `Sm89`, `Sm90` and `Sm100`"
)]
pub trait Arch: Copy + Default + Send + Sync + fmt::Debug + 'static {
    /// The tag as a value.
    const ID: ArchId;
}

// A tag type and its value are spelled differently: when a variant and a type share a name, rustc prints the type with
// its whole path in every message.
macro_rules! tags {
    ($($(#[$doc:meta])* $tag:ident $id:ident $number:literal $lower:literal;)+) => {
        /// An architecture tag as a value. See [`Arch`] for the types.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ArchId { $($(#[$doc])* $id),+ }

        impl ArchId {
            /// Every tag, oldest first.
            pub const ALL: &'static [ArchId] = &[$(ArchId::$id),+];

            /// The tag's name as it is written in Rust: `"Sm90"`.
            pub const fn name(self) -> &'static str {
                match self { $(ArchId::$id => stringify!($tag)),+ }
            }

            /// The tag's name in lower case, as the command line and file names write it: `"sm90"`.
            pub const fn lower_name(self) -> &'static str {
                match self { $(ArchId::$id => $lower),+ }
            }

            /// The tag as a number: 90 for `Sm90`.
            pub const fn number(self) -> u32 {
                match self { $(ArchId::$id => $number),+ }
            }
        }

        $($(#[$doc])* #[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)] pub struct $tag;
        impl Arch for $tag { const ID: ArchId = ArchId::$id; })+
    };
}

tags! {
    /// Turing (T4): `ldmatrix`, `mma.sync` m16n8k8; no `cp.async`, no bf16 or tf32.
    Sm75 SM75 75 "sm75";
    /// Ampere (A100, and 8.6): `cp.async`, `mma.sync` m16n8k16, bf16, tf32.
    Sm80 SM80 80 "sm80";
    /// Ada (L40S, L4): as `Sm80`, with fp8 `mma.sync`.
    Sm89 SM89 89 "sm89";
    /// Hopper (H100, H200): TMA, thread-block clusters, `wgmma`.
    Sm90 SM90 90 "sm90";
    /// Blackwell (B200): TMA, thread-block clusters, `tcgen05` and tensor memory.
    Sm100 SM100 100 "sm100";
}

impl ArchId {
    /// Reads a tag's name in any of its spellings: `sm90`, `Sm90`, `SM_90`, `90`. An architecture-specific suffix
    /// (`sm90a`) names a target, not a tag, and is refused.
    pub fn from_name(name: &str) -> Option<ArchId> {
        let lower = name.trim().to_ascii_lowercase();
        let digits = lower.strip_prefix("sm").map_or(lower.as_str(), |rest| rest.strip_prefix('_').unwrap_or(rest));
        ArchId::ALL.iter().copied().find(|id| id.lower_name().strip_prefix("sm") == Some(digits))
    }

    /// The lowest compute capability that has this tag's instructions.
    pub const fn capability(self) -> ComputeCapability {
        ComputeCapability::new(self.number() / 10, self.number() % 10)
    }

    /// Whether kernels of this tag use instructions that exist on one capability alone (`sm_90a`, `sm_100a`).
    pub const fn is_specific(self) -> bool {
        matches!(self, ArchId::SM90 | ArchId::SM100)
    }

    /// Shared memory that one thread block may opt in to, in bytes. It counts static and dynamic memory together.
    pub const fn smem_optin(self) -> u32 {
        match self {
            ArchId::SM75 => 65_536,
            ArchId::SM80 => 166_912,
            ArchId::SM89 => 101_376,
            ArchId::SM90 | ArchId::SM100 => 232_448,
        }
    }

    /// Shared memory of one SM, in bytes; each resident block takes what it uses and [`smem_reserved`](Self::smem_reserved).
    pub const fn smem_per_sm(self) -> u32 {
        match self {
            ArchId::SM75 => 64 * 1024,
            ArchId::SM80 => 164 * 1024,
            ArchId::SM89 => 100 * 1024,
            ArchId::SM90 | ArchId::SM100 => 228 * 1024,
        }
    }

    /// Shared memory that the driver keeps for itself in each resident block, in bytes.
    pub const fn smem_reserved(self) -> u32 {
        match self {
            ArchId::SM75 => 0,
            _ => 1024,
        }
    }

    /// Threads that one block may have.
    pub const fn max_threads(self) -> u32 {
        1024
    }

    /// Threads that may be resident on one SM.
    pub const fn max_threads_per_sm(self) -> u32 {
        match self {
            ArchId::SM75 => 1024,
            ArchId::SM89 => 1536,
            ArchId::SM80 | ArchId::SM90 | ArchId::SM100 => 2048,
        }
    }

    /// Blocks that may be resident on one SM.
    pub const fn max_blocks_per_sm(self) -> u32 {
        match self {
            ArchId::SM75 => 16,
            ArchId::SM89 => 24,
            ArchId::SM80 | ArchId::SM90 | ArchId::SM100 => 32,
        }
    }

    /// 32-bit registers of one SM.
    pub const fn registers_per_sm(self) -> u32 {
        65_536
    }

    /// Registers that one thread may have.
    pub const fn max_registers(self) -> u32 {
        255
    }

    /// `ldmatrix` (m8n8, 16-bit).
    pub const fn ldmatrix(self) -> bool {
        true
    }

    /// `stmatrix` (m8n8, 16-bit).
    pub const fn stmatrix(self) -> bool {
        self.number() >= 90
    }

    /// `cp.async`, `mbarrier`, `redux.sync`, and bf16 and tf32 arithmetic.
    pub const fn cp_async(self) -> bool {
        self.number() >= 80
    }

    /// fp8 conversions and `mma.sync` in hardware.
    pub const fn fp8(self) -> bool {
        self.number() >= 89
    }

    /// Tensor-map copies (`cp.async.bulk.tensor`).
    pub const fn tma(self) -> bool {
        self.number() >= 90
    }

    /// Warp-group MMA. Hopper alone has it: Blackwell has `tcgen05` in its place.
    pub const fn wgmma(self) -> bool {
        matches!(self, ArchId::SM90)
    }

    /// Fifth-generation MMA and tensor memory.
    pub const fn tcgen05(self) -> bool {
        matches!(self, ArchId::SM100)
    }

    /// Thread-block clusters and distributed shared memory.
    pub const fn clusters(self) -> bool {
        self.number() >= 90
    }

    /// Programmatic dependent launch (`griddepcontrol`).
    pub const fn pdl(self) -> bool {
        self.number() >= 90
    }

    /// Blocks that a cluster may have; 1 where there are no clusters. More than [`portable_cluster`](Self::portable_cluster)
    /// needs the function attribute for non-portable sizes, which the runtime sets.
    pub const fn max_cluster(self) -> u32 {
        if self.clusters() { 16 } else { 1 }
    }

    /// Blocks that a cluster may have on every device that has clusters.
    pub const fn portable_cluster(self) -> u32 {
        if self.clusters() { 8 } else { 1 }
    }

    /// Columns of tensor memory per SM, each 128 lanes of 32 bits; 0 where there is none.
    pub const fn tmem_columns(self) -> u32 {
        if self.tcgen05() { 512 } else { 0 }
    }

    /// The newest tag that runs on a device of this capability, `None` below 7.5.
    pub fn newest_for(capability: ComputeCapability) -> Option<ArchId> {
        ArchId::ALL.iter().rev().copied().find(|id| id.runs_on(capability))
    }

    /// Whether kernels of this tag run on a device of this capability: its own capability alone for `Sm90` and `Sm100`,
    /// that capability or any later one for the others.
    pub fn runs_on(self, capability: ComputeCapability) -> bool {
        if self.is_specific() { capability == self.capability() } else { capability >= self.capability() }
    }
}

impl fmt::Display for ArchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_every_spelling() {
        for &id in ArchId::ALL {
            for spelling in
                [id.name().to_string(), id.lower_name().into(), format!("SM_{}", id.number()), id.number().to_string()]
            {
                assert_eq!(ArchId::from_name(&spelling), Some(id), "{spelling}");
            }
        }
        for wrong in ["", "sm", "sm86", "sm90a", "sm_100f", "9.0", "900", "Sm 90", "ssm90"] {
            assert_eq!(ArchId::from_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn types_reify_to_their_values() {
        assert_eq!(Sm75::ID, ArchId::SM75);
        assert_eq!(Sm100::ID, ArchId::SM100);
        assert_eq!(Sm89::ID.to_string(), format!("{Sm89:?}"));
    }

    #[test]
    fn one_block_and_its_reserve_fill_at_most_one_sm() {
        for &id in ArchId::ALL {
            assert!(id.smem_optin() + id.smem_reserved() <= id.smem_per_sm(), "{id}");
        }
    }

    #[test]
    fn the_newest_tag_of_each_capability() {
        let newest = |major, minor| ArchId::newest_for(ComputeCapability::new(major, minor));
        assert_eq!(newest(7, 0), None);
        assert_eq!(newest(7, 5), Some(ArchId::SM75));
        assert_eq!(newest(8, 0), Some(ArchId::SM80));
        assert_eq!(newest(8, 6), Some(ArchId::SM80));
        assert_eq!(newest(8, 9), Some(ArchId::SM89));
        assert_eq!(newest(9, 0), Some(ArchId::SM90));
        assert_eq!(newest(10, 0), Some(ArchId::SM100));
        assert_eq!(newest(10, 3), Some(ArchId::SM89));
        assert_eq!(newest(12, 0), Some(ArchId::SM89));
    }
}
