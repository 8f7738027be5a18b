//! Hand-written PTX for sm_90a.

#![allow(dead_code, reason = "each test binary uses a part")]

use warpwright_arch::ArchId;
use warpwright_emulator::{Completion, Config, Fault, Launch, Machine, Module, Report};

/// A kernel around `body`: parameters `map` (128 bytes), `in` and `out`; 32 KiB of aligned shared memory `tile`, mbarriers
/// `bars`, registers of every kind.
pub fn kernel(body: &str) -> String {
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out)
{{
    .shared .align 8 .b8 bars[64];
    .reg .pred %p<16>; .reg .b16 %h<8>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<256>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, tile;
    mov.u32 %r2, bars;
    mov.b64 %rd0, map;
    cvta.param.u64 %rd0, %rd0;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    setp.eq.u32 %p0, %r0, 0;
{body}
    ret;
}}
"
    )
}

/// Puts thread `%r0`'s share of `bytes` bytes of `tile` into `out`, 128 threads, 4 bytes each.
pub fn dump(bytes: u32) -> String {
    format!(
        "    mov.u32 %r60, 0;
DUMP:
    shl.b32 %r61, %r0, 2;
    add.u32 %r61, %r61, %r60;
    add.u32 %r62, %r61, %r1;
    ld.shared.b32 %r63, [%r62];
    cvt.u64.u32 %rd30, %r61;
    add.u64 %rd31, %rd2, %rd30;
    st.global.b32 [%rd31], %r63;
    add.u32 %r60, %r60, 512;
    setp.lt.u32 %p15, %r60, {bytes};
    @%p15 bra DUMP;
"
    )
}

/// Waits on the mbarrier at `%r2 + offset` for a phase; the label must be new.
pub fn wait(label: &str, offset: u32, parity: &str) -> String {
    format!("{label}: mbarrier.try_wait.parity.shared::cta.b64 %p14, [%r2+{offset}], {parity}; @!%p14 bra {label};\n")
}

/// Thread 0 makes the mbarrier at `bars` for one arrival.
pub const INIT: &str = "    @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
    @%p0 fence.mbarrier_init.release.cluster;
    bar.sync 0;
";

pub struct Setup {
    pub machine: Machine,
    pub input: u64,
    pub output: u64,
}

pub fn setup(seed: u64, completion: Completion, input: &[u8], output: usize) -> Setup {
    let mut machine = Machine::new(Config { seed, completion, ..Config::new(ArchId::SM90) });
    let input = machine.upload(input).unwrap();
    let output = machine.allocate(output).unwrap();
    Setup { machine, input, output }
}

impl Setup {
    pub fn run(&mut self, text: &str, map: &[u8; 128], launch: Launch) -> Result<Report, Fault> {
        let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let mut parameters = map.to_vec();
        parameters.extend_from_slice(&self.input.to_le_bytes());
        parameters.extend_from_slice(&self.output.to_le_bytes());
        self.machine.launch(&module.kernels()[0], &launch, &parameters)
    }

    pub fn output(&mut self, len: usize) -> Vec<u8> {
        self.machine.read(self.output, len).expect("the output is allocated")
    }
}
