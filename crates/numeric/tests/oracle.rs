//! Runs the reference values of the small formats: every `fp_*` file of the oracle, where it is at hand.
#![allow(clippy::print_stderr, reason = "says how many cases ran, and that none did")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use warpwright_numeric::{
    Dtype, Element, Format, Overflow, Specials, bf16, dequantize_block, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4,
    pack, u4, unpack,
};

const EXPECTED_CASES: usize = 6_329;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the oracle's folder can be listed")
        .map(|entry| entry.expect("the oracle's folder can be listed").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fp_")))
        .collect();
    files.sort();
    files
}

fn load(path: &Path) -> Value {
    let raw = fs::read(path).expect("an oracle file can be read");
    let mut text = String::new();
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::GzDecoder::new(raw.as_slice()).read_to_string(&mut text).expect("an oracle file unzips");
    } else {
        text = String::from_utf8(raw).expect("an oracle file is text");
    }
    serde_json::from_str(&text).expect("an oracle file is JSON")
}

fn int(case: &Value, field: &str) -> u32 {
    case[field].as_u64().and_then(|x| x.try_into().ok()).unwrap_or_else(|| panic!("{case} has no `{field}`"))
}

fn flag(case: &Value, field: &str) -> bool {
    case[field].as_bool().unwrap_or_else(|| panic!("{case} has no `{field}`"))
}

fn floats(case: &Value, field: &str) -> Vec<f64> {
    let list = case[field].as_array().unwrap_or_else(|| panic!("{case} has no `{field}`"));
    list.iter().map(|x| x.as_f64().unwrap_or_else(|| panic!("{case}: `{field}` holds {x}"))).collect()
}

fn bytes(case: &Value, field: &str) -> Vec<u8> {
    floats(case, field).into_iter().map(|x| x as u8).collect()
}

/// A format by the reference's name, and the element type where it is one of ours.
fn format(name: &str) -> (Format, Option<Dtype>) {
    match name {
        "e4m3fn" => (Format::E4M3, Some(Dtype::E4m3)),
        "e5m2" => (Format::E5M2, Some(Dtype::E5m2)),
        "e3m2fn" => (Format::E3M2, Some(Dtype::E3m2)),
        "e2m3fn" => (Format::E2M3, Some(Dtype::E2m3)),
        "e2m1fn" => (Format::E2M1, Some(Dtype::E2m1)),
        "e4m3" => (Format::new(4, 3, 7, Specials::Ieee), None),
        "e3m4" => (Format::new(3, 4, 3, Specials::Ieee), None),
        "e4m3fnuz" => (Format::new(4, 3, 8, Specials::Fnuz), None),
        "e4m3b11fnuz" => (Format::new(4, 3, 11, Specials::Fnuz), None),
        "e5m2fnuz" => (Format::new(5, 2, 16, Specials::Fnuz), None),
        _ => panic!("unknown format {name}"),
    }
}

fn assert_value(found: f64, nan: bool, f32_bits: Option<u64>, case: &Value) {
    assert_eq!(found.is_nan(), nan, "{case}");
    if !nan {
        let found = found as f32;
        assert_eq!(Some(u64::from(found.to_bits())), f32_bits, "{found} for {case}");
    }
}

fn decode(case: &Value) {
    let (code, nan, expected) = (int(case, "code"), flag(case, "nan"), case["f32_bits"].as_u64());
    let name = case["format"].as_str().unwrap_or_default();
    let dtype = if name == "e8m0fnu" {
        Some(Dtype::E8m0)
    } else {
        let (format, dtype) = format(name);
        assert_value(format.decode(code), nan, expected, case);
        dtype
    };
    if let Some(dtype) = dtype {
        assert_value(dtype.decode_bits(code.into()), nan, expected, case);
    }
}

fn encode_f32(case: &Value) {
    let x = f64::from(f32::from_bits(int(case, "in_bits")));
    let (format, dtype) = format(case["format"].as_str().unwrap_or_default());
    let dtype = dtype.expect("only types of ours are encoded");
    let saturated = dtype.encode_bits(x) as u32;
    assert_eq!(saturated, format.encode(x, Overflow::SatFinite), "{case}");
    let other = format.encode(x, Overflow::NonFinite);
    if x.is_nan() {
        // The reference keeps a NaN's sign and gives none for formats without NaN; ours are PTX's.
        match format.nan_code() {
            Some(nan) => assert_eq!((saturated, other), (nan, nan), "{case}"),
            None => assert_eq!((saturated, other), (format.max_code(), format.max_code()), "{case}"),
        }
        assert_eq!(case["code_satfinite"].is_null(), format.nan_code().is_none(), "{case}");
        return;
    }
    assert_eq!(saturated, int(case, "code_satfinite"), "{case}");
    if flag(case, "result_nan") {
        assert!(format.is_nan(other) && format.is_nan(int(case, "code_ieee")), "{case}");
    } else {
        assert_eq!(other, int(case, "code_ieee"), "{case}");
    }
}

fn encode_e8m0(case: &Value) {
    let x = f32::from_bits(int(case, "in_bits"));
    assert_eq!(u32::from(e8m0::from_f32(x).to_bits()), int(case, "code_ml_dtypes_rne"), "{case}");
    assert_eq!(Dtype::E8m0.encode_bits(x.into()), case["code_ml_dtypes_rne"], "{case}");
}

fn encode_16bit(case: &Value) {
    let x = f32::from_bits(int(case, "in_bits"));
    let wide = f64::from(x);
    let (half, brain) = (f16::from_f32(x), bf16::from_f32(x));
    if flag(case, "nan") {
        assert!(half.is_nan() && brain.is_nan(), "{case}");
        assert!(<f16 as Element>::from_f64(wide).is_nan() && <bf16 as Element>::from_f64(wide).is_nan(), "{case}");
        return;
    }
    let expected = (int(case, "f16"), int(case, "bf16"));
    assert_eq!((half.to_bits().into(), brain.to_bits().into()), expected, "{case}");
    assert_eq!((Dtype::F16.encode_bits(wide) as u32, Dtype::Bf16.encode_bits(wide) as u32), expected, "{case}");
}

fn packing(case: &Value) {
    match case["kind"].as_str() {
        Some("decode") => {
            let code = int(case, "code") as u8;
            assert_eq!(case["int4"], i4::from_bits(code).get(), "{case}");
            assert_eq!(case["uint4"], u4::from_bits(code).get(), "{case}");
        }
        Some("pack_int4") => packed::<i4>(case, &floats(case, "values"), &floats(case, "values")),
        Some("pack_e2m1") => {
            let inputs = floats(case, "in");
            let codes: Vec<u8> = inputs.iter().map(|x| e2m1::from_f64(*x).to_bits()).collect();
            assert_eq!(codes, bytes(case, "codes"), "{case}");
            packed::<e2m1>(case, &inputs, &floats(case, "values"));
        }
        _ => panic!("unknown kind of {case}"),
    }
}

fn packed<T: Element>(case: &Value, inputs: &[f64], values: &[f64]) {
    let elements: Vec<T> = inputs.iter().map(|x| T::from_f64(*x)).collect();
    let packed = pack(&elements);
    assert_eq!(packed, bytes(case, "bytes"), "{case}");
    let back: Vec<f64> = unpack::<T>(&packed, values.len()).expect("all bytes").into_iter().map(T::to_f64).collect();
    assert_eq!(back, values, "{case}");
}

fn block(case: &Value) {
    match case["kind"].as_str() {
        Some("nvfp4") => dequantized::<e2m1, e4m3>(case),
        Some("mxfp4") => dequantized::<e2m1, e8m0>(case),
        Some("mxfp6_e2m3") => dequantized::<e2m3, e8m0>(case),
        Some("mxfp6_e3m2") => dequantized::<e3m2, e8m0>(case),
        Some("mxfp8_e4m3") => dequantized::<e4m3, e8m0>(case),
        Some("mxfp8_e5m2") => dequantized::<e5m2, e8m0>(case),
        _ => panic!("unknown kind of {case}"),
    }
}

fn dequantized<T: Element, S: Element>(case: &Value) {
    let codes = bytes(case, "elem_codes");
    let elements = bytemuck::cast_slice::<u8, T>(&codes);
    let scale: S = bytemuck::pod_read_unaligned(&[int(case, "scale_code") as u8]);
    assert_eq!(elements.len(), int(case, "block") as usize, "{case}");
    assert_eq!(case["scale"], scale.to_f64(), "{case}");
    let values: Vec<f64> = dequantize_block(elements, scale).into_iter().map(f64::from).collect();
    assert_eq!(values, floats(case, "values"), "{case}");
}

#[test]
fn reference_values() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle");
    if !folder.exists() {
        eprintln!("SKIPPED: there is no oracle beside the repository");
        return;
    }
    let mut total = 0;
    for path in files(&folder) {
        let file = load(&path);
        let check = match file["family"].as_str() {
            Some("fp_decode") => decode,
            Some("fp_encode_f32") => encode_f32,
            Some("fp_encode_e8m0") => encode_e8m0,
            Some("fp_encode_16bit") => encode_16bit,
            Some("fp_int4_fp4_packing") => packing,
            Some("fp_block_scale_dequant") => block,
            family => panic!("{}: unknown family {family:?}", path.display()),
        };
        let cases = file["cases"].as_array().expect("an oracle file has cases");
        assert_eq!(file["count"], cases.len(), "{}", path.display());
        for case in cases {
            check(case);
        }
        eprintln!("{:5} cases of {}", cases.len(), file["family"]);
        total += cases.len();
    }
    eprintln!("{total} cases of the oracle hold");
    assert!(total >= EXPECTED_CASES, "{total} cases ran, there are at least {EXPECTED_CASES}");
}
