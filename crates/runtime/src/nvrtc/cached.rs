//! Compiling through the kernel cache.

use warpwright_arch::Target;

use super::{CompileError, advisories, all_options, all_ptx_options, compile, compile_ptx, version};
use crate::cache::{Cache, Key};

/// Machine code and its compiler's messages, compiled or found.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CachedCubin {
    /// Machine code for the target.
    pub cubin: Vec<u8>,
    /// NVRTC's and ptxas's messages when it was compiled.
    pub log: String,
    /// How long compiling took; `None` if it was found.
    pub compile_seconds: Option<f64>,
}

/// Machine code for a source: from the cache, or compiled and put there. Advisories of a fresh compilation are warned of.
///
/// # Errors
/// [`CompileError`].
pub fn cubin(
    cache: &Cache,
    source: &str,
    name: &str,
    target: Target,
    options: &[String],
) -> Result<CachedCubin, CompileError> {
    let key = key(source, target, &all_options(target, options))?;
    if let Some((log, cubin)) = cache.get(&key).as_deref().and_then(unpack) {
        return Ok(CachedCubin { cubin, log, compile_seconds: None });
    }
    let compiled = compile(source, name, target, options)?;
    for advisory in advisories(&compiled.log) {
        log::warn!("{name} for {target}: {advisory}");
    }
    log::debug!("compiled {name} for {target} in {:.3} s", compiled.seconds);
    cache.put(&key, &pack(&compiled.log, &compiled.cubin));
    Ok(CachedCubin { cubin: compiled.cubin, log: compiled.log, compile_seconds: Some(compiled.seconds) })
}

/// The PTX of a source, as [`compile_ptx`] makes it: from the cache, or compiled and put there.
///
/// # Errors
/// [`CompileError`].
pub fn ptx(
    cache: &Cache,
    source: &str,
    name: &str,
    target: Target,
    options: &[String],
) -> Result<String, CompileError> {
    // The lines name the source's file.
    let named = [all_ptx_options(target, options), vec![format!("ptx of {name}")]].concat();
    let key = key(source, target, &named)?;
    if let Some(text) = cache.get(&key).and_then(|found| String::from_utf8(found.to_vec()).ok()) {
        return Ok(text);
    }
    let text = compile_ptx(source, name, target, options)?;
    cache.put(&key, text.as_bytes());
    Ok(text)
}

fn key(source: &str, target: Target, options: &[String]) -> Result<Key, CompileError> {
    let (major, minor) = version()?;
    Ok(Key::of(&[
        source.as_bytes(),
        target.to_string().as_bytes(),
        options.join("\0").as_bytes(),
        format!("nvrtc {major}.{minor}").as_bytes(),
    ]))
}

/// An entry's payload: the log's length, the log, the machine code.
fn pack(log: &str, cubin: &[u8]) -> Vec<u8> {
    [&(log.len() as u64).to_le_bytes()[..], log.as_bytes(), cubin].concat()
}

fn unpack(payload: &[u8]) -> Option<(String, Vec<u8>)> {
    let (length, rest) = payload.split_first_chunk::<8>()?;
    let (log, cubin) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    if cubin.is_empty() {
        return None;
    }
    Some((String::from_utf8(log.to_vec()).ok()?, cubin.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_read_back_and_nonsense_is_not() {
        assert_eq!(unpack(&pack("a log", b"code")), Some(("a log".into(), b"code".to_vec())));
        assert_eq!(unpack(&pack("", b"code")), Some((String::new(), b"code".to_vec())));
        assert_eq!(unpack(&pack("a log", b"")), None);
        assert_eq!(unpack(b""), None);
        assert_eq!(unpack(&u64::MAX.to_le_bytes()), None);
    }
}
