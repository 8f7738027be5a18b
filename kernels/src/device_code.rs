//! What has device code. The type level is complete from the start; this says how far the GPU has come.

use warpwright_numeric::Dtype;
use warpwright_spec::{InstructionId, LoaderId, ProblemKind, ScheduleId, SchedulerId, Spec};

/// Whether the mainloop of a spec whose schedule is decided can be lowered, and its epilogue's elements with it.
pub fn mainloop(spec: &Spec) -> bool {
    let sixteen = matches!(spec.a, Dtype::F16 | Dtype::Bf16) && spec.b == spec.a && spec.acc == Dtype::F32;
    let output = element(spec.d);
    let multistage = matches!(spec.schedule, ScheduleId::MULTISTAGE)
        && matches!(spec.instruction, InstructionId::MMA_SYNC)
        && matches!(spec.loader, LoaderId::CP_ASYNC);
    spec.mainloop.is_some() || (sixteen && output && multistage && !spec.scales.any())
}

/// Whether epilogues can read an element, or round to it.
pub fn element(element: Dtype) -> bool {
    matches!(element, Dtype::F16 | Dtype::Bf16 | Dtype::F32)
}

/// Whether a tile scheduler has device code that feeds a schedule: parts of a tile are put together by all threads of a block,
/// so that kernels of several roles do not split K yet.
pub fn scheduler(id: SchedulerId, schedule: ScheduleId) -> bool {
    let splits = matches!(id, SchedulerId::SPLIT_K | SchedulerId::SPLIT_K_SERIAL | SchedulerId::STREAM_K);
    let whole_block = matches!(schedule, ScheduleId::MULTISTAGE);
    warpwright_schedulers::cuda::device_text(id).is_some() && (whole_block || !splits)
}

/// Whether a kind of problem has device code.
pub fn problem(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::Dense | ProblemKind::Batched)
}
