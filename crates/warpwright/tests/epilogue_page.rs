//! Every line of `docs/epilogues.md` is the expression here, and computes what its definition says.

use warpwright::prelude::*;

const M: usize = 19;
const N: usize = 24;
const K: usize = 8;

struct Operands {
    bias: Vec<f32>,
    gain: Vec<f32>,
    scale: Vec<f32>,
    c: Tensor<f32>,
    z: Tensor<f32>,
    x: Tensor<f32>,
    bits: Tensor<u8>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The normal distribution, by a sum of its density.
fn normal(x: f64) -> f64 {
    let steps = 20_000;
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let h = x / f64::from(steps);
    0.5 + h * (0..steps).map(|i| density((f64::from(i) + 0.5) * h)).sum::<f64>()
}

#[test]
fn the_epilogues_are_what_the_page_says() -> Result<(), Box<dyn std::error::Error>> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/epilogues.md"))?;
    let lines: Vec<String> =
        page.split("```rust\n").skip(1).map(|rest| plain(rest.split("```").next().unwrap_or(""))).collect();
    assert_eq!(lines.len(), 12);
    let of = |m: usize, n: usize, s: f32| ((m * 7 + n * 3) % 11) as f32 * s - 2.0;
    let o = Operands {
        bias: (0..N).map(|n| n as f32 * 0.25 - 3.0).collect(),
        gain: (0..N).map(|n| 1.5 - n as f32 * 0.125).collect(),
        scale: (0..M).map(|m| m as f32 * 0.5 - 2.0).collect(),
        c: Tensor::from_fn(M, N, |m, n| of(m, n, 0.5))?,
        z: Tensor::from_fn(M, N, |m, n| of(n, m, 0.375))?,
        x: Tensor::from_fn(M, N, |m, n| of(m + 3, n, 0.25))?,
        bits: Tensor::from_fn(M, N.div_ceil(8), |m, byte| (m * 37 + byte * 101) as u8)?,
    };
    let a = Tensor::from_fn(M, K, |m, k| f16::from_f32((m * 5 + k * 3) as f32 % 7.0 - 3.0))?;
    let b = Tensor::from_fn(K, N, |k, n| f16::from_f32(((k + n * 2) as f32 % 5.0 - 2.0) * 0.125))?;
    let (alpha, beta) = (0.5, 0.75);
    let at = |t: &Tensor<f32>, m, n| f64::from(t.get(m, n).unwrap_or(f32::NAN));
    let v = |v: &[f32], i: usize| f64::from(v[i]);
    let bit = |m: usize, n: usize| o.bits.get(m, n / 8).unwrap_or(0) >> (n % 8) & 1 == 1;
    let Operands { bias, gain, scale, c, z, x, bits } = &o;
    let mut number = 0;
    macro_rules! epilogue {
        ($e:expr, |$acc:ident, $m:ident, $n:ident| $want:expr) => {{
            assert_eq!(lines[number], plain(stringify!($e)), "epilogue {}", number + 1);
            number += 1;
            let d = GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().epilogue($e).run(&a, &b)?;
            for ($m, $n) in (0..M).flat_map(|m| (0..N).map(move |n| (m, n))) {
                let product =
                    |k| a.get($m, k).map(f16::to_f64).unwrap_or(0.0) * b.get(k, $n).map(f16::to_f64).unwrap_or(0.0);
                let $acc: f64 = (0..K).map(product).sum();
                let (got, want): (f64, f64) = (d.get($m, $n)?.into(), $want);
                assert!(
                    (got - want).abs() <= 1e-6 * (1.0 + want.abs()),
                    "{number} at {}, {}: {got}, not {want}",
                    $m,
                    $n
                );
            }
        }};
    }
    epilogue!(alpha * acc() + beta * source(&c), |acc, m, n| 0.5 * acc + 0.75 * at(c, m, n));
    epilogue!(gelu_tanh(alpha * acc() + row(&bias)), |acc, m, n| {
        let x = 0.5 * acc + v(bias, n);
        0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
    });
    epilogue!(leaky_relu(acc() + row(&bias), 0.01), |acc, m, n| {
        let x = acc + v(bias, n);
        if x < 0.0 { 0.01 * x } else { x }
    });
    epilogue!(column(&scale) * (row(&gain) * acc()), |acc, m, n| v(scale, m) * v(gain, n) * acc);
    epilogue!(relu(row(&gain) * acc() + row(&bias)) + beta * source(&c), |acc, m, n| {
        (v(gain, n) * acc + v(bias, n)).max(0.0) + 0.75 * at(c, m, n)
    });
    epilogue!(tile(&x) * silu(acc() + row(&bias)), |acc, m, n| {
        let y = acc + v(bias, n);
        at(x, m, n) * y * sigmoid(y)
    });
    epilogue!(select(ge(row_index(), column_index()), alpha * acc(), constant!(-1e30)), |acc, m, n| {
        if m >= n { 0.5 * acc } else { -1e30 }
    });
    epilogue!(d_gelu(acc() + beta * source(&c), tile(&z)), |acc, m, n| {
        let (d, z) = (acc + 0.75 * at(c, m, n), at(z, m, n));
        d * (normal(z) + z * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt())
    });
    epilogue!(select(mask(&bits), acc(), constant!(0.0)), |acc, m, n| if bit(m, n) { acc } else { 0.0 });
    epilogue!(softplus(acc() + row_or(None::<&Vec<f32>>, 0.5)), |acc, m, n| (acc + 0.5).exp().ln_1p());
    assert_eq!(number, 10);
    // What is stored on the side is the same values, of which D has the positive ones.
    let mut z = Tensor::<f32>::zeros(M, N)?;
    let mut largest = [f32::NAN];
    macro_rules! stored {
        ($e:expr) => {{
            assert_eq!(lines[number], plain(stringify!($e)));
            GemmBuilder::<Sm80, f16, f32>::auto().output::<f32>().epilogue($e).run(&a, &b)?
        }};
    }
    let d = stored!(relu(aux_store(&mut z, amax(&mut largest, acc() + row(&bias)))));
    let mut most = 0f64;
    for (m, n) in (0..M).flat_map(|m| (0..N).map(move |n| (m, n))) {
        let product = |k| a.get(m, k).map(f16::to_f64).unwrap_or(0.0) * b.get(k, n).map(f16::to_f64).unwrap_or(0.0);
        let want = (0..K).map(product).sum::<f64>() + v(bias, n);
        let (stored, kept) = (at(&z, m, n), at(&d, m, n));
        assert!((stored - want).abs() <= 1e-6 * (1.0 + want.abs()), "{stored} at {m}, {n}, not {want}");
        assert_eq!(kept, stored.max(0.0), "{m}, {n}");
        most = most.max(stored.abs());
    }
    assert_eq!(f64::from(largest[0]), most);
    number += 1;
    // Blocks of 24 values here: no row has 32.
    let mut scales = Tensor::<e8m0>::zeros(M, 1)?;
    let e = quantize_rows::<Mx<e4m3>, _>(&mut scales, relu(acc() + row(&bias)));
    assert_eq!(lines[number], plain("quantize_rows::<Mx<e4m3>, _>(&mut scales, relu(acc() + row(&bias)))"));
    let d = GemmBuilder::<Sm80, f16, f32>::auto().output::<e4m3>().epilogue(e).run(&a, &b)?;
    for m in 0..M {
        let scale = f64::from(scales.get(m, 0)?.to_f32());
        let row = (0..N).map(|n| at(&z, m, n).max(0.0));
        let largest = row.clone().fold(0.0, f64::max);
        assert!(largest == 0.0 || largest <= 448.0 * scale && largest > 224.0 * scale, "{m}: {scale} of {largest}");
        for (n, want) in row.enumerate() {
            let got = f64::from(d.get(m, n)?.to_f32()) * scale;
            assert!((got - want).abs() <= want / 16.0 + scale / 512.0, "{m}, {n}: {got}, not {want}");
        }
    }
    Ok(())
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect()
}
