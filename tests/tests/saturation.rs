//! Narrow outputs beyond their range (edge case G2): the same bytes on the CPU and, from the kernels' own conversions, on an
//! emulated GPU, in whole vectors and at the edges of tiles.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::error::Error;
use warpwright::prelude::*;
use warpwright_tests::need_nvrtc;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const INF: f32 = f32::INFINITY;

/// Values and what they become: to nearest even, the largest finite value beyond it, NaN where there is one.
const E4M3: &[(f32, f64)] = &[
    (448.0, 448.0),
    (464.0, 448.0),
    (465.0, 448.0),
    (1000.0, 448.0),
    (INF, 448.0),
    (-1000.0, -448.0),
    (-INF, -448.0),
    (f32::NAN, f64::NAN),
    (17.0, 16.0),
    (19.0, 20.0),
    (0.001953125, 0.001953125),
    (0.0009765625, 0.0),
    (0.0029296875, 0.00390625),
];
const E5M2: &[(f32, f64)] = &[
    (57344.0, 57344.0),
    (61439.0, 57344.0),
    (61440.0, 57344.0),
    (1e6, 57344.0),
    (INF, 57344.0),
    (-INF, -57344.0),
    (f32::NAN, f64::NAN),
    (9.0, 8.0),
    (11.0, 12.0),
];

/// Rows of D hold the values in turn: A is zero, and a column vector brings them.
fn stores<D: Element>(device: &Device, table: &[(f32, f64)], transposed: bool) -> Result {
    // Tiles of 16 rows or more: whole ones, and an edge in both directions.
    let (m, n, k) = (50, 77, 32);
    let stream = device.new_stream()?;
    let to = |t: Tensor<f16>| t.to_device(&stream);
    let (a, b) = (to(Tensor::zeros(m, k)?)?, to(Tensor::zeros(k, n)?)?);
    let values = Tensor::from_fn(1, m, |_, i| table[i % table.len()].0)?.to_device(&stream)?;
    let order = if transposed { Order::ColumnMajor } else { Order::RowMajor };
    let mut d = Tensor::<D>::zeros_on(&stream, Strided::dense(m, n, order))?;
    d.fill_bytes(&stream, 0x33)?;
    GemmBuilder::<Sm80, f16, f32>::auto()
        .schedule::<Multistage>()
        .output::<D>()
        .epilogue(acc() + column(&values))
        .build(device)?
        .run(&stream, &a, &b, &mut d)?;
    let d = d.to_host(&stream)?;
    for i in 0..m {
        let (value, expected) = table[i % table.len()];
        for j in 0..n {
            let found = d.get(i, j)?.to_f64();
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{}: {value} became {found} at ({i}, {j}), transposed: {transposed}",
                device.name()
            );
        }
    }
    Ok(())
}

fn all(device: &Device) -> Result {
    for transposed in [false, true] {
        stores::<e4m3>(device, E4M3, transposed)?;
        stores::<e5m2>(device, E5M2, transposed)?;
    }
    Ok(())
}

#[test]
fn the_cpu_saturates() -> Result {
    all(&Device::host())
}

#[test]
fn kernels_saturate() -> Result {
    need_nvrtc!(Ok(()));
    all(&Device::emulator::<Sm80>()?)?;
    all(&Device::emulator::<Sm89>()?)
}
