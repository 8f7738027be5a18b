//! Times plans on random normal data with the L2 flushed, event around event. Peers are timed by whoever runs this in turn
//! with them; the lines are `size plan median_us min_us`.

use warpwright::prelude::*;
use warpwright::{CallArgs, Device};
use warpwright_tests::random::{draw, normal};

/// Larger than any L2 there is.
const FLUSH: usize = 256 << 20;

/// A plan to time: automatic, or with this tile and depth.
type Choice = Option<((usize, usize, usize), usize)>;

pub fn run(device: &Device, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let choices: [(&str, Choice); 4] = [
        ("auto", None),
        ("128x256x64 s3", Some(((128, 256, 64), 3))),
        ("256x128x64 s3", Some(((256, 128, 64), 3))),
        ("128x128x64 s3", Some(((128, 128, 64), 3))),
    ];
    let stream = device.new_stream()?;
    let mut flush = Tensor::<u8>::zeros_on(&stream, Strided::dense(1, FLUSH, Order::RowMajor))?;
    for size in [1024, 2048, 4096, 8192] {
        let matrix = |key: u64| {
            Tensor::<bf16>::from_fn(size, size, move |i, j| {
                bf16::from_f32(normal(draw(key, (i * size + j) as u64)) as f32)
            })
        };
        let a = matrix(1)?.to_device(&stream)?;
        // Column-major B: K is contiguous in both.
        let b = matrix(2)?.to_device(&stream)?;
        let mut d = Tensor::<bf16>::zeros_on(&stream, Strided::dense(size, size, Order::RowMajor))?;
        for (name, choice) in &choices {
            let mut desc = GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32);
            if let Some(((m, n, k), stages)) = *choice {
                desc.tile = Some(Mnk { m, n, k });
                desc.stages = Some(stages);
            }
            let gemm = AnyGemm::new(&desc, device)?;
            let b = b.view().transposed();
            let mut times = Vec::new();
            for round in 0..rounds + 2 {
                flush.fill_bytes(&stream, round as u8)?;
                let before = stream.mark()?;
                gemm.run_raw(&stream, a.view().raw(), b.raw(), d.view_mut()?.into_raw(), CallArgs::default())?;
                let seconds = stream.mark()?.seconds_since(&before)?;
                if round >= 2 {
                    times.push(seconds * 1e6);
                }
            }
            times.sort_by(f64::total_cmp);
            let kernel = gemm.compiled().last().map_or_else(String::new, |(plan, _)| plan.name());
            println!("bench {size} | {name} | {:.2} | {:.2} | {kernel}", times[times.len() / 2], times[0]);
        }
    }
    Ok(())
}
