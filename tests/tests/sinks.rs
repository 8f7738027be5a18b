//! What epilogues store beside D, on emulated devices with every check on and on the host: small integers, whose sums are exact
//! in any order, so that every output is known to the bit.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::collections::BTreeMap;
use std::error::Error;

use rayon::prelude::*;
use warpwright::epilogue::parse::{Argument, NameKind, expression};
use warpwright::prelude::*;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::spec::ScalarKind;
use warpwright::{Arg, Args, CallArgs, ScheduleId, SchedulerId};
use warpwright_tests::need_nvrtc;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Everything at once: reductions every way, through registers and slabs, bits, and two matrices.
const ALL: &str = "d = relu(aux_store(z, reduce_rows<sum>(r, reduce_columns<max>(c, amax(s, \
                   reduce_all<sum_of_squares>(q, aux_mask(bits, aux_store(y, acc + row(bias)))))))))";
/// The same, put together in any order.
const ATOMIC: &str = "d = relu(aux_store(z, reduce_rows<atomic sum>(r, reduce_columns<atomic max>(c, reduce_all<atomic amax>(s, \
                      reduce_all<atomic sum_of_squares>(q, aux_mask(bits, aux_store(y, acc + row(bias)))))))))";
/// What wgmma's fragments are stored from without a detour.
const FP8: &str =
    "d = relu(aux_store(z, amax(s, reduce_all<sum_of_squares>(q, aux_mask(bits, aux_store(y, acc + row(bias)))))))";

/// What TMA takes from slabs of its own.
const AUX: &str = "d = relu(aux_store(z, amax(s, acc + row(bias))))";

/// A kernel and a problem that has tails every way.
#[derive(Clone)]
struct Setup {
    desc: GemmDesc,
    epilogue: &'static str,
    z: Dtype,
    extents: [usize; 4],
}

fn setup(arch: ArchId, element: Dtype, tile: [usize; 3], epilogue: &'static str) -> Setup {
    let acc = match element {
        Dtype::I8 => Dtype::I32,
        Dtype::F64 => Dtype::F64,
        _ => Dtype::F32,
    };
    let schedule = if arch == ArchId::SM90 { ScheduleId::COOPERATIVE } else { ScheduleId::MULTISTAGE };
    let desc = GemmDesc {
        tile: Some(Mnk::new(tile[0], tile[1], tile[2])),
        stages: Some(2),
        schedule,
        order_a: Some(warpwright::spec::Order::Row),
        order_b: Some(warpwright::spec::Order::Column),
        order_d: Some(warpwright::spec::Order::Row),
        ..GemmDesc::new(arch, element, acc)
    };
    Setup { desc, epilogue, z: Dtype::Bf16, extents: [2, 70, 104, 80] }
}

fn setups() -> Vec<Setup> {
    let column = Some(warpwright::spec::Order::Column);
    let with = |setup: &Setup, change: &dyn Fn(&mut GemmDesc)| {
        let mut setup = setup.clone();
        change(&mut setup.desc);
        setup
    };
    let f16 = setup(ArchId::SM80, Dtype::F16, [64, 64, 32], ALL);
    let hopper = setup(ArchId::SM90, Dtype::F16, [64, 64, 64], ALL);
    let mut fp8 = setup(ArchId::SM90, Dtype::E4m3, [128, 64, 128], FP8);
    (fp8.desc.d, fp8.z, fp8.extents) = (Dtype::E4m3, Dtype::E4m3, [2, 72, 112, 80]);
    let mut list = vec![
        with(&f16, &|d| d.scheduler = SchedulerId::PERSISTENT),
        with(&f16, &|d| (d.order_d, d.scheduler) = (column, SchedulerId::SPLIT_K_SERIAL)),
        Setup { epilogue: ATOMIC, z: Dtype::I8, ..setup(ArchId::SM80, Dtype::I8, [64, 32, 64], ATOMIC) },
        with(&hopper, &|d| (d.schedule, d.scheduler) = (ScheduleId::PINGPONG, SchedulerId::PERSISTENT)),
        with(&hopper, &|d| (d.order_d, d.schedule) = (column, ScheduleId::WARP_SPECIALIZED)),
        with(&hopper, &|d| (d.swap_ab, d.schedule) = (Some(true), ScheduleId::WARP_SPECIALIZED)),
        fp8.clone(),
        Setup { epilogue: AUX, ..fp8.clone() },
        with(&fp8, &|d| (d.order_d, d.d, d.tile) = (column, Dtype::Bf16, Some(Mnk::new(128, 128, 128)))),
    ];
    if std::env::var_os("WARPWRIGHT_NIGHTLY").is_some() {
        list.push(Setup { z: Dtype::F64, ..setup(ArchId::SM80, Dtype::F64, [32, 32, 16], ALL) });
        list.push(with(&f16, &|d| d.swap_ab = Some(true)));
        list.push(Setup { epilogue: ATOMIC, ..with(&hopper, &|d| d.schedule = ScheduleId::WARP_SPECIALIZED) });
    }
    list
}

/// Element (b, m, k) of A, and (b, k, n) of B.
fn small(b: usize, i: usize, j: usize) -> f64 {
    ((b * 5 + i * 7 + j * 3) % 5) as f64 - 2.0
}

fn bias(n: usize) -> f64 {
    (n % 9) as f64 - 4.0
}

/// Bytes of a tensor on a device with its view.
struct Held {
    memory: Tensor<u8>,
    layout: Strided,
    dtype: Dtype,
}

impl Held {
    /// `value` of each element, or bytes of 0x7f, which no result is, where there is none.
    fn new(
        stream: &Stream,
        dtype: Dtype,
        layout: Strided,
        value: Option<&dyn Fn(usize, usize, usize) -> f64>,
    ) -> Result<Held> {
        let mut bytes = vec![0x7fu8; dtype.packed_bytes(layout.span(dtype)?) + 64];
        if let Some(value) = value {
            let [batch, rows, columns] = layout.extents;
            for (b, m, n) in (0..batch).flat_map(|b| (0..rows).flat_map(move |m| (0..columns).map(move |n| (b, m, n))))
            {
                dtype.encode(&mut bytes, layout.offset(b, m, n), value(b, m, n));
            }
        }
        let memory = Tensor::from_vec(1, bytes.len(), bytes)?;
        let memory = if stream.device().is_host() { memory } else { memory.to_device(stream)? };
        Ok(Held { memory, layout, dtype })
    }

    fn view(&self) -> RawView<'_> {
        let raw = self.memory.view().raw();
        // SAFETY: the layout's span and more was allocated.
        unsafe { RawView::new(raw.address(), raw.bytes(), raw.space(), self.dtype, self.layout) }
    }

    fn view_mut(&mut self) -> RawViewMut<'_> {
        let raw = self.memory.view().raw();
        // SAFETY: as in `view`, and `self` is borrowed mutably.
        unsafe { RawViewMut::new(raw.address(), raw.bytes(), raw.space(), self.dtype, self.layout) }
    }

    fn bytes(&self, stream: &Stream) -> Result<Vec<u8>> {
        Ok(self.memory.to_host(stream)?.to_vec()?)
    }
}

use warpwright::{RawView, RawViewMut};

/// Runs a setup and answers the bytes of D and of each output, by name.
fn run(setup: &Setup, device: &Device) -> Result<BTreeMap<&'static str, Vec<u8>>> {
    let stream = device.default_stream()?;
    let Setup { desc, extents: [batch, m, n, k], .. } = setup;
    let (batch, m, n, k) = (*batch, *m, *n, *k);
    let order = match desc.order_d {
        Some(warpwright::spec::Order::Column) => Order::ColumnMajor,
        _ => Order::RowMajor,
    };
    let across = if order == Order::RowMajor { [m, n.div_ceil(8)] } else { [m.div_ceil(8), n] };
    let compute = if desc.acc == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let of = |rows, columns, order| Strided::dense_batch(batch, rows, columns, order);
    let a = Held::new(&stream, desc.a, of(m, k, Order::RowMajor), Some(&small))?;
    let b = Held::new(&stream, desc.b, of(k, n, Order::ColumnMajor), Some(&|b, k, n| small(b, n, k)))?;
    let across_bias = Held::new(&stream, Dtype::F32, Strided::dense(1, n, Order::RowMajor), Some(&|_, _, n| bias(n)))?;
    // y is contiguous the other way than D, and its lines are apart.
    let apart = match order {
        Order::RowMajor => Strided { extents: [batch, m, n], strides: [((m + 3) * n) as i64, 1, (m + 3) as i64] },
        Order::ColumnMajor => Strided { extents: [batch, m, n], strides: [(m * (n + 5)) as i64, (n + 5) as i64, 1] },
    };
    let mut outputs: Vec<(&'static str, Held)> = vec![
        ("d", Held::new(&stream, desc.d, of(m, n, order), None)?),
        ("z", Held::new(&stream, setup.z, of(m, n, order), None)?),
        ("y", Held::new(&stream, compute, apart, None)?),
        ("r", Held::new(&stream, compute, of(1, n, Order::RowMajor), None)?),
        // All entries together.
        ("c", Held::new(&stream, compute, Strided::dense(m, 1, Order::RowMajor), None)?),
        ("s", Held::new(&stream, compute, Strided::dense(1, 1, Order::RowMajor), None)?),
        ("q", Held::new(&stream, compute, of(1, 1, Order::RowMajor), None)?),
        ("bits", Held::new(&stream, Dtype::U8, of(across[0], across[1], order), None)?),
    ];
    let names: BTreeMap<String, NameKind> = outputs
        .iter()
        .map(|(name, held)| ((*name).to_owned(), NameKind::Output(held.dtype)))
        .chain([
            ("bias".to_owned(), NameKind::Operand(Dtype::F32)),
            ("half".to_owned(), NameKind::Scalar(ScalarKind::Host)),
        ])
        .collect();
    let parsed = expression(setup.epilogue, &names)?;
    let gemm = AnyGemm::new(&GemmDesc { epilogue: parsed.node, ..*desc }, device)?;
    let views: BTreeMap<&str, RawViewMut<'_>> =
        outputs.iter_mut().map(|(name, held)| (*name, held.view_mut())).collect();
    let mut args = Args::new();
    for argument in &parsed.arguments {
        args.push(match argument {
            Argument::Named(name) if name == "bias" => Arg::Read(across_bias.view()),
            Argument::Named(name) => Arg::Write(views[name.as_str()]),
            other => return Err(format!("{other:?}").into()),
        });
    }
    // The second run finds what the first left, in outputs and in workspace.
    for _ in 0..2 {
        gemm.run_raw(&stream, a.view(), b.view(), views["d"], CallArgs { epilogue: args, ..CallArgs::default() })?;
    }
    stream.synchronize()?;
    for (plan, _) in gemm.compiled().iter().filter(|_| [AUX, FP8].contains(&setup.epilogue) && !device.is_host()) {
        let source = warpwright::kernels::lower::source(plan)?;
        assert!(source.contains("BulkVisitor<Epilogue>>"), "TMA stores D");
        assert_eq!(source.contains("has_aux = true"), setup.epilogue == AUX);
    }
    outputs.iter().map(|(name, held)| Ok((*name, held.bytes(&stream)?))).collect()
}

/// What must be in them, computed here.
fn expected(setup: &Setup) -> Result<BTreeMap<&'static str, Vec<u8>>> {
    let stream = Device::host().default_stream()?;
    let Setup { desc, extents: [batch, m, n, k], .. } = setup;
    let (batch, m, n, k) = (*batch, *m, *n, *k);
    let x = |b: usize, m: usize, n: usize| (0..k).map(|k| small(b, m, k) * small(b, n, k)).sum::<f64>() + bias(n);
    let value = std::sync::Arc::new(
        (0..batch)
            .flat_map(|b| (0..m).flat_map(move |m| (0..n).map(move |n| (b, m, n))))
            .map(|(b, m, n)| x(b, m, n))
            .collect::<Vec<_>>(),
    );
    let at = |b: usize, i: usize, j: usize| value[(b * m + i) * n + j];
    let order = match desc.order_d {
        Some(warpwright::spec::Order::Column) => Order::ColumnMajor,
        _ => Order::RowMajor,
    };
    let compute = if desc.acc == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let of = |rows, columns, order| Strided::dense_batch(batch, rows, columns, order);
    let apart = match order {
        Order::RowMajor => Strided { extents: [batch, m, n], strides: [((m + 3) * n) as i64, 1, (m + 3) as i64] },
        Order::ColumnMajor => Strided { extents: [batch, m, n], strides: [(m * (n + 5)) as i64, (n + 5) as i64, 1] },
    };
    let largest = value.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    let squares = |b: usize| value[b * m * n..(b + 1) * m * n].iter().map(|x| x * x).sum::<f64>();
    let sum = |b: usize, j: usize| (0..m).map(|i| at(b, i, j)).sum::<f64>();
    let most = |i: usize| {
        (0..batch).flat_map(|b| (0..n).map(move |j| (b, j))).map(|(b, j)| at(b, i, j)).fold(f64::NEG_INFINITY, f64::max)
    };
    let rows = order == Order::RowMajor;
    let byte = |b: usize, i: usize, j: usize| {
        (0..8)
            .filter(|bit| {
                let (i, j) = if rows { (i, j * 8 + bit) } else { (i * 8 + bit, j) };
                i < m && j < n && at(b, i, j) > 0.0
            })
            .map(|bit| (1u32 << bit) as f64)
            .sum()
    };
    let across = if rows { [m, n.div_ceil(8)] } else { [m.div_ceil(8), n] };
    let held = |dtype, layout, value: &dyn Fn(usize, usize, usize) -> f64| -> Result<Vec<u8>> {
        Held::new(&stream, dtype, layout, Some(value))?.bytes(&stream)
    };
    let mut expected = BTreeMap::from([
        ("d", held(desc.d, of(m, n, order), &|b, i, j| at(b, i, j).max(0.0))?),
        ("z", held(setup.z, of(m, n, order), &at)?),
        ("y", held(compute, apart, &at)?),
        ("s", held(compute, Strided::dense(1, 1, order), &|_, _, _| largest)?),
        ("q", held(compute, of(1, 1, order), &|b, _, _| squares(b))?),
        ("bits", held(Dtype::U8, of(across[0], across[1], order), &byte)?),
    ]);
    expected.insert("r", held(compute, of(1, n, Order::RowMajor), &|b, _, j| sum(b, j))?);
    expected.insert("c", held(compute, Strided::dense(m, 1, Order::RowMajor), &|_, i, _| most(i))?);
    expected.retain(|name, _| *name == "d" || setup.epilogue.contains(&format!("({name}, ")));
    Ok(expected)
}

fn check(setup: &Setup, device: &Device) -> Result {
    let (found, wanted) = (run(setup, device)?, expected(setup)?);
    for (name, wanted) in wanted {
        let first = found[name].iter().zip(&wanted).position(|(x, y)| x != y);
        if let Some(at) = first.or((found[name].len() != wanted.len()).then_some(0)) {
            let (x, y) = (&found[name][at & !3..][..4], &wanted[at & !3..][..4]);
            return Err(format!("{}: `{name}` differs at byte {at}: {x:?} for {y:?}", device.name()).into());
        }
    }
    Ok(())
}

#[test]
fn the_host_stores_what_it_should() {
    for (i, setup) in setups().iter().enumerate() {
        check(setup, &Device::host()).unwrap_or_else(|e| panic!("setup {i}: {e}"));
    }
}

#[test]
fn emulated_devices_store_what_they_should() {
    need_nvrtc!();
    let only = std::env::var("WARPWRIGHT_SETUP").ok().and_then(|n| n.parse::<usize>().ok());
    let run = |(i, setup): (usize, &Setup)| {
        // With one multiprocessor a persistent block works on several tiles.
        let device =
            EmulatorOptions::of_tag(setup.desc.arch).sms(1 + i as u32 % 2).device().map_err(|e| e.to_string())?;
        check(setup, &device).map_err(|e| format!("setup {i}: {e}"))
    };
    let setups = setups();
    let failed: Vec<String> = setups
        .par_iter()
        .enumerate()
        .filter(|(i, _)| only.is_none_or(|only| only == *i))
        .map(run)
        .filter_map(std::result::Result::err)
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
