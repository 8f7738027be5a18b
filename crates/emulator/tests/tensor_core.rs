//! `mma.sync` in every shape, `ldmatrix` and `stmatrix`, and wgmma's other types, on integers that every type holds.

use warpwright_arch::ArchId;
use warpwright_emulator::{Config, Launch, Machine, Module};
use warpwright_numeric::{Dtype, f16};

fn value(i: usize, seed: usize, limit: i32) -> f64 {
    f64::from(((i * 31 + seed * 17 + i / 13) as i32 % (2 * limit + 1)) - limit)
}

/// Runs `body` in `threads` threads, each with `words` words of input in `%r0`…, and gives back `%o0`… of each.
fn run(threads: usize, input: &[Vec<u32>], outputs: usize, body: &str) -> Vec<Vec<u32>> {
    let words = input[0].len();
    let load: String = (0..words).map(|i| format!("ld.global.b32 %r{i}, [%in+{}];\n", 4 * i)).collect();
    let store: String = (0..outputs).map(|i| format!("st.global.b32 [%out+{}], %o{i};\n", 4 * i)).collect();
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{ .shared .align 1024 .b8 tile[16384];
   .reg .b32 %r<{}>; .reg .b32 %o<{}>; .reg .b32 %t, %s, %u; .reg .b64 %in, %out; .reg .f64 %d<8>; .reg .pred %p;
   mov.u32 %t, %tid.x; mov.u32 %s, tile; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
   mad.wide.u32 %in, %t, {}, %in; mad.wide.u32 %out, %t, {}, %out;
   {load}{body}
   {store}
   ret; }}",
        words + 1,
        outputs + 1,
        4 * words,
        4 * outputs
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Config::new(ArchId::SM90));
    let bytes: Vec<u8> = input.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    let (from, to) = (machine.upload(&bytes).unwrap(), machine.allocate(4 * outputs * threads).unwrap());
    let parameters: Vec<u8> = [from, to].iter().flat_map(|x| x.to_le_bytes()).collect();
    machine
        .launch(&module.kernels()[0], &Launch::linear(1, threads as u32, 0), &parameters)
        .unwrap_or_else(|f| panic!("{f}"));
    let bytes = machine.read(to, 4 * outputs * threads).unwrap();
    let words: Vec<u32> = bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    words.chunks_exact(outputs).map(<[u32]>::to_vec).collect()
}

fn names(prefix: &str, range: core::ops::Range<usize>) -> String {
    range.map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(", ")
}

fn encode(x: f64, dtype: Dtype) -> u32 {
    let mut bytes = [0; 4];
    dtype.encode(&mut bytes, 0, x);
    u32::from_le_bytes(bytes)
}

/// Elements of one register, low first.
fn pack(values: impl Iterator<Item = f64>, dtype: Dtype) -> u32 {
    let bits = dtype.bits().min(32);
    let keep = (u64::MAX >> (64 - bits)) as u32;
    values.enumerate().fold(0, |word, (i, x)| word | (encode(x, dtype) & keep) << (i * bits))
}

/// A register's (group of 8 rows, first k) in A of 16 rows, for elements of which `per` fill a register: as the ISA lists them.
fn a_place(register: usize, per: usize, t: usize) -> (usize, usize) {
    [(0, per * t), (1, per * t), (0, per * t + 4 * per), (1, per * t + 4 * per)][register]
}

fn shape(suffix: &str, m: usize, k: usize, a: Dtype, b: Dtype, acc: Dtype) {
    let limit = if matches!(a, Dtype::I4 | Dtype::U4 | Dtype::I8 | Dtype::U8) { 7 } else { 4 };
    let signed = |d: Dtype, x: f64| if d.is_signed() { x } else { x.abs() };
    let at_a = |i: usize, l: usize| signed(a, value(i * k + l, 1, limit));
    let at_b = |l: usize, j: usize| signed(b, value(j * k + l, 2, limit));
    let at_c = |i: usize, j: usize| value(i * 8 + j, 3, 50);
    let per = 32 / a.bits().min(32);
    let (na, nb, half) = (m * k / 32 / per, k / 4 / per, acc == Dtype::F16);
    let nc = m / 4 / if half { 2 } else { 1 };
    let input: Vec<Vec<u32>> = (0..32)
        .map(|lane| {
            let (g, t) = (lane / 4, lane % 4);
            let a_words = (0..na).map(|r| {
                let (group, first) = if m == 8 { (0, per * t) } else { a_place(r, per, t) };
                pack((0..per).map(|i| at_a(g + 8 * group, first + i)), a)
            });
            let b_words = (0..nb).map(|r| pack((0..per).map(|i| at_b(per * t + 4 * per * r + i, g)), b));
            let c = |i: usize| at_c(g + 8 * (i / 2), 2 * t + i % 2);
            let c_words = (0..nc).map(|r| match acc {
                Dtype::F16 => pack([c(2 * r), c(2 * r + 1)].into_iter(), acc),
                Dtype::I32 => c(r) as i32 as u32,
                _ => (c(r) as f32).to_bits(),
            });
            a_words.collect::<Vec<_>>().into_iter().chain(b_words.collect::<Vec<_>>()).chain(c_words).collect()
        })
        .collect();
    let body = format!(
        "mma.sync.aligned.{suffix} {{{}}}, {{{}}}, {{{}}}, {{{}}};",
        names("%o", 0..nc),
        names("%r", 0..na),
        names("%r", na..na + nb),
        names("%r", na + nb..na + nb + nc)
    );
    for (lane, words) in run(32, &input, nc, &body).into_iter().enumerate() {
        let (g, t) = (lane / 4, lane % 4);
        for i in 0..m / 4 {
            let (row, column) = (g + 8 * (i / 2), 2 * t + i % 2);
            let expected = (0..k).map(|l| at_a(row, l) * at_b(l, column)).sum::<f64>() + at_c(row, column);
            let found = match acc {
                Dtype::F16 => f16::from_bits((words[i / 2] >> (16 * (i % 2))) as u16).to_f64(),
                Dtype::I32 => f64::from(words[i] as i32),
                _ => f64::from(f32::from_bits(words[i])),
            };
            assert_eq!(found, expected, "{suffix}: row {row} column {column}");
        }
    }
}

#[test]
fn every_shape_of_mma() {
    use Dtype::*;
    shape("m16n8k16.row.col.f32.f16.f16.f32", 16, 16, F16, F16, F32);
    shape("m16n8k16.row.col.f16.f16.f16.f16", 16, 16, F16, F16, F16);
    shape("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, Bf16, Bf16, F32);
    shape("m16n8k8.row.col.f32.f16.f16.f32", 16, 8, F16, F16, F32);
    shape("m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, Bf16, Bf16, F32);
    shape("m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, Tf32, Tf32, F32);
    shape("m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, Tf32, Tf32, F32);
    shape("m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, E4m3, E4m3, F32);
    shape("m16n8k32.row.col.f32.e5m2.e4m3.f32", 16, 32, E5m2, E4m3, F32);
    shape("m16n8k16.row.col.f32.e4m3.e5m2.f32", 16, 16, E4m3, E5m2, F32);
    shape("m16n8k32.row.col.s32.s8.s8.s32", 16, 32, I8, I8, I32);
    shape("m16n8k32.row.col.satfinite.s32.u8.s8.s32", 16, 32, U8, I8, I32);
    shape("m16n8k16.row.col.s32.s8.u8.s32", 16, 16, I8, U8, I32);
    shape("m8n8k16.row.col.s32.s8.s8.s32", 8, 16, I8, I8, I32);
    shape("m16n8k64.row.col.s32.s4.s4.s32", 16, 64, I4, I4, I32);
    shape("m16n8k32.row.col.s32.u4.s4.s32", 16, 32, U4, I4, I32);
    shape("m8n8k32.row.col.s32.s4.s4.s32", 8, 32, I4, I4, I32);
}

#[test]
fn doubles() {
    // a = (l / 4, l % 4), b = (k = l % 4, n = l / 4), c = (l / 4, 2 (l % 4)) and its neighbour.
    let wide = |x: f64| [x.to_bits() as u32, (x.to_bits() >> 32) as u32];
    let (a, b) = (|i: usize, l: usize| value(4 * i + l, 1, 9), |l: usize, j: usize| value(4 * j + l, 2, 9));
    let c = |i: usize, j: usize| value(8 * i + j, 3, 99);
    let input: Vec<Vec<u32>> = (0..32)
        .map(|l| {
            [a(l / 4, l % 4), b(l % 4, l / 4), c(l / 4, 2 * (l % 4)), c(l / 4, 2 * (l % 4) + 1)]
                .into_iter()
                .flat_map(wide)
                .collect()
        })
        .collect();
    let pairs: String = (0..4).map(|i| format!("mov.b64 %d{i}, {{%r{}, %r{}}};\n", 2 * i, 2 * i + 1)).collect();
    let body = format!(
        "{pairs}mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%d2, %d3}}, {{%d0}}, {{%d1}}, {{%d2, %d3}};
         mov.b64 {{%o0, %o1}}, %d2; mov.b64 {{%o2, %o3}}, %d3;"
    );
    for (l, words) in run(32, &input, 4, &body).into_iter().enumerate() {
        for i in 0..2 {
            let found = f64::from_bits(u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32);
            let (row, column) = (l / 4, 2 * (l % 4) + i);
            assert_eq!(found, (0..4).map(|k| a(row, k) * b(k, column)).sum::<f64>() + c(row, column));
        }
    }
}

#[test]
fn matrices_go_to_shared_memory_and_back() {
    // Register i of lane l holds 64 i + (row, column) of an 8 × 8 matrix in its halves.
    let element = |i: usize, row: usize, column: usize| (64 * i + 8 * row + column) as u32;
    let input: Vec<Vec<u32>> = (0..32)
        .map(|l| (0..4).map(|i| element(i, l / 4, 2 * (l % 4)) | element(i, l / 4, 2 * (l % 4) + 1) << 16).collect())
        .collect();
    for (store, load) in [("", ""), (".trans", ""), ("", ".trans"), (".trans", ".trans")] {
        let body = format!(
            "shl.b32 %u, %t, 4; add.u32 %s, %s, %u;
             stmatrix.sync.aligned.m8n8.x4{store}.shared.b16 [%s], {{%r0, %r1, %r2, %r3}};
             bar.warp.sync -1;
             ldmatrix.sync.aligned.m8n8.x4{load}.shared.b16 {{%o0, %o1, %o2, %o3}}, [%s];"
        );
        let turned = store != load;
        for (l, words) in run(32, &input, 4, &body).into_iter().enumerate() {
            for (i, word) in words.into_iter().enumerate() {
                let (row, column) = (l / 4, 2 * (l % 4));
                let at = |h: usize| if turned { element(i, column + h, row) } else { element(i, row, column + h) };
                assert_eq!(word, at(0) | at(1) << 16, "{store} {load}");
            }
        }
    }
    // What unused lanes hold is ignored.
    let body = "shl.b32 %u, %t, 4; add.u32 %s, %s, %u; setp.gt.u32 %p, %t, 7; @%p mov.u32 %s, 0xFFFFFFF0;
        stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%r0}; bar.warp.sync -1;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%o0}, [%s];";
    assert!(run(32, &input, 1, body).iter().zip(&input).all(|(x, y)| x[0] == y[0]));
}

/// One wgmma with A in registers and B, K-major without a swizzle, copied to shared memory; N = 16.
fn wgmma(suffix: &str, tail: &str, k: usize, a: Dtype, b: Dtype, acc: Dtype, sign: f64) {
    let (n, per) = (16, 32 / a.bits().min(32));
    let limit = if acc == Dtype::I32 { 7 } else { 3 };
    let signed = |d: Dtype, x: f64| if d.is_signed() { x } else { x.abs() };
    let at_a = |i: usize, l: usize| signed(a, value(i * k + l, 1, limit));
    let at_b = |l: usize, j: usize| signed(b, value(j * k + l, 2, limit));
    let at_c = |i: usize, j: usize| value(i * n + j, 3, 20);
    let half = acc == Dtype::F16;
    let nc = if half { 4 } else { 8 };
    // B's bytes: core matrices of 8 rows by 16 bytes, K outside; 4 words of each of the 128 threads hold the 512 bytes.
    let elements = 16 * 8 / b.bits().min(32);
    let mut image = vec![0u32; 128];
    for j in 0..n {
        for l in 0..k {
            let at = (l / elements * 256 + j * 16) * 8 + l % elements * b.bits().min(32);
            image[at / 32] |= pack([at_b(l, j)].into_iter(), b) << (at % 32);
        }
    }
    let input: Vec<Vec<u32>> = (0..128)
        .map(|thread| {
            let (warp, g, t) = (thread / 32, thread % 32 / 4, thread % 4);
            let a_words = (0..4).map(|r| {
                let (group, first) = a_place(r, per, t);
                pack((0..per).map(|i| at_a(16 * warp + g + 8 * group, first + i)), a)
            });
            let c = |i: usize| at_c(16 * warp + g + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2);
            let c_words = (0..nc).map(|r| match acc {
                Dtype::F16 => pack([c(2 * r), c(2 * r + 1)].into_iter(), acc),
                Dtype::I32 => c(r) as i32 as u32,
                _ => (c(r) as f32).to_bits(),
            });
            a_words.collect::<Vec<_>>().into_iter().chain(c_words.collect::<Vec<_>>()).chain([image[thread]]).collect()
        })
        .collect();
    let image_word = 4 + nc;
    let moves: String = (0..nc).map(|i| format!("mov.b32 %o{i}, %r{};\n", 4 + i)).collect();
    // The tile starts at 0x400; neighbours along K are 256 bytes apart, along N 128.
    let descriptor = 0x400u64 >> 4 | (256 >> 4) << 16 | (128 >> 4) << 32;
    let body = format!(
        "shl.b32 %u, %t, 2; add.u32 %s, %s, %u; st.shared.b32 [%s], %r{image_word};
         fence.proxy.async.shared::cta; bar.sync 0; {moves}
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.{suffix} {{{}}}, {{%r0, %r1, %r2, %r3}}, {descriptor}, 1{tail};
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        names("%o", 0..nc)
    );
    for (thread, words) in run(128, &input, nc, &body).into_iter().enumerate() {
        let (warp, g, t) = (thread / 32, thread % 32 / 4, thread % 4);
        for i in 0..8 {
            let (row, column) = (16 * warp + g + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2);
            let expected = sign * (0..k).map(|l| at_a(row, l) * at_b(l, column)).sum::<f64>() + at_c(row, column);
            let found = match acc {
                Dtype::F16 => f16::from_bits((words[i / 2] >> (16 * (i % 2))) as u16).to_f64(),
                Dtype::I32 => f64::from(words[i] as i32),
                _ => f64::from(f32::from_bits(words[i])),
            };
            assert_eq!(found, expected, "{suffix}: row {row} column {column}");
        }
    }
}

#[test]
fn wgmma_with_a_in_registers() {
    use Dtype::*;
    wgmma("m64n16k16.f32.bf16.bf16", ", 1, 1, 0", 16, Bf16, Bf16, F32, 1.0);
    wgmma("m64n16k16.f32.f16.f16", ", -1, 1, 0", 16, F16, F16, F32, -1.0);
    wgmma("m64n16k16.f16.f16.f16", ", -1, -1, 0", 16, F16, F16, F16, 1.0);
    wgmma("m64n16k8.f32.tf32.tf32", ", 1, 1", 8, Tf32, Tf32, F32, 1.0);
    for (a, x) in [("e4m3", E4m3), ("e5m2", E5m2)] {
        for (b, y) in [("e4m3", E4m3), ("e5m2", E5m2)] {
            wgmma(&format!("m64n16k32.f32.{a}.{b}"), ", 1, -1", 32, x, y, F32, -1.0);
            wgmma(&format!("m64n16k32.f16.{a}.{b}"), ", 1, 1", 32, x, y, F16, 1.0);
        }
    }
    for (a, x) in [("s8", I8), ("u8", U8)] {
        for (b, y) in [("s8", I8), ("u8", U8)] {
            wgmma(&format!("m64n16k32.s32.{a}.{b}"), "", 32, x, y, I32, 1.0);
        }
    }
}
