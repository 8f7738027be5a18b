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
    folder.write("raw_b.npy", &npy("<V2", false, &[8, 4], &[0; 64]));
    folder.write("long.npy", &npy("<i8", false, &[4, 8], &[0; 256]));
    folder.write("flat.npy", &npy("<f4", false, &[32], &f32s(&[1.0; 32])));
    folder.write("text.npy", b"this is not an array");
    folder.write("a.txt", b"1 2 3");
    let half = [0u8; 64];
    let view = |rows| TensorView::new(Safe::F16, vec![rows, 32 / rows], &half).unwrap();
    let pair = safetensors::serialize([("w", view(4)), ("v", view(8))], None).unwrap();
    folder.write("torn.safetensors", &pair[..pair.len() - 1]);
    folder.write("pair.safetensors", &pair);
    // 4-bit elements, five in a line: the second line begins inside a byte.
    folder.write("odd_a.npy", &npy("|u1", false, &[2, 5], &[1; 10]));
    folder.write("odd_b.npy", &npy("|u1", true, &[5, 2], &[1; 10]));
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
        (
            "--a a.npy --b b.npy --tile 100x64x32",
            "tile M = 100 is not a multiple of 16 up to 256 (the rows of one mma.sync); give such a --tile, or leave it out to let the plan decide",
        ),
        (
            "--a a.npy --b b.npy --tile 128x64",
            "--tile `128x64` is not a tile MxNxK: write whole numbers with x between them, as in 128x256x64",
        ),
        (
            "--a a.npy --b b.npy --tile 256x256x64",
            "a 256x256x64 tile has 65536 accumulators, but at most 32768 fit the registers of a block; 128x256 and 256x128 are the largest",
        ),
        // A stage count that is no number, and one that the schedule does not take.
        (
            "--a a.npy --b b.npy --stages NaN",
            "--stages `NaN` is not a whole number from 1 up: give one, or leave the option out",
        ),
        (
            "--a a.npy --b b.npy --stages -1",
            "--stages `-1` is not a whole number from 1 up: give one, or leave the option out",
        ),
        (
            "--a a.npy --b b.npy --stages 1",
            "Auto needs 2 to 8 stages to overlap loading with arithmetic, but has 1; give such --stages, or leave them out to let the plan decide",
        ),
        (
            "--a a.npy --b b.npy --stages 99",
            "Auto needs 2 to 8 stages to overlap loading with arithmetic, but has 99; give such --stages, or leave them out to let the plan decide",
        ),
        // Clusters, schedules and schedulers.
        (
            "--a a.npy --b b.npy --arch sm80 --cluster 2x1",
            "cluster 2x1x1: this architecture has no clusters; use 1x1x1",
        ),
        (
            "--a a.npy --b b.npy --schedule pingpong --arch sm80",
            "Sm80 has no Pingpong schedule; Auto, the default, picks one that Sm80 has; that is, leave --schedule out, or give another --arch",
        ),
        (
            "--a a.npy --b b.npy --schedule fast",
            "--schedule `fast` is not a schedule: use one of Auto, Multistage, WarpSpecialized, Pingpong, Cooperative, OneSm, TwoSm, Gemv",
        ),
        (
            "--a pair.safetensors:w --b pair.safetensors:v --arch sm90 --schedule pingpong --scheduler streamk",
            "the StreamK tile scheduler cannot feed a Pingpong kernel; Pingpong gives each warp group its own whole tile, while StreamK and SplitK cut tiles along K: use Cooperative with them; Pingpong and Cooperative are persistent, so not with SingleTile; that is, leave --scheduler out, or give another --schedule",
        ),
        // Shapes.
        (
            "--a a.npy --b b7.npy",
            "A has 8 columns but B has 7 rows: the product contracts the one with the other, so they must be equal",
        ),
        ("--a a3.npy --b b2.npy", "A has 3 batch entries but B has 2: they must be equal, or 1 to be used for all"),
        (
            "--a flat.npy --b b.npy",
            "flat.npy has the shape [32], but A needs 2 dimensions, or 3 for a batch of matrices: reshape it",
        ),
        ("--a a.npy --b b.npy --c a.npy", "`c` is 4 x 8, but the product needs 4 x 6: give it those extents"),
        // Rows that start inside a byte.
        (
            "--a odd_a.npy --b odd_b.npy --type-a e2m1 --type-b e2m1 --arch sm100",
            "A of e2m1 has lines that start inside a byte (alignment 0): give it a leading dimension of whole bytes",
        ),
        // Architectures and devices.
        (
            "--a a.npy --b b.npy --arch sm70",
            "--arch `sm70` is not an architecture: use one of sm75, sm80, sm89, sm90, sm100",
        ),
        (
            "--a raw.npy --b raw_b.npy --type-a bf16 --type-b bf16 --arch sm75",
            "Sm75 has no instruction for the Auto schedule that multiplies bf16 by bf16 into f32; bf16 and tf32 need Sm80 or later, fp8 Sm89, fp4 and fp6 Sm100; integers accumulate in i32, f64 in f64, all others in f32; plain f32 runs with Auto or Multistage, on tensor cores as tf32; that is, give other types with --type-a and --type-b, or another --arch",
        ),
        // Files.
        (
            "--a none.npy --b b.npy",
            "cannot read none.npy: No such file or directory (os error 2); give the path of a .npy or .safetensors file",
        ),
        (
            "--a torn.npy --b b.npy",
            "torn.npy is not a whole .npy file: 125 bytes follow its header, but [4, 8] elements of '<f4' take 128; write or copy it again",
        ),
        (
            "--a text.npy --b b.npy",
            "text.npy is not a whole .npy file: it does not begin with \\x93NUMPY; write or copy it again",
        ),
        (
            "--a torn.safetensors:w --b b.npy",
            "torn.safetensors is not a whole .safetensors file: incomplete metadata, file not fully covered; write or copy it again",
        ),
        (
            "--a pair.safetensors --b b.npy",
            "pair.safetensors has 2 tensors: write FILE.safetensors:TENSOR with one of `v`, `w`",
        ),
        (
            "--a pair.safetensors:x --b b.npy",
            "pair.safetensors has no tensor `x`: write FILE.safetensors:TENSOR with one of `v`, `w`",
        ),
        (
            "--a a.txt --b b.npy",
            "a.txt is neither a .npy nor a .safetensors file by its name: matrices are read from FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR",
        ),
        // Types.
        (
            "--a raw.npy --b b.npy",
            "raw.npy holds raw 2-byte elements ('<V2'), which do not say their type: give --type-a (as in bf16)",
        ),
        (
            "--a long.npy --b b.npy",
            "long.npy holds '<i8', which is not an element type of a matrix: convert it to one of float16, float32, float64, int8, uint8 and int32, or bfloat16 and float8 of ml_dtypes",
        ),
        (
            "--a a.npy --b b.npy --type-a fp16",
            "--type-a `fp16` is not an element type: use one of f64, f32, tf32, f16, bf16, e4m3, e5m2, i32, i8, u8, i4, u4, e2m1, e3m2, e2m3, e8m0",
        ),
        (
            "--a a.npy --b b.npy --type-a i8",
            "a.npy holds f32, which cannot be taken as i8: floats can be rounded to other floats, and raw or unsigned elements taken as types of as many bytes",
        ),
        (
            "--a a.npy --b pair.safetensors:v",
            "Sm80 has no instruction for the Auto schedule that multiplies f32 by f16 into f32; bf16 and tf32 need Sm80 or later, fp8 Sm89, fp4 and fp6 Sm100; integers accumulate in i32, f64 in f64, all others in f32; plain f32 runs with Auto or Multistage, on tensor cores as tf32; that is, give other types with --type-a and --type-b, or another --arch",
        ),
        // Epilogues.
        (
            "--a a.npy --b b.npy --bind bias=bias.npy --epilogue 'd = relu(acc + row(bais))'",
            "--epilogue cannot be read, column 20: nothing is bound to the name `bais`; bound names are `bias`\n  d = relu(acc + row(bais))\n                     ^^^^",
        ),
        (
            "--a a.npy --b b.npy --bind bias=bias.npy --epilogue 'd = relu(acc + row(bias))'",
            "row bias has 5 elements, but N is 6: give it as many",
        ),
        (
            "--a a.npy --b b.npy --epilogue 'd = swoosh(acc)'",
            "--epilogue cannot be read, column 5: there is no function `swoosh`; functions are `relu`, `neg`, `leaky_relu`, `clamp`, `threshold`, `sigmoid`, `silu`, `tanh`, `tanh_fast`, `sigmoid_fast`, `silu_fast`, `hardswish`, `softplus`, `fma`, `abs`, `square`, `reciprocal`, `sqrt`, `rsqrt`, `exp`, `log`, `snake`, `d_relu`, `d_leaky_relu`, `d_sigmoid`, `d_silu`, `d_tanh`, `d_gelu`, `d_gelu_tanh`, `d_softplus`, `d_hardswish`, `d_snake`, `gelu`, `gelu_tanh`, `gelu_tanh_fast`, `max`, `min`, `lt`, `le`, `gt`, `ge`, `eq`, `ne`, `select`, `identity`, `convert`\n  d = swoosh(acc)\n      ^^^^^^",
        ),
        (
            "--a a.npy --b b.npy --scalar alpha=1 --scalar beta=2 --epilogue alpha*acc",
            "`beta` is given, but the epilogue `alpha*acc` does not read it: use it in --epilogue, or leave it out",
        ),
        (
            "--a a.npy --b b.npy --scalar alpha=many --epilogue alpha*acc",
            "--scalar alpha=`many` is not a number: write it as in 0.5, -3 or 1e-3",
        ),
        (
            "--a a.npy --b b.npy --scalar alpha --epilogue alpha*acc",
            "--scalar `alpha` is not NAME=VALUE: write it as in --scalar alpha=0.5",
        ),
        (
            "--a a.npy --b b.npy --scalar alpha=1 --epilogue alpha",
            "this epilogue never uses acc(), so the product would be computed in vain; use acc in --epilogue",
        ),
    ];
    let told = |call: &str| refused(&folder, &format!("gemm {call} {OUT}"));
    let other: Vec<(&str, String)> = table
        .iter()
        .map(|(call, want)| (*call, *want, told(call)))
        .filter(|(_, want, text)| want != text)
        .map(|(call, _, text)| (call, text))
        .collect();
    assert!(other.is_empty(), "{other:#?}");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_first() {
    let folder = folder();
    for (call, want) in [
        (
            "--out no/d.npy",
            "cannot write no/d.npy: its folder does not exist; give a path in a folder that exists and may be written",
        ),
        (
            "--out d.txt",
            "--out d.txt is not a .npy file by its name: results are written as .npy, so give a name that ends in .npy",
        ),
        (
            "--save r=d.npy --out d.npy",
            "d.npy is named for two results: one would overwrite the other, so give each a file of its own",
        ),
        (
            "--save r=./d.npy --out d.npy",
            "./d.npy is named for two results: one would overwrite the other, so give each a file of its own",
        ),
        (
            "--save r=r.npy --save s=././r.npy",
            "././r.npy is named for two results: one would overwrite the other, so give each a file of its own",
        ),
        (
            "--out /dev/null.npy/d.npy",
            "cannot write /dev/null.npy/d.npy: its folder does not exist; give a path in a folder that exists and may be written",
        ),
    ] {
        let text = refused(&folder, &format!("gemm --a none.npy --b none.npy --device host {call}"));
        assert_eq!(text, want, "{call}");
    }
}

#[test]
fn devices_that_are_not_there() {
    let folder = folder();
    let gemm = |device: &str| refused(&folder, &format!("gemm --a a.npy --b b.npy --out d.npy --device {device}"));
    assert_eq!(
        gemm("gpu7"),
        "--device `gpu7` is not a device: use host, cuda:0 (or another ordinal), emulator, emulator:sm90 (or another tag), or leave it out to take a GPU if there is one"
    );
    // A driver that is missing, or a GPU that is: the same sentence as `devices` has.
    let devices = folder.ok("devices --json").json();
    match devices["unavailable"][0].as_str() {
        Some(why) => assert_eq!(gemm("cuda:0"), why),
        None => assert!(gemm("cuda:99").starts_with("there is no CUDA device 99: this machine has ")),
    }
}

#[test]
fn other_commands_refuse_too() {
    let folder = folder();
    for (call, want) in [
        ("plan --type-a f16", "the problem has no extents: give --shape MxNxK, or files with --a and --b"),
        (
            "plan --shape 64x64x64",
            "the element of A is not known: give --type-a (as in f16, bf16 or f32), or files with --a and --b",
        ),
        (
            "plan --shape 64x64 --type-a f16",
            "--shape `64x64` is not the extents MxNxK: write whole numbers with x between them, as in 4096x4096x1024",
        ),
        (
            "plan --shape 64x64x64 --type-a f16 --device-preset h900",
            "--device-preset `h900` is not a device that is known: use one of t4, a100, l40s, h100, h200, b200",
        ),
        (
            "plan --shape 64x64x64 --type-a f16 --device-preset a100 --arch sm90",
            "Sm90 kernels run on compute capability 9.0 alone, and this device has 8.0: use the tag Sm80",
        ),
        (
            "plan --shape 64x64x64 --type-a e4m3 --order-b column --device-preset b200 --schedule onesm",
            "OneSm on Sm100 for e4m3 x e4m3 loaded by Tma has no device code yet: use `.schedule::<Auto>()`, which takes the newest that exists, or run it on `Device::host()`; that is, leave --schedule and --loader out or give --device host",
        ),
        ("emit --as elf --shape 64x64x64 --type-a f16", "--as `elf` is not a form: use one of cuda, ptx, cubin, sass"),
        (
            "emit --as cubin --shape 64x64x64 --type-a f16 --device-preset h200",
            "a cubin is not text: write it to a file with --out",
        ),
        (
            "emit --as cuda --shape 64x64x64 --type-a f16 --device host",
            "the host runs no device code, so there is nothing to emit: name a GPU with --device cuda:0 or --device-preset h200",
        ),
        (
            "verify --a a.npy --b b.npy --against a.npy --device host",
            "a.npy is 4 x 8, but the product needs 4 x 6: give it those extents",
        ),
        (
            "gemm --a a.npy",
            "the following required arguments were not provided: --b <FILE>; `warpwright help` lists the commands and their options",
        ),
        (
            "gemm --frobnicate",
            "unexpected argument '--frobnicate' found; `warpwright help` lists the commands and their options",
        ),
    ] {
        let text = refused(&folder, call);
        assert_eq!(text, want, "{call}");
    }
}

#[test]
fn races_that_cannot_be_run_are_refused() {
    let folder = folder();
    for (call, want) in [
        ("profile", "there is nothing to profile: give --shape MxNxK, --suite NAME or --check-baseline"),
        (
            "profile --shape 64x64",
            "--shape `64x64` is not the extents MxNxK: write whole numbers with x between them, as in 4096x4096x1024",
        ),
        (
            "profile --suite cubes",
            "--suite `cubes` is not a suite: use one of square, deepgemm_v1_dense, deepgemm_head_dense, deepgemm_head_dgrad, deepgemm_head_wgrad, dsv3_tp1, llama3_8b, llama3_70b, llama3_70b_tp8, qwen3_8b, tileops_h200, tileops_gemv, tilus, gluon_ksweep, k_heavy_or_thin, alignment",
        ),
        (
            "profile --shape 8x8x8 --type f16,half",
            "--type `half` is not an element type: use one of f64, f32, tf32, f16, bf16, e4m3, e5m2, i32, i8, u8, i4, u4, e2m1, e3m2, e2m3, e8m0",
        ),
        (
            "profile --shape 8x8x8 --rounds 0",
            "--rounds `0` is not a whole number from 1 up: give one, or leave the option out",
        ),
        (
            "profile --shape 8x8x8 --top -1",
            "--top `-1` is not a whole number from 1 up: give one, or leave the option out",
        ),
        (
            "profile --shape 8x8x8 --tile 100x64x32 --device host",
            "tile M = 100 is not a multiple of 16 up to 256 (the rows of one mma.sync); give such a --tile, or leave it out to let the plan decide",
        ),
        (
            "profile --shape 8x8x8 --schedule pingpong --arch sm80 --device host",
            "Sm80 has no Pingpong schedule; Auto, the default, picks one that Sm80 has; that is, leave --schedule out, or give another --arch",
        ),
        (
            "profile --shape 0x8x8 --device host",
            "1 x 0x8x8 has no elements, so there is nothing to time: give extents of 1 or more",
        ),
        (
            "profile --shape 8x8x8 --csv d.npy --device host",
            "--csv d.npy is not a .csv file by its name: give a name that ends in .csv",
        ),
        (
            "profile --shape 8x8x8 --html no/page.html --device host",
            "cannot write no/page.html: its folder does not exist; give a path in a folder that exists and may be written",
        ),
        (
            "profile --check-baseline --device host",
            "--check-baseline compares with times of an NVIDIA H200, and this is CPU: leave it out, and judge ratios with care",
        ),
        (
            "profile --check-baseline --no-cublaslt --device host",
            "the argument '--check-baseline' cannot be used with '--no-cublaslt'; `warpwright help` lists the commands and their options",
        ),
        (
            "profile --shape 8x8x8 --device gpu7",
            "--device `gpu7` is not a device: use host, cuda:0 (or another ordinal), emulator, emulator:sm90 (or another tag), or leave it out to take a GPU if there is one",
        ),
    ] {
        let text = refused(&folder, call);
        assert_eq!(text, want, "{call}");
    }
}
