//! Lowered index functions through NVRTC: their machine code divides nothing where shapes are static, and in the emulator they
//! return what their layouts say on every coordinate. A GPU runs the same kernels in the GPU suite.

#![allow(clippy::print_stdout, reason = "says what was skipped, and how much was compared")]

use std::path::PathBuf;
use std::process::Command;

use warpwright::DeviceInfo;
use warpwright::layout::LayoutError;
use warpwright::runtime::nvrtc;
use warpwright_arch::ArchId;
use warpwright_emulator::{Config, Launch, Machine, Module};
use warpwright_tests::layouts::{BLOCK, Gather, Group, all, bytes, check, words};
use warpwright_tests::need_nvrtc;
use warpwright_tests::stand_in::stand_in;

/// Says what is missing, or fails where nothing may be.
fn skipped(missing: &str) {
    assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
    println!("SKIPPED: {missing}");
}

fn compile(source: &str, name: &str, target: &str) -> nvrtc::Compiled {
    nvrtc::compile(source, name, target.parse().expect("a target"), &[]).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The instructions of each kernel, disassembled.
fn disassembled(cubin: &[u8]) -> Option<Vec<(String, Vec<String>)>> {
    let nvdisasm = PathBuf::from(std::env::var_os("WARPWRIGHT_NVDISASM")?);
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), cubin).expect("the cubin is written");
    let output = Command::new(nvdisasm).arg("-c").arg(file.path()).output().expect("nvdisasm runs");
    let mut kernels: Vec<(String, Vec<String>)> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(name) = line.trim().strip_prefix(".section\t.text.") {
            kernels.push((name.split(',').next().unwrap_or_default().to_owned(), Vec::new()));
        }
        // `/*0a30*/ @!P0 LDG.E.64 R4, [R2] ;`
        let instruction = line.trim().strip_prefix("/*").and_then(|l| l.split_once("*/"));
        if let (Some((_, text)), Some((_, of_kernel))) = (instruction, kernels.last_mut())
            && let Some(opcode) = text.split_whitespace().find(|w| !w.starts_with('@'))
        {
            of_kernel.push(opcode.trim_end_matches(';').to_owned());
        }
    }
    Some(kernels)
}

/// How machine code divides by what it does not know: a reciprocal and its corrections, or a call.
fn divides(opcodes: &[String]) -> bool {
    opcodes.iter().any(|op| ["MUFU.RCP", "I2F", "F2I", "CALL"].iter().any(|d| op.starts_with(d)))
}

#[test]
fn static_shapes_are_divided_by_no_division() {
    need_nvrtc!();
    let (mut without, mut with) = (0, 0);
    for group in all().unwrap() {
        for target in ["sm_75", "sm_90a"] {
            let compiled = compile(&group.source(), group.name, target);
            let Some(kernels) = disassembled(&compiled.cubin) else {
                return skipped("WARPWRIGHT_NVDISASM names no nvdisasm");
            };
            assert_eq!(kernels.len(), group.functions.len(), "{}", group.name);
            for (name, opcodes) in kernels {
                let i: usize = name.trim_start_matches("check_").parse().unwrap();
                let function = &group.functions[i].function;
                // Only a dynamic extent that splits a coordinate is divided by.
                let splits = function.parameter_names().iter().any(|p| p.starts_with('s'));
                assert_eq!(divides(&opcodes), splits, "{} for {target}: {opcodes:?}", group.functions[i].what);
                if splits { with += 1 } else { without += 1 }
            }
        }
    }
    println!("{without} kernels without a division, {with} that divide by a parameter");
    assert!(without > 300 && with > 40, "{without} and {with}");
}

/// Runs the group's kernels in the emulator; the number of coordinates that agree.
fn emulate(group: &Group) -> usize {
    let module = Module::parse(&compile(&group.source(), group.name, "sm_80").ptx).unwrap();
    for (i, checked) in group.functions.iter().enumerate() {
        let mut machine = Machine::new(Config::new(ArchId::SM80));
        let coordinates = machine.upload(&bytes(&checked.coordinates)).unwrap();
        let size = 8 * checked.expected.len();
        let out = machine.allocate(size).unwrap();
        let kernel = module.kernel(&group.entry(i)).expect("the kernel is there");
        let launch = Launch::linear(checked.blocks(), BLOCK, 0);
        let report = machine.launch(kernel, &launch, &checked.params(coordinates, out));
        report.unwrap_or_else(|fault| panic!("{}: {fault}", checked.what));
        checked.judge(&words(&machine.read(out, size).unwrap())).unwrap_or_else(|what| panic!("{what}"));
    }
    group.coordinates()
}

#[test]
fn the_emulator_agrees_on_every_coordinate() {
    need_nvrtc!();
    let mut coordinates = 0;
    for group in all().unwrap() {
        let right = emulate(&group);
        println!("{:<10} {:>4} functions, {right:>7} coordinates", group.name, group.functions.len());
        coordinates += right;
    }
    assert!(coordinates > 500_000, "{coordinates}");
}

#[test]
fn the_emulator_gathers_through_a_layout() -> Result<(), LayoutError> {
    let gather = Gather::new()?;
    assert_eq!(gather.tiled.to_string(), "((_16,_16),(_16,_8)):((_128,_1),(_2048,_16))");
    need_nvrtc!(Ok(()));
    let module = Module::parse(&compile(&gather.source, "gather", "sm_80").ptx).unwrap();
    let mut machine = Machine::new(Config::new(ArchId::SM80));
    let matrix: Vec<u8> = gather.matrix().iter().flat_map(|x| x.to_le_bytes()).collect();
    let from = machine.upload(&matrix).unwrap();
    let to = machine.allocate(matrix.len()).unwrap();
    let kernel = module.kernel(Gather::ENTRY).expect("the kernel is there");
    machine.launch(kernel, &Launch::linear(gather.blocks(), BLOCK, 0), &Gather::params(from, to)).unwrap();
    let found = machine.read(to, matrix.len()).unwrap();
    let found: Vec<f32> = found.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
    assert_eq!(gather.right(&found), 32_768);
    Ok(())
}

/// On a device that runs nothing, everything is submitted and nothing is right.
#[test]
fn results_that_nobody_wrote_are_noticed() {
    let device = stand_in(DeviceInfo::h200());
    for group in all().unwrap() {
        let what = check(&device, &group).unwrap_err().to_string();
        assert!(what.contains(&group.functions[0].what), "{what}");
    }
    assert_eq!(Gather::new().unwrap().run(&device).unwrap(), 1, "one element is the zero that memory starts with");
}

/// What is printed is what the host interprets.
#[test]
fn the_host_interprets_the_same() {
    let mut evaluated = 0;
    for group in all().unwrap() {
        for checked in &group.functions {
            let n = checked.expected.len();
            for i in 0..n {
                let coordinate: Vec<u64> = checked.coordinates.iter().skip(i).step_by(n).copied().collect();
                assert_eq!(checked.function.eval(&coordinate), Some(checked.expected[i]), "{} at {i}", checked.what);
                evaluated += 1;
            }
        }
    }
    println!("{evaluated} coordinates");
}
