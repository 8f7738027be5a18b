//! Products of matrices from files, through the built command.

use crate::common::{Folder, f32s, npy, ordered, product, split, whole};
use safetensors::Dtype as Safe;
use safetensors::tensor::TensorView;
use warpwright::Dtype;

const M: usize = 5;
const N: usize = 9;
const K: usize = 7;

/// Bytes of a type.
fn encoded(dtype: Dtype, values: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0; dtype.packed_bytes(values.len())];
    values.iter().enumerate().for_each(|(i, &x)| dtype.encode(&mut bytes, i, x));
    bytes
}

fn decoded(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    (0..bytes.len() * 8 / dtype.bits()).map(|i| dtype.decode(bytes, i)).collect()
}

fn safe(tensors: &[(&str, Safe, &[usize], Vec<u8>)]) -> Vec<u8> {
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, bytes)| (*name, TensorView::new(*dtype, shape.to_vec(), bytes).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

/// D's header and values.
fn result(folder: &Folder, dtype: Dtype) -> (String, Vec<f64>) {
    let (header, bytes) = split(&std::fs::read(folder.path("d.npy")).unwrap());
    (header, decoded(dtype, &bytes))
}

#[test]
fn every_type_and_order_of_npy() {
    let folder = Folder::new();
    // What the file says, what the options add, the elements, the result's type string and elements.
    let rows: &[(&str, &str, Dtype, &str, Dtype)] = &[
        ("<f2", "", Dtype::F16, "'<f2'", Dtype::F16),
        ("<f4", "", Dtype::F32, "'<f4'", Dtype::F32),
        ("<f8", "", Dtype::F64, "'<f8'", Dtype::F64),
        ("|i1", "", Dtype::I8, "'<i4'", Dtype::I32),
        ("bfloat16", "", Dtype::Bf16, "'<V2'", Dtype::Bf16),
        ("<V2", "--type-a bf16 --type-b bf16", Dtype::Bf16, "'<V2'", Dtype::Bf16),
        ("<u2", "--type-a bf16 --type-b bf16 --output-type f32", Dtype::Bf16, "'<f4'", Dtype::F32),
    ];
    let (a, b) = (whole(M * K, 1), whole(K * N, 2));
    let want = product(M, N, K, &a, &b);
    for &(descr, options, dtype, out_descr, out) in rows {
        for (a_fortran, b_fortran) in [(false, false), (false, true), (true, false), (true, true)] {
            folder.write("a.npy", &npy(descr, a_fortran, &[M, K], &encoded(dtype, &ordered(M, K, a_fortran, &a))));
            folder.write("b.npy", &npy(descr, b_fortran, &[K, N], &encoded(dtype, &ordered(K, N, b_fortran, &b))));
            folder.ok(&format!("gemm --a a.npy --b b.npy --device host --out d.npy {options}"));
            let (header, values) = result(&folder, out);
            assert!(header.contains(out_descr) && header.contains("'fortran_order': False"), "{header}");
            assert_eq!(values, want, "{descr} {options} {a_fortran} {b_fortran}");
        }
    }
}

#[test]
fn bytes_and_eight_bit_floats() {
    let folder = Folder::new();
    let (a, b) = (whole(M * K, 3), whole(K * N, 4));
    let unsigned: Vec<f64> = a.iter().map(|x| x.abs()).collect();
    folder.write("a.npy", &npy("|u1", false, &[M, K], &encoded(Dtype::U8, &unsigned)));
    folder.write("b.npy", &npy("|i1", false, &[K, N], &encoded(Dtype::I8, &b)));
    folder.ok("gemm --a a.npy --b b.npy --device host --out d.npy");
    assert_eq!(result(&folder, Dtype::I32).1, product(M, N, K, &unsigned, &b));
    // fp8 is read along K by every instruction: A by rows, B by columns.
    for descr in ["<V1", "|u1"] {
        folder.write("a.npy", &npy(descr, false, &[M, K], &encoded(Dtype::E4m3, &a)));
        folder.write("b.npy", &npy("<f1", true, &[K, N], &encoded(Dtype::E5m2, &ordered(K, N, true, &b))));
        folder.ok("gemm --a a.npy --b b.npy --type-a e4m3 --output-type f32 --device host --out d.npy");
        assert_eq!(result(&folder, Dtype::F32).1, product(M, N, K, &a, &b));
    }
}

#[test]
fn floats_of_another_type_are_rounded_to_it() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("<f4", false, &[1, 1], &f32s(&[1.0 + 2f64.powi(-10)])));
    folder.write("b.npy", &npy("<f4", false, &[1, 1], &f32s(&[1.0])));
    folder.ok("gemm --a a.npy --b b.npy --type-a bf16 --type-b bf16 --output-type f32 --device host --out d.npy");
    assert_eq!(result(&folder, Dtype::F32).1, [1.0]);
}

#[test]
fn safetensors_by_name_and_alone() {
    let folder = Folder::new();
    let (a, b) = (whole(M * K, 5), whole(K * N, 6));
    let weights =
        safe(&[("layer.0:a", Safe::BF16, &[M, K], encoded(Dtype::Bf16, &a)), ("other", Safe::I64, &[1], vec![0; 8])]);
    folder.write("w.safetensors", &weights);
    folder.write("b.safetensors", &safe(&[("b", Safe::BF16, &[K, N], encoded(Dtype::Bf16, &b))]));
    folder.ok("gemm --a w.safetensors:layer.0:a --b b.safetensors --output-type f32 --device host --out d.npy");
    assert_eq!(result(&folder, Dtype::F32).1, product(M, N, K, &a, &b));
}

/// A, B and their product.
fn inputs(folder: &Folder) -> Vec<f64> {
    let (a, b) = (whole(M * K, 7), whole(K * N, 8));
    folder.write("a.npy", &npy("<f4", false, &[M, K], &f32s(&a)));
    folder.write("b.npy", &npy("<f4", false, &[K, N], &f32s(&b)));
    product(M, N, K, &a, &b)
}

#[test]
fn epilogues_read_vectors_tiles_and_scalars() {
    let folder = Folder::new();
    let acc = inputs(&folder);
    let (bias, scale, mask, c) = (whole(N, 9), whole(M, 10), whole(M * N, 11), whole(M * N, 12));
    folder.write("bias.npy", &npy("<f4", false, &[N], &f32s(&bias)));
    folder.write("scale.npy", &npy("<f2", false, &[M, 1], &encoded(Dtype::F16, &scale)));
    folder.write("mask.npy", &npy("<f4", true, &[M, N], &f32s(&ordered(M, N, true, &mask))));
    folder.write("c.npy", &npy("<V2", false, &[M, N], &encoded(Dtype::Bf16, &c)));
    folder.ok(
        "gemm --a a.npy --b b.npy --c c.npy --type-c bf16 --device host --out d.npy --bind bias=bias.npy --bind s=scale.npy \
         --bind mask=mask.npy --scalar alpha=2 --scalar beta=-1.5 \
         --epilogue 'd = relu(alpha*acc + row(bias) + beta*source(c)) + column(s)*tile(mask)'",
    );
    let want: Vec<f64> =
        (0..M * N).map(|i| (2.0 * acc[i] + bias[i % N] - 1.5 * c[i]).max(0.0) + scale[i / N] * mask[i]).collect();
    assert_eq!(result(&folder, Dtype::F32).1, want);

    // C alone is added.
    folder.ok("gemm --a a.npy --b b.npy --c c.npy --type-c bf16 --device host --out d.npy");
    let want: Vec<f64> = (0..M * N).map(|i| acc[i] + c[i]).collect();
    assert_eq!(result(&folder, Dtype::F32).1, want);
}

#[test]
fn what_is_stored_beside_d_is_saved() {
    let folder = Folder::new();
    let acc = inputs(&folder);
    folder.ok(
        "gemm --a a.npy --b b.npy --device host --out d.npy --save z=z.npy --bind-type z=bf16 --save s=s.npy --save r=r.npy \
         --save bits=bits.npy \
         --epilogue 'd = relu(aux_store(z, amax(s, reduce_rows<sum>(r, aux_mask(bits, acc)))))'",
    );
    let saved = |name: &str, dtype| decoded(dtype, &split(&std::fs::read(folder.path(name)).unwrap()).1);
    assert_eq!(saved("z.npy", Dtype::Bf16), acc);
    assert_eq!(saved("s.npy", Dtype::F32), [acc.iter().fold(0.0, |a: f64, x| a.max(x.abs()))]);
    let sums: Vec<f64> = (0..N).map(|n| (0..M).map(|m| acc[m * N + n]).sum()).collect();
    assert_eq!(saved("r.npy", Dtype::F32), sums);
    let bits = saved("bits.npy", Dtype::U8);
    assert_eq!(bits.len(), M * N.div_ceil(8));
    for (m, n) in (0..M).flat_map(|m| (0..N).map(move |n| (m, n))) {
        let bit = bits[m * N.div_ceil(8) + n / 8] as u8 >> (n % 8) & 1;
        assert_eq!(bit == 1, acc[m * N + n] > 0.0, "{m} {n}");
    }
    let unknown = folder.run("gemm --a a.npy --b b.npy --device host --epilogue 'd = aux_store(z, acc)'");
    assert!(unknown.stderr.contains("nothing is bound to the name `z`"), "{}", unknown.stderr);
}

#[test]
fn a_column_major_result_is_in_fortran_order() {
    let folder = Folder::new();
    let acc = inputs(&folder);
    folder.ok("gemm --a a.npy --b b.npy --order-d column --device host --out d.npy");
    let (header, values) = result(&folder, Dtype::F32);
    assert!(header.contains("'fortran_order': True") && header.contains("(5, 9,)"), "{header}");
    assert_eq!(values, ordered(M, N, true, &acc));
}

#[test]
fn three_dimensions_are_a_batch() {
    let folder = Folder::new();
    let (a, b) = (whole(3 * M * K, 13), whole(K * N, 14));
    folder.write("a.npy", &npy("<f4", false, &[3, M, K], &f32s(&a)));
    folder.write("b.npy", &npy("<f4", false, &[K, N], &f32s(&b)));
    let want: Vec<f64> = a.chunks(M * K).flat_map(|a| product(M, N, K, a, &b)).collect();
    for order in ["row", "column"] {
        folder.ok(&format!("gemm --a a.npy --b b.npy --order-d {order} --device host --out d.npy"));
        let (header, values) = result(&folder, Dtype::F32);
        assert!(header.contains("(3, 5, 9,)") && header.contains("'fortran_order': False"), "{header}");
        assert_eq!(values, want);
    }
    // In Fortran order the batch entries are neighbours.
    let fortran: Vec<f64> = (0..3 * M * K).map(|i| a[i % 3 * M * K + i / 3 % M * K + i / 3 / M]).collect();
    folder.write("a.npy", &npy("<f4", true, &[3, M, K], &f32s(&fortran)));
    folder.ok("gemm --a a.npy --b b.npy --device host --out d.npy");
    assert_eq!(result(&folder, Dtype::F32).1, want);
}

#[test]
fn empty_extents() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("<f4", false, &[2, 0], &[]));
    folder.write("b.npy", &npy("<f4", false, &[0, 3], &[]));
    folder.ok("gemm --a a.npy --b b.npy --epilogue acc+1.5 --device host --out d.npy");
    assert_eq!(result(&folder, Dtype::F32).1, [1.5; 6]);
    folder.write("a.npy", &npy("<f4", false, &[0, 4], &[]));
    folder.write("b.npy", &npy("<f4", false, &[4, 3], &f32s(&[1.0; 12])));
    folder.ok("gemm --a a.npy --b b.npy --device host --out d.npy");
    assert!(result(&folder, Dtype::F32).1.is_empty());
    folder.ok("verify --a a.npy --b b.npy --device host");
}

#[test]
fn json_says_what_ran() {
    let folder = Folder::new();
    inputs(&folder);
    let json = folder.ok("gemm --a a.npy --b b.npy --device host --tile 64x64x32 --out d.npy --json").json();
    assert_eq!(json["problem"], serde_json::json!({"m": M, "n": N, "k": K, "batch": 1}));
    assert_eq!(json["types"], serde_json::json!({"a": "f32", "b": "f32", "accumulator": "f32", "d": "f32"}));
    assert_eq!(
        (json["device"].as_str(), json["out"].as_str(), json["epilogue"].as_str()),
        (Some("CPU"), Some("d.npy"), Some("d = acc"))
    );
    assert!(json["kernel"].as_str().unwrap().contains("64x64x32"), "{json}");
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    assert!(
        folder
            .ok("gemm --a a.npy --b b.npy --device host")
            .stdout
            .contains("5x9x7 (M x N x K), f32 x f32 -> f32 -> f32")
    );
}

#[test]
fn verify_tells_right_from_wrong() {
    let folder = Folder::new();
    let random = |count, seed| -> Vec<f64> {
        whole(count, seed).iter().zip(whole(count, seed + 50)).map(|(x, y)| x + y / 8.1).collect()
    };
    let (a, b, bias) = (random(M * K, 15), random(K * N, 16), random(N, 17));
    folder.write("a.npy", &npy("<f4", false, &[M, K], &f32s(&a)));
    folder.write("b.npy", &npy("<f4", false, &[K, N], &f32s(&b)));
    folder.write("bias.npy", &npy("<f4", false, &[N], &f32s(&bias)));
    let call = "--a a.npy --b b.npy --bind bias=bias.npy --epilogue relu(0.3*acc+row(bias)) --device host";
    for output in ["f32", "f16", "bf16"] {
        let json = folder.ok(&format!("verify {call} --output-type {output} --json")).json();
        assert_eq!(
            (json["holds"].as_bool(), json["elements"].as_u64(), json["wrong"].as_u64()),
            (Some(true), Some(45), Some(0))
        );
        assert!(json["worst"]["ratio"].as_f64().unwrap() <= 1.0);
    }
    folder.ok(&format!("gemm {call} --out d.npy"));
    assert!(folder.ok(&format!("verify {call} --against d.npy")).stdout.contains("right    45 elements"));

    // One element, changed by little more than a rounding.
    let (header, mut bytes) = split(&std::fs::read(folder.path("d.npy")).unwrap());
    assert!(header.contains("(5, 9,)"));
    let values = decoded(Dtype::F32, &bytes);
    let largest = (0..values.len()).max_by(|&i, &j| values[i].total_cmp(&values[j])).unwrap();
    Dtype::F32.encode(&mut bytes, largest, values[largest] * (1.0 + 1e-4));
    folder.write("wrong.npy", &npy("<f4", false, &[M, N], &bytes));
    let outcome = folder.run(&format!("verify {call} --against wrong.npy"));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let place = format!("d[0][{}, {}]", largest / N, largest % N);
    assert!(
        outcome.stdout.contains("WRONG    1 of 45 elements") && outcome.stdout.contains(&place),
        "{}",
        outcome.stdout
    );
    let outcome = folder.run(&format!("verify {call} --against wrong.npy --json"));
    assert_eq!(outcome.code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((json["holds"].as_bool(), json["worst"]["row"].as_u64()), (Some(false), Some((largest / N) as u64)));
}

#[test]
fn a_dropped_last_k_is_found() {
    let folder = Folder::new();
    let (a, b) = (whole(M * 512, 18), whole(512 * N, 19));
    let half = |x: &[f64]| encoded(Dtype::F16, x);
    folder.write("a.npy", &npy("<f2", false, &[M, 512], &half(&a)));
    folder.write("b.npy", &npy("<f2", false, &[512, N], &half(&b)));
    let mut short = a.clone();
    short.chunks_mut(512).for_each(|row| row[511] = 0.0);
    folder.write("d.npy", &npy("<f4", false, &[M, N], &f32s(&product(M, N, 512, &short, &b))));
    assert_eq!(folder.run("verify --a a.npy --b b.npy --against d.npy").code, Some(1));
}
