//! How the block of a GEMV kernel shares its tiles: what the device's text (`gemv.cuh`) is told, and the host's sums follow.

use warpwright_spec::{DotThreads, KernelPlan, MajorId};

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// Where a thread's part of a step lies, and who has the other parts of its sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// How threads share a step.
    pub threads: DotThreads,
    /// Elements of the matrix in one access.
    pub width: usize,
    /// Lanes of a warp that have parts of the same sums.
    pub lanes: usize,
    /// Warps that have parts of the same sums.
    pub warps: usize,
}

impl Share {
    pub(crate) fn of(plan: &KernelPlan) -> Share {
        let bits = plan.kernel_spec().a.bits();
        let threads = DotThreads::of(plan.tile, bits, plan.major_a);
        let lanes = match plan.major_a {
            MajorId::K => threads.depth.min(WARP),
            MajorId::MN => WARP / threads.rows.min(WARP),
        };
        let width = (8 * plan.widths.a / bits).clamp(1, threads.run);
        Share { threads, width, lanes, warps: threads.parts(plan.major_a) }
    }
}
