//! The emulator against an H200, which ran every micro-kernel once.

use std::collections::HashMap;
use std::path::Path;
use warpwright_arch::ArchId;
use warpwright_emulator::{Completion, Config};
use warpwright_tests::micro::{Micro, Outcome, Record, all, difference, emulate, read};

fn records() -> Result<HashMap<String, Record>, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/micro.bin.gz");
    let records = read(&std::fs::read(path)?)?;
    Ok(records.into_iter().map(|record| (record.name.clone(), record)).collect())
}

/// What is wrong with a kernel's run here, if anything.
fn verdict(micro: &Micro, record: &Record, completion: Completion) -> Option<String> {
    let emulated = emulate(micro, Config { completion, ..Config::new(ArchId::SM90) });
    match (&record.outcome, emulated) {
        // What must not be done is refused here at once, while the hardware may let the kernel end first.
        (_, Err(_)) if micro.traps => None,
        (_, Ok(_)) if micro.traps => Some("is not refused".to_owned()),
        (Outcome::Output(hardware), Ok(here)) => difference(micro, hardware, &here),
        (Outcome::Output(_), Err(words)) => Some(format!("runs on the hardware, but not here: {words}")),
        (Outcome::Refused(words), _) => Some(format!("does not run on the hardware: {words}")),
    }
}

#[test]
fn every_kernel_does_what_it_did_on_the_hardware() -> Result<(), Box<dyn std::error::Error>> {
    let records = records()?;
    let mut wrong = Vec::new();
    for (i, micro) in all().iter().enumerate() {
        let Some(record) = records.get(&micro.name) else {
            wrong.push(format!("{}: no GPU has run it: run.sh micro of the bundle", micro.name));
            continue;
        };
        if record.hash != micro.hash() {
            wrong.push(format!("{}: changed since a GPU ran it: run.sh micro of the bundle", micro.name));
            continue;
        }
        let completion = [Completion::Early, Completion::Late, Completion::Reordered][i % 3];
        wrong.extend(verdict(micro, record, completion).map(|what| format!("{}: {what}", micro.name)));
    }
    assert!(wrong.is_empty(), "{} kernels differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn names_tell_kernels_apart() {
    let mut names: Vec<String> = all().into_iter().map(|micro| micro.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
