//! Loaded PTX.

use crate::decode::{Code, Decoder, Placement};
use crate::error::ParseError;
use crate::ir::{Base, Space};
use crate::ptx;
use crate::ptx::ast::VariableSpace;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A variable in global memory.
#[derive(Clone, Debug)]
pub(crate) struct GlobalVariable {
    pub bytes: u32,
    pub initial: Vec<u8>,
}

/// What the kernels of a module share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Distinguishes modules.
    pub id: u64,
    pub target: String,
    pub variables: Vec<GlobalVariable>,
    pub files: HashMap<u32, String>,
}

/// PTX that is ready to run.
///
/// ```
/// use warpwright_emulator::Module;
///
/// let module = Module::parse(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }")?;
/// assert_eq!(module.target(), "sm_80");
/// assert!(module.kernel("k").is_some());
///
/// let error = Module::parse(".version 8.0\n.target sm_80\n.visible .entry k() { suld.b.1d.b32.trap %r, [t]; }");
/// assert!(error.is_err());
/// # Ok::<(), warpwright_emulator::ParseError>(())
/// ```
#[derive(Debug)]
pub struct Module {
    shared: Arc<Shared>,
    kernels: Vec<Kernel>,
}

/// A kernel of a [`Module`].
pub struct Kernel {
    name: String,
    pub(crate) module: Arc<Shared>,
    pub(crate) code: Code,
    /// Threads of a block that the kernel was compiled for; 0 if it does not say.
    pub(crate) max_threads: u32,
    /// Blocks of a cluster that it was compiled for; zeros if it does not say.
    pub(crate) cluster: [u32; 3],
    /// Where dynamic shared memory starts in a block's window.
    dynamic_start: u32,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("instructions", &self.code.instructions.len())
            .finish_non_exhaustive()
    }
}

impl Module {
    /// Loads PTX. Whatever the emulator cannot run is an error here, with its line.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let tree = ptx::parse(text)?;
        let base = shared_base(tree.target);
        let mut symbols = HashMap::new();
        let mut variables = Vec::new();
        let mut statics = Placement { bytes: base };
        for variable in &tree.variables {
            let place = match variable.space {
                VariableSpace::Shared if !variable.external => (Base::Shared(statics.place(variable)), Space::Shared),
                VariableSpace::Shared => continue,
                _ => {
                    variables.push(GlobalVariable { bytes: variable.bytes, initial: variable.initial.clone() });
                    (Base::Variable(variables.len() as u32 - 1), Space::Global)
                }
            };
            symbols.insert(variable.name, place);
        }
        let shared = Arc::new(Shared {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            target: tree.target.to_owned(),
            variables,
            files: tree.files.iter().map(|(i, name)| (*i, (*name).to_owned())).collect(),
        });
        let mut kernels = Vec::new();
        for entry in &tree.entries {
            let mut own = Placement { bytes: statics.bytes };
            for variable in entry.variables.iter().filter(|v| v.space == VariableSpace::Shared) {
                own.place(variable);
            }
            // Dynamic shared memory lies behind all that is static, however many names it has.
            let dynamic = tree.variables.iter().filter(|v| v.space == VariableSpace::Shared && v.external);
            let align = dynamic.clone().map(|v| v.align).max().unwrap_or(16);
            let dynamic_start = own.bytes.next_multiple_of(align);
            symbols.extend(dynamic.map(|v| (v.name, (Base::Shared(dynamic_start), Space::Shared))));
            kernels.push(Kernel {
                name: entry.name.to_owned(),
                module: shared.clone(),
                code: Decoder::run(&symbols, entry, statics.bytes)?,
                max_threads: entry.max_threads,
                cluster: entry.cluster,
                dynamic_start,
            });
        }
        Ok(Module { shared, kernels })
    }

    /// `sm_80` and the like.
    pub fn target(&self) -> &str {
        &self.shared.target
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }

    /// All kernels.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }
}

/// `sm_90a` → 90.
fn number(target: &str) -> u32 {
    target.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(0)
}

/// Where a block's shared memory starts: the first KiB is the driver's from sm_80 on.
fn shared_base(target: &str) -> u32 {
    if number(target) >= 80 { 0x400 } else { 0 }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its parameters.
    pub fn parameter_bytes(&self) -> u32 {
        self.code.parameter_bytes
    }

    /// Static shared memory, in bytes.
    pub fn static_shared_bytes(&self) -> u32 {
        self.code.shared_bytes - self.shared_base()
    }

    /// Instructions that it was decoded to.
    pub fn instruction_count(&self) -> usize {
        self.code.instructions.len()
    }

    pub(crate) fn shared_base(&self) -> u32 {
        shared_base(&self.module.target)
    }

    pub(crate) fn target_number(&self) -> u32 {
        number(&self.module.target)
    }

    /// The end of a block's shared window with this much dynamic memory.
    pub(crate) fn shared_total(&self, dynamic: u32) -> u32 {
        if dynamic == 0 { self.code.shared_bytes } else { self.dynamic_start.saturating_add(dynamic) }
    }
}
