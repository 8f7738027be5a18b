//! A captured call replayed with other inputs and another scalar in the same memory.

use crate::Part;
use warpwright::RunError;
use warpwright::prelude::*;

const M: usize = 192;
const N: usize = 320;
const K: usize = 128;

pub fn run(device: &Device) -> Part {
    let replayed = replay(device).map_err(|e| e.to_string())?;
    match device.info().newest_tag() {
        Some(ArchId::SM90) => Ok(format!("{replayed}; {}", copies(device).map_err(|e| e.to_string())?)),
        _ => Ok(replayed),
    }
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
        check(round, &got, &host_a, &host_b, |sum, j| (1.0 + round as f32) * sum + j as f32)?;
    }
    Ok(format!("{rounds} replays with new A and alpha; a cold capture is refused"))
}

/// A call whose operands are copied into workspace by a launch of their own, during which the kernel's begins.
fn copies(device: &Device) -> Result<String, Box<dyn std::error::Error>> {
    const ODD: usize = K + 3;
    let stream = device.new_stream()?;
    let input = |round: usize| {
        Tensor::<bf16>::from_fn(M, ODD, move |i, j| bf16::from_f32(((i + 3 * j + 7 * round) % 9) as f32 - 4.0))
    };
    let host_b = Tensor::<bf16>::from_fn(ODD, N, |i, j| bf16::from_f32(((2 * i + j) % 7) as f32 - 3.0))?;
    let (mut a, b) = (input(0)?.to_device(&stream)?, host_b.to_device(&stream)?);
    let mut d = Tensor::<f32>::zeros_on(&stream, Strided::dense(M, N, Order::RowMajor))?;
    let kernel = GemmBuilder::<Sm90, bf16, f32>::auto().output::<f32>().build(device)?.detach().repacks(true);
    kernel.run_with(&stream, &a, &b, &mut d, acc())?;
    stream.synchronize()?;
    let graph = stream.capture(|s| -> Result<(), RunError> {
        kernel.run_with(s, &a, &b, &mut d, acc())?;
        kernel.run_with(s, &a, &b, &mut d, acc())
    })?;
    for round in 1..=3 {
        let host_a = input(round)?;
        a.copy_from(&stream, &host_a)?;
        d.fill_bytes(&stream, 0xFF)?;
        graph.launch(&stream)?;
        check(round, &d.to_host(&stream)?, &host_a, &host_b, |sum, _| sum)?;
    }
    Ok("copies of operands are made anew".into())
}

/// Compares a part of D with what becomes of the sums of products, by column.
fn check(
    round: usize,
    d: &Tensor<f32>,
    a: &Tensor<bf16>,
    b: &Tensor<bf16>,
    becomes: impl Fn(f32, usize) -> f32,
) -> Result<(), Box<dyn std::error::Error>> {
    for i in (0..d.rows()).step_by(13) {
        for j in (0..d.cols()).step_by(11) {
            let mut sum = 0.0;
            for k in 0..a.cols() {
                sum += a.get(i, k)?.to_f32() * b.get(k, j)?.to_f32();
            }
            let (found, want) = (d.get(i, j)?, becomes(sum, j));
            if found != want {
                return Err(format!("round {round}: D({i}, {j}) is {found} and not {want}").into());
            }
        }
    }
    Ok(())
}
