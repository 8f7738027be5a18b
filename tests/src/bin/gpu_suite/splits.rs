//! Kernels that split K, at the sizes at which libraries have failed: old contents of the workspace, one kernel on many streams,
//! graph replay, the same bits every time.

use crate::Part;
use std::sync::mpsc;
use std::time::Duration;
use warpwright::prelude::*;
use warpwright::{CallArgs, RunError, ScheduleId, SchedulerId, WorkspacePtr};
use warpwright_tests::random::{draw, normal};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const SPLITTERS: [SchedulerId; 3] = [SchedulerId::SPLIT_K, SchedulerId::SPLIT_K_SERIAL, SchedulerId::STREAM_K];
/// After this long a kernel hangs.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn run(device: &Device, small: bool) -> Part {
    let parts = || -> Result<String> {
        dirty(device, if small { (256, 208, 512) } else { (1024, 832, 4096) })?;
        if !small {
            dirty(device, (1024, 1024, 8192))?;
            few_tiles(device)?;
        }
        let runs = same_bits(device, if small { 2 } else { 20 })?;
        replay(device)?;
        streams(device, if small { (2, 2, 2) } else { (8, 4, 20) })?;
        Ok(format!("poisoned workspace, few tiles, {runs} runs of equal bits, graph replay, threads and streams"))
    };
    parts().map_err(|e| e.to_string())
}

/// A schedule whose kernels split K, and how.
type Kind = (ArchId, ScheduleId, SchedulerId);

/// Those of a device.
fn kinds(device: &Device) -> Vec<Kind> {
    let schedules = [
        (ArchId::SM80, ScheduleId::MULTISTAGE),
        (ArchId::SM90, ScheduleId::COOPERATIVE),
        (ArchId::SM90, ScheduleId::WARP_SPECIALIZED),
    ];
    let here = schedules.into_iter().filter(|(tag, _)| device.info().check_tag(*tag).is_ok());
    here.flat_map(|(tag, schedule)| SPLITTERS.map(|scheduler| (tag, schedule, scheduler))).collect()
}

fn desc((tag, schedule, scheduler): Kind) -> GemmDesc {
    // Parts begin alike only where K tiles are as deep.
    let tile = matches!(tag, ArchId::SM90).then_some(Mnk::new(128, 64, 64));
    GemmDesc { d: Dtype::F32, tile, schedule, scheduler, ..GemmDesc::new(tag, Dtype::F16, Dtype::F32) }
}

fn gemm(device: &Device, kind: Kind, parts: usize) -> Result<AnyGemm> {
    let (gemm, scheduler) = (AnyGemm::new(&desc(kind), device)?, kind.2);
    Ok(if matches!(scheduler, SchedulerId::STREAM_K) { gemm } else { gemm.splits(parts) })
}

/// A and B on the device, and a poisoned D.
struct Matrices {
    a: Tensor<f16>,
    b: Tensor<f16>,
    d: Tensor<f32>,
}

impl Matrices {
    fn new(
        stream: &Stream,
        (m, n, k): (usize, usize, usize),
        a: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Result<Matrices> {
        let of = |rows, columns, f: &(dyn Fn(usize, usize) -> f64 + Sync)| {
            Tensor::from_fn(rows, columns, |i, j| f16::from_f64(f(i, j)))?.to_device(stream)
        };
        let mut d = Tensor::zeros_on(stream, Strided::dense(m, n, Order::RowMajor))?;
        d.fill_bytes(stream, 0xFF)?;
        // Column-major B: K is contiguous in both.
        Ok(Matrices { a: of(m, k, &a)?, b: of(n, k, &|_, _| 1.0)?, d })
    }

    fn run(
        &mut self,
        stream: &Stream,
        gemm: &AnyGemm,
        workspace: Option<WorkspacePtr>,
    ) -> std::result::Result<(), RunError> {
        let call = CallArgs { workspace, ..CallArgs::default() };
        let d = self.d.view_mut()?.into_raw();
        gemm.run_raw(stream, self.a.view().raw(), self.b.view().transposed().raw(), d, call)
    }

    fn result(&self, stream: &Stream) -> Result<Vec<f32>> {
        Ok(self.d.to_host(stream)?.to_vec()?)
    }
}

/// Exactly as much workspace as is asked for, poisoned, used twice.
fn dirty(device: &Device, (m, n, k): (usize, usize, usize)) -> Result {
    let stream = device.new_stream()?;
    for kind in kinds(device) {
        for poison in [0xFF, 0x7F, 0x01] {
            let gemm = gemm(device, kind, 8)?;
            let mut matrices = Matrices::new(&stream, (m, n, k), |_, _| 1.0)?;
            let needed = gemm.prepare(&Problem::dense(m, n, k))?;
            let mut memory = Tensor::<u8>::zeros_on(&stream, Strided::dense(1, needed.max(1), Order::RowMajor))?;
            memory.fill_bytes(&stream, poison)?;
            let workspace = WorkspacePtr { address: memory.view().raw().address(), bytes: needed };
            for round in 0..2 {
                matrices.d.fill_bytes(&stream, 0xFF)?;
                matrices.run(&stream, &gemm, Some(workspace))?;
                if let Some(wrong) = matrices.result(&stream)?.iter().find(|x| **x != k as f32) {
                    return Err(format!("{kind:?} after {poison:#x}, run {round}: {wrong} and not {k}").into());
                }
            }
        }
    }
    Ok(())
}

/// Few tiles and a K of about as many tiles as there are blocks: nobody may wait for ever.
fn few_tiles(device: &Device) -> Result {
    let stream = device.new_stream()?;
    let sms = 64 * device.info().sms as usize;
    let streams = kinds(device).into_iter().filter(|kind| matches!(kind.2, SchedulerId::STREAM_K));
    let depths = [8192, sms - 64, sms, sms + 64];
    for (kind, k) in streams.flat_map(|kind| depths.map(|k| (kind, k))) {
        let (m, n) = (16, 2560);
        let gemm = gemm(device, kind, 1)?;
        let mut matrices = Matrices::new(&stream, (m, n, k), |_, _| 1.0)?;
        gemm.prepare(&Problem::dense(m, n, k))?;
        let (done, watched) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                // A kernel that hangs cannot be stopped otherwise.
                eprintln!("stream-K of {m} x {n} x {k} has not ended after {PATIENCE:?}");
                std::process::exit(1);
            }
        });
        matrices.run(&stream, &gemm, None)?;
        let found = matrices.result(&stream)?;
        drop(done);
        watch.join().map_err(|_| "the watch panicked")?;
        if let Some(wrong) = found.iter().find(|x| **x != k as f32) {
            return Err(format!("stream-K of {m} x {n} x {k}: {wrong}").into());
        }
    }
    Ok(())
}

/// Random data, many runs, all alike; and both ways to split sum in the same order.
fn same_bits(device: &Device, runs: usize) -> Result<usize> {
    let stream = device.new_stream()?;
    let extents = (200, 264, 5000);
    let mut of_splits = Vec::new();
    for kind in kinds(device) {
        let gemm = gemm(device, kind, 6)?;
        let mut matrices = Matrices::new(&stream, extents, |i, j| normal(draw(7, (i * extents.2 + j) as u64)))?;
        let mut first = None;
        for run in 0..runs {
            matrices.run(&stream, &gemm, None)?;
            let bits: Vec<u32> = matrices.result(&stream)?.iter().map(|x| x.to_bits()).collect();
            if *first.get_or_insert_with(|| bits.clone()) != bits {
                return Err(format!("{kind:?}: run {run} differs from the first").into());
            }
        }
        let (tag, schedule, scheduler) = kind;
        of_splits
            .extend(first.filter(|_| !matches!(scheduler, SchedulerId::STREAM_K)).map(|bits| ((tag, schedule), bits)));
    }
    for (schedule, bits) in &of_splits {
        if of_splits.iter().any(|(other, others)| other == schedule && others != bits) {
            return Err(format!("SplitK and SplitKSerial of {schedule:?} differ").into());
        }
    }
    Ok(runs)
}

/// A captured split call, with the kernel's own workspace, replayed with other inputs.
fn replay(device: &Device) -> Result {
    let (stream, (m, n, k)) = (device.new_stream()?, (192, 320, 2048));
    for kind in kinds(device) {
        let gemm = gemm(device, kind, 4)?;
        let mut matrices = Matrices::new(&stream, (m, n, k), |_, _| 1.0)?;
        matrices.run(&stream, &gemm, None)?;
        stream.synchronize()?;
        let graph = stream.capture(|s| matrices.run(s, &gemm, None))?;
        for round in 2..5 {
            matrices.a.copy_from(&stream, &Tensor::full(m, k, f16::from_f32(round as f32))?)?;
            matrices.d.fill_bytes(&stream, 0xFF)?;
            graph.launch(&stream)?;
            if let Some(wrong) = matrices.result(&stream)?.iter().find(|x| **x != (round * k) as f32) {
                return Err(format!("{kind:?}, replay {round}: {wrong}").into());
            }
        }
    }
    Ok(())
}

/// One kernel on many threads with streams of their own, each with values of its own.
fn streams(device: &Device, (threads, streams, rounds): (usize, usize, usize)) -> Result {
    let (m, n, k) = (96, 160, 2048);
    for kind in kinds(device) {
        let gemm = gemm(device, kind, 8)?;
        let one = |thread: usize| -> std::result::Result<(), String> {
            let text = |e: Box<dyn std::error::Error>| e.to_string();
            let own = || -> Result<Vec<(Stream, Matrices, f32)>> {
                let value = |s: usize| ((thread * 5 + s * 3) % 11) as f32 - 5.0;
                let streams = (0..streams).map(|s| {
                    let stream = device.new_stream()?;
                    let matrices = Matrices::new(&stream, (m, n, k), |_, _| f64::from(value(s)))?;
                    Ok((stream, matrices, value(s) * k as f32))
                });
                streams.collect()
            };
            let mut own = own().map_err(text)?;
            for _ in 0..rounds {
                for (stream, matrices, _) in &mut own {
                    matrices.run(stream, &gemm, None).map_err(|e| e.to_string())?;
                }
            }
            for (stream, matrices, expected) in &own {
                let found = matrices.result(stream).map_err(text)?;
                if let Some(wrong) = found.iter().find(|x| *x != expected) {
                    return Err(format!("{kind:?}, thread {thread}: {wrong} and not {expected}"));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|t| scope.spawn(move || one(t))).collect();
            handles.into_iter().try_for_each(|h| h.join().map_err(|_| "a thread panicked".to_owned())?)
        })?;
    }
    Ok(())
}
