//! Warp-specialised kernels: every schedule, cluster and depth on every type that wgmma has, and the same bits whatever the kernel.

use crate::Part;
use rayon::prelude::*;
use warpwright::prelude::*;
use warpwright_tests::roles::{CASES, RolesCase, RolesTypes, TYPES, exact, exact_copied, promotion, same_bits};

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
    let odd: &[usize] = if small { &[4] } else { &[8, 4, 2, 1] };
    // TMA alone rounds tf32 on the way.
    let copied: Vec<_> = CASES
        .iter()
        .flat_map(|case| types.iter().flat_map(move |&types| odd.iter().map(move |&odd| (case, types, odd))))
        .filter(|(_, types, _)| types.a != Dtype::Tf32)
        .collect();
    copied.par_iter().try_for_each(|&(case, types, odd)| {
        exact_copied(device, case, odd, types).map_err(|e| format!("{types:?}, {odd} by {case:?}: {e}"))
    })?;
    let count = products.len() + copied.len();
    promotion(device).map_err(|e| e.to_string())?;
    let extents = if small { (264, 200, 144) } else { (1160, 1048, 1552) };
    let kernels = same_bits(device, extents, 1).map_err(|e| e.to_string())?;
    Ok(format!("{count} products of integers exact; {kernels} kernels give equal bits on {extents:?}"))
}
