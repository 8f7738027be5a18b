//! The machine's memory from outside.

use warpwright_arch::ArchId;
use warpwright_emulator::{Config, FaultKind, Launch, Machine, Module};

fn machine() -> Machine {
    Machine::new(Config::new(ArchId::SM80))
}

#[test]
fn machines_and_modules_go_between_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Machine>();
    is_send::<Module>();
    is_sync::<Module>();
}

#[test]
fn memory_is_copied_and_bounded() {
    let mut machine = machine();
    let (a, b) = (machine.upload(&[1, 2, 3, 4]).unwrap(), machine.allocate(4).unwrap());
    machine.fill(b, 9, 4).unwrap();
    machine.copy(b + 1, a, 2).unwrap();
    machine.copy(b, b + 1, 2).unwrap();
    let mut out = [0; 4];
    machine.read_into(b, &mut out).unwrap();
    assert_eq!(out, [1, 2, 2, 9]);
    for error in [machine.write(a + 1, &[0; 4]), machine.fill(b, 0, 5), machine.copy(a, b, 5), machine.free(a + 1)] {
        assert!(error.is_err());
    }
    assert_eq!((a % 256, b % 256), (0, 0));
}

#[test]
fn freed_memory_is_reported_and_variables_keep_their_values() {
    let module = Module::parse(
        ".version 8.0\n.target sm_80\n.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 4 .b32 table[3] = {1, 2, 3};
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    atom.global.add.u32 %r1, [counter], 1;
    ld.const.u32 %r2, [table+8];
    mad.lo.u32 %r3, %r2, 100, %r1;
    st.global.u32 [%rd1], %r3;
    ret; }",
    )
    .unwrap();
    let mut machine = machine();
    let out = machine.allocate(4).unwrap();
    let kernel = module.kernel("k").unwrap();
    for expected in [305u32, 306] {
        machine.launch(kernel, &Launch::linear(1, 1, 0), &out.to_le_bytes()).unwrap();
        assert_eq!(machine.read(out, 4).unwrap(), expected.to_le_bytes());
    }
    machine.free(out).unwrap();
    let fault = machine.launch(kernel, &Launch::linear(1, 1, 0), &out.to_le_bytes()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.message.contains("freed"), "{fault}");
    let fault = machine.launch(kernel, &Launch::linear(1, 1, 0), &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Launch);
}
