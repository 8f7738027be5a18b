//! Loading PTX and running its kernels.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;
use warpwright_emulator::{Launch, Module, ParseError};

use super::{Emulated, LaunchProfile};
use crate::backend::rules::{self, Source};
use crate::backend::{BackendExecutable, BackendStream};
use crate::cache::{Cache, save_source};
use crate::{Invocation, KernelInfo, LaunchCall, LaunchTemplate, LoadError, Program, RunError, nvrtc};

#[derive(Debug)]
pub(super) struct EmulatedExecutable {
    device: Arc<Emulated>,
    program: String,
    kernels: Vec<Kernel>,
    infos: Vec<KernelInfo>,
}

#[derive(Debug)]
struct Kernel {
    module: Arc<Module>,
    entry: String,
    block: [u32; 3],
    cluster: [u32; 3],
    shared_bytes: u32,
    params_bytes: usize,
    /// Blocks that the device keeps at once, if registers allow it.
    resident: u32,
    /// The program's name and the source, for who looks for the line of a fault.
    name: String,
    source: String,
}

impl EmulatedExecutable {
    pub(super) fn load(device: &Arc<Emulated>, program: &Program) -> Result<EmulatedExecutable, LoadError> {
        let info = device.options.info();
        let target = rules::check_program(program, info)?;
        let sources: Vec<Source<'_>> = rules::distinct_sources(program);
        let modules: Vec<Arc<Module>> = sources
            .par_iter()
            .map(|&(source, options)| {
                let text = match rules::is_ptx(source) {
                    true => Cow::Borrowed(source),
                    false => nvrtc::ptx(Cache::global(), source, &program.name, target, options)?.into(),
                };
                let refused = |ParseError { line, text, reason }| LoadError::Ptx {
                    program: program.name.clone(),
                    line,
                    text,
                    reason: reason.to_string(),
                };
                Module::parse(&text).map(Arc::new).map_err(refused)
            })
            .collect::<Result<_, LoadError>>()?;
        let of_source: HashMap<Source<'_>, usize> = sources.into_iter().zip(0..).collect();
        let mut kernels = Vec::with_capacity(program.launches.len());
        let mut infos = Vec::with_capacity(program.launches.len());
        for launch in &program.launches {
            let module = &modules[of_source[&(launch.source.as_str(), launch.options.as_slice())]];
            let Some(kernel) = module.kernel(&launch.entry) else {
                return Err(LoadError::MissingEntry { program: program.name.clone(), entry: launch.entry.clone() });
            };
            let mut described = KernelInfo::new(launch.entry.clone());
            described.static_shared_bytes = kernel.static_shared_bytes();
            let threads = launch.block.iter().product();
            let shared = launch.shared_bytes.saturating_add(described.static_shared_bytes);
            let per_sm = info.blocks_per_sm(threads, 1, shared).max(1);
            if launch.cluster != [1, 1, 1] {
                described.max_active_clusters = info.max_clusters(launch.cluster.iter().product());
            }
            infos.push(described);
            kernels.push(Kernel::new(module, &program.name, launch, info.sms.saturating_mul(per_sm)));
        }
        Ok(EmulatedExecutable { device: device.clone(), program: program.name.clone(), kernels, infos })
    }
}

impl BackendExecutable for EmulatedExecutable {
    fn kernels(&self) -> &[KernelInfo] {
        &self.infos
    }

    unsafe fn run(&self, _: &dyn BackendStream, invocation: &Invocation<'_>) -> Result<(), RunError> {
        let calls = invocation.launches;
        rules::check_count(&self.program, calls.len(), self.kernels.len())?;
        for (kernel, call) in self.kernels.iter().zip(calls) {
            rules::check_call(&kernel.entry, call, kernel.params_bytes, kernel.cluster)?;
        }
        self.kernels.iter().zip(calls).try_for_each(|(kernel, call)| kernel.run(&self.device, call))
    }
}

impl Kernel {
    fn new(module: &Arc<Module>, name: &str, launch: &LaunchTemplate, resident: u32) -> Kernel {
        Kernel {
            module: module.clone(),
            entry: launch.entry.clone(),
            block: launch.block,
            cluster: launch.cluster,
            shared_bytes: launch.shared_bytes,
            params_bytes: launch.params_bytes,
            resident,
            name: name.to_owned(),
            source: launch.source.as_str().to_owned(),
        }
    }

    fn run(&self, device: &Emulated, call: &LaunchCall<'_>) -> Result<(), RunError> {
        let Some(kernel) = self.module.kernel(&self.entry) else {
            unreachable!("`load` has looked it up");
        };
        let launch = Launch {
            grid: call.grid,
            block: self.block,
            cluster: (self.cluster != [1, 1, 1]).then_some(self.cluster),
            shared_bytes: self.shared_bytes,
        };
        let outcome = {
            let mut machine = device.lock();
            machine.set_resident_blocks(self.resident);
            machine.launch(kernel, &launch, call.params)
        };
        match outcome {
            Ok(report) => {
                device.remember(LaunchProfile { entry: self.entry.clone(), grid: call.grid, report });
                Ok(())
            }
            Err(fault) => Err(RunError::Fault {
                entry: self.entry.clone(),
                seed: device.options.chosen_seed(),
                source_path: save_source(&self.source, &self.name),
                fault: Box::new(fault),
            }),
        }
    }
}
