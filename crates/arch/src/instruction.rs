//! Tensor-core instructions, as PTX's tables list them.

use warpwright_numeric::Dtype::{self, *};

use crate::ArchId;

/// A family of tensor-core instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// `mma.sync`: one warp, operands and accumulator in registers.
    MmaSync,
    /// `wgmma.mma_async`: one warp group; B, and A if asked, in shared memory; accumulator in registers.
    Wgmma,
    /// `tcgen05.mma` by one CTA: operands in shared memory (A also in tensor memory), accumulator in tensor memory.
    Tcgen05,
    /// `tcgen05.mma` by a pair of CTAs, each of which holds half of A, B and the accumulator.
    Tcgen05Pair,
}

/// The extents that an instruction is available in: `min`, `min + step`, … `max`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extents {
    /// The smallest.
    pub min: u32,
    /// The largest.
    pub max: u32,
    /// The difference between neighbours.
    pub step: u32,
}

impl Extents {
    /// One extent.
    pub const fn only(extent: u32) -> Extents {
        Extents { min: extent, max: extent, step: extent }
    }

    /// `min`, `min + step`, … `max`.
    pub const fn steps(min: u32, max: u32, step: u32) -> Extents {
        Extents { min, max, step }
    }

    /// Whether `extent` is one of them.
    pub const fn contains(self, extent: u32) -> bool {
        extent >= self.min && extent <= self.max && (extent - self.min).is_multiple_of(self.step)
    }
}

/// One row of PTX's tables: D (m × n) = A (m × k) · B (k × n) + C (m × n).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// Its family.
    pub family: Family,
    /// Rows of A and D.
    pub m: Extents,
    /// Columns of B and D.
    pub n: Extents,
    /// Columns of A, rows of B: for `wgmma` and `tcgen05`, 32 bytes of operand.
    pub k: u32,
    /// A's elements.
    pub a: Dtype,
    /// B's elements.
    pub b: Dtype,
    /// C's and D's elements.
    pub accumulator: Dtype,
    /// The oldest tag that has it.
    since: u32,
    /// The newest tag that has it.
    until: u32,
}

impl Instruction {
    /// Whether kernels of a tag may use it.
    pub const fn is_available(&self, tag: ArchId) -> bool {
        tag.number() >= self.since && tag.number() <= self.until
    }
}

const ANY: u32 = u32::MAX;
const FP8: [Dtype; 2] = [E4m3, E5m2];
const BYTES: [Dtype; 2] = [I8, U8];
const F8F6F4: [Dtype; 5] = [E4m3, E5m2, E2m3, E3m2, E2m1];

const fn mma([m, n, k]: [u32; 3], a: Dtype, b: Dtype, accumulator: Dtype, since: u32, until: u32) -> Instruction {
    let (m, n) = (Extents::only(m), Extents::only(n));
    Instruction { family: Family::MmaSync, m, n, k, a, b, accumulator, since, until }
}

/// Rows whose operands do not mix.
const MMA_SAME: &[Instruction] = &[
    mma([16, 8, 8], F16, F16, F32, 75, ANY),
    mma([16, 8, 8], F16, F16, F16, 75, ANY),
    mma([16, 8, 16], F16, F16, F32, 80, ANY),
    mma([16, 8, 16], F16, F16, F16, 80, ANY),
    mma([16, 8, 8], Bf16, Bf16, F32, 80, ANY),
    mma([16, 8, 16], Bf16, Bf16, F32, 80, ANY),
    mma([16, 8, 4], Tf32, Tf32, F32, 80, ANY),
    mma([16, 8, 8], Tf32, Tf32, F32, 80, ANY),
    mma([8, 8, 4], F64, F64, F64, 80, ANY),
    mma([16, 8, 4], F64, F64, F64, 90, ANY),
    mma([16, 8, 8], F64, F64, F64, 90, ANY),
    mma([16, 8, 16], F64, F64, F64, 90, ANY),
    mma([8, 8, 32], I4, I4, I32, 75, 90),
    mma([16, 8, 64], I4, I4, I32, 80, ANY),
];

/// Every tensor-core instruction that kernels of a tag may use. Block-scaled, sparse and weight-stationary forms are not
/// listed. On `Sm90` and `Sm100` some `mma.sync` forms are emulated by ptxas: see [`is_emulated`].
pub fn instructions(tag: ArchId) -> Vec<Instruction> {
    let mut all = MMA_SAME.to_vec();
    for a in BYTES {
        for b in BYTES {
            all.push(mma([8, 8, 16], a, b, I32, 75, ANY));
            all.push(mma([16, 8, 16], a, b, I32, 80, ANY));
            all.push(mma([16, 8, 32], a, b, I32, 80, ANY));
        }
    }
    for a in FP8 {
        for b in FP8 {
            for accumulator in [F32, F16] {
                all.push(mma([16, 8, 16], a, b, accumulator, 89, ANY));
                all.push(mma([16, 8, 32], a, b, accumulator, 89, ANY));
            }
        }
    }
    all.extend(wgmma());
    all.extend(tcgen05());
    all.retain(|instruction| instruction.is_available(tag));
    all
}

/// Whether ptxas builds this `mma.sync` out of others on the tag's own target, at a fraction of the speed: fp8 becomes two
/// f16 instructions, int4 two int8 ones.
pub fn is_emulated(instruction: &Instruction, tag: ArchId) -> bool {
    instruction.family == Family::MmaSync && tag.number() >= 90 && matches!(instruction.a, E4m3 | E5m2 | I4 | U4)
}

fn wgmma() -> Vec<Instruction> {
    let row = |k, a, b, accumulator, n| Instruction {
        family: Family::Wgmma,
        m: Extents::only(64),
        n,
        k,
        a,
        b,
        accumulator,
        since: 90,
        until: 90,
    };
    let any_n = Extents::steps(8, 256, 8);
    let mut all = vec![
        row(16, F16, F16, F32, any_n),
        row(16, F16, F16, F16, any_n),
        row(16, Bf16, Bf16, F32, any_n),
        row(8, Tf32, Tf32, F32, any_n),
    ];
    for a in FP8 {
        for b in FP8 {
            all.extend([F32, F16].map(|accumulator| row(32, a, b, accumulator, any_n)));
        }
    }
    for a in BYTES {
        for b in BYTES {
            all.extend(BYTE_N.map(|n| row(32, a, b, I32, n)));
        }
    }
    all
}

/// Integer `wgmma` and one-CTA `tcgen05` have n = 8, 24 and multiples of 16 from 16 on.
const BYTE_N: [Extents; 3] = [Extents::only(8), Extents::only(24), Extents::steps(16, 256, 16)];

fn tcgen05() -> Vec<Instruction> {
    let mut all = Vec::new();
    for (family, m) in
        [(Family::Tcgen05, Extents::steps(64, 128, 64)), (Family::Tcgen05Pair, Extents::steps(128, 256, 128))]
    {
        let pair = family == Family::Tcgen05Pair;
        let any_n = if pair { Extents::steps(16, 256, 16) } else { Extents::steps(8, 256, 8) };
        let row = |k, a, b, accumulator, n| Instruction { family, m, n, k, a, b, accumulator, since: 100, until: 100 };
        all.extend([
            row(16, F16, F16, F32, any_n),
            row(16, F16, F16, F16, any_n),
            row(16, Bf16, Bf16, F32, any_n),
            row(8, Tf32, Tf32, F32, any_n),
        ]);
        for a in F8F6F4 {
            for b in F8F6F4 {
                all.extend([F32, F16].map(|accumulator| row(32, a, b, accumulator, any_n)));
            }
        }
        for a in BYTES {
            for b in BYTES {
                if pair {
                    all.push(row(32, a, b, I32, Extents::steps(32, 256, 32)));
                } else {
                    all.extend(BYTE_N.map(|n| row(32, a, b, I32, n)));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(tag: ArchId, family: Family, (m, n, k): (u32, u32, u32), a: Dtype, accumulator: Dtype) -> bool {
        instructions(tag).iter().any(|i| {
            i.family == family
                && i.m.contains(m)
                && i.n.contains(n)
                && i.k == k
                && (i.a, i.b, i.accumulator) == (a, a, accumulator)
        })
    }

    #[test]
    fn shapes_that_ptxas_accepted_and_refused() {
        use Family::*;
        assert!(has(ArchId::SM75, MmaSync, (16, 8, 8), F16, F32));
        assert!(!has(ArchId::SM75, MmaSync, (16, 8, 16), F16, F32));
        assert!(!has(ArchId::SM75, MmaSync, (16, 8, 8), Bf16, F32));
        assert!(has(ArchId::SM80, MmaSync, (16, 8, 16), Bf16, F32));
        assert!(!has(ArchId::SM80, MmaSync, (16, 8, 32), E4m3, F32));
        assert!(has(ArchId::SM89, MmaSync, (16, 8, 32), E4m3, F32));
        assert!(has(ArchId::SM90, Wgmma, (64, 8, 16), Bf16, F32));
        assert!(has(ArchId::SM90, Wgmma, (64, 248, 16), Bf16, F32));
        assert!(!has(ArchId::SM90, Wgmma, (64, 12, 16), Bf16, F32));
        assert!(!has(ArchId::SM90, Wgmma, (128, 64, 16), Bf16, F32));
        assert!(!has(ArchId::SM90, Wgmma, (64, 64, 16), Bf16, F16));
        assert!(has(ArchId::SM90, Wgmma, (64, 24, 32), I8, I32));
        assert!(!has(ArchId::SM90, Wgmma, (64, 40, 32), I8, I32));
        assert!(!has(ArchId::SM90, Tcgen05, (128, 64, 16), Bf16, F32));
        assert!(has(ArchId::SM100, Tcgen05, (64, 8, 16), F16, F16));
        assert!(has(ArchId::SM100, Tcgen05Pair, (256, 256, 32), E2m1, F32));
        assert!(!has(ArchId::SM100, Tcgen05Pair, (64, 256, 32), E4m3, F32));
        assert!(!has(ArchId::SM100, Tcgen05Pair, (256, 24, 32), E4m3, F32));
        assert!(!has(ArchId::SM100, Wgmma, (64, 64, 16), F16, F32));
    }

    #[test]
    fn asynchronous_instructions_take_32_bytes_of_k() {
        for tag in [ArchId::SM90, ArchId::SM100] {
            for i in instructions(tag).iter().filter(|i| i.family != Family::MmaSync) {
                // Types below 8 bits sit in byte containers here.
                assert_eq!(i.k * i.a.bits().max(8) as u32, 256, "{i:?}");
            }
        }
    }

    #[test]
    fn no_instruction_is_listed_twice() {
        for &tag in ArchId::ALL {
            let all = instructions(tag);
            let distinct: std::collections::HashSet<_> = all.iter().collect();
            assert_eq!(all.len(), distinct.len(), "{tag}");
        }
    }
}
