//! Damaged text is an error, never a panic; what still loads still runs to an end or a report.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "common/ptx.rs"]
mod ptx;

use common::{BF16, F16_MN, config};
use warpwright_arch::ArchId;
use warpwright_emulator::{Config, Fault, FaultKind, Launch, Machine, Module};

/// A small generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn damaged_text_never_panics() {
    let mut dice = Dice(1);
    let (mut loaded, mut refused) = (0, 0);
    for gemm in [&BF16, &F16_MN] {
        // The first part holds every kind of statement; short texts make many rounds.
        let lines: Vec<&str> = gemm.text.lines().collect();
        for round in 0..150 {
            let mut text: Vec<String> = lines.iter().map(|l| (*l).to_owned()).collect();
            for _ in 0..=round % 3 {
                let at = dice.below(text.len());
                let other = text[dice.below(text.len())].clone();
                let line = &mut text[at];
                let cut = line.char_indices().map(|(i, _)| i).nth(dice.below(line.len().max(1))).unwrap_or(0);
                match dice.below(5) {
                    0 => line.clear(),
                    1 => line.truncate(cut),
                    2 => *line = other,
                    3 => line.insert(cut, *b"{}[];,.%0-|@!\"".get(dice.below(14)).unwrap_or(&b';') as char),
                    _ => *line = line.replace("32", ["64", "16", "8", "", "4294967295"][dice.below(5)]),
                }
            }
            match Module::parse(&text.join("\n")) {
                Ok(module) if module.kernels().len() == 1 => {
                    loaded += 1;
                    // Whatever it does now, it does without a panic.
                    let patience = 1 << 12;
                    let _ = gemm.run(&module, Config { patience, ..config(round) }, [64, 64, 64], 1);
                }
                Ok(_) => loaded += 1,
                Err(error) => {
                    refused += 1;
                    assert!(error.line > 0 && !error.to_string().is_empty());
                }
            }
        }
    }
    assert!(loaded > 20 && refused > 20, "{loaded} loaded, {refused} refused");
}

/// Kernels with every kind of statement: `cp.async` and `mma.sync`; TMA, mbarriers, `wgmma` and bulk stores.
fn bytes_of_kernels() -> [Vec<u8>; 2] {
    [BF16.text.as_bytes().to_vec(), pipeline::text().into_bytes()]
}

/// Cuts, repeats, overwrites and renames parts of a text, wherever they lie.
fn damage(text: &mut Vec<u8>, dice: &mut Dice) {
    const NUMBERS: [&str; 8] = [
        "0",
        "-1",
        "3",
        "65536",
        "4294967295",
        "18446744073709551615",
        "99999999999999999999999",
        "0x8000000000000000",
    ];
    let n = text.len().max(1);
    let at = dice.below(n);
    let some = dice.below(60).min(n - at);
    let find = |text: &[u8], from: usize, is: fn(&u8) -> bool| text[from..].iter().position(is).map(|i| i + from);
    match dice.below(6) {
        0 => text.truncate(at),
        1 => text[at] = dice.below(256) as u8,
        2 => drop(text.drain(at..at + some)),
        3 => {
            let part = text[at..at + some].to_vec();
            let to = dice.below(n);
            drop(text.splice(to..to, part));
        }
        4 => {
            if let Some(start) = find(text, at, u8::is_ascii_digit) {
                let end = find(text, start, |c| !c.is_ascii_digit()).unwrap_or(n);
                drop(text.splice(start..end, NUMBERS[dice.below(8)].bytes()));
            }
        }
        // Another register in place of one.
        _ => {
            let name = |from: usize| {
                let start = find(text, from, |c| *c == b'%')?;
                Some(start..find(text, start + 1, |c| !c.is_ascii_alphanumeric())?)
            };
            if let (Some(to), Some(from)) = (name(at), name(dice.below(n))) {
                let from = text[from].to_vec();
                drop(text.splice(to, from));
            }
        }
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let mut dice = Dice(3);
    let (mut loaded, mut refused, mut reported) = (0, 0, 0);
    for round in 0..1000 {
        let mut text = bytes_of_kernels()[round % 2].clone();
        for _ in 0..=dice.below(2) {
            damage(&mut text, &mut dice);
            if text.is_empty() {
                break;
            }
        }
        match Module::parse(&String::from_utf8_lossy(&text)) {
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
            Ok(module) => {
                loaded += 1;
                for kernel in module.kernels() {
                    let limits = Config { patience: 1 << 12, steps: 1 << 15, ..config(round as u64) };
                    let mut machine = Machine::new(Config { arch: ArchId::SM90, ..limits });
                    let words = machine.upload(&[7; 4096]).unwrap().to_le_bytes();
                    let parameters: Vec<u8> =
                        words.into_iter().cycle().take(kernel.parameter_bytes() as usize % (1 << 16)).collect();
                    let launch = Launch::linear(2, 128 + 32 * (round as u32 % 2), 64 << 10);
                    if let Err(fault) = machine.launch(kernel, &launch, &parameters) {
                        reported += 1;
                        assert!(!fault.to_string().is_empty());
                    }
                }
            }
        }
    }
    assert!(loaded > 50 && refused > 50 && reported > 10, "{loaded} loaded, {refused} refused, {reported} reported");
}

fn kernel(body: &str) -> Module {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 tile[];\n.visible .entry k(.param .u64 out)\n\
         {{ .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %out;\nld.param.u64 %out, [out];\n{body}\nret; }}"
    );
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}"))
}

fn run(body: &str, launch: Launch) -> Result<(), Fault> {
    let mut machine = Machine::new(Config { patience: 1 << 11, steps: 1 << 16, ..Config::new(ArchId::SM90) });
    let out = machine.upload(&[0; 64]).unwrap();
    machine.launch(&kernel(body).kernels()[0], &launch, &out.to_le_bytes()).map(|_| ())
}

#[test]
fn loops_without_an_end_are_reported() {
    // Whatever happens in them: nothing, barriers that are met for ever, atomics, a phase that each round completes.
    for (body, kind) in [
        ("L: bra L;", FaultKind::Deadlock),
        ("L: red.global.add.u32 [%out], 1; bra L;", FaultKind::Endless),
        ("L: bar.sync 0; bra L;", FaultKind::Endless),
        (
            "mov.u32 %r0, tile; mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0; @%p bra E; mbarrier.init.shared::cta.b64 [%r0], 1;\n\
          L: mbarrier.arrive.shared::cta.b64 _, [%r0]; bra L;\nE:",
            FaultKind::Endless,
        ),
    ] {
        let fault = run(body, Launch::linear(1, 64, 1024)).expect_err(body);
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.contains("at PTX line") && fault.site.is_some(), "{fault}");
    }
}

#[test]
fn launches_of_every_size_are_run_or_refused() {
    let huge = [u32::MAX; 3];
    let plain = Launch::linear(1, 32, 0);
    let no_cluster = Launch { cluster: Some([0; 3]), ..plain };
    for launch in [
        Launch { grid: huge, ..plain },
        Launch { grid: [0, 1, 1], ..plain },
        Launch { grid: [1 << 20, 2, 1], ..plain },
        Launch { block: huge, ..plain },
        Launch { block: [32, 0, 1], ..plain },
        Launch { cluster: Some(huge), ..plain },
        no_cluster,
        Launch { shared_bytes: u32::MAX, ..plain },
    ] {
        assert_eq!(run("", launch).expect_err("it is refused").kind, FaultKind::Launch, "{launch:?}");
    }
    assert!(run("", Launch { grid: [4096, 1, 1], ..plain }).is_ok());
}

#[test]
fn memory_of_no_bytes() {
    let mut machine = Machine::new(Config::new(ArchId::SM90));
    let (nothing, next) = (machine.upload(&[]).unwrap(), machine.allocate(4).unwrap());
    assert_ne!(nothing, next);
    assert_eq!(machine.read(nothing, 0), Ok(Vec::new()));
    assert!(machine.write(nothing, &[]).is_ok() && machine.write(nothing, &[1]).is_err());
    let module = kernel("ld.global.u8 %r0, [%out];");
    let fault = machine.launch(&module.kernels()[0], &Launch::linear(1, 1, 0), &nothing.to_le_bytes()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(machine.free(nothing).is_ok() && machine.free(nothing).is_err());
}

#[test]
fn memory_that_is_not_there_is_refused() {
    let mut machine = Machine::new(Config { memory_bytes: 1 << 20, ..Config::new(ArchId::SM90) });
    let first = machine.allocate(1 << 19).unwrap();
    let error = machine.allocate((1 << 19) + 1).unwrap_err();
    assert_eq!((error.bytes, error.free, error.total), ((1 << 19) + 1, 1 << 19, 1 << 20));
    assert_eq!(machine.upload(&[0; 1 << 20]).unwrap_err().free, 1 << 19);
    // What was freed can be had again, at addresses of its own.
    machine.free(first).unwrap();
    assert!(machine.allocate(1 << 20).unwrap() > first);
    // Without a bound it is the process's memory and the address space that end.
    let mut machine = Machine::new(Config::new(ArchId::SM90));
    for bytes in [1 << 46, 1 << 50, isize::MAX as usize, usize::MAX - 4095, usize::MAX] {
        let error = machine.allocate(bytes).expect_err("it is not there");
        assert!(error.bytes == bytes && error.to_string().starts_with(&bytes.to_string()), "{error}");
    }
    assert!(machine.upload(&[1, 2, 3]).is_ok_and(|address| machine.read(address, 3) == Ok(vec![1, 2, 3])));
}

#[test]
fn variables_that_do_not_fit_fail_the_launch() {
    let text = ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 4 .b8 small[1024];\n\
                .global .align 4 .b8 large[1073741824];\n.visible .entry k(.param .u64 out) { ret; }";
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Config { memory_bytes: 1 << 20, ..Config::new(ArchId::SM90) });
    let fault = machine.launch(&module.kernels()[0], &Launch::linear(1, 32, 0), &[0; 8]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Launch);
    assert!(fault.message.contains("1073741824 bytes of global memory"), "{fault}");
    assert!(machine.allocate(1 << 20).is_ok(), "nothing of the module is left behind");
}

#[test]
fn parameters_lie_where_they_belong() {
    // A byte, then 8 bytes at their own alignment; what is read across two, or off its own, is reported.
    let text = |read: &str| {
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u8 a, .param .u64 out, .param .align 4 .b8 c[6])\n\
             {{ .reg .b32 %r<4>; .reg .b64 %out;\nld.param.u64 %out, [out]; {read} st.global.u32 [%out], %r0; ret; }}"
        )
    };
    let run = |read: &str, short: usize| {
        let module = Module::parse(&text(read)).unwrap_or_else(|e| panic!("{e}"));
        let mut machine = Machine::new(Config::new(ArchId::SM90));
        let out = machine.allocate(4).unwrap();
        let mut parameters = vec![5, 0, 0, 0, 0, 0, 0, 0];
        parameters.extend_from_slice(&out.to_le_bytes());
        parameters.extend_from_slice(&[1, 2, 3, 4, 5, 6]);
        parameters.truncate(parameters.len() - short);
        machine.launch(&module.kernels()[0], &Launch::linear(1, 1, 0), &parameters).map_err(|f| f.kind)?;
        Ok(u32::from_le_bytes(machine.read(out, 4).unwrap().try_into().unwrap()))
    };
    assert_eq!(run("ld.param.u8 %r0, [a];", 0), Ok(5));
    assert_eq!(run("ld.param.u32 %r0, [c];", 0), Ok(0x0403_0201));
    assert_eq!(run("ld.param.u16 %r0, [c+4];", 0), Ok(0x0605));
    assert_eq!(run("ld.param.u32 %r0, [c+2];", 0), Err(FaultKind::Misaligned));
    assert_eq!(run("ld.param.u32 %r0, [c+4];", 0), Err(FaultKind::OutOfBounds));
    assert_eq!(run("ld.param.u8 %r0, [a];", 1), Err(FaultKind::Launch));
}
