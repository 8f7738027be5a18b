//! Programs, streams and workspaces on the CPU, and what is said where there is no GPU.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpwright_arch::ArchId;
use warpwright_runtime::{
    CaptureError, Device, DeviceError, Executable, HostContext, HostProgram, Invocation, LaunchCall, LaunchTemplate,
    Program, RunError, Space, StreamError, WorkspaceError, WorkspaceLayout, WorkspacePtr,
};

fn program() -> Program {
    let launch = LaunchTemplate {
        entry: "kernel".into(),
        source: "the CPU compiles nothing".into(),
        options: Vec::new(),
        block: [128, 1, 1],
        cluster: [1, 1, 1],
        shared_bytes: 0,
        params_bytes: 4,
        pdl: false,
    };
    let workspace = WorkspaceLayout { bytes: 1000, alignment: 1024 };
    Program { name: "program".into(), tag: ArchId::SM100, launches: vec![launch], workspace }
}

struct Count(AtomicUsize);

impl HostProgram for Count {
    fn run(&self, cx: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        assert!(cx.info.is_host());
        match self.0.fetch_add(1, Ordering::Relaxed) {
            2 => Err("the third run fails".into()),
            _ => Ok(()),
        }
    }
}

fn load() -> (Device, Executable) {
    let device = Device::host();
    let executable = device.load(&program()).unwrap();
    (device, executable)
}

#[test]
fn a_host_program_runs_in_line_and_its_error_comes_back() {
    let (device, executable) = load();
    let stream = device.default_stream().unwrap();
    let (host, params) = (Count(AtomicUsize::new(0)), [0; 4]);
    let invocation = Invocation { launches: &[LaunchCall { grid: [1, 1, 1], params: &params }], host: &host };
    for run in 1..=3 {
        // SAFETY: no kernels are launched on the CPU.
        let result = unsafe { executable.run(&stream, &invocation) };
        assert_eq!(host.0.load(Ordering::Relaxed), run);
        match result {
            Ok(()) => assert!(run < 3),
            Err(RunError::Host(error)) => assert_eq!((run, error.to_string().as_str()), (3, "the third run fails")),
            Err(other) => panic!("{other}"),
        }
    }
    assert!(executable.kernels().is_empty());
    stream.synchronize().unwrap();
    device.synchronize().unwrap();
}

#[test]
fn a_workspace_belongs_to_one_program_and_one_stream() {
    let (device, first) = load();
    let second = device.load(&program()).unwrap();
    let streams = [device.new_stream().unwrap(), device.new_stream().unwrap()];
    let mut seen: Vec<WorkspacePtr> = Vec::new();
    for executable in [&first, &second] {
        for stream in &streams {
            let workspace = executable.workspace(stream, 1000).unwrap();
            assert!(workspace.bytes >= 1000 && workspace.address.is_multiple_of(1024));
            assert_eq!(executable.workspace(stream, 1000), Ok(workspace));
            assert_eq!(executable.workspace(&stream.clone(), 10), Ok(workspace));
            for other in &seen {
                let (a, b) = (workspace, *other);
                assert!(a.address + a.bytes as u64 <= b.address || b.address + b.bytes as u64 <= a.address);
            }
            seen.push(workspace);
        }
    }
    // Growing leaves the former memory where it is: work in flight uses it.
    let grown = first.workspace(&streams[0], 100_000).unwrap();
    assert!(grown.bytes >= 100_000 && grown.address != seen[0].address);
    assert_eq!(first.workspace(&streams[0], 1000), Ok(grown));
    assert_eq!(first.workspace(&streams[0], 0), Ok(WorkspacePtr::default()));
}

#[test]
fn threads_share_a_program_and_keep_their_workspaces() {
    let (device, executable) = load();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8u8)
            .map(|id| {
                let (device, executable) = (device.clone(), executable.clone());
                scope.spawn(move || {
                    let stream = device.new_stream().unwrap();
                    let workspace = executable.workspace(&stream, 4096).unwrap();
                    for _ in 0..100 {
                        assert_eq!(executable.workspace(&stream, 4096), Ok(workspace));
                    }
                    (id, workspace.address, stream)
                })
            })
            .collect();
        let mut addresses: Vec<u64> = workers.into_iter().map(|worker| worker.join().unwrap().1).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 8);
    });
}

#[test]
fn a_callers_workspace_is_checked() {
    let needed = WorkspaceLayout { bytes: 4096, alignment: 256 };
    let given = WorkspacePtr { address: 0x1000, bytes: 4096 };
    assert_eq!(given.check(needed), Ok(given));
    for wrong in [WorkspacePtr { bytes: 4095, ..given }, WorkspacePtr { address: 0x1080, ..given }] {
        assert!(matches!(wrong.check(needed), Err(WorkspaceError::TooSmall { needed: 4096, alignment: 256, .. })));
    }
    for nowhere in [WorkspacePtr { address: 0, ..given }, WorkspacePtr { bytes: usize::MAX, ..given }] {
        assert!(matches!(nowhere.check(needed), Err(WorkspaceError::Nowhere { .. })));
    }
    assert!(WorkspacePtr::default().check(WorkspaceLayout::default()).is_ok());
}

#[test]
fn the_cpu_has_no_graphs_and_says_so() {
    let stream = Device::host().default_stream().unwrap();
    let captured = stream.capture(|_| -> Result<(), StreamError> { panic!("nothing is submitted") });
    let error = captured.map(drop).unwrap_err();
    assert!(matches!(&error, CaptureError::Stream(StreamError::NotSupported { .. })));
    assert_eq!(error.to_string(), "the capture failed: the CPU has no graph capture");
    assert!(!stream.is_capturing().unwrap());
}

#[test]
fn devices_compare_and_streams_have_identities() {
    assert_eq!(Device::host(), Device::host());
    assert_eq!(Device::host().space(), Space::Host);
    let default = || Device::host().default_stream().unwrap();
    assert_eq!(default().id(), default().id());
    assert_ne!(default().id(), Device::host().new_stream().unwrap().id());
    default().wait_for(&Device::host().new_stream().unwrap()).unwrap();
    let all = Device::all();
    assert_eq!(all.last().unwrap().as_ref().unwrap(), &Device::host());
}

#[test]
fn a_missing_driver_or_device_says_what_to_do() {
    match Device::cuda(0) {
        Ok(device) => assert!(!device.is_host() && device.info().sms > 0),
        Err(error) => {
            let text = error.to_string();
            let remedies = ["install", "CUDA_VISIBLE_DEVICES"];
            assert!(remedies.iter().any(|remedy| text.contains(remedy)), "{text}");
            assert!(Device::all()[0].is_err());
        }
    }
    match Device::cuda(1_000_000) {
        Err(
            DeviceError::NoSuchDevice { ordinal: 1_000_000, .. } | DeviceError::NoDriver { .. } | DeviceError::NoDevice,
        ) => {}
        other => panic!("{other:?}"),
    }
}
