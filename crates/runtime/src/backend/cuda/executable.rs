//! Loading cubins and launching their kernels.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute_enum as Attribute, CUlaunchAttributeID_enum as AttributeId};
use cudarc::driver::{CudaContext, result};
use rayon::prelude::*;
use warpwright_arch::{DeviceInfo, Target, nvrtc_target};

use super::fault::fault;
use super::stream;
use crate::backend::{BackendExecutable, BackendStream};
use crate::cache::Cache;
use crate::{DriverFault, Invocation, KernelInfo, LaunchCall, LaunchTemplate, LoadError, Program, RunError, nvrtc};

/// What the driver passes to a kernel at most, in bytes.
const MAX_PARAMETER_BYTES: usize = 32_764;

/// Clusters larger than this need a function's consent.
const PORTABLE_CLUSTER: u32 = 8;

/// Dynamic shared memory beyond this needs a function's consent, in bytes.
const SHARED_WITHOUT_CONSENT: u32 = 48 * 1024;

#[derive(Debug)]
pub(super) struct CudaExecutable {
    program: String,
    kernels: Vec<Kernel>,
    infos: Vec<KernelInfo>,
    /// Keeps the kernels loaded.
    _modules: Vec<Module>,
}

#[derive(Debug)]
struct Kernel {
    function: sys::CUfunction,
    entry: String,
    block: [u32; 3],
    cluster: [u32; 3],
    shared_bytes: u32,
    params_bytes: usize,
    pdl: bool,
}

// SAFETY: function handles may be used from any thread; nothing changes a function after `load`.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl CudaExecutable {
    pub(super) fn load(
        context: &Arc<CudaContext>,
        info: &DeviceInfo,
        program: &Program,
    ) -> Result<CudaExecutable, LoadError> {
        let target = match info.capability {
            Some(capability) => nvrtc_target(program.tag, capability).map_err(|mismatch| LoadError::Arch {
                program: program.name.clone(),
                device: info.name.clone(),
                mismatch,
            })?,
            None => Target::of_tag(program.tag),
        };
        program.launches.iter().try_for_each(|launch| check_limits(launch, info))?;
        let sources: Vec<Source<'_>> = distinct_sources(program);
        let cubins: Vec<Vec<u8>> = sources
            .par_iter()
            .map(|&(source, options)| match assembly(source) {
                Some(image) => Ok(image),
                None => nvrtc::cubin(Cache::global(), source, &program.name, target, options).map(|found| found.cubin),
            })
            .collect::<Result<_, _>>()?;

        let refused = |fault| LoadError::Driver { program: program.name.clone(), fault };
        context.bind_to_thread().map_err(|error| refused(fault("cuCtxSetCurrent", error)))?;
        let modules: Vec<Module> =
            cubins.iter().map(|cubin| Module::load(context, cubin)).collect::<Result<_, _>>().map_err(refused)?;
        let of_source: HashMap<Source<'_>, usize> = sources.into_iter().zip(0..).collect();
        let mut kernels = Vec::with_capacity(program.launches.len());
        let mut infos = Vec::with_capacity(program.launches.len());
        for launch in &program.launches {
            let module = &modules[of_source[&(launch.source.as_str(), launch.options.as_slice())]];
            let missing = || LoadError::MissingEntry { program: program.name.clone(), entry: launch.entry.clone() };
            let function = module.function(&launch.entry).map_err(refused)?.ok_or_else(missing)?;
            let kernel = Kernel::prepare(function, launch).map_err(refused)?;
            let described = kernel.describe().map_err(refused)?;
            // Spilled registers were warned of when the kernel was compiled.
            log::debug!("{}: loaded {described:?}", program.name);
            infos.push(described);
            kernels.push(kernel);
        }
        Ok(CudaExecutable { program: program.name.clone(), kernels, infos, _modules: modules })
    }
}

type Source<'a> = (&'a str, &'a [String]);

fn distinct_sources(program: &Program) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    for launch in &program.launches {
        let source = (launch.source.as_str(), launch.options.as_slice());
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// The image that the driver assembles itself, if the source is PTX: the text with the NUL that ends it.
fn assembly(source: &str) -> Option<Vec<u8>> {
    source.trim_start().starts_with(".version").then(|| source.bytes().chain([0]).collect())
}

/// Refuses what no launch of this template could do on the device.
fn check_limits(launch: &LaunchTemplate, info: &DeviceInfo) -> Result<(), LoadError> {
    let product = |dims: [u32; 3]| dims.iter().map(|&d| u64::from(d)).product::<u64>();
    let max_cluster = info.newest_tag().map_or(1, |tag| tag.max_cluster());
    let limits = [
        ("bytes of dynamic shared memory per block", u64::from(launch.shared_bytes), u64::from(info.smem_optin)),
        ("threads per block", product(launch.block), 1024),
        ("blocks per cluster", product(launch.cluster), cluster_limit(info, max_cluster)),
        ("bytes of parameters", launch.params_bytes as u64, MAX_PARAMETER_BYTES as u64),
    ];
    for (what, value, limit) in limits {
        // An extent of 0 is a mistake of the same kind, except of memory.
        let is_extent = !what.starts_with("bytes");
        if value > limit || is_extent && value == 0 {
            return Err(LoadError::Limit {
                entry: launch.entry.clone(),
                what,
                value,
                limit,
                device: info.name.clone(),
            });
        }
    }
    Ok(())
}

/// Devices whose newest tag is an older one than their capability have clusters all the same.
fn cluster_limit(info: &DeviceInfo, of_tag: u32) -> u64 {
    let has_clusters = info.capability.is_some_and(|capability| capability.major >= 9);
    u64::from(if has_clusters { of_tag.max(PORTABLE_CLUSTER) } else { 1 })
}

impl BackendExecutable for CudaExecutable {
    fn kernels(&self) -> &[KernelInfo] {
        &self.infos
    }

    unsafe fn run(&self, stream: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        let calls = invocation.launches;
        if calls.len() != self.kernels.len() {
            let (given, expected) = (calls.len(), self.kernels.len());
            return Err(RunError::LaunchCount { program: self.program.clone(), given, expected });
        }
        self.kernels.iter().zip(calls).try_for_each(|(kernel, call)| kernel.check(call))?;
        let refused = |entry: &str, fault| RunError::Launch { entry: entry.to_owned(), fault };
        let Some(queue) = stream::of(stream) else {
            let fault = DriverFault {
                call: "cuLaunchKernelEx",
                code: sys::CUresult::CUDA_ERROR_INVALID_HANDLE as u32,
                name: "CUDA_ERROR_INVALID_HANDLE".into(),
                text: "the stream is not one of CUDA's".into(),
            };
            return Err(refused(&self.program, fault));
        };
        let stream = queue.stream();
        stream.context().bind_to_thread().map_err(|error| refused(&self.program, fault("cuCtxSetCurrent", error)))?;
        for (kernel, call) in self.kernels.iter().zip(calls) {
            // SAFETY: the caller vouches for the parameters; `check` compared their size.
            unsafe { kernel.launch(stream.cu_stream(), call) }.map_err(|fault| refused(&kernel.entry, fault))?;
        }
        Ok(())
    }
}

impl Kernel {
    fn prepare(function: sys::CUfunction, launch: &LaunchTemplate) -> Result<Kernel, DriverFault> {
        let set = |attribute: Attribute, value: i32| {
            // SAFETY: the function is valid.
            unsafe { sys::cuFuncSetAttribute(function, attribute, value) }
                .result()
                .map_err(|error| fault("cuFuncSetAttribute", error))
        };
        if launch.shared_bytes > SHARED_WITHOUT_CONSENT {
            set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes as i32)?;
        }
        if launch.cluster.iter().product::<u32>() > PORTABLE_CLUSTER {
            set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        Ok(Kernel {
            function,
            entry: launch.entry.clone(),
            block: launch.block,
            cluster: launch.cluster,
            shared_bytes: launch.shared_bytes,
            params_bytes: launch.params_bytes,
            pdl: launch.pdl,
        })
    }

    fn describe(&self) -> Result<KernelInfo, DriverFault> {
        let get = |attribute: Attribute| {
            let mut value = 0;
            // SAFETY: the function is valid and the value is written to.
            unsafe { sys::cuFuncGetAttribute(&mut value, attribute, self.function) }
                .result()
                .map(|()| value.unsigned_abs())
                .map_err(|error| fault("cuFuncGetAttribute", error))
        };
        let (threads, shared) = (self.block.iter().product::<u32>() as i32, self.shared_bytes as usize);
        let mut blocks = 0;
        // SAFETY: the function is valid and the number is written to.
        unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, shared) }
            .result()
            .map_err(|error| fault("cuOccupancyMaxActiveBlocksPerMultiprocessor", error))?;
        let mut info = KernelInfo::new(self.entry.clone());
        info.registers = get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        info.local_bytes = get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        info.static_shared_bytes = get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        info.blocks_per_sm = blocks.unsigned_abs();
        info.max_active_clusters = self.max_active_clusters()?;
        Ok(info)
    }

    /// How many clusters of this launch are resident at once; 0 for a launch without clusters.
    fn max_active_clusters(&self) -> Result<u32, DriverFault> {
        if self.cluster == [1, 1, 1] {
            return Ok(0);
        }
        let mut attributes = self.attributes(false);
        let config = self.config(self.cluster, ptr::null_mut(), &mut attributes);
        let mut clusters = 0;
        // SAFETY: the function is valid, the configuration's attributes outlive the call, and the number is written to.
        unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, self.function, &config) }
            .result()
            .map_err(|error| fault("cuOccupancyMaxActiveClusters", error))?;
        Ok(clusters.unsigned_abs())
    }

    fn check(&self, call: &LaunchCall<'_>) -> Result<(), RunError> {
        if call.params.len() != self.params_bytes {
            let (given, expected) = (call.params.len(), self.params_bytes);
            return Err(RunError::ParameterSize { entry: self.entry.clone(), given, expected });
        }
        check_grid(call.grid, self.cluster).map_err(|rule| RunError::Grid {
            entry: self.entry.clone(),
            grid: call.grid,
            rule,
        })
    }

    /// Submits one launch.
    ///
    /// # Safety
    /// See [`BackendExecutable::run`]; `call` was checked.
    unsafe fn launch(&self, stream: sys::CUstream, call: &LaunchCall<'_>) -> Result<(), DriverFault> {
        let mut attributes = self.attributes(self.pdl);
        let config = self.config(call.grid, stream, &mut attributes);
        let mut parameters = [call.params.as_ptr().cast_mut().cast::<c_void>()];
        let list = if call.params.is_empty() { ptr::null_mut() } else { parameters.as_mut_ptr() };
        // SAFETY: function and stream are valid. The driver copies the one parameter, whose size is the kernel's, before the
        // call returns, and does not write to it.
        unsafe { sys::cuLaunchKernelEx(&config, self.function, list, ptr::null_mut()) }
            .result()
            .map_err(|error| fault("cuLaunchKernelEx", error))
    }

    fn attributes(&self, pdl: bool) -> Attributes {
        let mut attributes = Attributes { used: 0, list: [EMPTY_ATTRIBUTE; 2] };
        if self.cluster != [1, 1, 1] {
            let [x, y, z] = self.cluster;
            let mut value = EMPTY_VALUE;
            value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            attributes.push(AttributeId::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
        }
        if pdl {
            let mut value = EMPTY_VALUE;
            value.programmaticStreamSerializationAllowed = 1;
            attributes.push(AttributeId::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value);
        }
        attributes
    }

    fn config(&self, grid: [u32; 3], stream: sys::CUstream, attributes: &mut Attributes) -> sys::CUlaunchConfig {
        sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.shared_bytes,
            hStream: stream,
            attrs: attributes.list.as_mut_ptr(),
            numAttrs: attributes.used as u32,
        }
    }
}

/// The rule that a grid breaks.
fn check_grid(grid: [u32; 3], cluster: [u32; 3]) -> Result<(), String> {
    const LIMITS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
    for (axis, ((extent, limit), blocks)) in "xyz".chars().zip(grid.into_iter().zip(LIMITS).zip(cluster)) {
        if extent == 0 {
            return Err(format!("{axis} is 0; a run without work submits nothing"));
        }
        if extent > limit {
            return Err(format!("{axis} may be {limit} at most"));
        }
        if !extent.is_multiple_of(blocks) {
            return Err(format!("{axis} must be a multiple of the cluster's {blocks}"));
        }
    }
    Ok(())
}

const EMPTY_VALUE: sys::CUlaunchAttributeValue = sys::CUlaunchAttributeValue { pad: [0; 64] };
const EMPTY_ATTRIBUTE: sys::CUlaunchAttribute =
    sys::CUlaunchAttribute { id: AttributeId::CU_LAUNCH_ATTRIBUTE_IGNORE, pad: [0; 4], value: EMPTY_VALUE };

/// A launch's attributes, on the stack.
struct Attributes {
    used: usize,
    list: [sys::CUlaunchAttribute; 2],
}

impl Attributes {
    fn push(&mut self, id: sys::CUlaunchAttributeID, value: sys::CUlaunchAttributeValue) {
        self.list[self.used] = sys::CUlaunchAttribute { id, pad: [0; 4], value };
        self.used += 1;
    }
}

/// A loaded cubin.
#[derive(Debug)]
struct Module {
    module: sys::CUmodule,
    context: Arc<CudaContext>,
}

// SAFETY: module handles may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    fn load(context: &Arc<CudaContext>, cubin: &[u8]) -> Result<Module, DriverFault> {
        // SAFETY: the image is a whole cubin, which NVRTC made, the cache returning nothing that fails its checksum; or it is
        // PTX that a NUL ends.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast()) }
            .map_err(|error| fault("cuModuleLoadData", error))?;
        Ok(Module { module, context: context.clone() })
    }

    /// The kernel of this name, if there is one.
    fn function(&self, entry: &str) -> Result<Option<sys::CUfunction>, DriverFault> {
        let Ok(name) = CString::new(entry) else { return Ok(None) };
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, the name is NUL-terminated and the handle is written to.
        match unsafe { sys::cuModuleGetFunction(&mut function, self.module, name.as_ptr()) }.result() {
            Ok(()) => Ok(Some(function)),
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_FOUND => Ok(None),
            Err(error) => Err(fault("cuModuleGetFunction", error)),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: it is unloaded once, when no `Executable` or graph refers to it any more.
        self.context.record_err(unsafe { result::module::unload(self.module) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> LaunchTemplate {
        LaunchTemplate {
            entry: "kernel".into(),
            source: String::new(),
            options: Vec::new(),
            block: [128, 1, 1],
            cluster: [1, 1, 1],
            shared_bytes: 0,
            params_bytes: 8,
            pdl: false,
        }
    }

    #[test]
    fn grids_that_no_device_takes_are_refused() {
        assert_eq!(check_grid([i32::MAX as u32, 65_535, 65_535], [1, 1, 1]), Ok(()));
        assert_eq!(check_grid([4, 6, 1], [2, 3, 1]), Ok(()));
        for (grid, cluster) in
            [([0, 1, 1], [1, 1, 1]), ([1, 65_536, 1], [1, 1, 1]), ([1 << 31, 1, 1], [1, 1, 1]), ([5, 1, 1], [2, 1, 1])]
        {
            assert!(check_grid(grid, cluster).is_err(), "{grid:?} {cluster:?}");
        }
    }

    #[test]
    fn limits_are_the_devices() {
        let h200 = DeviceInfo::h200();
        assert_eq!(check_limits(&launch(), &h200), Ok(()));
        assert_eq!(
            check_limits(&LaunchTemplate { shared_bytes: 232_448, cluster: [16, 1, 1], ..launch() }, &h200),
            Ok(())
        );
        let wrong = [
            LaunchTemplate { shared_bytes: 232_449, ..launch() },
            LaunchTemplate { block: [1024, 2, 1], ..launch() },
            LaunchTemplate { block: [0, 1, 1], ..launch() },
            LaunchTemplate { cluster: [17, 1, 1], ..launch() },
            LaunchTemplate { params_bytes: 40_000, ..launch() },
        ];
        for launch in wrong {
            assert!(matches!(check_limits(&launch, &h200), Err(LoadError::Limit { .. })), "{launch:?}");
        }
        let clustered = LaunchTemplate { cluster: [2, 1, 1], ..launch() };
        let error = check_limits(&clustered, &DeviceInfo::a100()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel `kernel` asks for 2 blocks per cluster, and NVIDIA A100-SXM4-80GB allows 1"
        );
    }

    #[test]
    fn equal_sources_are_compiled_once() {
        let with = |source: &str, option: &str| LaunchTemplate {
            source: source.into(),
            options: vec![option.into()],
            ..launch()
        };
        let launches = vec![with("a", "x"), with("b", "x"), with("a", "x"), with("a", "y")];
        let program =
            Program { name: "p".into(), tag: warpwright_arch::ArchId::SM80, launches, workspace: Default::default() };
        assert_eq!(distinct_sources(&program).len(), 3);
    }
}
