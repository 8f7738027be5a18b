//! Loading cubins and launching their kernels.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute_enum as Attribute, CUlaunchAttributeID_enum as AttributeId};
use cudarc::driver::{CudaContext, result};
use rayon::prelude::*;
use warpwright_arch::DeviceInfo;

use super::fault::fault;
use super::stream;
use crate::backend::rules::{self, PORTABLE_CLUSTER, Source};
use crate::backend::{BackendExecutable, BackendStream};
use crate::cache::Cache;
use crate::{DriverFault, Invocation, KernelInfo, LaunchCall, LaunchTemplate, LoadError, Program, RunError, nvrtc};

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
        let target = rules::check_program(program, info)?;
        let sources: Vec<Source<'_>> = rules::distinct_sources(program);
        let cubins: Vec<Vec<u8>> = sources
            .par_iter()
            .map(|&(source, options)| match rules::is_ptx(source) {
                true => Ok(assembly(source)),
                false => nvrtc::cubin(Cache::global(), source, &program.name, target, options).map(|found| found.cubin),
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

/// The image that the driver assembles itself: the text with the NUL that ends it.
fn assembly(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

impl BackendExecutable for CudaExecutable {
    fn kernels(&self) -> &[KernelInfo] {
        &self.infos
    }

    unsafe fn run(&self, stream: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        let calls = invocation.launches;
        rules::check_count(&self.program, calls.len(), self.kernels.len())?;
        for (kernel, call) in self.kernels.iter().zip(calls) {
            rules::check_call(&kernel.entry, call, kernel.params_bytes, kernel.cluster)?;
        }
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
            // SAFETY: the caller vouches for the parameters; `check_call` compared their size.
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
