//! A captured call replayed with other inputs and another scalar in the same memory.

use crate::Part;
use warpwright::RunError;
use warpwright::prelude::*;

const M: usize = 192;
const N: usize = 320;
const K: usize = 128;

pub fn run(device: &Device) -> Part {
    replay(device).map_err(|e| e.to_string())
}

fn replay(device: &Device) -> Result<String, Box<dyn std::error::Error>> {
    let stream = device.new_stream()?;
    let input = |round: usize| {
        Tensor::<bf16>::from_fn(M, K, move |i, j| bf16::from_f32(((i + 3 * j + 7 * round) % 9) as f32 - 4.0))
    };
    let factor = |round: usize| Tensor::<f32>::full(1, 1, 1.0 + round as f32);
    let host_b = Tensor::<bf16>::from_fn(K, N, |i, j| bf16::from_f32(((2 * i + j) % 7) as f32 - 3.0))?;
    let bias = Tensor::<f32>::from_fn(1, N, |_, j| j as f32)?.to_device(&stream)?;
    let (mut a, b) = (input(0)?.to_device(&stream)?, host_b.to_device(&stream)?);
    let mut alpha = factor(0)?.to_device(&stream)?;
    let mut d = Tensor::<f32>::zeros_on(&stream, Strided::dense(M, N, Order::RowMajor))?;
    let kernel = GemmBuilder::<Sm80, bf16, f32>::auto()
        .output::<f32>()
        .epilogue(scalar(&alpha) * acc() + row(&bias))
        .build(device)?
        .detach();
    // A problem that was never run cannot be compiled inside a capture.
    let cold = stream.capture(|s| kernel.run_with(s, &a, &b, &mut d, scalar(&alpha) * acc() + row(&bias)));
    match cold {
        Err(e) if e.to_string().contains("prepare") => {}
        Err(e) => return Err(format!("a cold capture says: {e}").into()),
        Ok(_) => return Err("a cold capture was not refused".into()),
    }
    kernel.run_with(&stream, &a, &b, &mut d, scalar(&alpha) * acc() + row(&bias))?;
    stream.synchronize()?;
    let graph = stream.capture(|s| -> Result<(), RunError> {
        kernel.run_with(s, &a, &b, &mut d, scalar(&alpha) * acc() + row(&bias))
    })?;
    let rounds = 3;
    for round in 1..=rounds {
        let host_a = input(round)?;
        a.copy_from(&stream, &host_a)?;
        alpha.copy_from(&stream, &factor(round)?)?;
        d.fill_bytes(&stream, 0xFF)?;
        graph.launch(&stream)?;
        let got = d.to_host(&stream)?;
        for i in (0..M).step_by(13) {
            for j in (0..N).step_by(11) {
                let mut sum = 0.0;
                for k in 0..K {
                    sum += host_a.get(i, k)?.to_f32() * host_b.get(k, j)?.to_f32();
                }
                let want = (1.0 + round as f32) * sum + j as f32;
                if got.get(i, j)? != want {
                    return Err(format!("round {round}: D({i}, {j}) is {} and not {want}", got.get(i, j)?).into());
                }
            }
        }
    }
    Ok(format!("{rounds} replays with new A and alpha; a cold capture is refused"))
}
