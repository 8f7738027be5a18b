//! How long kernels take to compile, and to come back from the disk cache.

use crate::Part;
use std::time::Instant;
use warpwright::prelude::*;

pub fn run(device: &Device, small: bool) -> Part {
    time(device, small).map_err(|e| e.to_string())
}

fn time(device: &Device, small: bool) -> Result<String, Box<dyn std::error::Error>> {
    let tiles = [(128, 256, 64), (128, 128, 64), (128, 128, 32), (64, 128, 64), (64, 64, 64)];
    let tiles = if small { &tiles[..1] } else { &tiles[..] };
    let stream = device.new_stream()?;
    // A size that the case table does not compile, so that the cache does not know it.
    let nonce = std::process::id() as usize % 7 + 2;
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for &(m, n, k) in tiles {
        let mut desc = GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32);
        desc.tile = Some(Mnk { m, n, k });
        desc.stages = Some(nonce.clamp(2, 3));
        desc.epilogue = warpwright::spec::intern(warpwright::Node::Combine(
            warpwright::spec::Operator::Maximum,
            &warpwright::Node::LoadAcc,
            &warpwright::Node::LoadScalar(warpwright::spec::ScalarKind::Host),
        ));
        for times in [&mut cold, &mut warm] {
            let gemm = AnyGemm::new(&desc, device)?;
            let started = Instant::now();
            gemm.prepare(&Problem::dense(512, 512, 512))?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
    }
    stream.synchronize()?;
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(format!("median {:.0} ms with NVRTC, {:.1} ms from the disk cache", median(&mut cold), median(&mut warm)))
}
