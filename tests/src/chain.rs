//! Products of which each reads what the one before it wrote, as fast as a stream takes them.

use warpwright::prelude::*;
use warpwright::spec::LoaderId;
use warpwright::{CallArgs, ScheduleId};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SIZE: usize = 192;

/// `links` products D = P · D by a permutation P, each of the one before, in two buffers that take turns: every launch reads
/// what the last one writes and overwrites what the last one reads. With programmatic launches they overlap. Of a matrix, by what
/// Auto takes, and of a vector, by the kernels that have no tensor core's instructions.
///
/// # Errors
/// The first element that is not where the permutations put it.
pub fn permuted(device: &Device, links: usize, programmatic: bool) -> Result {
    let auto = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    chain(device, links, programmatic, SIZE, &auto)?;
    for loader in [LoaderId::BULK_ROWS, LoaderId::GLOBAL_TO_REGISTER] {
        chain(device, links, programmatic, 1, &GemmDesc { schedule: ScheduleId::GEMV, loader: Some(loader), ..auto })?;
    }
    Ok(())
}

fn chain(device: &Device, links: usize, programmatic: bool, columns: usize, desc: &GemmDesc) -> Result {
    let what = format!("{} of {columns} columns, {links} links, programmatic {programmatic}", desc.schedule.name());
    let _watched = crate::watchdog::launches(1, || format!("a chain by {what}"));
    let stream = device.new_stream()?;
    let next = |i: usize| (i * 5 + 7) % SIZE;
    let permutation = Tensor::<bf16>::from_fn(SIZE, SIZE, |i, j| bf16::from_f32(f32::from(u8::from(j == next(i)))))?;
    let first = |i: usize, j: usize| ((3 * i + 5 * j) % 127) as f32;
    let p = permutation.to_device(&stream)?;
    let start = Tensor::<bf16>::from_fn(SIZE, columns, |i, j| bf16::from_f32(first(i, j)))?;
    let mut from = start.to_device(&stream)?;
    let mut to = Tensor::<bf16>::zeros_on(&stream, Strided::dense(SIZE, columns, Order::RowMajor))?;
    let mut gemm = AnyGemm::new(desc, device)?;
    if programmatic {
        gemm = gemm.programmatic_launch();
    }
    for _ in 0..links {
        gemm.run_raw(&stream, p.view().raw(), from.view().raw(), to.view_mut()?.into_raw(), CallArgs::default())?;
        std::mem::swap(&mut from, &mut to);
    }
    let d = from.to_host(&stream)?;
    for i in 0..SIZE {
        let row = (0..links).fold(i, |row, _| next(row));
        for j in 0..columns {
            let (found, expected) = (d.get(i, j)?.to_f64(), f64::from(first(row, j)));
            if found != expected {
                return Err(format!("{what}: D[{i}, {j}] is {found}, not {expected}").into());
            }
        }
    }
    Ok(())
}
