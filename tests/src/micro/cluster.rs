//! Clusters: special registers, distributed shared memory, remote arrivals, asynchronous stores, multicast, peer copies.

use super::data::Noise;
use super::kernel::{dump, fill, frame, micro, wait};
use super::{Buffer, Micro};
use warpwright_emulator::{TensorElement, TensorMapSpec, TensorSwizzle};

/// Threads of a block.
const THREADS: u32 = 64;

pub(super) fn all() -> Vec<Micro> {
    let mut noise = Noise::of("cluster");
    let mut out = Vec::new();
    for size in [1, 2, 3, 4, 8] {
        out.push(registers(size));
        out.push(memory(size, &mut noise));
    }
    for size in [2, 4] {
        out.push(arrivals(size, &mut noise));
        out.push(stores(size, &mut noise));
        out.push(peers(size, &mut noise));
    }
    for (size, mask) in [(2, 0b11), (2, 0b10), (4, 0b1111), (4, 0b0101), (8, 0b1011_0110)] {
        out.push(multicast(size, mask, &mut noise));
    }
    out
}

const MEET: &str = "    barrier.cluster.arrive.release.aligned;\n    barrier.cluster.wait.acquire.aligned;\n";

fn cluster(name: &str, size: u32, body: &str, shared: u32, input: Vec<u8>, output: usize) -> Micro {
    let mut micro = micro(&format!("{name}, {size} blocks"), frame(body), THREADS, shared, input, output);
    micro.cluster = size;
    micro.blocks = 2 * size;
    micro
}

/// The output of block `%cta` starts at `%out`, `bytes` for each.
fn own(bytes: u32) -> String {
    format!("    mul.wide.u32 %x40, %cta, {bytes}; add.u64 %out, %out, %x40;\n")
}

fn registers(size: u32) -> Micro {
    let names = [
        "cluster_ctarank",
        "cluster_nctarank",
        "cluster_ctaid.x",
        "cluster_ctaid.y",
        "cluster_nctaid.x",
        "cluster_nctaid.z",
        "clusterid.x",
        "clusterid.y",
        "nclusterid.x",
        "nclusterid.z",
        "ctaid.x",
        "nctaid.x",
    ];
    let mut body = own(128) + "    @!%p0 bra END;\n";
    for (i, name) in names.iter().enumerate() {
        body += &format!("    mov.u32 %r1, %{name}; st.global.b32 [%out+{}], %r1;\n", 4 * i);
    }
    // How addresses of shared memory name blocks.
    body += "    mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 1, 0, %p1; st.global.b32 [%out+64], %r1;
    getctarank.shared::cluster.u32 %r1, %tile; st.global.b32 [%out+68], %r1;
    mov.u32 %r2, %cluster_nctarank; sub.u32 %r2, %r2, 1; mapa.shared::cluster.u32 %r3, %tile, %r2; getctarank.shared::cluster.u32 %r1, %r3; st.global.b32 [%out+72], %r1;
    st.global.b32 [%out+76], %r3; st.global.b32 [%out+80], %tile;
    cvt.u64.u32 %x1, %tile; cvta.shared.u64 %x1, %x1; mapa.u64 %x2, %x1, %r2; getctarank.u64 %r1, %x2; st.global.b32 [%out+84], %r1;
END:
";
    cluster("cluster registers", size, &body, 1024, Vec::new(), (2 * size * 128) as usize)
}

/// Reads, writes and atomics of a neighbour's shared memory.
fn memory(size: u32, noise: &mut Noise) -> Micro {
    let mut body = own(512);
    body += "    mov.u32 %r1, %cluster_ctarank; mul.wide.u32 %x1, %cta, 512; add.u64 %in, %in, %x1;\n";
    body += &fill("FILL", 0, 0, 512, THREADS);
    body += MEET;
    body += "    mov.u32 %r2, %cluster_nctarank; add.u32 %r3, %r1, 1; rem.u32 %r3, %r3, %r2; mapa.shared::cluster.u32 %r4, %tile, %r3;
    shl.b32 %r5, %t, 2; add.u32 %r4, %r4, %r5;
    ld.shared::cluster.b32 %r6, [%r4];
";
    body += MEET;
    body += "    add.u32 %r6, %r6, %r3; st.shared::cluster.b32 [%r4], %r6;
    atom.relaxed.cluster.shared::cluster.add.u32 %r7, [%r4+256], %r6; red.relaxed.cluster.shared::cluster.max.u32 [%r4+256], 77777;
    mad.wide.u32 %x2, %t, 4, %out; st.global.b32 [%x2+256], %r7;
";
    body += MEET;
    body += "    add.u32 %r8, %tile, %r5; ld.shared.b32 %r9, [%r8]; ld.shared.b32 %r10, [%r8+256]; mad.lo.u32 %r9, %r10, 31, %r9; st.global.b32 [%x2], %r9;\n";
    cluster(
        "distributed shared memory",
        size,
        &body,
        1024,
        noise.bytes((2 * size * 512) as usize),
        (2 * size * 512) as usize,
    )
}

/// Every block arrives at every other's mbarrier, some with bytes, and waits for its own.
fn arrivals(size: u32, noise: &mut Noise) -> Micro {
    let mut body = own(64);
    body += &format!(
        "    @%p0 mbarrier.init.shared::cta.b64 [%tile], {};
    @%p0 fence.mbarrier_init.release.cluster;
    mul.wide.u32 %x1, %cta, 64; add.u64 %in, %in, %x1;
",
        2 * size
    );
    body += &fill("FILL", 0, 64, 64, THREADS);
    body += MEET;
    body += &format!(
        "    setp.ge.u32 %p1, %t, {size}; @%p1 bra WAIT;
    mapa.shared::cluster.u32 %r1, %tile, %t;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
    mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r1], 16;
    mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 16;
"
    );
    body += "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p14, [%tile], 0; @!%p14 bra WAIT;
    mov.u32 %r2, %cluster_ctarank; xor.b32 %r2, %r2, 1; mapa.shared::cluster.u32 %r3, %tile, %r2; ld.shared::cluster.b32 %r4, [%r3+64]; @%p0 st.global.b32 [%out], %r4;
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [%tile], 1; selp.u32 %r5, 1, 0, %p2; @%p0 st.global.b32 [%out+4], %r5;
";
    body += MEET;
    cluster("remote arrivals", size, &body, 1024, noise.bytes((2 * size * 64) as usize), (2 * size * 64) as usize)
}

/// `st.async` and `red.async` of every width and operation into the neighbour.
fn stores(size: u32, noise: &mut Noise) -> Micro {
    let operations =
        ["add.u32", "add.s32", "add.u64", "min.u32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32"];
    let bytes: u32 =
        4 + 8 + 16 + 8 + 16 + operations.iter().map(|o| if o.ends_with("64") { 8 } else { 4 }).sum::<u32>();
    let mut body = own(3072);
    body += "    mul.wide.u32 %x1, %cta, 3072; add.u64 %in, %in, %x1;\n    @%p0 mbarrier.init.shared::cta.b64 [%tile], 1;\n    @%p0 fence.mbarrier_init.release.cluster;\n";
    body += &fill("FILL", 0, 1024, 3072, THREADS);
    body += &format!("    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], {};\n", bytes * 16);
    body += MEET;
    body += "    setp.ge.u32 %p1, %t, 16; @%p1 bra WAIT_ALL;
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; add.u32 %r1, %r1, 1; rem.u32 %r1, %r1, %r2;
    mapa.shared::cluster.u32 %r3, %tile, %r1; shl.b32 %r4, %t, 4; add.u32 %r4, %r4, %r3;
    mad.wide.u32 %x2, %t, 16, %in; ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%x2]; ld.global.v2.b64 {%x10, %x11}, [%x2]; ld.global.f32 %f1, [%x2];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4+1024], %r10, [%r3];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r4+1280], {%r11, %r12}, [%r3];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r4+1536], {%r10, %r11, %r12, %r13}, [%r3];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r4+1288], %x10, [%r3];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%r4+1792], {%x10, %x11}, [%r3];
    shl.b32 %r5, %t, 3; add.u32 %r5, %r5, %r3;
";
    for (i, operation) in operations.iter().enumerate() {
        let value = if operation.ends_with("64") { "%x10" } else { "%r10" };
        body += &format!(
            "    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation} [%r5+{}], {value}, [%r3];\n",
            2048 + 128 * i
        );
    }
    body += "WAIT_ALL:\n";
    body += &wait("WAIT", "%tile", "0");
    body += &dump("DUMP", 1024, 0, 3072, THREADS);
    body += MEET;
    cluster(
        "asynchronous stores",
        size,
        &body,
        4096,
        noise.bytes((2 * size * 3072) as usize),
        (2 * size * 3072) as usize,
    )
}

/// Bulk copies from each block's shared memory to its neighbour's, and tensor loads into it.
fn peers(size: u32, noise: &mut Noise) -> Micro {
    let mut body = own(2048);
    body += "    mul.wide.u32 %x1, %cta, 1024; add.u64 %in, %in, %x1;\n    @%p0 mbarrier.init.shared::cta.b64 [%tile], 1;\n    @%p0 fence.mbarrier_init.release.cluster;\n";
    body += &fill("FILL", 0, 1024, 1024, THREADS);
    body += "    fence.proxy.async;\n    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], 1536;\n";
    body += MEET;
    body += "    @!%p0 bra WAIT_ALL;
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; add.u32 %r1, %r1, 1; rem.u32 %r1, %r1, %r2;
    mapa.shared::cluster.u32 %r3, %tile, %r1; add.u32 %r4, %r3, 2048; add.u32 %r5, %tile, 1024; add.u32 %r6, %r3, 3072;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r5], 1024, [%r3];
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%map, {0, 3}], [%r3];
WAIT_ALL:
";
    body += &wait("WAIT", "%tile", "0");
    body += &dump("DUMP", 2048, 0, 1024 + 512, THREADS);
    body += MEET;
    let mut micro =
        cluster("peer copies", size, &body, 4096, noise.bytes((2 * size * 1024) as usize), (2 * size * 2048) as usize);
    micro.map = Some((Buffer::Input, TensorMapSpec::new(TensorElement::U16, 0, &[32, 16], &[64], &[32, 8])));
    micro
}

/// Block 0 of each cluster loads a box into the blocks of a mask.
fn multicast(size: u32, mask: u32, noise: &mut Noise) -> Micro {
    let mut body = own(2048);
    body += "    @%p0 mbarrier.init.shared::cta.b64 [%tile], 1;\n    @%p0 fence.mbarrier_init.release.cluster;\n";
    body += &format!(
        "    shl.b32 %r10, %t, 2;
GROUND: add.u32 %r11, %r10, %tile; st.shared.b32 [%r11+1024], 0xCCCCCCCC; add.u32 %r10, %r10, {}; setp.lt.u32 %p2, %r10, 2048; @%p2 bra GROUND;
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, {mask}; shr.u32 %r2, %r2, %r1; and.b32 %r2, %r2, 1; setp.ne.u32 %p3, %r2, 0;
    and.pred %p4, %p3, %p0;
    @%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], 1536;
    fence.proxy.async;
",
        4 * THREADS
    );
    body += MEET;
    body += &format!(
        "    setp.eq.u32 %p5, %r1, 0; and.pred %p5, %p5, %p0; @!%p5 bra WAIT_ALL;
    add.u32 %r3, %tile, 1024; add.u32 %r4, %tile, 2048; mov.u16 %h1, {mask}; mov.u32 %r5, %clusterid.x;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%map, {{0, %r5}}], [%tile], %h1;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r4], [%in], 512, [%tile], %h1;
WAIT_ALL:
    @!%p3 bra DONE;
{}DONE:
",
        wait("WAIT", "%tile", "0")
    );
    body += MEET;
    body += &dump("DUMP", 1024, 0, 2048, THREADS);
    let mut micro =
        cluster(&format!("multicast {mask:#b}"), size, &body, 4096, noise.bytes(4096), (2 * size * 2048) as usize);
    let spec = TensorMapSpec::new(TensorElement::F16, 0, &[64, 32], &[128], &[64, 8]);
    micro.map = Some((Buffer::Input, TensorMapSpec { swizzle: TensorSwizzle::B128, ..spec }));
    micro
}
