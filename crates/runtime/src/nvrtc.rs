//! CUDA C++ to machine code, by NVIDIA's run-time compiler. No GPU and no driver are needed.
//!
//! # Where NVRTC is found
//!
//! The library is loaded when it is first asked for, from the first place that has it:
//! 1. the directory in `WARPWRIGHT_NVRTC_DIR`, when set, and no other;
//! 2. the dynamic loader's own search: `LD_LIBRARY_PATH` and the system's directories;
//! 3. `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, and the packages of the Python environment in `VIRTUAL_ENV`;
//! 4. `nvrtc` beside any directory above the running executable, which for one built by Cargo is `target/nvrtc`.
//!
//! In a directory, `lib`, `lib64` and the layout of NVIDIA's Python wheels (`nvidia/*/lib`) are searched too, so
//! `pip install --target target/nvrtc nvidia-cuda-nvrtc` is an installation. `libnvrtc-builtins` has to lie beside the
//! library.

mod cached;
mod library;

pub use cached::{CachedCubin, cubin, ptx};
pub use library::NvrtcMissing;

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;
use std::ptr;
use std::time::Instant;

use warpwright_arch::Target;

use library::{Library, NvrtcProgram};

/// Options that every kernel is compiled with. Fused multiply-adds are written where they are meant, so that the PTX fixes
/// the bits; functions without an annotation are device functions; spilled registers are reported in the log.
pub const DEFAULT_OPTIONS: &[&str] =
    &["-std=c++17", "--fmad=false", "-default-device", "--ptxas-options=--warn-on-spills"];

/// What NVRTC made of a source.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// Machine code for the target, never empty.
    pub cubin: Vec<u8>,
    /// The PTX that it was assembled from.
    pub ptx: String,
    /// NVRTC's and ptxas's messages; often empty.
    pub log: String,
    /// How long it took.
    pub seconds: f64,
}

/// A source that was not compiled.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// NVRTC is not here.
    #[error(transparent)]
    Missing(#[from] NvrtcMissing),
    /// NVRTC refused the source.
    #[error("compiling `{name}` for {target} failed{}:\n{log}", saved(.source_path))]
    Refused {
        /// The program's name.
        name: String,
        /// What it was compiled for.
        target: Target,
        /// NVRTC's errors; what it warns of besides would bury them.
        log: String,
        /// Where the source was saved; `None` if no directory is writable.
        source_path: Option<PathBuf>,
    },
    /// ptxas advises that the wgmma pipeline is not one (its messages C75xx): each instruction is waited for, or setmaxnreg is
    /// ignored. The code would be right, and several times as slow.
    #[error(
        "`{name}` for {target} would run its wgmma instructions one by one{}: {message}: keep wgmma.fence, the instructions, commit_group and wait_group in one iteration, and let nothing else touch accumulators between them", saved(.source_path)
    )]
    Serialized {
        /// The program's name.
        name: String,
        /// What it was compiled for.
        target: Target,
        /// ptxas's first such message.
        message: String,
        /// Where the source was saved; `None` if no directory is writable.
        source_path: Option<PathBuf>,
    },
    /// Text that cannot be handed to NVRTC.
    #[error("`{name}` has a NUL byte in its {what}, which NVRTC cannot read: remove it")]
    Nul {
        /// The program's name.
        name: String,
        /// Its source, name or options.
        what: &'static str,
    },
    /// NVRTC itself failed.
    #[error("compiling `{name}` for {target}: {call} failed with NVRTC's code {code}, {text}")]
    Nvrtc {
        /// The program's name.
        name: String,
        /// What it was compiled for.
        target: Target,
        /// The call.
        call: &'static str,
        /// `nvrtcResult`, as a number.
        code: i32,
        /// `nvrtcResult`, by name.
        text: String,
    },
    /// NVRTC reported success and gave no machine code.
    #[error(
        "NVRTC gave no machine code for `{name}` and {target}: the target must be a real architecture (`sm_`), one that this NVRTC has"
    )]
    NoCode {
        /// The program's name.
        name: String,
        /// What it was compiled for.
        target: Target,
    },
}

pub(crate) fn saved(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(String::new, |path| format!(" (its source is in {})", path.display()))
}

/// Whether NVRTC is here. Looks for it the first time.
pub fn is_available() -> bool {
    library::get().is_ok()
}

/// NVRTC's version, major and minor.
///
/// # Errors
/// [`NvrtcMissing`], which says how to get it.
pub fn version() -> Result<(u32, u32), NvrtcMissing> {
    library::get().map(|library| library.version)
}

/// Every option that [`compile`] hands to NVRTC for a target and these further ones.
pub fn all_options(target: Target, options: &[String]) -> Vec<String> {
    let defaults = DEFAULT_OPTIONS.iter().map(|&option| option.to_owned());
    defaults.chain([format!("--gpu-architecture={target}")]).chain(options.iter().cloned()).collect()
}

/// As [`all_options`], for [`compile_ptx`].
pub fn all_ptx_options(target: Target, options: &[String]) -> Vec<String> {
    let defaults = DEFAULT_OPTIONS.iter().filter(|option| !option.starts_with("--ptxas-options"));
    let virtual_target = target.to_string().replacen("sm_", "compute_", 1);
    let own = [format!("--gpu-architecture={virtual_target}"), "-lineinfo".to_owned()];
    defaults.map(|&option| option.to_owned()).chain(own).chain(options.iter().cloned()).collect()
}

/// Compiles CUDA C++ for a target with [`DEFAULT_OPTIONS`] and `options`. There are no headers to include. `name` appears in
/// messages as the source's file name.
///
/// # Errors
/// [`CompileError`]; a refused source is saved beside the kernel cache, or in the temporary directory.
pub fn compile(source: &str, name: &str, target: Target, options: &[String]) -> Result<Compiled, CompileError> {
    let library = library::get()?;
    let started = Instant::now();
    let (unit, log) = translate(library, source, name, target, &all_options(target, options))?;
    let cubin = unit
        .bytes(library.get_cubin_size, library.get_cubin)
        .map_err(|code| fault(library, name, target, ("nvrtcGetCUBIN", code)))?;
    if cubin.is_empty() {
        return Err(CompileError::NoCode { name: name.to_owned(), target });
    }
    if let Some(message) = log.lines().map(str::trim).find(|line| line.contains("(C75")) {
        let source_path = crate::cache::save_source(source, name);
        return Err(CompileError::Serialized {
            name: name.to_owned(),
            target,
            message: message.to_owned(),
            source_path,
        });
    }
    let ptx = ptx_of(&unit, name, target)?;
    Ok(Compiled { cubin, ptx, log, seconds: started.elapsed().as_secs_f64() })
}

/// The PTX of CUDA C++ alone, with line information, which changes no instruction: what the emulator runs. Nothing is
/// assembled, so it takes a fraction of [`compile`]'s time. `name` appears in the lines as the source's file name.
///
/// # Errors
/// As [`compile`].
pub fn compile_ptx(source: &str, name: &str, target: Target, options: &[String]) -> Result<String, CompileError> {
    let (unit, _) = translate(library::get()?, source, name, target, &all_ptx_options(target, options))?;
    ptx_of(&unit, name, target)
}

fn ptx_of(unit: &Unit<'_>, name: &str, target: Target) -> Result<String, CompileError> {
    let library = unit.library;
    unit.text(library.get_ptx_size, library.get_ptx).map_err(|code| fault(library, name, target, ("nvrtcGetPTX", code)))
}

/// Has NVRTC compile a source, and returns what holds the result, with the log.
fn translate<'a>(
    library: &'a Library,
    source: &str,
    name: &str,
    target: Target,
    options: &[String],
) -> Result<(Unit<'a>, String), CompileError> {
    let c_string = |text: &str, what| CString::new(text).map_err(|_| CompileError::Nul { name: name.to_owned(), what });
    let c_source = c_string(source, "source")?;
    let c_name = c_string(&format!("{name}.cu"), "name")?;
    let c_options = options.iter().map(|o| c_string(o, "options")).collect::<Result<Vec<CString>, _>>()?;
    let option_pointers: Vec<*const c_char> = c_options.iter().map(|option| option.as_ptr()).collect();

    let unit = Unit::create(library, &c_source, &c_name).map_err(|code| fault(library, name, target, code))?;
    // SAFETY: the program lives, and the options are NUL-terminated and outlive the call.
    let code =
        unsafe { (library.compile_program)(unit.program, option_pointers.len() as c_int, option_pointers.as_ptr()) };
    let log = unit
        .text(library.get_program_log_size, library.get_program_log)
        .map_err(|code| fault(library, name, target, ("nvrtcGetProgramLog", code)))?;
    const COMPILATION: c_int = 6;
    const INVALID_OPTION: c_int = 5;
    match code {
        0 => Ok((unit, log)),
        COMPILATION | INVALID_OPTION => {
            let source_path = crate::cache::save_source(source, name);
            Err(CompileError::Refused { name: name.to_owned(), target, log: errors(&log), source_path })
        }
        code => Err(fault(library, name, target, ("nvrtcCompileProgram", code))),
    }
}

/// A log without its warnings and remarks, whose messages are parted by empty lines; all of it if it has nothing else.
fn errors(log: &str) -> String {
    let aside = |message: &str| {
        let first = message.lines().next().unwrap_or_default();
        let numbered = first.contains(": warning #") || first.contains(": remark #");
        numbered || first.starts_with("Remark:") || first.starts_with("ptxas warning")
    };
    let messages = log.split("\n\n").map(|message| message.trim_matches('\n'));
    let found: Vec<&str> = messages.filter(|message| !message.is_empty() && !aside(message)).collect();
    if found.is_empty() { log.to_owned() } else { found.join("\n\n") }
}

/// The messages of a log that tell of lost speed, though not of so much that [`compile`] refuses it: spilled registers.
pub fn advisories(log: &str) -> impl Iterator<Item = &str> {
    log.lines().map(str::trim).filter(|line| line.to_ascii_lowercase().contains("spill"))
}

fn fault(library: &Library, name: &str, target: Target, (call, code): (&'static str, c_int)) -> CompileError {
    CompileError::Nvrtc { name: name.to_owned(), target, call, code, text: library.error_text(code) }
}

/// One `nvrtcProgram`, destroyed on drop.
struct Unit<'a> {
    library: &'a Library,
    program: NvrtcProgram,
}

impl<'a> Unit<'a> {
    fn create(library: &'a Library, source: &CString, name: &CString) -> Result<Unit<'a>, (&'static str, c_int)> {
        let mut program = ptr::null_mut();
        // SAFETY: source and name are NUL-terminated; there are no headers; NVRTC copies what it keeps.
        let code = unsafe {
            (library.create_program)(&mut program, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        if code == 0 { Ok(Unit { library, program }) } else { Err(("nvrtcCreateProgram", code)) }
    }

    fn bytes(&self, size: library::GetSize, get: library::GetBytes) -> Result<Vec<u8>, c_int> {
        let mut bytes = 0;
        // SAFETY: the program lives and `bytes` is written to.
        let code = unsafe { size(self.program, &mut bytes) };
        if code != 0 {
            return Err(code);
        }
        let mut out = vec![0; bytes];
        // SAFETY: `out` has the size that NVRTC asked for.
        let code = unsafe { get(self.program, out.as_mut_ptr().cast()) };
        if code == 0 { Ok(out) } else { Err(code) }
    }

    fn text(&self, size: library::GetSize, get: library::GetBytes) -> Result<String, c_int> {
        let mut bytes = self.bytes(size, get)?;
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created by this library and is destroyed once. A failure leaves nothing to do.
        let _ = unsafe { (self.library.destroy_program)(&mut self.program) };
    }
}

#[cfg(test)]
mod tests {
    use super::errors;

    #[test]
    fn errors_are_told_without_warnings() {
        let warning =
            "k.cu(3): warning #177-D: variable \"error\" was declared but never referenced\n    int error = 1;";
        let fatal = "ptxas fatal   : Unresolved extern function 'foo'";
        let error = "k.cu(4): error: identifier \"x\" is undefined";
        assert_eq!(errors(&format!("{warning}\n\n{fatal}\n")), fatal);
        assert_eq!(errors(&format!("{warning}\n\n{error}\n\n{fatal}\n")), format!("{error}\n\n{fatal}"));
        assert_eq!(errors(warning), warning);
    }
}
