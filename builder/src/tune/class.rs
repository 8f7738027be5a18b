//! Which kernels of which problems share a winner.

use crate::auto::OperandFacts;
use serde::{Deserialize, Serialize};
use warpwright_arch::DeviceInfo;
use warpwright_spec::{Extents, Problem, ScheduleId, SchedulerId, Spec};

/// A device, a kernel's types and a problem, as they stand in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Class {
    device: String,
    sms: u32,
    /// Tag, elements, how sums are kept.
    kernel: String,
    /// Orders and copy widths of A, B and D.
    operands: String,
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
}

impl Class {
    /// `None` for problems of several extents.
    pub fn of(spec: &Spec, device: &DeviceInfo, problem: &Problem, facts: &OperandFacts) -> Option<Class> {
        let (mnk, batch) = match problem.extents {
            Extents::Dense(mnk) => (mnk, 1),
            Extents::Batched { mnk, batch } => (mnk, batch),
            _ => return None,
        };
        let Spec { arch, a, b, acc, d, .. } = spec;
        let sums = spec.narrow_sums().map_or(String::new(), |sums| format!(" {sums}"));
        let widths = facts.widths;
        let (order_a, order_b, order_d) = (facts.order_a.name(), facts.order_b.name(), facts.order_d.name());
        Some(Class {
            device: device.name.clone(),
            sms: device.sms,
            kernel: format!("{arch} {a} x {b} -> {acc} -> {d}{sums}"),
            operands: format!("A {order_a} {}, B {order_b} {}, D {order_d} {}", widths.a, widths.b, widths.d),
            m: mnk.m,
            n: mnk.n,
            k: mnk.k,
            batch,
        })
    }
}

/// Whether nobody decided what a winner decides.
pub(super) fn is_open(spec: &Spec) -> bool {
    let Spec { schedule, scheduler, tile, cluster, stages, mainloop, tile_scheduler, scales, .. } = spec;
    matches!((schedule, scheduler), (ScheduleId::AUTO, SchedulerId::AUTO))
        && (tile.is_none() && cluster.is_none() && stages.is_none())
        && (mainloop.is_none() && tile_scheduler.is_none() && !scales.any())
}
