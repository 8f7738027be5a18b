//! Wrong calls: each ends with exit code 2, one sentence on standard error that names the value, the rule and the remedy,
//! nothing on standard output, and the output file as it was.

use crate::common::{Folder, f32s, npy};
use safetensors::Dtype as Safe;
use safetensors::tensor::TensorView;

const BEFORE: &[u8] = b"what was here before";

/// A folder with right and wrong files.
fn folder() -> Folder {
    let folder = Folder::new();
    let a = npy("<f4", false, &[4, 8], &f32s(&[1.0; 32]));
    folder.write("torn.npy", &a[..a.len() - 3]);
    folder.write("a.npy", &a);
    folder.write("b.npy", &npy("<f4", false, &[8, 6], &f32s(&[1.0; 48])));
    folder.write("b7.npy", &npy("<f4", false, &[7, 6], &f32s(&[1.0; 42])));
    folder.write("a3.npy", &npy("<f4", false, &[3, 4, 8], &f32s(&[1.0; 96])));
    folder.write("b2.npy", &npy("<f4", false, &[2, 8, 6], &f32s(&[1.0; 96])));
    folder.write("bias.npy", &npy("<f4", false, &[5], &f32s(&[1.0; 5])));
    folder.write("raw.npy", &npy("<V2", false, &[4, 8], &[0; 64]));
    folder.write("long.npy", &npy("<i8", false, &[4, 8], &[0; 256]));
    folder.write("flat.npy", &npy("<f4", false, &[32], &f32s(&[1.0; 32])));
    folder.write("text.npy", b"this is not an array");
    folder.write("a.txt", b"1 2 3");
    let half = [0u8; 64];
    let view = |rows| TensorView::new(Safe::F16, vec![rows, 32 / rows], &half).unwrap();
    let pair = safetensors::serialize([("w", view(4)), ("v", view(8))], None).unwrap();
    folder.write("torn.safetensors", &pair[..pair.len() - 1]);
    folder.write("pair.safetensors", &pair);
    // 4-bit elements, five in a row: the second row begins inside a byte.
    let nibbles = |rows, cols| TensorView::new(Safe::F4, vec![rows, cols], &half[..rows * cols / 2]).unwrap();
    folder
        .write("odd.safetensors", &safetensors::serialize([("a", nibbles(2, 5)), ("b", nibbles(5, 2))], None).unwrap());
    folder.write("d.npy", BEFORE);
    folder
}

fn refused(folder: &Folder, line: &str) -> String {
    let outcome = folder.run(line);
    assert_eq!(outcome.code, Some(2), "{line}: {}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout, "", "{line}");
    assert_eq!(std::fs::read(folder.path("d.npy")).unwrap(), BEFORE, "{line}");
    let text = outcome.stderr.strip_suffix('\n').unwrap();
    text.strip_prefix("warpwright: ").unwrap_or_else(|| panic!("{line}: {text}")).to_owned()
}

#[test]
fn each_is_one_sentence() {
    let folder = folder();
    const OUT: &str = "--device host --out d.npy";
    let table: &[(&str, &str)] = &[
        // A bad tile.
        ("--a a.npy --b b.npy --tile 100x64x32", "?"),
        ("--a a.npy --b b.npy --tile 128x64", "?"),
        ("--a a.npy --b b.npy --tile 256x256x64", "?"),
        // A stage count that is no number, and one that the schedule does not take.
        ("--a a.npy --b b.npy --stages NaN", "?"),
        ("--a a.npy --b b.npy --stages -1", "?"),
        ("--a a.npy --b b.npy --stages 1", "?"),
        ("--a a.npy --b b.npy --stages 99", "?"),
        // Clusters, schedules and schedulers.
        ("--a a.npy --b b.npy --cluster 2x1", "?"),
        ("--a a.npy --b b.npy --schedule pingpong --arch sm80", "?"),
        ("--a a.npy --b b.npy --schedule fast", "?"),
        ("--a pair.safetensors:w --b pair.safetensors:v --arch sm90 --schedule pingpong --scheduler streamk", "?"),
        // Shapes.
        ("--a a.npy --b b7.npy", "?"),
        ("--a a3.npy --b b2.npy", "?"),
        ("--a flat.npy --b b.npy", "?"),
        ("--a a.npy --b b.npy --c a.npy", "?"),
        // Rows that start inside a byte.
        ("--a odd.safetensors:a --b odd.safetensors:b --arch sm100", "?"),
        // Architectures and devices.
        ("--a a.npy --b b.npy --arch sm70", "?"),
        ("--a raw.npy --b raw.npy --type-a bf16 --type-b bf16 --arch sm75", "?"),
        // Files.
        ("--a none.npy --b b.npy", "?"),
        ("--a torn.npy --b b.npy", "?"),
        ("--a text.npy --b b.npy", "?"),
        ("--a torn.safetensors:w --b b.npy", "?"),
        ("--a pair.safetensors --b b.npy", "?"),
        ("--a pair.safetensors:x --b b.npy", "?"),
        ("--a a.txt --b b.npy", "?"),
        // Types.
        ("--a raw.npy --b b.npy", "?"),
        ("--a long.npy --b b.npy", "?"),
        ("--a a.npy --b b.npy --type-a fp16", "?"),
        ("--a a.npy --b b.npy --type-a i8", "?"),
        ("--a a.npy --b pair.safetensors:v", "?"),
        // Epilogues.
        ("--a a.npy --b b.npy --bind bias=bias.npy --epilogue 'd = relu(acc + row(bais))'", "?"),
        ("--a a.npy --b b.npy --bind bias=bias.npy --epilogue 'd = relu(acc + row(bias))'", "?"),
        ("--a a.npy --b b.npy --epilogue 'd = swoosh(acc)'", "?"),
        ("--a a.npy --b b.npy --scalar alpha=1 --scalar beta=2 --epilogue alpha*acc", "?"),
        ("--a a.npy --b b.npy --scalar alpha=many --epilogue alpha*acc", "?"),
        ("--a a.npy --b b.npy --scalar alpha --epilogue alpha*acc", "?"),
        ("--a a.npy --b b.npy --scalar alpha=1 --epilogue alpha", "?"),
    ];
    for (call, want) in table {
        let text = refused(&folder, &format!("gemm {call} {OUT}"));
        println!("{call}\n    {text}");
        if *want != "?" {
            assert_eq!(text, *want, "{call}");
        }
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_first() {
    let folder = folder();
    for (call, want) in [("--out no/d.npy", "?"), ("--out d.txt", "?"), ("--out /dev/null.npy/d.npy", "?")] {
        let text = refused(&folder, &format!("gemm --a none.npy --b none.npy --device host {call}"));
        println!("{call}\n    {text}");
        if want != "?" {
            assert_eq!(text, want, "{call}");
        }
    }
}

#[test]
fn devices_that_are_not_there() {
    let folder = folder();
    let gemm = |device: &str| refused(&folder, &format!("gemm --a a.npy --b b.npy --out d.npy --device {device}"));
    for d in ["emulator", "gpu7"] {
        println!("{}", gemm(d));
    }
    println!("{}", gemm("cuda:0"));
}

#[test]
fn other_commands_refuse_too() {
    let folder = folder();
    for (call, want) in [
        ("plan --type-a f16", "?"),
        ("plan --shape 64x64x64", "?"),
        ("plan --shape 64x64 --type-a f16", "?"),
        ("plan --shape 64x64x64 --type-a f16 --device-preset h900", "?"),
        ("plan --shape 64x64x64 --type-a f16 --device-preset a100 --arch sm90", "?"),
        ("plan --shape 64x64x64 --type-a f16 --device-preset h200 --schedule cooperative", "?"),
        ("emit --as elf --shape 64x64x64 --type-a f16", "?"),
        ("emit --as cubin --shape 64x64x64 --type-a f16 --device-preset h200", "?"),
        ("emit --as cuda --shape 64x64x64 --type-a f16 --device host", "?"),
        ("verify --a a.npy --b b.npy --against a.npy --device host", "?"),
        ("gemm --a a.npy", "?"),
        ("gemm --frobnicate", "?"),
    ] {
        let text = refused(&folder, call);
        println!("{call}\n    {text}");
        if want != "?" {
            assert_eq!(text, want, "{call}");
        }
    }
}
