//! Warp-specialised kernels: every schedule, cluster and depth on every type that wgmma has, and the same bits whatever the kernel.

use crate::Part;
use rayon::prelude::*;
use warpwright::prelude::*;
use warpwright_tests::roles::{CASES, RolesCase, RolesTypes, TYPES, exact, exact_odd, promotion, same_bits};

pub fn run(device: &Device, small: bool) -> Part {
    if device.info().capability.map(|c| c.number()) != Some(90) {
        return Ok("not here: wgmma is sm_90's alone".into());
    }
    let few = [RolesTypes::of(Dtype::Bf16), TYPES[4]];
    let types = if small { &few } else { TYPES };
    let depths = |case: &RolesCase| if small { vec![0, case.extents.2] } else { vec![0, 16, 96, case.extents.2, 1040] };
    let products: Vec<_> = CASES
        .iter()
        .flat_map(|case| types.iter().flat_map(move |&types| depths(case).into_iter().map(move |k| (case, types, k))))
        .collect();
    // The CPU takes longer for what is expected than the GPU for what it does.
    products.par_iter().try_for_each(|&(case, types, k)| {
        exact(device, case, k, types).map_err(|e| format!("{types:?} by {case:?}: {e}"))
    })?;
    // TMA alone rounds tf32 on the way. Each kernel copies 16, 8, 4 or fewer bytes.
    let copied: Vec<_> = CASES
        .iter()
        .enumerate()
        .flat_map(|(i, case)| types.iter().enumerate().map(move |(j, &types)| (case, types, [4, 2, 1, 8][(i + j) % 4])))
        .filter(|(_, types, _)| types.a != Dtype::Tf32)
        .collect();
    copied.par_iter().try_for_each(|&(case, types, odd)| {
        exact_odd(device, case, odd, types).map_err(|e| format!("{types:?}, {odd} by {case:?}: {e}"))
    })?;
    // Kernels of aligned operands, of which there are copies.
    let repacked: Vec<_> = CASES
        .iter()
        .enumerate()
        .map(|(i, case)| (case, types[i % types.len()].repacked(), [4, 1, 2, 3][i % 4]))
        .collect();
    repacked.par_iter().try_for_each(|&(case, types, odd)| {
        exact_odd(device, case, odd, types).map_err(|e| format!("{types:?}, {odd} by {case:?}: {e}"))
    })?;
    let held = [TYPES[0], TYPES[1], TYPES[2], TYPES[3], TYPES[5]].map(RolesTypes::from_registers);
    let held: Vec<_> = CASES.iter().enumerate().map(|(i, case)| (case, held[if small { 0 } else { i % 5 }])).collect();
    held.par_iter().try_for_each(|&(case, types)| {
        exact(device, case, case.extents.2, types).map_err(|e| format!("{types:?} by {case:?}: {e}"))
    })?;
    let count = products.len() + copied.len() + repacked.len() + held.len();
    promotion(device).map_err(|e| e.to_string())?;
    let extents = if small { (264, 200, 144) } else { (1160, 1048, 1552) };
    let kernels = same_bits(device, extents, 1).map_err(|e| e.to_string())?;
    Ok(format!("{count} products of integers exact; {kernels} kernels give equal bits on {extents:?}"))
}
