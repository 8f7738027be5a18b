//! The warp-specialised mainloop on emulated devices with every check on: majors, tiles, clusters, schedules, tails.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::error::Error;

use rayon::prelude::*;
use warpwright::Alignment;
use warpwright::prelude::*;
use warpwright::runtime::emulator::EmulatorOptions;
use warpwright_tests::chain::permuted;
use warpwright_tests::few_rows::alike;
use warpwright_tests::need_nvrtc;
use warpwright_tests::roles::{CASES, RolesTypes, TYPES, exact, exact_odd, promotion, same_bits};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Whether everything is run, rather than a sample that takes a minute.
fn nightly() -> bool {
    std::env::var_os("WARPWRIGHT_NIGHTLY").is_some()
}

fn device(seed: u64) -> Result<Device> {
    Ok(EmulatorOptions::of_tag(ArchId::SM90).seed(seed).device()?)
}

#[test]
fn products_of_integers_are_exact() -> Result {
    need_nvrtc!(Ok(()));
    let wrong: Vec<String> = CASES
        .par_iter()
        .enumerate()
        .flat_map_iter(|(i, case)| {
            let (usual, seed) = (RolesTypes::of(Dtype::Bf16), i as u64);
            let [other, fp8] = [TYPES[1 + i % 3], TYPES[4 + i % 4]];
            let all = [
                (seed, case, case.extents.2, usual),
                (seed + 1, case, 0, usual),
                (seed + 2, case, 96, other),
                (seed + 3, case, case.extents.2 + 128, fp8),
            ];
            all.into_iter()
                .filter(move |(.., types)| nightly() || types.a.is_fp8() == (i % 4 < 2) || types.a == Dtype::Bf16)
        })
        .filter_map(|(seed, case, k, types)| {
            let outcome = device(seed).and_then(|device| exact(&device, case, k, types));
            outcome.err().map(|e| format!("{types:?} by {case:?}: {e}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Copies of 8, 4 and fewer bytes, in every schedule and major.
#[test]
fn operands_that_tma_cannot_address_are_copied() -> Result {
    need_nvrtc!(Ok(()));
    let wrong: Vec<String> = CASES
        .par_iter()
        .enumerate()
        .filter(|(i, _)| nightly() || i % 4 < 2)
        .filter_map(|(i, case)| {
            let types = [RolesTypes::of(Dtype::Bf16), TYPES[3 + i % 5]][i % 2];
            let odd = [4, 2, 1, 8][(i / 2) % 4];
            let outcome = device(i as u64).and_then(|device| {
                exact_odd(&device, case, odd, types)?;
                exact_odd(&device, case, odd, [types, RolesTypes::of(Dtype::Tf32)][i / 2 % 2].repacked())
            });
            outcome.err().map(|e| format!("{types:?}, {odd} by {case:?}: {e}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Few numbers of rows; the GPU suite runs all up to 128.
#[test]
fn products_of_few_rows_have_the_same_bits_whichever_way_round() -> Result {
    need_nvrtc!(Ok(()));
    let rows: &[usize] = if nightly() { &[1, 2, 7, 8, 9, 16, 24, 33, 40, 63, 64, 65, 100, 128] } else { &[1, 16, 20] };
    rows.par_iter()
        .try_for_each(|&m| device(m as u64).and_then(|device| Ok(alike(&device, m, (136, 328)).map(drop)?)))?;
    Ok(())
}

#[test]
fn products_with_a_in_registers_are_exact() -> Result {
    need_nvrtc!(Ok(()));
    let wrong: Vec<String> = CASES
        .par_iter()
        .enumerate()
        .filter(|(i, _)| nightly() || i % 4 >= 2)
        .filter_map(|(i, case)| {
            // Only 16 bits lie in any major.
            let types = [TYPES[i % 2], TYPES[[2, 3, 5, 7][i / 2 % 4]]][i % 2].from_registers();
            let outcome = device(i as u64).and_then(|device| exact(&device, case, case.extents.2, types));
            outcome.err().map(|e| format!("{types:?} by {case:?}: {e}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let types = RolesTypes::of(Dtype::F16).from_registers();
    exact_odd(&device(5)?, &CASES[1], 4, types)
}

#[test]
fn chained_products_read_what_the_last_one_wrote() -> Result {
    need_nvrtc!(Ok(()));
    permuted(&device(1)?, 5, false)?;
    permuted(&device(2)?, 5, true)
}

#[test]
fn every_kernel_gives_the_same_bits() -> Result {
    need_nvrtc!(Ok(()));
    assert_eq!(same_bits(&device(1)?, (136, 136, 272), 4)?, CASES.len());
    Ok(())
}

#[test]
fn sums_of_fp8_are_promoted_or_not() -> Result {
    need_nvrtc!(Ok(()));
    promotion(&device(3)?)
}

/// What wgmma cannot read of automatic layouts is read by mma.sync, and a product over nothing is zero in every batch.
#[test]
fn majors_that_wgmma_lacks_and_products_over_nothing() -> Result {
    need_nvrtc!(Ok(()));
    let device = device(1)?;
    let stream = device.new_stream()?;
    let integer = |i: usize, j: usize| ((3 * i + 5 * j) % 7) as i8 - 3;
    let (a, b) = (Tensor::from_fn(32, 64, integer)?, Tensor::from_fn(64, 48, integer)?);
    let (on_a, on_b) = (a.to_device(&stream)?, b.to_device(&stream)?);
    let mut d = Tensor::<i32>::zeros(32, 48)?.to_device(&stream)?;
    let mut gemm = GemmBuilder::<Sm90, i8, i32>::auto().build(&device)?;
    gemm.run(&stream, &on_a, &on_b, &mut d)?;
    let d = d.to_host(&stream)?;
    for (i, j) in [(0, 0), (31, 47), (7, 30)] {
        let sum: i32 = (0..64).map(|k| i32::from(integer(i, k)) * i32::from(integer(k, j))).sum();
        assert_eq!(d.get(i, j)?, sum);
    }
    let mut gemm = GemmBuilder::<Sm90, f16, f32>::auto().build(&device)?;
    for (m, n) in [(4, 6), (64, 64), (1, 5)] {
        let (a, b) = (Tensor::<f16>::zeros(m, 0)?.to_device(&stream)?, Tensor::<f16>::zeros(0, n)?.to_device(&stream)?);
        let mut d = Tensor::<f16>::from_fn(m, n, |_, _| f16::from_f64(7.0))?.to_device(&stream)?;
        gemm.run(&stream, &a, &b, &mut d)?;
        assert!(d.to_host(&stream)?.to_vec()?.iter().all(|x| x.to_f64() == 0.0), "{m} x {n}");
    }
    Ok(())
}

#[test]
fn what_tma_cannot_address_is_loaded_otherwise_or_refused() -> Result {
    need_nvrtc!(Ok(()));
    let device = device(1)?;
    let stream = device.new_stream()?;
    // 20 columns of f16: strides of 40 bytes.
    let (a, b) = (Tensor::<f16>::zeros(16, 20)?.to_device(&stream)?, Tensor::<f16>::zeros(20, 16)?.to_device(&stream)?);
    let mut d = Tensor::<f16>::zeros(16, 16)?.to_device(&stream)?;
    let mut auto = GemmBuilder::<Sm90, f16, f32>::auto().build(&device)?;
    auto.run(&stream, &a, &b, &mut d)?;
    assert_eq!(d.to_host(&stream)?.to_vec()?, vec![f16::from_f64(0.0); 256]);
    let problem = Problem::dense(16, 16, 20).aligned(Alignment { a: 8, b: 16, c: 16, d: 16 });
    let explained = auto.explain(&problem)?;
    assert!(explained.contains("fed by cp.async") && explained.contains("instead of TMA"), "{explained}");
    // TMA alone rounds tf32 on the way, so that a named schedule takes copies, or nothing.
    let ones = Tensor::<tf32>::full(16, 21, tf32::from_f64(1.0))?;
    let (a, b) = (ones.to_device(&stream)?, ones.to_device(&stream)?);
    let mut d = Tensor::<f32>::zeros(16, 16)?.to_device(&stream)?;
    let mut named = GemmBuilder::<Sm90, tf32, f32>::auto().schedule::<Cooperative>().build(&device)?;
    named.run(&stream, &a, &b.view().transposed(), &mut d)?;
    assert_eq!(d.to_host(&stream)?.to_vec()?, vec![21.0; 256]);
    let mut named = named.repacks(false);
    let refused = named.run(&stream, &a, &b.view().transposed(), &mut d).map_err(|e| e.to_string());
    assert_eq!(
        refused.unwrap_err(),
        "Cooperative loads by TMA, which needs addresses and strides in multiples of 16 bytes, but A's are multiples of 4: pad the leading dimension, or use `.schedule::<Auto>()`"
    );
    let mut auto = GemmBuilder::<Sm90, tf32, f32>::auto().build(&device)?;
    d.fill_bytes(&stream, 0xFF)?;
    auto.run(&stream, &a, &b.view().transposed(), &mut d)?;
    assert_eq!(d.to_host(&stream)?.to_vec()?, vec![21.0; 256]);
    Ok(())
}
