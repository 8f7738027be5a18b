//! When asynchronous operations land: early, late and in another order, each shows a fault that the other two hide. All
//! three faults are reported at once where races are checked.

#[path = "common/ptx.rs"]
mod ptx;

use ptx::{kernel, setup};
use warpwright_emulator::{Checks, Completion, Config, FaultKind, Launch, Machine, Module};

const ALL: [Completion; 3] = [Completion::Early, Completion::Late, Completion::Reordered];

/// Runs thread 0's `body` with every check off; whether the output's first word is `right`.
fn is_right(body: &str, completion: Completion, seed: u64, right: u32) -> bool {
    let text = kernel(&format!("    @!%p0 bra END;\n{body}\nEND:\n"));
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let config = warpwright_arch::ArchId::SM90;
    let mut machine = Machine::new(Config { seed, completion, checks: Checks::NONE, ..Config::new(config) });
    let input = machine.upload(&[7; 64]).unwrap();
    let output = machine.upload(&[0; 64]).unwrap();
    let mut parameters = vec![0; 128];
    parameters.extend_from_slice(&input.to_le_bytes());
    parameters.extend_from_slice(&output.to_le_bytes());
    machine.launch(&module.kernels()[0], &Launch::linear(1, 32, 4096), &parameters).unwrap_or_else(|f| panic!("{f}"));
    machine.read(output, 4).unwrap() == right.to_le_bytes()
}

/// The moments at which a fault shows within 8 seeds, and what the checks say of it at each moment.
fn shows(body: &str, right: u32, kind: FaultKind) -> Vec<Completion> {
    for completion in ALL {
        let text = kernel(&format!("    @!%p0 bra END;\n{body}\nEND:\n"));
        let found = (0..8).find_map(|seed| {
            setup(seed, completion, &[7; 64], 64).run(&text, &[0; 128], Launch::linear(1, 32, 4096)).err()
        });
        assert_eq!(found.map(|f| f.kind), Some(kind), "{completion:?}");
    }
    ALL.into_iter().filter(|c| !(0..8).all(|seed| is_right(body, *c, seed, right))).collect()
}

#[test]
fn early_shows_a_store_that_is_issued_before_its_data_is_written() {
    let body =
        "    st.shared.b32 [%r1], 1; st.shared.b32 [%r1+4], 0; st.shared.b32 [%r1+8], 0; st.shared.b32 [%r1+12], 0;
    fence.proxy.async.shared::cta;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;
    st.shared.b32 [%r1], 2;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;";
    assert_eq!(shows(body, 2, FaultKind::AsyncOwned), [Completion::Early]);
}

#[test]
fn late_shows_a_wait_left_out_before_much_other_work() {
    let body = "    st.shared.b32 [%r1], 1;
    cp.async.ca.shared.global [%r1], [%rd1], 4;
    cp.async.commit_group;
    mov.u32 %r10, 0;
WORK: add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 5000;
    @%p1 bra WORK;
    ld.shared.b32 %r11, [%r1];
    st.global.b32 [%rd2], %r11;
    cp.async.wait_all;";
    assert_eq!(shows(body, 0x0707_0707, FaultKind::AsyncOwned), [Completion::Late]);
}

#[test]
fn reordering_shows_two_stores_to_one_place() {
    let body = "    mov.u32 %r10, 0;
FILL: add.u32 %r11, %r1, %r10;
    shr.u32 %r12, %r10, 4; add.u32 %r12, %r12, 1;
    st.shared.b32 [%r11], %r12;
    add.u32 %r10, %r10, 4;
    setp.lt.u32 %p1, %r10, 32;
    @%p1 bra FILL;
    fence.proxy.async.shared::cta;
    add.u32 %r13, %r1, 16;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r13], 16;
    cp.async.bulk.commit_group;
    mov.u32 %r10, 0;
WORK: add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 5000;
    @%p1 bra WORK;
    cp.async.bulk.wait_group 0;";
    assert_eq!(shows(body, 2, FaultKind::AsyncOwned), [Completion::Reordered]);
}
