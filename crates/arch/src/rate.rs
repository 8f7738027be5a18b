//! How much one SM does in a cycle, dense, for estimates of time.
//!
//! Figures are the data sheets' peak rates divided by SMs and boost clock, but for capability 9.0, where mma.sync reaches 0.63
//! of what wgmma does (measured on an H200).

use crate::{ArchId, ComputeCapability};
use warpwright_numeric::Dtype;

/// Fused multiply-adds of one SM in a cycle through the `mma.sync` that a tag's kernels use for operands of an element; of the
/// ordinary pipes where tensor cores do not have the element.
pub fn mma_sync_rate(capability: ComputeCapability, tag: ArchId, element: Dtype) -> f64 {
    let (number, bits) = (capability.number(), element.bits());
    // With 16-bit operands into f32.
    let sixteen = match number {
        0..=79 => 512.0,
        80 => 1024.0,
        81..=89 => 512.0,
        90 => 1290.0,
        _ => 1024.0,
    };
    match element {
        Dtype::F64 => match number {
            80 => 64.0,
            // Older tags' m8n8k4 runs at half of the data sheet's rate (measured on an H200).
            90 if tag.number() < 90 => 64.0,
            90 => 128.0,
            _ => simt_rate(capability, element),
        },
        Dtype::F32 => simt_rate(capability, element),
        // What fp8 operands become before they are multiplied: Ada has the instruction, later devices emulate it.
        Dtype::E4m3 | Dtype::E5m2 if number >= 90 => sixteen,
        Dtype::F16 | Dtype::Bf16 => sixteen,
        _ => sixteen * 16.0 / bits as f64,
    }
}

/// Fused multiply-adds of one SM in a cycle on the ordinary pipes.
pub fn simt_rate(capability: ComputeCapability, element: Dtype) -> f64 {
    match (capability.number(), element) {
        (80 | 100, Dtype::F64) => 32.0,
        (90, Dtype::F64) => 64.0,
        (_, Dtype::F64) => 2.0,
        (0..=80, _) => 64.0,
        _ => 128.0,
    }
}

/// Bytes that one SM gets from L2 in a cycle: alone, and when all ask at once.
pub fn l2_bytes_per_cycle(capability: ComputeCapability) -> (f64, f64) {
    let together = match capability.number() {
        0..=79 => 20.0,
        80 => 47.0,
        81..=89 => 15.0,
        _ => 46.0,
    };
    (64.0, together)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceInfo;

    /// 10¹² floating-point operations a second of a whole device.
    fn peak(device: &DeviceInfo, rate: f64) -> f64 {
        2.0 * rate * f64::from(device.sms) * device.clock / 1e12
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        for (device, element, expected) in [
            (DeviceInfo::t4(), Dtype::F16, 65.0),
            (DeviceInfo::t4(), Dtype::I8, 130.0),
            (DeviceInfo::t4(), Dtype::F32, 8.1),
            (DeviceInfo::a100(), Dtype::Bf16, 312.0),
            (DeviceInfo::a100(), Dtype::Tf32, 156.0),
            (DeviceInfo::a100(), Dtype::I8, 624.0),
            (DeviceInfo::a100(), Dtype::F64, 19.5),
            (DeviceInfo::a100(), Dtype::F32, 19.5),
            (DeviceInfo::l40s(), Dtype::F16, 362.0),
            (DeviceInfo::l40s(), Dtype::E4m3, 733.0),
            (DeviceInfo::h100(), Dtype::F64, 66.9),
            (DeviceInfo::h100(), Dtype::F32, 66.9),
        ] {
            let capability = device.capability.unwrap();
            let found = peak(&device, mma_sync_rate(capability, ArchId::SM90, element));
            assert!((found / expected - 1.0).abs() < 0.03, "{} {element}: {found:.1}, not {expected}", device.name);
        }
    }
}
