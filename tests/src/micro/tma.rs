//! Tensor loads, stores and reductions in every rank, swizzle and element type; bulk copies; tensor maps made by kernels.

use super::data::{BF16, F16, F32, F64, Layout, Noise};
use super::kernel::{dump, fill, frame, micro, wait};
use super::{Buffer, Micro};
use warpwright_emulator::{TensorElement, TensorFill, TensorMapSpec, TensorSwizzle};

/// Where boxes go; an mbarrier lies before it.
const AT: u32 = 1024;

pub(super) fn all() -> Vec<Micro> {
    let mut out = Vec::new();
    for (i, (spec, coordinates, shift)) in loads().into_iter().enumerate() {
        out.push(load(i, spec, &coordinates, shift));
    }
    for (i, (spec, coordinates)) in stores().into_iter().enumerate() {
        out.push(store(&format!("tma store {i}"), "", spec, &coordinates));
    }
    for (element, operations) in REDUCTIONS {
        for operation in operations {
            let spec = TensorMapSpec::new(element, 0, &[64, 24], &[64 * u64::from(element.bytes())], &[32, 8]);
            let mut micro = store(&format!("tma reduce {operation} {element:?}"), operation, spec, &[16, 4]);
            // Bits are those of unsigned numbers.
            micro.traps = element == TensorElement::S64 && matches!(*operation, "and" | "or" | "xor");
            out.push(micro);
        }
    }
    out.push(bulk());
    out.push(bulk_reductions());
    out.push(replaced());
    out
}

/// The start of a kernel with an mbarrier at the tile.
const BARRIER: &str = "    @%p0 mbarrier.init.shared::cta.b64 [%tile], 1;
    @%p0 fence.mbarrier_init.release.cluster;
";

type Case = (TensorMapSpec, Vec<i32>, u32);

fn loads() -> Vec<Case> {
    use TensorElement::*;
    let mut list: Vec<Case> = Vec::new();
    let spec = TensorMapSpec::new;
    let swizzles = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];
    // Every element type.
    for element in [U8, U16, U32, S32, U64, S64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz] {
        let es = u64::from(element.bytes());
        list.push((spec(element, 0, &[128 / es, 12], &[128], &[64 / es as u32, 10]), vec![(32 / es) as i32, 1], 0));
    }
    // Every swizzle at every line of its period, with full and with narrow rows.
    for swizzle in swizzles {
        for shift in [0, 128, 384, 896] {
            let span = if swizzle == TensorSwizzle::None { 64 } else { swizzle.span() };
            for inner in [16, span / 2, span] {
                let s = TensorMapSpec { swizzle, ..spec(U8, 0, &[256, 40], &[256], &[inner, 16]) };
                if list.iter().all(|(other, _, at)| *other != s || *at != shift) {
                    list.push((s, vec![32, 2], shift));
                }
            }
        }
    }
    // Outside the tensor on every side, with zeros and NaN.
    for c in [[-8, 0], [0, -3], [72, 30], [-16, 37], [200, 0], [0, -100_000], [-64, -8], [64, 38]] {
        for fill in [TensorFill::Zero, TensorFill::Nan] {
            list.push((TensorMapSpec { fill, ..spec(Bf16, 0, &[77, 40], &[160], &[64, 8]) }, c.to_vec(), 0));
        }
    }
    for (element, fill) in [
        (F16, TensorFill::Nan),
        (F32, TensorFill::Nan),
        (Tf32, TensorFill::Nan),
        (F64, TensorFill::Nan),
        (F32Ftz, TensorFill::Nan),
        (U8, TensorFill::Zero),
    ] {
        let es = u64::from(element.bytes());
        let s = TensorMapSpec {
            fill,
            swizzle: TensorSwizzle::B64,
            ..spec(element, 0, &[96 / es + 1, 20], &[128], &[64 / es as u32, 8])
        };
        list.push((s, vec![(64 / es) as i32, 15], 0));
    }
    // Every rank, inside and at an edge, in every swizzle.
    for swizzle in swizzles {
        let of = |s: TensorMapSpec, c: &[i32]| (TensorMapSpec { swizzle, ..s }, c.to_vec(), 0);
        let inner = if swizzle == TensorSwizzle::B32 { 8 } else { 16 };
        list.push(of(spec(F32, 0, &[300], &[], &[inner]), &[60]));
        list.push(of(spec(F32, 0, &[300], &[], &[inner]), &[292]));
        list.push(of(spec(U16, 0, &[40, 9, 7], &[112, 1024], &[inner, 3, 4]), &[16, 7, -1]));
        list.push(of(spec(F32, 0, &[16, 8, 4, 3], &[64, 512, 2048], &[8.min(inner), 3, 2, 2]), &[4, 6, 1, 2]));
        list.push(of(spec(F16, 0, &[16, 4, 4, 4, 3], &[32, 128, 512, 2048], &[8, 2, 2, 2, 2]), &[8, 1, 3, 0, 1]));
        list.push(of(
            spec(F16, 0, &[16, 4, 4, 4, 3], &[32, 128, 512, 2048], &[16.min(inner), 3, 1, 3, 2]),
            &[-8, 2, -1, 2, 2],
        ));
    }
    // Rows that repeat or slide, strides that shrink, element strides.
    for stride in [0, 16, 48] {
        list.push((spec(Bf16, 0, &[64, 20], &[stride], &[64, 8]), vec![0, 2], 0));
    }
    list.push((spec(U32, 0, &[16, 6, 10], &[640, 64], &[16, 3, 4]), vec![0, 1, 3], 0));
    for strides in [[1, 2], [3, 3], [2, 1], [1, 8]] {
        let s = TensorMapSpec {
            element_strides: strides.iter().copied().collect(),
            ..spec(Bf16, 0, &[64, 30], &[128], &[32, 7])
        };
        list.push((s, vec![8, 1], 0));
    }
    let s = TensorMapSpec {
        element_strides: [1, 2, 3].into_iter().collect(),
        ..spec(F32, 0, &[16, 9, 11], &[64, 640], &[8, 5, 7])
    };
    list.push((s, vec![4, 3, 6], 0));
    // Packed rows of odd widths.
    for inner in [8, 24, 136, 256] {
        list.push((spec(U16, 0, &[512, 16], &[1024], &[inner, 4]), vec![16, 0], 0));
    }
    list
}

/// Bytes of shared memory that a box may touch.
fn reach(spec: &TensorMapSpec) -> u32 {
    let rows = spec.box_bytes() / spec.row_bytes();
    (rows * spec.row_bytes().max(spec.swizzle.span())).next_multiple_of(1024)
}

/// Words in which every 16-bit half is another number; of f32 maps, numbers that rounding changes.
fn input(element: TensorElement, len: usize, noise: &mut Noise) -> Vec<u8> {
    if matches!(element, TensorElement::F32Ftz | TensorElement::Tf32 | TensorElement::Tf32Ftz) {
        return (0..len / 4).flat_map(|_| (F32.any(noise) as u32).to_le_bytes()).collect();
    }
    (0..len as u32 / 2).flat_map(|i| ((i * 40_503) as u16).to_le_bytes()).collect()
}

fn coordinates(list: &[i32]) -> String {
    list.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}

fn load(number: usize, spec: TensorMapSpec, at: &[i32], shift: u32) -> Micro {
    let rank = spec.dims.len();
    let bytes = reach(&spec) + shift.next_multiple_of(1024);
    let name = format!(
        "tma load {number}: {:?} {:?} in {:?} at {at:?} {:?}",
        spec.element, spec.box_dims, spec.dims, spec.swizzle
    );
    let body = format!(
        "{BARRIER}    shl.b32 %r1, %t, 2;
GROUND: add.u32 %r2, %r1, %tile;
    st.shared.b32 [%r2+{AT}], 0xCCCCCCCC;
    add.u32 %r1, %r1, 512;
    setp.lt.u32 %p1, %r1, {bytes};
    @%p1 bra GROUND;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    add.u32 %r3, %tile, {};
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], {};
    @%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%map, {{{}}}], [%tile];
{}{}",
        AT + shift,
        spec.box_bytes(),
        coordinates(at),
        wait("WAIT", "%tile", "0"),
        dump("DUMP", AT, 0, bytes, 128)
    );
    let mut noise = Noise::of(&name);
    let mut micro =
        micro(&name, frame(&body), 128, AT + bytes, input(spec.element, 32 << 10, &mut noise), bytes as usize);
    micro.map = Some((Buffer::Input, spec));
    micro
}

fn stores() -> Vec<(TensorMapSpec, Vec<i32>)> {
    use TensorElement::*;
    let mut list = Vec::new();
    let spec = TensorMapSpec::new;
    for element in [U8, U16, U32, S32, U64, S64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz] {
        let es = u64::from(element.bytes());
        list.push((spec(element, 0, &[128 / es, 20], &[128], &[64 / es as u32, 6]), vec![(32 / es) as i32, 3]));
    }
    for swizzle in [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128] {
        for inner in [16, swizzle.span().max(32) / 2, swizzle.span().max(32)] {
            let s = TensorMapSpec { swizzle, ..spec(U8, 0, &[208, 30], &[208], &[inner, 12]) };
            list.push((s.clone(), vec![64, 5]));
            // Clipped above.
            list.push((s, vec![192, 25]));
        }
    }
    // Lines that end inside a piece of 16 bytes.
    for (element, extent) in [(U8, 77), (Bf16, 37), (F32, 19), (Bf16, 33), (Bf16, 39)] {
        list.push((
            spec(element, 0, &[extent, 6], &[160], &[32 / element.bytes() * 2, 4]),
            vec![(64 / element.bytes()) as i32, 1],
        ));
    }
    list.push((spec(F32, 0, &[300], &[], &[64]), vec![60]));
    list.push((spec(F32, 0, &[300], &[], &[64]), vec![260]));
    list.push((spec(U16, 0, &[40, 9, 7], &[80, 720], &[16, 3, 4]), vec![32, 7, 5]));
    list.push((spec(F32, 0, &[16, 8, 4, 3], &[64, 512, 2048], &[8, 3, 2, 2]), vec![4, 6, 1, 2]));
    list.push((spec(F16, 0, &[16, 4, 4, 4, 3], &[32, 128, 512, 2048], &[8, 2, 2, 2, 2]), vec![8, 1, 3, 0, 1]));
    // Fully outside.
    list.push((spec(F32, 0, &[32, 16], &[128], &[32, 4]), vec![0, 16]));
    let s =
        TensorMapSpec { element_strides: [1, 2].into_iter().collect(), ..spec(U32, 0, &[32, 24], &[128], &[16, 8]) };
    list.push((s, vec![8, 5]));
    list
}

const REDUCTIONS: [(TensorElement, &[&str]); 9] = [
    (TensorElement::U32, &["add", "min", "max", "inc", "dec", "and", "or", "xor"]),
    (TensorElement::S32, &["add", "min", "max", "and", "or", "xor"]),
    (TensorElement::U64, &["add", "min", "max", "and", "or", "xor"]),
    (TensorElement::S64, &["min", "max", "and", "or", "xor"]),
    (TensorElement::F16, &["add", "min", "max"]),
    (TensorElement::Bf16, &["add", "min", "max"]),
    (TensorElement::F32, &["add"]),
    (TensorElement::F32Ftz, &["add"]),
    (TensorElement::F64, &["add"]),
];

/// Random elements of a type, both as what is there and what comes.
fn elements(element: TensorElement, len: usize, noise: &mut Noise) -> Vec<u8> {
    let format: Option<Layout> = match element {
        TensorElement::F16 => Some(F16),
        TensorElement::Bf16 => Some(BF16),
        TensorElement::F32 | TensorElement::F32Ftz => Some(F32),
        TensorElement::F64 => Some(F64),
        _ => None,
    };
    let size = element.bytes() as usize;
    let mut out = Vec::new();
    while out.len() < len {
        let value = match format {
            Some(format) => format.any(noise),
            // Small and large integers, so that counters wrap now and then.
            None if noise.below(2) == 0 => noise.below(4),
            None => noise.next(),
        };
        out.extend_from_slice(&value.to_le_bytes()[..size]);
    }
    out
}

/// A store, or a reduction if `operation` names one, into the output.
fn store(name: &str, operation: &str, spec: TensorMapSpec, at: &[i32]) -> Micro {
    let rank = spec.dims.len();
    let bytes = reach(&spec);
    let (op, mode) =
        if operation.is_empty() { ("cp.async", String::new()) } else { ("cp.reduce.async", format!(".{operation}")) };
    let body = format!(
        "{}    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p0 bra END;
    add.u32 %r3, %tile, {AT};
    {op}.bulk.tensor.{rank}d.global.shared::cta{mode}.tile.bulk_group [%map, {{{}}}], [%r3];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:
",
        fill("FILL", 0, AT, bytes, 128),
        coordinates(at)
    );
    let mut noise = Noise::of(name);
    let tensor = spec
        .dims
        .iter()
        .skip(1)
        .zip(&spec.strides)
        .fold(spec.dims[0] * u64::from(spec.element.bytes()), |n, (d, s)| n.max(d * s));
    let ground = elements(spec.element, tensor as usize, &mut noise);
    let mut micro = micro(name, frame(&body), 128, AT + bytes, elements(spec.element, bytes as usize, &mut noise), 0);
    micro.output = ground;
    micro.map = Some((Buffer::Output, spec));
    micro
}

/// Copies of bytes from and to global memory; groups that are waited for one after the other.
fn bulk() -> Micro {
    let body = format!(
        "{BARRIER}    bar.sync 0;
    @!%p0 bra REST;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], 1120;
    add.u32 %r1, %tile, {AT};
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 48, [%tile];
    add.u32 %r2, %r1, 64; add.u64 %x1, %in, 80;
    cp.async.bulk.prefetch.L2.global [%x1], 64; mov.b64 %x9, 0x12F0000000000000;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r2], [%x1], 1072, [%tile], %x9;
{}    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 48;
    cp.async.bulk.commit_group;
    add.u64 %x2, %out, 64;
    cp.async.bulk.global.shared::cta.bulk_group [%x2], [%r2], 1072;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 1;
    cp.async.bulk.wait_group.read 0;
    cp.async.bulk.wait_group 0;
REST:",
        wait("WAIT", "%tile", "0")
    );
    let mut noise = Noise::of("bulk");
    micro("bulk copies", frame(&body), 128, 4096, noise.bytes(2048), 1280)
}

/// Bulk reductions without a tensor map, 256 bytes each.
fn bulk_reductions() -> Micro {
    use TensorElement::*;
    let list: [(&str, TensorElement); 26] = [
        ("add.u32", U32),
        ("add.s32", S32),
        ("add.u64", U64),
        ("add.f32", F32),
        ("add.f64", F64),
        ("add.noftz.f16", F16),
        ("add.noftz.bf16", Bf16),
        ("min.u32", U32),
        ("max.u32", U32),
        ("min.s32", S32),
        ("max.s32", S32),
        ("min.u64", U64),
        ("max.u64", U64),
        ("min.s64", S64),
        ("max.s64", S64),
        ("min.f16", F16),
        ("max.f16", F16),
        ("min.bf16", Bf16),
        ("max.bf16", Bf16),
        ("inc.u32", U32),
        ("dec.u32", U32),
        ("and.b32", U32),
        ("or.b32", U32),
        ("xor.b32", U32),
        ("and.b64", U64),
        ("xor.b64", U64),
    ];
    let bytes = 256 * list.len() as u32;
    let mut body = fill("FILL", 0, 0, bytes, 128);
    body += "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    @!%p0 bra END;\n";
    for (i, (operation, _)) in list.iter().enumerate() {
        body += &format!(
            "    add.u64 %x1, %out, {0}; add.u32 %r1, %tile, {0};
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%x1], [%r1], 256;\n",
            256 * i
        );
    }
    body += "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\nEND:\n";
    let mut noise = Noise::of("bulk reductions");
    let mut data = || -> Vec<u8> { list.iter().flat_map(|(_, element)| elements(*element, 256, &mut noise)).collect() };
    let input = data();
    let mut micro = micro("bulk reductions", frame(&body), 128, bytes, input, 0);
    micro.output = data();
    micro
}

/// A map that the kernel makes from a template in which everything is wrong, publishes behind the output's rows, and uses.
fn replaced() -> Micro {
    let body = format!(
        "{BARRIER}    bar.sync 0;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra REST;
    shl.b32 %r10, %t, 2;
    add.u32 %r11, %r10, %tile;
    cvt.u64.u32 %x5, %r10;
    add.u64 %x5, %x5, %map;
    ld.b32 %r12, [%x5];
    st.shared.b32 [%r11+2048], %r12;
    add.u32 %r20, %tile, 2048;
    bar.warp.sync -1;
    @!%p0 bra REPLACED;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r20], %in;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r20], 2;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r20], 6;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r20], 0;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r20], 3;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r20], 1;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r20], 0, 60;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r20], 1, 16;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r20], 2, 3;
    mov.u64 %x6, 128;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r20], 0, %x6;
    mov.u64 %x6, 2048;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r20], 1, %x6;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r20], 0, 64;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r20], 1, 8;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r20], 2, 2;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r20], 1, 2;
REPLACED:
    bar.warp.sync -1;
    add.u64 %x7, %out, 4096;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%x7], [%r20], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%x7], 128;
    add.u32 %r3, %tile, {AT};
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], 1024;
    mov.u32 %r13, 0; mov.u32 %r14, 4; mov.u32 %r15, 1;
    @%p0 cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%x7, {{%r13, %r14, %r15}}], [%tile];
REST:
{}{}    // The map's bytes are the driver's own.
    bar.sync 0; shl.b32 %r30, %t, 2; cvt.u64.u32 %x8, %r30; setp.lt.u32 %p3, %t, 32; add.u64 %x8, %x8, %out; @%p3 st.global.b32 [%x8+4096], 0;
",
        wait("WAIT", "%tile", "0"),
        dump("DUMP", AT, 0, 1024, 128)
    );
    let mut noise = Noise::of("replaced");
    let mut micro =
        micro("tensormap.replace", frame(&body), 128, 4096, input(TensorElement::F16, 8192, &mut noise), 4096 + 128);
    micro.map = Some((Buffer::Output, TensorMapSpec::new(TensorElement::U32, 0, &[8, 8, 2], &[32, 256], &[16, 1, 1])));
    micro
}
