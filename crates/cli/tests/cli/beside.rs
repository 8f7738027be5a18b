//! `verify` of what an epilogue stores beside D: matrices, bits, reductions, scale factors of blocks, and of a D that depends on them.

use crate::common::{Folder, Outcome, f32s, npy, split, whole};
use warpwright::Dtype;

const M: usize = 6;
const N: usize = 40;
const K: usize = 5;

/// A file, its elements' type, which of them is changed, and to what.
type Fault = (&'static str, Dtype, usize, fn(f64) -> f64);

/// A product whose results are no whole numbers.
fn folder() -> Folder {
    let folder = Folder::new();
    let tenths = |count, seed| whole(count, seed).iter().map(|x| x / 10.0 + 0.03).collect::<Vec<_>>();
    folder.write("a.npy", &npy("<f4", false, &[M, K], &f32s(&tenths(M * K, 1))));
    folder.write("b.npy", &npy("<f4", false, &[K, N], &f32s(&tenths(K * N, 2))));
    folder
}

/// Makes the files, and judges them: right, and wrong with one element of one file changed.
fn judged(options: &str, faults: &[Fault]) -> Vec<String> {
    let folder = folder();
    let call = format!("--a a.npy --b b.npy --device host {options}");
    folder.ok(&format!("gemm {call} --out d.npy"));
    for right in [format!("verify {call}"), format!("verify {call} --against d.npy")] {
        let stdout = folder.ok(&right).stdout;
        assert!(!stdout.contains("WRONG"), "{stdout}");
    }
    faults.iter().map(|fault| changed(&folder, &call, fault)).collect()
}

/// What is said of files of which one has another element.
fn changed(folder: &Folder, call: &str, &(file, dtype, at, change): &Fault) -> String {
    let whole = std::fs::read(folder.path(file)).unwrap();
    let (_, mut elements) = split(&whole);
    let head = whole.len() - elements.len();
    let value = change(dtype.decode(&elements, at));
    dtype.encode(&mut elements, at, value);
    folder.write(file, &[&whole[..head], &elements].concat());
    let Outcome { code, stdout, stderr } = folder.run(&format!("verify {call} --against d.npy"));
    folder.write(file, &whole);
    assert_eq!((code, stderr.as_str()), (Some(1), ""), "{file}: {stdout}");
    let wrong = stdout.lines().filter(|line| line.starts_with("WRONG"));
    wrong.collect::<Vec<_>>().join("; ")
}

/// One step of the mantissa beyond the next: a fault that no rounding explains.
fn two_steps(x: f64) -> f64 {
    if x.abs() > 400.0 { x / 1.3 } else { x * 1.3 }
}

#[test]
fn blocks_of_e4m3_and_their_factors() {
    let wrong = judged(
        "--epilogue 'd = quantize_rows<e4m3, f32, 128>(f, acc)' --output-type e4m3 --save f=f.npy",
        &[("d.npy", Dtype::E4m3, 3, two_steps), ("f.npy", Dtype::F32, 2, |x| x * (1.0 + 1e-5))],
    );
    assert_eq!(wrong[0], "WRONG    1 of 240 elements");
    // Values are judged by the factor that they are read with: its own fault is small beside a rounding to e4m3.
    assert_eq!(wrong[1], "WRONG    1 of 6 elements of f");
}

#[test]
fn blocks_of_powers_of_two() {
    // Written as f32, which holds them.
    let twice: fn(f64) -> f64 = |x| 2.0 * x;
    let wrong = judged(
        "--epilogue 'd = quantize_columns<e5m2, e8m0, 32>(f, 0.3*acc)' --output-type e5m2 --save f=f.npy --bind-type f=e8m0",
        &[("d.npy", Dtype::E5m2, 7, |x| 1.6 * x), ("f.npy", Dtype::F32, 5, twice)],
    );
    assert_eq!(wrong[0], "WRONG    1 of 240 elements");
    // A block's values too are others then.
    assert_eq!(wrong[1], "WRONG    6 of 240 elements; WRONG    1 of 40 elements of f");
}

#[test]
fn blocks_beside_d_and_in_atoms() {
    let wrong = judged(
        "--epilogue 'd = let x = acc; select(const<1>, relu(x), aux_store(z, quantize_rows<e2m1, e4m3, 16, atoms>(f, x)))' \
         --save z=z.npy --bind-type z=e2m1 --save f=f.npy --bind-type f=e4m3",
        &[
            ("d.npy", Dtype::F32, 239, |x| x + 0.5),
            ("z.npy", Dtype::F32, 9, |x| if x == 0.0 { 2.0 } else { -x }),
            // The second block of the third row.
            ("f.npy", Dtype::E4m3, 2 * 16 + 1, two_steps),
        ],
    );
    assert_eq!(wrong[0], "WRONG    1 of 240 elements");
    assert_eq!(wrong[1], "WRONG    1 of 240 elements of z");
    assert!(wrong[2].ends_with("WRONG    1 of 18 elements of f"), "{}", wrong[2]);
}

#[test]
fn largest_values_of_rows() {
    let epilogue = "--epilogue 'd = top_k_softmax<2>(acc)'";
    let largest = |folder: &Folder| {
        let (_, elements) = split(&std::fs::read(folder.path("d.npy")).unwrap());
        (0..N).find(|&i| Dtype::F32.decode(&elements, i) > 0.5).unwrap()
    };
    let probe = folder();
    probe.ok(&format!("gemm --a a.npy --b b.npy --device host {epilogue} --out d.npy"));
    let at = largest(&probe);
    let dropped = if at == 0 { N - 1 } else { at - 1 };
    let wrong =
        judged(epilogue, &[("d.npy", Dtype::F32, at, |x| x + 1e-4), ("d.npy", Dtype::F32, dropped, |x| x + 0.4)]);
    assert_eq!(wrong, ["WRONG    1 of 240 elements"; 2]);
}

#[test]
fn matrices_bits_and_reductions() {
    for order in ["row", "column"] {
        let wrong = judged(
            &format!(
                "--epilogue 'd = aux_mask(bits, aux_store(z, amax(s, reduce_rows<sum>(v, reduce_columns<min>(w, acc - 1)))))' \
                 --order-d {order} --save bits=bits.npy --save z=z.npy --bind-type z=f16 --save s=s.npy --save v=v.npy --save w=w.npy"
            ),
            &[
                ("bits.npy", Dtype::U8, 3, |x| f64::from(x as u8 ^ 2)),
                ("z.npy", Dtype::F16, 11, |x| x * 1.01 + 0.1),
                ("s.npy", Dtype::F32, 0, |x| x * 1.0001),
                ("v.npy", Dtype::F32, 39, |x| x + 0.001),
                ("w.npy", Dtype::F32, 5, |x| x - 0.001),
            ],
        );
        let counts =
            ["240 elements of bits", "240 elements of z", "1 elements of s", "40 elements of v", "6 elements of w"];
        assert_eq!(wrong, counts.map(|of| format!("WRONG    1 of {of}")), "{order}");
    }
}

#[test]
fn masks_of_a_column_major_d() {
    let (m, n) = (11, 5);
    let folder = Folder::new();
    folder.write("a.npy", &npy("<f4", false, &[m, 2], &f32s(&[1.0; 22])));
    folder.write("b.npy", &npy("<f4", false, &[2, n], &f32s(&[1.0; 10])));
    // Bits of eight rows to a byte, the bytes of a row together.
    let bits: Vec<u8> = (0..2 * n).map(|i| (i * 73 + 19) as u8).collect();
    let call = "--a a.npy --b b.npy --device host --order-d column --bind kept=kept.npy --save made=made.npy \
                --epilogue 'd = aux_mask(made, mask(kept) + 0*acc)'";
    let columns: Vec<u8> = (0..2 * n).map(|i| bits[i % 2 * n + i / 2]).collect();
    for (fortran, bytes) in [(false, &bits), (true, &columns)] {
        folder.write("kept.npy", &npy("|u1", fortran, &[2, n], bytes));
        folder.ok(&format!("gemm {call} --out d.npy"));
        folder.ok(&format!("verify {call}"));
        folder.ok(&format!("verify {call} --against d.npy"));
        let (_, d) = split(&std::fs::read(folder.path("d.npy")).unwrap());
        for i in 0..m * n {
            let (row, column) = (i % m, i / m);
            assert_eq!(Dtype::F32.decode(&d, i), f64::from(bits[row / 8 * n + column] >> (row % 8) & 1), "{i}");
        }
    }
    // That of a row-major one.
    folder.write("kept.npy", &npy("|u1", false, &[m, 1], &[0; 11]));
    let outcome = folder.run(&format!("gemm {call} --out d.npy"));
    assert!(outcome.stderr.contains("`kept` is 11 x 1, but the product needs 2 x 5"), "{}", outcome.stderr);
}

#[test]
fn what_is_judged_must_be_there_and_fit() {
    let folder = folder();
    let call = "--a a.npy --b b.npy --device host --epilogue 'd = reduce_rows<sum>(v, acc)' --save v=v.npy";
    folder.ok(&format!("gemm {call} --out d.npy"));
    folder.write("v.npy", &npy("<f4", false, &[N], &f32s(&[0.0; N])));
    let said = |error: &str| {
        let outcome = folder.run(&format!("verify {call} --against d.npy"));
        assert!(outcome.code == Some(2) && outcome.stderr.contains(error), "{}", outcome.stderr);
    };
    said("v.npy has the shape [40], but `v` needs 2 dimensions");
    folder.write("v.npy", &npy("<f4", false, &[1, N - 1], &f32s(&[0.0; N - 1])));
    said("v.npy is 1 x 39, but the product needs 1 x 40: give it those extents");
    std::fs::remove_file(folder.path("v.npy")).unwrap();
    said("cannot read v.npy");
}

#[test]
fn an_empty_product_stores_nothing() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("<f4", false, &[0, K], &[]));
    folder.write("b.npy", &npy("<f4", false, &[K, N], &f32s(&[1.0; K * N])));
    let call = "--a a.npy --b b.npy --device host --epilogue 'd = reduce_rows<max>(v, acc)' --save v=v.npy";
    assert!(folder.ok(&format!("verify {call}")).stdout.contains("right    0 elements of v"));
}

/// Approximations flush what is near the smallest numbers, exact functions do not.
#[test]
fn what_an_approximation_flushes_is_right() {
    let folder = folder();
    let call = "verify --a a.npy --b b.npy --device host --against d.npy --epilogue";
    let all = |x: f64| folder.write("d.npy", &npy("<f4", false, &[M, N], &f32s(&[x; M * N])));
    // 5.3e-37, as the CPU has it.
    for (x, code) in [(0.0, 0), (-5.328e-37, 0), (-1e-35, 1)] {
        all(x);
        assert_eq!(folder.run(&format!("{call} 'd = silu(0*acc - 88)'")).code, Some(code), "{x}");
    }
    all(0.0);
    assert_eq!(folder.run(&format!("{call} 'd = abs(0*acc - 5e-37)'")).code, Some(1));
}
