//! Instructions in which the lanes of a warp see each other, special registers, barriers' reductions.

use super::Micro;
use super::data::{Noise, integer};
use super::kernel::{dump, fill, frame, list, micro};
use super::scalar::{Instruction, exact, kernels, operands};

pub(super) fn all() -> Vec<Micro> {
    let mut noise = Noise::of("warp");
    let rows = operands(|| integer(&mut noise));
    let mut out = kernels("warp", &collectives(), &rows);
    out.extend(kernels("special registers", &specials(), &rows));
    out.extend(matrices(&mut noise));
    out.push(divergence(&mut noise));
    out
}

fn collectives() -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    for mode in ["up", "down", "bfly", "idx"] {
        // The third operand holds clamp and segment mask.
        for bound in ["0", "31", "0x181f", "0x1c00", "0x1007"] {
            add(format!("shfl.sync.{mode}.b32 %o, %a, %b, {bound}, -1;"));
            add(format!("shfl.sync.{mode}.b32 %o|%pi, %a, 3, {bound}, -1; @!%pi not.b32 %o, %o;"));
        }
        add(format!("shfl.sync.{mode}.b32 %u|%po, %a, %b, 31, -1;"));
    }
    for mode in ["all", "any", "uni"] {
        add(format!("vote.sync.{mode}.pred %po, %pa, -1;"));
        add(format!("vote.sync.{mode}.pred %po, !%pb, -1;"));
        add(format!("setp.ne.u32 %pi, %lane, 99; vote.sync.{mode}.pred %po, %pi, -1;"));
    }
    add("vote.sync.ballot.b32 %o, %pa, -1;".into());
    add("vote.sync.ballot.b32 %o, !%pb, -1;".into());
    add("and.b32 %u, %a, 3; match.any.sync.b32 %o, %u, -1;".into());
    add("match.any.sync.b32 %o, %a, -1;".into());
    add("match.any.sync.b64 %o, %x, -1;".into());
    add("match.all.sync.b32 %o|%pi, %a, -1;".into());
    add("shr.u32 %u, %t, 5; match.all.sync.b32 %o|%pi, %u, -1;".into());
    add("match.all.sync.b32 %u|%po, %cta, -1;".into());
    add("match.all.sync.b64 %u|%po, %x, -1;".into());
    for op in ["add", "min", "max"] {
        for ty in ["u32", "s32"] {
            add(format!("redux.sync.{op}.{ty} %o, %a, -1;"));
        }
    }
    for op in ["and", "or", "xor"] {
        add(format!("redux.sync.{op}.b32 %o, %a, -1;"));
    }
    add("elect.sync %o|%pi, -1;".into());
    add("elect.sync %u|%po, -1;".into());
    add("elect.sync _|%po, -1;".into());
    add("activemask.b32 %o;".into());
    add("movmatrix.sync.aligned.m8n8.trans.b16 %o, %a;".into());
    // A part of the warp.
    let part = |text: &str| format!("mov.u32 %o, 0; setp.lt.u32 %pi, %lane, 12; @%pi {text}");
    add(part("shfl.sync.bfly.b32 %o, %a, 3, 31, 0xfff;"));
    add(part("vote.sync.ballot.b32 %o, %pa, 0xfff;"));
    add(part("redux.sync.max.s32 %o, %a, 0xfff;"));
    add(part("match.any.sync.b32 %o, %a, 0xfff;"));
    add("setp.ge.u32 %pi, %lane, 9; mov.u32 %o, 99; @%pi elect.sync %o|%pi, 0xfffffe00;".into());
    for mode in ["popc.u32 %o", "and.pred %po", "or.pred %po"] {
        let (op, d) = mode.split_once(' ').unwrap_or((mode, ""));
        add(format!("bar.red.{op} {d}, 3, %pa;"));
        add(format!("setp.lt.u32 %pi, %t, 17; bar.red.{op} {d}, 2, 256, !%pi;"));
    }
    list
}

fn specials() -> Vec<Instruction> {
    let mut list = Vec::new();
    for name in [
        "tid.x",
        "tid.y",
        "ntid.x",
        "ntid.y",
        "ctaid.x",
        "ctaid.z",
        "nctaid.x",
        "nctaid.y",
        "laneid",
        "lanemask_eq",
        "lanemask_lt",
        "lanemask_le",
        "lanemask_gt",
        "lanemask_ge",
        "cluster_ctarank",
        "cluster_nctarank",
        "cluster_ctaid.x",
        "cluster_nctaid.x",
        "clusterid.x",
        "nclusterid.x",
        "dynamic_smem_size",
    ] {
        list.push(exact(format!("mov.u32 %o, %{name};")));
    }
    list.push(exact("mov.pred %po, %is_explicit_cluster;"));
    list
}

/// `ldmatrix` and `stmatrix`: every count, transposed or not, with garbage addresses in lanes that carry none.
fn matrices(noise: &mut Noise) -> Vec<Micro> {
    let mut body = fill("FILL", 0, 0, 4096, 32);
    body += "    bar.warp.sync -1;\n";
    let mut offset = 0;
    for trans in ["", ".trans"] {
        for count in [1u32, 2, 4] {
            body += &format!(
                "    mul.lo.u32 %r1, %lane, 7; and.b32 %r1, %r1, 255; shl.b32 %r1, %r1, 4; add.u32 %r1, %r1, %tile;
    setp.ge.u32 %p1, %lane, {}; @%p1 mov.u32 %r1, 0xFFFFFFF0;
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {}, [%r1];
    mad.wide.u32 %x1, %lane, {}, %out;
",
                count * 8,
                list("r", 10, count),
                count * 4
            );
            for i in 0..count {
                body += &format!("    st.global.b32 [%x1+{}], %r{};\n", offset + 4 * i, 10 + i);
            }
            offset += 128 * count;
        }
    }
    let load = micro("ldmatrix", frame(&body), 32, 4096, noise.bytes(4096), offset as usize);
    let mut body = String::new();
    let mut offset = 0;
    for trans in ["", ".trans"] {
        for count in [1u32, 2, 4] {
            body += &fill(&format!("F{offset}"), 0, 0, 4096, 32);
            body += &format!(
                "    bar.warp.sync -1;
    mul.lo.u32 %r1, %lane, 5; add.u32 %r1, %r1, 3; and.b32 %r1, %r1, 255; shl.b32 %r1, %r1, 4; add.u32 %r1, %r1, %tile;
    setp.ge.u32 %p1, %lane, {}; @%p1 mov.u32 %r1, 0xFFFFFFF0;
    mad.wide.u32 %x1, %lane, 16, %in; ld.global.v4.b32 {}, [%x1+4096];
    stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r1], {};
    bar.warp.sync -1;
",
                count * 8,
                list("r", 10, 4),
                list("r", 10, count)
            );
            body += &dump(&format!("D{offset}"), 0, offset, 4096, 32);
            body += "    bar.warp.sync -1;\n";
            offset += 4096;
        }
    }
    let store = micro("stmatrix", frame(&body), 32, 4096, noise.bytes(4096 + 512), offset as usize);
    vec![load, store]
}

/// Branches that part lanes, loops of different lengths, a branch table, predicated code.
fn divergence(noise: &mut Noise) -> Micro {
    let body = "    mad.wide.u32 %x1, %t, 8, %in;
    ld.global.v2.b32 {%r1, %r2}, [%x1];
    and.b32 %r3, %r1, 15;
    mov.u32 %r4, 0;
LOOP:
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra OUT;
    mad.lo.u32 %r4, %r4, 31, %r2;
    sub.u32 %r3, %r3, 1;
    and.b32 %r5, %r4, 7;
    setp.eq.u32 %p2, %r5, 3;
    @%p2 bra OUT;
    bra LOOP;
OUT:
    bar.warp.sync -1;
    and.b32 %r6, %r1, 3;
TABLE: .branchtargets A, B, C, D;
    brx.idx %r6, TABLE;
A:  add.u32 %r4, %r4, 1; bra MEET;
B:  xor.b32 %r4, %r4, 0x55555555; bra MEET;
C:  setp.gt.s32 %p3, %r2, 0; @%p3 bra A; shl.b32 %r4, %r4, 3; bra MEET;
D:  not.b32 %r4, %r4;
MEET:
    bar.warp.sync -1;
    shfl.sync.bfly.b32 %r7, %r4, 1, 31, -1;
    setp.lt.u32 %p4, %r1, %r2;
    @%p4 add.u32 %r7, %r7, %r4;
    @!%p4 sub.u32 %r7, %r7, %r4;
    mad.wide.u32 %x2, %t, 4, %out;
    st.global.b32 [%x2], %r7;
";
    micro("divergence", frame(body), 128, 0, noise.bytes(1024), 512)
}
