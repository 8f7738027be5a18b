//! Products on emulated devices, through the built command.

use crate::common::{Folder, npy, product, split, whole};
use warpwright::Dtype;

const M: usize = 70;
const N: usize = 40;
const K: usize = 48;

fn f16(values: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0; 2 * values.len()];
    values.iter().enumerate().for_each(|(i, &x)| Dtype::F16.encode(&mut bytes, i, x));
    bytes
}

/// A folder with A and B, and their product; none where NVRTC is missing.
fn folder() -> Option<(Folder, Vec<f64>)> {
    let folder = Folder::new();
    let devices = folder.ok("devices --json").json();
    if let Some(missing) = devices["emulator"]["unavailable"].as_str() {
        assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
        println!("SKIPPED: {missing}");
        return None;
    }
    let (a, b) = (whole(M * K, 1), whole(K * N, 2));
    folder.write("a.npy", &npy("<f2", false, &[M, K], &f16(&a)));
    folder.write("b.npy", &npy("<f2", false, &[K, N], &f16(&b)));
    let exact = product(M, N, K, &a, &b);
    Some((folder, exact))
}

fn result(folder: &Folder) -> Vec<f64> {
    let (_, bytes) = split(&std::fs::read(folder.path("d.npy")).unwrap());
    (0..bytes.len() / 2).map(|i| Dtype::F16.decode(&bytes, i)).collect()
}

#[test]
fn a_product_by_the_kernel_itself() {
    let Some((folder, exact)) = folder() else { return };
    // Without a tag it is the oldest from sm80 up that has the types; older tags run on newer devices.
    for (options, device) in [
        ("--device emulator --arch sm80", "A100"),
        ("--device emulator --seed 6", "A100"),
        ("--device emulator:sm90 --arch sm80 --seed 1", "H200"),
    ] {
        let json = folder.ok(&format!("gemm --a a.npy --b b.npy --out d.npy --json {options}")).json();
        assert!(json["device"].as_str().unwrap().contains(device), "{json}");
        assert!(json["device"].as_str().unwrap().ends_with("(emulated)"), "{json}");
        assert!(json.get("launches").is_none());
        assert_eq!(result(&folder), exact, "{options}");
    }
}

#[test]
fn a_report_of_what_was_counted() {
    let Some((folder, _)) = folder() else { return };
    let call = "gemm --a a.npy --b b.npy --tile 64x32x32 --stages 3 --device emulator --arch sm80 --report";
    let json = folder.ok(&format!("{call} --json")).json();
    let launch = &json["launches"][0];
    let count = |name: &str| launch["counts"][name].as_u64().unwrap_or_else(|| panic!("{name}: {json}"));
    // Four tiles, the operands of each read whole, D written once.
    assert_eq!(count("blocks"), launch["grid"][0].as_u64().unwrap());
    assert_eq!(count("global_written_bytes"), (2 * M * N) as u64);
    assert_eq!(count("global_read_bytes"), (2 * K * (M * N.div_ceil(32) + N * M.div_ceil(64))) as u64);
    assert!(count("tensor_products") >= (M * N * K) as u64);
    assert!(count("shared_wavefronts") > 0 && count("barriers") > 0 && count("warp_instructions") > 1000, "{json}");
    let text = folder.ok(call).stdout;
    assert!(text.contains(&format!("global written bytes {:>16}", 2 * M * N)), "{text}");
    let json = folder.ok("verify --a a.npy --b b.npy --device emulator --report --json").json();
    assert_eq!((json["holds"].as_bool(), json["launches"].as_array().map(Vec::len)), (Some(true), Some(1)));
}

#[test]
fn plans_and_texts_for_an_emulated_device() {
    let Some((folder, _)) = folder() else { return };
    let json = folder.ok("plan --shape 256x256x64 --type-a bf16 --device emulator --json").json();
    assert_eq!(
        (json["arch"].as_str(), json["device"].as_str()),
        (Some("sm80"), Some("NVIDIA A100-SXM4-80GB (emulated)"))
    );
    let ptx = folder.ok("emit --as ptx --shape 256x256x64 --type-a bf16 --arch sm80 --device emulator:sm90").stdout;
    assert!(ptx.contains(".target sm_90a"), "{ptx}");
    assert!(folder.ok("devices").stdout.contains("emulator  kernels from their PTX"));
}

#[test]
fn options_of_the_emulator_need_it() {
    let folder = Folder::new();
    for (call, want) in [
        ("--device host --seed 3", "--seed means nothing on a device that is not emulated"),
        ("--device host --report", "--report means nothing on a device that is not emulated"),
        ("--device emulator --seed x", "--seed `x` is not a whole number from 0 up"),
        ("--device emulator:sm91", "--device `emulator:sm91` is not a device"),
    ] {
        let outcome = folder.run(&format!("gemm --a a.npy --b b.npy {call}"));
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.contains(want), "{}", outcome.stderr);
    }
    let timed = folder.run("profile --shape 64x64x64 --device emulator");
    assert_eq!(timed.code, Some(2));
    assert!(timed.stderr.contains("an emulated device has no time to measure"), "{}", timed.stderr);
}
