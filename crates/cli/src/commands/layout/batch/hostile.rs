//! Requests that nobody should send: whatever comes, each line gets one answer, and nothing panics (debug builds check
//! arithmetic) or goes on for ever.

use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// The families, each with the fields that it reads.
const FAMILIES: &[(&str, &[&str])] = &[
    ("eval", &["layout", "points", "beyond"]),
    ("idx2crd_stride", &["shape", "stride", "points"]),
    ("crd2idx_mixed", &["layout", "coords"]),
    ("slice_and_offset", &["layout", "coord"]),
    ("coalesce", &["layout"]),
    ("coalesce_by_mode", &["layout", "profile"]),
    ("filter", &["layout"]),
    ("nullspace", &["layout"]),
    ("max_alignment", &["layout"]),
    ("make_layout_like", &["layout"]),
    ("complement", &["layout", "cotarget"]),
    ("complement_shape", &["layout", "cotarget"]),
    ("right_inverse", &["layout"]),
    ("left_inverse", &["layout"]),
    ("composition", &["a", "b"]),
    ("composition_by_mode", &["a", "tiler"]),
    ("max_common_layout", &["a", "b"]),
    ("max_common_vector", &["a", "b"]),
    ("logical_divide", &["a", "tiler"]),
    ("zipped_divide", &["a", "tiler"]),
    ("tiled_divide", &["a", "tiler"]),
    ("flat_divide", &["a", "tiler"]),
    ("logical_product", &["a", "tiler"]),
    ("zipped_product", &["a", "tiler"]),
    ("tiled_product", &["a", "tiler"]),
    ("flat_product", &["a", "tiler"]),
    ("blocked_product", &["a", "b"]),
    ("raked_product", &["a", "b"]),
    ("tile_to_shape", &["block", "shape", "order"]),
    ("make_ordered_layout", &["shape", "order"]),
    ("upcast", &["layout", "n"]),
    ("downcast", &["layout", "n"]),
    ("recast_layout", &["layout", "old_bits", "new_bits"]),
    ("swizzle", &["bits", "base", "shift", "points"]),
    ("composed_eval", &["swizzle", "offset", "layout"]),
    (
        "composed_ops",
        &[
            "swizzle", "offset", "layout", "op", "b", "tiler", "shape", "order", "profile", "n", "old_bits",
            "new_bits", "coord",
        ],
    ),
    ("mma_atom", &["atom"]),
    ("umma_atom", &["atom", "m", "n", "a", "b", "c"]),
    ("copy_atom", &["atom"]),
    ("smem_atom", &["major", "swizzle", "bits"]),
    ("smem_tile_to_shape", &["major", "swizzle", "bits", "shape", "order"]),
    ("umma_tile_to_mma_shape", &["major", "swizzle", "bits", "mma_tile_shape", "order"]),
    ("umma_instr_desc", &["m", "n", "a", "b", "c", "a_major", "b_major"]),
    ("umma_instr_desc_block_scaled", &["m", "n", "a", "b", "sf", "kind"]),
    ("umma_smem_desc", &["major", "swizzle", "bits", "smem_tile", "mma_tile", "start_address"]),
    ("tiled_mma", &["atom", "atom_layout_mnk", "permutations", "a", "b", "c", "threads"]),
    ("tiled_copy", &["copy", "bits", "thr", "val", "data", "threads"]),
    ("tiled_copy_mma", &["copy", "bits", "atom", "atom_layout_mnk", "permutations", "operand", "data", "threads"]),
];

const WORDS: &[&str] = &[
    "SM80_16x8x16_F32F16F16F32_TN",
    "SM80_16x8x99999999999_F32F16F16F32_TN",
    "SM80_16x8x16_F32F16F16F32F32F32_TN",
    "SM80_16x8x-16_F32F16F16F32_TN",
    "SM90_64x128x16_F32F16F16_SS",
    "SM90_64x9223372036854775807x9223372036854775807_F32F16F16_SS",
    "SM70_8x8x4_F32F16F16F32_NT",
    "SM100_MMA_F16BF16_SS",
    "SM100_TMEM_LOAD_32dp32b4294967295x",
    "SM100_TMEM_LOAD_16dp256b0x",
    "SM75_U32x4_LDSM_N",
    "SM75_U16x4294967295_LDSM_T",
    "SM90_U16x0_STSM_T",
    "SM100_U8x0_LDSM_T",
    "UniversalCopy<uint128_t>",
    "UniversalFMA<float>",
    "DefaultCopy",
    "K",
    "MN",
    "SW128",
    "SW128_32B",
    "INTER",
    "A",
    "C",
    "f16",
    "s32",
    "e2m1",
    "ue8m0",
    "mxf4",
    "coalesce",
    "composition",
    "zipped_divide",
    "tile_to_shape",
    "right_inverse",
    "slice",
    "recast",
    "logical_product",
    "\u{0}\u{1F980}_x",
    "",
];

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as usize % n
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn int(&mut self, hostile: bool) -> Value {
        const TAME: [i64; 14] = [0, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 64];
        const WILD: [i64; 16] = [
            -1,
            -8,
            -64,
            i64::MIN,
            i64::MIN + 1,
            i64::MAX,
            i64::MAX - 1,
            1 << 31,
            (1 << 31) - 1,
            1 << 32,
            -(1 << 31),
            1 << 62,
            -(1 << 62),
            3_037_000_500,
            1 << 20,
            1_000_003,
        ];
        if hostile && self.below(3) == 0 { json!(self.pick(&WILD)) } else { json!(self.pick(&TAME)) }
    }

    /// A tuple; `like` another one where that is given.
    fn tuple(&mut self, hostile: bool, depth: usize, like: Option<&Value>) -> Value {
        if let Some(like) = like.filter(|_| !hostile || self.below(40) > 0) {
            return match like {
                Value::Array(modes) => modes.iter().map(|m| self.tuple(hostile, depth, Some(m))).collect(),
                _ => self.int(hostile),
            };
        }
        if depth == 0 || self.below(3) == 0 {
            return self.int(hostile);
        }
        let modes = self.below(if hostile { 6 } else { 4 }) + usize::from(!hostile);
        (0..modes).map(|_| self.tuple(hostile, depth - 1, None)).collect()
    }

    fn layout(&mut self, hostile: bool) -> Value {
        let shape = self.tuple(hostile, 3, None);
        let stride = self.tuple(hostile, 3, Some(&shape));
        json!({ "shape": shape, "stride": stride })
    }

    fn any(&mut self, hostile: bool) -> Value {
        match self.below(if hostile { 12 } else { 9 }) {
            0 | 1 => self.int(hostile),
            2 | 3 => self.tuple(hostile, 3, None),
            4 | 5 => self.layout(hostile),
            6 => Value::Null,
            7 => json!(self.pick(WORDS)),
            8 => (0..self.below(4)).map(|_| self.any(hostile)).collect(),
            9 => json!(1e300),
            10 => json!(true),
            _ => json!(u64::MAX),
        }
    }

    /// A value that mostly suits the field.
    fn field(&mut self, name: &str, hostile: bool) -> Value {
        if hostile && self.below(12) == 0 {
            return self.any(hostile);
        }
        match name {
            "layout" | "block" | "thr" | "val" | "data" | "atom_layout_mnk" | "a" | "b" | "c" if self.below(8) > 0 => {
                self.layout(hostile)
            }
            "shape" | "stride" | "order" | "profile" | "cotarget" | "coord" | "smem_tile" | "mma_tile_shape" => {
                self.tuple(hostile, 3, None)
            }
            "swizzle" if self.below(2) == 0 => (0..3).map(|_| self.int(hostile)).collect(),
            "points" | "beyond" | "threads" | "coords" if self.below(2) == 0 => {
                (0..self.below(5)).map(|_| self.tuple(hostile, 1, None)).collect()
            }
            "n" | "old_bits" | "new_bits" | "bits" | "base" | "shift" | "m" | "offset" | "start_address" => {
                self.int(hostile)
            }
            "atom" | "copy" | "op" | "major" | "operand" | "sf" | "kind" | "a_major" | "b_major" | "swizzle" => {
                json!(self.pick(WORDS))
            }
            _ => self.any(hostile),
        }
    }
}

#[test]
fn every_line_gets_one_answer() {
    let nightly = std::env::var_os("WARPWRIGHT_NIGHTLY").is_some();
    let (rounds, mut random) = (if nightly { 20_000 } else { 600 }, Random(20));
    let (mut answered, mut accepted, mut panics) = (0, 0, Vec::new());
    for round in 0..rounds {
        let hostile = round % 2 == 0;
        for (family, fields) in FAMILIES {
            let mut input = Map::new();
            for field in *fields {
                if !hostile || random.below(20) > 0 {
                    input.insert((*field).to_owned(), random.field(field, hostile));
                }
            }
            let request = json!({ "family": format!("cute_{family}"), "in": input }).to_string();
            let (mut output, start) = (Vec::new(), Instant::now());
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                super::run(format!("{request}\n").as_bytes(), &mut output)
            }));
            if run.is_err() {
                panics.push(request);
                continue;
            }
            let took = start.elapsed();
            assert!(took < Duration::from_secs(5), "{took:?} for {request}");
            let text = String::from_utf8(output).unwrap();
            assert_eq!(text.lines().count(), 1, "{request}\n{text}");
            let answer: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e} in {text} for {request}"));
            assert!(answer.get("ok").is_some() != answer["error"].is_string(), "{request}\n{text}");
            answered += 1;
            accepted += usize::from(answer.get("ok").is_some());
        }
    }
    assert!(panics.is_empty(), "{} panics, as on\n{}", panics.len(), panics[..panics.len().min(10)].join("\n"));
    // Enough of them are meaningful for the algebra itself to have been reached.
    assert!(accepted * 10 > answered, "{accepted} of {answered} were accepted");
    assert_eq!(answered, rounds * FAMILIES.len());
}

/// Requests of the families whose fields have to suit each other before anything is asked of the library.
const SUITABLE: &[&str] = &[
    r#"{"family":"cute_smem_tile_to_shape","in":{"major":"K","swizzle":"SW64","bits":16,"shape":[64,64],"order":[1,2]}}"#,
    r#"{"family":"cute_umma_tile_to_mma_shape","in":{"major":"MN","swizzle":"SW32","bits":16,"mma_tile_shape":[[64,16],1,2],"order":[2,1]}}"#,
    r#"{"family":"cute_umma_smem_desc","in":{"major":"K","swizzle":"SW128","bits":16,"smem_tile":[128,64],"mma_tile":[128,16],"start_address":0}}"#,
    r#"{"family":"cute_umma_atom","in":{"atom":"SM100_MMA_F16BF16_SS","m":128,"n":64,"a":"f16","b":"f16","c":"f32"}}"#,
    r#"{"family":"cute_tiled_copy","in":{"copy":"UniversalCopy<uint128_t>","bits":32,"thr":{"shape":[4,2],"stride":[1,4]},"val":{"shape":[4,1],"stride":[1,0]},"data":{"shape":[32,4],"stride":[1,32]},"threads":[1]}}"#,
    r#"{"family":"cute_tiled_mma","in":{"atom":"SM80_16x8x8_F32F16F16F32_TN","atom_layout_mnk":{"shape":[2,1,1],"stride":[1,2,2]},"permutations":[32,null,8],"c":{"shape":[64,16],"stride":[1,64]},"a":{"shape":[64,8],"stride":[1,64]},"b":{"shape":[16,8],"stride":[1,16]},"threads":[5]}}"#,
    r#"{"family":"cute_tiled_copy","in":{"copy":"UniversalCopy<uint32_t>","bits":32,"thr":{"shape":[2,2],"stride":[1,2]},"val":{"shape":[1,1],"stride":[0,0]},"data":{"swizzle":[2,0,2],"offset":16,"layout":{"shape":[16,8],"stride":[1,16]}},"threads":[3]}}"#,
    r#"{"family":"cute_tiled_mma","in":{"atom":"SM80_16x8x8_F32F16F16F32_TN","atom_layout_mnk":{"shape":[2,1,1],"stride":[1,2,2]},"c":{"shape":[64,16],"stride":[1,64]},"a":{"swizzle":[1,3,3],"offset":3,"layout":{"shape":[64,8],"stride":[8,1]}},"b":{"swizzle":[1,1,-2],"layout":{"shape":[16,8],"stride":[1,16]}},"threads":[5]}}"#,
    r#"{"family":"cute_composed_ops","in":{"op":"dice","swizzle":[2,0,2],"offset":3,"layout":{"shape":[8,[2,4]],"stride":[8,[4,1]]},"coord":[null,[1,null]]}}"#,
    r#"{"family":"cute_composed_ops","in":{"op":"nullspace","swizzle":[2,0,2],"offset":0,"layout":{"shape":[8,[2,4]],"stride":[8,[0,1]]}}}"#,
    r#"{"family":"cute_composed_ops","in":{"op":"right_inverse","swizzle":[2,0,2],"offset":16,"layout":{"shape":[8,[2,4]],"stride":[8,[4,1]]}}}"#,
    r#"{"family":"cute_tiled_copy_mma","in":{"copy":"SM75_U32x4_LDSM_N","bits":16,"operand":"A","atom":"SM80_16x8x16_F32F16F16F32_TN","atom_layout_mnk":{"shape":[2,2,1],"stride":[1,2,4]},"permutations":[32,32,16],"data":{"shape":[64,32],"stride":[32,1]},"threads":[5]}}"#,
];

/// The value with one of its parts, at any depth, replaced; all ways to do so.
fn with_one_part_replaced(whole: &Value, by: &Value) -> Vec<Value> {
    let mut all = vec![by.clone()];
    match whole {
        Value::Array(parts) => {
            for (i, part) in parts.iter().enumerate() {
                for other in with_one_part_replaced(part, by) {
                    let mut copy = parts.clone();
                    copy[i] = other;
                    all.push(Value::Array(copy));
                }
            }
        }
        Value::Object(parts) => {
            for (name, part) in parts {
                for other in with_one_part_replaced(part, by) {
                    let mut copy = parts.clone();
                    copy[name] = other;
                    all.push(Value::Object(copy));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn one_wrong_part_of_a_suitable_request_is_refused_or_answered() {
    let wrong =
        [json!([]), json!([[]]), json!(0), json!(-1), json!(7), json!(i64::MAX), json!(null), json!([1, 1, 1, 1])];
    let mut asked = 0;
    for request in SUITABLE {
        let request: Value = serde_json::from_str(request).unwrap();
        let ask = |input: &Value| {
            let mut output = Vec::new();
            super::run(json!({ "family": request["family"], "in": input }).to_string().as_bytes(), &mut output)
                .unwrap();
            serde_json::from_slice::<Value>(&output).unwrap()
        };
        assert!(ask(&request["in"]).get("ok").is_some(), "{request}: {}", ask(&request["in"]));
        for by in &wrong {
            for input in with_one_part_replaced(&request["in"], by) {
                let answer = ask(&input);
                assert!(answer.get("ok").is_some() != answer["error"].is_string(), "{input}: {answer}");
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

#[test]
fn neither_deep_nor_long_input_is_a_danger() {
    let ask = |line: &str| {
        let mut output = Vec::new();
        super::run(line.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap()
    };
    let deep = format!(r#"{{"family":"cute_coalesce","in":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let long = format!(
        r#"{{"family":"cute_logical_divide","in":{{"a":{{"shape":4,"stride":1}},"tiler":[{}1]}}}}"#,
        "1,".repeat(100_000)
    );
    // One line of many reads.
    let huge = format!("{{\"family\":\"{}\"", "x".repeat(8 << 20));
    for line in [deep, long, huge] {
        let text = ask(&line);
        assert!(
            text.starts_with("{\"error\":") && text.lines().count() == 1 && text.len() < 600,
            "{}",
            &text[..text.len().min(200)]
        );
    }
    // Bytes that are no text.
    let mut output = Vec::new();
    assert!(!super::run(&b"{\"family\":\"\xFF\xFE\"}\r\n\n\x00\n"[..], &mut output).unwrap());
    assert_eq!(String::from_utf8(output).unwrap().lines().count(), 3);
}
