//! A check of the launch path on a real GPU, one line per check; it exits with 1 if one falls short.
//!
//! `cargo run --release -p warpwright-runtime --example gpu_smoke [ordinal]`

#![allow(clippy::print_stdout, reason = "a program that reports")]

use std::error::Error;
use std::process::ExitCode;

use warpwright_arch::ArchId;
use warpwright_runtime::{
    CaptureError, Device, Executable, HostContext, HostProgram, Invocation, LaunchCall, LaunchTemplate, LoadError,
    MemoryError, Order, Program, RunError, Space, Stream, Strided, Tensor, TensorError, TensorView, WorkspaceError,
    WorkspaceLayout,
};

type Check = Result<String, Box<dyn Error>>;

/// Adds vectors, and reads the workspace that it has just written.
const ADD: &str = r#"
struct Params { const float* x; const float* y; float* z; float* scratch; float factor; unsigned n; };
extern "C" __global__ void add(const __grid_constant__ Params p) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) {
        p.scratch[i] = p.factor * p.y[i];
        p.z[i] = p.x[i] + p.scratch[i];
    }
}
"#;

/// Each block writes what it knows of its cluster: rank, size, and the number that its peer put into shared memory.
const CLUSTER: &str = r#"
struct Params { unsigned* out; unsigned filler[15]; };
extern "C" __global__ void cluster(const __grid_constant__ Params p) {
    extern __shared__ __align__(128) unsigned shared[];
    unsigned rank, size, remote, peer;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    unsigned own = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) shared[p.filler[14]] = 100u + blockIdx.x;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own + 4 * p.filler[14]), "r"(rank ^ 1u));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(peer) : "r"(remote) : "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        p.out[3 * blockIdx.x] = rank;
        p.out[3 * blockIdx.x + 1] = size;
        p.out[3 * blockIdx.x + 2] = peer;
    }
}
"#;

/// The second of two launches: starts early and waits for the first.
const DOUBLE: &str = r#"
struct Params { float* z; unsigned n; unsigned pad; };
extern "C" __global__ void twice(const __grid_constant__ Params p) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) p.z[i] *= 2.0f;
}
"#;

const N: usize = 100_003;
const BLOCK: u32 = 256;

fn launch(entry: &str, source: &str, params_bytes: usize) -> LaunchTemplate {
    LaunchTemplate {
        entry: entry.into(),
        source: source.into(),
        options: Vec::new(),
        block: [BLOCK, 1, 1],
        cluster: [1, 1, 1],
        shared_bytes: 0,
        params_bytes,
        pdl: false,
    }
}

fn program(name: &str, tag: ArchId, launches: Vec<LaunchTemplate>) -> Program {
    Program { name: name.into(), tag, launches, workspace: WorkspaceLayout { bytes: 4 * N, alignment: 1024 } }
}

fn add_program() -> Program {
    program("smoke-add", ArchId::SM75, vec![launch("add", ADD, 40)])
}

struct NotHere;

impl HostProgram for NotHere {
    fn run(&self, _: &HostContext<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Err("kernels were to be launched".into())
    }
}

fn vector(f: impl Fn(usize) -> f32) -> Result<Tensor<f32>, TensorError> {
    Tensor::from_fn(1, N, |_, n| f(n))
}

fn add_params(x: u64, y: u64, z: u64, scratch: u64, factor: f32) -> Vec<u8> {
    let mut params: Vec<u8> = [x, y, z, scratch].into_iter().flat_map(u64::to_le_bytes).collect();
    params.extend(factor.to_le_bytes());
    params.extend((N as u32).to_le_bytes());
    params
}

fn grid() -> [u32; 3] {
    [(N as u32).div_ceil(BLOCK), 1, 1]
}

/// Submits z = x + factor · y.
fn submit_add(
    add: &Executable,
    stream: &Stream,
    x: TensorView<'_, f32>,
    y: &Tensor<f32>,
    z: &mut Tensor<f32>,
    factor: f32,
) -> Result<(), Box<dyn Error>> {
    let scratch = add.workspace(stream, 4 * N)?;
    let (y, z) = (y.view().raw().address(), z.view_mut()?.raw().address());
    let params = add_params(x.raw().address(), y, z, scratch.address, factor);
    let calls = [LaunchCall { grid: grid(), params: &params }];
    // SAFETY: the block is `Params`, and the tensors hold N elements and are freed in the stream's order.
    unsafe { add.run(stream, &Invocation { launches: &calls, host: &NotHere }) }?;
    Ok(())
}

fn expect_sum(z: &Tensor<f32>, stream: &Stream, expected: impl Fn(usize) -> f32) -> Result<(), Box<dyn Error>> {
    let found = z.to_host(stream)?.to_vec()?;
    match (0..N).find(|&n| found[n] != expected(n)) {
        None => Ok(()),
        Some(n) => Err(format!("element {n} is {} and should be {}", found[n], expected(n)).into()),
    }
}

fn index(n: usize) -> f32 {
    n as f32
}

fn parity(n: usize) -> f32 {
    (n % 2) as f32
}

fn add_vectors(device: &Device) -> Check {
    let stream = device.default_stream()?;
    let add = device.load(&add_program())?;
    let (x, y) = (vector(index)?.to_device(&stream)?, vector(parity)?.to_device(&stream)?);
    let mut z = Tensor::zeros_on(&stream, x.layout())?;
    z.fill_bytes(&stream, 0xff)?;
    submit_add(&add, &stream, x.view(), &y, &mut z, 3.0)?;
    // The memory of x is freed behind the launch that reads it.
    drop(x);
    let mut other = Tensor::<f32>::zeros_on(&stream, z.layout())?;
    other.fill_bytes(&stream, 0xff)?;
    expect_sum(&z, &stream, |n| index(n) + 3.0 * parity(n))?;
    Ok(format!("{:?}", add.kernels()[0]))
}

fn cluster_launch(device: &Device) -> Check {
    let stream = device.default_stream()?;
    let blocks = 8usize;
    let mut template = launch("cluster", CLUSTER, 72);
    template.cluster = [2, 1, 1];
    template.shared_bytes = device.info().smem_optin;
    let cluster = device.load(&program("smoke-cluster", ArchId::SM90, vec![template]))?;
    let out = Tensor::<i32>::zeros_on(&stream, Strided::dense(blocks, 3, Order::RowMajor))?;
    let mut params = out.view().raw().address().to_le_bytes().to_vec();
    params.extend((0..14).flat_map(|_| 0u32.to_le_bytes()));
    // The last word of the shared memory: all of it is there.
    params.extend((device.info().smem_optin / 4 - 1).to_le_bytes());
    params.extend([0; 4]);
    let calls = [LaunchCall { grid: [blocks as u32, 1, 1], params: &params }];
    // SAFETY: the block is `Params` and the tensor holds 3 numbers per block.
    unsafe { cluster.run(&stream, &Invocation { launches: &calls, host: &NotHere }) }?;
    let out = out.to_host(&stream)?;
    for b in 0..blocks {
        let expected = [b as i32 % 2, 2, 100 + (b as i32 ^ 1)];
        let found = [out.get(b, 0)?, out.get(b, 1)?, out.get(b, 2)?];
        if found != expected {
            return Err(format!("block {b} says {found:?} and should say {expected:?}").into());
        }
    }
    let resident = cluster.kernels()[0].max_active_clusters;
    if resident == 0 || resident > device.info().sms / 2 {
        return Err(format!("{resident} resident clusters of 2").into());
    }
    let odd = [LaunchCall { grid: [7, 1, 1], params: &params }];
    // SAFETY: refused before anything is launched.
    match unsafe { cluster.run(&stream, &Invocation { launches: &odd, host: &NotHere }) } {
        Err(RunError::Grid { .. }) => {
            Ok(format!("{resident} clusters of 2 are resident, preset {}", device.info().max_clusters(2)))
        }
        other => Err(format!("a grid of 7 blocks gave {other:?}").into()),
    }
}

fn dependent_launch(device: &Device) -> Check {
    let stream = device.new_stream()?;
    let mut second = launch("twice", DOUBLE, 16);
    second.pdl = device.info().capability.is_some_and(|capability| capability.major >= 9);
    let pdl = second.pdl;
    let both = device.load(&program("smoke-pdl", ArchId::SM75, vec![launch("add", ADD, 40), second]))?;
    let (x, y) = (vector(index)?.to_device(&stream)?, vector(parity)?.to_device(&stream)?);
    let z = Tensor::<f32>::zeros_on(&stream, x.layout())?;
    let scratch = both.workspace(&stream, 4 * N)?;
    let address = |tensor: &Tensor<f32>| tensor.view().raw().address();
    let first = add_params(address(&x), address(&y), address(&z), scratch.address, 5.0);
    let mut second = address(&z).to_le_bytes().to_vec();
    second.extend((N as u64).to_le_bytes());
    let calls = [LaunchCall { grid: grid(), params: &first }, LaunchCall { grid: grid(), params: &second }];
    for _ in 0..20 {
        // SAFETY: the blocks are the kernels' `Params`, over tensors of N elements.
        unsafe { both.run(&stream, &Invocation { launches: &calls, host: &NotHere }) }?;
    }
    expect_sum(&z, &stream, |n| 2.0 * (index(n) + 5.0 * parity(n)))?;
    Ok(format!("two launches, PDL {pdl}"))
}

fn graph_replay(device: &Device) -> Check {
    let (stream, other) = (device.new_stream()?, device.new_stream()?);
    let add = device.load(&add_program())?;
    let (mut x, y) = (vector(index)?.to_device(&stream)?, vector(parity)?.to_device(&stream)?);
    let mut z = Tensor::zeros_on(&stream, x.layout())?;

    let cold = stream.capture(|stream| add.workspace(stream, 4 * N).map(drop));
    let Err(CaptureError::Body(WorkspaceError::Capturing { .. })) = cold else {
        return Err(format!("an unprepared capture gave {cold:?}").into());
    };
    if stream.is_capturing()? {
        return Err("the failed capture did not end".into());
    }
    add.workspace(&stream, 4 * N)?;
    let inside = std::cell::RefCell::new(None);
    let graph = stream.capture(|stream| {
        *inside.borrow_mut() = Some(y.to_device(stream).map(drop));
        submit_add(&add, stream, x.view(), &y, &mut z, 2.0).map_err(|error| std::io::Error::other(error.to_string()))
    })?;
    let Some(Err(TensorError::Memory(MemoryError::Capturing { .. }))) = inside.into_inner() else {
        return Err("an allocation inside the capture was not refused".into());
    };
    drop(add);
    z.fill_bytes(&stream, 0xff)?;
    for replay in 0..3 {
        let byte = [0x00, 0x3f, 0x40][replay];
        x.fill_bytes(&stream, byte)?;
        let value = f32::from_bits(u32::from_le_bytes([byte; 4]));
        graph.launch(if replay == 2 { &other } else { &stream })?;
        expect_sum(&z, &stream, |n| value + 2.0 * parity(n))?;
    }
    Ok("three replays with changed inputs, one on another stream, its program dropped".into())
}

fn threads_and_streams(device: &Device) -> Check {
    let add = device.load(&add_program())?;
    let run = |thread: usize| -> Result<(), Box<dyn Error>> {
        let streams = [(); 4].map(|()| device.new_stream()).into_iter().collect::<Result<Vec<_>, _>>()?;
        for round in 0..10 {
            let mut results = Vec::new();
            for (s, stream) in streams.iter().enumerate() {
                let base = (1000 * thread + 100 * s + round) as f32;
                let x = vector(|_| base)?.to_device(stream)?;
                let y = vector(parity)?.to_device(stream)?;
                let mut z = Tensor::zeros_on(stream, x.layout())?;
                submit_add(&add, stream, x.view(), &y, &mut z, 7.0)?;
                results.push((z, base));
            }
            for ((z, base), stream) in results.iter().zip(&streams) {
                expect_sum(z, stream, |n| base + 7.0 * parity(n))?;
            }
        }
        Ok(())
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|t| scope.spawn(move || run(t).map_err(|error| error.to_string()))).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().unwrap_or_else(|_| Err("panicked".into())).err())
            .collect()
    });
    if failures.is_empty() { Ok("8 threads × 4 streams × 10 rounds".into()) } else { Err(failures.join("; ").into()) }
}

fn foreign_stream(device: &Device) -> Check {
    let Space::Cuda(ordinal) = device.space() else { return Err("not a CUDA device".into()) };
    let context = cudarc::driver::CudaContext::new(ordinal)?;
    let theirs = context.new_stream()?;
    let stream = Stream::from_cuda(theirs.clone())?;
    if stream.device() != device || stream.id() != Stream::from_cuda(theirs.clone())?.id() {
        return Err("the wrapped stream is of another device".into());
    }
    let add = device.load(&add_program())?;
    let host: Vec<f32> = (0..N).map(index).collect();
    let slice = theirs.clone_htod(&host)?;
    let layout = Strided::dense(1, N, Order::RowMajor);
    let y = vector(parity)?.to_device(&stream)?;
    let mut z = Tensor::from_cuda_slice(theirs.alloc_zeros::<f32>(N)?, layout)?;
    let view = slice.as_view();
    submit_add(&add, &stream, TensorView::from_cuda_view(&view, layout)?, &y, &mut z, 4.0)?;
    expect_sum(&z, &stream, |n| index(n) + 4.0 * parity(n))?;
    let back = z.into_cuda_slice().map_err(|_| "the tensor is not CUDA's")?;
    if theirs.clone_dtoh(&back)?[3] != 7.0 {
        return Err("the slice that comes back holds something else".into());
    }
    if TensorView::from_cuda_view(&view, Strided::dense(2, N, Order::RowMajor)).is_ok() {
        return Err("a view beyond the slice was made".into());
    }
    Ok("a foreign stream, a slice there and back, a view".into())
}

fn refusals(device: &Device) -> Check {
    let stream = device.default_stream()?;
    let missing = device.load(&program("smoke-missing", ArchId::SM75, vec![launch("no_such_kernel", ADD, 40)]));
    let Err(LoadError::MissingEntry { .. }) = missing else { return Err(format!("{missing:?}").into()) };
    let broken = device.load(&program("smoke-broken", ArchId::SM75, vec![launch("f", "this is not CUDA", 4)]));
    let Err(LoadError::Compile(error)) = broken else { return Err(format!("{broken:?}").into()) };
    let wrong_tag = if device.info().check_tag(ArchId::SM100).is_ok() { ArchId::SM90 } else { ArchId::SM100 };
    let mismatch = device.load(&program("smoke-arch", wrong_tag, vec![launch("add", ADD, 40)]));
    let Err(mismatch @ LoadError::Arch { .. }) = mismatch else { return Err(format!("{mismatch:?}").into()) };
    let mut greedy = launch("add", ADD, 40);
    greedy.shared_bytes = device.info().smem_optin + 1;
    let greedy = device.load(&program("smoke-greedy", ArchId::SM75, vec![greedy]));
    let Err(LoadError::Limit { .. }) = greedy else { return Err(format!("{greedy:?}").into()) };
    let add = device.load(&add_program())?;
    for calls in
        [&[][..], &[LaunchCall { grid: grid(), params: &[0; 39] }], &[LaunchCall { grid: [0, 1, 1], params: &[0; 40] }]]
    {
        // SAFETY: refused before anything is launched.
        if unsafe { add.run(&stream, &Invocation { launches: calls, host: &NotHere }) }.is_ok() {
            return Err(format!("{calls:?} was accepted").into());
        }
    }
    let huge = Tensor::<f32>::zeros_on(&stream, Strided::dense(1 << 21, 1 << 21, Order::RowMajor));
    let Err(TensorError::Memory(MemoryError::OutOfMemory { .. })) = huge else {
        return Err(format!("{huge:?}").into());
    };
    stream.synchronize()?;
    Ok(format!("{mismatch}; {}", error.to_string().lines().next().unwrap_or_default()))
}

/// A check's name and what it does.
type Named = (&'static str, fn(&Device) -> Check);

fn main() -> ExitCode {
    let ordinal = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let device = match Device::cuda(ordinal) {
        Ok(device) => device,
        Err(error) => {
            println!("FAILED device: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{:#?}", device.info());
    let checks: [Named; 7] = [
        ("add vectors", add_vectors),
        ("cluster launch", cluster_launch),
        ("dependent launch", dependent_launch),
        ("graph replay", graph_replay),
        ("threads and streams", threads_and_streams),
        ("foreign stream", foreign_stream),
        ("refusals", refusals),
    ];
    let mut failed = 0;
    for (name, check) in checks {
        match check(&device) {
            Ok(detail) => println!("ok     {name}: {detail}"),
            Err(error) => {
                failed += 1;
                println!("FAILED {name}: {error}");
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
