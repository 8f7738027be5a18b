//! cuBLASLt's functions. Types and enumerations are cudarc's; statuses are plain numbers, since a newer library may return
//! one that an older enumeration lacks.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::cublaslt::sys;

use super::{CublasLtError, CublasLtMissing};
use crate::shared_library::{Found, Wanted};

const WANTED: Wanted = Wanted {
    stem: "cublasLt",
    variable: "WARPWRIGHT_CUBLASLT_DIR",
    names: if cfg!(windows) {
        &["cublasLt64_13.dll", "cublasLt64_12.dll"]
    } else {
        &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"]
    },
};

/// `cublasLtMatmulHeuristicResult_t` with its status as a number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct HeuristicResult {
    pub(super) algorithm: sys::cublasLtMatmulAlgo_t,
    pub(super) workspace_bytes: usize,
    pub(super) state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

impl HeuristicResult {
    pub(super) const EMPTY: HeuristicResult = HeuristicResult {
        algorithm: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
        workspace_bytes: 0,
        state: c_int::MAX,
        waves: 0.0,
        reserved: [0; 4],
    };
}

macro_rules! functions {
    ($($field:ident = $symbol:ident($($argument:ty),*);)+) => {
        /// cuBLASLt, loaded for the rest of the process.
        pub(super) struct Library {
            pub(super) version: usize,
            /// The file, where it is known.
            pub(super) path: Option<PathBuf>,
            status_string: unsafe extern "C" fn(c_int) -> *const c_char,
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)+
            /// Keeps the functions above loaded.
            _library: libloading::Library,
        }

        fn bind(library: libloading::Library, path: Option<PathBuf>) -> Result<Library, String> {
            let version: unsafe extern "C" fn() -> usize = symbol(&library, "cublasLtGetVersion")?;
            Ok(Library {
                // SAFETY: it has no preconditions.
                version: unsafe { version() },
                path,
                status_string: symbol(&library, "cublasLtGetStatusString")?,
                $($field: symbol(&library, stringify!($symbol))?,)+
                _library: library,
            })
        }

        #[cfg(test)]
        mod signatures {
            use super::*;

            /// Compiles only while the signatures above are those of cudarc's bindings.
            #[test]
            fn are_those_of_the_bindings() {
                $(let _: unsafe fn($(<$argument as Bound>::Type),*) -> sys::cublasStatus_t = sys::$symbol;)+
            }

            /// What the bindings have for an argument.
            trait Bound {
                type Type;
            }
            macro_rules! same {
                ($type:ty) => {
                    impl Bound for $type {
                        type Type = $type;
                    }
                };
            }
            same!(sys::cublasLtHandle_t);
            same!(*mut sys::cublasLtHandle_t);
            same!(sys::cublasLtMatmulDesc_t);
            same!(*mut sys::cublasLtMatmulDesc_t);
            same!(sys::cublasLtMatrixLayout_t);
            same!(*mut sys::cublasLtMatrixLayout_t);
            same!(sys::cublasLtMatmulPreference_t);
            same!(*mut sys::cublasLtMatmulPreference_t);
            same!(sys::cublasLtMatmulDescAttributes_t);
            same!(sys::cublasLtMatrixLayoutAttribute_t);
            same!(sys::cublasLtMatmulPreferenceAttributes_t);
            same!(sys::cublasComputeType_t);
            same!(sys::cudaDataType_t);
            same!(*const sys::cublasLtMatmulAlgo_t);
            same!(sys::cudaStream_t);
            same!(*const c_void);
            same!(*mut c_void);
            same!(*mut c_int);
            same!(c_int);
            same!(usize);
            same!(u64);
            same!(i64);
            impl Bound for *mut HeuristicResult {
                type Type = *mut sys::cublasLtMatmulHeuristicResult_t;
            }
        }
    };
}

functions! {
    create = cublasLtCreate(*mut sys::cublasLtHandle_t);
    destroy = cublasLtDestroy(sys::cublasLtHandle_t);
    create_product = cublasLtMatmulDescCreate(*mut sys::cublasLtMatmulDesc_t, sys::cublasComputeType_t, sys::cudaDataType_t);
    destroy_product = cublasLtMatmulDescDestroy(sys::cublasLtMatmulDesc_t);
    set_product = cublasLtMatmulDescSetAttribute(
        sys::cublasLtMatmulDesc_t, sys::cublasLtMatmulDescAttributes_t, *const c_void, usize
    );
    create_layout = cublasLtMatrixLayoutCreate(*mut sys::cublasLtMatrixLayout_t, sys::cudaDataType_t, u64, u64, i64);
    destroy_layout = cublasLtMatrixLayoutDestroy(sys::cublasLtMatrixLayout_t);
    set_layout = cublasLtMatrixLayoutSetAttribute(
        sys::cublasLtMatrixLayout_t, sys::cublasLtMatrixLayoutAttribute_t, *const c_void, usize
    );
    create_preference = cublasLtMatmulPreferenceCreate(*mut sys::cublasLtMatmulPreference_t);
    destroy_preference = cublasLtMatmulPreferenceDestroy(sys::cublasLtMatmulPreference_t);
    set_preference = cublasLtMatmulPreferenceSetAttribute(
        sys::cublasLtMatmulPreference_t, sys::cublasLtMatmulPreferenceAttributes_t, *const c_void, usize
    );
    heuristics = cublasLtMatmulAlgoGetHeuristic(
        sys::cublasLtHandle_t, sys::cublasLtMatmulDesc_t, sys::cublasLtMatrixLayout_t, sys::cublasLtMatrixLayout_t,
        sys::cublasLtMatrixLayout_t, sys::cublasLtMatrixLayout_t, sys::cublasLtMatmulPreference_t, c_int,
        *mut HeuristicResult, *mut c_int
    );
    multiply = cublasLtMatmul(
        sys::cublasLtHandle_t, sys::cublasLtMatmulDesc_t, *const c_void, *const c_void, sys::cublasLtMatrixLayout_t,
        *const c_void, sys::cublasLtMatrixLayout_t, *const c_void, *const c_void, sys::cublasLtMatrixLayout_t,
        *mut c_void, sys::cublasLtMatrixLayout_t, *const sys::cublasLtMatmulAlgo_t, *mut c_void, usize,
        sys::cudaStream_t
    );
}

fn symbol<F: Copy>(library: &libloading::Library, name: &str) -> Result<F, String> {
    // SAFETY: every `F` is the C signature of the function of that name; those of `functions!` are compared with the
    // bindings by a test.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|f| *f).map_err(|_| format!("is too old: it lacks {name}"))
}

/// The library, looked for once.
pub(super) fn get() -> Result<&'static Library, CublasLtMissing> {
    static LIBRARY: OnceLock<Result<Library, CublasLtMissing>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Library, CublasLtMissing> {
    let found = WANTED.search(|found| match found {
        Found::Loaded(library) => bind(library, None),
        Found::Path(path) => {
            // SAFETY: cuBLASLt's initialisers have no preconditions.
            let library = unsafe { libloading::Library::new(path) }
                .map_err(|error| format!("cannot be loaded from {} ({error})", path.display()))?;
            bind(library, Some(path.to_owned()))
        }
    });
    found.map_err(|problem| CublasLtMissing { problem })
}

impl Library {
    /// An error unless the status is success.
    pub(super) fn check(&self, call: &'static str, status: c_int) -> Result<(), CublasLtError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the library returns a static string for every status.
        let text = unsafe { (self.status_string)(status) };
        let text = match text.is_null() {
            true => String::from("unknown"),
            // SAFETY: it is not null, and static and NUL-terminated.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        Err(CublasLtError::Call { call, status, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, offset_of, size_of};

    #[test]
    fn a_heuristic_result_lies_as_in_the_bindings() {
        type Theirs = sys::cublasLtMatmulHeuristicResult_t;
        assert_eq!(
            (size_of::<HeuristicResult>(), align_of::<HeuristicResult>()),
            (size_of::<Theirs>(), align_of::<Theirs>())
        );
        assert_eq!(offset_of!(HeuristicResult, algorithm), offset_of!(Theirs, algo));
        assert_eq!(offset_of!(HeuristicResult, workspace_bytes), offset_of!(Theirs, workspaceSize));
        assert_eq!(offset_of!(HeuristicResult, state), offset_of!(Theirs, state));
        assert_eq!(offset_of!(HeuristicResult, waves), offset_of!(Theirs, wavesCount));
        assert_eq!(offset_of!(HeuristicResult, reserved), offset_of!(Theirs, reserved));
        // As cublasLt.h has it: 64 bytes of algorithm, a size, a status, a float and four ints.
        assert_eq!(size_of::<HeuristicResult>(), 96);
    }

    #[test]
    fn only_cublaslt_itself_is_taken_for_it() {
        for name in ["libcublasLt.so", "libcublasLt.so.13", "libcublasLt.so.13.1.1.3"] {
            assert!(WANTED.is_named(name), "{name}");
        }
        for name in ["libcublas.so.13", "libcublasLt_static.a", "cublasLt.h"] {
            assert!(!WANTED.is_named(name), "{name}");
        }
    }
}
