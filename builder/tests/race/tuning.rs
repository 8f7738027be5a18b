//! Winners that are remembered, and files of them that cannot be used.

use super::{clockwork::device, rules};
use std::sync::{Arc, Mutex, Once};
use warpwright_arch::ArchId;
use warpwright_builder::AnyGemm;
use warpwright_builder::race::{RaceProblem, RaceTable, race};
use warpwright_builder::tune::{PlanChoice, Tuning, TuningError, shortlist};
use warpwright_numeric::Dtype;
use warpwright_runtime::Device;
use warpwright_spec::{GemmDesc, KernelPlan, Mnk, Problem};

const MNK: Mnk = Mnk { m: 512, n: 512, k: 256 };

fn desc() -> GemmDesc {
    GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32)
}

/// A race on a device whose clock is wound by hand, won by tiles that are not the model's first choice.
fn raced() -> (Device, RaceTable) {
    let problem = RaceProblem::new(MNK, Dtype::Bf16);
    let (device, _) = device(|name, _| Some(if name.contains("_64x128x") { 1.0 } else { 2.0 }));
    let listed = shortlist(&desc(), device.info(), &problem, 12).unwrap();
    let table = race(&device, &problem, &listed, &rules()).unwrap();
    (device, table)
}

fn planned(tuning: &Arc<Tuning>, device: &Device, desc: &GemmDesc) -> KernelPlan {
    let gemm = AnyGemm::new(desc, device).unwrap().tuned_by(Some(tuning.clone()));
    gemm.plan(&Problem::dense(MNK.m, MNK.n, MNK.k)).unwrap()
}

#[test]
fn the_winner_is_what_later_kernels_take() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/tuning.json");
    let (device, table) = raced();
    assert_eq!(table.rows.len(), 12, "{table}");
    assert!(table.rows.iter().any(|row| row.label == "auto"));
    let tuning = Arc::new(Tuning::open(&file));
    let untuned = planned(&tuning, &device, &desc());
    let choice = tuning.remember(device.info(), &table).unwrap();
    assert_ne!(PlanChoice::of(&untuned), choice, "the model's own choice would prove nothing");
    for tuning in [tuning, Arc::new(Tuning::open(&file))] {
        assert_eq!(PlanChoice::of(&planned(&tuning, &device, &desc())), choice);
        // Another problem, another type, and a slot that is named have no record.
        let gemm = AnyGemm::new(&desc(), &device).unwrap().tuned_by(Some(tuning.clone()));
        let plain = AnyGemm::new(&desc(), &device).unwrap().tuned_by(None);
        let other = Problem::dense(MNK.m, MNK.n, MNK.k + 64);
        assert_eq!(gemm.plan(&other), plain.plan(&other));
        let f16 = GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32);
        assert_eq!(planned(&tuning, &device, &f16).tile, planned(&Arc::new(Tuning::in_memory()), &device, &f16).tile);
        let named = GemmDesc { tile: Some(Mnk { m: 64, n: 64, k: 64 }), ..desc() };
        assert_eq!(planned(&tuning, &device, &named).tile, Mnk { m: 64, n: 64, k: 64 });
        let problem = Problem::dense(MNK.m, MNK.n, MNK.k);
        assert!(gemm.explain(&problem).unwrap().ends_with(Tuning::NOTE));
        assert!(!plain.explain(&problem).unwrap().contains("tuned"));
    }
}

#[test]
fn records_of_several_races_and_processes_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuning.json");
    let (device, table) = raced();
    let (one, other) = (Tuning::open(&file), Tuning::open(&file));
    let problem = RaceProblem::new(Mnk { m: 256, ..MNK }, Dtype::Bf16);
    let listed = shortlist(&desc(), device.info(), &problem, 2).unwrap();
    one.remember(device.info(), &table).unwrap();
    other.remember(device.info(), &race(&device, &problem, &listed, &rules()).unwrap()).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"m\": 512") && text.contains("\"m\": 256"), "{text}");
    one.remember(device.info(), &table).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "a record is replaced, and the order is fixed");
}

/// Each has a file of its own open, as processes do.
#[test]
fn records_that_are_written_at_the_same_time_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/tuning.json");
    let all: Vec<usize> = (0..2).flat_map(|thread| (0..16).map(move |i| 1000 + 100 * thread + i)).collect();
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for sizes in all.chunks(16) {
            let (file, start) = (&file, &start);
            scope.spawn(move || {
                let (device, mut table) = raced();
                start.wait();
                for &m in sizes {
                    table.problem = RaceProblem::new(Mnk { m, ..MNK }, Dtype::Bf16);
                    Tuning::open(file).remember(device.info(), &table).unwrap();
                }
            });
        }
    });
    let text = std::fs::read_to_string(&file).unwrap();
    let lost: Vec<&usize> = all.iter().filter(|m| !text.contains(&format!("\"m\": {m},"))).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing lies beside it");
}

/// Warnings of this process so far that contain a text.
fn warnings(of: &str) -> usize {
    struct Log(Mutex<Vec<String>>);
    impl log::Log for Log {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }
        fn log(&self, record: &log::Record<'_>) {
            if record.level() == log::Level::Warn {
                self.0.lock().unwrap().push(record.args().to_string());
            }
        }
        fn flush(&self) {}
    }
    static LOG: Log = Log(Mutex::new(Vec::new()));
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&LOG).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
    LOG.0.lock().unwrap().iter().filter(|line| line.contains(of)).count()
}

#[test]
fn a_file_that_cannot_be_used_is_warned_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let (device, table) = raced();
    let good = folder.path().join("good.json");
    let winner = Tuning::open(&good).remember(device.info(), &table).unwrap();
    let good = std::fs::read_to_string(good).unwrap();
    let nobody = planned(&Arc::new(Tuning::in_memory()), &device, &desc());
    for (what, text, warning) in [
        ("torn", good[..good.len() / 2].to_owned(), "torn.json is not a file of winners (EOF while parsing"),
        ("other", String::from("[3]"), "other.json is not a file of winners (invalid"),
        (
            "newer",
            good.replace("\"format\": 1", "\"format\": 2"),
            "newer.json is not a file of winners (its format is 2, not 1)",
        ),
        ("stale", good.replace("\"splits\": 1", "\"splits\": 7"), "\"splits\":7"),
        ("unknown", good.replace("\"Multistage\"", "\"Warpwise\""), "\"schedule\":\"Warpwise\""),
    ] {
        let file = folder.path().join(format!("{what}.json"));
        assert_ne!(text, good, "{what}");
        std::fs::write(&file, text).unwrap();
        assert_eq!(warnings(warning), 0, "{what}");
        let tuning = Arc::new(Tuning::open(&file));
        for _ in 0..3 {
            assert_eq!(planned(&tuning, &device, &desc()), nobody, "{what}");
        }
        assert_eq!(warnings(warning), 1, "{what}");
        // What is measured anew replaces it.
        tuning.remember(device.info(), &table).unwrap();
        assert_eq!(PlanChoice::of(&planned(&Arc::new(Tuning::open(&file)), &device, &desc())), winner, "{what}");
    }
}

/// Nor is what is no text, has no end, or is larger than any file of winners read to find that out.
#[test]
fn what_is_no_file_of_winners_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| folder.path().join(name);
    std::fs::write(named("latin.json"), b"{\"format\": 1, \"records\": [\"\xe9\"]}").unwrap();
    std::fs::create_dir(named("folder.json")).unwrap();
    std::fs::File::create(named("huge.json")).unwrap().set_len(1 << 40).unwrap();
    for (path, warning) in [
        (named("latin.json"), "latin.json is not a file of winners (stream did not contain valid UTF-8)"),
        (named("folder.json"), "folder.json is not a file of winners (it is no regular file)"),
        (named("huge.json"), "huge.json is not a file of winners (it has 1099511627776 bytes, of at most 67108864)"),
        ("/dev/zero".into(), "/dev/zero is not a file of winners (it is no regular file)"),
    ] {
        let _ = Tuning::open(&path);
        assert_eq!(warnings(warning), 1, "{warning}");
    }
}

#[test]
fn what_cannot_be_remembered_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (device, mut table) = raced();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let below = blocked.join("tuning.json");
    let error = Tuning::open(&below).remember(device.info(), &table).unwrap_err();
    assert!(matches!(&error, TuningError::Unwritable { path, .. } if *path == below), "{error}");
    let nowhere = Arc::new(Tuning::in_memory());
    assert!(matches!(nowhere.remember(device.info(), &table), Err(TuningError::NoFile)));
    assert_eq!(planned(&nowhere, &device, &desc()).tile.n, 128, "this process remembers it all the same");
    table.rows.clear();
    assert!(matches!(nowhere.remember(device.info(), &table), Err(TuningError::NoWinner)));
}
