//! Kernels that split K, on emulated devices with every check on: the bits that parts summed in the order of K have, whatever
//! the workspace held, the interleaving, and who shares the kernel.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::error::Error;

use rayon::prelude::*;
use warpwright::kernels::{Arguments, lower};
use warpwright::prelude::*;
use warpwright::runtime::emulator::{EmulatorOptions, FaultKind};
use warpwright::runtime::{Invocation, WorkspacePtr};
use warpwright::spec::Alignment;
use warpwright::{CallArgs, RunError, ScheduleId, SchedulerId};
use warpwright_tests::launched::{NotOnTheHost, packed};
use warpwright_tests::need_nvrtc;
use warpwright_tests::random::{draw, normal};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Edge tiles both ways, and a K tail.
const M: usize = 40;
const N: usize = 72;
const K: usize = 32 * 9 + 24;
const SPLITTERS: [SchedulerId; 2] = [SchedulerId::SPLIT_K, SchedulerId::SPLIT_K_SERIAL];

fn device(seed: u64) -> Result<Device> {
    Ok(EmulatorOptions::of_tag(ArchId::SM80).seed(seed).device()?)
}

/// bf16 with f32 output, so that the order of summation shows.
fn desc(scheduler: SchedulerId) -> GemmDesc {
    GemmDesc {
        d: Dtype::F32,
        tile: Some(Mnk::new(32, 64, 32)),
        stages: Some(2),
        schedule: ScheduleId::MULTISTAGE,
        scheduler,
        ..GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32)
    }
}

fn gemm(scheduler: SchedulerId, parts: usize, device: &Device) -> Result<AnyGemm> {
    Ok(AnyGemm::new(&desc(scheduler), device)?.splits(parts))
}

fn matrix(key: u64, rows: usize, columns: usize) -> Result<Tensor<bf16>> {
    Ok(Tensor::from_fn(rows, columns, |i, j| bf16::from_f32(normal(draw(key, (i * columns + j) as u64)) as f32))?)
}

/// D in a poisoned tensor.
fn run(gemm: &AnyGemm, a: &Tensor<bf16>, b: &Tensor<bf16>, workspace: Option<WorkspacePtr>) -> Result<Vec<f32>> {
    run_on(&gemm.device().new_stream()?, gemm, a, b, workspace)
}

fn run_on(
    stream: &Stream,
    gemm: &AnyGemm,
    a: &Tensor<bf16>,
    b: &Tensor<bf16>,
    workspace: Option<WorkspacePtr>,
) -> Result<Vec<f32>> {
    let (a, b) = (a.to_device(stream)?, b.to_device(stream)?);
    let mut d = Tensor::<f32>::zeros_on(stream, Strided::dense(a.rows(), b.cols(), Order::RowMajor))?;
    d.fill_bytes(stream, 0xFF)?;
    let call = CallArgs { workspace, ..CallArgs::default() };
    gemm.run_raw(stream, a.view().raw(), b.view().raw(), d.view_mut()?.into_raw(), call)?;
    Ok(d.to_host(stream)?.to_vec()?)
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// What parts with these K extents give: each by itself, with a scheduler that does not split, summed in their order.
fn parts_in_order(device: &Device, a: &Tensor<bf16>, b: &Tensor<bf16>, extents: &[usize]) -> Result<Vec<f32>> {
    let whole = AnyGemm::new(&desc(SchedulerId::PERSISTENT), device)?;
    let (a, b) = (a.to_vec()?, b.to_vec()?);
    let (k, n) = (a.len() / M, N);
    let mut sum: Vec<f32> = Vec::new();
    let mut first = 0;
    for &extent in extents {
        let own_a = Tensor::from_fn(M, extent, |i, l| a[i * k + first + l])?;
        let own_b = Tensor::from_fn(extent, n, |l, j| b[(first + l) * n + j])?;
        let part = run(&whole, &own_a, &own_b, None)?;
        sum = if sum.is_empty() { part } else { sum.iter().zip(&part).map(|(x, y)| x + y).collect() };
        first += extent;
    }
    assert_eq!(first, k);
    Ok(sum)
}

#[test]
fn both_ways_give_the_sum_in_the_order_of_k_at_every_seed() -> Result {
    need_nvrtc!(Ok(()));
    let (a, b) = (matrix(1, M, K)?, matrix(2, K, N)?);
    // Ten K tiles in four parts: 3, 3, 2 and 2, the last of which ends in the tail.
    let expected = parts_in_order(&device(0)?, &a, &b, &[96, 96, 64, 56])?;
    let whole = run(&AnyGemm::new(&desc(SchedulerId::PERSISTENT), &device(0)?)?, &a, &b, None)?;
    assert_ne!(bits(&expected), bits(&whole), "the order of summation must show");
    (0..12u64).into_par_iter().try_for_each(|seed| -> Result {
        for scheduler in SPLITTERS {
            let found = run(&gemm(scheduler, 4, &device(seed)?)?, &a, &b, None)?;
            assert_eq!(bits(&found), bits(&expected), "{scheduler}, seed {seed}");
        }
        Ok(())
    })
}

#[test]
fn every_number_of_parts_is_right_and_more_than_k_has_is_as_many_as_it_has() -> Result {
    need_nvrtc!(Ok(()));
    let ones = |rows, columns| Tensor::<bf16>::full(rows, columns, bf16::ONE);
    (0..12usize).into_par_iter().try_for_each(|parts| -> Result {
        for scheduler in SPLITTERS {
            let gemm = gemm(scheduler, parts, &device(parts as u64)?)?;
            for k in [0, 8, 32, K] {
                let found = run(&gemm, &ones(M, k)?, &ones(k, N)?, None)?;
                assert!(found.iter().all(|x| *x == k as f32), "{scheduler}, {parts} parts, K = {k}");
            }
        }
        Ok(())
    })
}

#[test]
fn stream_k_gives_the_same_bits_at_every_seed() -> Result {
    need_nvrtc!(Ok(()));
    // Four blocks of one, two or three tiles each, cut in the middle.
    for (n, k) in [(N, K), (200, 32 * 20), (64 * 5, 32 * 9)] {
        let (a, b) = (matrix(3, M, k)?, matrix(4, k, n)?);
        let first = run(&AnyGemm::new(&desc(SchedulerId::STREAM_K), &few(0)?)?, &a, &b, None)?;
        let whole = run(&AnyGemm::new(&desc(SchedulerId::PERSISTENT), &few(0)?)?, &a, &b, None)?;
        let far = first.iter().zip(&whole).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        assert!(far < 1e-3 * (k as f32).sqrt(), "{far}");
        (1..8u64).into_par_iter().try_for_each(|seed| -> Result {
            let gemm = AnyGemm::new(&desc(SchedulerId::STREAM_K), &few(seed)?)?;
            assert_eq!(bits(&run(&gemm, &a, &b, None)?), bits(&first), "seed {seed}");
            Ok(())
        })?;
    }
    Ok(())
}

/// A device of so few blocks that tiles are cut between them.
fn few(seed: u64) -> Result<Device> {
    let mut info = warpwright::DeviceInfo::a100();
    info.max_blocks_per_sm = 1;
    Ok(EmulatorOptions::of(info).sms(5).seed(seed).device()?)
}

/// E4, E6: exactly as much workspace as was asked for, full of NaN or ones, used twice without clearing.
#[test]
fn old_contents_of_the_workspace_do_not_matter() -> Result {
    need_nvrtc!(Ok(()));
    let (a, b) = (matrix(5, M, K)?, matrix(6, K, N)?);
    let schedulers = [SchedulerId::SPLIT_K, SchedulerId::SPLIT_K_SERIAL, SchedulerId::STREAM_K];
    schedulers.into_par_iter().try_for_each(|scheduler| -> Result {
        for (seed, poison) in [(0, 0xFF), (1, 0x7F), (2, 0x01)] {
            let device = few(seed)?;
            let stream = device.new_stream()?;
            let gemm = match scheduler {
                SchedulerId::STREAM_K => AnyGemm::new(&desc(scheduler), &device)?,
                _ => gemm(scheduler, 3, &device)?,
            };
            let expected = run_on(&stream, &gemm, &a, &b, None)?;
            let needed = gemm.prepare(&Problem::dense(M, N, K).aligned(Alignment { a: 16, b: 16, c: 16, d: 16 }))?;
            assert!(needed > 0);
            // The allocation ends where the workspace does, and the emulator reports what lies beyond.
            let mut memory = Tensor::<u8>::zeros_on(&stream, Strided::dense(1, needed, Order::RowMajor))?;
            memory.fill_bytes(&stream, poison)?;
            let workspace = WorkspacePtr { address: memory.view().raw().address(), bytes: needed };
            for _ in 0..2 {
                let found = run_on(&stream, &gemm, &a, &b, Some(workspace))?;
                assert_eq!(bits(&found), bits(&expected), "{scheduler} after {poison:#x}");
            }
            let short = WorkspacePtr { bytes: needed - 1, ..workspace };
            let refused = run_on(&stream, &gemm, &a, &b, Some(short)).expect_err("too small");
            assert!(matches!(refused.downcast_ref(), Some(RunError::Workspace(_))), "{refused}");
        }
        Ok(())
    })
}

/// One kernel whose problems take turns in one slot: the flags of one must not be the partial sums of another.
#[test]
fn problems_of_all_sizes_share_a_kernels_slot() -> Result {
    need_nvrtc!(Ok(()));
    SPLITTERS.into_par_iter().try_for_each(|scheduler| -> Result {
        let device = device(7)?;
        let stream = device.new_stream()?;
        let gemm = gemm(scheduler, 3, &device)?;
        for (m, n, k) in [(32, 64, 96), (200, 136, 96), (32, 64, 96), (72, 1000, 128), (200, 136, 160), (32, 64, 96)] {
            let a = Tensor::from_fn(m, k, |i, _| bf16::from_f32((i % 251) as f32))?;
            let b = Tensor::<bf16>::full(k, n, bf16::ONE)?;
            let found = run_on(&stream, &gemm, &a, &b, None)?;
            let right = found.iter().enumerate().all(|(at, x)| *x == (k * (at / n % 251)) as f32);
            assert!(right, "{scheduler}, {m} x {n} x {k}");
        }
        Ok(())
    })
}

/// Eight threads with four streams each and one kernel.
#[test]
fn threads_and_streams_share_a_kernel() -> Result {
    need_nvrtc!(Ok(()));
    let device = device(9)?;
    let gemm = gemm(SchedulerId::SPLIT_K, 4, &device)?;
    (0..8usize).into_par_iter().try_for_each(|thread| -> Result {
        let streams: Vec<Stream> = (0..4).map(|_| device.new_stream()).collect::<std::result::Result<_, _>>()?;
        for (s, stream) in streams.iter().enumerate() {
            let value = (thread * 4 + s) as f32;
            let a = Tensor::<bf16>::full(M, 128, bf16::from_f32(value))?;
            let found = run_on(stream, &gemm, &a, &Tensor::<bf16>::full(128, N, bf16::ONE)?, None)?;
            assert!(found.iter().all(|x| *x == 128.0 * value), "thread {thread}, stream {s}");
        }
        Ok(())
    })
}

/// Runs a kernel whose source was changed; `None` if the change is in none of its text.
fn broken(scheduler: SchedulerId, from: &str, to: &str, seed: u64) -> Result<std::result::Result<Vec<f32>, FaultKind>> {
    let device = device(seed)?;
    let stream = device.new_stream()?;
    let problem = Problem::dense(M, N, K).aligned(Alignment { a: 16, b: 16, c: 16, d: 16 });
    let plan = gemm(scheduler, 4, &device)?.plan(&problem)?;
    let mut program = lower::program(&plan)?;
    let source = program.launches[0].source.replace(from, to);
    assert!(from == to || source != program.launches[0].source, "`{from}` is not in the source");
    program.launches[0].source = source;
    let (a, b) = (matrix(5, M, K)?.to_device(&stream)?, matrix(6, N, K)?.to_device(&stream)?);
    let mut d = Tensor::<f32>::zeros_on(&stream, Strided::dense(M, N, Order::RowMajor))?;
    let executable = device.load(&program)?;
    let regions = lower::workspace(&plan, &problem, 4);
    let at = lower::DeviceWorkspace {
        flags: executable.zeroed_workspace(&stream, regions.flags_bytes)?,
        partials: executable.workspace(&stream, regions.bytes - regions.partials_offset)?,
    };
    let arguments = Arguments {
        a: a.view().raw(),
        b: b.view().transposed().raw(),
        d: d.view_mut()?.into_raw(),
        epilogue: &Default::default(),
        extra: &[],
    };
    let call = packed(&device, &plan, &problem, &arguments, 4, at)?;
    let invocation = Invocation { launches: &[call.launch()], host: &NotOnTheHost };
    // SAFETY: the emulator checks every access.
    match unsafe { executable.run(&stream, &invocation) } {
        Ok(()) => Ok(Ok(d.to_host(&stream)?.to_vec()?)),
        Err(warpwright::runtime::RunError::Fault { fault, .. }) => Ok(Err(fault.kind)),
        Err(other) => Err(other.into()),
    }
}

/// What keeps the parts apart is needed: without each of it some interleaving is a race, and the emulator says so.
#[test]
fn every_ordering_of_fix_up_is_needed() -> Result {
    need_nvrtc!(Ok(()));
    let planted = [
        (SchedulerId::SPLIT_K_SERIAL, "ld.acquire.gpu", "ld.relaxed.gpu"),
        (SchedulerId::SPLIT_K_SERIAL, "st.release.gpu", "st.relaxed.gpu"),
        (
            SchedulerId::SPLIT_K_SERIAL,
            "partials.store(accumulators);\n        Accumulators::Team::synchronize();",
            "partials.store(accumulators);",
        ),
        (SchedulerId::SPLIT_K, "atom.acq_rel.gpu", "atom.relaxed.gpu"),
        (SchedulerId::SPLIT_K, "atom.acq_rel.gpu", "atom.release.gpu"),
        (SchedulerId::SPLIT_K, "atom.acq_rel.gpu", "atom.acquire.gpu"),
        (
            SchedulerId::SPLIT_K,
            ".store(accumulators);\n        Accumulators::Team::synchronize();",
            ".store(accumulators);",
        ),
    ];
    planted.into_par_iter().try_for_each(|(scheduler, from, to)| -> Result {
        let found: Vec<_> = (0..4).map(|seed| broken(scheduler, from, to, seed)).collect::<Result<_>>()?;
        assert!(found.contains(&Err(FaultKind::Race)), "{scheduler} with `{to}`: {found:?}");
        Ok(())
    })?;
    for scheduler in SPLITTERS {
        assert!(broken(scheduler, "", "", 0)?.is_ok(), "{scheduler} as it is");
    }
    Ok(())
}

/// Integers, exact in every type: accumulators of each kind through fix-up.
fn exact<T: Element, D: Element>(tag: ArchId, acc: Dtype) -> Result {
    let (m, n, k) = (70, 90, 520);
    let at = |i: usize, j: usize| (i * 7 + j * 3) % 5;
    for (scheduler, parts) in [(SchedulerId::SPLIT_K, 3), (SchedulerId::SPLIT_K_SERIAL, 4), (SchedulerId::STREAM_K, 0)]
    {
        let mut info = warpwright::DeviceInfo::preset(tag);
        info.max_blocks_per_sm = 1;
        let device = EmulatorOptions::of(info).sms(3).seed(parts as u64).device()?;
        let desc =
            GemmDesc { d: D::DTYPE, schedule: ScheduleId::MULTISTAGE, scheduler, ..GemmDesc::new(tag, T::DTYPE, acc) };
        let gemm = AnyGemm::new(&desc, &device)?;
        let gemm = if parts > 0 { gemm.splits(parts) } else { gemm };
        let stream = device.new_stream()?;
        let a = Tensor::from_fn(m, k, |i, l| T::from_f64(at(i, l) as f64))?.to_device(&stream)?;
        let b = Tensor::from_fn(n, k, |j, l| T::from_f64(at(l, j) as f64))?.to_device(&stream)?;
        let mut d = Tensor::<D>::zeros_on(&stream, Strided::dense(m, n, Order::RowMajor))?;
        d.fill_bytes(&stream, 0xFF)?;
        let call = CallArgs::default();
        gemm.run_raw(&stream, a.view().raw(), b.view().transposed().raw(), d.view_mut()?.into_raw(), call)?;
        let d = d.to_host(&stream)?;
        for i in 0..m {
            for j in 0..n {
                let expected: usize = (0..k).map(|l| at(i, l) * at(l, j)).sum();
                assert_eq!(
                    d.get(i, j)?.to_f64(),
                    expected as f64,
                    "{scheduler} of {} on {tag} at ({i}, {j})",
                    T::DTYPE
                );
            }
        }
    }
    Ok(())
}

#[test]
fn every_accumulator_goes_through_fix_up() -> Result {
    need_nvrtc!(Ok(()));
    let all: [fn() -> Result; 8] = [
        || exact::<f16, f32>(ArchId::SM75, Dtype::F32),
        || exact::<i8, i32>(ArchId::SM75, Dtype::I32),
        || exact::<f32, f32>(ArchId::SM75, Dtype::F32),
        || exact::<u8, i32>(ArchId::SM80, Dtype::I32),
        || exact::<tf32, f32>(ArchId::SM80, Dtype::F32),
        || exact::<f64, f64>(ArchId::SM80, Dtype::F64),
        || exact::<e4m3, f32>(ArchId::SM89, Dtype::F32),
        || exact::<f64, f64>(ArchId::SM75, Dtype::F64),
    ];
    all.into_par_iter().try_for_each(|one| one())
}
