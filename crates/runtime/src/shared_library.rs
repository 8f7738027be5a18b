//! Finding libraries of the CUDA toolkit when they are first asked for.
//!
//! cudarc's own loaders panic when a library or a symbol is missing and cannot be told where to look; hence this one. The
//! first place that has the library wins:
//! 1. the directory in the library's own variable, when set, and no other;
//! 2. the dynamic loader's search: `LD_LIBRARY_PATH` and the system's directories;
//! 3. `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, and the packages of the Python environment in `VIRTUAL_ENV`;
//! 4. a folder of the library's name beside any directory above the running executable.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A library that is looked for.
pub(crate) struct Wanted {
    /// Its name without what platforms add.
    pub(crate) stem: &'static str,
    /// The variable that names its directory.
    pub(crate) variable: &'static str,
    /// What the dynamic loader is asked for, newest first.
    pub(crate) names: &'static [&'static str],
}

/// What a search comes upon.
pub(crate) enum Found<'a> {
    /// A library that the dynamic loader knew.
    Loaded(libloading::Library),
    /// A file, which may not be loadable.
    Path(&'a Path),
}

impl Wanted {
    /// The first thing found that `open` accepts, or what is wrong, as the end of a sentence about the library.
    pub(crate) fn search<T>(&self, mut open: impl FnMut(Found<'_>) -> Result<T, String>) -> Result<T, String> {
        if let Some(dir) = std::env::var_os(self.variable) {
            let dir = PathBuf::from(dir);
            return match self.in_directory(&dir) {
                Some(path) => open(Found::Path(&path)),
                None => Err(format!("is not in {}, which {} names", dir.display(), self.variable)),
            };
        }
        let mut problem = None;
        for &name in self.names {
            // SAFETY: the initialisers of the toolkit's libraries have no preconditions.
            if let Ok(library) = unsafe { libloading::Library::new(name) } {
                match open(Found::Loaded(library)) {
                    Ok(opened) => return Ok(opened),
                    Err(error) => problem = Some(error),
                }
            }
        }
        for path in self.installations().iter().filter_map(|dir| self.in_directory(dir)) {
            match open(Found::Path(&path)) {
                Ok(opened) => return Ok(opened),
                Err(error) => problem = Some(error),
            }
        }
        Err(problem.unwrap_or_else(|| "was not found".into()))
    }

    /// Directories worth a look when the loader knows of none.
    fn installations(&self) -> Vec<PathBuf> {
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
        let environment = std::env::var_os("VIRTUAL_ENV").map(|dir| PathBuf::from(dir).join("lib"));
        let packages = environment.iter().flat_map(|lib| entries(lib)).map(|python| python.join("site-packages"));
        let executable = std::env::current_exe().unwrap_or_default();
        let beside = executable.ancestors().skip(1).map(|dir| dir.join(self.stem));
        toolkits.chain([PathBuf::from("/usr/local/cuda")]).chain(packages).chain(beside).collect()
    }

    /// The newest in a directory, in its `lib` or `lib64`, or in the layout of NVIDIA's Python wheels.
    pub(crate) fn in_directory(&self, dir: &Path) -> Option<PathBuf> {
        let mut dirs = vec![dir.to_owned(), dir.join("lib"), dir.join("lib64"), dir.join("bin")];
        for package in entries(&dir.join("nvidia")) {
            dirs.extend([package.join("lib"), package.join("bin")]);
        }
        let named = |path: &PathBuf| path.file_name().and_then(OsStr::to_str).is_some_and(|name| self.is_named(name));
        // Names differ in their version alone, so the greatest is the newest.
        dirs.iter().flat_map(|dir| entries(dir)).filter(named).max_by_key(|path| path.file_name().map(OsStr::to_owned))
    }

    /// Whether a file of this name is the library.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        if cfg!(windows) {
            let rest = name.strip_prefix(self.stem).and_then(|rest| rest.strip_prefix("64_"));
            rest.is_some_and(|rest| rest.ends_with(".dll") && !rest.contains("alt"))
        } else {
            let rest = name.strip_prefix("lib").and_then(|rest| rest.strip_prefix(self.stem));
            rest.is_some_and(|rest| rest == ".so" || rest.starts_with(".so."))
        }
    }
}

/// What a directory holds; nothing if it cannot be read.
pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted = Wanted { stem: "nvrtc", variable: "WARPWRIGHT_NO_SUCH_DIR", names: &["libno_such_library"] };

    #[test]
    fn the_newest_in_a_wheel_is_found() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(WANTED.in_directory(dir.path()), None);
        for (package, file) in
            [("cuda_nvrtc", "libnvrtc.so.12"), ("cu13", "libnvrtc.so.13"), ("cu13", "libnvrtc-builtins.so.13.5")]
        {
            let lib = dir.path().join("nvidia").join(package).join("lib");
            std::fs::create_dir_all(&lib).unwrap();
            std::fs::write(lib.join(file), "").unwrap();
        }
        assert_eq!(WANTED.in_directory(dir.path()), Some(dir.path().join("nvidia/cu13/lib/libnvrtc.so.13")));
    }

    #[test]
    fn a_search_that_finds_nothing_says_so() {
        let nowhere = Wanted { stem: "no_such_library", ..WANTED };
        assert_eq!(nowhere.search(|_| Ok(())), Err("was not found".into()));
    }
}
