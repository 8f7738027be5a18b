//! What the model takes a device's rates to be.

use warpwright_arch::{DeviceInfo, l2_bytes_per_cycle, mma_sync_rate, simt_rate};
use warpwright_spec::{InstructionId, Spec};

/// Rates of one SM in a cycle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rates {
    /// Fused multiply-adds.
    pub products: f64,
    /// Bytes from L2 when nobody else asks.
    pub l2_alone: f64,
    /// Bytes from L2 when all SMs ask.
    pub l2_together: f64,
    /// 1, or 0 where loads are not waited for.
    pub latency: f64,
}

impl Rates {
    pub fn of(spec: &Spec, device: &DeviceInfo) -> Rates {
        // The wider operand is what a narrow one becomes before it is multiplied.
        let element = if spec.b.bits() > spec.a.bits() { spec.b } else { spec.a };
        let by_width = |sixteen: f64| sixteen * 16.0 / element.bits() as f64;
        let Some(capability) = device.capability else {
            // The CPU: rates of a GPU stand for its own, since only tiles are compared, and its caches are not modelled.
            let products = match spec.instruction {
                InstructionId::SIMT | InstructionId::DOT => 128.0,
                InstructionId::WGMMA => by_width(2048.0),
                InstructionId::TCGEN05 => by_width(4096.0),
                _ => by_width(1024.0),
            };
            return Rates { products, l2_alone: f64::INFINITY, l2_together: f64::INFINITY, latency: 0.0 };
        };
        let products = match spec.instruction {
            InstructionId::SIMT => simt_rate(capability, element),
            InstructionId::DOT => simt_rate(capability, spec.acc),
            InstructionId::WGMMA => by_width(2048.0),
            InstructionId::TCGEN05 => by_width(4096.0),
            _ => mma_sync_rate(capability, spec.arch, element),
        };
        let (l2_alone, l2_together) = l2_bytes_per_cycle(capability);
        Rates { products, l2_alone, l2_together, latency: 1.0 }
    }
}
