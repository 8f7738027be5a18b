//! NVRTC's functions.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::shared_library::{Found, Wanted, entries};

pub(super) type NvrtcProgram = *mut c_void;
pub(super) type GetSize = unsafe extern "C" fn(NvrtcProgram, *mut usize) -> c_int;
pub(super) type GetBytes = unsafe extern "C" fn(NvrtcProgram, *mut c_char) -> c_int;
type CreateProgram = unsafe extern "C" fn(
    *mut NvrtcProgram,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// NVRTC, loaded for the rest of the process.
pub(super) struct Library {
    pub(super) version: (u32, u32),
    pub(super) create_program: CreateProgram,
    pub(super) compile_program: unsafe extern "C" fn(NvrtcProgram, c_int, *const *const c_char) -> c_int,
    pub(super) destroy_program: unsafe extern "C" fn(*mut NvrtcProgram) -> c_int,
    pub(super) get_cubin_size: GetSize,
    pub(super) get_cubin: GetBytes,
    pub(super) get_ptx_size: GetSize,
    pub(super) get_ptx: GetBytes,
    pub(super) get_program_log_size: GetSize,
    pub(super) get_program_log: GetBytes,
    get_error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    /// Keeps the functions above loaded.
    _libraries: Vec<libloading::Library>,
}

/// NVRTC is not here, or is not usable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "NVRTC, which compiles kernels, {problem}: install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, and put its \
     library directory into LD_LIBRARY_PATH or WARPWRIGHT_NVRTC_DIR"
)]
#[non_exhaustive]
pub struct NvrtcMissing {
    /// What is wrong.
    pub problem: String,
}

const WANTED: Wanted = Wanted {
    stem: "nvrtc",
    variable: "WARPWRIGHT_NVRTC_DIR",
    names: if cfg!(windows) {
        &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]
    } else {
        &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    },
};

pub(super) fn get() -> Result<&'static Library, NvrtcMissing> {
    static LIBRARY: OnceLock<Result<Library, NvrtcMissing>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Library, NvrtcMissing> {
    let found = WANTED.search(|found| match found {
        Found::Loaded(library) => bind(vec![library]),
        Found::Path(path) => load(path),
    });
    found.map_err(|problem| NvrtcMissing { problem })
}

/// Loads NVRTC from a path. It opens `libnvrtc-builtins` by name, which the loader resolves to one that is already loaded;
/// so that one comes first.
fn load(path: &Path) -> Result<Library, String> {
    let is_builtins = |path: &PathBuf| {
        path.file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| name.contains("nvrtc-builtins") && !name.contains("alt"))
    };
    let builtins = path.parent().into_iter().flat_map(entries).filter(is_builtins);
    // SAFETY: NVRTC's initialisers have no preconditions.
    let mut libraries: Vec<_> = builtins.filter_map(|path| unsafe { libloading::Library::new(path) }.ok()).collect();
    // SAFETY: as above.
    let library = unsafe { libloading::Library::new(path) }
        .map_err(|error| format!("cannot be loaded from {} ({error})", path.display()))?;
    libraries.insert(0, library);
    bind(libraries)
}

/// Looks up the functions in the first of the libraries.
fn bind(libraries: Vec<libloading::Library>) -> Result<Library, String> {
    fn symbol<F: Copy>(library: &libloading::Library, name: &str) -> Result<F, String> {
        // SAFETY: every `F` below is the C signature of the function of that name, the same in all versions of NVRTC.
        let found = unsafe { library.get::<F>(name.as_bytes()) };
        found.map(|f| *f).map_err(|_| format!("is too old: it lacks {name}"))
    }
    let nvrtc = &libraries[0];
    let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = symbol(nvrtc, "nvrtcVersion")?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both numbers are written to.
    let code = unsafe { version(&mut major, &mut minor) };
    if code != 0 {
        return Err(format!("does not tell its version (code {code})"));
    }
    Ok(Library {
        version: (major.unsigned_abs(), minor.unsigned_abs()),
        create_program: symbol(nvrtc, "nvrtcCreateProgram")?,
        compile_program: symbol(nvrtc, "nvrtcCompileProgram")?,
        destroy_program: symbol(nvrtc, "nvrtcDestroyProgram")?,
        get_cubin_size: symbol(nvrtc, "nvrtcGetCUBINSize")?,
        get_cubin: symbol(nvrtc, "nvrtcGetCUBIN")?,
        get_ptx_size: symbol(nvrtc, "nvrtcGetPTXSize")?,
        get_ptx: symbol(nvrtc, "nvrtcGetPTX")?,
        get_program_log_size: symbol(nvrtc, "nvrtcGetProgramLogSize")?,
        get_program_log: symbol(nvrtc, "nvrtcGetProgramLog")?,
        get_error_string: symbol(nvrtc, "nvrtcGetErrorString")?,
        _libraries: libraries,
    })
}

impl Library {
    pub(super) fn error_text(&self, code: c_int) -> String {
        // SAFETY: NVRTC returns a static string for every code.
        let text = unsafe { (self.get_error_string)(code) };
        if text.is_null() {
            return String::new();
        }
        // SAFETY: it is not null, and static and NUL-terminated.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nvrtc_itself_is_taken_for_nvrtc() {
        for name in ["libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so.12.9.86"] {
            assert!(WANTED.is_named(name), "{name}");
        }
        for name in ["libnvrtc-builtins.so.13.5", "libnvrtc.alt.so.13", "libnvrtc_static.a", "nvrtc.h"] {
            assert!(!WANTED.is_named(name), "{name}");
        }
    }

    #[test]
    fn a_file_that_is_no_library_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("libnvrtc.so.13");
        std::fs::write(&path, "").unwrap();
        let problem = load(&path).map(drop).unwrap_err();
        assert!(problem.contains("cannot be loaded from"), "{problem}");
    }
}
