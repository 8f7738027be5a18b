//! Files that are replaced as a whole or not at all.

use crate::error::InputError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Refuses, before anything is computed, a path that cannot be written.
pub fn check_target(path: &Path) -> Result<(), InputError> {
    let unwritable = |why: &str| InputError::Unwritable { path: path.display().to_string(), why: why.to_owned() };
    if path.is_dir() {
        return Err(unwritable("it is a folder"));
    }
    if path.is_symlink() && path.canonicalize().is_err() {
        return Err(unwritable("it is a link to what does not exist"));
    }
    if path.exists() && !path.is_file() {
        return Err(unwritable("it is not an ordinary file, so it cannot be replaced as a whole"));
    }
    if !folder(path).is_dir() {
        return Err(unwritable("its folder does not exist"));
    }
    Ok(())
}

/// Where a file is or will be, however it is spelled: two paths of one place are one file.
pub fn place(path: &Path) -> PathBuf {
    let there = path.canonicalize();
    there.unwrap_or_else(|_| match (folder(path).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    })
}

/// Writes beside the file and renames, so that a reader sees the old contents or the new ones.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), InputError> {
    let unwritable = |e: io::Error| InputError::Unwritable { path: path.display().to_string(), why: e.to_string() };
    // A link stays a link: what it points to is replaced.
    let target = if path.is_symlink() { path.canonicalize().map_err(unwritable)? } else { path.to_path_buf() };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".warpwright-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What the umask makes of it, as for any new file; temporary files would be private.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder(&target)).map_err(unwritable)?;
    file.write_all(contents).map_err(unwritable)?;
    file.persist(&target).map(drop).map_err(|e| unwritable(e.error))
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_replaced_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.npy");
        for contents in [b"one".as_slice(), b"two"] {
            check_target(&path).unwrap();
            write_atomically(&path, contents).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), contents);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_refused_before() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_target(dir.path()).unwrap_err().to_string().contains("it is a folder"));
        let text = check_target(&dir.path().join("no/d.npy")).unwrap_err().to_string();
        assert!(text.contains("its folder does not exist"), "{text}");
        #[cfg(unix)]
        {
            let link = dir.path().join("link.npy");
            std::os::unix::fs::symlink(dir.path().join("gone.npy"), &link).unwrap();
            let text = check_target(&link).unwrap_err().to_string();
            assert!(text.contains("it is a link to what does not exist"), "{text}");
        }
    }

    #[test]
    fn one_file_is_one_place_however_it_is_spelled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.npy");
        let spelled = dir.path().join("./d.npy");
        assert_eq!(place(&path), place(&spelled));
        std::fs::write(&path, b"").unwrap();
        assert_eq!(place(&path), place(&spelled));
        assert_ne!(place(&path), place(&dir.path().join("e.npy")));
        #[cfg(unix)]
        {
            let link = dir.path().join("link.npy");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert_eq!(place(&link), place(&path));
        }
    }
}
