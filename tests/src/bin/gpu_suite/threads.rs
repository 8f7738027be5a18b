//! One kernel, many threads, each with streams of its own.

use crate::Part;
use warpwright::prelude::*;

const M: usize = 96;
const N: usize = 160;
const K: usize = 64;

pub fn run(device: &Device, small: bool) -> Part {
    let kernel = match GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().build(device) {
        Ok(gemm) => gemm.detach(),
        Err(e) => return Err(e.to_string()),
    };
    let (threads, streams, rounds) = if small { (2, 2, 4) } else { (8, 4, 60) };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|t| {
                let kernel = &kernel;
                scope.spawn(move || one(kernel, device, t, streams, rounds).map_err(|e| e.to_string()))
            })
            .collect();
        for handle in handles {
            handle.join().map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok(format!("{threads} threads x {streams} streams x {rounds} calls, each with values of its own"))
    })
}

fn one<Kn: GemmKernel<A = f16, B = f16, D = f32, Fusion = warpwright::Acc>>(
    kernel: &Kernel<Kn>,
    device: &Device,
    thread: usize,
    streams: usize,
    rounds: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let streams: Vec<Stream> = (0..streams).map(|_| device.new_stream()).collect::<Result<_, _>>()?;
    for round in 0..rounds {
        let mut results = Vec::new();
        for (s, stream) in streams.iter().enumerate() {
            let value = ((thread * 5 + s * 3 + round) % 11) as f32 - 5.0;
            let a = Tensor::<f16>::full(M, K, f16::from_f32(value))?.to_device(stream)?;
            let b = Tensor::<f16>::full(K, N, f16::ONE)?.to_device(stream)?;
            let mut d = Tensor::<f32>::zeros_on(stream, Strided::dense(M, N, Order::RowMajor))?;
            d.fill_bytes(stream, 0xFF)?;
            kernel.run_with(stream, &a, &b, &mut d, acc())?;
            results.push((value * K as f32, d));
        }
        for ((want, d), stream) in results.iter().zip(&streams) {
            if let Some(wrong) = d.to_host(stream)?.to_vec()?.iter().find(|x| *x != want) {
                return Err(format!("thread {thread}, round {round}: {wrong} and not {want}").into());
            }
        }
    }
    Ok(())
}
