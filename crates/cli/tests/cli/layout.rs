//! `warpwright layout`.

use crate::common::Folder;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

fn says(line: &str) -> String {
    Folder::new().ok(&format!("layout {line}")).stdout.trim_end().to_owned()
}

/// Each operation on an example whose result can be seen by hand.
#[test]
fn every_operation_has_a_name() {
    for (line, expected) in [
        ("eval (8,4):(4,1) 5", "20"),
        ("eval (8,(4,2)):(4,(1,32)) (1,(2,1)) (1,6) 7", "38\n38\n28"),
        ("eval 'Sw<2,0,2> o 0 o (4,4):(4,1)' (1,0)", "5"),
        ("coordinate (8,(4,2)) 41", "(1,(1,1))"),
        ("info (8,4):(4,1)", "(_8,_4):(_4,_1)\nsize   32\ncosize 32\nrank   2\ndepth  1"),
        ("slice (8,4):(4,1) (2,_)", "+8 o (_4):(_1)"),
        // A swizzle that a slice does not reach is gone, as in CuTe.
        ("slice 'Sw<3,3,3> o 0 o (8,64):(64,1)' (3,_)", "+216 o ((_8,_4,_2)):((_1,_-8,_32))"),
        ("slice 'Sw<3,3,3> o 5 o (8,64):(64,1)' (_,_)", "Sw<3,3,3> o _5 o (_8,_64):(_64,_1)"),
        ("slice (8,4):(-4,1) (2,_)", "-8 o (_4):(_1)"),
        ("dice (8,4):(4,1) (2,_)", "(_8):(_4)"),
        ("dice 'Sw<3,3,3> o 0 o (8,64):(64,1)' (2,_)", "Sw<3,3,3> o _0 o (_8):(_64)"),
        ("unflatten (2,3,4) (1,(1,1))", "(_2,(_3,_4)):(_1,(_2,_6))"),
        ("identity (4,(8,3))", "(_4,(_8,_3)):(_1@0,(_1@0@1,_1@1@1))"),
        ("identity (4,8) (2,4)", "((_2,_4),(_2,_2)):((_1@0,_1@1),(_2@0,_4@1))"),
        ("identity (100,70) (32,32) (3,2)", "ArithTuple(96,64) o (_32,_32):(_1@0,_1@1)"),
        ("coalesce (2,(1,6)):(1,(6,2))", "_12:_1"),
        ("coalesce --profile (1,1) (2,(1,6)):(1,(6,2))", "(_2,_6):(_1,_2)"),
        ("filter (2,4):(0,1)", "_4:_1"),
        ("filter --profile (1,1) (2,(4,3)):(0,(1,4))", "(_1,_12):(_0,_1)"),
        ("filter 'Sw<1,1,1> o 0 o (2,4):(0,1)'", "Sw<1,1,1> o _0 o _4:_1"),
        ("max-alignment 'Sw<3,3,3> o 0 o (8,64):(64,1)'", "8"),
        ("max-common --vector 'Sw<3,3,3> o 0 o 512' 'Sw<3,3,3> o 0 o 512'", "512"),
        ("max-common --vector 'Sw<3,3,3> o 0 o 512' 'Sw<2,4,3> o 0 o 512'", "8"),
        ("flatten (2,(1,6)):(1,(6,2))", "(_2,_1,_6):(_1,_6,_2)"),
        ("group (2,3,4) 1 3", "(_2,(_3,_4)):(_1,(_2,_6))"),
        ("compose (6,2):(8,2) (4,3):(3,1)", "((_2,_2),_3):((_24,_2),_8)"),
        ("compose (12,(4,8)):(59,(13,1)) (3:4,8:2)", "(_3,(_2,_4)):(_236,(_26,_1))"),
        ("compose Sw<3,3,3> (8,64):(64,1)", "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)"),
        ("complement 4:2 24", "(_2,_3):(_1,_8)"),
        ("complement 4:2", "_2:_1"),
        ("right-inverse (4,8):(8,1)", "(_8,_4):(_4,_1)"),
        ("left-inverse (4,8):(8,1)", "(_8,_4):(_4,_1)"),
        ("right-inverse 'Sw<2,0,2> o 0 o (4,4):(4,1)'", "Sw<2,0,-2> o _0 o (_4,_4):(_4,_1)"),
        ("right-inverse 'Sw<2,0,2> o 3 o (4,4):(4,1)'", "(_4,_4):(_4,_1) o _-3 o Sw<2,0,2>"),
        ("divide (4,2,3):(2,1,8) 4:2", "((_2,_2),(_2,_3)):((_4,_1),(_2,_8))"),
        ("divide --kind zipped (256,128):(128,1) (16,16)", "((_16,_16),(_16,_8)):((_128,_1),(_2048,_16))"),
        ("divide --kind tiled (256,128):(128,1) (16,128)", "((_16,_128),_16,_1):((_128,_1),_2048,_0)"),
        ("divide --kind flat (256,128):(128,1) (16,16)", "(_16,_16,_16,_8):(_128,_1,_2048,_16)"),
        ("product (2,2):(4,1) 6:1", "((_2,_2),(_2,_3)):((_4,_1),(_2,_8))"),
        ("product --kind blocked (2,5):(5,1) (3,4):(1,3)", "((_2,_3),(_5,_4)):((_5,_10),(_1,_30))"),
        ("blocked-product (2,5):(5,1) (3,4):(1,3)", "((_2,_3),(_5,_4)):((_5,_10),(_1,_30))"),
        ("raked-product (2,5):(5,1) (3,4):(1,3)", "((_3,_2),(_4,_5)):((_10,_5),(_30,_1))"),
        ("tile-to-shape (8,8):(8,1) (16,32)", "((_8,_2),(_8,_4)):((_8,_64),(_1,_128))"),
        ("ordered (16,2,4) (2,0,1)", "(_16,_2,_4):(_8,_1,_2)"),
        ("like (4,8):(64,2)", "(_4,_8):(_8,_1)"),
        ("like 'Sw<1,1,1> o 3 o (4,8):(64,2)'", "(_4,_8):(_8,_1)"),
        ("fragment-like 'Sw<1,1,1> o 3 o ((2,2),4):((8,1),2)'", "((_2,_2),(_4)):((_1,_2),(_4))"),
        ("upcast (4,8):(1,4) 4", "(_1,_8):(_1,_1)"),
        ("downcast (4,8):(1,4) 2", "(_8,_8):(_1,_8)"),
        ("recast (32,8):(1,32) 16 8", "(_64,_8):(_1,_64)"),
        ("max-common (4,2):(1,4) 8:1", "_8:_1"),
        ("max-common 16:1 2:1", "_2:_1"),
        ("max-common 16:1 'Sw<1,1,3> o 15 o 16:1'", "_1:_0"),
        ("max-common --vector 16:1 'Sw<1,1,3> o 15 o 16:1'", "1"),
        ("group (4,8) 0 0", "((),_4,_8):((),_1,_4)"),
        ("group (4,8) 1 1", "(_4,(),_8):(_1,(),_4)"),
        ("group (4,8) 2 2", "(_4,_8,()):(_1,_4,())"),
        ("max-common --vector (4,2):(1,4) (4,2):(1,8)", "4"),
        ("max-alignment (8,8):(8,1)", "64"),
        ("nullspace (4,2):(0,1)", "_4:_1"),
        ("nullspace 'Sw<1,1,1> o 0 o (4,2):(0,1)'", "_4:_1"),
        ("local-tile (256,128):(128,1) (16,16) (3,2)", "+6176 o (_16,_16):(_128,_1)"),
        ("local-partition (128,128) (16,16) 17", "+129 o (_8,_8):(_16,_2048)"),
        ("local-tile 'Sw<3,3,3> o 0 o (8,64):(64,1)' (1,64) (3,0)", "+216 o (_1,(_8,_4,_2)):(_0,(_1,_-8,_32))"),
        ("partition --mma SM70_8x8x4_F32F16F16F32_NT --operand a (8,4):(1,8) 16", "+4 o (_4,_1,_1):(_1,_0,_0)"),
        ("smem-atom --major MN --bits 8", "Sw<3,4,3> o _0 o (_128,_8):(_1,_128)"),
        (
            "tma (4096,1024):(1024,1) (128,64):(64,1)",
            "dimension 0: mode 1, extent 1024, box 64, contiguous\n\
             dimension 1: mode 0, extent 4096, box 128, 2048 bytes apart\nswizzle INTER\nbox 0 from [0, 0] to +0",
        ),
        (
            "descriptor --major MN ((64,2),(8,2)):((1,1024),(64,512))",
            "leading 2048 bytes, stride 1024 bytes, swizzle SW128\n\
             wgmma   0x4000004000800000\ntcgen05 0x4000404000800000",
        ),
        ("conflicts (8,64):(64,1) 8:1", "8"),
        ("conflicts 'Sw<3,3,3> o 0 o (8,64):(64,1)' 8:1", "1"),
        (
            "lower --name smem_a --arguments mn,k 'Sw<3,3,3> o 0 o (8,64):(64,1)'",
            "static __device__ __forceinline__ unsigned smem_a(unsigned mn, unsigned k) {\n    \
             const unsigned x = ((mn << 6) + k);\n    return (x ^ ((x & 448u) >> 3));\n}",
        ),
        (
            "partition --copy UniversalCopy<uint128_t> --threads (32,8) --values (4,1) (128,64) 65",
            "+260 o (_4,_1,_8):(_1,_0,_1024)",
        ),
        (
            "partition --copy UniversalCopy<uint32_t> --threads (8,4) --values (1,1) 'Sw<3,2,-3> o 0 o (64,32):(32,1)' 3",
            "+96 o (_1,_8,(_4,_2)):(_0,_256,(_-28,_144))",
        ),
        (
            "partition --copy UniversalCopy<uint32_t> --threads (2,2) --values (1,1) 'Sw<2,0,2> o 0 o (16,8):(1,16)' 3",
            "Sw<2,0,2> o _17 o (_1,_8,_4):(_0,_2,_32)",
        ),
        (
            "partition --mma SM80_16x8x16_F32F16F16F32_TN --operand a 'Sw<3,3,3> o 0 o (16,64):(64,1)' 5",
            "+74 o ((_2,_2,_2),_1,_4):((_1,_512,_-8),_0,_16)",
        ),
        (
            "tv --mma SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,float,256,128> --operand c",
            "(_2,((_128,_128),(_1,_1))):(_128,((_1,_256),(_0,_0)))",
        ),
        (
            "tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c",
            "((_4,_8),((_2,_2),(_1,_1))):((_32,_1),((_16,_8),(_0,_0)))",
        ),
    ] {
        assert_eq!(says(line), expected, "{line}");
    }
}

#[test]
fn static_and_dynamic_integers() {
    // CuTe's notation as soon as one integer is marked, everything static otherwise.
    assert_eq!(
        says("divide --kind zipped (_256,128):(_128,_1) (_16,_16)"),
        "((_16,_16),(_16,8)):((_128,_1),(_2048,_16))"
    );
    assert_eq!(says("compose --dynamic 8:2 4:2"), "4:4");
    assert_eq!(
        says("lower --dynamic (8,4):(4,1)"),
        "static __device__ __forceinline__ unsigned index(unsigned c0, unsigned c1, unsigned d0, unsigned d1) {\n    \
         return ((c0 * d0) + (c1 * d1));\n}"
    );
}

#[test]
fn json_is_in_the_form_of_batches() {
    let outcome = Folder::new().ok("layout compose --json (6,2):(8,2) (4,3):(3,1)").json();
    assert_eq!(outcome["shape"], serde_json::json!([[2, 2], 3]));
    assert_eq!(outcome["table"], serde_json::json!([0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42]));
    assert_eq!(Folder::new().ok("layout eval --json (8,4):(4,1) 5").json()["int"], 20);
    let inverse = Folder::new().ok("layout left-inverse --json 'Sw<1,0,1> o 3 o (2,2):(2,1)'").json();
    assert_eq!((&inverse["offset"], &inverse["swizzle"]), (&serde_json::json!(-3), &serde_json::json!([1, 0, 1])));
    assert_eq!(inverse["outer"]["table"], serde_json::json!([0, 2, 1, 3]));
    let tile = Folder::new().ok("layout identity --json (4,6) (2,3) (1,1)").json();
    assert_eq!(tile["table"], serde_json::json!([[2, 3], [3, 3], [2, 4], [3, 4], [2, 5], [3, 5]]));
    let map = Folder::new().ok("layout tma --json (4096,1024):(1024,1) (128,64):(64,1)").json();
    assert_eq!((&map["box"], &map["byte_strides"]), (&serde_json::json!([64, 128]), &serde_json::json!([2048])));
    assert_eq!((map["boxes"].as_i64(), map["left_out"].as_i64()), (Some(1), Some(0)));
    // All boxes are listed, as long as they can be read.
    for (columns, left_out) in [(2048, 0), (262_144, 0), (524_288, 4096)] {
        let tile = format!("((8,2),(64,{})):((64,512),(1,1024))", columns / 64);
        let map = Folder::new().ok(&format!("layout tma --json (4096,{columns}):({columns},1) {tile}")).json();
        assert_eq!((map["boxes"].as_i64(), map["left_out"].as_i64()), (Some(columns / 64), Some(left_out)));
        let at = map["at"].as_array().unwrap();
        for (n, one) in at.iter().enumerate() {
            assert_eq!(*one, serde_json::json!({ "coordinates": [64 * n, 0], "shared": 1024 * n }), "box {n}");
        }
        assert_eq!(at.len() as i64 + left_out, columns / 64);
    }
    assert_eq!(Folder::new().ok("layout descriptor --json ((8,8),16):((64,512),1)").json()["stride"], 64);
}

/// A part of a layout and the offset at which it begins, side by side, as in batches.
#[test]
fn an_offset_stands_beside_the_table() {
    let slice = Folder::new().ok("layout slice --json (8,4):(4,1) (2,_)").stdout;
    let request =
        r#"{"family":"cute_slice_and_offset","in":{"layout":{"shape":[8,4],"stride":[4,1]},"coord":[2,null]}}"#;
    assert_eq!(batch(request.as_bytes()).0, format!("{{\"ok\":{}}}\n", slice.trim_end()));
    for line in [
        "slice --json (8,4):(4,1) (2,_)",
        "local-tile --json (8,4):(4,1) (2,4) (1,0)",
        "local-partition --json (8,4):(4,1) (2,1) 1",
        "partition --json --copy DefaultCopy --threads (2,2) --values 1 (8,4):(4,1) 3",
    ] {
        let part = Folder::new().ok(&format!("layout {line}")).json();
        let (shape, stride) = (&part["shape"].to_string(), &part["stride"].to_string());
        let written = |json: &str| json.replace('[', "(").replace(']', ")");
        let function =
            Folder::new().ok(&format!("layout flatten --json {}:{}", written(shape), written(stride))).json();
        for field in ["table", "size", "cosize"] {
            assert_eq!(part[field], function[field], "{line}: {part}");
        }
        assert!(part["offset"].as_i64().is_some_and(|offset| offset > 0), "{line}: {part}");
    }
}

#[test]
fn pictures() {
    let text = says("print (4,2):(1,4)");
    assert!(text.ends_with(" 3  | 3 | 7 |\n    +---+---+"), "{text}");
    let swizzle = says("print Sw<1,4,1>");
    assert!(swizzle.contains(" 1  | 3 | 2 |"), "{swizzle}");
    let latex = says("print --latex --mma SM80_16x8x8_F32F16F16F32_TN");
    assert!(
        latex.contains(r"\node[fill={rgb,255:red,175;green,255;blue,175}] at (11,13) {\shortstack{T1 \\ V0}};"),
        "{latex}"
    );
    assert_eq!(latex.matches(r"\shortstack").count(), 16 * 8 + 16 * 8 + 8 * 8);
    let folder = Folder::new();
    let outcome =
        folder.ok("layout print --svg --copy UniversalCopy<uint128_t> --threads (32,8) --values (4,1) --out copy.svg");
    assert_eq!(outcome.stdout, "");
    let svg = std::fs::read_to_string(folder.path("copy.svg")).unwrap();
    assert_eq!((svg.matches("<rect").count(), svg.matches(">T65<").count()), (1 + 2 * 128 * 8, 8));
    let tv = says("print --tile (8,4) ((4,2),4):((8,1),2)");
    assert!(tv.contains("T0V0"), "{tv}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (line, words) in [
        ("eval (8,4):(4,x) 5", "not a layout, at column 10: expected an integer or `(`\n  (8,4):(4,x)\n           ^"),
        ("compose (6,2):(8,2) (4;3):(3,1)", "not a layout or a tiler, at column 3: expected `,` or `)`"),
        ("compose (6,2):(8,2) 4:5", "shape divisibility"),
        ("divide (8,8) (_,_,4)", "3 modes were given for a layout of rank 2"),
        ("complement --dynamic (4,2):(2,1)", "is dynamic: make it static"),
        ("coalesce (0,2)", "mode 0 has extent 0"),
        ("flatten Sw<1,1,1>", "expected `o`"),
        ("descriptor 'Sw<1,1,1> o 0 o 8'", "descriptor is defined on plain layouts"),
        ("nullspace 'Sw<1,1,1> o 3 o 8'", "the composed layout has offset _3: the offset must be 0 here"),
        ("print (1024,1024)", "too large"),
        ("print --mma SM80_NOTHING", "the CUTLASS name of an MMA atom"),
        ("tv --mma SM80_16x8x8_F32F16F16F32_TN", "give --operand a, b or c"),
        ("partition --copy DefaultCopy (8,8) 0", "--threads and --values"),
        ("partition --copy DefaultCopy --threads (2,2) --values 1 (8,8) 4", "thread 4 is none of the 4 threads"),
        ("partition --mma SM80_16x8x8_F32F16F16F32_TN --operand a (16,8) -- -1", "thread -1 is none of the 32 threads"),
        ("local-partition (16,16) (4,4) 99", "thread 99 is none of the 16 threads, whose indices end at 15"),
        ("conflicts (8,64):(64,1) 64:1", "a warp has at most 32 lanes, not 64"),
        ("conflicts --bytes 3 (8,64):(64,1) 8:1", "a lane moves 1, 2, 4, 8 or 16 bytes, not 3"),
        ("conflicts (8,64):(64,1) 8:8", "addresses are multiples of the lane's bytes, not 2"),
        (
            "tma (64,64):(65,1) (8,64):(64,1)",
            "strides must be multiples of 16 bytes, above 0 and below 2^40, but it is 130",
        ),
        ("tma --bits 0 (64,64):(64,1) (8,64):(64,1)", "elements must have 4, 8, 16, 32 or 64 bits, but it is 0"),
        ("descriptor (64,16):(1,64)", "does not fit a matrix descriptor"),
        ("group (2,3,4) 2 0", "2 to 0 is no range of modes of a layout of rank 3"),
        ("upcast 8 0", "the recast factor, 1 or more, cannot be 0"),
        ("upcast 'Sw<1,1,1> o 0 o 8' 3", "the recast factor of a swizzle, a power of two, cannot be 3"),
        ("unflatten (2,3) (1,1,1)", "rank 2 where rank 3 is needed"),
        // Far beyond the layout nothing wraps.
        (
            "eval 'Sw<3,3,3> o 9223372036854775807 o 4:1' 3",
            "is 9223372036854775807, beyond the limit of 4611686018427387903",
        ),
        (
            "slice (4,4):(1,4) (_,9223372036854775807)",
            "is 36893488147419103228, beyond the limit of 4611686018427387903",
        ),
        ("slice 4:4 4611686018427387904", "is 18446744073709551616, beyond the limit of 4611686018427387903"),
        (
            "eval 2:4611686018427387902 4",
            "sum of extents times strides is 9223372036854775804, beyond the limit of 46116860184",
        ),
        ("eval 2:2305843009213693951 5", "coordinate is 11529215046068469755, beyond the limit of 9223372036854775807"),
        // Tiles, threads and modes that there are not, and numbers below 0, which are no options.
        (
            "local-tile (4,4) (2,2) (9223372036854775807,0)",
            "tile 9223372036854775807 is none of the 2 tiles of mode 0 of the grid: give 0 to 1",
        ),
        ("local-tile (4,4) (2,2) (0,2)", "tile 2 is none of the 2 tiles of mode 1 of the grid"),
        ("local-tile (4,(4,4)) (2,(2,2)) (1,(0,-1))", "tile -1 is none of the 2 tiles of mode 1,1 of the grid"),
        ("local-tile (4,4) (2,2) -1", "tile -1 is none of the 4 tiles of the whole of the grid"),
        ("local-tile 'Sw<1,1,1> o 0 o (4,4)' (2,2) (_,2)", "tile 2 is none of the 2 tiles of mode 1 of the grid"),
        ("identity (4,4) (2,2) (2,0)", "tile 2 is none of the 2 tiles of mode 0 of the grid"),
        ("identity (4,4) (2,2) -4", "tile -4 is none of the 4 tiles"),
        ("local-partition (16,16) (4,4) -1", "thread -1 is none of the 16 threads"),
        ("partition --copy DefaultCopy --threads (2,2) --values 1 (8,8) -1", "thread -1 is none of the 4 threads"),
        ("group (2,3,4) -1 2", "`-1` is not the number of a mode"),
        ("recast 8 16 -1", "the new element width in bits cannot be -1"),
        ("downcast 8 -2", "the recast factor, 1 or more, cannot be -2"),
        ("smem-atom --bits -8", "invalid value '-8' for '--bits <BITS>': give a whole number from 0 to 4294967295"),
        // Threads, atoms and permutations that do not fit.
        (
            "tv --copy UniversalCopy<uint128_t> --threads (32,8):(0,0) --values (4,1)",
            "the layout of the copy's threads must give the numbers 0 to 255 once each, but from 0 on only 1",
        ),
        (
            "tv --copy UniversalCopy<uint128_t> --threads (32,8) --values (4,1):(2,0)",
            "the layout of the copy's values must give the numbers 0 to 3 once each",
        ),
        (
            "tv --copy UniversalCopy<uint128_t> --bits 3 --threads (32,8) --values (4,1)",
            "a thread moves 128 bits side by side with this atom, which is no number of elements of 3 bits",
        ),
        (
            "tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c --permute (24,_,16)",
            "the permutation of M has 24 elements, but the atoms have 16 along it: give a multiple of these",
        ),
        (
            "tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c --permute (32:2,_,_)",
            "the layout of the MMA's permuted elements must give the numbers 0 to 31 once each",
        ),
        (
            "tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c --permute 32",
            "expected `_`, an integer or a layout for each of M, N and K",
        ),
        ("tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c --permute ((8,2),_)", "an integer or a layout for each"),
        ("tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c --permute (_,_,_,_)", "4 modes were given"),
        (
            "tv --mma SM80_16x8x16_F32F16F16F32_TN --operand c --atoms (2,2,1):(0,0,0)",
            "`(2,2,1):(0,0,0)` is not an arrangement of atoms for --atoms: the layout of the MMA's atoms must give no number twice, \
             but stride _0 is not beyond",
        ),
        (
            "tv --mma SM70_8x8x4_F16F16F16F16_TN --operand c --atoms (4,3,1):(3,1,12)",
            "`(4,3,1):(3,1,12)` is not an arrangement of atoms for --atoms: the layout of the MMA's atoms does not fit: between the \
             threads of one atom there is room for _4, into which the extent or thread stride _16 does not go",
        ),
        (
            "print --mma SM80_16x8x16_F32F16F16F32_TN --atoms (4,2,1):(3,10,0)",
            "for --atoms: the layout of the MMA's atoms does not fit: the extent or thread stride _320 lies within",
        ),
        // Elements that a swizzle takes apart are no wider element.
        ("upcast 'Sw<3,1,-3> o 0 o 8:2' 4", "upcast: Sw<3,1,-3> takes elements apart of which 4 would be one"),
        (
            "upcast 'Sw<1,2,2> o 0 o (4,2):(1,2)' 4",
            "with the mode of stride _2 the parts of an element are not 4 neighbours",
        ),
        ("downcast 'Sw<1,2,2> o 0 o (4,2):(1,1)' 4", "with the mode of stride _1 the parts of an element are not 4"),
        ("identity 268435456", "an extent of a layout of coordinates is 268435456, beyond the limit of 268435455"),
        ("info 2:4611686018427387904", "is 9223372036854775808, beyond the limit of 4611686018427387903: use smaller"),
        (
            "upcast 'Sw<1,1,1> o -9223372036854775807 o 8' 2",
            "is -9223372036854775807, beyond the limit of 4611686018427387903",
        ),
        ("lower 4:-1", "reaches offset -3, but 32-bit index functions are unsigned"),
        (
            "lower (4,2):(1,4294967296)",
            "largest offset of a 32-bit index function is 4294967299, beyond the limit of 4294967295",
        ),
        (
            "compose (4,1):(2,1) (16,4):(8,-2)",
            "composition: mode 1 of the right-hand layout steps against the modes before it",
        ),
        // An inverse that is given is one.
        (
            "right-inverse 'Sw<1,1,-2> o 0 o (4,1):(1,1)'",
            "reaches 4 offsets from 0 on without gaps, but Sw<1,1,-2> takes some of them elsewhere",
        ),
        ("right-inverse 'Sw<2,0,-4> o 0 o (((8,1))):(((1,1)))'", "8 offsets from 0 on without gaps, but Sw<2,0,-4>"),
        ("right-inverse 'Sw<1,1,-2> o 3 o (4,1):(1,1)'", "reaches 4 offsets from 3 on without gaps, but Sw<1,1,-2>"),
        ("left-inverse (2,3):(8,4)", "the smaller strides reach _8 too, the stride of another mode"),
        // Numbers that the hardware has not.
        ("conflicts --bits 0 (8,64):(64,1) 8:1", "elements have 1 to 128 bits, not 0"),
        ("conflicts --bits 4294967295 (8,64):(64,1) 8:1", "elements have 1 to 128 bits, not 4294967295"),
        ("conflicts --bits 6 (8,64):(64,1) 8:8", "begins at a whole byte, as the elements' width has it, not 1"),
        ("conflicts --bytes 0 (8,64):(64,1) 8:1", "a lane moves 1, 2, 4, 8 or 16 bytes, not 0"),
        ("tma --bits 4 (64,64):(65,1) (8,64):(64,1)", "strides must be multiples of 16 bytes"),
        ("tma --bits 129 (64,64):(64,1) (8,64):(64,1)", "elements must have 4, 8, 16, 32 or 64 bits, but it is 129"),
        ("smem-atom --bits 0", "no shared-memory atom for elements of 0 bits"),
        ("descriptor --bits 0 ((8,8),16):((64,512),1)", "no shared-memory atom for elements of 0 bits"),
        ("descriptor --bits 48 ((8,8),16):((64,512),1)", "no shared-memory atom for elements of 48 bits"),
        ("partition --copy DefaultCopy --bits 0 --threads (2,2) --values 1 (8,8) 0", "the copied bits cannot be 0"),
        (
            "partition --copy UniversalCopy<uint128_t> --bits 0 --threads 4 --values 8 8 0",
            "which is no number of elements of 0 bits",
        ),
        ("recast 8 0 16", "the old element width in bits cannot be 0"),
        ("tile-to-shape (2,2) ((-2,-4),4)", "mode 0,0 has extent _-2: extents must be at least 1"),
        ("print --tile (2,2) (3,2):(2,0)", "the threads reach address 4, where the data has no element"),
        (
            "print --tile (2,2) (4294967296,2):(0,1)",
            "values of all threads in a picture is 8589934592, beyond the limit of 67108864",
        ),
        ("print --tile (-2,-2) (2,2)", "extents must be at least 1"),
        ("lower --name 1x 8", "`1x` is not a C++ identifier"),
        ("lower --name for 8", "`for` is not a C++ identifier"),
        ("lower --arguments a,a (4,4)", "`a` is not a C++ identifier of its own"),
        ("lower --arguments x,k (4,4)", "neither x nor s0"),
        ("nonsense 8", "unrecognized subcommand"),
    ] {
        let outcome = Folder::new().run(&format!("layout {line}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{line}: {}", outcome.stderr);
    }
}

pub fn batch(lines: &[u8]) -> (String, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpwright"))
        .args(["layout", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = lines.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&lines));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn a_batch_answers_line_by_line() {
    let good = r#"{"family":"cute_max_alignment","in":{"layout":{"shape":[8,8],"stride":[8,1]}}}"#;
    let refused = r#"{"family":"cute_upcast","in":{"layout":{"shape":4,"stride":3},"n":2}}"#;
    let (text, code) = batch(format!("{good}\n{refused}\n{good}").as_bytes());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[2], code), (r#"{"ok":{"int":64}}"#, r#"{"ok":{"int":64}}"#, Some(0)));
    assert!(lines[1].starts_with(r#"{"error":"upcast: "#), "{}", lines[1]);
    // What is no request is answered too, and told by the exit code.
    let (text, code) = batch(b"{}\n");
    assert!(text.starts_with(r#"{"error":"not a JSON object"#) && code == Some(2), "{text}");
}

/// Threads that nobody named are all that hold something: those of a quad pair have ids up to 19.
#[test]
fn a_batch_lists_every_thread() {
    let line = r#"{"family":"cute_tiled_mma","in":{"atom":"SM70_8x8x4_F32F16F16F32_NT","atom_layout_mnk":{"shape":[1,1,1],
        "stride":[0,0,0]},"c":{"shape":[8,8],"stride":[1,8]},"a":{"shape":[8,4],"stride":[1,8]},"b":{"shape":[8,4],"stride":[1,8]}}}"#;
    let (text, _) = batch(line.replace('\n', " ").as_bytes());
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    let threads = answer["ok"]["threads"].as_array().unwrap();
    for (operand, elements) in [("a", 32), ("b", 32), ("c", 64)] {
        let tables = threads.iter().flat_map(|thread| thread[operand]["table"].as_array().unwrap());
        let held: std::collections::HashSet<i64> = tables.map(|at| at.as_i64().unwrap()).collect();
        assert_eq!(held, (0..elements).collect(), "{operand}");
    }
}

/// What threads copy and hold of swizzled data: each part's table is the data's own where the plain part has its coordinates.
#[test]
fn a_batch_partitions_what_is_swizzled() {
    let places = r#"{"shape":[64,32],"stride":[1,64]}"#;
    let answer = |line: &str| -> serde_json::Value {
        let text = batch(line.as_bytes()).0;
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(answer["ok"].is_object(), "{line}: {text}");
        answer["ok"].clone()
    };
    let copy = r#"{"family":"cute_tiled_copy","in":{"copy":"UniversalCopy<uint32_t>","bits":32,"thr":{"shape":[8,4],"stride":[1,8]},
        "val":{"shape":[1,1],"stride":[0,0]},"data":DATA}}"#;
    let mma = r#"{"family":"cute_tiled_mma","in":{"atom":"SM80_16x8x16_F32F16F16F32_TN","atom_layout_mnk":{"shape":[2,1,1],
        "stride":[1,0,0]},"c":DATA,"a":DATA,"b":DATA}}"#;
    let (mut plain, mut kept) = (0, 0);
    for swizzle in ["[3,2,-3]", "[2,2,6]"] {
        let fields = format!(r#""swizzle":{swizzle},"offset":512,"layout":{{"shape":[64,32],"stride":[32,1]}}"#);
        let whole = answer(&format!(r#"{{"family":"cute_composed_eval","in":{{{fields}}}}}"#));
        for (line, parts) in [(copy, &["s", "d"][..]), (mma, &["a", "b", "c"])] {
            let line = line.replace('\n', " ");
            let got = answer(&line.replace("DATA", &format!("{{{fields}}}")));
            let at = answer(&line.replace("DATA", places));
            let (threads, coordinates) = (got["threads"].as_array().unwrap(), at["threads"].as_array().unwrap());
            assert_eq!(threads.len(), coordinates.len());
            for (thread, coordinates) in threads.iter().zip(coordinates) {
                for part in parts {
                    let indices = coordinates[part]["table"].as_array().unwrap();
                    let expected: Vec<_> =
                        indices.iter().map(|i| &whole["table"][i.as_u64().unwrap() as usize]).collect();
                    let table: Vec<_> = thread[part]["table"].as_array().unwrap().iter().collect();
                    assert_eq!(table, expected, "{part} of {thread}");
                    if thread[part]["swizzle"].is_null() { plain += 1 } else { kept += 1 }
                }
            }
        }
    }
    assert!(plain > 0 && kept > 0, "{plain} and {kept}");
    let op = |op: &str, more: &str| {
        answer(&format!(
            r#"{{"family":"cute_composed_ops","in":{{"op":"{op}","swizzle":[1,0,1],"layout":{{"shape":[2,4],"stride":[0,1]}}{more}}}}}"#
        ))
    };
    assert_eq!(op("nullspace", "")["table"], serde_json::json!([0, 1]));
    assert_eq!(op("make_layout_like", ",\"offset\":3")["table"], serde_json::json!([0, 0, 1, 1, 2, 2, 3, 3]));
    assert_eq!(op("make_fragment_like", "")["table"], serde_json::json!([0, 0, 1, 1, 2, 2, 3, 3]));
    assert_eq!(op("dice", ",\"coord\":[null,1]")["table"], serde_json::json!([0, 1, 3, 2]));
    let broken = copy.replace('\n', " ").replace("DATA", r#"{"swizzle":[1,0],"layout":{"shape":8,"stride":1}}"#);
    let (text, code) = batch(broken.as_bytes());
    assert!(text.contains("`in.data.swizzle` is [1,0]") && code == Some(2), "{text}");
}

/// A point that is named is answered exactly or refused; those that nobody named are left out where they do not fit.
#[test]
fn a_batch_refuses_what_would_wrap() {
    let layout = r#""layout":{"shape":2,"stride":1152921504606846976}"#;
    let composed = r#""swizzle":[1,1,1],"layout":{"shape":4,"stride":1}"#;
    for (line, words) in [
        (format!(r#"{{"family":"cute_eval","in":{{{layout},"points":[8]}}}}"#), "is 9223372036854775808, beyond the limit"),
        (format!(r#"{{"family":"cute_eval","in":{{{layout},"beyond":[-9]}}}}"#), "is -10376293541461622784, beyond"),
        (format!(r#"{{"family":"cute_eval","in":{{{layout}}}}}"#), r#""beyond":[[2,2305843009213693952],[5,5764607523034234880]],"#),
        (format!(r#"{{"family":"cute_crd2idx_mixed","in":{{{layout},"coords":[8]}}}}"#), "is 9223372036854775808, beyond"),
        (format!(r#"{{"family":"cute_slice_and_offset","in":{{{layout},"coord":4}}}}"#), "is 4611686018427387904, beyond"),
        (
            format!(r#"{{"family":"cute_composed_eval","in":{{{composed},"offset":9223372036854775807}}}}"#),
            "in front of the layout is 9223372036854775807, beyond",
        ),
        (
            format!(r#"{{"family":"cute_composed_ops","in":{{{composed},"op":"slice","coord":9223372036854775807,"offset":9}}}}"#),
            "is 9223372036854775807, beyond the limit of 4611686018427387903",
        ),
        (
            r#"{"family":"cute_umma_instr_desc","in":{"m":4096,"n":8,"a":"f16","b":"f16","c":"f32","a_major":"K","b_major":"K"}}"#
                .to_owned(),
            "M of tcgen05.mma, a multiple of 16 up to 256, cannot be 4096",
        ),
    ] {
        let (text, code) = batch(line.as_bytes());
        assert!(text.contains(words) && code == Some(0), "{line}: {text}");
    }
}

/// The command of a build without optimisation is already fast enough for this bound, which is a tenth of the goal's.
#[test]
fn a_batch_is_fast() {
    let line =
        r#"{"family":"cute_composition","in":{"a":{"shape":[6,2],"stride":[8,2]},"b":{"shape":[4,3],"stride":[3,1]}}}"#;
    let lines = format!("{line}\n").repeat(20_000);
    let start = Instant::now();
    let (text, _) = batch(lines.as_bytes());
    assert_eq!(text.lines().count(), 20_000);
    assert!(start.elapsed().as_secs_f64() < 4.0, "{:?}", start.elapsed());
}
