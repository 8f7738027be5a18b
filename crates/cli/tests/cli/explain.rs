//! Devices, plans and what they generate, through the built command.

use crate::common::{Folder, f32s, npy, split};

#[test]
fn devices_name_the_host_and_say_why_cuda_is_missing() {
    let folder = Folder::new();
    let json = folder.ok("devices --json").json();
    assert_eq!(json["devices"][0]["device"], "host");
    assert_eq!(json["devices"][0]["tags"], serde_json::json!(["sm75", "sm80", "sm89", "sm90", "sm100"]));
    let cuda = json["devices"].as_array().unwrap().len() > 1;
    let why = json["unavailable"].as_array().unwrap();
    assert!(cuda || why.len() == 1, "{json}");
    if !cuda {
        let why = why[0].as_str().unwrap();
        assert!(["install", "check", "NVRTC"].iter().any(|remedy| why.contains(remedy)), "{why}");
        assert!(folder.ok("devices").stdout.contains(why));
    }
}

#[test]
fn plans_are_explained_for_devices_that_are_not_there() {
    let folder = Folder::new();
    for (preset, tag, name) in [("t4", "sm75", "Tesla T4"), ("a100", "sm80", "A100"), ("l40s", "sm89", "L40S")] {
        let call = format!("plan --shape 4096x2048x1024 --type-a f16 --device-preset {preset}");
        let json = folder.ok(&format!("{call} --json")).json();
        assert_eq!((json["arch"].as_str(), json["problem"]["m"].as_u64()), (Some(tag), Some(4096)));
        assert!(json["device"].as_str().unwrap().contains(name), "{json}");
        let tiles = json["tiles"].as_u64().unwrap();
        let [m, n] = [0, 1].map(|i| json["tile"][i].as_u64().unwrap());
        assert_eq!(tiles, 4096u64.div_ceil(m) * 2048u64.div_ceil(n));
        let text = folder.ok(&call).stdout;
        assert!(
            text.contains("waves") && text.contains("predicted") && text.contains(json["kernel"].as_str().unwrap()),
            "{text}"
        );
    }
}

#[test]
fn an_auto_schedule_names_its_substitute() {
    let text =
        Folder::new().ok("plan --shape 4096x4096x4096 --type-a e4m3 --order-b column --device-preset b200").stdout;
    assert!(
        text.contains("Sm100") && text.contains("instead of Tcgen05, whose device code does not exist yet"),
        "{text}"
    );
}

#[test]
fn plans_follow_files_and_options() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("<f4", true, &[64, 30], &f32s(&[0.0; 64 * 30])));
    folder.write("b.npy", &npy("<f4", false, &[30, 48], &f32s(&[0.0; 30 * 48])));
    let json = folder
        .ok("plan --a a.npy --b b.npy --type-a f16 --type-b f16 --device host --tile 32x64x32 --stages 3 --order-d column --json")
        .json();
    assert_eq!(json["problem"], serde_json::json!({"m": 64, "n": 48, "k": 30, "batch": 1}));
    assert_eq!((json["stages"].as_u64(), json["types"]["a"].as_str()), (Some(3), Some("f16")));
    assert_eq!(json["transposed"], true);
}

/// What a vector or an empty operand is read as depends on how it lies, which `plan` knows of extents alone, `gemm` of memory.
#[test]
fn the_kernel_that_is_planned_is_the_one_that_runs() {
    let folder = Folder::new();
    let emulated = folder.ok("devices --json").json()["emulator"]["unavailable"].is_null();
    for ((m, n, k), column_a) in [((9, 1, 20), false), ((12, 33, 1), false), ((12, 9, 0), true), ((1, 40, 24), true)] {
        folder.write("a.npy", &npy("<f2", column_a, &[m, k], &vec![0; 2 * m * k]));
        folder.write("b.npy", &npy("<f2", false, &[k, n], &vec![0; 2 * k * n]));
        let order_a = if column_a { "column" } else { "row" };
        let shape = format!("--shape {m}x{n}x{k} --type-a f16 --order-a {order_a}");
        for device in ["host", "emulator"].into_iter().filter(|&device| emulated || device == "host") {
            let kernel = |call: &str| folder.ok(&format!("{call} --device {device} --json")).json()["kernel"].clone();
            let ran = kernel("gemm --a a.npy --b b.npy");
            assert_eq!(kernel("plan --a a.npy --b b.npy"), ran, "{m} x {n} x {k} on {device}");
            assert_eq!(kernel(&format!("plan {shape}")), ran, "{m} x {n} x {k} on {device}");
        }
    }
}

#[test]
fn what_no_kernel_reads_is_not_planned_either() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("|u1", false, &[16, 32], &[0; 512]));
    folder.write("b.npy", &npy("|u1", false, &[32, 16], &[0; 512]));
    let want = "Wgmma cannot read B of e4m3 that is MN-major: this type must be K-major, A RowMajor and B ColumnMajor; transpose it once, or store it K-major";
    for call in [
        "plan --shape 16x16x32 --type-a e4m3 --device-preset h200",
        "plan --a a.npy --b b.npy --type-a e4m3 --type-b e4m3 --device-preset h200",
        "emit --as cuda --shape 16x16x32 --type-a e4m3 --device-preset h200",
    ] {
        let outcome = folder.run(call);
        assert!(outcome.code == Some(2) && outcome.stderr.contains(want), "{call}: {}", outcome.stderr);
    }
}

#[test]
fn an_operands_file_is_replaced_by_the_result() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("<f4", false, &[2, 2], &f32s(&[1.0, 2.0, 3.0, 4.0])));
    folder.write("c.npy", &npy("<f4", false, &[2, 2], &f32s(&[0.5, 0.0, 0.0, 0.25])));
    folder.ok("gemm --a a.npy --b a.npy --c c.npy --device host --out c.npy");
    let (_, elements) = split(&std::fs::read(folder.path("c.npy")).unwrap());
    assert_eq!(elements, f32s(&[7.5, 10.0, 15.0, 22.25]));
}

#[test]
fn cuda_is_emitted_for_a_device_that_is_not_there() {
    let folder = Folder::new();
    let call = "emit --shape 1024x1024x1024 --type-a f16 --device-preset a100 --epilogue relu(2*acc)";
    let text = folder.ok(&format!("{call} --as cuda")).stdout;
    assert!(text.contains("__global__") && !text.contains("#include"), "{text}");
    assert_eq!(text, folder.ok(&format!("{call} --as cuda")).stdout, "the source is deterministic");
    folder.ok(&format!("{call} --as cuda --out kernel.cu"));
    assert_eq!(std::fs::read_to_string(folder.path("kernel.cu")).unwrap(), text);
    let json = folder.ok(&format!("{call} --as cuda --json")).json();
    assert_eq!((json["target"].as_str(), json["text"].as_str()), (Some("sm_80"), Some(text.as_str())));
}

#[test]
fn machine_code_is_emitted_where_nvrtc_is() {
    let folder = Folder::new();
    let call = "emit --shape 1024x1024x1024 --type-a f16 --device-preset a100";
    let ptx = folder.run(&format!("{call} --as ptx"));
    if ptx.code == Some(2) {
        assert!(ptx.stderr.starts_with("warpwright: NVRTC, which compiles kernels, "), "{}", ptx.stderr);
        assert!(ptx.stderr.contains("install the CUDA toolkit"), "{}", ptx.stderr);
        println!("skipped: there is no NVRTC here");
        return;
    }
    assert!(ptx.stdout.contains(".target sm_80") && ptx.stdout.contains("mma.sync"), "{}", ptx.stderr);
    folder.ok(&format!("{call} --as cubin --out kernel.cubin"));
    assert!(std::fs::read(folder.path("kernel.cubin")).unwrap().starts_with(b"\x7fELF"));
    let sass = folder.run(&format!("{call} --as sass"));
    match sass.code {
        Some(0) => assert!(sass.stdout.contains("HMMA.16816") && sass.stdout.contains("LDGSTS"), "{}", sass.stdout),
        _ => assert!(sass.stderr.contains("WARPWRIGHT_NVDISASM"), "{}", sass.stderr),
    }
}
