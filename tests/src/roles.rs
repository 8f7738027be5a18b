//! Problems for the warp-specialised mainloop: majors, tiles, clusters, schedules, depths and tails, for whichever device has it.

use warpwright::prelude::*;
use warpwright::spec::ReadFrom;
use warpwright::{AccumulationId, CallArgs, ScheduleId, SchedulerId, StagingId};

use crate::random::{draw, normal};
use crate::watchdog;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One kernel and one problem.
#[derive(Clone, Copy, Debug)]
pub struct RolesCase {
    /// Which roles.
    pub schedule: ScheduleId,
    /// The tile, in the kernel's terms.
    pub tile: (usize, usize, usize),
    /// Blocks along M and N.
    pub cluster: (usize, usize),
    /// The pipeline's depth; `None`: what fits.
    pub stages: Option<usize>,
    /// Of A, B and D.
    pub orders: (Order, Order, Order),
    /// M, N and K.
    pub extents: (usize, usize, usize),
    /// Where the epilogue is staged.
    pub staging: StagingId,
}

use Order::{ColumnMajor as C, RowMajor as R};
const COOPERATIVE: ScheduleId = ScheduleId::COOPERATIVE;
const PINGPONG: ScheduleId = ScheduleId::PINGPONG;
const ONE: ScheduleId = ScheduleId::WARP_SPECIALIZED;
const AUTO: StagingId = StagingId::AUTO;
const REUSED: StagingId = StagingId::REUSED;

/// Every schedule with clusters, all majors, depths of 2 to what fits, and extents around tiles, clusters and stages.
#[rustfmt::skip]
pub const CASES: &[RolesCase] = &[
    RolesCase { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (1, 1), stages: None, orders: (R, C, R), extents: (200, 136, 200), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (1, 1), stages: Some(2), orders: (C, R, R), extents: (136, 264, 72), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 64, 128), cluster: (1, 1), stages: Some(3), orders: (R, R, R), extents: (130, 72, 456), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 256, 32), cluster: (1, 1), stages: Some(4), orders: (C, C, C), extents: (72, 304, 40), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (192, 96, 64), cluster: (1, 1), stages: Some(2), orders: (R, C, R), extents: (200, 100, 64), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (2, 1), stages: Some(3), orders: (R, C, R), extents: (300, 200, 264), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 64, 64), cluster: (1, 2), stages: Some(3), orders: (C, R, R), extents: (136, 200, 264), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (2, 2), stages: Some(2), orders: (C, C, R), extents: (264, 260, 136), staging: AUTO },
    RolesCase { schedule: PINGPONG, tile: (64, 128, 64), cluster: (1, 1), stages: None, orders: (R, C, R), extents: (400, 264, 200), staging: AUTO },
    RolesCase { schedule: PINGPONG, tile: (128, 64, 64), cluster: (1, 1), stages: Some(2), orders: (C, R, R), extents: (520, 72, 136), staging: AUTO },
    RolesCase { schedule: PINGPONG, tile: (64, 64, 64), cluster: (2, 1), stages: Some(3), orders: (R, R, R), extents: (600, 72, 200), staging: AUTO },
    RolesCase { schedule: ONE, tile: (64, 24, 64), cluster: (1, 1), stages: Some(5), orders: (R, C, R), extents: (70, 50, 200), staging: AUTO },
    RolesCase { schedule: ONE, tile: (64, 8, 64), cluster: (1, 1), stages: Some(2), orders: (R, R, R), extents: (64, 16, 128), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 256, 64), cluster: (1, 1), stages: Some(3), orders: (R, C, R), extents: (130, 264, 200), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (256, 128, 64), cluster: (1, 2), stages: Some(2), orders: (R, C, R), extents: (264, 136, 264), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 160, 64), cluster: (2, 1), stages: Some(3), orders: (R, C, R), extents: (264, 176, 136), staging: AUTO },
    RolesCase { schedule: PINGPONG, tile: (128, 128, 64), cluster: (1, 1), stages: Some(3), orders: (R, C, R), extents: (264, 136, 200), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 112, 64), cluster: (1, 1), stages: Some(3), orders: (R, R, R), extents: (130, 240, 72), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (192, 144, 64), cluster: (1, 1), stages: Some(2), orders: (C, C, R), extents: (200, 152, 136), staging: AUTO },
    RolesCase { schedule: PINGPONG, tile: (64, 208, 64), cluster: (2, 1), stages: Some(2), orders: (R, C, R), extents: (136, 216, 264), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 64, 64), cluster: (4, 2), stages: Some(3), orders: (R, C, R), extents: (700, 200, 136), staging: AUTO },
    RolesCase { schedule: PINGPONG, tile: (64, 64, 64), cluster: (1, 8), stages: Some(2), orders: (C, R, R), extents: (72, 600, 200), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 32, 64), cluster: (4, 4), stages: Some(2), orders: (R, R, R), extents: (520, 136, 136), staging: AUTO },
    RolesCase { schedule: COOPERATIVE, tile: (128, 256, 64), cluster: (1, 1), stages: Some(4), orders: (R, C, R), extents: (520, 392, 200), staging: REUSED },
    RolesCase { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (2, 1), stages: Some(3), orders: (R, C, R), extents: (700, 200, 136), staging: REUSED },
    RolesCase { schedule: COOPERATIVE, tile: (128, 128, 64), cluster: (2, 2), stages: Some(2), orders: (C, R, C), extents: (264, 520, 136), staging: REUSED },
    RolesCase { schedule: ONE, tile: (64, 24, 64), cluster: (1, 1), stages: Some(7), orders: (R, C, R), extents: (400, 72, 72), staging: REUSED },
    RolesCase { schedule: ONE, tile: (64, 64, 64), cluster: (1, 2), stages: Some(5), orders: (R, R, R), extents: (200, 264, 264), staging: REUSED },
];

/// What is multiplied, how sums are kept, and where A is read.
#[derive(Clone, Copy, Debug)]
pub struct RolesTypes {
    /// Element of A.
    pub a: Dtype,
    /// Element of B.
    pub b: Dtype,
    /// How sums are kept.
    pub accumulation: AccumulationId,
    /// Where the instruction reads its first operand.
    pub first_from: ReadFrom,
    /// Whether what TMA cannot address is copied into workspace, in place of being loaded otherwise.
    pub repacks: bool,
}

impl RolesTypes {
    /// One element, sums as usual.
    pub const fn of(element: Dtype) -> RolesTypes {
        fp8(element, element, AccumulationId::PROMOTED)
    }

    /// The same with A in registers.
    pub const fn from_registers(self) -> RolesTypes {
        RolesTypes { first_from: ReadFrom::Registers, ..self }
    }

    /// The same of copies.
    pub const fn repacked(self) -> RolesTypes {
        RolesTypes { repacks: true, ..self }
    }
}

const fn fp8(a: Dtype, b: Dtype, accumulation: AccumulationId) -> RolesTypes {
    RolesTypes { a, b, accumulation, first_from: ReadFrom::Shared, repacks: false }
}

/// Everything that wgmma multiplies.
pub const TYPES: &[RolesTypes] = &[
    RolesTypes::of(Dtype::Bf16),
    RolesTypes::of(Dtype::F16),
    RolesTypes::of(Dtype::Tf32),
    RolesTypes::of(Dtype::I8),
    fp8(Dtype::E4m3, Dtype::E4m3, AccumulationId::PROMOTED),
    fp8(Dtype::E5m2, Dtype::E4m3, AccumulationId::FAST_ACCUM),
    fp8(Dtype::E4m3, Dtype::E5m2, AccumulationId::PROMOTED),
    fp8(Dtype::E5m2, Dtype::E5m2, AccumulationId::FAST_ACCUM),
];

/// A small integer, exact in every type.
fn integer(key: u64, i: usize, j: usize) -> f64 {
    (draw(key, (i * 100_003 + j) as u64) % 7) as f64 - 3.0
}

/// A matrix on the device, and whether it lies there transposed.
fn place<T: Element>(
    stream: &Stream,
    (rows, columns): (usize, usize),
    order: Order,
    value: impl Fn(usize, usize) -> T + Sync,
) -> Result<(Tensor<T>, bool)> {
    let transposed = order == Order::ColumnMajor;
    let host = match transposed {
        false => Tensor::from_fn(rows, columns, value)?,
        true => Tensor::from_fn(columns, rows, |j, i| value(i, j))?,
    };
    Ok((host.to_device(stream)?, transposed))
}

/// D, in the accumulator's element, of a case with K as given, from A and B of these values. D is poisoned before.
fn multiply<T: Element, U: Element, D: Element>(
    device: &Device,
    case: &RolesCase,
    k: usize,
    types: RolesTypes,
    value: impl Fn(u64, usize, usize) -> f64 + Sync,
) -> Result<Tensor<D>> {
    let (m, n, _) = case.extents;
    let desc = GemmDesc {
        b: U::DTYPE,
        d: D::DTYPE,
        accumulation: accumulation_of(case, T::DTYPE, types.accumulation),
        first_from: types.first_from,
        tile: Some(Mnk::new(case.tile.0, case.tile.1, case.tile.2 * 16 / T::DTYPE.bits())),
        cluster: Some(Mnk::new(case.cluster.0, case.cluster.1, 1)),
        stages: case.stages,
        schedule: case.schedule,
        staging: case.staging,
        scheduler: SchedulerId::PERSISTENT,
        ..GemmDesc::new(ArchId::SM90, T::DTYPE, D::DTYPE)
    };
    let _watched = watchdog::launches(1, || format!("{types:?}, K {k} by {case:?}"));
    let gemm = AnyGemm::new(&desc, device)?.repacks(types.repacks);
    let stream = device.new_stream()?;
    let (a, at) = place(&stream, (m, k), case.orders.0, |i, j| T::from_f64(value(1, i, j)))?;
    let (b, bt) = place(&stream, (k, n), case.orders.1, |i, j| U::from_f64(value(2, i, j)))?;
    let a = if at { a.view().transposed() } else { a.view() };
    let b = if bt { b.view().transposed() } else { b.view() };
    let mut d = Tensor::<D>::zeros_on(&stream, Strided::dense(m, n, case.orders.2))?;
    d.fill_bytes(&stream, 0xFF)?;
    gemm.run_raw(&stream, a.raw(), b.raw(), d.view_mut()?.into_raw(), CallArgs::default())?;
    Ok(d.to_host(&stream)?)
}

/// Products of small integers, which must be exact: fp8's sums stay below 2^14. K is rounded up to what TMA addresses.
///
/// # Errors
/// The first element that is wrong, or what was refused.
pub fn exact(device: &Device, case: &RolesCase, k: usize, types: RolesTypes) -> Result {
    exact_in(device, case, k.next_multiple_of(128 / types.a.bits()), types)
}

/// As [`exact`], of operands that TMA cannot address: rows, or columns, are `odd` elements longer than they would be.
///
/// # Errors
/// As there.
pub fn exact_odd(device: &Device, case: &RolesCase, odd: usize, types: RolesTypes) -> Result {
    let (m, n, k) = case.extents;
    let longer = |extent: usize| extent.next_multiple_of(16) + odd;
    let case = RolesCase { extents: (longer(m), longer(n), 0), ..*case };
    exact_in(device, &case, longer(k), types)
}

fn exact_in(device: &Device, case: &RolesCase, k: usize, types: RolesTypes) -> Result {
    let by = types;
    match (types.a, types.b) {
        (Dtype::F16, Dtype::F16) => exact_of::<f16, f16, f32>(device, case, k, by),
        (Dtype::Bf16, Dtype::Bf16) => exact_of::<bf16, bf16, f32>(device, case, k, by),
        (Dtype::Tf32, Dtype::Tf32) => exact_of::<tf32, tf32, f32>(device, case, k, by),
        (Dtype::I8, Dtype::I8) => exact_of::<i8, i8, i32>(device, case, k, by),
        (Dtype::E4m3, Dtype::E4m3) => exact_of::<e4m3, e4m3, f32>(device, case, k, by),
        (Dtype::E4m3, Dtype::E5m2) => exact_of::<e4m3, e5m2, f32>(device, case, k, by),
        (Dtype::E5m2, Dtype::E4m3) => exact_of::<e5m2, e4m3, f32>(device, case, k, by),
        (Dtype::E5m2, Dtype::E5m2) => exact_of::<e5m2, e5m2, f32>(device, case, k, by),
        (a, b) => Err(format!("{a} x {b} is not among the elements of these cases").into()),
    }
}

/// Sums are promoted a whole number of times a tile; a shallower tile keeps them in the instruction.
fn accumulation_of(case: &RolesCase, element: Dtype, given: AccumulationId) -> AccumulationId {
    if element.is_fp8() && !(case.tile.2 * 2).is_multiple_of(128) { AccumulationId::FAST_ACCUM } else { given }
}

/// 2^15 products of 1: promoted, their sum is exact; in the instruction alone it stays at 2^14, whose ulp is more than each.
///
/// # Errors
/// Another sum.
pub fn promotion(device: &Device) -> Result {
    let k = 1 << 15;
    for (case, accumulation, sum) in [
        (CASES[11], AccumulationId::PROMOTED, k as f32),
        (CASES[12], AccumulationId::PROMOTED, k as f32),
        (CASES[11], AccumulationId::FAST_ACCUM, 16384.0),
    ] {
        let case = RolesCase { extents: (8, 16, k), orders: (R, C, R), stages: None, ..case };
        let types = fp8(Dtype::E4m3, Dtype::E4m3, accumulation);
        let d = multiply::<e4m3, e4m3, f32>(device, &case, k, types, |_, _, _| 1.0)?;
        if let Some(other) = d.to_vec()?.into_iter().find(|x| *x != sum) {
            return Err(format!("{} sums {k} products of 1 to {other}, not {sum}", accumulation.name()).into());
        }
    }
    Ok(())
}

fn exact_of<T: Element, U: Element, D: Element>(
    device: &Device,
    case: &RolesCase,
    k: usize,
    types: RolesTypes,
) -> Result {
    let (element, (m, n, _)) = (T::DTYPE, case.extents);
    // Only 16-bit elements are read in both majors.
    let case = &match element.bits() {
        16 => *case,
        _ => RolesCase { orders: (R, C, case.orders.2), ..*case },
    };
    let d = multiply::<T, U, D>(device, case, k, types, integer)?;
    let column = |j: usize| (0..k).map(|l| integer(2, l, j)).collect::<Vec<_>>();
    let columns: Vec<_> = (0..n).map(column).collect();
    for i in 0..m {
        let row: Vec<_> = (0..k).map(|l| integer(1, i, l)).collect();
        for (j, column) in columns.iter().enumerate() {
            let expected: f64 = row.iter().zip(column).map(|(a, b)| a * b).sum();
            let found = d.get(i, j)?.to_f64();
            if found != expected {
                return Err(format!("{element}, K {k}: D[{i}, {j}] is {found}, not {expected}").into());
            }
        }
    }
    Ok(())
}

/// The bits of a product of random values under every schedule, tile, cluster and depth of [`CASES`]: there is but one order in
/// which K is summed, for bf16 and, of every `step`th kernel, for either way to keep the sums of fp8.
///
/// # Errors
/// The first kernel whose bits differ from the first one's, or what was refused.
pub fn same_bits(device: &Device, extents: (usize, usize, usize), step: usize) -> Result<usize> {
    let usual = RolesTypes::of(Dtype::Bf16);
    let fast = fp8(Dtype::E4m3, Dtype::E4m3, AccumulationId::FAST_ACCUM);
    let all = bits::<bf16>(device, extents, 1, usual)?;
    let held = bits::<bf16>(device, extents, step, usual.from_registers())?;
    if held[0].1 != all[0].1 {
        return Err(format!("{:?} from registers gives other bits", held[0].0).into());
    }
    for of_kernels in
        [all, held, bits::<e4m3>(device, extents, step, TYPES[4])?, bits::<e4m3>(device, extents, step, fast)?]
    {
        if let Some((case, _)) = of_kernels.iter().find(|(_, bits)| *bits != of_kernels[0].1) {
            return Err(format!("{case:?} gives other bits than {:?}", of_kernels[0].0).into());
        }
    }
    Ok(CASES.len())
}

/// The bits of a product by every `step`th kernel that keeps sums as it is asked to.
#[allow(clippy::type_complexity)]
fn bits<T: Element>(
    device: &Device,
    extents: (usize, usize, usize),
    step: usize,
    types: RolesTypes,
) -> Result<Vec<(RolesCase, Vec<u32>)>> {
    let value = |key, i, j| normal(draw(key, (i * 100_003 + j) as u64));
    let kept = |case: &&RolesCase| accumulation_of(case, T::DTYPE, types.accumulation) == types.accumulation;
    let cases = CASES.iter().filter(kept).step_by(step).map(|case| {
        let (a, b) = if T::DTYPE.is_fp8() { (R, C) } else { (case.orders.0, case.orders.1) };
        let case = RolesCase { extents, orders: (a, b, R), ..*case };
        let d = multiply::<T, T, f32>(device, &case, extents.2, types, value)?;
        Ok((case, d.to_vec()?.into_iter().map(f32::to_bits).collect()))
    });
    cases.collect()
}
