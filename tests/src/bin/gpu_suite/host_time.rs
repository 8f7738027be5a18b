//! What a call costs the host: `run` of a prepared plan beside the driver's own launch of an empty kernel with the same grid,
//! attributes and bytes of parameters, in turn, with new addresses in every call.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::time::Instant;

use warpwright::arch::Target;
use warpwright::kernels::lower;
use warpwright::prelude::*;
use warpwright::runtime::{Executable, Invocation, cache::Cache, nvrtc};
use warpwright::spec::{KernelPlan, Problem};
use warpwright::{Arguments, DeviceInfo, ScheduleId};
use warpwright_tests::launched::{NotOnTheHost, packed};
use warpwright_tests::stand_in::stand_in;

use crate::Part;

/// Calls between two waits: fewer than a stream takes before it makes the caller wait.
const BURST: usize = 64;
const ROUNDS: usize = 400;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: *mut c_void,
    attributes: *mut c_void,
    count: c_uint,
}

type LoadData = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
type GetFunction = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
type SetAttribute = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int;
type CreateStream = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
type Synchronize = unsafe extern "C" fn(*mut c_void) -> c_int;
type Launch = unsafe extern "C" fn(*const Config, *mut c_void, *mut *mut c_void, *mut *mut c_void) -> c_int;

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

pub fn run(device: &Device, small: bool) -> Part {
    times(device, if small { 4 } else { ROUNDS }).map_err(|e| e.to_string())
}

fn ok(call: &str, code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(format!("{call} answers {code}").into()) }
}

/// A prepared kernel with operands to run it on: which of them a call takes is its number's to say.
struct Calls {
    run: Box<dyn FnMut(usize) -> Result<()>>,
    stream: Stream,
    plan: KernelPlan,
}

const EXTENTS: (usize, usize, usize) = (256, 256, 64);

impl Calls {
    fn new(device: &Device) -> Result<Calls> {
        let stream = device.new_stream()?;
        let (m, n, k) = EXTENTS;
        let operand = |rows, columns| Tensor::<bf16>::zeros_on(&stream, Strided::dense(rows, columns, Order::RowMajor));
        let sets = (0..4).map(|_| Ok((operand(m, k)?, operand(n, k)?, operand(m, n)?)));
        let mut sets = sets.collect::<Result<Vec<_>>>()?;
        let mut gemm = GemmBuilder::<Sm90, bf16, f32>::auto().schedule::<Cooperative>().build(device)?;
        let desc =
            GemmDesc { schedule: ScheduleId::COOPERATIVE, ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32) };
        let plan = AnyGemm::new(&desc, device)?.plan(&Problem::dense(m, n, k))?;
        let on = stream.clone();
        let mut run = move |i: usize| {
            let (a, b, d) = &mut sets[i % 4];
            Ok(gemm.run(&on, a, &b.view().transposed(), d)?)
        };
        run(0)?;
        stream.synchronize()?;
        Ok(Calls { run: Box::new(run), stream, plan })
    }

    /// A burst's mean in us.
    fn burst(&mut self) -> Result<f64> {
        let mean = burst(&mut self.run)?;
        self.stream.synchronize()?;
        Ok(mean)
    }
}

fn median(times: Vec<f64>) -> f64 {
    let mut times = times;
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What a call costs on a device that does nothing: the library's own part, with its own encoder of tensor maps.
pub fn without_driver(rounds: usize) -> Result<f64> {
    let mut calls = Calls::new(&stand_in(DeviceInfo::h200()))?;
    Ok(median((0..rounds).map(|_| calls.burst()).collect::<Result<_>>()?))
}

fn times(device: &Device, rounds: usize) -> Result<String> {
    let mut calls = Calls::new(device)?;
    let plan = calls.plan;
    let blocks = EXTENTS.0.div_ceil(plan.tile.m) * EXTENTS.1.div_ceil(plan.tile.n);
    let empty = Empty::new(&plan, blocks)?;
    empty.launch()?;
    empty.synchronize()?;
    let bare = Bare::new(device, &plan)?;
    let (mut ours, mut theirs, mut bares) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(calls.burst()?);
        theirs.push(burst(|_| empty.launch())?);
        empty.synchronize()?;
        bares.push(burst(|_| bare.launch())?);
        bare.stream.synchronize()?;
    }
    let (ours, theirs, bares, alone) = (median(ours), median(theirs), median(bares), without_driver(rounds)?);
    let bytes = empty.bytes;
    Ok(format!(
        "run {ours:.2} us, an empty kernel with {bytes} bytes of parameters {theirs:.2} us: {:.2}; launching what is packed {bares:.2} us, a run without a driver {alone:.2} us",
        ours / theirs
    ))
}

/// The mean of a burst of launches in us.
fn burst(mut launch: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    for i in 0..BURST {
        launch(i)?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e6 / BURST as f64)
}

/// The kernel with parameters that are packed already: what is left of a call below the builder.
struct Bare {
    executable: Executable,
    stream: Stream,
    call: lower::DeviceCall,
    _operands: [Tensor<bf16>; 3],
}

impl Bare {
    fn new(device: &Device, plan: &KernelPlan) -> Result<Bare> {
        let stream = device.new_stream()?;
        let (m, n, k) = EXTENTS;
        let operand = |rows, columns| Tensor::<bf16>::zeros_on(&stream, Strided::dense(rows, columns, Order::RowMajor));
        let (a, b, mut d) = (operand(m, k)?, operand(n, k)?, operand(m, n)?);
        let problem = Problem::dense(m, n, k);
        let arguments = Arguments {
            a: a.view().raw(),
            b: b.view().transposed().raw(),
            d: d.view_mut()?.into_raw(),
            epilogue: &Default::default(),
            extra: &[],
        };
        let resident = device.info().sms as usize;
        let call = packed(device, plan, &problem, &arguments, resident, Default::default())?;
        Ok(Bare { executable: device.load(&lower::program(plan)?)?, stream, call, _operands: [a, b, d] })
    }

    fn launch(&self) -> Result<()> {
        let invocation = Invocation { launches: &[self.call.launch()], host: &NotOnTheHost };
        // SAFETY: the operands are this device's, of the problem's extents, and live as long as this.
        Ok(unsafe { self.executable.run(&self.stream, &invocation) }?)
    }
}

/// A kernel that does nothing, launched through the driver alone.
struct Empty {
    launch: Launch,
    synchronize: Synchronize,
    _library: libloading::Library,
    function: *mut c_void,
    stream: *mut c_void,
    grid: usize,
    block: usize,
    shared: usize,
    bytes: usize,
    parameters: Vec<u8>,
}

impl Empty {
    fn new(plan: &KernelPlan, grid: usize) -> Result<Empty> {
        let program = lower::program(plan)?;
        let template = program.launches.first().ok_or("no launch")?;
        let bytes = template.params_bytes;
        let source = format!(
            "struct alignas(64) P {{ unsigned char x[{bytes}]; }};\nextern \"C\" __global__ void empty(const __grid_constant__ P p) {{}}\n"
        );
        let cubin = nvrtc::cubin(Cache::global(), &source, "empty", Target::of_tag(ArchId::SM90), &[])?.cubin;
        // SAFETY: the driver's initialisers have no preconditions; it is loaded already.
        let library = unsafe { libloading::Library::new("libcuda.so.1") }?;
        let (mut module, mut function, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        let name = CString::new("empty")?;
        // SAFETY: these are the driver's functions with their types; the runtime's context is this thread's since the call
        // before, the image is a whole cubin, and every handle is written to.
        let (launch, synchronize) = unsafe {
            ok(
                "cuModuleLoadData",
                library.get::<LoadData>(b"cuModuleLoadData\0")?(&mut module, cubin.as_ptr().cast()),
            )?;
            let get = library.get::<GetFunction>(b"cuModuleGetFunction\0")?;
            ok("cuModuleGetFunction", get(&mut function, module, name.as_ptr()))?;
            let set = library.get::<SetAttribute>(b"cuFuncSetAttribute\0")?;
            ok("cuFuncSetAttribute", set(function, MAX_DYNAMIC_SHARED, template.shared_bytes as c_int))?;
            ok("cuStreamCreate", library.get::<CreateStream>(b"cuStreamCreate\0")?(&mut stream, NON_BLOCKING))?;
            (*library.get::<Launch>(b"cuLaunchKernelEx\0")?, *library.get::<Synchronize>(b"cuStreamSynchronize\0")?)
        };
        Ok(Empty {
            launch,
            synchronize,
            _library: library,
            function,
            stream,
            grid,
            block: template.block[0] as usize,
            shared: template.shared_bytes as usize,
            bytes,
            parameters: vec![0; bytes],
        })
    }

    fn launch(&self) -> Result<()> {
        let config = Config {
            grid: [self.grid as c_uint, 1, 1],
            block: [self.block as c_uint, 1, 1],
            shared: self.shared as c_uint,
            stream: self.stream,
            attributes: std::ptr::null_mut(),
            count: 0,
        };
        let mut parameters = [self.parameters.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: function and stream are valid, and the one parameter has the kernel's size.
        let code = unsafe { (self.launch)(&config, self.function, parameters.as_mut_ptr(), std::ptr::null_mut()) };
        ok("cuLaunchKernelEx", code)
    }

    fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is valid.
        ok("cuStreamSynchronize", unsafe { (self.synchronize)(self.stream) })
    }
}
