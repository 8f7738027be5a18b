//! Operands that TMA cannot address, on emulated devices: copies in exactly the workspace that was asked for, anew in every call.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::error::Error;

use warpwright::kernels::lower;
use warpwright::prelude::*;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::runtime::{RawView, RawViewMut, WorkspacePtr};
use warpwright::spec::Alignment;
use warpwright::{CallArgs, RunError, ScheduleId};
use warpwright_tests::need_nvrtc;
use warpwright_tests::random::{draw, normal};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const M: usize = 70;
const N: usize = 45;
/// Lines of 262 bytes, whose copies are 384 apart.
const K: usize = 131;

fn gemm(device: &Device) -> Result<AnyGemm> {
    let desc = GemmDesc {
        d: Dtype::F32,
        tile: Some(Mnk::new(64, 64, 64)),
        schedule: ScheduleId::WARP_SPECIALIZED,
        ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32)
    };
    Ok(AnyGemm::new(&desc, device)?.repacks(true))
}

/// As the operands of the calls below lie.
fn problem() -> Problem {
    Problem::dense(M, N, K).aligned(Alignment { a: 2, b: 2, c: 16, d: 4 })
}

fn value(key: u64, i: usize, j: usize) -> bf16 {
    bf16::from_f32(normal(draw(key, (i * 1000 + j) as u64)) as f32)
}

/// D of operands that are drawn from a key, in a poisoned tensor.
fn run(stream: &Stream, gemm: &AnyGemm, key: u64, workspace: Option<WorkspacePtr>) -> Result<Vec<f32>> {
    let a = Tensor::from_fn(M, K, |i, j| value(key, i, j))?;
    let mut b = Tensor::<bf16>::column_major(K, N)?;
    (0..K * N).try_for_each(|at| b.set(at / N, at % N, value(key + 1, at / N, at % N)))?;
    let device = stream.device();
    let (a, b) = if device.is_host() { (a, b) } else { (a.to_device(stream)?, b.to_device(stream)?) };
    let mut d = Tensor::<f32>::zeros_on(stream, Strided::dense(M, N, Order::RowMajor))?;
    d.fill_bytes(stream, 0xFF)?;
    let call = CallArgs { workspace, ..CallArgs::default() };
    gemm.run_raw(stream, a.view().raw(), b.view().raw(), d.view_mut()?.into_raw(), call)?;
    Ok(d.to_host(stream)?.to_vec()?)
}

/// The same on the CPU, which sums in the same order.
fn expected(key: u64) -> Result<Vec<f32>> {
    let host = Device::host();
    run(&host.default_stream()?, &gemm(&host)?, key, None)
}

fn near(found: &[f32], expected: &[f32]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-3)
}

#[test]
fn copies_fill_the_workspace_that_was_asked_for() -> Result {
    need_nvrtc!(Ok(()));
    let expected = expected(1)?;
    for (seed, poison) in [(0, 0xFF), (1, 0x7F), (2, 0x01)] {
        let device = EmulatorOptions::of_tag(ArchId::SM90).sms(1).seed(seed).device()?;
        let (stream, gemm) = (device.new_stream()?, gemm(&device)?);
        let needed = gemm.prepare(&problem())?;
        assert_eq!(needed, [M, N].map(|lines| (384 * lines).next_multiple_of(256)).iter().sum::<usize>());
        // The allocation ends where the workspace does, and the emulator reports what lies beyond.
        let mut memory = Tensor::<u8>::zeros_on(&stream, Strided::dense(1, needed, Order::RowMajor))?;
        memory.fill_bytes(&stream, poison)?;
        let workspace = WorkspacePtr { address: memory.view().raw().address(), bytes: needed };
        for _ in 0..2 {
            let found = run(&stream, &gemm, 1, Some(workspace))?;
            assert!(near(&found, &expected), "after {poison:#x}");
        }
        let short = WorkspacePtr { bytes: needed - 1, ..workspace };
        let refused = run(&stream, &gemm, 1, Some(short)).expect_err("too small");
        assert!(matches!(refused.downcast_ref(), Some(RunError::Workspace(_))), "{refused}");
    }
    Ok(())
}

/// The workspace is the call's alone.
#[test]
fn a_workspace_over_an_operand_is_refused() -> Result {
    need_nvrtc!(Ok(()));
    let device = EmulatorOptions::of_tag(ArchId::SM90).device()?;
    let (stream, gemm) = (device.new_stream()?, gemm(&device)?);
    let needed = gemm.prepare(&problem())?;
    // Everything in one allocation: A, B, D, and room for the workspace before and behind each.
    let memory = Tensor::<u8>::zeros_on(&stream, Strided::dense(1, 8 * needed, Order::RowMajor))?;
    let (base, space) = (memory.view().raw().address(), device.space());
    let at = [1, 3, 5].map(|i| base + (i * needed) as u64);
    let view = |i: usize, rows: usize, columns: usize, order: Order| {
        // SAFETY: a part of the allocation that nobody else uses.
        unsafe { RawView::new(at[i], 2 * needed, space, Dtype::Bf16, Strided::dense(rows, columns, order)) }
    };
    let run = |address: u64| {
        // SAFETY: as above.
        let d = unsafe { RawViewMut::new(at[2], 2 * needed, space, Dtype::F32, Strided::dense(M, N, Order::RowMajor)) };
        let workspace = Some(WorkspacePtr { address, bytes: 2 * needed });
        let (a, b) = (view(0, M, K, Order::RowMajor), view(1, K, N, Order::ColumnMajor));
        gemm.run_raw(&stream, a, b, d, CallArgs { workspace, ..CallArgs::default() })
    };
    for (name, address, bytes) in [("A", at[0], 2 * M * K), ("B", at[1], 2 * N * K), ("D", at[2], 4 * M * N)] {
        let behind = (address + bytes as u64).next_multiple_of(256);
        for over in [address - needed as u64 + 256, address, behind - 256] {
            let refused = run(over).expect_err(name).to_string();
            let says = format!(
                "the {needed} bytes of workspace at {over:#x} overlap {name} in memory: give the workspace memory of its own"
            );
            assert_eq!(refused, says);
        }
        for beside in [address - needed as u64, behind] {
            run(beside)?;
        }
    }
    let refused = run(0).expect_err("null").to_string();
    assert!(refused.contains("is no memory: allocate it on the stream's device"), "{refused}");
    Ok(())
}

/// Calls of one problem differ in their operands' addresses, and the copies are theirs.
#[test]
fn every_call_copies_its_own_operands() -> Result {
    need_nvrtc!(Ok(()));
    let device = EmulatorOptions::of_tag(ArchId::SM90).device()?;
    let (stream, gemm) = (device.new_stream()?, gemm(&device)?);
    for key in [1, 5, 1, 9] {
        assert!(near(&run(&stream, &gemm, key, None)?, &expected(key)?), "{key}");
    }
    let launches = device.emulated().map_or(Vec::new(), |emulated| emulated.take_launches());
    let copies = launches.iter().filter(|launch| launch.entry == "ww_repack").count();
    assert_eq!((copies, launches.len()), (4, 8));
    Ok(())
}

/// The kernel begins while its operands are being copied, and waits for them; nothing else is launched so that did not ask for it.
#[test]
fn copies_are_launched_before_the_kernel() -> Result {
    need_nvrtc!(Ok(()));
    let device = EmulatorOptions::of_tag(ArchId::SM90).device()?;
    let gemm = gemm(&device)?;
    gemm.prepare(&problem())?;
    for repacks in [true, false] {
        let gemm = gemm.clone().repacks(repacks);
        let plan = gemm.plan(&problem())?;
        let launches = lower::program(&plan)?.launches;
        let listed: Vec<_> = launches.iter().map(|launch| (launch.entry.clone(), launch.pdl)).collect();
        let main = (plan.name(), repacks);
        assert_eq!(listed, if repacks { vec![("ww_repack".into(), false), main] } else { vec![main] });
        assert_eq!((plan.spec.loader.is_tma(), plan.repacks.any()), (repacks, repacks));
    }
    Ok(())
}
