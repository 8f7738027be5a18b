//! What epilogues store beside D, on the host and on emulated devices with every check on, against values from outside.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use rayon::prelude::*;
use warpwright::epilogue::parse::{NameKind, expression};
use warpwright::prelude::*;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::{Arg, Args, CallArgs, KernelPlan};
use warpwright_tests::need_nvrtc;
use warpwright_tests::random::{draw, normal};
use warpwright_tests::sinks::{Row, check, rows};

fn all(run: impl Fn(usize, &Row) -> Result<(), String> + Sync) {
    let rows = rows().unwrap();
    let failed: Vec<_> = rows.par_iter().enumerate().filter_map(|(i, row)| run(i, row).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_host_stores_what_it_should() {
    all(|_, row| check(row, &Device::host()).map(|_| ()).map_err(|e| e.to_string()));
}

#[test]
fn emulated_devices_store_what_they_should() {
    need_nvrtc!();
    let nightly = std::env::var_os("WARPWRIGHT_NIGHTLY").is_some();
    let only = std::env::var("WARPWRIGHT_ROWS").unwrap_or_default();
    all(|i, row| {
        if !(row.ci || nightly) || !row.name.starts_with(&only) {
            return Ok(());
        }
        let tag = ArchId::from_name(row.arch()).ok_or("no such tag")?;
        // With one multiprocessor a persistent block works on several tiles.
        let device = EmulatorOptions::of_tag(tag).sms(1 + i as u32 % 2).device().map_err(|e| e.to_string())?;
        let plans = check(row, &device).map_err(|e| e.to_string())?;
        plans.iter().try_for_each(|plan| by_tma(row, plan))
    });
}

/// Whether D, and a matrix beside it, go the way that the row is about.
fn by_tma(row: &Row, plan: &KernelPlan) -> Result<(), String> {
    let source = warpwright::kernels::lower::source(plan).map_err(|e| e.to_string())?;
    let [output, aux] = [row.name.contains("fragments"), row.name.contains("aux")];
    let found = [source.contains("BulkVisitor<Epilogue>>"), source.contains("has_aux = true")];
    if (output || aux) && found != [true, aux] {
        return Err(format!("{}: TMA stores {found:?}", row.name));
    }
    Ok(())
}

/// Reductions of random values are those of the D that was stored, rounded once, and the same bits in every run.
#[test]
fn sums_are_rounded_once_and_repeat() {
    need_nvrtc!();
    for tag in [ArchId::SM80, ArchId::SM90] {
        let device = EmulatorOptions::of_tag(tag).device().unwrap();
        let first = random(&device, tag).unwrap();
        assert_eq!(first, random(&device, tag).unwrap(), "{tag}");
    }
}

/// The bits of a row of sums and of the sum of squares.
fn random(device: &Device, tag: ArchId) -> Result<Vec<u32>, Box<dyn std::error::Error>> {
    const M: usize = 100;
    const N: usize = 72;
    const K: usize = 64;
    let stream = device.default_stream()?;
    let matrix = |key, rows, columns| {
        let of = move |i: usize, j: usize| f16::from_f32(normal(draw(key, (i * columns + j) as u64)) as f32);
        Tensor::from_fn(rows, columns, of)?.to_device(&stream)
    };
    let (a, b) = (matrix(1, M, K)?, matrix(2, N, K)?);
    let zeros = |rows, columns| Tensor::<f32>::zeros_on(&stream, Strided::dense(rows, columns, Order::RowMajor));
    let (mut d, mut sums, mut squares) = (zeros(M, N)?, zeros(1, N)?, zeros(1, 1)?);
    let names = [("r", NameKind::Output(Dtype::F32)), ("q", NameKind::Output(Dtype::F32))];
    let parsed = expression("d = reduce_all<sum_of_squares>(q, reduce_rows<sum>(r, acc))", &names)?;
    let gemm = AnyGemm::new(
        &GemmDesc { epilogue: parsed.node, d: Dtype::F32, ..GemmDesc::new(tag, Dtype::F16, Dtype::F32) },
        device,
    )?;
    let mut args = Args::new();
    args.push(Arg::Write(squares.view_mut()?.into_raw()));
    args.push(Arg::Write(sums.view_mut()?.into_raw()));
    let call = CallArgs { epilogue: args, ..CallArgs::default() };
    gemm.run_raw(&stream, a.view().raw(), b.view().transposed().raw(), d.view_mut()?.into_raw(), call)?;
    let [d, sums, squares] = [d, sums, squares].map(|t| t.to_host(&stream).and_then(|t| t.to_vec()));
    let (d, sums, squares) = (d?, sums?, squares?);
    let near = |found: f32, exact: f64| (f64::from(found) - exact).abs() <= 2f64.powi(-24) * exact.abs() * (1.0 + 1e-6);
    for (n, &sum) in sums.iter().enumerate() {
        let column = (0..M).map(|m| f64::from(d[m * N + n]));
        // One rounding, and what f64 loses of values that cancel.
        let lost = 2f64.powi(-45) * column.clone().map(f64::abs).sum::<f64>();
        assert!(near(sum, column.clone().sum()) || (f64::from(sum) - column.sum::<f64>()).abs() < lost, "{n}: {sum}");
    }
    assert!(near(squares[0], d.iter().map(|&x| f64::from(x) * f64::from(x)).sum()), "{}", squares[0]);
    Ok(sums.iter().chain(&squares).map(|x| x.to_bits()).collect())
}
