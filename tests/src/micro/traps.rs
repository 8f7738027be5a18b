//! What the hardware refuses when it runs: a fault must end the emulator's run too.

use super::kernel::{frame, micro};
use super::{Buffer, Micro};
use warpwright_emulator::{TensorElement, TensorMapSpec};

pub(super) fn all() -> Vec<Micro> {
    let init = "mbarrier.init.shared::cta.b64 [%tile], 1;";
    let load = |at: &str, coordinates: &str| {
        format!(
            "{init} fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tile], 512; add.u32 %r1, %tile, {at};
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%map, {{{coordinates}}}], [%tile];
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%tile], 0; @!%p1 bra W;"
        )
    };
    let store = |at: &str, coordinates: &str, mode: &str| {
        let op = if mode.is_empty() { "cp.async" } else { "cp.reduce.async" };
        format!(
            "add.u32 %r1, %tile, {at}; st.shared.b32 [%r1], 0; fence.proxy.async.shared::cta;
    {op}.bulk.tensor.2d.global.shared::cta{mode}.tile.bulk_group [%map, {{{coordinates}}}], [%r1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        )
    };
    let list = [
        ("more arrivals than pending", format!("{init} mbarrier.arrive.shared::cta.b64 _, [%tile], 2;")),
        (
            "arrival at a barrier of 0",
            "mbarrier.init.shared::cta.b64 [%tile], 0; mbarrier.arrive.shared::cta.b64 _, [%tile];".into(),
        ),
        (
            "more bytes than are counted",
            format!(
                "{init} mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%tile], 1048575; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%tile], 1;"
            ),
        ),
        (
            "more bytes complete than are counted",
            format!(
                "{init} mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 1048575; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%tile], 1;"
            ),
        ),
        ("a load off 16 bytes", load("1024", "4, 0")),
        ("a load off 16 bytes below 0", load("1024", "-4, 0")),
        ("a load off 128 bytes", load("1040", "0, 0")),
        ("a load off 128 bytes by 64", load("1088", "0, 0")),
        ("a store off 128 bytes", store("1040", "0, 0", "")),
        ("a store off 16 bytes", store("1024", "4, 0", "")),
        ("a store below 0", store("1024", "0, -1", "")),
        ("a reduction below 0", store("1024", "-8, 0", ".add")),
        ("a misaligned load", "add.u32 %r1, %tile, 2; ld.shared.b32 %r2, [%r1]; st.global.b32 [%out], %r2;".into()),
        ("a load of no memory", "mov.u64 %x1, 64; ld.global.b32 %r2, [%x1]; st.global.b32 [%out], %r2;".into()),
    ];
    list.into_iter()
        .map(|(name, body)| {
            let body = format!("    @!%p0 bra END;\n    {body}\nEND:\n");
            let mut micro = micro(&format!("trap: {name}"), frame(&body), 32, 4096, vec![0; 8192], 64);
            micro.map = Some((Buffer::Input, TensorMapSpec::new(TensorElement::U16, 0, &[64, 32], &[128], &[32, 8])));
            micro.traps = true;
            micro
        })
        .collect()
}
