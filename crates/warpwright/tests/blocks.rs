//! Outputs whose blocks share scale factors, and the softmax of a row's largest values, through types on the host.

use warpwright::builder::auto::{OperandFacts, alternatives, resolve};
use warpwright::kernels::CanImplementError;
use warpwright::numeric::dequantize_block;
use warpwright::prelude::*;
use warpwright::spec::{BlockRun, BlockScales, ScaleOrder, Sink, intern};
use warpwright::{BlockFormat, DeviceInfo, Node, Order, PlanError, RunError, Violation};

type Test = Result<(), Box<dyn std::error::Error>>;

const M: usize = 70;
const N: usize = 200;
const K: usize = 24;

/// Products of no small integers.
fn operands() -> Result<(Tensor<f16>, Tensor<f16>), warpwright::TensorError> {
    let of = |i: usize, j: usize| f16::from_f32(((i * 37 + j * 101) % 251) as f32 / 50.0 - 2.5);
    Ok((Tensor::from_fn(M, K, of)?, Tensor::from_fn(K, N, |k, n| of(n + 7, k))?))
}

fn products(a: &Tensor<f16>, b: &Tensor<f16>) -> Result<Tensor<f32>, RunError> {
    GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().epilogue(acc()).run(a, b)
}

/// Blocks of rows are the values, to half a unit of the element at its largest, and scale factors are no larger than they need be: by so
/// much at most, and by so much smaller.
fn rows_are_close<F: BlockFormat>(half_unit: f32, largest: f32, [up, down]: [f32; 2]) -> Test {
    let (a, b) = operands()?;
    let x = products(&a, &b)?;
    let block = usize::from(F::BLOCK);
    let mut scales = Tensor::<F::Scale>::zeros(M, N.div_ceil(block))?;
    let e = quantize_rows::<F, _>(&mut scales, acc());
    let d = GemmBuilder::<Sm80, f16, f32>::auto().output::<F::Element>().epilogue(e).run(&a, &b)?;
    for (m, j) in (0..M).flat_map(|m| (0..N.div_ceil(block)).map(move |j| (m, j))) {
        let places = j * block..N.min((j + 1) * block);
        let values = places.clone().map(|n| x.get(m, n)).collect::<Result<Vec<_>, _>>()?;
        let stored = places.map(|n| d.get(m, n)).collect::<Result<Vec<_>, _>>()?;
        let scale = scales.get(m, j)?;
        let amax = values.iter().fold(0f32, |a, x| a.max(x.abs()));
        let needed = amax / largest;
        let found = scale.to_f32() / needed;
        assert!(found >= 1.0 - down && found <= 1.0 + up, "{m} {j}: {scale:?} for {needed}");
        for (x, y) in values.iter().zip(dequantize_block(&stored, scale)) {
            assert!((x - y).abs() <= half_unit * 1.001 * scale.to_f32() + down * amax, "{m} {j}: {x} {y}");
        }
    }
    Ok(())
}

#[test]
fn what_is_stored_is_close_to_the_values() -> Test {
    rows_are_close::<Mx<e4m3>>(16.0, 448.0, [1.0, 0.0])?;
    rows_are_close::<Mx<e5m2>>(4096.0, 57344.0, [1.0, 0.0])?;
    rows_are_close::<Mx<e3m2>>(2.0, 28.0, [1.0, 0.0])?;
    rows_are_close::<Mx<e2m3>>(0.25, 7.5, [1.0, 0.0])?;
    rows_are_close::<Mx<e2m1>>(1.0, 6.0, [1.0, 0.0])?;
    rows_are_close::<Nvfp4>(1.0, 6.0, [0.0625, 0.0625])?;
    rows_are_close::<Blocks<e4m3, f32, 128>>(16.0, 448.0, [1e-6, 1e-6])
}

#[test]
fn scale_factors_in_atoms_are_those_of_the_matrix() -> Test {
    let (a, b) = operands()?;
    let mut plain = Tensor::<e4m3>::zeros(M, N.div_ceil(16))?;
    let mut atoms = Tensor::<e4m3>::zeros(1, 512 * N.div_ceil(64))?;
    let gemm = || GemmBuilder::<Sm90, f16, f32>::auto().output::<e2m1>();
    let d = gemm().epilogue(quantize_rows::<Nvfp4, _>(&mut plain, acc())).run(&a, &b)?;
    let other = gemm().epilogue(quantize_rows::<InAtoms<Nvfp4>, _>(&mut atoms, acc())).run(&a, &b)?;
    assert_eq!(d.to_vec()?, other.to_vec()?);
    for (m, j) in (0..M).flat_map(|m| (0..N.div_ceil(16)).map(move |j| (m, j))) {
        let at = j / 4 * 512 + m % 32 * 16 + m / 32 * 4 + j % 4;
        assert_eq!(plain.get(m, j)?, atoms.get(0, at)?, "{m} {j}");
    }
    Ok(())
}

// A batch's entries, blocks of columns, and D the other way: all are the transposed problem's.
#[test]
fn columns_are_the_rows_of_the_transposed_problem() -> Test {
    let (a, b) = operands()?;
    let (mut rows, mut columns) =
        (Tensor::<e8m0>::zeros(M, N.div_ceil(32))?, Tensor::<e8m0>::zeros(N.div_ceil(32), M)?);
    let gemm = || GemmBuilder::<Sm80, f16, f32>::auto().output::<e4m3>();
    let d = gemm().epilogue(quantize_rows::<Mx<e4m3>, _>(&mut rows, acc())).run(&a, &b)?;
    let (at, bt) =
        (Tensor::from_fn(K, M, |k, m| a.get(m, k).unwrap())?, Tensor::from_fn(N, K, |n, k| b.get(k, n).unwrap())?);
    let turned = gemm().epilogue(quantize_columns::<Mx<e4m3>, _>(&mut columns, acc())).run(&bt, &at)?;
    for (m, n) in (0..M).flat_map(|m| (0..N).map(move |n| (m, n))) {
        assert_eq!((d.get(m, n)?, rows.get(m, n / 32)?), (turned.get(n, m)?, columns.get(n / 32, m)?));
    }
    Ok(())
}

#[test]
fn a_norm_constant_is_a_factor() -> Test {
    let (a, b) = operands()?;
    let norm = [0.25f32];
    let mut scales = [Tensor::<e4m3>::zeros(M, 13)?, Tensor::<e4m3>::zeros(M, 13)?];
    let gemm = || GemmBuilder::<Sm80, f16, f32>::auto().output::<e2m1>();
    let [plain, normed] = &mut scales;
    let d = gemm().epilogue(quantize_rows::<Nvfp4, _>(plain, acc())).run(&a, &b)?;
    let other = gemm().epilogue(quantize_rows::<Nvfp4, _>(normed, scalar(&norm) * acc())).run(&a, &b)?;
    // A power of two changes no value while scale factors are normal numbers.
    assert_eq!(d.to_vec()?, other.to_vec()?);
    let quarter = |x: e4m3| e4m3::from_f32(x.to_f32() / 4.0);
    assert_eq!(scales[0].to_vec()?.into_iter().map(quarter).collect::<Vec<_>>(), scales[1].to_vec()?);
    Ok(())
}

#[test]
fn a_row_keeps_its_largest_values() -> Test {
    let (a, b) = operands()?;
    let x = products(&a, &b)?;
    let e = top_k_softmax::<4, _>(0.25 * acc());
    let d = GemmBuilder::<Sm90, f16, f32>::auto().output::<f32>().epilogue(e).run(&a, &b)?;
    for m in 0..M {
        let mut row = (0..N).map(|n| Ok(x.get(m, n)? * 0.25)).collect::<Result<Vec<f32>, RunError>>()?;
        let values = (0..N).map(|n| d.get(m, n)).collect::<Result<Vec<f32>, _>>()?;
        let of = row.clone();
        row.sort_by(|a, b| b.total_cmp(a));
        let sum: f64 = row[..4].iter().map(|&x| f64::from(x - row[0]).exp()).sum();
        for (x, y) in of.into_iter().zip(values) {
            let want = if x < row[3] { 0.0 } else { f64::from(x - row[0]).exp() / sum };
            assert!((f64::from(y) - want).abs() <= 1e-6 * want, "{m}: {y} {want}");
        }
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() -> Test {
    let (a, b) = operands()?;
    let mut few = Tensor::<e8m0>::full(M, 6, e8m0::MAX)?;
    let e = quantize_rows::<Mx<e4m3>, _>(&mut few, acc());
    let refused = GemmBuilder::<Sm80, f16, f32>::auto().output::<e4m3>().epilogue(e).run(&a, &b).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("quantize_rows(..)") && text.contains("a column for each block of a row"), "{text}");
    assert!(few.to_vec()?.iter().all(|&x| x == e8m0::MAX));
    // A row of D is no tile's.
    let wide = Tensor::<f16>::zeros(K, 300)?;
    let refused =
        GemmBuilder::<Sm80, f16, f32>::auto().epilogue(top_k_softmax::<2, _>(acc())).run(&a, &wide).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("N is 300") && text.contains("256"), "{text}");
    // Elements below a byte whose lines share one.
    let mut z = Tensor::<e2m1>::zeros(M, N)?;
    let gemm = || GemmBuilder::<Sm80, f16, f32>::auto().output::<f16>();
    assert!(gemm().epilogue(aux_store(&mut z, acc())).run(&a, &b).is_ok());
    let mut z = Tensor::<e2m1>::column_major(M, N)?;
    let refused = gemm().epilogue(aux_store(&mut z, acc())).run(&a, &b).unwrap_err();
    let RunError::CanImplement(CanImplementError::PackedOutput { argument: 0, dtype: Dtype::E2m1, .. }) = refused
    else {
        panic!("{refused}");
    };
    let narrow = Tensor::<f16>::zeros(K, 35)?;
    let mut z = Tensor::<e2m1>::zeros(M, 35)?;
    let refused = gemm().epilogue(aux_store(&mut z, acc())).run(&a, &narrow).unwrap_err();
    assert!(refused.to_string().contains("leading dimension of whole bytes"), "{refused}");
    Ok(())
}

/// Whatever the problem and the device, automatic tiles hold whole blocks and rows.
#[test]
fn automatic_tiles_hold_blocks() {
    let scales =
        |run, block| BlockScales { element: Dtype::E4m3, scale: Dtype::F32, block, run, order: ScaleOrder::Strided };
    let node = |run, block| intern(Node::Sink(Sink::Quantize(scales(run, block)), &Node::LoadAcc));
    let trees = [
        node(BlockRun::AlongRows, 128),
        node(BlockRun::AlongColumns, 128),
        node(BlockRun::AlongRows, 32),
        intern(Node::TopKSoftmax(2, &Node::LoadAcc)),
    ];
    for (device, tag) in
        [(DeviceInfo::t4(), ArchId::SM75), (DeviceInfo::a100(), ArchId::SM80), (DeviceInfo::h200(), ArchId::SM90)]
    {
        for (i, (tree, order)) in
            trees.into_iter().flat_map(|t| [(t, Order::RowMajor), (t, Order::ColumnMajor)]).enumerate()
        {
            for (m, n) in [(1, 200), (200, 1), (33, 48), (4096, 256), (100, 160)] {
                let desc = GemmDesc { epilogue: tree, d: Dtype::E4m3, ..GemmDesc::new(tag, Dtype::F16, Dtype::F32) };
                let facts = OperandFacts {
                    order_d: if order == Order::RowMajor {
                        warpwright::spec::Order::Row
                    } else {
                        warpwright::spec::Order::Column
                    },
                    ..OperandFacts::K_MAJOR
                };
                let problem = Problem::dense(m, n, 512);
                let plans = alternatives(&desc.spec().unwrap(), &device, &problem, &facts).unwrap();
                assert!(!plans.is_empty());
                for plan in plans {
                    let tile = plan.user_tile();
                    let whole = match i / 2 {
                        0 => tile.n % 128 == 0,
                        1 => tile.m % 128 == 0,
                        2 => tile.n % 32 == 0,
                        _ => tile.n >= n,
                    };
                    assert!(whole, "{tree} of {m} x {n} on {}: {}", device.name, plan.name());
                }
            }
        }
    }
    // A tile that cuts them is refused in words that say what would do.
    let desc = GemmDesc {
        epilogue: trees[0],
        d: Dtype::E4m3,
        tile: Some(Mnk::new(128, 64, 32)),
        ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32)
    };
    assert_eq!(desc.spec().unwrap_err(), Violation::BlockInTile { what: "N", given: 64, block: 128 });
    let problem = Problem::dense(512, 300, 64);
    let rows = GemmDesc { epilogue: trees[3], ..GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32) };
    let refused = resolve(&rows.spec().unwrap(), &DeviceInfo::a100(), &problem, &OperandFacts::K_MAJOR).unwrap_err();
    assert!(matches!(refused, PlanError::Rule(Violation::RowInTile { n: 300, .. })), "{refused}");
}
