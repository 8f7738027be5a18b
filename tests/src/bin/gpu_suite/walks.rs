//! The bits of D do not depend on tile, stages, raster order or swizzle, nor on padding: K is never split.

use crate::Part;
use warpwright::prelude::*;
use warpwright::spec::RasterOrder;
use warpwright::{CallArgs, RunError};

const M: usize = 517;
const N: usize = 389;
const K: usize = 711;

pub fn run(device: &Device) -> Part {
    run_walks(device).map_err(|e| e.to_string())
}

fn run_walks(device: &Device) -> Result<String, Box<dyn std::error::Error>> {
    let stream = device.new_stream()?;
    let value = |i: usize, j: usize| bf16::from_f32(((i * 31 + j * 17) % 97) as f32 / 13.0 - 3.5);
    let a = Tensor::<bf16>::from_fn(M, K, value)?.to_device(&stream)?;
    let b = Tensor::<bf16>::from_fn(K, N, |i, j| value(j + 5, i))?.to_device(&stream)?;
    let mut first: Option<Vec<f32>> = None;
    let mut runs = 0;
    for (tile, stages) in [
        ((128, 128, 32), 2),
        ((128, 128, 32), 4),
        ((128, 256, 64), 3),
        ((256, 128, 32), 4),
        ((64, 64, 64), 8),
        ((128, 64, 64), 3),
        ((16, 128, 64), 4),
        ((32, 32, 16), 5),
    ] {
        for scheduler in [SchedulerChoice::Persistent, SchedulerChoice::Single] {
            for (raster, swizzle) in [(RasterOrder::AlongM, 1), (RasterOrder::AlongN, 4), (RasterOrder::AlongM, 8)] {
                let mut desc = GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32);
                desc.d = Dtype::F32;
                desc.tile = Some(Mnk { m: tile.0, n: tile.1, k: tile.2 });
                desc.stages = Some(stages);
                desc.scheduler = scheduler.id();
                let gemm = AnyGemm::new(&desc, device)?.rasterized(raster, swizzle);
                let mut d = Tensor::<f32>::zeros_on(&stream, Strided::dense(M, N, Order::RowMajor))?;
                d.fill_bytes(&stream, 0xFF)?;
                let called: Result<(), RunError> = gemm.run_raw(
                    &stream,
                    a.view().raw(),
                    b.view().raw(),
                    d.view_mut()?.into_raw(),
                    CallArgs::default(),
                );
                called?;
                let got = d.to_host(&stream)?.to_vec()?;
                runs += 1;
                match &first {
                    None => first = Some(got),
                    Some(bits) => {
                        let differs = bits.iter().zip(&got).position(|(x, y)| x.to_bits() != y.to_bits());
                        if let Some(i) = differs {
                            let what = format!("{tile:?} x {stages} stages, {raster:?}, {swizzle}: element {i}");
                            return Err(format!("{what} is {} and not {}", got[i], bits[i]).into());
                        }
                    }
                }
            }
        }
    }
    Ok(format!("{runs} plans of {M} x {N} x {K}, equal bit for bit"))
}

#[derive(Clone, Copy)]
enum SchedulerChoice {
    Persistent,
    Single,
}

impl SchedulerChoice {
    fn id(self) -> warpwright::SchedulerId {
        match self {
            SchedulerChoice::Persistent => warpwright::SchedulerId::PERSISTENT,
            SchedulerChoice::Single => warpwright::SchedulerId::SINGLE_TILE,
        }
    }
}
