//! What the builder does with a GPU, on a stand-in that counts what is loaded and launched: tag and target, what has no device
//! code, plans before and in a capture, and that a prepared call neither compiles nor allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use warpwright::prelude::*;
use warpwright::runtime::backend::{Backend, BackendExecutable, BackendGraph, BackendStream, Buffer};
use warpwright::runtime::{
    CaptureError, Invocation, KernelInfo, LoadError, MemoryError, Program, StreamError, TensorMapFault, TensorMapSpec,
};
use warpwright::spec::Sink;
use warpwright::{
    Arg, Args, BuildError, CallArgs, DeviceInfo, KernelPlan, Node, PlanError, RunError, ScheduleId, SchedulerId, Space,
    Stream, WorkspacePtr,
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

#[derive(Debug, Default)]
struct Counts {
    loads: AtomicUsize,
    launches: AtomicUsize,
    capturing: AtomicBool,
}

/// A GPU without memory of its own: host tensors are its operands, and launches are counted.
#[derive(Debug)]
struct StandIn {
    info: DeviceInfo,
    counts: Arc<Counts>,
}

/// Calls of so many bytes of workspace and launches in captures: refused on a stream that nothing was allocated for, taken on one that was
/// prepared and with the caller's own; then calls that allocate nothing.
fn captures(
    device: &Device,
    counts: &Counts,
    warm: &Stream,
    (needed, launches): (usize, usize),
    mut run: impl FnMut(&Stream, Option<WorkspacePtr>) -> std::result::Result<(), RunError>,
) -> Result {
    let cold = device.new_stream()?;
    match cold.capture(|stream| run(stream, None)) {
        Err(CaptureError::Body(RunError::Workspace(_))) => {}
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(load(&counts.launches), 0);
    let _ = warm.capture(|stream| run(stream, None))?;
    let own = vec![0u8; needed + 256];
    let address = (own.as_ptr() as u64).next_multiple_of(256);
    let _ = cold.capture(|stream| run(stream, Some(WorkspacePtr { address, bytes: needed })))?;
    assert_eq!((load(&counts.loads), load(&counts.launches)), (1, 2 * launches));
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..10 {
        run(warm, None)?;
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
    Ok(())
}

#[test]
fn workspace_of_copies_is_there_before_a_capture_or_is_the_callers() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::h200());
    let mut gemm = GemmBuilder::<Sm90, bf16, f32>::auto().build(&device)?;
    let problem = Problem::dense(1024, 1024, 1001).aligned(warpwright::spec::Alignment { a: 2, b: 2, c: 16, d: 16 });
    let (a, b, mut d) =
        (Tensor::<bf16>::zeros(1024, 1001)?, Tensor::<bf16>::column_major(1001, 1024)?, Tensor::zeros(1024, 1024)?);
    // Lines of 2002 bytes, in copies 2048 apart.
    assert_eq!(gemm.prepare(&problem)?, 2 * 1024 * 2048);
    let warm = device.new_stream()?;
    let needed = gemm.prepare_on(&warm, &problem)?;
    captures(&device, &counts, &warm, (needed, 2), |stream, workspace| match workspace {
        None => gemm.run(stream, &a, &b, &mut d),
        own => gemm.run_in(stream, &a, &b, &mut d, own),
    })?;
    // What its user does not let it copy takes none.
    let gemm = gemm.repacks(false);
    assert_eq!(gemm.prepare(&problem)?, 0);
    Ok(())
}

impl StandIn {
    fn device(info: DeviceInfo) -> (Device, Arc<Counts>) {
        let counts = Arc::<Counts>::default();
        (Device::from_backend(StandIn { info, counts: counts.clone() }), counts)
    }
}

impl Backend for StandIn {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn space(&self) -> Space {
        Space::Host
    }
    fn open_stream(&self) -> std::result::Result<Box<dyn BackendStream>, StreamError> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Ok(Box::new(Queue(self.counts.clone(), NEXT.fetch_add(1, Ordering::Relaxed) as u64)))
    }
    fn synchronize(&self) -> std::result::Result<(), StreamError> {
        Ok(())
    }
    fn encode_tensor_map(&self, map: &TensorMapSpec) -> std::result::Result<[u8; 128], TensorMapFault> {
        Ok(map.encode()?)
    }
    fn load(&self, program: &Program) -> std::result::Result<Box<dyn BackendExecutable>, LoadError> {
        assert!(program.launches[0].source.contains("extern \"C\" __global__"));
        self.counts.loads.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Loaded(self.counts.clone())))
    }
}

#[derive(Debug)]
struct Loaded(Arc<Counts>);

impl BackendExecutable for Loaded {
    fn kernels(&self) -> &[KernelInfo] {
        &[]
    }
    unsafe fn run(
        &self,
        _: &dyn BackendStream,
        run: &Invocation<'_>,
    ) -> std::result::Result<(), warpwright::runtime::RunError> {
        self.0.launches.fetch_add(run.launches.len(), Ordering::Relaxed);
        Ok(())
    }
}

#[derive(Debug)]
struct Queue(Arc<Counts>, u64);

/// Memory that starts where a GPU's would.
#[derive(Debug)]
struct Block(Vec<u8>, usize);

// SAFETY: the bytes are this value's own, and the vector is never touched again.
unsafe impl Buffer for Block {
    fn space(&self) -> Space {
        Space::Host
    }
    fn address(&self) -> u64 {
        (self.0.as_ptr() as u64).next_multiple_of(256)
    }
    fn bytes(&self) -> usize {
        self.1
    }
}

struct Recorded;

impl BackendGraph for Recorded {
    fn launch(&self, _: &dyn BackendStream) -> std::result::Result<(), StreamError> {
        Ok(())
    }
}

impl BackendStream for Queue {
    fn handle(&self) -> u64 {
        self.1
    }
    fn synchronize(&self) -> std::result::Result<(), StreamError> {
        Ok(())
    }
    fn wait_for(&self, _: &dyn BackendStream) -> std::result::Result<(), StreamError> {
        Ok(())
    }
    fn is_capturing(&self) -> std::result::Result<bool, StreamError> {
        Ok(self.0.capturing.load(Ordering::Relaxed))
    }
    fn begin_capture(&self) -> std::result::Result<(), StreamError> {
        self.0.capturing.store(true, Ordering::Relaxed);
        Ok(())
    }
    fn end_capture(&self) -> std::result::Result<Box<dyn BackendGraph>, StreamError> {
        self.0.capturing.store(false, Ordering::Relaxed);
        Ok(Box::new(Recorded))
    }
    fn allocate(&self, bytes: usize) -> std::result::Result<Box<dyn Buffer>, MemoryError> {
        Ok(Box::new(Block(vec![0; bytes + 256], bytes)))
    }
    unsafe fn copy_from_host(&self, _: u64, _: &[u8]) -> std::result::Result<(), MemoryError> {
        Ok(())
    }
    unsafe fn copy_to_host(&self, _: u64, _: &mut [u8]) -> std::result::Result<(), MemoryError> {
        Ok(())
    }
    unsafe fn copy(&self, _: u64, _: u64, _: usize) -> std::result::Result<(), MemoryError> {
        Ok(())
    }
    unsafe fn fill(&self, _: u64, _: u8, _: usize) -> std::result::Result<(), MemoryError> {
        Ok(())
    }
}

/// Counts this thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn load(n: &AtomicUsize) -> usize {
    n.load(Ordering::Relaxed)
}

#[test]
fn a_tag_fits_a_device_or_is_refused_before_anything_is_compiled() -> Result {
    for (info, fits) in [
        (DeviceInfo::t4(), [true, false, false, false, false]),
        (DeviceInfo::a100(), [true, true, false, false, false]),
        (DeviceInfo::l40s(), [true, true, true, false, false]),
        (DeviceInfo::h200(), [true, true, true, true, false]),
        (DeviceInfo::b200(), [true, true, true, false, true]),
    ] {
        let (device, counts) = StandIn::device(info);
        for (&tag, fits) in ArchId::ALL.iter().zip(fits) {
            let error = match AnyGemm::new(&GemmDesc::new(tag, Dtype::F16, Dtype::F32), &device) {
                Ok(_) => {
                    assert!(fits, "{tag} on {}", device.name());
                    continue;
                }
                Err(error) => error,
            };
            let text = error.to_string();
            match error {
                BuildError::Plan(PlanError::ArchMismatch(_)) => {
                    assert!(!fits, "{text}");
                    assert!(text.contains(tag.name()) && text.contains("use the tag"), "{text}");
                }
                other => return Err(other.into()),
            }
        }
        assert_eq!(load(&counts.loads), 0);
    }
    Ok(())
}

#[test]
fn a_named_schedule_is_refused_and_auto_takes_what_exists() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::b200());
    let named =
        GemmBuilder::<Sm100, e4m3, f32>::auto().schedule::<OneSm>().build(&device).err().ok_or("it was built")?;
    assert!(named.to_string().contains("OneSm") && named.to_string().contains("no device code yet"), "{named}");
    let gemm = GemmBuilder::<Sm100, e4m3, f32>::auto().build(&device)?;
    let text = gemm.explain(&Problem::dense(4096, 4096, 4096))?;
    for word in ["Multistage", "instead of Tcgen05", "waves", "predicted"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let older = GemmBuilder::<Sm80, bf16, f32>::auto().build(&device)?.explain(&Problem::dense(4096, 4096, 4096))?;
    assert!(older.contains("Sm100 kernels run here too"), "{older}");
    assert_eq!(load(&counts.loads), 0, "Auto slots are compiled at the first run");
    Ok(())
}

#[test]
fn a_scheduler_that_cannot_feed_a_schedule_is_refused_before_anything_is_compiled() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::h200());
    let grouped = GemmBuilder::<Sm90, bf16, f32>::auto().schedule::<Cooperative>().scheduler::<Grouped>();
    let error = grouped.build(&device).err().ok_or("it was built")?.to_string();
    assert!(error.contains("Grouped tile scheduler has no device code for Cooperative kernels yet"), "{error}");
    let mut desc = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    (desc.schedule, desc.scheduler) = (ScheduleId::PINGPONG, SchedulerId::STREAM_K);
    let error = AnyGemm::new(&desc, &device).err().ok_or("it was built")?.to_string();
    assert!(error.contains("StreamK tile scheduler cannot feed a Pingpong kernel"), "{error}");
    assert_eq!(load(&counts.loads), 0);
    Ok(())
}

#[test]
fn fixed_slots_compile_at_build_and_serve_every_aligned_problem() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::a100());
    let stream = device.default_stream()?;
    let mut gemm = GemmBuilder::<Sm80, bf16, f32>::auto()
        .tile::<Tile<128, 128, 32>>()
        .cluster::<Cluster<1, 1>>()
        .schedule::<Multistage>()
        .stages::<U4>()
        .scheduler::<Persistent>()
        .layouts::<RowMajor, ColumnMajor, RowMajor>()
        .build(&device)?;
    assert_eq!(load(&counts.loads), 1);
    for (m, n, k) in [(256, 256, 256), (1024, 512, 64), (128, 4096, 32)] {
        let (a, b) = (Tensor::<bf16>::zeros(m, k)?, Tensor::<bf16>::column_major(k, n)?);
        gemm.run(&stream, &a, &b, &mut Tensor::zeros(m, n)?)?;
    }
    assert_eq!((load(&counts.loads), load(&counts.launches)), (1, 3));
    // An operand that 16-byte copies cannot reach gets a substitute, compiled when it is first met.
    let (a, b) = (Tensor::<bf16>::zeros(64, 31)?, Tensor::<bf16>::column_major(31, 64)?);
    gemm.run(&stream, &a, &b, &mut Tensor::zeros(64, 64)?)?;
    assert_eq!((load(&counts.loads), load(&counts.launches)), (2, 4));
    Ok(())
}

#[test]
fn an_unprepared_problem_in_a_capture_is_an_error_and_a_prepared_one_is_recorded() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::a100());
    let stream = device.new_stream()?;
    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto().build(&device)?;
    let (a, b, mut d) =
        (Tensor::<f16>::zeros(64, 64)?, Tensor::<f16>::column_major(64, 64)?, Tensor::<f16>::zeros(64, 64)?);
    match stream.capture(|stream| gemm.run(stream, &a, &b, &mut d)) {
        Err(CaptureError::Body(RunError::Unprepared)) => {}
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!((load(&counts.loads), load(&counts.launches)), (0, 0));
    assert!(!stream.is_capturing()?, "the capture was broken");
    assert_eq!(gemm.prepare(&Problem::dense(64, 64, 64))?, 0);
    assert_eq!(load(&counts.loads), 1);
    let _ = stream.capture(|stream| gemm.run(stream, &a, &b, &mut d))?;
    assert_eq!((load(&counts.loads), load(&counts.launches)), (1, 1));
    Ok(())
}

#[test]
fn a_prepared_call_compiles_nothing_and_allocates_nothing() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::a100());
    let stream = device.default_stream()?;
    let (bias, c) = (vec![0f32; 64], Tensor::<f16>::zeros(64, 64)?);
    let (a, b, mut d) = (Tensor::<f16>::zeros(64, 64)?, Tensor::<f16>::zeros(64, 64)?, Tensor::<f16>::zeros(64, 64)?);
    let kernel = GemmBuilder::<Sm80, f16, f32>::auto()
        .epilogue(relu(0.5 * acc() + row(&bias) + source(&c)))
        .build(&device)?
        .detach();
    kernel.run_with(&stream, &a, &b, &mut d, relu(2.0 * acc() + row(&bias) + source(&c)))?;
    let before = ALLOCATIONS.with(Cell::get);
    for i in 0..10 {
        kernel.run_with(&stream, &a, &b, &mut d, relu(i * acc() + row(&bias) + source(&c)))?;
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
    assert_eq!((load(&counts.loads), load(&counts.launches)), (1, 11));
    Ok(())
}

#[test]
fn a_prepared_call_with_tensor_maps_allocates_nothing() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::h200());
    let stream = device.default_stream()?;
    let (a, b, mut d) = (Tensor::<f16>::zeros(128, 64)?, Tensor::<f16>::zeros(64, 64)?, Tensor::<f16>::zeros(128, 64)?);
    let mut gemm = GemmBuilder::<Sm90, f16, f32>::auto().schedule::<Cooperative>().build(&device)?;
    gemm.run(&stream, &a, &b, &mut d)?;
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..10 {
        gemm.run(&stream, &a, &b, &mut d)?;
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
    assert_eq!((load(&counts.loads), load(&counts.launches)), (1, 11));
    Ok(())
}

/// Problems of one class differ in their extents and share what was compiled, however many there are.
#[test]
fn problems_of_one_class_share_a_kernel() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::a100());
    let stream = device.default_stream()?;
    let kernel = Kernel::<Composed<Sm80, f16, f32, Operands, Plan<Tile<64, 64, 32>>>>::compile(&device)?;
    for m in 1..=600 {
        let (a, b, mut d) = (Tensor::<f16>::zeros(m, 64)?, Tensor::<f16>::zeros(64, 64)?, Tensor::<f16>::zeros(m, 64)?);
        kernel.run_with(&stream, &a, &b, &mut d, acc())?;
    }
    assert_eq!((load(&counts.loads), load(&counts.launches)), (1, 600));
    Ok(())
}

/// Whatever number is declared, copies are of powers of two that divide it, and of whole elements.
#[test]
fn declared_alignments_permit_copies_of_powers_of_two() -> Result {
    let (device, _) = StandIn::device(DeviceInfo::h200());
    let gemm = AnyGemm::new(&GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32), &device)?.repacks(false);
    for (declared, width) in
        [(0, 2), (1, 2), (3, 2), (6, 2), (12, 4), (24, 8), (48, 16), (1 << 40, 16), (usize::MAX, 2)]
    {
        let aligned = warpwright::spec::Alignment { a: declared, b: 16, c: 16, d: declared };
        let plan = gemm.plan(&Problem::dense(256, 256, 256).aligned(aligned))?;
        let a = if plan.transposed { plan.widths.b } else { plan.widths.a };
        assert_eq!((a, plan.widths.d), (width, width), "{declared}");
    }
    Ok(())
}

/// Lines of any number of elements, one behind the other: what is prepared for the extents is what runs.
#[test]
fn what_is_prepared_for_extents_is_what_dense_operands_run() -> Result {
    macro_rules! prepared_and_run {
        ($builder:expr, $problem:expr, ($m:expr, $n:expr, $k:expr), $with:literal) => {
            let (device, counts) = StandIn::device(DeviceInfo::h200());
            let mut gemm = $builder.build(&device)?;
            let stream = device.new_stream()?;
            let (a, b) = (Tensor::<bf16>::zeros($m, $k)?, Tensor::<bf16>::column_major($k, $n)?);
            let mut d = Tensor::zeros($m, $n)?;
            let _ = gemm.prepare_on(&stream, &$problem)?;
            let prepared = load(&counts.loads);
            gemm.run(&stream, &a, &b, &mut d)?;
            assert_eq!((prepared, load(&counts.loads)), (1, 1), "{} x {} x {}{}", $m, $n, $k, $with);
        };
    }
    let builder = || GemmBuilder::<Sm90, bf16, f32>::auto();
    for (m, n, k) in
        [(7, 100, 77), (7, 5, 5), (1, 64, 33), (33, 1, 20), (64, 48, 40), (1, 1, 1), (128, 130, 131), (64, 48, 0)]
    {
        prepared_and_run!(builder(), Problem::dense(m, n, k), (m, n, k), "");
    }
    for (m, n, k) in [(33, 1, 20), (1, 33, 20), (33, 17, 20)] {
        let c = Tensor::<bf16>::zeros(m, n)?;
        let builder = builder().epilogue(acc() + source(&c));
        prepared_and_run!(builder, Problem::dense(m, n, k), (m, n, k), " with a source");
    }
    // A source that a zero drops is planned as one that is read.
    for (m, n, k) in [(33, 17, 20), (2, 20, 2000)] {
        let c = Tensor::<bf16>::zeros(m, n)?;
        for beta in [0.0, 1.0] {
            prepared_and_run!(
                builder().epilogue(acc() + beta * source(&c)),
                Problem::dense(m, n, k),
                (m, n, k),
                " with beta"
            );
        }
    }
    // Lines of A and B begin at multiples of 8 bytes and no more; there is no matrix C of which something is declared.
    let declared = Problem::dense(64, 60, 20).aligned(warpwright::spec::Alignment { a: 8, b: 8, c: 8, d: 8 });
    prepared_and_run!(builder(), declared, (64, 60, 20), " as declared");
    Ok(())
}

/// Vectors lie in both orders, what is empty in none, and outputs of the epilogue bound its copies: what is told of a call is what ran.
#[test]
fn the_plan_of_a_call_is_the_one_that_runs() -> Result {
    let bf16 = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    let stored: &'static Node = Box::leak(Box::new(Node::Sink(Sink::Matrix(Dtype::Bf16), &Node::LoadAcc)));
    for ((m, n, k), (order_a, order_b)) in [
        ((33, 1, 20), (Order::RowMajor, Order::RowMajor)),
        ((20, 33, 1), (Order::RowMajor, Order::RowMajor)),
        ((20, 33, 0), (Order::ColumnMajor, Order::RowMajor)),
        ((1, 40, 24), (Order::ColumnMajor, Order::ColumnMajor)),
        ((130, 70, 50), (Order::ColumnMajor, Order::RowMajor)),
    ] {
        for epilogue in [&Node::LoadAcc, stored] {
            let (device, _) = StandIn::device(DeviceInfo::h200());
            let gemm = AnyGemm::new(&GemmDesc { epilogue, ..bf16 }, &device)?;
            let stream = device.new_stream()?;
            let zeros = |rows, columns, order| Tensor::<bf16>::zeros_in(Strided::dense(rows, columns, order));
            let (a, b) = (zeros(m, k, order_a)?, zeros(k, n, order_b)?);
            let (mut d, mut beside) = (zeros(m, n, Order::RowMajor)?, zeros(m, n, Order::RowMajor)?);
            let mut args = Args::new();
            if *epilogue != Node::LoadAcc {
                args.push(Arg::Write(beside.view_mut()?.into_raw()));
            }
            let call = CallArgs { epilogue: args, ..CallArgs::default() };
            let (a, b, d) = (a.view().raw(), b.view().raw(), d.view_mut()?.into_raw());
            let told = gemm.plan_of_call(a, b, d, call)?;
            assert!(gemm.compiled().is_empty());
            gemm.run_raw(&stream, a, b, d, call)?;
            let [(ran, _)] = gemm.compiled().try_into().map_err(|_| "one kernel")?;
            // Of what is no part of the source, what was compiled says nothing.
            let told = KernelPlan { raster: ran.raster, swizzle: ran.swizzle, splits: ran.splits, ..told };
            assert_eq!(told, ran, "{m} x {n} x {k}, {epilogue}");
        }
    }
    Ok(())
}

#[test]
fn workspace_of_a_split_is_there_before_a_capture_or_is_the_callers() -> Result {
    let (device, counts) = StandIn::device(DeviceInfo::a100());
    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto().build(&device)?;
    let problem = Problem::dense(64, 64, 16384);
    let (a, b, mut d) =
        (Tensor::<f16>::zeros(64, 16384)?, Tensor::<f16>::column_major(16384, 64)?, Tensor::<f16>::zeros(64, 64)?);
    let needed = gemm.prepare(&problem)?;
    assert!(needed > 0, "K is not split");
    let warm = device.new_stream()?;
    assert_eq!(gemm.prepare_on(&warm, &problem)?, needed);
    captures(&device, &counts, &warm, (needed, 1), |stream, workspace| match workspace {
        None => gemm.run(stream, &a, &b, &mut d),
        own => gemm.run_in(stream, &a, &b, &mut d, own),
    })?;
    Ok(())
}
