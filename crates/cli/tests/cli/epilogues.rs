//! Epilogues from the command line: functions, masks, what may be absent, and trees as pictures.

use crate::common::{Folder, f32s, npy, product, split, whole};

fn folder(m: usize, n: usize, k: usize) -> (Folder, Vec<f64>) {
    let folder = Folder::new();
    let (a, b) = (whole(m * k, 1), whole(k * n, 2));
    folder.write("a.npy", &npy("<f4", false, &[m, k], &f32s(&a)));
    folder.write("b.npy", &npy("<f4", false, &[k, n], &f32s(&b)));
    let d = product(m, n, k, &a, &b);
    (folder, d)
}

fn values(folder: &Folder, name: &str) -> Vec<f64> {
    let (_, bytes) = split(&std::fs::read(folder.path(name)).unwrap());
    bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect()
}

#[test]
fn trees_are_drawn() {
    let (folder, _) = folder(4, 8, 2);
    folder.write("bias.npy", &npy("<f4", false, &[8], &f32s(&[1.0; 8])));
    let call = "plan --a a.npy --b b.npy --device host --bind bias=bias.npy --epilogue 'd = relu(2*acc + row(bias))'";
    let text = folder.ok(&format!("{call} --tree-svg tree.svg")).stdout;
    let tree = "  tree\n    relu\n    `-- +\n        |-- *\n        |   |-- scalar\n        |   `-- acc\n        `-- row<f32>\n";
    assert!(text.ends_with(tree), "{text}");
    let picture = std::fs::read_to_string(folder.path("tree.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains(">row&lt;f32&gt;</text>"), "{picture}");
    assert!(folder.ok(&format!("{call} --json")).json()["tree"].as_str().unwrap().starts_with("relu\n"));
    assert_eq!(folder.run(&format!("{call} --tree-svg no/tree.svg")).code, Some(2));
}

#[test]
fn masks_and_absent_operands() {
    let (m, n) = (5, 11);
    let (folder, product) = folder(m, n, 3);
    let bits: Vec<u8> = (0..m * 2).map(|i| (i * 73 + 19) as u8).collect();
    folder.write("kept.npy", &npy("|u1", false, &[m, 2], &bits));
    let epilogue = "'d = select(mask(kept), acc, -1) + otherwise(row<f32>(nothing), 0.5)'";
    let call = format!("--a a.npy --b b.npy --device host --bind kept=kept.npy --epilogue {epilogue}");
    folder.ok(&format!("gemm {call} --out d.npy"));
    for (i, d) in values(&folder, "d.npy").into_iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let kept = bits[row * 2 + column / 8] >> (column % 8) & 1 == 1;
        assert_eq!(d, if kept { product[i] } else { -1.0 } + 0.5, "{row}, {column}");
    }
    folder.ok(&format!("verify {call}"));
}

#[test]
fn verify_compares_functions() {
    let (folder, _) = folder(6, 8, 4);
    let call = "verify --a a.npy --b b.npy --device host --epilogue 'd = gelu(0.1*acc) + d_silu(acc, 0.5)'";
    let text = folder.ok(call).stdout;
    assert!(text.contains("right    48 elements"), "{text}");
    if std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_some() {
        assert!(text.contains("agree    gelu, d_silu: the device's text and the host's body"), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_at_its_column() {
    let (folder, _) = folder(4, 6, 2);
    folder.write("c.npy", &npy("<f4", false, &[4, 6], &f32s(&[0.0; 24])));
    folder.write("down.npy", &npy("<f4", false, &[3], &f32s(&[0.0; 3])));
    for (epilogue, error) in [
        ("acc + otherwise(source(c), 0)", "column 17: `source` cannot be absent"),
        ("select(acc, 1)", "column 1: `select` takes 3 values, found 2"),
        ("clamp(acc, 0)", "column 1: `clamp` takes 3 values, found 2"),
        ("acc + const<x>", "column 13: expected a number, found `x`"),
        ("acc + mask(c)", "the mask c has elements of f32, but a mask is bytes of 8 elements each"),
        ("acc + column(down)", "column down has 3 elements, but M is 4: give it as many"),
    ] {
        let bind = if epilogue.contains("down") { "--bind down=down.npy" } else { "--c c.npy" };
        let outcome =
            folder.run(&format!("gemm --a a.npy --b b.npy --device host {bind} --epilogue '{epilogue}' --out d.npy"));
        assert!(outcome.code == Some(2) && outcome.stderr.contains(error), "{epilogue}: {}", outcome.stderr);
        assert!(!folder.path("d.npy").exists());
    }
}
