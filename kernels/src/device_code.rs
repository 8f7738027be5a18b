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

/// Whether a tile scheduler has device code.
pub fn scheduler(id: SchedulerId) -> bool {
    warpwright_schedulers::cuda::device_text(id).is_some()
}

/// Whether a kind of problem has device code.
pub fn problem(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::Dense | ProblemKind::Batched)
}
