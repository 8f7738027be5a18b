//! CUDA C++ on emulated devices: no GPU and no driver.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::process::Command;

use warpwright_arch::{Arch, ArchId, DeviceInfo, Sm75, Sm80, Sm89, Sm90, Sm100};
use warpwright_runtime::emulator::{Checks, Completion, EmulatorOptions, Fault, FaultKind};
use warpwright_runtime::{
    Device, DeviceError, HostContext, HostProgram, Invocation, LaunchCall, LaunchTemplate, LoadError, MemoryError,
    Order, Program, RunError, Space, StreamError, Strided, Tensor, TensorError, WorkspaceLayout, nvrtc,
};

macro_rules! need_nvrtc {
    () => {
        if let Err(missing) = nvrtc::version() {
            assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
            eprintln!("SKIPPED: {missing}");
            return;
        }
    };
}

/// A kernel `k` around `body`, which has `x`, `n` and thread `i` of 32 a block.
fn program(tag: ArchId, body: &str) -> Program {
    let source = format!(
        "struct Params {{ float* x; int n; }};
extern \"C\" __global__ void k(const __grid_constant__ Params p) {{
    extern __shared__ float shared[];
    float* x = p.x; int n = p.n; int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}
"
    );
    let launch = LaunchTemplate {
        entry: "k".into(),
        source,
        options: Vec::new(),
        block: [32, 1, 1],
        cluster: [1, 1, 1],
        shared_bytes: 1024,
        params_bytes: 16,
        pdl: false,
    };
    Program { name: "test".into(), tag, launches: vec![launch], workspace: WorkspaceLayout::default() }
}

struct NoHost;

impl HostProgram for NoHost {
    fn run(&self, _: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("not on the host".into())
    }
}

/// Runs `body` in `blocks` blocks over a tensor of `n` ones.
fn run(device: &Device, body: &str, n: usize, blocks: u32) -> Result<Vec<f32>, RunError> {
    let executable = device.load(&program(ArchId::SM75, body)).unwrap();
    let stream = device.new_stream().unwrap();
    let x = Tensor::<f32>::full(1, n, 1.0).unwrap().to_device(&stream).unwrap();
    launch(&executable, &stream, x.view().raw().address(), n, blocks)?;
    Ok(x.to_host(&stream).unwrap().to_vec().unwrap())
}

fn launch(
    executable: &warpwright_runtime::Executable,
    stream: &warpwright_runtime::Stream,
    address: u64,
    n: usize,
    blocks: u32,
) -> Result<(), RunError> {
    let params = [&address.to_le_bytes()[..], &(n as u64).to_le_bytes()].concat();
    let calls = [LaunchCall { grid: [blocks, 1, 1], params: &params }];
    // SAFETY: the parameters are those of `program`'s kernel, and an emulated device checks what it does with them.
    unsafe { executable.run(stream, &Invocation { launches: &calls, host: &NoHost }) }
}

fn fault(outcome: Result<Vec<f32>, RunError>) -> Fault {
    match outcome {
        Err(RunError::Fault { entry, fault, .. }) if entry == "k" => *fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_architecture_runs_kernels_of_its_own_target() {
    need_nvrtc!();
    fn one<A: Arch>() {
        let device = Device::emulator::<A>().unwrap();
        assert_eq!(device.info().newest_tag(), Some(A::ID));
        assert!(!device.is_host() && device.name().ends_with("(emulated)"), "{device:?}");
        let doubled = run(&device, "if (i < n) x[i] *= 2;", 100, 4).unwrap();
        assert_eq!(doubled, vec![2.0; 100], "{}", A::ID);
        let stream = device.new_stream().unwrap();
        assert_eq!(run(&device, "if (i < n) x[i] = __CUDA_ARCH__;", 1, 1).unwrap(), [10.0 * A::ID.number() as f32]);
        assert!(matches!(stream.begin_and_fail(), StreamError::NotSupported { .. }));
        let [first, second] = device.emulated().unwrap().take_launches().try_into().unwrap();
        assert_eq!((first.entry.as_str(), first.grid, second.grid), ("k", [4, 1, 1], [1, 1, 1]));
        assert_eq!((first.report.blocks, first.report.global_written_bytes), (4, 400));
        assert_eq!(device.emulated().unwrap().take_launches(), []);
    }
    one::<Sm75>();
    one::<Sm80>();
    one::<Sm89>();
    one::<Sm90>();
    one::<Sm100>();
}

trait BeginAndFail {
    fn begin_and_fail(&self) -> StreamError;
}
impl BeginAndFail for warpwright_runtime::Stream {
    fn begin_and_fail(&self) -> StreamError {
        match self.capture(|_| Ok::<(), StreamError>(())) {
            Err(warpwright_runtime::CaptureError::Stream(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn tags_run_where_they_do_on_a_gpu() {
    need_nvrtc!();
    let hopper = Device::emulator::<Sm90>().unwrap();
    assert!(hopper.load(&program(ArchId::SM80, "")).is_ok());
    assert!(hopper.load(&program(ArchId::SM90, "")).is_ok());
    let ampere = Device::emulator::<Sm80>().unwrap();
    for tag in [ArchId::SM89, ArchId::SM90, ArchId::SM100] {
        assert!(matches!(ampere.load(&program(tag, "")), Err(LoadError::Arch { .. })), "{tag}");
    }
}

#[test]
fn faults_are_errors_that_name_the_line() {
    need_nvrtc!();
    let device = Device::emulator::<Sm80>().unwrap();
    // One element behind the tensor, though allocations have slack on a GPU.
    let outside = fault(run(&device, "x[i] = 0;", 100, 4));
    assert_eq!(outside.kind, FaultKind::OutOfBounds);
    let site = outside.site.unwrap();
    assert_eq!((site.block, site.thread), ([3, 0, 0], [4, 0, 0]));
    assert!(site.source.as_deref() == Some("test.cu:5"), "{site}");

    let unwritten = fault(run(&device, "x[0] = shared[i];", 100, 1));
    assert_eq!(unwritten.kind, FaultKind::Uninitialised);
    let race = fault(run(&device, "x[blockIdx.x] = x[1 - blockIdx.x];", 100, 2));
    assert_eq!(race.kind, FaultKind::Race);
    assert!(race.other.is_some());
    let hasty = EmulatorOptions::of_tag(ArchId::SM80).patience(10_000).device().unwrap();
    let deadlock = fault(run(&hasty, "volatile float* y = x; while (y[0] == 1) {}", 100, 1));
    assert_eq!(deadlock.kind, FaultKind::Deadlock);

    let error = run(&device, "x[i] = 0;", 10, 1).unwrap_err();
    let RunError::Fault { source_path: Some(saved), .. } = &error else { panic!("{error}") };
    let error = error.to_string();
    // The line that is named can be read.
    assert!(std::fs::read_to_string(saved).unwrap().lines().nth(4).unwrap().contains("x[i] = 0;"), "{error}");
    std::fs::remove_file(saved).unwrap();
    let here = format!("kernel `k`, emulated with seed 0 (its source is in {}): access of 4 bytes", saved.display());
    assert!(error.contains(&here), "{error}");
    assert!(error.contains("thread (10, 0, 0) at test.cu:5"), "{error}");
    // The device goes on.
    assert_eq!(run(&device, "x[i] = 0;", 32, 1).unwrap(), vec![0.0; 32]);
}

#[test]
fn checks_and_seeds_are_options() {
    need_nvrtc!();
    let make = || EmulatorOptions::of_tag(ArchId::SM80);
    let unchecked = make().checks(Checks::NONE).device().unwrap();
    let got = run(&unchecked, "x[0] = shared[i];", 1, 1).unwrap();
    assert!(got[0].is_nan(), "what nothing has written is no number: {got:?}");
    // Which of two blocks comes last is the seed's choice, and the same seed's choice is the same.
    let last = |seed: u64| {
        let device = make().checks(Checks::NONE).seed(seed).completion(Completion::Early).device().unwrap();
        run(&device, "x[0] = blockIdx.x;", 1, 16).unwrap()[0]
    };
    let chosen: Vec<f32> = (0..8).map(last).collect();
    assert_eq!(chosen, (0..8).map(last).collect::<Vec<_>>());
    assert!(chosen.iter().any(|block| *block != chosen[0]), "{chosen:?}");
    // Banks are counted when asked for: 32 threads in one bank.
    let body = "shared[(i * 32) % 256] = 1; __syncthreads(); x[i] = shared[0];";
    let profiled = make().profile(true).checks(Checks::NONE).device().unwrap();
    run(&profiled, body, 32, 1).unwrap();
    assert_eq!(profiled.emulated().unwrap().take_launches()[0].report.bank_conflicts, 7);
}

#[test]
fn memory_is_the_devices_own_and_ends_where_a_tensor_ends() {
    need_nvrtc!();
    let device = Device::emulator::<Sm80>().unwrap();
    let other = Device::emulator::<Sm80>().unwrap();
    assert_ne!(device.space(), other.space());
    let (stream, elsewhere) = (device.new_stream().unwrap(), other.new_stream().unwrap());
    let host = Tensor::<f32>::full(2, 3, 1.5).unwrap();
    let x = host.to_device(&stream).unwrap();
    assert_eq!(x.get(0, 0), Err(TensorError::NotOnHost { space: device.space() }));
    assert!(matches!(x.to_host(&elsewhere), Err(TensorError::WrongDevice { .. })));
    assert_eq!(x.to_host(&stream).unwrap().to_vec(), host.to_vec());

    // A tensor that was dropped is gone at once.
    let address = x.view().raw().address();
    drop(x);
    let executable = device.load(&program(ArchId::SM80, "x[i] = 0;")).unwrap();
    let error = launch(&executable, &stream, address, 6, 1).unwrap_err().to_string();
    assert!(error.contains("freed allocation"), "{error}");
    let wrong = launch(&executable, &elsewhere, address, 6, 1).unwrap_err();
    assert!(matches!(wrong, RunError::WrongDevice { .. }), "{wrong}");

    // So is a workspace's end.
    let space = executable.workspace(&stream, 20).unwrap();
    assert_eq!(space.bytes, 20);
    let error = launch(&executable, &stream, space.address, 5, 1).unwrap_err().to_string();
    assert!(error.contains("allocation of 20 bytes"), "{error}");
}

#[test]
fn too_much_memory_is_refused() {
    need_nvrtc!();
    let device = Device::emulator::<Sm80>().unwrap();
    let stream = device.new_stream().unwrap();
    let executable = device.load(&program(ArchId::SM80, "")).unwrap();
    for bytes in [(4 << 30) + 1, isize::MAX as usize, usize::MAX] {
        let error = executable.workspace(&stream, bytes).unwrap_err();
        let refused = |e: &_| matches!(e, warpwright_runtime::WorkspaceError::Memory(MemoryError::OutOfMemory { .. }));
        assert!(refused(&error), "{error}");
    }
}

#[test]
fn a_tensor_that_does_not_fit_is_an_error_and_the_device_goes_on() {
    need_nvrtc!();
    let mut unknown = DeviceInfo::a100();
    unknown.memory_bytes = 0;
    for options in
        [EmulatorOptions::of_tag(ArchId::SM80), EmulatorOptions::of(DeviceInfo::a100()), EmulatorOptions::of(unknown)]
    {
        let device = options.device().unwrap();
        let stream = device.new_stream().unwrap();
        for (rows, cols) in [(1 << 24, 1 << 24), (1 << 20, 1 << 40), (1 << 30, 1 << 30)] {
            let error = Tensor::<f32>::zeros_on(&stream, Strided::dense(rows, cols, Order::RowMajor)).unwrap_err();
            let TensorError::Memory(MemoryError::OutOfMemory { bytes, space }) = &error else { panic!("{error}") };
            assert_eq!((*bytes, space), (4 * rows * cols, &device.space()), "{error}");
            assert!(error.to_string().contains(&bytes.to_string()), "{error}");
        }
        let error = Tensor::<f32>::zeros_on(&stream, Strided::dense(1 << 40, 1 << 40, Order::RowMajor)).unwrap_err();
        assert!(matches!(error, TensorError::TooLarge { .. }), "{error}");
        assert_eq!(run(&device, "if (i < n) x[i] *= 2;", 100, 4).unwrap(), vec![2.0; 100]);
    }
}

#[test]
fn what_is_no_gpu_is_not_emulated() {
    let error = EmulatorOptions::of(DeviceInfo::host()).device().unwrap_err();
    assert!(matches!(error, DeviceError::NotEmulated { .. }), "{error}");
    let mut ga102 = DeviceInfo::a100();
    ga102.capability = Some(warpwright_arch::ComputeCapability::new(8, 6));
    assert!(matches!(EmulatorOptions::of(ga102).device(), Err(DeviceError::NotEmulated { .. })));
}

#[test]
fn a_kernel_that_is_not_modelled_is_refused_when_it_is_loaded() {
    need_nvrtc!();
    let device = Device::emulator::<Sm80>().unwrap();
    let body = "asm volatile(\"vadd4.u32.u32.u32 %0, %0, %0, %0;\" : \"+r\"(i)); x[0] = i;";
    let error = device.load(&program(ArchId::SM80, body)).unwrap_err();
    assert!(matches!(error, LoadError::Ptx { .. }), "{error}");
    assert!(error.to_string().contains("vadd4"), "{error}");
}

#[test]
fn threads_share_a_device() {
    need_nvrtc!();
    let device = Device::emulator::<Sm80>().unwrap();
    let body = "if (i < n) x[i] += i;";
    std::thread::scope(|scope| {
        for n in 1..8 {
            let device = &device;
            scope.spawn(move || {
                let expected: Vec<f32> = (0..10 * n).map(|i| 1.0 + i as f32).collect();
                assert_eq!(run(device, body, 10 * n, 4).unwrap(), expected);
            });
        }
    });
}

#[test]
fn without_nvrtc_the_error_says_what_to_install() {
    const CHILD: &str = "WARPWRIGHT_TEST_NO_NVRTC";
    if std::env::var_os(CHILD).is_some() {
        let error = Device::emulator::<Sm80>().unwrap_err();
        assert!(matches!(error, DeviceError::NoNvrtc(_)) && error.to_string().contains("install"), "{error}");
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let name = "without_nvrtc_the_error_says_what_to_install";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, "1")
        .env("WARPWRIGHT_NVRTC_DIR", empty.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[test]
fn spaces_are_told_apart() {
    assert_eq!(Space::Emulator(3).to_string(), "emulator:3");
}
