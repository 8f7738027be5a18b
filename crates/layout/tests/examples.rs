//! The tutorials under `examples/` print what CuTe's print.

#[expect(dead_code, reason = "a program's main")]
#[path = "../../../examples/sgemm_sm80.rs"]
mod sgemm_sm80;
#[expect(dead_code, reason = "a program's main")]
#[path = "../../../examples/tiled_copy.rs"]
mod tiled_copy;

#[test]
fn the_tiled_copy() {
    let mut text = String::new();
    tiled_copy::run(&mut text).unwrap();
    let expected = "\
tensor_S:       gmem_ptr[32b](+0) o (_256,_512):(_1,_256)
tiled_tensor_S: gmem_ptr[32b](+0) o ((_128,_64),_2,_8):((_1,_256),_128,_16384)
tiled_copy:     (_128,_8) elements by 256 threads
tile_S:         gmem_ptr[32b](+0) o (_128,_64):(_1,_256)
thr_tile_S:     gmem_ptr[32b](+516) o ((_4,_1),_1,_8):((_1,_0),_0,_2048)
131072 of 131072 elements are copied
tile_S:         gmem_ptr[32b](+0) o (_128,_64):(_1,_128)
thr_tile_S:     gmem_ptr[32b](+260) o (_4,_1,_8):(_1,_0,_1024)
";
    assert_eq!(text, expected);
}

#[test]
fn the_pipelined_gemm() {
    let mut text = String::new();
    sgemm_sm80::run(&mut text).unwrap();
    let expected = "\
gA   : gmem_ptr[32b](+0) o (_128,_64,_5):(_320,_1,_64)
sA   : Sw<3,3,3> o _0 o ((_8,_16),((_8,_8),_1),(_1,_3)):((_8,_512),((_1,_64),_0),(_0,_8192))
tAgA : ((_8,_1),_8,_1,_5):((_1,_0),_5120,_0,_64)
tAsA : ((_8,_1),_8,_1,(_1,_3)):((_1,_0),_1024,_0,(_0,_8192))
tXsA : ((_8,_1),_4,_4,(_1,_3)):((_1,_0),_2048,_128,(_0,_8192))
tCrA : ((_2,_2,_2),_4,_4):((_1,_2,_4),_8,_32)
tXrA : ((_8,_1),_4,_4):((_1,_0),_8,_32)
tCrC : ((_2,_2),_4,_8):((_1,_2),_4,_16)
ldmatrix of 32 rows: 4 wavefronts
128 threads, tile [32, 32, 16]
32768 of 32768 elements are right
";
    assert_eq!(text, expected);
}
