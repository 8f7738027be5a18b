//! The warp-specialised mainloop on emulated devices with every check on: majors, tiles, clusters, schedules, tails.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::error::Error;

use rayon::prelude::*;
use warpwright::prelude::*;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::runtime::nvrtc;
use warpwright::{CallArgs, ScheduleId, SchedulerId};
use warpwright_tests::random::draw;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Clone, Copy, Debug)]
struct Case {
    schedule: ScheduleId,
    tile: (usize, usize, usize),
    cluster: (usize, usize),
    stages: Option<usize>,
    /// Of A, B and D.
    orders: (Order, Order, Order),
    extents: (usize, usize, usize),
}

use Order::{ColumnMajor as C, RowMajor as R};
const COOPERATIVE: ScheduleId = ScheduleId::COOPERATIVE;
const PINGPONG: ScheduleId = ScheduleId::PINGPONG;
const ONE: ScheduleId = ScheduleId::WARP_SPECIALIZED;

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (1, 1), stages: None, orders: (R, C, R), extents: (200, 136, 200) },
    Case { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (1, 1), stages: Some(2), orders: (C, R, R), extents: (136, 264, 72) },
    Case { schedule: COOPERATIVE, tile: (128, 64, 128), cluster: (1, 1), stages: Some(3), orders: (R, R, R), extents: (130, 72, 456) },
    Case { schedule: COOPERATIVE, tile: (128, 256, 32), cluster: (1, 1), stages: Some(4), orders: (C, C, C), extents: (72, 300, 40) },
    Case { schedule: COOPERATIVE, tile: (192, 96, 64), cluster: (1, 1), stages: Some(2), orders: (R, C, R), extents: (200, 100, 64) },
    Case { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (2, 1), stages: Some(3), orders: (R, C, R), extents: (300, 200, 264) },
    Case { schedule: COOPERATIVE, tile: (128, 64, 64), cluster: (1, 2), stages: Some(3), orders: (C, R, R), extents: (136, 200, 264) },
    Case { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (2, 2), stages: Some(2), orders: (C, C, R), extents: (264, 260, 136) },
    Case { schedule: PINGPONG, tile: (64, 128, 64), cluster: (1, 1), stages: None, orders: (R, C, R), extents: (400, 264, 200) },
    Case { schedule: PINGPONG, tile: (128, 64, 64), cluster: (1, 1), stages: Some(2), orders: (C, R, R), extents: (520, 72, 136) },
    Case { schedule: PINGPONG, tile: (64, 64, 64), cluster: (2, 1), stages: Some(3), orders: (R, R, R), extents: (600, 72, 200) },
    Case { schedule: ONE, tile: (64, 24, 64), cluster: (1, 1), stages: Some(5), orders: (R, C, R), extents: (70, 50, 200) },
    Case { schedule: ONE, tile: (64, 8, 64), cluster: (1, 1), stages: Some(2), orders: (R, R, R), extents: (64, 16, 128) },
];

fn element(key: u64, i: usize, j: usize) -> f64 {
    (draw(key, (i * 100_003 + j) as u64) % 7) as f64 - 3.0
}

/// A matrix on the device, and whether it lies there transposed.
fn place(stream: &Stream, key: u64, rows: usize, columns: usize, order: Order) -> Result<(Tensor<bf16>, bool)> {
    let value = |i, j| bf16::from_f32(element(key, i, j) as f32);
    let transposed = order == Order::ColumnMajor;
    let host = match transposed {
        false => Tensor::from_fn(rows, columns, value)?,
        true => Tensor::from_fn(columns, rows, |j, i| value(i, j))?,
    };
    Ok((host.to_device(stream)?, transposed))
}

fn run(case: &Case, k: usize, seed: u64) -> Result {
    let (m, n, _) = case.extents;
    let device = EmulatorOptions::of_tag(ArchId::SM90).seed(seed).device()?;
    let desc = GemmDesc {
        d: Dtype::F32,
        tile: Some(Mnk::new(case.tile.0, case.tile.1, case.tile.2)),
        cluster: Some(Mnk::new(case.cluster.0, case.cluster.1, 1)),
        stages: case.stages,
        schedule: case.schedule,
        scheduler: SchedulerId::PERSISTENT,
        ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32)
    };
    let gemm = AnyGemm::new(&desc, &device)?;
    let stream = device.new_stream()?;
    let (a, at) = place(&stream, 1, m, k, case.orders.0)?;
    let (b, bt) = place(&stream, 2, k, n, case.orders.1)?;
    let a = if at { a.view().transposed() } else { a.view() };
    let b = if bt { b.view().transposed() } else { b.view() };
    let mut d = Tensor::<f32>::zeros_on(&stream, Strided::dense(m, n, case.orders.2))?;
    d.fill_bytes(&stream, 0xFF)?;
    gemm.run_raw(&stream, a.raw(), b.raw(), d.view_mut()?.into_raw(), CallArgs::default())?;
    let d = d.to_host(&stream)?;
    for i in 0..m {
        for j in 0..n {
            let expected: f64 = (0..k).map(|l| element(1, i, l) * element(2, l, j)).sum();
            let found = f64::from(d.get(i, j)?);
            if found != expected {
                return Err(format!("{case:?}, K {k}: D[{i}, {j}] is {found}, not {expected}").into());
            }
        }
    }
    Ok(())
}

#[test]
fn products_of_integers_are_exact() -> Result {
    if let Err(missing) = nvrtc::version() {
        assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
        println!("SKIPPED: {missing}");
        return Ok(());
    }
    let wrong: Vec<String> = CASES
        .par_iter()
        .enumerate()
        .flat_map_iter(|(i, case)| [(i as u64 + 1, case, case.extents.2), (i as u64 + 2, case, 0)])
        .filter_map(|(seed, case, k)| run(case, k, seed).err().map(|e| format!("{case:?}, K {k}: {e}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
