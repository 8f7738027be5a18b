//! Warp-specialised kernels: every schedule, cluster and depth on every type that wgmma has, and the same bits whatever the kernel.

use crate::Part;
use warpwright::prelude::*;
use warpwright_tests::roles::{CASES, exact, same_bits};

pub fn run(device: &Device, small: bool) -> Part {
    if device.info().capability.map(|c| c.number()) != Some(90) {
        return Ok("not here: wgmma is sm_90's alone".into());
    }
    let mut count = 0;
    for case in CASES {
        let elements: &[Dtype] =
            if small { &[Dtype::Bf16] } else { &[Dtype::Bf16, Dtype::F16, Dtype::Tf32, Dtype::I8] };
        for &element in elements {
            for k in if small { vec![0, case.extents.2] } else { vec![0, 16, 96, case.extents.2, 1040] } {
                exact(device, case, k, element).map_err(|e| format!("{case:?}: {e}"))?;
                count += 1;
            }
        }
    }
    let extents = if small { (264, 200, 136) } else { (1160, 1048, 1544) };
    let kernels = same_bits(device, extents).map_err(|e| e.to_string())?;
    Ok(format!("{count} products of integers exact; {kernels} kernels give equal bits on {extents:?}"))
}
