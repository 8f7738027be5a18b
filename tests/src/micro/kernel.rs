//! The frame around a micro-kernel's body.

use super::{Micro, Part};

/// A kernel around `body`. It finds: the thread's number in `%t`, the warp's lane in `%lane`, the block's in `%cta`; the generic
/// address of the tensor map in `%map`; the addresses of input and output in `%in` and `%out`; 1024-byte aligned dynamic
/// shared memory at `%tile`; `%p0`, which holds in thread 0 alone. Registers of every kind are free: `%p1` to `%p15`, `%h`, `%r`,
/// `%x`, `%f`, `%d` with a number.
pub(super) fn frame(body: &str) -> String {
    frame_with("", body)
}

/// The same with directives between the parameters and the body.
pub(super) fn frame_with(directives: &str, body: &str) -> String {
    format!(
        ".version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(.param .align 64 .b8 p[144]){directives}
{{
    .reg .pred %p<16>; .reg .b16 %h<64>; .reg .b32 %r<256>; .reg .b64 %x<64>; .reg .f32 %f<256>; .reg .f64 %d<32>;
    .reg .b32 %t, %lane, %cta, %tile; .reg .b64 %map, %in, %out;
    mov.u32 %t, %tid.x;
    mov.u32 %lane, %laneid;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %tile, tile;
    mov.b64 %map, p;
    cvta.param.u64 %map, %map;
    ld.param.u64 %in, [p+128];
    ld.param.u64 %out, [p+136];
    cvta.to.global.u64 %in, %in;
    cvta.to.global.u64 %out, %out;
    setp.eq.u32 %p0, %t, 0;
{body}
    ret;
}}
"
    )
}

/// A kernel of one block without map, its output full of 0xEE.
pub(super) fn micro(name: &str, ptx: String, threads: u32, shared: u32, input: Vec<u8>, output: usize) -> Micro {
    Micro {
        name: name.to_owned(),
        ptx,
        blocks: 1,
        cluster: 1,
        threads,
        shared,
        input,
        output: vec![0xEE; output],
        map: None,
        parts: Vec::<Part>::new(),
        traps: false,
    }
}

/// Copies `bytes` of the input, from `offset` on, to shared memory at `%tile + to`: `threads` threads, 4 bytes each.
pub(super) fn fill(label: &str, offset: u32, to: u32, bytes: u32, threads: u32) -> String {
    format!(
        "    shl.b32 %r250, %t, 2;
    setp.ge.u32 %p15, %r250, {bytes};
    @%p15 bra {label}_END;
{label}:
    cvt.u64.u32 %x60, %r250;
    add.u64 %x60, %x60, %in;
    ld.global.b32 %r251, [%x60+{offset}];
    add.u32 %r252, %r250, %tile;
    st.shared.b32 [%r252+{to}], %r251;
    add.u32 %r250, %r250, {};
    setp.lt.u32 %p15, %r250, {bytes};
    @%p15 bra {label};
{label}_END:
",
        4 * threads
    )
}

/// Copies `bytes` of shared memory at `%tile + from` to the output from `offset` on.
pub(super) fn dump(label: &str, from: u32, offset: u32, bytes: u32, threads: u32) -> String {
    format!(
        "    shl.b32 %r250, %t, 2;
    setp.ge.u32 %p15, %r250, {bytes};
    @%p15 bra {label}_END;
{label}:
    cvt.u64.u32 %x60, %r250;
    add.u64 %x60, %x60, %out;
    add.u32 %r252, %r250, %tile;
    ld.shared.b32 %r251, [%r252+{from}];
    st.global.b32 [%x60+{offset}], %r251;
    add.u32 %r250, %r250, {};
    setp.lt.u32 %p15, %r250, {bytes};
    @%p15 bra {label};
{label}_END:
",
        4 * threads
    )
}

/// Waits until the phase of `parity` of the mbarrier at `[address]` is over.
pub(super) fn wait(label: &str, address: &str, parity: &str) -> String {
    format!(
        "{label}: mbarrier.try_wait.parity.shared::cta.b64 %p14, [{address}], {parity};
    @!%p14 bra {label};
"
    )
}

/// `{a, b, c}` of numbered registers.
pub(super) fn list(kind: &str, first: u32, count: u32) -> String {
    let names: Vec<String> = (first..first + count).map(|i| format!("%{kind}{i}")).collect();
    format!("{{{}}}", names.join(", "))
}
