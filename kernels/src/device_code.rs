//! What has device code. The type level is complete from the start; this says how far the GPU has come.

use warpwright_numeric::Dtype;
use warpwright_spec::{InstructionId, LoaderId, ProblemKind, ScheduleId, SchedulerId, Spec, TransformId};

/// Whether the mainloop of a spec whose schedule is decided can be lowered, and its epilogue's elements with it.
pub fn mainloop(spec: &Spec) -> bool {
    let as_they_are = matches!(spec.transform, TransformId::IDENTITY) && !spec.scales.any();
    let warps = matches!(spec.instruction, InstructionId::MMA_SYNC | InstructionId::SIMT);
    let threads = matches!(spec.loader, LoaderId::CP_ASYNC | LoaderId::GLOBAL_TO_REGISTER);
    let multistage = matches!(spec.schedule, ScheduleId::MULTISTAGE) && warps && threads;
    // Threads that have single elements share no byte.
    let dots = matches!(spec.schedule, ScheduleId::GEMV)
        && spec.d.bits() >= 8
        && matches!(spec.instruction, InstructionId::DOT)
        && matches!(spec.loader, LoaderId::GLOBAL_TO_REGISTER | LoaderId::BULK_ROWS);
    let roles = matches!(spec.schedule, ScheduleId::WARP_SPECIALIZED | ScheduleId::PINGPONG | ScheduleId::COOPERATIVE);
    // Only TMA rounds on the way, and wgmma truncates.
    let copies = matches!(spec.loader, LoaderId::CP_ASYNC) && !matches!(spec.a, Dtype::Tf32);
    let loads = spec.loader.is_tma() || copies;
    let warp_specialized = roles && matches!(spec.instruction, InstructionId::WGMMA) && loads;
    spec.mainloop.is_some() || (as_they_are && stored(spec.d) && (multistage || dots || warp_specialized))
}

/// Whether epilogues can read an element, or round to it.
pub fn element(element: Dtype) -> bool {
    use Dtype::*;
    matches!(element, F64 | F32 | Tf32 | F16 | Bf16 | E4m3 | E5m2 | I32 | I8 | U8)
}

/// Whether D, and matrices beside it, can be of an element: what can be read, and what is packed.
pub fn stored(dtype: Dtype) -> bool {
    element(dtype) || matches!(dtype, Dtype::E3m2 | Dtype::E2m3 | Dtype::E2m1 | Dtype::I4 | Dtype::U4)
}

/// Whether a tile scheduler has device code that feeds a schedule: warp groups that take tiles in turn do not put parts of one
/// together.
pub fn scheduler(id: SchedulerId, schedule: ScheduleId) -> bool {
    let together = !matches!(schedule, ScheduleId::PINGPONG);
    warpwright_schedulers::cuda::device_text(id).is_some() && (together || !id.splits())
}

/// Whether a kind of problem has device code.
pub fn problem(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::Dense | ProblemKind::Batched)
}
